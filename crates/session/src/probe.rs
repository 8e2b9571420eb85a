//! Experiments on one resource of this host, a file for each: their cases, their order and their results.
//!
//! Each takes its settings and gives a [`Probed`] document. Cases that alternate run on the rounds of `rounds.rs`; the host's
//! work in the meantime is read by `window.rs`. Exerting the resource itself is `plumb_probe`'s, rendering the document
//! `plumb_report`'s.

pub mod clock;
pub mod clock_account;
pub mod clock_offset;
pub mod crypto;
pub mod facts;
pub mod memory;
pub mod network;
pub mod storage;

mod rounds;
mod window;

use crate::error::SessionError;
use plumb_model::observation::Distribution;
use plumb_stats::distribution::figures;
use plumb_stats::histogram::Histogram;
use plumb_stats::interval::Spread;

/// Confidence level of the probes' intervals.
const LEVEL: f64 = 0.95;

/// The result of a probe.
#[derive(Debug)]
pub struct Probed<D> {
    /// The document of all that was measured, also if the user or an error ended the probe before its time.
    pub document: D,
    /// True if nothing ended it before its time.
    pub complete: bool,
    /// True if the document shows a fault of the probed resource.
    pub found: bool,
    /// The error that ended it, or that makes the document less than was asked for.
    pub error: Option<SessionError>,
}

/// The figures of single times, in nanoseconds; each block's are a list of their own.
fn distribution(blocks: &[Vec<i64>]) -> Distribution {
    let mut histogram = Histogram::new();
    blocks.iter().flatten().for_each(|time_ns| histogram.record_ns(*time_ns));
    let mean = |times: &Vec<i64>| times.iter().sum::<i64>() as f64 / times.len() as f64;
    let means: Vec<f64> = blocks.iter().filter(|times| !times.is_empty()).map(mean).collect();
    figures(&histogram, &Spread { level: LEVEL, block_means_ns: &means, batches: &[] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_over_three_rounds_has_an_interval_from_them() {
        let times = distribution(&[vec![90, 110], vec![100, 100], vec![110, 130]]);
        assert_eq!((times.samples, times.mean_ns.map(f64::round)), (6, Some(107.0)));
        assert!(times.mean_interval.is_some());
        assert!(distribution(&[vec![90, 110]]).mean_interval.is_none());
    }
}
