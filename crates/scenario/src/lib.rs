//! Scenarios out of what users have.
//!
//! [`file`] reads a scenario file; [`omb`] the workload and driver files of the Open Messaging Benchmark; [`perf_test`] takes the flags
//! of Kafka's own performance tools, and prints a run's document as the lines that those print. All end in a
//! [`plumb_model::scenario::Scenario`]: nothing is run or measured here.

pub mod file;
mod java_client;
pub mod omb;
pub mod perf_test;
pub mod yaml;
pub mod yaml_error;
