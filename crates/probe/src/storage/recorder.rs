//! What a committer notes of its commits: a histogram, the exact sum and extremes, and the seconds.

use hdrhistogram::Histogram;
use plumb_model::probe::storage::CommitSecond;

/// Largest time that is told apart: one hour.
const TIME_MAX_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// What all committers of a block measured.
#[derive(Debug, Clone)]
pub struct CommitSample {
    /// Times of commits, three significant digits.
    pub histogram: Histogram<u64>,
    /// Their exact sum.
    pub sum_ns: u128,
    /// The smallest; absent without commits.
    pub min_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
    /// Measured time of the committer that took longest.
    pub elapsed_ns: u64,
    /// Commits per second: the sum over committers, each over its own time.
    pub rate_per_s: f64,
    /// The block second by second.
    pub seconds: Vec<CommitSecond>,
    /// Processor time of this process meanwhile.
    pub cpu_ns: u64,
}

impl CommitSample {
    /// Nothing measured yet.
    pub fn empty() -> Self {
        CommitSample {
            histogram: Histogram::new_with_bounds(1, TIME_MAX_NS, DIGITS)
                .expect("constant bounds are in order"),
            sum_ns: 0,
            min_ns: None,
            max_ns: None,
            elapsed_ns: 0,
            rate_per_s: 0.0,
            seconds: Vec::new(),
            cpu_ns: 0,
        }
    }

    /// Commits.
    pub fn commits(&self) -> u64 {
        self.histogram.len()
    }

    /// Notes a commit that took so long and ended so long after the block's begin.
    pub(super) fn commit(&mut self, took_ns: u64, at_ns: u64) {
        self.histogram.saturating_record(took_ns);
        self.sum_ns += u128::from(took_ns);
        self.min_ns = Some(self.min_ns.map_or(took_ns, |least| least.min(took_ns)));
        self.max_ns = Some(self.max_ns.map_or(took_ns, |most| most.max(took_ns)));
        let second = (at_ns / SECOND_NS) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, CommitSecond::default());
        }
        let row = &mut self.seconds[second];
        row.commits += 1;
        row.max_ns = Some(row.max_ns.map_or(took_ns, |most| most.max(took_ns)));
    }

    /// Ends the account of one committer.
    pub(super) fn end(&mut self, elapsed_ns: u64) {
        self.elapsed_ns = elapsed_ns;
        self.rate_per_s = if elapsed_ns == 0 { 0.0 } else { self.commits() as f64 * 1e9 / elapsed_ns as f64 };
    }

    /// Adds another committer of the same block.
    pub(super) fn add(&mut self, other: &CommitSample) {
        self.histogram.add(&other.histogram).expect("all have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.into_iter().chain(other.min_ns).min();
        self.max_ns = self.max_ns.max(other.max_ns);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.rate_per_s += other.rate_per_s;
        self.seconds.resize(self.seconds.len().max(other.seconds.len()), CommitSecond::default());
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.commits += theirs.commits;
            mine.max_ns = mine.max_ns.max(theirs.max_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committers_add_up_and_the_longest_time_is_the_blocks() {
        let (mut one, mut two) = (CommitSample::empty(), CommitSample::empty());
        one.commit(10_000_000, 400_000_000);
        one.commit(20_000_000, 1_400_000_000);
        one.end(2 * SECOND_NS);
        two.commit(40_000_000, 500_000_000);
        two.end(SECOND_NS);
        one.add(&two);
        assert_eq!((one.commits(), one.sum_ns, one.elapsed_ns), (3, 70_000_000, 2 * SECOND_NS));
        assert_eq!(one.rate_per_s, 2.0);
        assert_eq!((one.min_ns, one.max_ns), (Some(10_000_000), Some(40_000_000)));
        let seconds: Vec<_> = one.seconds.iter().map(|second| (second.commits, second.max_ns)).collect();
        assert_eq!(seconds, [(2, Some(40_000_000)), (1, Some(20_000_000))]);
    }

    #[test]
    fn nothing_committed_has_no_extremes() {
        let mut empty = CommitSample::empty();
        empty.end(0);
        empty.add(&CommitSample::empty());
        assert_eq!((empty.min_ns, empty.max_ns, empty.rate_per_s), (None, None, 0.0));
    }
}
