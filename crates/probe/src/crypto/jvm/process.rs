//! The Java program that measures, in a process of its own: a line asks, a line answers.

use super::Launcher;
use crate::crypto::{CryptoError, Sample, Work, keys};
use plumb_model::probe::crypto::EngineName;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Its source; the launcher compiles it (JEP 330).
const SOURCE: &str = include_str!("Speed.java");
/// What it says when it can be asked.
const READY: &str = "ready";

/// It starts, compiles its source and is ready within this.
const START_MAX: Duration = Duration::from_secs(60);
/// Beyond the time of a sample.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// It ends within this once its input has.
const END_MAX: Duration = Duration::from_millis(500);

/// The process. It ends with its input, so also when this one is killed.
#[derive(Debug)]
pub(super) struct Measuring {
    child: Child,
    /// None once it is told to end.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Measuring {
    pub(super) fn start(launcher: &Launcher) -> Result<Self, CryptoError> {
        let system = |source| CryptoError::System { engine: EngineName::Jvm, source };
        // It is read before the program says that it is ready, and then nobody needs it any more.
        let folder = tempfile::Builder::new().prefix("plumb-crypto-").tempdir().map_err(system)?;
        write_sources(folder.path()).map_err(system)?;
        let mut child = Command::new(&launcher.program)
            .args(&launcher.options)
            // Its counters would be a file below the temporary directory, which a killed one leaves.
            .args(["-XX:-UsePerfData", "-Xmx256m"])
            .arg(folder.path().join("Speed.java"))
            .arg(folder.path())
            // Ctrl-C is for the program that asks, which then ends this one.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(system)?;
        let (Some(asks), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(CryptoError::refused(EngineName::Jvm, "its pipes"));
        };
        let mut measuring = Measuring { child, asks: Some(asks), answers: BufReader::new(answers) };
        // Ctrl-C ends the wait, so that the folder goes too.
        let line = measuring.answer(START_MAX).map_err(system)?;
        match line.trim() {
            READY => Ok(measuring),
            _ => Err(measuring.ended(line.trim())),
        }
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError> {
        let (name, bytes) = match work {
            Work::Bytes { algorithm, block_bytes, .. } => (algorithm.name(), block_bytes),
            Work::Operation(operation) => (operation.name(), 0),
        };
        let question = format!("{name} {bytes} {threads} {}\n", time.as_nanos());
        let asked = self.asks.as_mut().is_some_and(|asks| asks.write_all(question.as_bytes()).is_ok());
        let line = match asked {
            false => Ok(String::new()),
            true => loop {
                // A sample is short: Ctrl-C is looked at after it.
                match self.answer(time + ANSWER_MAX) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    line => break line,
                }
            },
        };
        let line = match line {
            Ok(line) if !line.is_empty() => line,
            Ok(_) => return Err(self.ended("")),
            Err(error) => return Err(CryptoError::JavaEnded { reason: error.to_string() }),
        };
        match line.trim().parse::<f64>() {
            Ok(per_s) => Ok(Sample { per_s, on_cpu_share: None }),
            Err(_) => {
                let reason = line.trim().trim_start_matches("error ");
                Err(CryptoError::refused(EngineName::Jvm, format!("{name}: {reason}")))
            }
        }
    }

    /// Its next line, within a time; empty when it has ended.
    fn answer(&mut self, within: Duration) -> io::Result<String> {
        let until = Instant::now() + within;
        while self.answers.buffer().is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::new(self.answers.get_ref(), PollFlags::IN)];
            if poll(&mut fds, Some(&timeout))? > 0 {
                break;
            }
            if left.is_zero() {
                let why = format!("no answer within {} s", within.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line)
    }

    /// Its last words.
    fn ended(&mut self, said: &str) -> CryptoError {
        // Killed first: one that says something else and goes on would never close what is read here.
        let _ = self.child.kill();
        let mut complaint = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            let _ = stderr.take(1 << 16).read_to_string(&mut complaint);
        }
        let mut words =
            complaint.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("NOTE:"));
        let reason =
            words.next_back().map_or_else(|| format!("it said {said:?} and nothing else"), str::to_owned);
        CryptoError::JavaEnded { reason }
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        // It ends when its input does; one that does not is killed.
        self.asks = None;
        let until = Instant::now() + END_MAX;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_sources(folder: &Path) -> std::io::Result<()> {
    std::fs::write(folder.join("Speed.java"), SOURCE)?;
    std::fs::write(folder.join("rsa.key.der"), keys::RSA_KEY)?;
    std::fs::write(folder.join("rsa.cert.der"), keys::RSA_CERTIFICATE)?;
    std::fs::write(folder.join("ec.key.der"), keys::ECDSA_KEY)?;
    std::fs::write(folder.join("ec.cert.der"), keys::ECDSA_CERTIFICATE)?;
    std::fs::write(folder.join("message"), keys::MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_says_nothing_is_waited_for_no_longer_than_told_and_one_whose_input_ends_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (asks, answers) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut silent = Measuring { child, asks, answers: BufReader::new(answers) };
        let error = silent.answer(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        silent.asks.as_mut().unwrap().write_all(b"ready\nmore\n").unwrap();
        assert_eq!(silent.answer(START_MAX).unwrap(), "ready\n");
        assert_eq!(silent.answer(START_MAX).unwrap(), "more\n");
        silent.asks = None;
        assert_eq!(silent.answer(START_MAX).unwrap(), "");
    }
}
