//! The libraries that are here.

use anyhow::Result;
use plumb_model::probe::crypto::{EngineName, UnavailableEngine};
use plumb_observe::{HostRoot, ThreadsSample, broker_java, process_usage, sample_threads};
use plumb_probe::crypto::jvm::{Jvm, Launcher, matters};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::own::Own;
use plumb_probe::crypto::{CryptoError, Engine};

/// Libraries that can be measured, and those that cannot.
pub(super) struct Engines {
    pub(super) here: Vec<Box<dyn Engine>>,
    pub(super) unavailable: Vec<UnavailableEngine>,
    /// The process in which a Java measures, as it was when it was ready.
    java: Option<(u32, ThreadsSample)>,
}

impl Engines {
    /// Those that are wanted; one that is not here is an error then. Without wishes, all that are here.
    pub(super) fn find(wanted: &[EngineName]) -> Result<Self> {
        let mut engines = Engines { here: Vec::new(), unavailable: Vec::new(), java: None };
        for name in EngineName::ALL {
            if !wanted.is_empty() && !wanted.contains(&name) {
                continue;
            }
            match engines.open(name) {
                Ok(engine) => engines.here.push(engine),
                Err(error) if wanted.contains(&name) => return Err(error.into()),
                Err(error) => {
                    engines.unavailable.push(UnavailableEngine { name, reason: error.to_string() });
                }
            }
        }
        Ok(engines)
    }

    fn open(&mut self, name: EngineName) -> Result<Box<dyn Engine>, CryptoError> {
        Ok(match name {
            EngineName::Openssl => Box::new(OpenSsl::load()?),
            EngineName::Own => Box::new(Own),
            EngineName::Jvm => {
                let jvm = Jvm::start(launcher()?)?;
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

/// The running broker's, else the one that Kafka's scripts would start.
fn launcher() -> Result<Launcher, CryptoError> {
    let Some(broker) = broker_java(&HostRoot::default()) else { return Launcher::of_environment() };
    Ok(Launcher {
        program: broker.program.into(),
        because: format!("a broker runs with it (process {})", broker.process),
        options: broker.options.into_iter().filter(|option| matters(option)).collect(),
    })
}
