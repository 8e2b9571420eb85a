//! The Java program that measures, in a process of its own: a line asks, a line answers.
//!
//! Its source is in memory and its keys go through its input, so that nothing is left on a disk whoever is killed when.

use super::Launcher;
use super::child::ChildProcess;
use super::end_cause::cause;
use crate::crypto::{CryptoError, Sample, Work, keys};
use plumb_model::probe::crypto::EngineName;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Result as IoResult, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Its source; the launcher compiles it (JEP 330).
const SOURCE: &str = include_str!("Speed.java");
/// The oldest Java that compiles what it is given as a file, and the language of the source.
const LANGUAGE: &str = "11";
/// The line by which it says that it can be asked.
const READY: &str = "ready";

/// The longest time for it to start, compile its source and be ready.
pub(super) const START_MAX: Duration = Duration::from_secs(60);
/// The longest time for an answer beyond the time of a sample.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The longest time for it to end once its input has.
const END_MAX: Duration = Duration::from_millis(500);

/// The process. It ends with its input, so also when this one is killed.
#[derive(Debug)]
pub(super) struct Measuring {
    java: ChildProcess,
}

impl Measuring {
    /// Starts it; ready in time, or before `stop`.
    pub(super) fn start(
        launcher: &Launcher,
        within: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, CryptoError> {
        let system = |source| CryptoError::System { engine: EngineName::Jvm, source };
        let source = in_memory(SOURCE).map_err(system)?;
        let mut command = Command::new(&launcher.program);
        command
            .args(&launcher.options)
            // Its counters would be a file below the temporary directory, which a killed one leaves.
            .args(["-XX:-UsePerfData", "-Xmx256m", "--source", LANGUAGE])
            .arg(format!("/proc/self/fd/{}", source.as_raw_fd()));
        let mut measuring = Measuring { java: ChildProcess::spawn(&mut command, stop).map_err(system)? };
        // One that has ended already says why below.
        for material in
            [keys::RSA_KEY, keys::RSA_CERTIFICATE, keys::ECDSA_KEY, keys::ECDSA_CERTIFICATE, keys::MESSAGE]
        {
            measuring.say(&base64(material));
        }
        match measuring.java.line(within) {
            Ok(Some(line)) if line.trim() == READY => Ok(measuring),
            Ok(line) => Err(measuring.ended(&line.unwrap_or_default())),
            Err(error) => Err(CryptoError::JavaEnded { reason: error.to_string() }),
        }
    }

    pub(super) fn process(&self) -> u32 {
        self.java.id()
    }

    pub(super) fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError> {
        let (name, bytes) = match work {
            Work::Bytes { algorithm, block_bytes, .. } => (algorithm.name(), block_bytes),
            Work::Operation(operation) => (operation.name(), 0),
        };
        let asked = self.say(&format!("{name} {bytes} {threads} {}", time.as_nanos()));
        let line = match asked {
            false => None,
            true => match self.java.line(time + ANSWER_MAX) {
                Ok(line) => line,
                Err(error) => return Err(CryptoError::JavaEnded { reason: error.to_string() }),
            },
        };
        let Some(line) = line else { return Err(self.ended("")) };
        match line.trim().parse::<f64>() {
            Ok(per_s) => Ok(Sample { per_s, on_cpu_share: None }),
            Err(_) => {
                let reason = line.trim().trim_start_matches("error ");
                Err(CryptoError::refused(EngineName::Jvm, format!("{name}: {reason}")))
            }
        }
    }

    /// True if the line could be written.
    fn say(&mut self, line: &str) -> bool {
        self.java.input.as_mut().is_some_and(|input| input.write_all(format!("{line}\n").as_bytes()).is_ok())
    }

    /// Its last words.
    fn ended(&mut self, said: &str) -> CryptoError {
        let complaints = self.java.complaints();
        let reason = cause(&complaints).unwrap_or_else(|| format!("it said {said:?} and nothing else"));
        CryptoError::JavaEnded { reason }
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.java.end(END_MAX);
    }
}

/// A file that has no place and that a process started now can open by its number.
fn in_memory(text: &str) -> IoResult<File> {
    // Without CLOEXEC: whatever else is started in this moment has the text too, and does not know of it.
    let mut file = File::from(memfd_create("Speed.java", MemfdFlags::empty())?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let vectors = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in vectors {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
