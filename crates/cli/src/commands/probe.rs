//! `plumb probe`: one file a resource.

mod clock;
mod crypto;
mod facts;
mod memory;
mod network;
mod storage;
mod window;

use super::End;
use crate::args::probe::{ProbeArgs, ProbeCommand};
use anyhow::Result;
use plumb_model::observation::Distribution;
use plumb_stats::distribution::figures;
use plumb_stats::histogram::Histogram;
use plumb_stats::interval::Spread;

/// Confidence level of the probes' intervals.
const LEVEL: f64 = 0.95;

pub(super) fn probe(arguments: &ProbeArgs) -> Result<End> {
    match &arguments.command {
        ProbeCommand::Storage(arguments) => storage::storage(arguments),
        ProbeCommand::Crypto(arguments) => crypto::crypto(arguments),
        ProbeCommand::Memory(arguments) => memory::memory(arguments),
        ProbeCommand::Network(arguments) => network::network(arguments),
        ProbeCommand::Clock(arguments) => clock::clock(arguments),
        ProbeCommand::Facts(arguments) => facts::facts(arguments),
    }
}

/// The figures of single times.
fn distribution(times_ns: impl IntoIterator<Item = i64>) -> Distribution {
    let mut histogram = Histogram::new();
    times_ns.into_iter().for_each(|time_ns| histogram.record_ns(time_ns));
    figures(&histogram, &Spread { level: LEVEL, block_means_ns: &[], batches: &[] })
}
