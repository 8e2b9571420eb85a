//! The beginning of a block of a trial, held back second by second until the block is over: seconds that turn out to be warm-up,
//! beyond the planned one, are then left out.
//!
//! Each second is kept as its buckets that are not empty, so that what is held stays small beside whole histograms.

use super::times::{Recorded, Times, TimesState};
use plumb_model::observation::SecondRow;
use plumb_stats::histogram::HistogramError;
use plumb_stats::warm_up::warm_up;
use std::collections::BTreeMap;

/// Most seconds that are held back, and so the longest warm-up that can be found (ours: a JIT is done with its work).
pub(crate) const SECONDS_MOST: usize = 240;

/// The seconds held back, by their number.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    seconds: BTreeMap<u32, Vec<TimesState>>,
}

impl Beginning {
    /// Holds a second's part back. False where it is too late in the block for that.
    pub(super) fn hold(&mut self, second: u32, times: &Times) -> bool {
        if !self.seconds.contains_key(&second) && self.seconds.len() >= SECONDS_MOST {
            return false;
        }
        self.seconds.entry(second).or_default().push(times.into());
        true
    }

    /// Gives back what was held from a second on, and how much there was before it: that is warm-up.
    pub(super) fn release(&mut self, from: u32) -> Result<(Vec<Times>, Recorded), HistogramError> {
        let mut warm_up = std::mem::take(&mut self.seconds);
        let kept = warm_up.split_off(&from);
        let mut cut = Recorded::default();
        for recorded in warm_up.values().flatten().map(TimesState::recorded) {
            cut.end_to_end += recorded.end_to_end;
            cut.acknowledge += recorded.acknowledge;
        }
        let kept: Result<Vec<Times>, HistogramError> = kept.values().flatten().map(Times::try_from).collect();
        Ok((kept?, cut))
    }
}

/// The first second that counts, in a block whose measured part ended with `last`: later than the first one only where the
/// seconds before it were a warm-up.
pub(super) fn first_that_counts(rows: &[SecondRow], last: u32) -> Option<u32> {
    let measured = || rows.iter().filter(|row| !row.warm_up && row.second <= last);
    let first = measured().map(|row| row.second).min()?;
    // By what the block is for: latency at the far end that there is, else how much went through.
    let figures: [Figure; 3] = [
        |row| (row.end_to_end.mean_ns.unwrap_or(0.0), row.end_to_end.samples),
        |row| (row.acknowledge.mean_ns.unwrap_or(0.0), row.acknowledge.samples),
        |row| ((row.acked.max(row.received)) as f64, 1),
    ];
    let has = |figure: &Figure| measured().any(|row| figure(row).1 > 0 && figure(row).0 > 0.0);
    let figure = figures.into_iter().find(has)?;
    let (seconds, means): (Vec<u32>, Vec<f64>) = means(measured(), figure).into_iter().unzip();
    let cut = warm_up(&means, u64::from(first)).map_or(0, |warm_up| warm_up.cut);
    seconds.get(cut.min(SECONDS_MOST)).copied()
}

/// A value of a second, and how much it weighs.
type Figure = fn(&SecondRow) -> (f64, u64);

/// One value for each second in which anything happened: parts of it that came late stand in a row of their own.
fn means<'a>(rows: impl Iterator<Item = &'a SecondRow>, figure: Figure) -> Vec<(u32, f64)> {
    let mut seconds: BTreeMap<u32, (f64, u64)> = BTreeMap::new();
    for row in rows {
        let (value, weight) = figure(row);
        let sum = seconds.entry(row.second).or_default();
        *sum = (sum.0 + value * weight as f64, sum.1 + weight);
    }
    let mean = |(sum, weight): (f64, u64)| if weight > 0 { sum / weight as f64 } else { 0.0 };
    seconds.into_iter().map(|(second, sums)| (second, mean(sums))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::observation::SecondLatency;
    use plumb_stats::random::Random;

    /// A block of so many seconds at 100 messages a second, whose first seconds are slower by a factor.
    fn rows(seconds: u32, slow: u32, factor: f64) -> Vec<SecondRow> {
        let mut random = Random::new(5);
        let row = |second: u32| {
            let noise = 1.0 + 0.02 * (random.unit() - 0.5);
            let mean_ns = Some(1e6 * noise * if second < slow { factor } else { 1.0 });
            let end_to_end = SecondLatency { samples: 100, mean_ns, ..SecondLatency::default() };
            SecondRow { second, acked: 100, end_to_end, ..SecondRow::default() }
        };
        (0..seconds).map(row).collect()
    }

    #[test]
    fn a_slow_beginning_is_found_and_an_even_block_is_left_whole() {
        assert_eq!(first_that_counts(&rows(60, 7, 3.0), 59), Some(7));
        assert_eq!(first_that_counts(&rows(60, 0, 1.0), 59), Some(0));
    }

    #[test]
    fn a_second_in_which_nothing_happened_moves_no_cut() {
        let mut rows = rows(60, 7, 3.0);
        rows.retain(|row| row.second != 2);
        assert_eq!(first_that_counts(&rows, 59), Some(7));
    }

    #[test]
    fn a_block_too_short_to_tell_is_left_whole() {
        assert_eq!(first_that_counts(&rows(8, 3, 3.0), 7), Some(0));
    }

    #[test]
    fn seconds_after_the_last_send_are_not_looked_at() {
        let mut rows = rows(20, 0, 1.0);
        rows.push(SecondRow { second: 20, ..SecondRow::default() });
        assert_eq!(first_that_counts(&rows, 19), Some(0));
    }
}
