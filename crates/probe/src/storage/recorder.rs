//! A committer's records of its commits: their times, and the seconds.

use super::pace::CommitWindow;
use plumb_model::probe::storage::CommitSecond;
use plumb_stats::histogram::Histogram;

const SECOND_NS: u64 = 1_000_000_000;

/// The measurements of all committers of a block, over one time that is the same for all.
#[derive(Debug, Clone)]
pub struct CommitSample {
    /// Times of the commits that ended in that time.
    pub times: Histogram,
    /// The measured time: from the end of one commit of the first committer to the end of a later one of it. One committer's time
    /// stands still while a full file is replaced.
    pub elapsed_ns: u64,
    /// The measured time second by second.
    pub seconds: Vec<CommitSecond>,
    /// Processor time of this process meanwhile.
    pub cpu_ns: u64,
    /// Commits of the whole block: those before and after that time too, when the committers warmed up and ended.
    pub made: u64,
}

impl CommitSample {
    /// A sample in which nothing is measured yet.
    pub fn empty() -> Self {
        CommitSample { times: Histogram::new(), elapsed_ns: 0, seconds: Vec::new(), cpu_ns: 0, made: 0 }
    }

    /// Commits.
    pub fn commits(&self) -> u64 {
        self.times.recorded()
    }

    /// Commits per second of all committers together.
    pub fn rate_per_s(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.commits() as f64 * 1e9 / self.elapsed_ns as f64 }
    }

    /// Notes a commit that took so long and ended so long after the begin of the time that counts.
    fn commit(&mut self, took_ns: u64, at_ns: u64) {
        self.times.record_span(0, took_ns);
        let second = (at_ns / SECOND_NS) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, CommitSecond::default());
        }
        let row = &mut self.seconds[second];
        row.commits += 1;
        row.max_ns = Some(row.max_ns.map_or(took_ns, |most| most.max(took_ns)));
    }

    /// Adds another committer of the same block.
    pub(super) fn add(&mut self, other: &CommitSample) {
        self.times.merge(&other.times);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.cpu_ns += other.cpu_ns;
        self.made += other.made;
        self.seconds.resize(self.seconds.len().max(other.seconds.len()), CommitSecond::default());
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.commits += theirs.commits;
            mine.max_ns = mine.max_ns.max(theirs.max_ns);
        }
    }
}

/// The commits of one committer while it is not known yet which of them count.
#[derive(Debug)]
pub(super) struct Account {
    sample: CommitSample,
    /// Ended before the time that counts had begun as far as this committer knew, or maybe after its end: when they ended and
    /// what they took.
    open: Vec<(u64, u64)>,
}

impl Account {
    pub(super) fn new() -> Self {
        Account { sample: CommitSample::empty(), open: Vec::new() }
    }

    /// Notes a commit that took so long and ended then.
    pub(super) fn commit(&mut self, took_ns: u64, at_ns: u64, window: &CommitWindow) {
        self.sample.made += 1;
        self.open.push((at_ns, took_ns));
        match (window.began(), window.may_end()) {
            (Some(begin), Some(may_end)) if at_ns <= may_end => self.settle(begin, may_end),
            _ => {}
        }
    }

    /// The commits that ended in the measured time.
    pub(super) fn end(mut self, window: &CommitWindow) -> CommitSample {
        if let Some((begin, end)) = window.both() {
            self.settle(begin, end);
            self.sample.elapsed_ns = end - begin;
        } else {
            self.sample = CommitSample { made: self.sample.made, ..CommitSample::empty() };
        }
        self.sample
    }

    fn settle(&mut self, begin: u64, end: u64) {
        for (at_ns, took_ns) in self.open.drain(..) {
            if at_ns > begin && at_ns <= end {
                self.sample.commit(took_ns, at_ns - begin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_commits_that_end_in_the_time_that_counts_are_counted_and_the_rate_is_over_it() {
        let window = CommitWindow::new(Duration::from_secs(2), 2);
        let (mut first, mut second) = (Account::new(), Account::new());
        first.commit(900, 900, &window);
        // It ended after the begin, and its committer had not heard of that.
        second.commit(10, 1_500_000_000, &window);
        first.commit(100, 1_000_000_000, &window);
        window.begin(1_000_000_000);
        second.commit(20, 1_900_000_000, &window);
        first.commit(30, 2_500_000_000, &window);
        // After the end, and nobody knew yet.
        second.commit(7, 4_600_000_000, &window);
        first.commit(40, 4_000_000_000, &window);
        window.end(4_000_000_000);
        let mut sample = first.end(&window);
        sample.add(&second.end(&window));
        assert_eq!((sample.commits(), sample.made), (4, 7));
        let exact = sample.times.exact();
        assert_eq!((exact.sum_ns, exact.min_ns, exact.max_ns), (100, Some(10), Some(40)));
        assert_eq!((sample.elapsed_ns, sample.rate_per_s()), (3 * SECOND_NS, 4.0 / 3.0));
        let seconds: Vec<_> = sample.seconds.iter().map(|second| (second.commits, second.max_ns)).collect();
        assert_eq!(seconds, [(2, Some(20)), (1, Some(30)), (0, None), (1, Some(40))]);
    }

    #[test]
    fn a_block_without_an_end_says_nothing() {
        let window = CommitWindow::new(Duration::from_secs(1), 1);
        let mut account = Account::new();
        window.begin(5);
        account.commit(3, 9, &window);
        window.give_up();
        let sample = account.end(&window);
        assert_eq!((sample.commits(), sample.rate_per_s(), sample.made), (0, 0.0, 1));
    }
}
