//! The Java program that measures, in a process of its own: a line asks, a line answers.

use super::Launcher;
use crate::crypto::{CryptoError, Sample, Work, keys};
use plumb_model::probe::crypto::EngineName;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Its source; the launcher compiles it (JEP 330).
const SOURCE: &str = include_str!("Speed.java");
/// What it says when it can be asked.
const READY: &str = "ready";

/// The process. It ends with its input, so also when this one is killed.
#[derive(Debug)]
pub(super) struct Measuring {
    child: Child,
    asks: ChildStdin,
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
            .arg("-Xmx256m")
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
        let mut measuring = Measuring { child, asks, answers: BufReader::new(answers) };
        let mut line = String::new();
        measuring.answers.read_line(&mut line).map_err(system)?;
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
        let asked = writeln!(self.asks, "{name} {bytes} {threads} {}", time.as_nanos())
            .and_then(|()| self.asks.flush());
        let mut line = String::new();
        if asked.is_err() || self.answers.read_line(&mut line).is_err() || line.is_empty() {
            return Err(self.ended(""));
        }
        match line.trim().parse::<f64>() {
            Ok(per_s) => Ok(Sample { per_s, on_cpu_share: None }),
            Err(_) => {
                let reason = line.trim().trim_start_matches("error ");
                Err(CryptoError::refused(EngineName::Jvm, format!("{name}: {reason}")))
            }
        }
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
        // It holds nothing that an orderly end would save.
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
