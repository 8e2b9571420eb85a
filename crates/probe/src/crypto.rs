//! The speed of cryptographic libraries on this machine: encryption, hashes, checksums, signatures, handshakes.
//!
//! An [`Engine`] is a library that can be asked for one sample of one piece of [`Work`]; which comes when is the caller's to
//! decide, so that all engines can take turns. [`openssl`] is the shared library of this host, [`own`] what is part of
//! this program, [`jvm`] a Java virtual machine in a process of its own.
//!
//! Not here: what the samples say (the caller has the statistics) and what follows from them (the `judge` crate).

pub mod built_in;
mod error;
pub mod jvm;
mod keys;
pub mod openssl;
mod sample;

pub use error::CryptoError;
pub use sample::Sample;

use plumb_model::probe::crypto::{Algorithm, EngineName, Form, NotMeasured, Operation};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The work of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// An algorithm over blocks of a size.
    Bytes {
        /// The algorithm.
        algorithm: Algorithm,
        /// Bytes of each operation.
        block_bytes: u32,
        /// The form of an operation.
        form: Form,
    },
    /// A signature or a handshake.
    Operation(Operation),
}

/// A library's description of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The library.
    pub name: EngineName,
    /// As it calls itself.
    pub version: String,
    /// The file that is measured; absent for what is part of this program.
    pub file: Option<String>,
    /// The reason for this file.
    pub chosen_because: Option<String>,
    /// The work without a figure, and why.
    pub not_measured: Vec<NotMeasured>,
    /// A Java virtual machine's settings about instructions.
    pub jvm_flags: BTreeMap<String, String>,
    /// Options that the measured virtual machine was given beside ours.
    pub jvm_options: Vec<String>,
}

/// A library that can be measured.
pub trait Engine {
    /// The library's description of itself.
    fn describe(&self) -> Description;
    /// The work to measure first: for each algorithm one form, in this order.
    fn work(&self) -> Vec<Work>;
    /// The other form of some of that.
    fn other_forms(&self) -> Vec<Work>;
    /// Whatever it needs before its samples are those of a process that has run for long, or until told to stop.
    fn warm_up(&mut self, time: Duration, stop: &AtomicBool) -> Result<(), CryptoError>;
    /// One sample on so many threads at once.
    fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError>;
}
