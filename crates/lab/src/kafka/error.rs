//! The errors of a lab, and whose fault each is.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Result of a lab operation.
pub type Result<T, E = LabError> = std::result::Result<T, E>;

/// The reason why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No `java` in `JAVA_HOME` or on the `PATH`.
    #[error("no java found in {searched}")]
    NoJava {
        /// The places searched.
        searched: String,
    },
    /// There is a Java, but Kafka 4 needs a newer one.
    #[error("{} is Java {got}, expected {expected} or newer", path.display())]
    OldJava {
        /// The program that was asked.
        path: PathBuf,
        /// Lowest feature release that works.
        expected: u32,
        /// Feature release found.
        got: u32,
    },
    /// `java -version` did not say a version.
    #[error("{} does not say its version: {got}", path.display())]
    UnknownJava {
        /// The program that was asked.
        path: PathBuf,
        /// Its output instead.
        got: String,
    },
    /// Maven is needed to fetch the jars and is not there.
    #[error("no mvn found on the PATH; it fetches Apache Kafka once, into {}", cache.display())]
    NoMaven {
        /// The directory for the jars.
        cache: PathBuf,
    },
    /// Maven could not fetch the jars.
    #[error("mvn could not fetch Apache Kafka ({status})\n{output}")]
    Download {
        /// Its exit status.
        status: ExitStatus,
        /// The last lines that it said.
        output: String,
    },
    /// A fetched jar is not the one that the lab was written for.
    #[error("{file} has SHA-256 {got}, expected {expected}")]
    Checksum {
        /// The jar.
        file: String,
        /// The sum in the list.
        expected: String,
        /// The file's sum.
        got: String,
    },
    /// A jar of the list was not fetched, or has gone.
    #[error("{} is missing, expected by the list of jars", file.display())]
    MissingJar {
        /// The jar.
        file: PathBuf,
    },
    /// A jar was fetched that the list does not know.
    #[error("{file} is not in the list of jars")]
    UnlistedJar {
        /// The jar.
        file: String,
    },
    /// The given directory holds no Kafka.
    #[error("{} is no Kafka directory: expected libs/kafka-clients-*.jar in it", directory.display())]
    NotKafka {
        /// The directory given.
        directory: PathBuf,
    },
    /// A broker property that the lab itself has to set.
    #[error("broker property {key} is set by the lab and cannot be given")]
    ReservedProperty {
        /// The property.
        key: String,
    },
    /// No lab that stays has this name.
    #[error("there is no lab {name} that stays; there is {}", if labs.is_empty() { "none".to_owned() } else { labs.join(", ") })]
    NoSuchLab {
        /// The name that was given.
        name: String,
        /// Those that there are.
        labs: Vec<String>,
    },
    /// An option with a value that cannot work.
    #[error("{option}: expected {expected}, got {got}")]
    Option {
        /// The option.
        option: &'static str,
        /// The values allowed.
        expected: String,
        /// The value given.
        got: String,
    },
    /// A directory for logs that will not do.
    #[error("log directory {}: {problem}", path.display())]
    LogDir {
        /// As it was given.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// Neither the XDG variable nor `HOME` is set.
    #[error("no directory for {purpose}: neither {variable} nor HOME is set")]
    NoHome {
        /// The purpose of the directory.
        purpose: &'static str,
        /// The variable that would name it.
        variable: &'static str,
    },
    /// The storage of a broker could not be formatted.
    #[error("broker {broker}: formatting the storage failed ({status})\n{output}")]
    Format {
        /// The broker.
        broker: u32,
        /// The tool's exit status.
        status: ExitStatus,
        /// The last lines that it said.
        output: String,
    },
    /// A broker ended before it was ready.
    #[error("broker {broker} ended while starting ({status})\n{log}")]
    BrokerEnded {
        /// The broker.
        broker: u32,
        /// Its exit status.
        status: ExitStatus,
        /// The last lines of its console and log.
        log: String,
    },
    /// Every broker of a lab that ran has ended.
    #[error("every broker of the lab has ended\n{log}")]
    AllEnded {
        /// The last lines of their consoles and logs.
        log: String,
    },
    /// Every broker of a lab that ran has ended: a broker ends when it can write to none of its log directories.
    #[error("every broker of the lab has ended: log directory {directory} went offline ({reason})\n{log}")]
    LogDirOffline {
        /// The directory that failed first.
        directory: String,
        /// The system's error.
        reason: String,
        /// The last lines of the brokers' consoles and logs.
        log: String,
    },
    /// The brokers run but do not work.
    #[error("the brokers were not ready after {} s: {reason}\n{log}", waited.as_secs())]
    NotReady {
        /// The time waited.
        waited: Duration,
        /// The condition that was not met.
        reason: String,
        /// The last lines of the brokers' logs.
        log: String,
    },
    /// Other programs took the chosen ports again and again.
    #[error("other programs took the chosen ports {attempts} times in a row")]
    PortsTaken {
        /// The number of attempts.
        attempts: u32,
    },
    /// A certificate could not be made.
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// An agent could not be loaded into a running broker.
    #[error("process {pid}: agent {agent} was not loaded: {reason}")]
    Agent {
        /// The broker's process.
        pid: i32,
        /// The agent.
        agent: String,
        /// The JVM's message.
        reason: String,
    },
    /// The caller asked to stop while the lab was starting.
    #[error("interrupted while the lab was starting")]
    Interrupted,
    /// A broker did not answer as it should.
    #[error(transparent)]
    Client(#[from] crate::kafka::client::ClientError),
    /// A file or process operation of the lab's own failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl HasFault for LabError {
    fn fault(&self) -> Fault {
        match self {
            Self::NotKafka { .. }
            | Self::NoSuchLab { .. }
            | Self::ReservedProperty { .. }
            | Self::Option { .. }
            | Self::LogDir { .. } => Fault::User,
            Self::Format { output: words, .. } | Self::BrokerEnded { log: words, .. }
                if refuses_setting(words) =>
            {
                Fault::User
            }
            Self::Format { .. }
            | Self::BrokerEnded { .. }
            | Self::AllEnded { .. }
            | Self::LogDirOffline { .. }
            | Self::NotReady { .. }
            | Self::Agent { .. }
            | Self::Client(_) => Fault::Target,
            Self::NoJava { .. }
            | Self::OldJava { .. }
            | Self::UnknownJava { .. }
            | Self::NoMaven { .. }
            | Self::Download { .. }
            | Self::Checksum { .. }
            | Self::MissingJar { .. }
            | Self::UnlistedJar { .. }
            | Self::NoHome { .. }
            | Self::PortsTaken { .. }
            | Self::Certificate(_)
            | Self::Interrupted
            | Self::Io(_) => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::NoJava { .. } | Self::OldJava { .. } | Self::UnknownJava { .. } => {
                "install a Java 17 runtime (Debian, Ubuntu: apt-get install default-jre-headless) or set JAVA_HOME"
            }
            Self::NoMaven { .. } => {
                "install Maven (Debian, Ubuntu: apt-get install maven), or give an unpacked Kafka with --kafka-home"
            }
            Self::Download { .. } => {
                "is the network there? Maven reads its proxy and mirror from ~/.m2/settings.xml; \
                 --kafka-home uses an unpacked Kafka instead"
            }
            Self::Checksum { .. } | Self::UnlistedJar { .. } => {
                "a damaged or replaced download: remove it from ~/.m2/repository and try again"
            }
            Self::MissingJar { .. } => "remove that directory and try again: it is fetched anew",
            Self::ReservedProperty { .. } => {
                "listeners, node ids, quorum and log.dirs come from --brokers, --tls, --sasl and --log-dir"
            }
            Self::LogDir { .. } => {
                "give existing directories with room that you may write in, each once, each on the device that it is \
                 named after; a new directory is made in each and removed after the run"
            }
            Self::BrokerEnded { .. } => "a wrong --jvm-flag or --broker-property shows in the lines above",
            Self::AllEnded { .. } => {
                "the lines above are their last; without any they were killed, perhaps for want of memory (dmesg tells)"
            }
            Self::LogDirOffline { .. } => {
                "make room there, give a directory with more (--log-dir), or write less (--duration, --rate); of a device that \
                 fails, dmesg tells"
            }
            _ => return None,
        };
        Some(hint.into())
    }

    fn is_stop(&self) -> bool {
        matches!(self, Self::Interrupted)
    }
}

/// True if a broker's last words are about a property or flag that the user gave.
fn refuses_setting(words: &str) -> bool {
    ["ConfigException", "Could not create the Java Virtual Machine"].iter().any(|mark| words.contains(mark))
}
