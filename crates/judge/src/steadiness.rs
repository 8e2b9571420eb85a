//! The clearest change of latency within the blocks of a step, or of the rate where messages go as fast as possible, if it
//! is both certain and large.
//!
//! Looked for in every block, and in the mean of all blocks second by second, where a change that every block shows
//! (a cold start) stands out. The rules `not-steady` and `cold-start` share it.

use crate::setup::{AtSecond, Setup, by_block};
use plumb_model::figure::{per_s, time};
use plumb_stats::median::median;
use plumb_stats::steady::{Change, POINTS_MIN, largest_change};
use std::collections::BTreeMap;

/// Chance of a false alarm in one step, over all its series (ours: where the noise lingers for seconds and has heavy tails the
/// test's level is exceeded up to three times, and 5 % is what may be left in most).
const ALPHA: f64 = 0.02;

/// Smallest change that matters, up or down (ours: three times the usual 5 % of change point services, because a block
/// is short and shares its machine).
const RATIO_MIN: f64 = 1.15;

/// A rise in speed that is over in this first part of the series is a cold start (ours).
const COLD_PART: f64 = 0.34;

/// A change of level that is neither noise nor small.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unsteadiness {
    /// Levels in logarithms of nanoseconds, or of messages per second.
    pub(crate) change: Change,
    /// The quantity that changed.
    pub(crate) measure: Measure,
    /// The place where the change was found.
    pub(crate) moment: Moment,
    /// Seconds of the block, of each value.
    seconds: Vec<u32>,
}

/// A quantity that holds its level or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Latency,
    Rate,
}

impl Measure {
    /// At the beginning of a sentence.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Measure::Latency => "Latency",
            Measure::Rate => "The rate",
        }
    }

    /// A level, from its logarithm.
    pub(crate) fn figure(self, level: f64) -> String {
        match self {
            Measure::Latency => time(level.exp()),
            Measure::Rate => per_s(level.exp()),
        }
    }
}

/// The place of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// In one block.
    Block(u32),
    /// In the mean of all blocks.
    EveryBlock,
}

impl Unsteadiness {
    /// Last level over first level; of swings the highest over the lowest.
    pub(crate) fn ratio(&self) -> f64 {
        (self.change.after - self.change.before).exp()
    }

    /// Seconds of the measured part before a value of the series.
    pub(crate) fn after_s(&self, index: usize) -> u32 {
        let at = |index: usize| self.seconds.get(index).or(self.seconds.last()).copied().unwrap_or_default();
        at(index).saturating_sub(at(0))
    }

    /// Seconds from the first value to the last.
    pub(crate) fn lasted_s(&self) -> u32 {
        self.after_s(self.seconds.len())
    }

    /// Seconds of the measured part until the last level was reached, where it got better early on and stayed so.
    pub(crate) fn cold_start_s(&self) -> Option<u32> {
        let settled = self.change.settled()?;
        let early = settled as f64 <= COLD_PART * self.seconds.len() as f64;
        let better = match self.measure {
            Measure::Latency => self.ratio() <= 1.0 / RATIO_MIN,
            Measure::Rate => self.ratio() >= RATIO_MIN,
        };
        (early && better).then(|| self.after_s(settled))
    }
}

/// The clearest change of a step; none where the load itself changes.
pub(crate) fn unsteadiness(setup: &Setup, seed: u64) -> Option<Unsteadiness> {
    if !setup.holds_its_rate() || setup.shows_queue() {
        return None;
    }
    let (measure, blocks) = match setup.saturates() {
        // What is drained was built up before: its rate changes by plan.
        true if setup.drains_a_backlog() => return None,
        true => (Measure::Rate, rates(setup)),
        false => (Measure::Latency, latencies(setup)),
    };
    let mean = mean_of_blocks(&blocks);
    let each = blocks.iter().map(|(block, rows)| (Moment::Block(*block), rows));
    let series: Vec<_> = each
        .chain((blocks.len() > 1).then_some((Moment::EveryBlock, &mean)))
        .filter(|(_, rows)| rows.len() >= POINTS_MIN)
        .collect();
    let alpha = ALPHA / series.len().max(1) as f64;
    let found = series.iter().filter_map(|(moment, rows)| {
        let levels: Vec<f64> = rows.iter().map(|row| row.value).collect();
        let change = largest_change(&levels, seed)?;
        let seconds = rows.iter().map(|row| row.second).collect();
        Some(Unsteadiness { change, measure, moment: *moment, seconds })
    });
    let telling = found.filter(|found| found.change.p <= alpha && found.change.span >= RATIO_MIN.ln());
    telling.max_by(|a, b| a.change.span.total_cmp(&b.change.span))
}

/// Levels of latency, in logarithms, second by second.
fn latencies(setup: &Setup) -> BTreeMap<u32, Vec<AtSecond<f64>>> {
    // The last second of a block is cut short, and late arrivals have seconds of their own.
    let usual = usual_samples(setup);
    by_block(setup.result, |row| {
        let second = setup.headline_of_second(row);
        // The median, where there is one: a single slow message is not a change of level.
        let level = second.p50_ns.map(|p50| p50 as f64).or(second.mean_ns)?;
        (!row.warm_up && level > 0.0 && second.samples as f64 >= usual / 2.0).then(|| level.ln())
    })
}

/// The messages of a row that count for the rate of its second.
struct Moved {
    measured: bool,
    messages: u64,
}

/// Messages of each measured second, in logarithms; what of the warm-up came late in one of them is part of its rate.
fn rates(setup: &Setup) -> BTreeMap<u32, Vec<AtSecond<f64>>> {
    let receives = setup.is_for_receiving();
    let rows_of_blocks = by_block(setup.result, |row| {
        let under_way = receives || row.sent > 0;
        let messages = if receives { row.received } else { row.acked };
        Some(Moved { measured: !row.warm_up && under_way, messages })
    });
    let levels = rows_of_blocks.into_iter().map(|(block, rows)| {
        let seconds = rows.chunk_by(|a, b| a.second == b.second);
        let measured = seconds.filter(|rows| rows.iter().any(|row| row.value.measured));
        let mut levels: Vec<AtSecond<f64>> = measured
            .map(|rows| (rows[0].second, rows.iter().map(|row| row.value.messages).sum::<u64>()))
            .filter(|(_, messages)| *messages > 0)
            .map(|(second, messages)| AtSecond { second, value: (messages as f64).ln() })
            .collect();
        // The second in which the block ends is cut short.
        levels.pop();
        fill_silence(&mut levels);
        (block, levels)
    });
    levels.collect()
}

/// Seconds in which nothing came have no row: they are the slowest of all.
fn fill_silence(rows: &mut Vec<AtSecond<f64>>) {
    let (Some(first), Some(last)) = (rows.first().copied(), rows.last().copied()) else { return };
    let all = first.second..last.second;
    let silent: Vec<u32> = all.filter(|second| rows.iter().all(|row| row.second != *second)).collect();
    rows.extend(silent.into_iter().map(|second| AtSecond { second, value: 0.0 }));
    rows.sort_by_key(|row| row.second);
}

/// Median of the samples per second.
fn usual_samples(setup: &Setup) -> f64 {
    let measured = setup.result.series.iter().filter(|row| !row.warm_up);
    let samples = measured.map(|row| setup.headline_of_second(row).samples).filter(|samples| *samples > 0);
    median(samples.map(|samples| samples as f64)).unwrap_or(0.0)
}

/// Second by second, the mean of all blocks: every second that every block has.
fn mean_of_blocks(blocks: &BTreeMap<u32, Vec<AtSecond<f64>>>) -> Vec<AtSecond<f64>> {
    let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in blocks.values().flatten() {
        levels.entry(row.second).or_default().push(row.value);
    }
    let whole = levels.into_iter().filter(|(_, levels)| levels.len() == blocks.len());
    let mean = |levels: &[f64]| levels.iter().sum::<f64>() / levels.len() as f64;
    whole.map(|(second, levels)| AtSecond { second, value: mean(&levels) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::document::StepResult;
    use plumb_model::observation::SecondRow;

    fn at((second, value): (u32, f64)) -> AtSecond<f64> {
        AtSecond { second, value }
    }

    #[test]
    fn seconds_in_which_nothing_came_are_the_slowest_and_not_left_out() {
        let mut rows = [(3, 9.0), (4, 9.1), (7, 9.0)].map(at).to_vec();
        fill_silence(&mut rows);
        assert_eq!(rows, [(3, 9.0), (4, 9.1), (5, 0.0), (6, 0.0), (7, 9.0)].map(at));
    }

    #[test]
    fn what_of_the_warm_up_came_late_is_part_of_the_rate_of_its_second() {
        let row =
            |second, warm_up, sent, acked| SecondRow { second, warm_up, sent, acked, ..SecondRow::default() };
        let series = vec![
            row(0, true, 10, 9),
            row(1, false, 10, 9),
            row(1, true, 0, 1),
            row(2, false, 10, 10),
            row(3, false, 10, 10),
        ];
        let result = StepResult { series, ..StepResult::default() };
        let level = 10.0_f64.ln();
        assert_eq!(rates(&Setup { result: &result, plan: None })[&0], [(1, level), (2, level)].map(at));
    }
}
