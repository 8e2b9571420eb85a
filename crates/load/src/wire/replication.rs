//! The lag of the followers behind their leaders while a block is measured and drained: the leaders are asked again and again.
//!
//! The mean number of records that wait, divided by the records appended a second, is the mean time for which each waits (Little's
//! law, J. D. C. Little, Operations Research 9, 1961), which no broker tells where the leader acknowledges alone.

use super::leaders::{Leaders, Logs, waiting};
use crate::clock::now_ns;
use crate::shared::Shared;
use plumb_model::observation::ReplicationLag;
use plumb_model::random::Random;
use plumb_wire::control::End;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Mean time between two samples. Ours: three small requests to each leader cost it less than a thousandth of a core.
const INTERVAL: Duration = Duration::from_millis(500);
/// The least interval for each partition of the topic: with many partitions it keeps the number of questions a second the same. Ours.
const INTERVAL_OF_PARTITION: Duration = Duration::from_millis(1);
/// Longest wait for one leader. Ours: what takes longer says nothing of the moment at which it was asked.
const PATIENCE: Duration = Duration::from_secs(1);

/// The leaders' answers at one moment, by partition. The followers' progress is asked before and after the leaders' ends: the
/// truth of that moment lies between.
#[derive(Debug)]
struct Answers {
    at_ns: u64,
    copied_before: Vec<i64>,
    appended: Vec<i64>,
    copied_after: Vec<i64>,
}

/// The same in sums.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    at_ns: u64,
    appended: i64,
    waiting_least: u64,
    waiting_most: u64,
}

/// The answers so far.
#[derive(Debug, Default)]
struct Heard {
    samples: Vec<Sample>,
    missed: u64,
    /// A record of each partition that waited when it was first looked at, until followers have copied it.
    waiting: Vec<Option<Waiting>>,
    longest_wait_ns: u64,
}

/// A record that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// The offset behind it.
    end: i64,
    since_ns: u64,
}

/// Asks the leaders until `over` is closed. The moments are random: at even ones, an even schedule would always be met in the
/// same phase.
pub(crate) fn watch(
    logs: Logs<'_>,
    shared: &Shared<'_>,
    mut random: Random,
    over: &Receiver<()>,
) -> Option<ReplicationLag> {
    let interval = INTERVAL.max(INTERVAL_OF_PARTITION * u32::try_from(logs.partitions).unwrap_or(u32::MAX));
    let mut heard = Heard::default();
    let mut leaders = None;
    while over.recv_timeout(interval.mul_f64(0.5 + random.unit())) == Err(RecvTimeoutError::Timeout) {
        if !shared.measured_part_has_begun(now_ns()) {
            continue;
        }
        leaders = leaders.or_else(|| Leaders::connect(logs, PATIENCE));
        match leaders.as_mut().and_then(ask) {
            Some(answers) => heard.note(&answers),
            None => {
                leaders = None;
                heard.missed += 1;
            }
        }
    }
    heard.summary()
}

fn ask(leaders: &mut Leaders<'_>) -> Option<Answers> {
    let copied_before = leaders.ends(End::HighWatermark)?;
    let asked_ns = now_ns();
    let appended = leaders.ends(End::LogEnd)?;
    let at_ns = asked_ns.midpoint(now_ns());
    let copied_after = leaders.ends(End::HighWatermark)?;
    Some(Answers { at_ns, copied_before, appended, copied_after })
}

impl Heard {
    fn note(&mut self, answers: &Answers) {
        let Answers { at_ns, copied_before, appended, copied_after } = answers;
        self.samples.push(Sample {
            at_ns: *at_ns,
            appended: appended.iter().sum(),
            waiting_least: waiting(copied_after, appended),
            waiting_most: waiting(copied_before, appended),
        });
        self.waiting.resize(appended.len(), None);
        for ((record, copied), end) in self.waiting.iter_mut().zip(copied_after).zip(appended) {
            match *record {
                // A record that the log no longer has, as it was cut back, waits for nobody.
                Some(Waiting { end: of_record, since_ns }) if *copied < of_record && of_record <= *end => {
                    self.longest_wait_ns = self.longest_wait_ns.max(at_ns.saturating_sub(since_ns));
                }
                _ => *record = (copied < end).then_some(Waiting { end: *end, since_ns: *at_ns }),
            }
        }
    }

    /// The lag so far; none for fewer than two samples, which tell no rate.
    fn summary(&self) -> Option<ReplicationLag> {
        let samples = &self.samples;
        let [first, .., last] = samples.as_slice() else { return None };
        let count = samples.len() as f64;
        let mean = |figure: fn(&Sample) -> f64| samples.iter().map(figure).sum::<f64>() / count;
        let middle = |sample: &Sample| sample.waiting_least.midpoint(sample.waiting_most) as f64;
        let mean_middle = samples.iter().map(middle).sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (middle(sample) - mean_middle).powi(2)).sum();
        let seconds = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
        Some(ReplicationLag {
            samples: samples.len() as u64,
            missed: self.missed,
            records_least: mean(|sample| sample.waiting_least as f64),
            records_most: mean(|sample| sample.waiting_most as f64),
            records_standard_error: (squares / (count - 1.0) / count).sqrt(),
            records_highest: samples.iter().map(|sample| sample.waiting_least).max().unwrap_or(0),
            longest_wait_ns: self.longest_wait_ns,
            appended_per_s: (seconds > 0.0).then(|| (last.appended - first.appended) as f64 / seconds)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    impl Heard {
        fn with(mut self, at_s: u64, copied: [i64; 2], appended: [i64; 2]) -> Self {
            let (copied, appended) = (copied.to_vec(), appended.to_vec());
            let copied_before = copied.iter().map(|end| end - 1).collect();
            self.note(&Answers { at_ns: at_s * S, copied_before, appended, copied_after: copied });
            self
        }
    }

    #[test]
    fn means_spread_and_rate_are_those_of_the_samples() {
        let heard =
            Heard::default().with(1, [10, 0], [10, 0]).with(2, [50, 0], [60, 0]).with(3, [108, 0], [110, 0]);
        let lag = heard.summary().unwrap();
        assert_eq!((lag.samples, lag.missed, lag.records_highest), (3, 0, 10));
        assert_eq!((lag.records_least, lag.records_most, lag.appended_per_s), (4.0, 6.0, 50.0));
        // Of 1, 11 and 3, each partition one more before than after: variance 28.
        assert!((lag.records_standard_error - (28.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_longest_wait_is_that_of_a_record_and_not_of_a_partition_that_always_has_one() {
        // Always ten behind, and ten are appended each second.
        let keeps_up =
            Heard::default().with(1, [0, 0], [10, 0]).with(2, [10, 0], [20, 0]).with(3, [20, 0], [30, 0]);
        assert_eq!(keeps_up.summary().unwrap().longest_wait_ns, 0);
        let stops = Heard::default()
            .with(1, [0, 5], [10, 5])
            .with(2, [5, 5], [20, 5])
            .with(4, [9, 5], [30, 5])
            .with(5, [31, 5], [31, 5]);
        assert_eq!(stops.summary().unwrap().longest_wait_ns, 3 * S);
    }

    #[test]
    fn a_record_that_was_cut_off_waits_no_longer() {
        // At 3 s another leader has less than was appended before.
        let cut = Heard::default()
            .with(1, [50, 0], [100, 0])
            .with(2, [60, 0], [110, 0])
            .with(3, [60, 0], [60, 0])
            .with(9, [70, 0], [75, 0]);
        assert_eq!(cut.summary().unwrap().longest_wait_ns, S);
    }

    #[test]
    fn one_sample_tells_no_rate() {
        assert_eq!(Heard::default().with(1, [0, 0], [1, 1]).summary(), None);
        assert_eq!(Heard::default().summary(), None);
    }

    #[test]
    fn records_wait_in_each_partition_for_itself() {
        assert_eq!(waiting(&[10, 20, 35], &[12, 20, 30]), 2);
    }
}
