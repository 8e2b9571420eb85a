//! The only place that writes to standard output and standard error.

mod looks;
mod stdout;

pub(crate) use looks::Looks;

use plumb_model::fault::{Fault, HasFault};
use plumb_report::text::{TextStyle, printable};
use rustix::termios::{isatty, tcgetwinsize};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use thiserror::Error;

const WIDTH_DEFAULT: usize = 100;

static LOOKS: OnceLock<Looks> = OnceLock::new();

/// Settles how everything looks that is printed from here on. Only the first word on it counts.
pub(crate) fn set(looks: Looks) {
    let _ = LOOKS.set(looks);
}

fn looks() -> Looks {
    LOOKS.get().copied().unwrap_or_default()
}

/// True if a stream is coloured.
fn colored(terminal: bool) -> bool {
    looks().color.applies(terminal, |name| std::env::var(name).ok())
}

/// True if a person reads standard output, as far as one can tell: it is a terminal, or somebody asks for its colours.
pub(crate) fn for_people() -> bool {
    isatty(std::io::stdout()) || style().color
}

/// True if progress and remarks are left out.
pub(crate) fn quiet() -> bool {
    looks().quiet
}

/// The style of text on standard output.
pub(crate) fn style() -> TextStyle {
    let stdout = std::io::stdout();
    let width = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    TextStyle { color: colored(isatty(&stdout)), width: width.unwrap_or(WIDTH_DEFAULT) }
}

/// Output that could not be written, or not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot write to standard output")]
pub(crate) struct StdoutError {
    #[source]
    source: rustix::io::Errno,
}

impl HasFault for StdoutError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(
            "what was printed is not whole: standard output has to be open for writing, and to have room"
                .into(),
        )
    }
}

/// The state of standard output, from the first refusal on.
static STDOUT: Mutex<Result<(), StdoutError>> = Mutex::new(Ok(()));

/// Writes to standard output. What it refuses is kept for [`printed`], so that a command still does what else there is to do:
/// name the directory of its run, write its files.
pub(crate) fn out(text: &str) {
    let mut state = STDOUT.lock().unwrap_or_else(PoisonError::into_inner);
    if state.is_ok() {
        *state = stdout::write_all(text.as_bytes()).map_err(|source| StdoutError { source });
    }
}

/// The error of standard output, if it had one. A reader that went away has seen what it wanted, which is none.
pub(crate) fn printed() -> Result<(), StdoutError> {
    match *STDOUT.lock().unwrap_or_else(PoisonError::into_inner) {
        Err(StdoutError { source: rustix::io::Errno::PIPE }) => Ok(()),
        state => state,
    }
}

/// As [`note`], of what only tells how things go or where they lie: left out where quiet is asked for.
pub(crate) fn remark(text: &str) {
    if !quiet() {
        note(text);
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
    let color = colored(std::io::stderr().is_terminal());
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
    let (text, wrong) = (error.render(), error.use_stderr());
    let terminal = if wrong { std::io::stderr().is_terminal() } else { isatty(std::io::stdout()) };
    let text = if colored(terminal) { text.ansi().to_string() } else { text.to_string() };
    match wrong {
        true => {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        false => out(&text),
    }
    wrong
}
