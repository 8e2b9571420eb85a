//! Brokers to play with, on this machine.
//!
//! [`kafka`] runs real Apache Kafka for demos, experiments and tests. [`sink`] is a small broker of our own that
//! misbehaves exactly as told: it is how the instrument is tested and calibrated, and nobody should take it for Kafka.

pub mod kafka;
pub mod sink;
