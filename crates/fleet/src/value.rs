//! The value of one server and interval, made of the cells of its series: enough samples have to be there, and the rest is
//! scaled.

use crate::intervals::Interval;
use crate::track::{GAP_STEPS, SeriesCell};
use plumb_model::fleet::SampleKind;

/// A value needs this share of an interval's samples. Ours: with less, what is missing decides.
const ENOUGH_SHARE: f64 = 0.5;

/// A value with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) figure: Option<f64>,
    /// Share of the interval that it rests on.
    pub(crate) covered: f64,
    /// The highest sample over the mean one; none where there is no mean above 0.
    pub(crate) peak: Option<f64>,
    /// True if samples are missing and the rest stands for them.
    pub(crate) scaled: bool,
}

impl Value {
    /// The value of the cells of one server's series, of which there are `parts` in all: counts add up; levels of several series
    /// never get here.
    pub(crate) fn from_cells(
        kind: SampleKind,
        cells: &[SeriesCell],
        parts: usize,
        interval: &Interval,
        step_ms: f64,
    ) -> Self {
        let length_ms = interval.length_ms() as f64;
        let expected = length_ms / step_ms;
        let share_of = |cell: &SeriesCell| {
            let missing = expected - f64::from(cell.samples);
            // Steps need not divide the interval: up to a whole sample may be missing for that.
            if missing < 1.0 { 1.0 } else { f64::from(cell.samples) / expected }
        };
        let share = cells.iter().map(share_of).fold(0.0, f64::max);
        let covered = |cell: &SeriesCell| cell.covered_ms as f64 / length_ms;
        let (figure, seen) = match kind {
            SampleKind::Level => {
                let samples: u32 = cells.iter().map(|cell| cell.samples).sum();
                (cells.iter().map(|cell| cell.sum).sum::<f64>() / f64::from(samples), share)
            }
            SampleKind::Increments => (cells.iter().map(|cell| scale(cell.sum, share_of(cell))).sum(), share),
            SampleKind::Counter => (
                cells.iter().map(|cell| scale(cell.sum, covered(cell))).sum(),
                cells.iter().map(covered).fold(0.0, f64::max),
            ),
        };
        // The last sample of all begins a step that nobody ends: a counter may lack as much without a sample missing.
        let gap = match kind {
            SampleKind::Level => false,
            SampleKind::Increments => share < 1.0,
            SampleKind::Counter => (1.0 - seen) * length_ms > step_ms * GAP_STEPS,
        };
        let known = |cell: &SeriesCell| match kind {
            SampleKind::Level | SampleKind::Increments => share_of(cell),
            SampleKind::Counter if length_ms - cell.covered_ms as f64 <= step_ms * GAP_STEPS => 1.0,
            SampleKind::Counter => covered(cell).min(1.0),
        };
        let mean = |cell: &SeriesCell| match kind {
            SampleKind::Level | SampleKind::Increments => cell.sum / f64::from(cell.samples),
            SampleKind::Counter => cell.sum * step_ms / cell.covered_ms as f64,
        };
        let peak = cells.iter().map(|cell| cell.peak).sum::<f64>() / cells.iter().map(mean).sum::<f64>();
        let enough = share >= ENOUGH_SHARE && seen >= ENOUGH_SHARE;
        Value {
            figure: enough.then_some(figure),
            covered: cells.iter().map(known).sum::<f64>() / parts.max(1) as f64,
            peak: Some(peak).filter(|peak| peak.is_finite() && *peak >= 1.0),
            scaled: gap,
        }
    }
}

/// A count of a share, scaled to all; of less than half it stays as it is, as nothing can be said of the rest.
fn scale(sum: f64, share: f64) -> f64 {
    if share >= ENOUGH_SHARE { sum / share } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;
    const DAY: Interval = Interval { index: 0, start_ms: 0, end_ms: 24 * HOUR_MS };

    fn value(kind: SampleKind, samples: u32, sum: f64, covered_hours: i64) -> Value {
        let cell = SeriesCell { samples, sum, covered_ms: covered_hours * HOUR_MS, ..SeriesCell::default() };
        Value::from_cells(kind, &[cell], 1, &DAY, HOUR_MS as f64)
    }

    #[test]
    fn counts_of_a_part_stand_for_the_whole_and_levels_stay() {
        let value_of = |figure, covered, scaled| Value { figure: Some(figure), covered, peak: None, scaled };
        assert_eq!(value(SampleKind::Increments, 24, 48.0, 0), value_of(48.0, 1.0, false));
        assert_eq!(value(SampleKind::Increments, 18, 36.0, 0), value_of(48.0, 0.75, true));
        assert_eq!(value(SampleKind::Level, 18, 36.0, 0), value_of(2.0, 0.75, false));
        // A counter's rises over a gap within the day are known.
        assert_eq!(value(SampleKind::Counter, 18, 48.0, 24), value_of(48.0, 1.0, false));
        assert_eq!(value(SampleKind::Counter, 18, 36.0, 18), value_of(48.0, 0.75, true));
    }

    #[test]
    fn half_of_the_samples_is_enough_and_less_is_no_value() {
        for kind in [SampleKind::Increments, SampleKind::Level, SampleKind::Counter] {
            assert!(value(kind, 12, 12.0, 12).figure.is_some(), "{kind:?}");
            assert_eq!(value(kind, 11, 11.0, 11).figure, None, "{kind:?}");
        }
        assert_eq!(Value::from_cells(SampleKind::Level, &[], 1, &DAY, HOUR_MS as f64).figure, None);
    }

    #[test]
    fn a_step_that_does_not_divide_the_interval_leaves_nothing_missing() {
        // 24 h of 7 minutes are 205.7 samples.
        let cell = SeriesCell { samples: 205, sum: 205.0, peak: 1.0, ..SeriesCell::default() };
        let value = Value::from_cells(SampleKind::Increments, &[cell], 1, &DAY, 420_000.0);
        assert_eq!(value, Value { figure: Some(205.0), covered: 1.0, peak: Some(1.0), scaled: false });
    }
}
