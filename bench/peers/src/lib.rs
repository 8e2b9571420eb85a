//! Other load tools beside Plumb on one broker: building them, running them in turns, taking what they cost.
//!
//! For the benches that compare, one binary each: `produce-cost` and `consume-cost`. A [`tool`] turns a [`job`] into a
//! command; the [`meter`] runs it and takes the CPU time of client and broker; the [`broker`] says what it has; [`rounds`]
//! decides who runs when and the [`contest`] lets them; [`report`] says what the rounds give, [`verdict`] whether a goal is
//! met. Not here: which tools and ratios are of interest, which is the binaries' business, and anything that measures
//! latency (`latency-floor` does).

pub mod broker;
pub mod cache;
pub mod contest;
pub mod error;
pub mod flow;
pub mod job;
pub mod machine;
pub mod meter;
pub mod offsets;
pub mod options;
pub mod program;
pub mod report;
pub mod rounds;
pub mod run;
pub mod table;
pub mod tool;
pub mod verdict;

pub use error::BenchError;
