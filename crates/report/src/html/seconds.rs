//! A step's course on an axis of time: every second of every block once, those without a row included.
//!
//! A document has up to two rows and more for one second (messages of the warm-up that came late, and measured ones) and none for
//! a second in which nothing happened. A chart that puts rows side by side shows neither when things happened nor how long.

use plumb_model::observation::SecondRow;

/// The seconds of one block, from its first intended send on.
pub(super) struct BlockCourse<'d> {
    pub(super) block: u32,
    pub(super) seconds: Vec<Second<'d>>,
}

/// One second of a block; empty where nothing was sent, acknowledged or received in it.
#[derive(Default)]
pub(super) struct Second<'d> {
    measured: Vec<&'d SecondRow>,
    warm_up: Vec<&'d SecondRow>,
    /// True if it lies before the first measured message.
    before_measured: bool,
}

/// The blocks of a series, each from its second 0 to its last one with a row.
pub(super) fn blocks(series: &[SecondRow]) -> Vec<BlockCourse<'_>> {
    series.chunk_by(|a, b| a.block == b.block).map(block).collect()
}

fn block(rows: &[SecondRow]) -> BlockCourse<'_> {
    let length = rows.iter().map(|row| row.second as usize + 1).max().unwrap_or(0);
    let mut seconds: Vec<Second> = std::iter::repeat_with(Second::default).take(length).collect();
    for row in rows {
        let second = &mut seconds[row.second as usize];
        if row.warm_up { second.warm_up.push(row) } else { second.measured.push(row) }
    }
    let measured_from = seconds.iter().position(|second| !second.measured.is_empty()).unwrap_or(length);
    seconds[..measured_from].iter_mut().for_each(|second| second.before_measured = true);
    BlockCourse { block: rows.first().map_or(0, |row| row.block), seconds }
}

impl<'d> Second<'d> {
    /// Messages of the second: those of the warm-up and the measured ones together.
    pub(super) fn count(&self, of: fn(&SecondRow) -> u64) -> u64 {
        self.measured.iter().chain(&self.warm_up).map(|row| of(row)).sum()
    }

    /// The rows whose latencies stand for the second: the measured ones, or those of the warm-up where there is no other.
    pub(super) fn timed(&self) -> &[&'d SecondRow] {
        if self.measured.is_empty() { &self.warm_up } else { &self.measured }
    }

    /// True if it shows nothing that was measured: it lies before the measured part, or only late messages of the warm-up came.
    pub(super) fn is_warm_up(&self) -> bool {
        self.before_measured || self.measured.is_empty() && !self.warm_up.is_empty()
    }
}

/// A stretch of the axis of time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub(super) from: usize,
    pub(super) seconds: usize,
}

/// The stretches of a block that show nothing measured.
pub(super) fn warm_ups(seconds: &[Second]) -> Vec<Stretch> {
    let mut from = 0;
    let runs = seconds.chunk_by(|a, b| a.is_warm_up() == b.is_warm_up()).map(|run| {
        let stretch = Stretch { from, seconds: run.len() };
        from += run.len();
        (run[0].is_warm_up(), stretch)
    });
    runs.filter_map(|(warm_up, stretch)| warm_up.then_some(stretch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32, warm_up: bool, acked: u64) -> SecondRow {
        SecondRow { second, warm_up, acked, ..SecondRow::default() }
    }

    #[test]
    fn rows_of_one_second_are_one_second_and_seconds_without_a_row_are_there() {
        let series = [row(0, true, 5), row(1, false, 4), row(1, true, 1), row(4, false, 2)];
        let blocks = blocks(&series);
        let counts: Vec<u64> = blocks[0].seconds.iter().map(|second| second.count(|row| row.acked)).collect();
        assert_eq!(counts, [5, 5, 0, 0, 2]);
    }

    #[test]
    fn the_measured_row_stands_for_the_latency_of_its_second() {
        let series = [row(0, true, 5), row(1, false, 4), row(1, true, 1)];
        let blocks = blocks(&series);
        let timed = |second: usize| blocks[0].seconds[second].timed();
        assert_eq!(timed(0), [&series[0]]);
        assert_eq!(timed(1), [&series[1]]);
    }

    #[test]
    fn what_is_shaded_is_before_the_measured_part_or_has_late_messages_of_the_warm_up_alone() {
        let series = [row(1, true, 5), row(2, false, 4), row(2, true, 1), row(4, true, 1), row(5, false, 1)];
        let blocks = blocks(&series);
        let expected = [Stretch { from: 0, seconds: 2 }, Stretch { from: 4, seconds: 1 }];
        assert_eq!(warm_ups(&blocks[0].seconds), expected);
    }
}
