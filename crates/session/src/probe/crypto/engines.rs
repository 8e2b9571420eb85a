//! The libraries that are here.

use crate::error::Result;
use crate::probe::window::with_causes;
use plumb_model::probe::crypto::{EngineName, UnavailableEngine};
use plumb_observe::{BrokerJava, HostRoot, ThreadsSample, broker_java, process_usage, sample_threads};
use plumb_probe::crypto::built_in::BuiltIn;
use plumb_probe::crypto::jvm::{Jvm, Launcher, matters};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::{CryptoError, Engine};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Libraries that can be measured, and those that cannot.
pub(super) struct Engines {
    pub(super) here: Vec<Box<dyn Engine>>,
    pub(super) unavailable: Vec<UnavailableEngine>,
    /// The process in which a Java measures, as it was when it was ready.
    java: Option<(u32, ThreadsSample)>,
}

impl Engines {
    /// Those that are wanted; one that is not here is an error then, unless the user has stopped its start. Without wishes, all
    /// that are here.
    pub(super) fn find(wanted: &[EngineName], stop: &Arc<AtomicBool>) -> Result<Self> {
        let mut engines = Engines { here: Vec::new(), unavailable: Vec::new(), java: None };
        for name in EngineName::ALL {
            if !wanted.is_empty() && !wanted.contains(&name) {
                continue;
            }
            match engines.open(name, stop) {
                Ok(engine) => engines.here.push(engine),
                Err(error) if wanted.contains(&name) && !stop.load(Relaxed) => return Err(error.into()),
                Err(error) => {
                    engines.unavailable.push(UnavailableEngine { name, reason: with_causes(&error) });
                }
            }
        }
        Ok(engines)
    }

    fn open(&mut self, name: EngineName, stop: &Arc<AtomicBool>) -> Result<Box<dyn Engine>, CryptoError> {
        Ok(match name {
            EngineName::Openssl => Box::new(OpenSsl::load()?),
            EngineName::Own => Box::new(BuiltIn),
            EngineName::Jvm => {
                let jvm = Jvm::start(launcher()?, stop)?;
                self.java = jvm.process().and_then(|process| Some((process, reading(process)?)));
                Box::new(jvm)
            }
        })
    }

    /// Processor time that other processes used to measure.
    pub(super) fn cpu_ns(&self) -> u64 {
        let used = self.java.as_ref().and_then(|(process, before)| {
            let after = reading(*process)?;
            process_usage(before, &after).cpu_ns
        });
        used.unwrap_or(0)
    }
}

fn reading(process: u32) -> Option<ThreadsSample> {
    sample_threads(&HostRoot::default(), process).ok()
}

/// The running broker's if it may be run here, else the one that Kafka's scripts would start.
fn launcher() -> Result<Launcher, CryptoError> {
    launcher_of(broker_java(&HostRoot::default()))
}

/// A broker's Java if it may be run here, else the one that Kafka's scripts would start.
pub(crate) fn launcher_of(broker: Option<BrokerJava>) -> Result<Launcher, CryptoError> {
    let Some(broker) = broker else { return Launcher::of_environment() };
    chosen(broker, Launcher::of_environment)
}

fn chosen(
    broker: BrokerJava,
    otherwise: impl FnOnce() -> Result<Launcher, CryptoError>,
) -> Result<Launcher, CryptoError> {
    let process = broker.process;
    if let Some(reason) = broker.refused {
        let launcher = otherwise()?;
        let because =
            format!("{}; not the Java of the broker (process {process}): {reason}", launcher.because);
        return Ok(Launcher { because, ..launcher });
    }
    let because = if broker.seen {
        format!("a broker runs with it (process {process})")
    } else {
        format!("a broker's command line names it (process {process}, which this user may not look at)")
    };
    Ok(Launcher {
        program: broker.program.into(),
        because,
        options: broker.options.into_iter().filter(|option| matters(option)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(seen: bool, refused: Option<&str>) -> BrokerJava {
        BrokerJava {
            process: 12,
            program: "/opt/java".to_owned(),
            seen,
            refused: refused.map(str::to_owned),
            options: vec!["-XX:-UseAES".to_owned(), "-XX:OnError=sh".to_owned()],
        }
    }

    fn of_path() -> Result<Launcher, CryptoError> {
        Ok(Launcher {
            program: "/usr/bin/java".into(),
            because: "the first in the PATH".to_owned(),
            options: vec![],
        })
    }

    #[test]
    fn a_brokers_java_that_must_not_be_run_is_left_with_its_options_and_the_reason_is_said() {
        let launcher = chosen(broker(true, Some("others may write to /opt")), of_path).unwrap();
        assert_eq!(launcher.program.to_str(), Some("/usr/bin/java"));
        assert!(launcher.because.ends_with("(process 12): others may write to /opt"), "{}", launcher.because);
        assert!(launcher.options.is_empty());
    }

    #[test]
    fn only_a_file_that_was_seen_is_said_to_be_what_a_broker_runs_with() {
        let launcher = chosen(broker(true, None), of_path).unwrap();
        assert_eq!(launcher.because, "a broker runs with it (process 12)");
        assert_eq!(launcher.options, ["-XX:-UseAES"]);
        assert!(chosen(broker(false, None), of_path).unwrap().because.starts_with("a broker's command line"));
    }
}
