//! Errors of too little memory or room. The checks that raise them are in `memory.rs` and `space.rs`.

use plumb_model::fault::{Fault, HasFault};
use plumb_model::figure::{binary_bytes_apart, bytes_apart};
use plumb_observe::FreeMemory;
use std::borrow::Cow;
use std::path::PathBuf;
use thiserror::Error;

/// Labs that do not fit into what is free.
#[derive(Debug, Error)]
#[error(
    "the brokers of {labs} need about {} of memory (heaps, and what a JVM takes beside); {} are free {}",
    memory_amounts(*needed_bytes, free)[0],
    memory_amounts(*needed_bytes, free)[1],
    if free.by_control_group { "in this control group" } else { "on this machine" }
)]
pub struct TooLittleMemory {
    /// The labs in words.
    pub(crate) labs: String,
    pub(crate) needed_bytes: u64,
    pub(crate) free: FreeMemory,
}

/// Needed and free: what does not fit must not read as if it did.
fn memory_amounts(needed_bytes: u64, free: &FreeMemory) -> [String; 2] {
    binary_bytes_apart(needed_bytes as f64, free.bytes as f64)
}

impl HasFault for TooLittleMemory {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        Some("give the brokers less (cluster.lab.heap: 256m), leave out arms that need brokers of their own, or free some \
         memory. Whatever is left is the page cache of the logs".into())
    }
}

/// A directory that has too little room for another block.
#[derive(Debug, Error)]
#[error(
    "{path} has {} free; another block needs about {}",
    space_amounts(*free_bytes, *needed_bytes)[0],
    space_amounts(*free_bytes, *needed_bytes)[1]
)]
pub struct TooLittleSpace {
    pub(crate) path: PathBuf,
    pub(crate) free_bytes: u64,
    pub(crate) needed_bytes: u64,
}

/// Free and needed: what does not fit must not read as if it did.
fn space_amounts(free_bytes: u64, needed_bytes: u64) -> [String; 2] {
    bytes_apart(free_bytes as f64, needed_bytes as f64)
}

impl HasFault for TooLittleSpace {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(
            "choose a larger file system for the logs (--log-dir), a shorter --duration, or a lower --rate"
                .into(),
        )
    }
}
