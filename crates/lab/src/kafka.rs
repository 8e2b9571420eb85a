//! Real Apache Kafka on this machine, for demos, experiments and tests.
//!
//! One to a few brokers in KRaft combined mode, on loopback only, on ports that the system chose, with data and logs
//! in a directory of their own. A lab ends with its owner: [`LabCluster`] stops it when dropped, the kernel ends the
//! brokers when the owning process dies in any other way, and the next start clears what such a death left on disk.
//! A lab that shall stay is brought up by [`Labs::up`] and taken down by [`Labs::down`].
//!
//! Every broker has a plaintext listener, whatever was asked: the brokers talk among themselves on it and the lab
//! finds out on it whether they are ready. A lab with TLS or SASL has a second, secured listener beside it, and
//! [`LabCluster::bootstrap`] names that one.
//!
//! Not for production, and not a Kafka of ours: the brokers are the published jars, pinned and verified ([`install`]).
//!
//! Where to read on: [`options`] for what can be asked, `startup.rs` for how a start goes, [`labs`] for what lives on
//! disk and who may clear it.

pub mod certificates;
pub mod client;
pub mod cluster;
pub mod error;
pub mod install;
pub mod labs;
pub mod log_dirs;
pub mod options;

mod agent;
mod broker;
mod configuration;
mod format;
mod identity;
mod java;
mod jvm;
mod launch;
mod manifest;
mod metrics;
mod ports;
mod processes;
mod readiness;
mod removal;
mod security;
mod startup;

pub use certificates::CertificateAuthority;
pub use client::PlainClient;
pub use cluster::LabCluster;
pub use error::{LabError, Result};
pub use install::{client_class_path, profiler_jar};
pub use java::java_launcher;
pub use labs::{BrokerStatus, LabStatus, Labs};
pub use log_dirs::LogDir;
pub use options::{LabOptions, LabShape, ScramMechanism, ScramUser, Step, Tls};
pub use processes::BrokerProcesses;
