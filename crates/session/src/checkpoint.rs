//! What is kept of a step's figures beside the document, so that a run can go on where it was killed.
//!
//! After each block the step's part of the document and its histograms, with their exact sums, go into a file of their
//! own, which is replaced whole. A block is done when it is in there, whatever else the kill left half written.
//!
//! In a trial a round counts as a whole, and blocks before and after a stop are no neighbours in time. So the step before its last block is
//! kept as well: a run that goes on takes a round that is not whole back with it.

use super::fold::FoldState;
use crate::run_dir::{RunDir, RunDirError};
use plumb_model::document::StepResult;
use plumb_model::fault::{Fault, HasFault};
use plumb_stats::histogram::{DIGITS, Exact, Histogram, TIME_MAX_NS};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A step after one of its blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StepCheckpoint {
    /// The run that it belongs to.
    pub(super) run: String,
    /// The step in the document.
    pub(super) result: StepResult,
    pub(super) span: Span,
    pub(super) fold: FoldState,
    /// Settings that were tried on the way to the result, with what they came to: those of a search.
    #[serde(default)]
    pub(super) candidates: Vec<CandidateCheckpoint>,
}

/// The full-length runs at one rate of a search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CandidateCheckpoint {
    pub(super) rate_per_s: f64,
    pub(super) result: StepResult,
    pub(super) span: Span,
    pub(super) fold: FoldState,
}

/// Time and bytes behind a step's rates, over its blocks so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span {
    pub(super) planned_ns: u64,
    pub(super) measured_ns: u64,
    pub(super) receiving_ns: u64,
    pub(super) received_bytes: u64,
    pub(super) received_messages: u64,
    pub(super) acked_bytes: u64,
}

/// Name of the file of a step whose logs' names begin with `stem`.
pub(super) fn file(stem: &str) -> String {
    format!("{stem}.state.json")
}

/// Name of the file of the same step before its last block.
pub(super) fn file_before(stem: &str) -> String {
    format!("{stem}.state-before.json")
}

/// Keeps a step.
pub(super) fn write(dir: &RunDir, stem: &str, step: &StepCheckpoint) -> Result<(), RunDirError> {
    let json = serde_json::to_vec(step).map_err(|error| RunDirError::Write(std::io::Error::other(error)))?;
    dir.write_state(&file(stem), &json)
}

/// A histogram as text: what each bucket holds, and the exact account beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct HistogramState {
    /// A value of each bucket that is not empty, with its count.
    buckets: Vec<(u64, u64)>,
    /// As text, because JSON numbers end before it does.
    sum_ns: String,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    negative: u64,
    overflow: u64,
}

/// Times that were kept and cannot be read again.
#[derive(Debug, Error)]
#[error("times that were kept are damaged")]
pub struct DamagedHistogram;

impl HasFault for DamagedHistogram {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl HistogramState {
    /// Times that were recorded, those below zero and beyond the range among them.
    pub(super) fn recorded(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum::<u64>() + self.negative + self.overflow
    }
}

impl From<&Histogram> for HistogramState {
    fn from(histogram: &Histogram) -> Self {
        let (inner, exact) = (histogram.inner(), histogram.exact());
        let bucket = |value: u64| inner.lowest_equivalent(value);
        HistogramState {
            buckets: inner
                .iter_recorded()
                .map(|step| (bucket(step.value_iterated_to()), step.count_at_value()))
                .collect(),
            sum_ns: exact.sum_ns.to_string(),
            min_ns: exact.min_ns,
            max_ns: exact.max_ns,
            negative: exact.negative,
            overflow: exact.overflow,
        }
    }
}

impl TryFrom<&HistogramState> for Histogram {
    type Error = DamagedHistogram;

    fn try_from(kept: &HistogramState) -> Result<Histogram, DamagedHistogram> {
        let mut inner = hdrhistogram::Histogram::<u64>::new_with_bounds(1, TIME_MAX_NS, DIGITS)
            .expect("constant bounds are in order");
        for (value, count) in &kept.buckets {
            inner.record_n(*value, *count).map_err(|_| DamagedHistogram)?;
        }
        let exact = Exact {
            sum_ns: kept.sum_ns.parse().map_err(|_| DamagedHistogram)?,
            min_ns: kept.min_ns,
            max_ns: kept.max_ns,
            negative: kept.negative,
            overflow: kept.overflow,
        };
        Histogram::from_parts(&inner, exact).map_err(|_| DamagedHistogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_comes_back_as_it_was() {
        let mut histogram = Histogram::new();
        for time in [-3, 0, 1, 999, 1_234_567, 89_000_000_001, TIME_MAX_NS as i64, TIME_MAX_NS as i64 + 1] {
            histogram.record_ns(time);
        }
        for (histogram, recorded) in [(Histogram::new(), 0), (histogram, 8)] {
            let text = serde_json::to_string(&HistogramState::from(&histogram)).unwrap();
            let kept: HistogramState = serde_json::from_str(&text).unwrap();
            assert_eq!(kept.recorded(), recorded);
            assert_eq!(Histogram::try_from(&kept).ok(), Some(histogram));
        }
    }

    #[test]
    fn a_damaged_histogram_is_refused() {
        let mut kept = HistogramState::from(&Histogram::new());
        kept.buckets.push((5, 1));
        assert!(Histogram::try_from(&kept).is_err());
    }
}
