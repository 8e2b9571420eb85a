//! The meaning of other tools' files, flags and printed lines here.
//!
//! [`omb`] reads workload and driver files of the Open Messaging Benchmark; [`perf_test`] takes the flags of Kafka's
//! own performance tools and prints their lines. Both end in a [`plumb_model::scenario::Scenario`]: nothing is run or
//! measured here. What became of each key is kept in [`fate`], so that nothing is dropped unsaid.

pub(crate) mod fate;
pub(crate) mod java_client;
pub(crate) mod omb;
pub(crate) mod perf_test;
pub(crate) mod seconds;
