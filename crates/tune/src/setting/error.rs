//! A setting that cannot be read or changed as asked.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A setting that cannot be changed as asked.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum SettingError {
    #[error(
        "host setting {name:?} is no setting: expected a sysctl name such as net.ipv4.tcp_slow_start_after_idle, a path under /proc/sys or /sys, or of a cluster broker:1:num.io.threads or topic:orders:segment.ms"
    )]
    Name { name: String },
    #[error("host setting {name}: {value:?} is no value: expected one line")]
    Value { name: String, value: String },
    #[error("host setting {name}: {value:?} cannot be: {reason}")]
    Unfit { name: String, value: String, reason: String },
    #[error("host setting {name}: this kernel has no {path} that can be read")]
    Unknown {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: {path} may not be written by this user")]
    Permission {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: the kernel did not take {value:?}")]
    Refused {
        name: String,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: wrote {expected:?}, but it reads {got:?}")]
    NotInEffect { name: String, expected: String, got: String },
    #[error(
        "host setting {name} could not be put back: the kernel does not take {part} = {value} again, as it is now"
    )]
    NoInverse { name: String, part: String, value: String },
    #[error("host setting {name} is not as it was: {reason}")]
    NotAsBefore { name: String, reason: String },
    #[error("host settings {name} and {other}: each undoes the other")]
    Twice { name: String, other: String },
    #[error("host setting {name} cannot be changed: {reason}")]
    Unchangeable { name: String, reason: String },
    #[error("{name} is a setting of a cluster, and none is named")]
    NoCluster { name: String },
    #[error("{name}: the cluster does not tell it: {reason}")]
    NotTold { name: String, reason: String },
    #[error("{name}: the cluster does not take {value:?}: {reason}")]
    NotTaken { name: String, value: String, reason: String },
}

impl SettingError {
    /// True if the kernel or a cluster does not take the value that was asked for, and would take another.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            SettingError::Refused { .. } | SettingError::NotInEffect { .. } | SettingError::NotTaken { .. }
        )
    }
}

impl HasFault for SettingError {
    fn fault(&self) -> Fault {
        use SettingError::{Name, NoCluster, Twice, Unfit, Value};
        match self {
            Name { .. } | Value { .. } | Unfit { .. } | Twice { .. } | NoCluster { .. } => Fault::User,
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            SettingError::Name { .. } | SettingError::Value { .. } => {
                "write it as {net.ipv4.tcp_slow_start_after_idle: 0} or {/sys/kernel/mm/transparent_hugepage/enabled: never}"
            }
            SettingError::Unfit { .. } => {
                "write it in the words in which it reads, within what the device has"
            }
            SettingError::Unknown { name, .. } if name.contains(':') => {
                "see that the device or process is there, and that its driver has it"
            }
            SettingError::Unknown { .. } => {
                "`sysctl -a` lists what this kernel has; a module may have to be loaded"
            }
            SettingError::Permission { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "the file system is read-only here, as in a container: do it on the host itself"
            }
            SettingError::Permission { .. } => "run it as root on the host itself, or leave the setting out",
            SettingError::NoInverse { .. } => {
                "a trial changes only what it can put back: set it by hand for the whole trial, or in an arm's `before` with its way back in `after`"
            }
            SettingError::NotAsBefore { .. } => "set it by hand to what it was before",
            SettingError::Unchangeable { .. } => "leave it out, or change it by hand",
            SettingError::NoCluster { .. } => "name its brokers with --bootstrap HOST:PORT",
            SettingError::NotTold { .. } | SettingError::NotTaken { .. } => {
                "kafka-configs.sh --describe --all lists what brokers and topics there are, and their keys"
            }
            SettingError::Twice { .. } => "leave one of them out: they are two names of one limit",
            SettingError::Refused { .. } | SettingError::NotInEffect { .. } => {
                "write the value by hand and see what the kernel makes of it; what was changed has been put back"
            }
        };
        Some(hint.into())
    }
}
