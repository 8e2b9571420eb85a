//! The Java virtual machine that runs, or would run, the broker: its settings about instructions, and its rates.
//!
//! A small Java program, shipped as source, is run by the same launcher with the options of the running broker that
//! matter here. It needs the compiler that a JDK has and a stripped runtime lacks (Java 11 or later): without one there are
//! settings and no rates, and that is said.

mod flags;
mod launcher;
mod process;

pub use flags::matters;
pub use launcher::Launcher;

use super::{CryptoError, Description, Engine, Sample, Work};
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, EngineName, Form, NotMeasured, Operation};
use process::Measuring;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A Java virtual machine.
#[derive(Debug)]
pub struct Jvm {
    launcher: Launcher,
    version: String,
    flags: BTreeMap<String, String>,
    measuring: Result<Measuring, String>,
}

impl Jvm {
    /// Asks a launcher for its settings, and starts the program that measures.
    pub fn start(launcher: Launcher) -> Result<Self, CryptoError> {
        let (version, flags) = flags::ask(&launcher)?;
        let measuring = Measuring::start(&launcher).map_err(|error| error.to_string());
        Ok(Jvm { launcher, version, flags, measuring })
    }

    /// The process in which it measures.
    pub fn process(&self) -> Option<u32> {
        self.measuring.as_ref().ok().map(Measuring::process)
    }
}

impl Engine for Jvm {
    fn describe(&self) -> Description {
        let not_measured = match &self.measuring {
            Ok(_) => NotMeasured {
                what: "TLS handshakes".to_owned(),
                reason: "measured with Plumb's own TLS library only; signatures are the larger part of them"
                    .to_owned(),
            },
            Err(reason) => NotMeasured {
                what: "everything".to_owned(),
                reason: format!("rates need the compiler of a JDK (Java 11 or later): {reason}"),
            },
        };
        Description {
            name: EngineName::Jvm,
            version: self.version.clone(),
            file: Some(self.launcher.program.display().to_string()),
            chosen_because: Some(self.launcher.because.clone()),
            not_measured: vec![not_measured],
            jvm_flags: self.flags.clone(),
            jvm_options: self.launcher.options.clone(),
        }
    }

    fn work(&self) -> Vec<Work> {
        if self.measuring.is_err() {
            return Vec::new();
        }
        let bytes = Algorithm::ALL.into_iter().flat_map(|algorithm| {
            BLOCKS_BYTES.map(|block_bytes| Work::Bytes { algorithm, block_bytes, form: Form::Message })
        });
        bytes.chain(Operation::SIGNATURES.map(Work::Operation)).collect()
    }

    fn other_forms(&self) -> Vec<Work> {
        Vec::new()
    }

    /// Runs everything in turns until the just-in-time compiler had its time.
    fn warm_up(&mut self, time: Duration, stop: &AtomicBool) -> Result<(), CryptoError> {
        let work = self.work();
        let each = time / (2 * work.len().max(1) as u32);
        let until = Instant::now() + time;
        for work in work.iter().chain(&work) {
            if Instant::now() < until && !stop.load(Relaxed) {
                self.sample(*work, 1, each)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError> {
        match &mut self.measuring {
            Ok(measuring) => measuring.sample(work, threads, time),
            Err(reason) => Err(CryptoError::JavaEnded { reason: reason.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_java_here_does_every_piece_of_its_work_and_tells_its_flags() {
        // Where there is no Java, or no JDK, that is what has to be said.
        let launcher = match Launcher::of_environment() {
            Ok(launcher) => launcher,
            Err(error) => {
                assert!(matches!(error, CryptoError::NoJava { .. }), "{error}");
                return;
            }
        };
        let mut jvm = Jvm::start(launcher).unwrap();
        assert!(jvm.flags.contains_key("UseAES") || cfg!(not(target_arch = "x86_64")), "{:?}", jvm.flags);
        for work in jvm.work() {
            let sample = jvm.sample(work, 2, Duration::from_micros(200)).unwrap();
            assert!(sample.per_s > 0.0, "{work:?}");
        }
    }

    /// A launcher that runs a shell script in the place of Java.
    fn script(folder: &std::path::Path, commands: &str) -> Launcher {
        let program = folder.join("java");
        std::fs::write(&program, commands).unwrap();
        Launcher {
            program: "/bin/sh".into(),
            because: "a test".to_owned(),
            options: vec![program.display().to_string()],
        }
    }

    #[test]
    fn a_user_who_says_stop_ends_the_warm_up_before_its_next_sample() {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        let commands = format!(
            "case \"$*\" in *PrintFlagsFinal*) echo 'openjdk version \"21\" 2025' >&2; exit 0;; esac\n\
             echo ready; while read -r line; do echo \"$line\" >> {}; echo 1.0; done\n",
            asked.display()
        );
        let mut jvm = Jvm::start(script(folder.path(), &commands)).unwrap();
        jvm.warm_up(Duration::from_secs(3_600), &AtomicBool::new(true)).unwrap();
        assert!(!asked.exists(), "it went on");
        jvm.sample(jvm.work()[0], 1, Duration::from_millis(1)).unwrap();
        assert!(asked.exists(), "it can still be asked");
    }

    #[test]
    fn a_runtime_that_cannot_compile_has_settings_and_says_why_it_has_no_rates() {
        let folder = tempfile::tempdir().unwrap();
        // A launcher that knows its flags, and fails with a source file as a stripped runtime does.
        let commands = "#!/bin/sh\ncase \"$*\" in *PrintFlagsFinal*)\n\
                        echo '     bool UseAES = false {product} {default}'\n\
                        echo 'openjdk version \"21\" 2025' >&2; exit 0;; esac\n\
                        echo 'error: no module jdk.compiler' >&2; exit 1\n";
        let mut jvm = Jvm::start(script(folder.path(), commands)).unwrap();
        assert_eq!(jvm.flags["UseAES"], "false");
        assert_eq!(jvm.work(), []);
        let said = &jvm.describe().not_measured[0];
        assert_eq!(said.what, "everything");
        assert!(said.reason.ends_with("no module jdk.compiler"), "{}", said.reason);
        let work = Work::Operation(Operation::RsaSign);
        assert!(jvm.sample(work, 1, Duration::from_millis(1)).is_err());
    }
}
