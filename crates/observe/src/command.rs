//! The one way to the host's commands: [`SystemCommands`] runs them, [`RecordedCommands`] answers from memory.
//!
//! For questions that only a program can answer (`chronyc`), never for what a file says.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// More than any command that is asked here prints.
const LIMIT_BYTES: u64 = 1 << 20;

/// The interval at which a command that closed its output is asked whether it ended.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// A command that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Environment: it is not installed.
    #[error("{program} is not installed")]
    NotInstalled {
        /// Its name.
        program: String,
    },
    /// Environment: it could not be started.
    #[error("cannot start {program}: {reason}")]
    NotStarted {
        /// Its name.
        program: String,
        /// The system's error.
        reason: String,
    },
    /// Environment: it took too long and was ended.
    #[error("{program} gave no answer within {limit_ms} ms")]
    TimedOut {
        /// Its name.
        program: String,
        /// The time that it had.
        limit_ms: u128,
    },
    /// Environment: it failed.
    #[error("{program} failed ({status}): {message}")]
    Failed {
        /// Its name.
        program: String,
        /// Its exit status.
        status: String,
        /// The first line that it printed.
        message: String,
    },
}

/// Runs a command and returns what it printed on standard output.
pub trait CommandRunner {
    /// Runs `program` with `arguments`. An exit status other than 0 is an error.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, CommandError>;
}

/// Runs commands on this host, without input, each with a limit on its time and its output.
#[derive(Debug, Clone)]
pub struct SystemCommands {
    limit: Duration,
}

impl SystemCommands {
    /// A runner that gives every command so much time.
    pub(crate) fn new(limit: Duration) -> Self {
        SystemCommands { limit }
    }
}

impl Default for SystemCommands {
    /// Two seconds: what is asked here answers in milliseconds, or hangs.
    fn default() -> Self {
        SystemCommands::new(Duration::from_secs(2))
    }
}

impl CommandRunner for SystemCommands {
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, CommandError> {
        let mut child = Command::new(program)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(program, &error))?;
        let program = program.to_owned();
        let Some((status, output, complaint)) = finish(&mut child, Instant::now() + self.limit) else {
            // It may have ended by itself meanwhile; then there is nothing left to end.
            let _ = child.kill();
            let _ = child.wait();
            return Err(CommandError::TimedOut { program, limit_ms: self.limit.as_millis() });
        };
        if status.success() {
            return Ok(output);
        }
        // chronyc complains on standard output.
        let message =
            complaint.lines().chain(output.lines()).next().unwrap_or("no message").trim().to_owned();
        Err(CommandError::Failed { program, status: status.to_string(), message })
    }
}

fn not_started(program: &str, error: &io::Error) -> CommandError {
    let program = program.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => CommandError::NotInstalled { program },
        _ => CommandError::NotStarted { program, reason: error.to_string() },
    }
}

/// Exit status, standard output and standard error; none when they are not there by the deadline.
fn finish(child: &mut Child, deadline: Instant) -> Option<(ExitStatus, String, String)> {
    let output = read_aside(child.stdout.take()?);
    let complaint = read_aside(child.stderr.take()?);
    let output = output.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
    let complaint = complaint.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some((status, output, complaint)),
            Ok(None) if Instant::now() < deadline => thread::sleep(EXIT_POLL),
            _ => return None,
        }
    }
}

/// Reads a pipe on a thread of its own, so that a command that fills one pipe while the other is read cannot hang.
fn read_aside(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still what the command printed.
        let _ = pipe.take(LIMIT_BYTES).read_to_end(&mut bytes);
        // Nobody listens any more when the deadline has passed.
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Answers from memory; a command that is not in it is not installed.
#[derive(Debug, Clone, Default)]
pub struct RecordedCommands {
    answers: BTreeMap<String, Result<String, CommandError>>,
}

impl RecordedCommands {
    /// Adds the answer to a command line (program and arguments, with single spaces).
    pub fn with(mut self, command_line: &str, answer: Result<&str, CommandError>) -> Self {
        self.answers.insert(command_line.to_owned(), answer.map(str::to_owned));
        self
    }
}

impl CommandRunner for RecordedCommands {
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, CommandError> {
        let mut command_line = program.to_owned();
        for argument in arguments {
            command_line.push(' ');
            command_line.push_str(argument);
        }
        let not_recorded = || Err(CommandError::NotInstalled { program: program.to_owned() });
        self.answers.get(&command_line).cloned().unwrap_or_else(not_recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String, CommandError> {
        SystemCommands::new(Duration::from_secs(20)).run("sh", &["-c", script])
    }

    #[test]
    fn output_of_a_command_is_returned() {
        assert_eq!(shell("echo one; echo two").unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_failed_command_says_its_status_and_its_first_words() {
        let error = shell("echo '506 Cannot talk to daemon'; exit 1").unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 1): 506 Cannot talk to daemon");
    }

    #[test]
    fn a_command_that_is_not_installed_is_named() {
        let error = SystemCommands::default().run("plumb-no-such-command", &[]).unwrap_err();
        assert_eq!(error, CommandError::NotInstalled { program: "plumb-no-such-command".to_owned() });
    }

    #[test]
    fn a_command_that_hangs_is_ended_at_its_limit() {
        let runner = SystemCommands::new(Duration::from_millis(50));
        let error = runner.run("sleep", &["600"]).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { limit_ms: 50, .. }), "{error}");
    }

    #[test]
    fn a_flood_on_standard_error_does_not_block_the_answer() {
        let flood = "i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo done";
        assert_eq!(shell(flood).unwrap(), "done\n");
    }
}
