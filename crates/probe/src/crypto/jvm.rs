//! The Java virtual machine that runs, or would run, the broker: its settings about instructions, and its rates.
//!
//! A small Java program, shipped as source, is run by the same launcher with the options of the running broker that
//! matter here. It needs the compiler that a JDK has and a stripped runtime lacks (Java 11 or later): without one there are
//! settings and no rates, and that is said.

mod child;
mod end_cause;
mod flags;
mod launcher;
mod process;

pub use flags::matters;
pub use launcher::Launcher;

use super::{CryptoError, Description, Engine, Sample, Work};
use flags::TELL_MAX;
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, EngineName, Form, NotMeasured, Operation};
use process::{Measuring, START_MAX};
use std::collections::BTreeMap;
use std::sync::Arc;
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
    /// Asks a launcher for its settings, and starts the program that measures. A Java that does not answer in time is an error,
    /// and `stop` ends every wait for it.
    pub fn start(launcher: Launcher, stop: &Arc<AtomicBool>) -> Result<Self, CryptoError> {
        Self::start_within(launcher, TELL_MAX, START_MAX, stop)
    }

    fn start_within(
        launcher: Launcher,
        tell: Duration,
        start: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, CryptoError> {
        let (version, flags) = flags::ask(&launcher, tell, stop)?;
        let measuring = match Measuring::start(&launcher, start, stop) {
            // It may have no compiler, and has settings all the same.
            Err(CryptoError::JavaEnded { reason }) => Err(reason),
            measuring => Ok(measuring?),
        };
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
                match self.sample(*work, 1, each) {
                    // One that was being waited for when it was told.
                    Err(CryptoError::JavaEnded { .. }) if stop.load(Relaxed) => break,
                    sample => sample?,
                };
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

    fn go_on() -> Arc<AtomicBool> {
        Arc::default()
    }

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
        let mut jvm = Jvm::start(launcher, &go_on()).unwrap();
        assert!(jvm.flags.contains_key("UseAES") || cfg!(not(target_arch = "x86_64")), "{:?}", jvm.flags);
        for work in jvm.work() {
            let time = Duration::from_micros(200);
            assert!(jvm.sample(work, 1, time).unwrap().per_s > 0.0, "{work:?}");
            // Threads that got no processor within so short a window did nothing in it.
            assert!(jvm.sample(work, 2, time).unwrap().per_s.is_finite(), "{work:?}");
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
             for key in 1 2 3 4 5; do read -r line; done; echo ready\n\
             while read -r line; do echo \"$line\" >> {}; echo 1.0; done\n",
            asked.display()
        );
        let mut jvm = Jvm::start(script(folder.path(), &commands), &go_on()).unwrap();
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
        let mut jvm = Jvm::start(script(folder.path(), commands), &go_on()).unwrap();
        assert_eq!(jvm.flags["UseAES"], "false");
        assert_eq!(jvm.work(), []);
        let said = &jvm.describe().not_measured[0];
        assert_eq!(said.what, "everything");
        assert!(said.reason.ends_with("no module jdk.compiler"), "{}", said.reason);
        let work = Work::Operation(Operation::RsaSign);
        assert!(jvm.sample(work, 1, Duration::from_millis(1)).is_err());
    }

    /// Says its version and then what `commands` say, or says nothing at all.
    fn started_as(commands: &str, stop: bool) -> Result<Jvm, CryptoError> {
        let folder = tempfile::tempdir().unwrap();
        let moment = Duration::from_millis(100);
        let (tell, start) = if commands.is_empty() { (moment, moment) } else { (TELL_MAX, moment) };
        let told = if commands.is_empty() { "sleep 600" } else { "echo 'openjdk version \"21\" 2025' >&2" };
        let commands = format!("case \"$*\" in *PrintFlagsFinal*) {told}; exit 0;; esac\n{commands}\n");
        Jvm::start_within(script(folder.path(), &commands), tell, start, &Arc::new(AtomicBool::new(stop)))
    }

    #[test]
    fn a_java_that_never_answers_is_given_up_with_that_reason() {
        let error = started_as("", false).unwrap_err();
        assert!(error.to_string().ends_with(": no answer within 0.1 s"), "{error}");
        let jvm = started_as("sleep 600", false).unwrap();
        let said = &jvm.describe().not_measured[0].reason;
        assert!(said.ends_with(": no answer within 0.1 s"), "{said}");
    }

    #[test]
    fn a_stop_ends_the_wait_for_a_java() {
        let began = Instant::now();
        assert!(started_as("", true).unwrap_err().to_string().ends_with(": stopped"));
        assert!(began.elapsed() < TELL_MAX);
    }

    #[test]
    fn what_the_environment_gives_a_java_is_not_its_reason() {
        let complain =
            "printf 'NOTE: Picked up JDK_JAVA_OPTIONS: -Dsecret=hush\\nno compiler\\n' >&2; exit 1";
        let folder = tempfile::tempdir().unwrap();
        let error = Jvm::start(script(folder.path(), complain), &go_on()).unwrap_err().to_string();
        assert!(error.ends_with(": no compiler"), "{error}");
        let reason = started_as(complain, false).unwrap().describe().not_measured[0].reason.clone();
        assert!(reason.ends_with(": no compiler"), "{reason}");
    }
}
