//! The errors of driving a path, and whose fault each is.

use plumb_model::fault::{Fault, HasFault};
use plumb_model::secret;
use std::borrow::Cow;
use std::time::Duration;
use thiserror::Error;

/// The reason why a path could not be driven.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// Usage: the client library refuses a property.
    #[error("client property {key} = {value:?} is refused: {reason}")]
    Property {
        /// The property.
        key: String,
        /// Its value; `[redacted]` for secrets.
        value: String,
        /// The library's words.
        reason: String,
        /// `producer` or `consumer`, where one of the two has it.
        role: Option<&'static str>,
    },
    /// Usage: the client library refuses the properties together, or does not say which.
    #[error("the client library refuses the properties: {reason}")]
    Properties {
        /// The library's words.
        reason: String,
        /// `producer` or `consumer`, where one of the two has them.
        role: Option<&'static str>,
    },
    /// Usage: a property of producers is written for consumers, or the other way round.
    #[error("client property {key} is one of {of}s, and {role}s ignore it")]
    OfOtherRole {
        /// The property.
        key: String,
        /// `producer` or `consumer`: whose block it stands in.
        role: &'static str,
        /// The other: whose property it is.
        of: &'static str,
    },
    /// Usage: the payload file cannot be read.
    #[error("payload file {path}: {reason}")]
    PayloadFile {
        /// Its path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Usage or target: no such topic.
    #[error("topic {topic:?} does not exist")]
    UnknownTopic {
        /// Its name.
        topic: String,
    },
    /// Target: nobody could be reached.
    #[error("no broker of {bootstrap} could be reached within {waited_s} s: {reason}")]
    Unreachable {
        /// host:port, comma separated.
        bootstrap: String,
        /// The time that it was tried for.
        waited_s: u64,
        /// The library's words on the last attempts.
        reason: String,
    },
    /// Target: somebody listens there and ends the connection at the first request.
    #[error("{bootstrap} takes the connection and closes it when it is spoken to as {protocol}")]
    Disconnected {
        /// host:port, comma separated.
        bootstrap: String,
        /// The security protocol that was tried.
        protocol: String,
    },
    /// Target: the broker refuses the login.
    #[error("{bootstrap} refuses the login: {reason}")]
    Authentication {
        /// host:port, comma separated.
        bootstrap: String,
        /// The library's words.
        reason: String,
    },
    /// Target: no TLS connection could be made.
    #[error("no TLS connection with {bootstrap}: {reason}")]
    Tls {
        /// host:port, comma separated.
        bootstrap: String,
        /// The library's words.
        reason: String,
    },
    /// Target: an operation was refused.
    #[error("cannot {operation}: {reason}")]
    Refused {
        /// The request.
        operation: String,
        /// The broker's words.
        reason: String,
    },
    /// Usage: a record is larger than the producer's own limit.
    #[error("a record of {bytes} B is larger than the producer's message.max.bytes allows")]
    TooLargeForProducer {
        /// Bytes of the value.
        bytes: u64,
    },
    /// Target: a record is larger than topic or broker allow.
    #[error("a record of {bytes} B is larger than allowed: {reason}")]
    TooLarge {
        /// Bytes of the value.
        bytes: u64,
        /// The reason of the one who refused it.
        reason: String,
    },
    /// Target: a partition did not pass a record on before the run began.
    #[error("no record went round partition {partition} of {topic} within {waited_s} s{reason}")]
    NotReady {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// The time that it was tried for.
        waited_s: u64,
        /// The errors seen meanwhile, if any.
        reason: String,
    },
    /// Target: brokers that had answered fell silent.
    #[error("the brokers of {bootstrap} have given no answer for {} s, so that the block under way has no figures", silent_for.as_secs())]
    Silent {
        /// host:port, comma separated.
        bootstrap: String,
        /// The time since their last answer.
        silent_for: Duration,
    },
    /// Environment: a thread could not be started.
    #[error("cannot start a thread: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
    /// Usage: this can only be done by one process.
    #[error(
        "{what} cannot be measured by several processes: their consumers would not agree on what is verified"
    )]
    OneProcess {
        /// What was asked for.
        what: String,
    },
    /// Usage: a run asks of a worker what could read its host's files or run their code.
    #[error("a run may not have a worker {what}")]
    NotOfWorker {
        /// What was asked for.
        what: String,
    },
    /// A worker cannot do its part of the block.
    #[error("worker {worker}: {reason}")]
    Worker {
        /// Its name.
        worker: String,
        /// Its error.
        reason: String,
        /// Whose fault it is, as the worker sees it.
        fault: Fault,
        /// The worker's hint.
        hint: Option<String>,
    },
    /// Environment: a worker was lost before anything was measured.
    #[error("worker {worker} was lost: {reason}")]
    WorkerLost {
        /// Its name.
        worker: String,
        /// How.
        reason: String,
    },
    /// Environment: nothing is known of a worker's clock.
    #[error("the clock of worker {worker} is not known: {reason}")]
    WorkerClock {
        /// Its name.
        worker: String,
        /// Why.
        reason: String,
    },
    /// Environment: a driver's program cannot be started.
    #[error("cannot start the driver {program:?}: {reason}")]
    DriverStart {
        /// The program.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// Environment: a driver's program did what it must not, or ended.
    #[error("the {role}'s driver: {reason}; {last_words}")]
    Driver {
        /// Its role.
        role: &'static str,
        /// What it did.
        reason: String,
        /// How it ended, and what it printed last.
        last_words: String,
    },
    /// The user asked to stop before anything was measured.
    #[error("stopped before anything was measured")]
    Stopped,
}

impl LoadError {
    /// A property that is refused. A secret's value is left out.
    pub(crate) fn property(key: &str, value: &str, reason: impl Into<String>) -> Self {
        let value = secret::shown(key, value).to_owned();
        LoadError::Property { key: key.to_owned(), value, reason: reason.into(), role: None }
    }

    /// Properties that are refused together, or of which it is not known which is.
    pub(crate) fn properties(reason: impl Into<String>) -> Self {
        LoadError::Properties { reason: reason.into(), role: None }
    }

    /// The same, of the producers' or the consumers' properties.
    pub(crate) fn of_role(mut self, of: &'static str) -> Self {
        if let LoadError::Property { role, .. } | LoadError::Properties { role, .. } = &mut self {
            role.get_or_insert(of);
        }
        self
    }
}

impl LoadError {
    /// True if a client or a broker does not take what was asked of it, and would take something else. A broker that does not answer refuses
    /// nothing.
    pub fn is_refusal(&self) -> bool {
        match self {
            LoadError::Property { .. }
            | LoadError::Properties { .. }
            | LoadError::OfOtherRole { .. }
            | LoadError::TooLargeForProducer { .. }
            | LoadError::TooLarge { .. } => true,
            // The library's own errors (no answer, no connection) have names that begin with an underscore.
            LoadError::Refused { reason, .. } => !reason.contains("(_"),
            _ => false,
        }
    }
}

impl HasFault for LoadError {
    fn fault(&self) -> Fault {
        match self {
            LoadError::Property { .. }
            | LoadError::Properties { .. }
            | LoadError::OfOtherRole { .. }
            | LoadError::PayloadFile { .. }
            | LoadError::TooLargeForProducer { .. } => Fault::User,
            LoadError::OneProcess { .. } | LoadError::NotOfWorker { .. } => Fault::User,
            LoadError::Worker { fault, .. } => *fault,
            LoadError::Thread { .. }
            | LoadError::WorkerLost { .. }
            | LoadError::WorkerClock { .. }
            | LoadError::DriverStart { .. }
            | LoadError::Driver { .. }
            | LoadError::Stopped => Fault::Environment,
            LoadError::UnknownTopic { .. }
            | LoadError::Unreachable { .. }
            | LoadError::Disconnected { .. }
            | LoadError::Authentication { .. }
            | LoadError::Tls { .. }
            | LoadError::Refused { .. }
            | LoadError::TooLarge { .. }
            | LoadError::Silent { .. }
            | LoadError::NotReady { .. } => Fault::Target,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            LoadError::Property { reason, .. } if reason.contains("client for Java") => {
                "properties of a client for Java have the names that Java gives them"
            }
            LoadError::Property { .. } => "the names are librdkafka's: see its CONFIGURATION.md",
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
            LoadError::OfOtherRole { of, .. } => {
                return Some(format!("write it under `{of}:` (-X {of}.KEY=VALUE), or leave it out").into());
            }
            LoadError::Properties { reason, .. } if reason.contains(".location failed") => {
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
            LoadError::PayloadFile { .. } => {
                "load.payload.file names the file whose bytes the messages carry"
            }
            LoadError::Refused { reason, .. } => return refusal_hint(reason).map(Cow::from),
            LoadError::NotOfWorker { .. } => {
                "leave it out of the scenario; properties that a worker needs stand in a file of its own (plumb worker --config)"
            }
            LoadError::OneProcess { .. } => "leave --workers out: one process reads it",
            LoadError::Worker { hint, .. } => return hint.clone().map(Cow::from),
            LoadError::WorkerLost { .. } => {
                "is the worker's process alive, and does the network let its connection to this host through?"
            }
            LoadError::DriverStart { .. } => {
                "driver: {command: [PROGRAM, ARGUMENTS]} names a program that can be run; of java it is the JVM's launcher"
            }
            LoadError::Driver { .. } => {
                "`plumb driver check -- PROGRAM` tries a driver against a broker that knows what happened; docs/guide/external-drivers.md \
                 has the protocol"
            }
            LoadError::Silent { .. } => "are the brokers up, and what do their logs say of that time?",
            LoadError::NotReady { .. } => "does the topic have a leader and enough in-sync replicas?",
            _ => return None,
        };
        Some(hint.into())
    }

    fn is_stop(&self) -> bool {
        matches!(self, LoadError::Stopped)
    }
}

/// The next step for an error code of the broker.
fn refusal_hint(reason: &str) -> Option<&'static str> {
    let hints = [
        (
            "INVALID_RECORD",
            "is the topic compacted (cleanup.policy=compact)? It takes records with keys only: load.keys in a scenario gives them keys",
        ),
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
            "INVALID_SESSION_TIMEOUT",
            "the broker takes sessions of group.min.session.timeout.ms (6 s by default) to group.max.session.timeout.ms: set \
             session.timeout.ms between them",
        ),
        (
            "AUTHORIZATION_FAILED",
            "this user may not do that: have it allowed, or give a topic that exists and that it may use (--topic)",
        ),
    ];
    hints.into_iter().find(|(code, _)| reason.contains(code)).map(|(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(error: &LoadError) -> String {
        error.hint().map(Cow::into_owned).unwrap_or_default()
    }

    #[test]
    fn a_broker_that_does_not_answer_refuses_nothing() {
        let refused = |reason: &str| LoadError::Refused {
            operation: "create topic t".to_owned(),
            reason: reason.to_owned(),
        };
        assert!(refused("invalid segment.bytes (INVALID_CONFIG)").is_refusal());
        assert!(!refused("no answer within 15 s (_TIMED_OUT)").is_refusal());
        let unreachable = LoadError::UnknownTopic { topic: "t".to_owned() };
        assert!(!unreachable.is_refusal());
        let silent = LoadError::Silent { bootstrap: "b:1".to_owned(), silent_for: Duration::from_secs(47) };
        assert!(!silent.is_refusal());
    }

    #[test]
    fn a_record_that_was_deleted_before_it_was_read_is_no_question_of_leaders() {
        let not_ready = |reason: String| LoadError::NotReady {
            topic: "t".to_owned(),
            partition: 0,
            waited_s: 30,
            reason,
        };
        assert!(hint(&not_ready(String::new())).contains("leader"));
    }

    #[test]
    fn a_record_that_a_compacted_topic_refuses_is_told_that_it_needs_a_key() {
        let reason = "Broker: Broker failed to validate record (INVALID_RECORD)".to_owned();
        let refused = LoadError::Refused { operation: "send to t".to_owned(), reason };
        assert!(hint(&refused).contains("load.keys"), "{}", hint(&refused));
    }
}
