//! Reads what a running system says of itself: host facts and counters, threads, broker metrics.
//!
//! | question | function |
//! |---|---|
//! | What is this host? | [`host_facts`] |
//! | How much memory is free? | [`free_memory`] |
//! | Which caches has it? | [`caches`] |
//! | Which clock sources has it? | [`clock_sources`] |
//! | How well is its wall clock kept, and whose clock is it? | [`clock_sync`], [`clock_identity`] |
//! | What did it do during the run? | [`sample_host`] twice, then [`host_delta`] |
//! | What does a network driver count, and what is it set to? | [`ethtool::counters`], [`ethtool::call`] |
//! | How is its firmware set, by its management controller? | [`firmware_settings`] |
//! | What is behind a directory? | [`storage`] |
//! | What did a process and its threads cost, read and write? | [`sample_threads`] twice, then [`process_usage`] |
//! | How much processor time has a process had? | [`process_cpu_ns`] |
//! | Is the broker on this host? | [`is_local_address`] |
//! | Which instructions for encryption does the processor show? | [`crypto_cpu`] |
//! | Which Java runs a broker here? | [`broker_java`] |
//! | Where did the broker's requests spend their time? | [`scrape`] twice, then [`request_times`] |
//! | What did librdkafka clients do over a window? | [`ClientReadings`], [`statistics_of`] |
//! | What did Java clients do over a window? | [`scrape`] twice, then [`java_clients`] |
//! | What did a broker do over a window? | [`scrape`] twice, or of a JVM of this host [`jvm_beans`], then [`broker_window`] |
//! | What did the threads of a process wait for? | [`StateReadings`], then [`process_window`] |
//! | What holds a process back beside its threads: control group, sockets, logs, memory nodes? | [`ProcessDetails`], [`remote_memory`] |
//! | What is a JVM, and what are its processors busy with? | [`jvm_facts`], [`CpuProfiler`], then [`profile`] |
//! | Which TCP sockets are there? | [`tcp_sockets`] |
//! | What did the kernel count? | [`KernelTrace`] |
//! | What did the kernel make a process wait for? | [`KernelTrace::attach`], then [`KernelTrace::finish`] |
//!
//! All host access goes through one [`HostRoot`] and one [`CommandRunner`], so that a recorded host can stand in for the
//! real one and no privilege is needed; only [`KernelTrace`] asks the running kernel itself, and needs root. What is learned is
//! returned in the types of `plumb_model::facts` and `plumb_model::observed`.
//!
//! Not for judging what is read, and not for changing anything: every access is a read, except that the calls of [`ethtool`] also carry what
//! another crate tells a driver. Read `root.rs` next.

mod address;
mod bmc;
mod broker;
mod broker_java;
mod caches;
mod client;
mod clock_identity;
mod command;
mod connect;
mod counters;
mod cpu_clock;
mod cpuinfo;
mod crypto_cpu;
mod error;
pub mod ethtool;
mod facts;
mod host;
mod http;
mod idle;
mod jvm;
mod kernel;
mod lines;
mod listeners;
mod netlink;
mod own_cost;
mod perf;
mod process;
mod profile;
mod prometheus;
mod queue_disciplines;
mod requests;
mod root;
mod storage;
mod tcp_limits;
mod tcp_table;
mod thread_class;
mod threads;

pub use address::is_local_address;
pub use bmc::{Bmc, BmcError, FirmwareSettings, firmware_settings};
pub use broker::broker_window;
pub use broker_java::{BrokerJava, broker_java, java_of};
pub use caches::caches;
pub use client::{ClientReadings, ClientsSeen, StatisticsPage, java_clients, statistics_at, statistics_of};
pub use clock_identity::{ClockIdentity, clock_identity};
pub use command::{CommandError, CommandRunner, RecordedCommands, SystemCommands};
pub use connect::shortest_connects;
pub use counters::{HostSample, host_delta, sample_host};
pub use cpu_clock::process_cpu_ns;
pub use crypto_cpu::crypto_cpu;
pub use error::ObserveError;
pub use facts::{FreeMemory, clock_sources, clock_sync, free_memory, host_facts, unused_memory_bytes};
pub use host::{
    NamedCounters, ProgramsSample, host_window, named_counters, programs, sample_host_window, sample_programs,
};
pub use http::{HttpError, Login, host_and_port};
pub use jvm::{
    AttachError, CpuProfiler, GcCounters, GcLog, JvmBeans, gc_counters, jvm_beans, jvm_facts,
    jvm_thread_names,
};
pub use kernel::{KernelCounts, KernelTrace};
pub use listeners::{listening_process, listening_process_at};
pub use perf::{PerfError, PerfProfiler};
pub use process::{
    ProcessDetails, ProcessNames, StateReadings, find_brokers, process_names, process_window, remote_memory,
    untold_states,
};
pub use profile::{Sampled, profile};
pub use prometheus::{MetricSample, MetricsPage, PageError};
pub use requests::{PageOf, ProcessStart, Scrape, request_times, scrape};
pub use root::HostRoot;
pub use storage::storage;
pub use tcp_table::{TcpSocket, tcp_sockets};
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
