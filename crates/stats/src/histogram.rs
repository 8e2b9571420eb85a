//! Times in a histogram, with an exact account beside it.
//!
//! The histogram keeps three significant digits; count, sum, smallest and largest are kept exactly, and what does not
//! fit (below zero, above one hour) is counted, never dropped. Figures are made in [`crate::distribution`].

use hdrhistogram::Histogram as Inner;
use std::fmt;
use thiserror::Error;

/// Largest time that the histogram holds: one hour.
pub const TIME_MAX_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits that the histogram keeps.
pub const DIGITS: u8 = 3;

/// Beside a histogram: what it cannot say exactly, and what it does not hold.
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
    #[error("histogram holds {recorded} samples, but its exact account has {}", if *accounted { "some" } else { "none" })]
    AccountDiffers {
        /// Samples in the histogram.
        recorded: u64,
        /// Whether the account knows a smallest and a largest time.
        accounted: bool,
    },
}

/// Times with three significant digits from 1 ns to 1 h, and the exact account of them.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    inner: Inner<u64>,
    exact: Exact,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let inner = Inner::new_with_bounds(1, TIME_MAX_NS, DIGITS).expect("constant bounds are in order");
        Histogram { inner, exact: Exact::default() }
    }

    /// Takes over what a recorder gathered: its histogram, of whatever bounds and digits, and the account it kept.
    ///
    /// # Errors
    /// When the histogram holds a time above one hour, or only one of the two has samples.
    pub fn from_parts(inner: &Inner<u64>, exact: Exact) -> Result<Self, HistogramError> {
        let accounted = exact.min_ns.is_some() && exact.max_ns.is_some();
        if accounted == inner.is_empty() {
            return Err(HistogramError::AccountDiffers { recorded: inner.len(), accounted });
        }
        let mut taken = Histogram::new();
        taken
            .inner
            .add(inner)
            .map_err(|_| HistogramError::OutOfRange { got_ns: inner.max(), expected_ns: TIME_MAX_NS })?;
        taken.exact = exact;
        Ok(taken)
    }

    /// Records one time. Below zero or above one hour it is counted beside the histogram.
    pub fn record_ns(&mut self, time_ns: i64) {
        match u64::try_from(time_ns) {
            Err(_) => self.exact.negative += 1,
            Ok(time) if time > TIME_MAX_NS => self.exact.overflow += 1,
            Ok(time) => {
                self.inner.saturating_record(time);
                self.exact.sum_ns += u128::from(time);
                self.exact.min_ns = Some(self.exact.min_ns.map_or(time, |least| least.min(time)));
                self.exact.max_ns = Some(self.exact.max_ns.map_or(time, |most| most.max(time)));
            }
        }
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.inner.add(&other.inner).expect("both histograms have the same bounds");
        let (mine, theirs) = (&mut self.exact, &other.exact);
        mine.sum_ns += theirs.sum_ns;
        mine.min_ns = mine.min_ns.into_iter().chain(theirs.min_ns).min();
        mine.max_ns = mine.max_ns.into_iter().chain(theirs.max_ns).max();
        mine.negative += theirs.negative;
        mine.overflow += theirs.overflow;
    }

    /// Samples recorded; those below zero or above one hour are not among them.
    pub fn samples(&self) -> u64 {
        self.inner.len()
    }

    /// The exact account.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Mean from the exact sum; absent without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.exact.sum_ns as f64 / self.samples() as f64)
    }

    /// Variance of the samples, as the histogram's digits allow; absent with fewer than 2.
    pub fn variance(&self) -> Option<f64> {
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
        value.max(self.exact.min_ns.unwrap_or(0)).min(self.exact.max_ns.unwrap_or(u64::MAX))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram").field("samples", &self.samples()).field("exact", &self.exact).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = i64>) -> Histogram {
        let mut histogram = Histogram::new();
        times.into_iter().for_each(|time| histogram.record_ns(time));
        histogram
    }

    #[test]
    fn what_does_not_fit_is_counted_beside_the_histogram() {
        let histogram = of([-1, 5, i64::MAX, TIME_MAX_NS as i64, TIME_MAX_NS as i64 + 1]);
        assert_eq!(histogram.samples(), 2);
        assert_eq!((histogram.exact().negative, histogram.exact().overflow), (1, 2));
        assert_eq!(histogram.exact().max_ns, Some(TIME_MAX_NS));
    }

    #[test]
    fn smallest_largest_and_mean_are_exact() {
        let histogram = of([1_234_567, 7_654_321, 1]);
        assert_eq!(histogram.exact().min_ns, Some(1));
        assert_eq!(histogram.exact().max_ns, Some(7_654_321));
        assert_eq!(histogram.mean_ns(), Some(8_888_889.0 / 3.0));
        assert_eq!(histogram.at_quantile(1.0), Some(7_654_321));
    }

    #[test]
    fn ranks_are_read_to_three_digits() {
        let histogram = of((1..=1_000).map(|i| i * 1_000_000));
        for rank in [1, 10, 500, 990, 1_000] {
            let read = histogram.at_rank(rank).unwrap() as f64;
            assert!((read / (rank as f64 * 1e6) - 1.0).abs() < 1e-3, "rank {rank}: {read}");
        }
        assert_eq!(histogram.at_rank(0), None);
        assert_eq!(histogram.at_rank(1_001), None);
    }

    #[test]
    fn a_merge_is_as_if_all_had_been_recorded_in_one() {
        let mut merged = of([3, -4, 9_000]);
        merged.merge(&of([1, i64::MAX, 70_000]));
        assert_eq!(merged, of([3, -4, 9_000, 1, i64::MAX, 70_000]));
        merged.merge(&Histogram::new());
        assert_eq!(merged.samples(), 4);
    }

    #[test]
    fn a_recorders_parts_are_taken_over_whole() {
        let original = of([10, 20_000, 30_000_000]);
        let mut recorded = Inner::<u64>::new(DIGITS).unwrap();
        for time in [10, 20_000, 30_000_000] {
            recorded.record(time).unwrap();
        }
        assert_eq!(Histogram::from_parts(&recorded, *original.exact()), Ok(original));
    }

    #[test]
    fn parts_that_do_not_belong_together_are_refused() {
        let recorded = of([10]);
        let refused = Histogram::from_parts(recorded.inner(), Exact::default());
        assert_eq!(refused, Err(HistogramError::AccountDiffers { recorded: 1, accounted: false }));
        let mut long = Inner::<u64>::new(DIGITS).unwrap();
        long.record(TIME_MAX_NS * 4).unwrap();
        let account = Exact { min_ns: Some(1), max_ns: Some(1), ..Exact::default() };
        assert!(matches!(Histogram::from_parts(&long, account), Err(HistogramError::OutOfRange { .. })));
    }

    #[test]
    fn the_variance_is_that_of_the_samples() {
        let variance = of([1_000, 2_000, 3_000, 4_000]).variance().unwrap();
        assert!((variance / 1_666_666.667 - 1.0).abs() < 5e-3, "{variance}");
        assert_eq!(of([5]).variance(), None);
    }
}
