//! One place that says whose fault an error is, prints it with its causes, and knows the next step.

use crate::client_config::ConfigFileError;
use crate::near;
use crate::printer::StdoutError;
use crate::run_dir::RunDirError;
use crate::scenario_file::ScenarioFileError;
use crate::session::{
    HookError, HostSettingError, JournalError, ResumeError, TooLittleMemory, TooLittleSpace,
};
use plumb_fleet::FleetInputError;
use plumb_judge::fleet::FleetError;
use plumb_lab::kafka::{Fault, LabError};
use plumb_lab::sink::SinkError;
use plumb_load::LoadError;
use plumb_model::resolve::ResolveError;
use plumb_probe::crypto::CryptoError;
use plumb_probe::memory::{MemoryError, NodesError};
use plumb_probe::network::NetworkError;
use plumb_probe::storage::StorageError;
use std::process::ExitCode;
use thiserror::Error;

/// Whose fault an error is; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    Usage = 2,
    Environment = 3,
    Target = 4,
    Bug = 5,
}

/// Exit code of words that no command understands.
pub(crate) const USAGE: u8 = Category::Usage as u8;

/// Something that the user asked for cannot be.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct UsageError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl UsageError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        UsageError { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Prints the error with its causes and a hint, and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    crate::printer::error(&chain(error), hint(error).as_deref());
    ExitCode::from(category(error) as u8)
}

/// The error and its causes, without what a cause repeats.
pub(crate) fn chain(error: &anyhow::Error) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !lines.iter().any(|line| line.contains(&text)) {
            lines.push(text);
        }
    }
    lines
}

/// Whether the error is the user's own request to stop.
pub(crate) fn is_stop(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(LoadError::Stopped))
        || matches!(error.downcast_ref(), Some(LabError::Interrupted))
}

fn category(error: &anyhow::Error) -> Category {
    error.chain().find_map(category_of).unwrap_or(Category::Bug)
}

fn category_of(cause: &(dyn std::error::Error + 'static)) -> Option<Category> {
    if cause.is::<UsageError>()
        || cause.is::<ResolveError>()
        || cause.is::<ScenarioFileError>()
        || cause.is::<ConfigFileError>()
        || cause.is::<FleetError>()
    {
        return Some(Category::Usage);
    }
    if let Some(error) = cause.downcast_ref::<LoadError>() {
        return Some(match error {
            LoadError::Property { .. }
            | LoadError::Properties { .. }
            | LoadError::PayloadFile { .. }
            | LoadError::TooLargeForProducer { .. } => Category::Usage,
            LoadError::Thread { .. } | LoadError::Stopped => Category::Environment,
            _ => Category::Target,
        });
    }
    if let Some(error) = cause.downcast_ref::<LabError>() {
        return Some(match error.fault() {
            Fault::Usage => Category::Usage,
            Fault::Environment => Category::Environment,
            Fault::Target => Category::Target,
        });
    }
    if let Some(error) = cause.downcast_ref::<FleetInputError>() {
        return Some(match error.fault() {
            plumb_fleet::Fault::Usage => Category::Usage,
            plumb_fleet::Fault::Environment => Category::Environment,
            plumb_fleet::Fault::Target => Category::Target,
        });
    }
    if let Some(error) = cause.downcast_ref::<RunDirError>() {
        return Some(if error.is_usage() { Category::Usage } else { Category::Environment });
    }
    if let Some(error) = cause.downcast_ref::<ResumeError>() {
        return Some(match error {
            ResumeError::OtherCluster { .. } => Category::Target,
            _ => Category::Usage,
        });
    }
    if let Some(error) = cause.downcast_ref::<StorageError>() {
        return Some(match error.fault() {
            plumb_probe::storage::Fault::Usage => Category::Usage,
            plumb_probe::storage::Fault::Environment => Category::Environment,
        });
    }
    if let Some(error) = cause.downcast_ref::<HostSettingError>() {
        return Some(if error.is_usage() { Category::Usage } else { Category::Environment });
    }
    if cause.is::<SinkError>() {
        return Some(Category::Environment);
    }
    if cause.is::<JournalError>() {
        return Some(Category::Environment);
    }
    if cause.is::<TooLittleSpace>()
        || cause.is::<TooLittleMemory>()
        || cause.is::<CryptoError>()
        || cause.is::<HookError>()
    {
        return Some(Category::Environment);
    }
    if let Some(NetworkError::Listen { .. }) = cause.downcast_ref() {
        return Some(Category::Environment);
    }
    if cause.is::<plumb_observe::ObserveError>() || cause.is::<NetworkError>() {
        return Some(Category::Target);
    }
    if cause.is::<MemoryError>() || cause.is::<NodesError>() {
        return Some(Category::Environment);
    }
    let system = cause.is::<std::io::Error>() || cause.is::<StdoutError>();
    system.then_some(Category::Environment)
}

/// The next step, where one is known.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(hint_of)
}

fn hint_of(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<UsageError>() {
        return error.hint.clone();
    }
    if let Some(error) = cause.downcast_ref::<LabError>() {
        return error.hint().map(str::to_owned);
    }
    if let Some(error) = cause.downcast_ref::<ScenarioFileError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<FleetInputError>() {
        return error.hint().map(str::to_owned);
    }
    if let Some(error) = cause.downcast_ref::<FleetError>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<RunDirError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<ConfigFileError>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<ResumeError>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<StorageError>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<CryptoError>() {
        return Some(crypto_hint(error).to_owned());
    }
    if let Some(error) = cause.downcast_ref::<HostSettingError>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<JournalError>() {
        return Some(error.hint());
    }
    if cause.is::<HookError>() {
        return Some(HookError::HINT.to_owned());
    }
    if cause.is::<TooLittleSpace>() {
        return Some(TooLittleSpace::HINT.to_owned());
    }
    if cause.is::<TooLittleMemory>() {
        return Some(TooLittleMemory::HINT.to_owned());
    }
    if cause.is::<plumb_observe::ObserveError>() {
        return Some(
            "--metrics takes the address of a broker's JMX exporter, such as http://host:9404/metrics"
                .to_owned(),
        );
    }
    if let Some(error) = cause.downcast_ref::<NetworkError>() {
        return Some(network_hint(error).to_owned());
    }
    if cause.is::<StdoutError>() {
        return Some(StdoutError::HINT.to_owned());
    }
    if let Some(MemoryError::Map { .. }) = cause.downcast_ref() {
        return Some("give a smaller --array and --largest".to_owned());
    }
    cause.downcast_ref::<LoadError>().and_then(load_hint)
}

fn crypto_hint(error: &CryptoError) -> &'static str {
    match error {
        CryptoError::NoLibrary { .. } => {
            "install OpenSSL's shared library (libssl3), or leave --engine openssl out"
        }
        CryptoError::NoJava { .. } => "set JAVA_HOME to the broker's Java, or leave --engine jvm out",
        _ => "leave that --engine out: the others do not need it",
    }
}

fn network_hint(error: &NetworkError) -> &'static str {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    match error {
        NetworkError::Listen { source, .. } => match source.kind() {
            AddrInUse => {
                "another program has that port: end it, or give another one (ADDR:PORT; port 0 takes a free one)"
            }
            AddrNotAvailable => {
                "this host has no such address: `ip address` shows those it has, and 0.0.0.0 takes all of them"
            }
            PermissionDenied => "ports below 1024 are for root: give a higher one (ADDR:PORT)",
            _ => "--listen takes an address of this host, such as 0.0.0.0 or 192.0.2.7:7586",
        },
        NetworkError::Connect { source, .. } if source.kind() == std::io::ErrorKind::NetworkUnreachable => {
            "no interface leads there: is it up? In a network namespace of its own even loopback begins down (ip link set lo up)"
        }
        NetworkError::Connect { .. } => {
            "does `plumb probe network --listen ADDR` run there, on an address that can be reached from here?"
        }
        NetworkError::Foreign { .. } => "the port is another program's; --listen prints its own",
        NetworkError::Version { .. } => "use the same version of plumb on both sides",
        NetworkError::Busy { .. } => "wait until it is done, or listen on another port",
        NetworkError::Silent { .. } => {
            "is that host or the way to it overloaded? Smaller --sizes need less of it; else the port is another program's"
        }
        NetworkError::Altered { .. } => {
            "no figure of it can be believed: the port is another program's, or something on the way answers in its stead or \
             changes data"
        }
        NetworkError::Stopped | NetworkError::Broken { .. } => {
            "was the listener ended, or does something on the way cut long streams?"
        }
    }
}

fn load_hint(error: &LoadError) -> Option<String> {
    let hint = match error {
        LoadError::Property { key, reason, .. } => return Some(property_hint(key, reason)),
        LoadError::UnknownTopic { .. } => {
            "plumb does not create a topic that you name; leave it out and a topic is made and deleted for the run"
        }
        LoadError::Unreachable { reason, .. } if reason.contains("resolve") => {
            "the name cannot be resolved: check --bootstrap and the host's name service"
        }
        LoadError::Unreachable { reason, .. } if reason.contains("refused") => {
            "nothing listens there: check the port, and that the broker runs (`plumb lab up` starts one here)"
        }
        LoadError::Disconnected { .. } => {
            "the port expects another protocol: set security.protocol (SSL for TLS, SASL_SSL for TLS and a login, \
             SASL_PLAINTEXT for a login alone) in a client properties file and name it with --config"
        }
        LoadError::Unreachable { .. } => {
            "check the address, the port and the firewall between here and there"
        }
        LoadError::Properties { reason } if reason.contains(".location failed") => {
            "is the file that this property names there, readable, and in the PEM format?"
        }
        LoadError::Properties { .. } => {
            "check the client properties file (--config) and the properties under test; librdkafka's \
             CONFIGURATION.md explains them"
        }
        LoadError::Authentication { reason, .. } if reason.contains("Unsupported SASL mechanism") => {
            "set sasl.mechanism in the client properties file (--config) to one that the broker offers"
        }
        LoadError::Authentication { .. } => {
            "check sasl.mechanism, sasl.username and sasl.password in the client properties file (--config)"
        }
        LoadError::Tls { reason, .. } if reason.contains("plaintext") || reason.contains("PLAINTEXT") => {
            "that port does not speak TLS: give the cluster's TLS port, or set security.protocol=PLAINTEXT \
             (SASL_PLAINTEXT with a login) in the client properties file"
        }
        LoadError::Tls { reason, .. } if reason.contains("verify") => {
            "the broker's certificate is not signed by a known authority: set ssl.ca.location in the client properties file"
        }
        LoadError::Tls { .. } => "is it the TLS port, and do both sides speak the same versions of TLS?",
        LoadError::TooLargeForProducer { .. } => {
            "raise it (-X message.max.bytes=N, or setups[].producer), and the topic's max.message.bytes with it; or \
             send smaller values"
        }
        LoadError::TooLarge { .. } => "raise max.message.bytes of the topic, or send smaller values",
        LoadError::PayloadFile { .. } => "load.payload.file names the file whose bytes the messages carry",
        LoadError::Refused { reason, .. } => return refusal_hint(reason).map(str::to_owned),
        LoadError::NotReady { .. } => "does the topic have a leader and enough in-sync replicas?",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What a property that no client has was probably meant to be.
fn property_hint(key: &str, reason: &str) -> String {
    let names = "the names are librdkafka's: see its CONFIGURATION.md";
    let unknown = reason.contains("No such configuration property") || reason.contains("does not have it");
    let known = crate::client_properties::KNOWN.iter().copied();
    let meant = if unknown { near::question(&near::near(key, known)) } else { None };
    meant.map_or_else(|| names.to_owned(), |meant| format!("{meant} {names}"))
}

/// What to do about an error code of the broker.
fn refusal_hint(reason: &str) -> Option<&'static str> {
    let hints = [
        (
            "TOPIC_EXCEPTION",
            "a topic's name has letters, digits, dots, underscores and hyphens, at most 249 of them",
        ),
        (
            "INVALID_CONFIG",
            "topic.configs takes Kafka's topic configs (kafka.apache.org/documentation/#topicconfigs)",
        ),
        (
            "INVALID_REPLICATION_FACTOR",
            "a replica needs a broker of its own: lower topic.replication (--replication)",
        ),
        (
            "AUTHORIZATION_FAILED",
            "this user may not do that: have it allowed, or give a topic that exists and that it may use (--topic)",
        ),
    ];
    hints.into_iter().find(|(code, _)| reason.contains(code)).map(|(_, hint)| hint)
}
