//! The only place that writes to standard output and standard error.

mod stdout;

use plumb_report::text::{TextStyle, printable};
use rustix::termios::{isatty, tcgetwinsize};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

const WIDTH_DEFAULT: usize = 100;

/// How text on standard output may look: colour only on a terminal, and not when NO_COLOR is set.
pub(crate) fn style() -> TextStyle {
    let stdout = std::io::stdout();
    let terminal = isatty(&stdout);
    let width = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    TextStyle { color, width: width.unwrap_or(WIDTH_DEFAULT) }
}

/// What was to be printed was not, or not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write to standard output")]
pub(crate) struct StdoutError {
    #[source]
    source: rustix::io::Errno,
}

impl StdoutError {
    /// The next step.
    pub(crate) const HINT: &str =
        "what was printed is not whole: standard output has to be open for writing, and to have room";
}

/// How standard output fares, from the first refusal on.
static STDOUT: Mutex<Result<(), StdoutError>> = Mutex::new(Ok(()));

/// Writes to standard output. What it refuses is kept for [`printed`], so that a command still does what else there is to do:
/// name the directory of its run, write its files.
pub(crate) fn out(text: &str) {
    let mut state = STDOUT.lock().unwrap_or_else(PoisonError::into_inner);
    if state.is_ok() {
        *state = stdout::write_all(text.as_bytes()).map_err(|source| StdoutError { source });
    }
}

/// Whether standard output took everything. A reader that went away has seen what it wanted.
pub(crate) fn printed() -> Result<(), StdoutError> {
    match *STDOUT.lock().unwrap_or_else(PoisonError::into_inner) {
        Err(StdoutError { source: rustix::io::Errno::PIPE }) => Ok(()),
        state => state,
    }
}

/// Writes a line to standard error, or several. Names of files and words of other programs may be among them.
pub(crate) fn note(text: &str) {
    write_lines(text.lines().map(printable));
}

fn write_lines(lines: impl Iterator<Item = String>) {
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        let _ = writeln!(stderr, "{line}");
    }
}

/// Prints an error with its causes and a hint.
pub(crate) fn error(chain: &[String], hint: Option<&str>) {
    let stderr = std::io::stderr();
    let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint =
        |code: &str, text: &str| if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let causes = chain.iter().enumerate().map(|(index, cause)| match index {
        0 => (paint("1;31", "error:"), cause.as_str()),
        _ => (paint("1", "  cause:"), cause.as_str()),
    });
    let hint = hint.map(|hint| (paint("1;36", "hint:"), hint));
    // A cause may have several lines of its own, as a parser's does.
    for (mark, words) in causes.chain(hint) {
        let mut lines = words.lines().map(printable);
        let first = format!("{mark} {}", lines.next().unwrap_or_default());
        write_lines(std::iter::once(first).chain(lines));
    }
}

/// Prints what the argument parser says. False for help and version, which are no errors.
pub(crate) fn usage(error: &clap::Error) -> bool {
    if error.use_stderr() {
        let _ = error.print();
        return true;
    }
    let text = error.render();
    out(&if style().color { text.ansi().to_string() } else { text.to_string() });
    false
}
