//! End to end: the program's binary against a sink broker in this process, or against a real broker.
//!
//! One binary for all of it, so that its tests run beside each other and link once.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

mod architecture;
mod bad_input;
mod broker_metrics;
mod causes;
mod client_statistics;
mod clusters;
mod compare;
mod compat;
mod devices;
mod diagnose;
mod drivers;
mod external_drivers;
mod faults;
mod figures;
mod figures_that_lie;
mod fleet;
mod hardware;
mod host_limits;
mod install;
mod instrument;
mod kafka;
mod kept_results;
mod probe_clock;
mod probe_crypto;
mod probe_facts;
mod probe_network;
mod probe_storage;
mod program;
mod references;
mod search;
mod size;
mod throughput;
mod timing;
mod tls_server;
mod trial;
mod tune;
mod workers;
