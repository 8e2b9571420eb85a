//! The options of a lab.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use plumb_model::plan::{InterBroker, LogDirLayout};
use plumb_model::secret::is_secret;
use plumb_model::start_setting::DEFAULT_HEAP_MIB;
use serde::{Deserialize, Serialize};

use super::error::{LabError, Result};
use super::log_dirs;

/// Most brokers that one lab may have. Ours: each takes about 350 MB and 4 s of processor time to start.
const BROKERS_MAX: u32 = 15;

/// Smallest heap with which a broker starts, in MiB. Kafka 4.3 was measured to start with 256; below about 200 its
/// log cleaner (128 MiB) no longer fits.
const HEAP_MIB_MIN: u32 = 256;

/// Properties that decide who a broker is and where it lives. The lab computes them, and would not find the broker
/// again with others.
const RESERVED: &[&str] = &[
    "advertised.listeners",
    "broker.id",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "node.id",
    "process.roles",
    "security.inter.broker.protocol",
];

/// The options of a lab. The default is one plaintext broker with a heap of 512 MiB.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// The number of brokers, 1 to [`BROKERS_MAX`]. The first is a controller as well; of three or more, the first three.
    pub brokers: u32,
    /// The use of TLS on the secured listener.
    pub tls: Tls,
    /// The protocol by which the brokers replicate.
    pub inter_broker: InterBroker,
    /// Users who can log in. When there is one, the secured listener asks for a login, and
    /// [`client_properties`](super::LabCluster::client_properties) are the first user's.
    pub sasl: Vec<ScramUser>,
    /// Existing directories in which the brokers keep their logs, each in a new directory of its own. Empty: in the
    /// lab's directory.
    pub log_dirs: Vec<PathBuf>,
    /// The layout of the log directories: all of them at every broker, or the nth one at broker n.
    pub log_dir_layout: LogDirLayout,
    /// Broker properties on top of the lab's.
    pub broker_properties: Vec<(String, String)>,
    /// Flags for the brokers' JVMs, after the lab's.
    pub jvm_flags: Vec<String>,
    /// Heap of each broker, in MiB.
    pub heap_mib: u32,
    /// An unpacked Kafka to use in place of the pinned jars.
    pub kafka_home: Option<PathBuf>,
    /// True to serve the brokers' metrics from the start. Without it, [`jmx_metrics_urls`](super::LabCluster::jmx_metrics_urls)
    /// makes them so when first asked.
    pub jmx: bool,
    /// Told what a start is about to do, for whoever shows its progress.
    pub steps: Option<Sender<Step>>,
    /// Set by the caller to give up a start under way: it ends with [`LabError::Interrupted`], nothing left behind.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            brokers: 1,
            tls: Tls::Off,
            inter_broker: InterBroker::Plaintext,
            sasl: Vec::new(),
            log_dirs: Vec::new(),
            log_dir_layout: LogDirLayout::Together,
            broker_properties: Vec::new(),
            jvm_flags: Vec::new(),
            heap_mib: DEFAULT_HEAP_MIB,
            kafka_home: None,
            jmx: false,
            steps: None,
            interrupt: Arc::default(),
        }
    }
}

/// A part of a start that takes long enough to be shown. Times are of two quiet cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Fetching Apache Kafka, once per user: 58 MB.
    Fetching,
    /// Making the archive of its classes, once per user and Java: about 8 s.
    Archiving,
    /// Formatting storage: about 1 s.
    Formatting,
    /// Starting the brokers: 1 s for one, 5 s for three.
    Starting,
    /// Waiting until they work: less than 1 s.
    Probing,
}

/// The use of TLS on the secured listener, and who has to show a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// No TLS.
    #[default]
    Off,
    /// The broker shows a certificate.
    Server,
    /// The broker shows a certificate and asks the client for one.
    Mutual,
}

/// A user of a lab with SASL/SCRAM.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramUser {
    /// Name to log in with.
    pub name: String,
    /// Password to log in with.
    pub password: String,
    /// The mechanism that the user's credential is for.
    pub mechanism: ScramMechanism,
}

/// The hash of a SCRAM login (RFC 5802, RFC 7677).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScramMechanism {
    /// SCRAM-SHA-256.
    #[default]
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

/// The shape that another lab needs to be like this one: its options without directories, users and what is secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabShape {
    /// The number of brokers.
    pub brokers: u32,
    /// True if clients use TLS.
    pub tls: bool,
    /// The protocol by which the brokers replicate.
    pub inter_broker: InterBroker,
    /// Broker properties on top of the lab's, those with a secret's name left out.
    pub broker_properties: Vec<(String, String)>,
    /// Flags of the brokers' JVMs, after the lab's.
    pub jvm_flags: Vec<String>,
    /// Heap of each broker, in MiB.
    pub heap_mib: u32,
}

impl LabShape {
    /// The shape of a lab with these options.
    pub(super) fn of(options: &LabOptions) -> Self {
        let open = options.broker_properties.iter().filter(|(key, _)| !is_secret(key));
        LabShape {
            brokers: options.brokers,
            tls: options.tls != Tls::Off,
            inter_broker: options.inter_broker,
            broker_properties: open.cloned().collect(),
            jvm_flags: options.jvm_flags.clone(),
            heap_mib: options.heap_mib,
        }
    }
}

impl LabOptions {
    /// True if there is a secured listener beside the plaintext one.
    pub(super) fn is_secured(&self) -> bool {
        self.tls != Tls::Off || !self.sasl.is_empty()
    }

    /// True if the brokers have a listener of their own.
    pub(super) fn replicates_over_tls(&self) -> bool {
        self.inter_broker == InterBroker::Tls
    }

    /// Refuses what cannot work, before anything is made.
    ///
    /// # Errors
    /// What the user asked for and a lab cannot have, or a log directory that will not do.
    pub fn check(&self) -> Result<()> {
        let bad = |option, expected: String, got: String| Err(LabError::Option { option, expected, got });
        if !(1..=BROKERS_MAX).contains(&self.brokers) {
            return bad("brokers", format!("1 to {BROKERS_MAX}"), self.brokers.to_string());
        }
        if self.heap_mib < HEAP_MIB_MIN {
            return bad("heap", format!("{HEAP_MIB_MIN} MiB or more"), format!("{} MiB", self.heap_mib));
        }
        if let Some((key, _)) =
            self.broker_properties.iter().find(|(key, _)| RESERVED.contains(&key.as_str()))
        {
            return Err(LabError::ReservedProperty { key: key.clone() });
        }
        if let Some((key, value)) =
            self.broker_properties.iter().find(|(k, v)| k.is_empty() || has_control(k) || has_control(v))
        {
            return bad("broker property", "a key and a value on one line".into(), format!("{key}={value}"));
        }
        if let Some(flag) = self.jvm_flags.iter().find(|flag| !flag.starts_with('-') || has_control(flag)) {
            return bad("JVM flag", "one that begins with -".into(), flag.clone());
        }
        log_dirs::check(&self.log_dirs, self.log_dir_layout, self.brokers)?;
        self.sasl.iter().try_for_each(ScramUser::check)
    }

    /// Tells whoever listens what comes next.
    pub(super) fn report(&self, step: Step) {
        if let Some(steps) = &self.steps {
            // Nobody has to listen to the end.
            let _ = steps.send(step);
        }
    }

    /// Ends a start that the caller gave up.
    pub(super) fn check_interrupt(&self) -> Result<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
    }
}

impl ScramUser {
    /// A user for SCRAM-SHA-256.
    #[must_use]
    pub fn new(name: &str, password: &str) -> Self {
        Self { name: name.to_owned(), password: password.to_owned(), mechanism: ScramMechanism::Sha256 }
    }

    /// A user for SCRAM-SHA-256 with a password that nobody knows yet.
    #[must_use]
    pub fn with_random_password(name: &str) -> Self {
        Self::new(name, &super::identity::random_word(24))
    }

    /// Kafka's storage tool has no way to write a comma or a bracket inside a credential.
    fn check(&self) -> Result<()> {
        let writable =
            |text: &str| !text.is_empty() && !has_control(text) && !text.contains([',', '"', '[', ']']);
        if !writable(&self.name) || self.name.contains('=') {
            return Err(LabError::Option {
                option: "SASL user",
                expected: "a name without any of , = \" [ ]".into(),
                got: format!("{:?}", self.name),
            });
        }
        if !writable(&self.password) {
            return Err(LabError::Option {
                option: "SASL password",
                expected: "one without any of , \" [ ]".into(),
                got: format!("another (of user {})", self.name),
            });
        }
        Ok(())
    }
}

impl fmt::Debug for ScramUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramUser")
            .field("name", &self.name)
            .field("mechanism", &self.mechanism)
            .finish_non_exhaustive()
    }
}

impl ScramMechanism {
    /// The name in Kafka's and librdkafka's settings.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: &LabOptions) -> String {
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn the_default_options_are_accepted() {
        LabOptions::default().check().unwrap();
    }

    #[test]
    fn a_number_of_brokers_out_of_range_is_refused_with_the_range() {
        let options = LabOptions { brokers: 0, ..LabOptions::default() };
        assert_eq!(refusal(&options), "brokers: expected 1 to 15, got 0");
    }

    #[test]
    fn a_property_that_the_lab_computes_is_refused() {
        let options = LabOptions {
            broker_properties: vec![("listeners".into(), "PLAINTEXT://:1".into())],
            ..LabOptions::default()
        };
        assert_eq!(refusal(&options), "broker property listeners is set by the lab and cannot be given");
    }

    #[test]
    fn a_refused_password_is_not_repeated() {
        let options = LabOptions { sasl: vec![ScramUser::new("ann", "hush,hush")], ..LabOptions::default() };
        assert!(!refusal(&options).contains("hush"));
        assert!(!format!("{options:?}").contains("hush"));
    }
}
