//! Times in a histogram, with an exact account beside it: what a load's threads and a probe's committers record into, what
//! seconds, blocks and steps are merged in, and what is written and sent.
//!
//! The histogram keeps three significant digits; count, sum, smallest and largest are kept exactly, and what does not
//! fit (below zero, above one hour) is counted, never dropped. Recording takes neither memory nor a lock. Figures are made in
//! [`crate::distribution`]; [`CompactHistogram`] is the form in which one is kept or sent.

mod compact;

pub use compact::CompactHistogram;

use hdrhistogram::Histogram as Inner;
use plumb_model::fault::{Fault, HasFault};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Largest time that the histogram holds: one hour.
pub const TIME_MAX_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits that the histogram keeps.
const DIGITS: u8 = 3;

/// The exact account beside a histogram: count, sum, extremes, and the times that the histogram does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exact {
    /// Sum of the recorded times.
    pub sum_ns: u128,
    /// Smallest recorded time; absent without any.
    pub min_ns: Option<u64>,
    /// Largest recorded time; absent without any.
    pub max_ns: Option<u64>,
    /// Times below zero: not recorded.
    pub negative: u64,
    /// Times above [`TIME_MAX_NS`]: not recorded.
    pub overflow: u64,
}

/// A histogram that cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// It holds times above [`TIME_MAX_NS`].
    #[error("histogram holds a time of {got_ns} ns; expected at most {expected_ns} ns")]
    OutOfRange {
        /// Its largest time.
        got_ns: u64,
        /// The largest time allowed.
        expected_ns: u64,
    },
    /// Histogram and exact account are not of the same samples.
    #[error(
        "histogram holds {recorded} samples, which its exact sum, smallest and largest time cannot be of"
    )]
    AccountDiffers {
        /// Samples in the histogram.
        recorded: u64,
    },
}

impl HasFault for HistogramError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// Times with three significant digits from 1 ns to 1 h, and the exact account of them.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "CompactHistogram", try_from = "CompactHistogram")]
pub struct Histogram {
    inner: Inner<u64>,
    sum_ns: u128,
    /// `u64::MAX` without samples.
    min_ns: u64,
    max_ns: u64,
    negative: u64,
    overflow: u64,
}

impl Histogram {
    /// An empty histogram. It takes all its memory here, about a quarter of a megabyte.
    pub fn new() -> Self {
        let inner = Inner::new_with_bounds(1, TIME_MAX_NS, DIGITS).expect("constant bounds are in order");
        Histogram { inner, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, negative: 0, overflow: 0 }
    }

    /// Takes over a histogram that came without an exact account, of whatever bounds and digits: sum, smallest and largest are as
    /// exact as its buckets.
    ///
    /// # Errors
    /// When it holds a time above one hour.
    pub fn from_buckets(buckets: &Inner<u64>) -> Result<Self, HistogramError> {
        let mut taken = Histogram::new();
        if buckets.is_empty() {
            return Ok(taken);
        }
        let too_long = |_| HistogramError::OutOfRange { got_ns: buckets.max(), expected_ns: TIME_MAX_NS };
        taken.inner.add(buckets).map_err(too_long)?;
        taken.sum_ns = (buckets.mean() * buckets.len() as f64).round() as u128;
        (taken.min_ns, taken.max_ns) = (buckets.min(), buckets.max());
        Ok(taken)
    }

    /// Records one time. Below zero or above one hour it is counted beside the histogram.
    pub fn record_ns(&mut self, time_ns: i64) {
        match u64::try_from(time_ns) {
            Err(_) => self.negative += 1,
            Ok(time_ns) => self.record_times(time_ns, 1),
        }
    }

    /// Records the time from a start to an end, both of the same clock.
    #[inline]
    pub fn record_span(&mut self, start_ns: u64, end_ns: u64) {
        self.record_spans(start_ns, end_ns, 1);
    }

    /// Records the same time so many times.
    #[inline]
    pub fn record_spans(&mut self, start_ns: u64, end_ns: u64, count: u64) {
        match end_ns.checked_sub(start_ns) {
            None => self.negative += count,
            Some(time_ns) => self.record_times(time_ns, count),
        }
    }

    /// Inlined into other crates: it is called for every message, and there a call costs a tenth of it.
    #[inline]
    fn record_times(&mut self, time_ns: u64, count: u64) {
        if time_ns > TIME_MAX_NS {
            self.overflow += count;
            return;
        }
        // Cannot saturate: the value is in range.
        self.inner.saturating_record_n(time_ns, count);
        self.sum_ns += u128::from(time_ns) * u128::from(count);
        self.min_ns = self.min_ns.min(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        if self.recorded() == 0 {
            return;
        }
        self.inner.reset();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        (self.negative, self.overflow) = (0, 0);
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.negative += other.negative;
        self.overflow += other.overflow;
        if other.samples() == 0 {
            return;
        }
        self.inner.add(&other.inner).expect("both histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Adds all samples of a histogram that was sent or kept, each later or earlier by this much. The sum stays exact, and each sample
    /// within its bucket; what comes below zero is taken for zero. It costs no more than the buckets that are not empty.
    ///
    /// # Errors
    /// When a time is above one hour, or sum, smallest and largest cannot be of the samples; then nothing is added.
    pub fn add_moved(&mut self, other: &CompactHistogram, by_ns: i64) -> Result<(), HistogramError> {
        let samples = other.check()?;
        self.negative += other.negative;
        self.overflow += other.overflow;
        let Some((least_ns, most_ns)) = other.min_ns.zip(other.max_ns) else { return Ok(()) };
        let ends_ns = least_ns.checked_add_signed(by_ns).zip(most_ns.checked_add_signed(by_ns));
        let exact_ends_ns = ends_ns.filter(|(_, most_ns)| *most_ns <= TIME_MAX_NS);
        for (lowest_ns, count) in &other.buckets {
            let moved_ns = match by_ns {
                0 => *lowest_ns,
                by_ns => self.inner.median_equivalent(*lowest_ns).saturating_add_signed(by_ns),
            };
            match exact_ends_ns {
                // Cannot saturate: the value is in range.
                Some((least_ns, most_ns)) => {
                    self.inner.saturating_record_n(moved_ns.clamp(least_ns, most_ns), *count);
                }
                // With samples that come to zero or beyond the range the sum cannot be told exactly: it is that of the buckets.
                None => self.record_times(moved_ns, *count),
            }
        }
        if let Some((least_ns, most_ns)) = exact_ends_ns {
            let by_all_ns = u128::from(by_ns.unsigned_abs()) * u128::from(samples);
            self.sum_ns += if by_ns < 0 { other.sum_ns - by_all_ns } else { other.sum_ns + by_all_ns };
            self.min_ns = self.min_ns.min(least_ns);
            self.max_ns = self.max_ns.max(most_ns);
        }
        Ok(())
    }

    /// Samples in the histogram; those below zero or above one hour are not among them.
    pub fn samples(&self) -> u64 {
        self.inner.len()
    }

    /// All that was recorded, below zero and above one hour too.
    pub fn recorded(&self) -> u64 {
        self.samples() + self.negative + self.overflow
    }

    /// The exact account.
    pub fn exact(&self) -> Exact {
        let any = self.samples() > 0;
        Exact {
            sum_ns: self.sum_ns,
            min_ns: any.then_some(self.min_ns),
            max_ns: any.then_some(self.max_ns),
            negative: self.negative,
            overflow: self.overflow,
        }
    }

    /// Mean from the exact sum; absent without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.sum_ns as f64 / self.samples() as f64)
    }

    /// Variance of the samples, as the histogram's digits allow; absent with fewer than 2.
    pub(crate) fn variance(&self) -> Option<f64> {
        let n = self.samples() as f64;
        (n >= 2.0).then(|| self.inner.stdev().powi(2) * n / (n - 1.0))
    }

    /// The sample of a rank, 1 being the smallest, to three significant digits; absent for a rank that does not exist.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<u64> {
        let n = self.samples();
        (1..=n)
            .contains(&rank)
            .then(|| self.bounded(self.inner.value_at_quantile((rank as f64 - 0.5) / n as f64)))
    }

    /// The quantile, 0..1: the sample of rank ceil(q n), whether or not there are enough samples for it.
    pub fn at_quantile(&self, quantile: f64) -> Option<u64> {
        (self.samples() > 0).then(|| self.bounded(self.inner.value_at_quantile(quantile)))
    }

    /// The histogram itself, for writing interval logs.
    pub fn inner(&self) -> &Inner<u64> {
        &self.inner
    }

    /// The histogram answers with the upper end of a bucket, which may lie above the largest sample.
    fn bounded(&self, value: u64) -> u64 {
        value.max(self.min_ns).min(self.max_ns)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram").field("samples", &self.samples()).field("exact", &self.exact()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(times: impl IntoIterator<Item = i64>) -> Histogram {
        let mut histogram = Histogram::new();
        times.into_iter().for_each(|time| histogram.record_ns(time));
        histogram
    }

    fn moved(times: impl IntoIterator<Item = i64>, by_ns: i64) -> Histogram {
        let mut moved = Histogram::new();
        moved.add_moved(&recorded(times).into(), by_ns).unwrap();
        moved
    }

    #[test]
    fn moved_samples_keep_an_exact_mean_and_ends_and_quantiles_within_their_bucket() {
        let times: Vec<i64> = (1..=1_000).map(|n| 5_000_000 + 7_919 * n).collect();
        for by in [-4_999_999, -1_000, 0, 1, 333_333, 100_000_000] {
            let moved = moved(times.iter().copied(), by);
            let exact = recorded(times.iter().map(|time| time + by));
            assert_eq!(moved.samples(), exact.samples());
            assert_eq!(moved.mean_ns(), exact.mean_ns(), "{by}");
            assert_eq!(moved.exact().min_ns, exact.exact().min_ns, "{by}");
            assert_eq!(moved.exact().max_ns, exact.exact().max_ns, "{by}");
            for quantile in [0.5, 0.99] {
                let at = |histogram: &Histogram| histogram.at_quantile(quantile).unwrap() as f64;
                // A bucket here, and one where it was recorded first, which is larger before a move towards zero.
                let bucket = 0.001 * 13_000_000.0_f64.max(at(&exact));
                assert!((at(&moved) - at(&exact)).abs() <= 2.0 * bucket, "{by} {quantile}");
            }
        }
    }

    #[test]
    fn samples_that_would_be_moved_below_zero_are_zero_and_none_is_lost() {
        let moved = moved([1_000, 2_000_000], -1_000_000);
        assert_eq!((moved.samples(), moved.exact().negative), (2, 0));
        assert_eq!(moved.exact().min_ns, Some(0));
        assert!((moved.mean_ns().unwrap() - 500_000.0).abs() < 2_000.0);
    }

    #[test]
    fn samples_that_would_be_moved_beyond_an_hour_are_counted_beside_the_histogram() {
        let moved = moved([1_000, TIME_MAX_NS as i64], 1_000_000);
        assert_eq!((moved.samples(), moved.exact().overflow, moved.recorded()), (1, 1, 2));
    }

    #[test]
    fn what_was_sent_in_parts_and_added_is_what_one_would_have_recorded() {
        let times = |part: i64| (0..500).map(move |n| 1_000 * part + 977 * n * n - 5);
        let mut sum = Histogram::new();
        (0..4).for_each(|part| sum.add_moved(&recorded(times(part)).into(), 0).unwrap());
        assert_eq!(sum, recorded((0..4).flat_map(times)));
    }

    #[test]
    fn what_does_not_fit_is_counted_beside_the_histogram() {
        let histogram = recorded([-1, 5, i64::MAX, TIME_MAX_NS as i64, TIME_MAX_NS as i64 + 1]);
        assert_eq!(histogram.samples(), 2);
        assert_eq!((histogram.exact().negative, histogram.exact().overflow), (1, 2));
        assert_eq!(histogram.exact().max_ns, Some(TIME_MAX_NS));
    }

    #[test]
    fn smallest_largest_and_mean_are_exact() {
        let histogram = recorded([1_234_567, 7_654_321, 1]);
        assert_eq!(histogram.exact().min_ns, Some(1));
        assert_eq!(histogram.exact().max_ns, Some(7_654_321));
        assert_eq!(histogram.mean_ns(), Some(8_888_889.0 / 3.0));
        assert_eq!(histogram.at_quantile(1.0), Some(7_654_321));
    }

    #[test]
    fn ranks_are_read_to_three_digits() {
        let histogram = recorded((1..=1_000).map(|i| i * 1_000_000));
        for rank in [1, 10, 500, 990, 1_000] {
            let read = histogram.at_rank(rank).unwrap() as f64;
            assert!((read / (rank as f64 * 1e6) - 1.0).abs() < 1e-3, "rank {rank}: {read}");
        }
        assert_eq!(histogram.at_rank(0), None);
        assert_eq!(histogram.at_rank(1_001), None);
    }

    #[test]
    fn a_merge_is_as_if_all_had_been_recorded_in_one() {
        let mut merged = recorded([3, -4, 9_000]);
        merged.merge(&recorded([1, i64::MAX, 70_000]));
        assert_eq!(merged, recorded([3, -4, 9_000, 1, i64::MAX, 70_000]));
        merged.merge(&Histogram::new());
        assert_eq!(merged.samples(), 4);
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let (mut at_once, mut one_by_one) = (Histogram::new(), Histogram::new());
        for (start_ns, end_ns, count) in [(0, 7, 3), (5, 3_000_005, 2), (0, TIME_MAX_NS + 1, 4), (9, 2, 5)] {
            at_once.record_spans(start_ns, end_ns, count);
            (0..count).for_each(|_| one_by_one.record_span(start_ns, end_ns));
        }
        assert_eq!(at_once, one_by_one);
        assert_eq!((at_once.samples(), at_once.recorded()), (5, 14));
        let expected =
            Exact { sum_ns: 6_000_021, min_ns: Some(7), max_ns: Some(3_000_000), negative: 5, overflow: 4 };
        assert_eq!(at_once.exact(), expected);
    }

    #[test]
    fn a_cleared_histogram_is_as_new() {
        for times in [vec![7, -8, i64::MAX], vec![-8], vec![i64::MAX], vec![0]] {
            let mut histogram = recorded(times);
            histogram.clear();
            assert_eq!(histogram, Histogram::new());
        }
    }

    #[test]
    fn buckets_without_an_account_are_taken_over_as_exactly_as_they_are() {
        let mut buckets = Inner::<u64>::new(DIGITS).unwrap();
        for time in [10, 20_000, 30_000_000] {
            buckets.record(time).unwrap();
        }
        let taken = Histogram::from_buckets(&buckets).unwrap();
        assert_eq!((taken.samples(), taken.exact().min_ns), (3, Some(10)));
        assert!((taken.mean_ns().unwrap() / (30_020_010.0 / 3.0) - 1.0).abs() < 1e-3);
        let empty = Inner::<u64>::new(DIGITS).unwrap();
        assert_eq!(Histogram::from_buckets(&empty), Ok(Histogram::new()));
    }

    #[test]
    fn buckets_beyond_the_range_are_refused() {
        let mut long = Inner::<u64>::new(DIGITS).unwrap();
        long.record(TIME_MAX_NS * 4).unwrap();
        assert!(matches!(Histogram::from_buckets(&long), Err(HistogramError::OutOfRange { .. })));
    }

    #[test]
    fn the_variance_is_that_of_the_samples() {
        let variance = recorded([1_000, 2_000, 3_000, 4_000]).variance().unwrap();
        assert!((variance / 1_666_666.667 - 1.0).abs() < 5e-3, "{variance}");
        assert_eq!(recorded([5]).variance(), None);
    }
}
