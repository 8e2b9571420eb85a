//! The reporting intervals of Kafka's tools, from a run's rows of seconds.
//!
//! A second in which nothing happened has no row, and one whose parts came late has two: intervals go by the seconds that the
//! rows name, not by their number.

use plumb_model::observation::SecondRow;
use std::ops::Range;

/// The fate of the interval in which the rows end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is left out, because it is not known to be a whole one.
    LeftOut,
    /// It counts, until the end of its last second.
    Counts,
}

/// An interval with something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// Seconds since the block's begin: the first, and the one after the last.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Its rows.
    pub(crate) rows: Range<usize>,
}

/// Intervals of so many milliseconds, rounded up to seconds. As the tools report when a record comes, an interval without a row
/// is a part of the next one that has one.
pub(crate) fn windows(series: &[SecondRow], interval_ms: u64, last: Last) -> Vec<Window> {
    let length = u32::try_from(interval_ms.div_ceil(1_000)).unwrap_or(u32::MAX).max(1);
    let Some(end) = series.iter().map(|row| row.second).max() else { return Vec::new() };
    let mut found: Vec<Window> = Vec::new();
    let mut from = 0;
    for (at, row) in series.iter().enumerate() {
        let to = (row.second / length).saturating_add(1).saturating_mul(length);
        match found.last_mut() {
            // A late part of a second comes after rows of later ones: it counts with those.
            Some(window) if to <= window.to => window.rows.end = at + 1,
            _ => found.push(Window { from, to, rows: at..at + 1 }),
        }
        from = to.max(from);
    }
    if let Some(window) = found.last_mut() {
        window.to = window.to.min(end.saturating_add(1));
    }
    if last == Last::LeftOut {
        found.pop();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: u32, to: u32, rows: Range<usize>) -> Window {
        Window { from, to, rows }
    }

    fn of(seconds: &[u32], interval_ms: u64, last: Last) -> Vec<Window> {
        let row = |second: &u32| SecondRow { second: *second, ..SecondRow::default() };
        let series: Vec<SecondRow> = seconds.iter().map(row).collect();
        windows(&series, interval_ms, last)
    }

    #[test]
    fn an_interval_goes_by_seconds_and_not_by_rows() {
        assert_eq!(of(&[0, 2, 4, 6], 4_000, Last::Counts), [window(0, 4, 0..2), window(4, 7, 2..4)]);
        assert_eq!(of(&[0, 2, 4, 6], 4_000, Last::LeftOut), [window(0, 4, 0..2)]);
        assert_eq!(
            of(&[1, 2, 3], 1_000, Last::Counts),
            [window(0, 2, 0..1), window(2, 3, 1..2), window(3, 4, 2..3)]
        );
    }

    #[test]
    fn one_without_a_row_belongs_to_the_next_that_has_one() {
        assert_eq!(of(&[0, 7], 2_000, Last::Counts), [window(0, 2, 0..1), window(2, 8, 1..2)]);
    }

    #[test]
    fn a_second_whose_part_came_late_is_not_counted_as_another() {
        assert_eq!(of(&[0, 1, 0, 2, 3], 2_000, Last::Counts), [window(0, 2, 0..3), window(2, 4, 3..5)]);
        assert_eq!(of(&[0, 1, 2, 1, 3], 2_000, Last::Counts), [window(0, 2, 0..2), window(2, 4, 2..5)]);
    }

    #[test]
    fn without_a_row_there_is_none() {
        assert!(of(&[], 1_000, Last::Counts).is_empty());
    }
}
