//! The only place that writes to standard output and standard error.

use plumb_report::text::TextStyle;
use rustix::termios::{isatty, tcgetwinsize};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

const WIDTH_DEFAULT: usize = 100;

/// How text on standard output may look: colour only on a terminal, and not when NO_COLOR is set.
pub(crate) fn style() -> TextStyle {
    let stdout = std::io::stdout();
    let terminal = isatty(&stdout);
    let width = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    TextStyle { color, width: width.unwrap_or(WIDTH_DEFAULT) }
}

/// Writes to standard output. A reader that went away is no error.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a line to standard error.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints an error with its causes and a hint.
pub(crate) fn error(chain: &[String], hint: Option<&str>) {
    let stderr = std::io::stderr();
    let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint =
        |code: &str, text: &str| if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut lines = chain.iter();
    if let Some(first) = lines.next() {
        note(&format!("{} {first}", paint("1;31", "error:")));
    }
    for cause in lines {
        note(&format!("  {} {cause}", paint("1", "cause:")));
    }
    if let Some(hint) = hint {
        note(&format!("{} {hint}", paint("1;36", "hint:")));
    }
}

/// Prints what the argument parser says: help and version are no errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
