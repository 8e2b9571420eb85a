//! Reads what a running system says of itself: host facts and counters, threads, broker metrics.
//!
//! | question | function |
//! |---|---|
//! | What is this host? | [`host_facts`] |
//! | How much memory is free? | [`free_memory`] |
//! | Which caches has it? | [`caches`] |
//! | Which clock sources has it? | [`clock_sources`] |
//! | What did it do during the run? | [`sample_host`] twice, then [`host_delta`] |
//! | What is behind a directory? | [`storage`] |
//! | What did a process and its threads cost, read and write? | [`sample_threads`] twice, then [`process_usage`] |
//! | How much processor time has a process had? | [`process_cpu_ns`] |
//! | Is the broker on this host? | [`is_local_address`] |
//! | Which instructions for encryption does the processor show? | [`crypto_cpu`] |
//! | Which Java runs a broker here? | [`broker_java`] |
//! | Where did the broker's requests spend their time? | [`scrape`] twice, then [`request_times`] |
//!
//! All host access goes through one [`HostRoot`] and one [`CommandRunner`], so that a recorded host can stand in for the
//! real one and no privilege is needed. What is learned is returned in the types of `plumb_model::facts`.
//!
//! Not for judging what is read, and not for changing anything: every access is a read. Read `root.rs` next.

mod address;
mod broker_java;
mod caches;
mod command;
mod connect;
mod counters;
mod cpu_clock;
mod cpuinfo;
mod crypto_cpu;
mod error;
mod facts;
mod http;
mod idle;
mod listeners;
mod prometheus;
mod requests;
mod root;
mod storage;
mod threads;

pub use address::is_local_address;
pub use broker_java::{BrokerJava, broker_java};
pub use caches::caches;
pub use command::{CommandError, CommandRunner, RecordedCommands, SystemCommands};
pub use connect::shortest_connects;
pub use counters::{HostSample, host_delta, sample_host};
pub use cpu_clock::process_cpu_ns;
pub use crypto_cpu::crypto_cpu;
pub use error::ObserveError;
pub use facts::{FreeMemory, clock_sources, free_memory, host_facts};
pub use http::{HttpError, Login};
pub use listeners::listening_process;
pub use prometheus::{MetricSample, MetricsPage, PageError};
pub use requests::{Scrape, request_times, scrape};
pub use root::HostRoot;
pub use storage::storage;
pub use threads::{ThreadsSample, process_usage, read_io, sample_threads};

/// Kernel clock ticks per second in `/proc`: `USER_HZ`, which is 100 on every architecture that Kafka runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Nanoseconds of a number of ticks; absent when they do not fit 64 bits.
fn ticks_ns(ticks: u64) -> Option<u64> {
    ticks.checked_mul(1_000_000_000 / TICKS_PER_SECOND)
}

/// Growth of a counter; absent when a reading lacks it or when it went back (reset or wrapped).
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}
