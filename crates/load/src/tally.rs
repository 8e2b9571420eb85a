//! A histogram with what a histogram forgets: exact count, sum, smallest and largest, and what fell outside.

use hdrhistogram::Histogram;

/// Values above are counted as overflow: one hour.
pub(crate) const RANGE_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits kept.
pub const DIGITS: u8 = 3;

/// Times recorded by one thread.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Nanoseconds, 1 to [`RANGE_NS`].
    pub histogram: Histogram<u64>,
    /// Exact sum of what the histogram holds.
    pub sum_ns: u128,
    /// Smallest value in the histogram; `u64::MAX` when it is empty.
    pub min_ns: u64,
    /// Largest value in the histogram.
    pub max_ns: u64,
    /// Values below zero: not in the histogram.
    pub negative: u64,
    /// Values above the range: not in the histogram.
    pub overflow: u64,
}

impl Tally {
    /// An empty tally.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, RANGE_NS, DIGITS)
            .expect("the bounds are constants that the library accepts");
        Tally { histogram, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, negative: 0, overflow: 0 }
    }

    /// Records the time from `start_ns` to `end_ns`.
    pub fn record(&mut self, start_ns: u64, end_ns: u64) {
        self.record_many(start_ns, end_ns, 1);
    }

    /// Records the same time for so many.
    pub(crate) fn record_many(&mut self, start_ns: u64, end_ns: u64, times: u64) {
        let Some(elapsed) = end_ns.checked_sub(start_ns) else {
            self.negative += times;
            return;
        };
        if elapsed > RANGE_NS {
            self.overflow += times;
            return;
        }
        // Cannot fail: the value is in range.
        self.histogram.saturating_record_n(elapsed, times);
        self.sum_ns += u128::from(elapsed) * u128::from(times);
        self.min_ns = self.min_ns.min(elapsed);
        self.max_ns = self.max_ns.max(elapsed);
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        if self.is_untouched() {
            return;
        }
        self.histogram.reset();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        (self.negative, self.overflow) = (0, 0);
    }

    /// Values in the histogram.
    pub fn samples(&self) -> u64 {
        self.histogram.len()
    }

    fn is_untouched(&self) -> bool {
        self.samples() == 0 && self.negative == 0 && self.overflow == 0
    }
}

impl Default for Tally {
    fn default() -> Self {
        Tally::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let (mut at_once, mut one_by_one) = (Tally::new(), Tally::new());
        for (end_ns, times) in [(7, 3), (3_000_000, 2), (RANGE_NS + 1, 4)] {
            at_once.record_many(0, end_ns, times);
            (0..times).for_each(|_| one_by_one.record(0, end_ns));
        }
        assert_eq!(at_once.histogram, one_by_one.histogram);
        assert_eq!((at_once.sum_ns, at_once.overflow), (one_by_one.sum_ns, one_by_one.overflow));
    }

    #[test]
    fn nothing_is_dropped_silently() {
        let mut tally = Tally::new();
        tally.record(10, 5);
        tally.record(0, RANGE_NS + 1);
        tally.record(5, 5);
        tally.record(0, 3_000_000);
        assert_eq!((tally.negative, tally.overflow, tally.samples()), (1, 1, 2));
        assert_eq!((tally.min_ns, tally.max_ns, tally.sum_ns), (0, 3_000_000, 3_000_000));
    }

    #[test]
    fn a_cleared_tally_is_as_new() {
        let mut tally = Tally::new();
        tally.record(0, 7);
        tally.record(9, 1);
        tally.record(0, RANGE_NS + 1);
        tally.clear();
        let new = Tally::new();
        assert_eq!(tally.histogram, new.histogram);
        assert_eq!((tally.sum_ns, tally.min_ns, tally.max_ns), (new.sum_ns, new.min_ns, new.max_ns));
        assert_eq!((tally.negative, tally.overflow), (0, 0));
    }
}
