//! One quantity, the metric or the load, sample by sample in the order of time into values of intervals.
//!
//! The rules, which `docs/guide/fleet-input.md` tells the user:
//! - Increments are summed, each in the interval of its time, which is when what it counts began. Levels are averaged.
//! - Of a counter, the rise between two samples counts in the interval of the moment halfway between them. A fall is a restart: it
//!   counted from 0 to the new value (as PromQL's `increase`, but for its extrapolation). A rise over a gap within an interval is
//!   known and counts; over a gap between two intervals nobody knows where it belongs, and it is left out.
//!
//! Not for telling what of it is enough to be believed: `table.rs` does that.

use crate::intervals::{Interval, Intervals};
use plumb_model::fleet::SampleKind;

/// A spacing of samples that is this many times the usual one is a gap: one sample at least is missing. Ours.
pub(crate) const GAP_STEPS: f64 = 1.5;

/// Spacings that differ by up to this share of the usual one count as it: scrapes are not punctual. Ours.
const STEP_TOLERANCE_SHARE: i64 = 10;

/// No sample yet.
const NEVER: i64 = i64::MIN;

/// What a series gave in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cell {
    /// Usable samples.
    pub(crate) samples: u32,
    /// Their sum; of a counter, of its rises.
    pub(crate) sum: f64,
    /// Of a counter: time between the samples whose rises are counted.
    pub(crate) covered_ms: i64,
}

/// How a series went from each sample to the next, and where in their intervals its samples are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) rises: u32,
    pub(crate) falls: u32,
    /// Samples that are neither at the begin of their interval nor at its end.
    pub(crate) inside: u32,
}

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    Counted,
    /// The same time and value once more.
    Repeated,
    /// The same time with another value.
    Contradicting,
    /// Earlier than the one before: the order has to be made first.
    Earlier,
    NoNumber,
    Negative,
    /// Counted, from 0.
    Reset,
    /// The same, but more than half of the count was there again at once: a counter that restarted is seldom so quick.
    Slip,
    /// The rise that it ends is left out.
    Gap,
}

/// One series: of a server, or of one of its parts.
#[derive(Debug, Clone)]
struct Series {
    last_ms: i64,
    last: f64,
    /// The last usable value of a counter and its time.
    base_ms: i64,
    base: f64,
    interval: Interval,
    cell: Cell,
    /// The usual spacing so far, by majority vote (Boyer and Moore): whatever more than half of all spacings are wins.
    step_ms: i64,
    votes: u32,
    moves: Moves,
    done: Vec<(i32, Cell)>,
}

impl Series {
    fn new() -> Self {
        Series {
            last_ms: NEVER,
            last: f64::NAN,
            base_ms: NEVER,
            base: 0.0,
            interval: Interval::default(),
            cell: Cell::default(),
            step_ms: 0,
            votes: 0,
            moves: Moves::default(),
            done: Vec::new(),
        }
    }

    fn vote(&mut self, spacing_ms: i64) {
        if (spacing_ms - self.step_ms).abs() * STEP_TOLERANCE_SHARE <= self.step_ms {
            self.votes += 1;
        } else if self.votes == 0 {
            (self.step_ms, self.votes) = (spacing_ms, 1);
        } else {
            self.votes -= 1;
        }
    }

    fn close(&mut self) {
        if self.cell != Cell::default() {
            self.done.push((self.interval.index, self.cell));
            self.cell = Cell::default();
        }
    }

    /// The rise since the last usable sample; `step_ms` as asked for, 0: the usual one.
    fn rise(&mut self, time_ms: i64, value: f64, step_ms: i64, next: Option<Interval>) -> Pushed {
        let (before_ms, before) = (self.base_ms, self.base);
        (self.base_ms, self.base) = (time_ms, value);
        if before_ms == NEVER {
            return Pushed::Counted;
        }
        let spacing_ms = time_ms - before_ms;
        let step_ms = if step_ms > 0 { step_ms } else { self.step_ms };
        let middle_ms = before_ms + spacing_ms / 2;
        let here = next.is_none_or(|_| self.interval.contains(middle_ms));
        if next.is_some() && spacing_ms as f64 > step_ms as f64 * GAP_STEPS {
            return Pushed::Gap;
        }
        let reset = value < before;
        if !here {
            self.close();
            self.interval = next.unwrap_or(self.interval);
        }
        self.cell.sum += if reset { value } else { value - before };
        self.cell.covered_ms += spacing_ms;
        match reset {
            false => Pushed::Counted,
            true if value > before / 2.0 => Pushed::Slip,
            true => Pushed::Reset,
        }
    }
}

/// All series of one quantity.
#[derive(Debug)]
pub(crate) struct Track {
    kind: SampleKind,
    /// As asked for; 0: the usual one of each series.
    step_ms: i64,
    series: Vec<Series>,
}

impl Track {
    pub(crate) fn new(kind: SampleKind, step_s: Option<f64>) -> Self {
        Track { kind, step_ms: step_s.map_or(0, |step| (step * 1000.0) as i64), series: Vec::new() }
    }

    /// Takes a sample of a series; series are numbered from 0. The time is one that [`Intervals::believes`].
    #[inline]
    pub(crate) fn push(
        &mut self,
        series: u32,
        time_ms: i64,
        value: f64,
        intervals: &mut Intervals,
    ) -> Pushed {
        let place = series as usize;
        if place >= self.series.len() {
            self.series.resize_with(place + 1, Series::new);
        }
        let series = &mut self.series[place];
        if time_ms <= series.last_ms {
            return match time_ms == series.last_ms {
                false => Pushed::Earlier,
                true if value == series.last || (value.is_nan() && series.last.is_nan()) => Pushed::Repeated,
                true => Pushed::Contradicting,
            };
        }
        if series.last_ms != NEVER {
            series.vote(time_ms - series.last_ms);
        }
        // What is no number is neither.
        series.moves.rises += u32::from(value > series.last);
        series.moves.falls += u32::from(value < series.last);
        (series.last_ms, series.last) = (time_ms, value);
        if !value.is_finite() {
            return Pushed::NoNumber;
        }
        if value < 0.0 && self.kind != SampleKind::Level {
            return Pushed::Negative;
        }
        let next = if series.interval.contains(time_ms) { None } else { Some(intervals.of(time_ms)) };
        let pushed = match self.kind {
            SampleKind::Counter => series.rise(time_ms, value, self.step_ms, next),
            SampleKind::Increments | SampleKind::Level => Pushed::Counted,
        };
        if let Some(next) = next.filter(|next| *next != series.interval) {
            series.close();
            series.interval = next;
        }
        series.cell.samples += 1;
        series.moves.inside += u32::from(series.interval.has_inside(time_ms));
        if self.kind != SampleKind::Counter {
            series.cell.sum += value;
        }
        pushed
    }

    /// What each series gave, with its usual spacing in milliseconds (0 where there are not two samples).
    pub(crate) fn finish(self) -> Vec<SeriesCells> {
        let finished = self.series.into_iter().map(|mut series| {
            series.close();
            SeriesCells { cells: series.done, step_ms: series.step_ms, moves: series.moves }
        });
        finished.collect()
    }
}

/// What a series gave, by the numbers of its intervals, ascending.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeriesCells {
    pub(crate) cells: Vec<(i32, Cell)>,
    pub(crate) step_ms: i64,
    pub(crate) moves: Moves,
}

impl SeriesCells {
    pub(crate) fn samples(&self) -> u64 {
        self.cells.iter().map(|(_, cell)| u64::from(cell.samples)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{FleetInterval, FleetWindow};
    use jiff::tz::TimeZone;

    const DAY_MS: i64 = 86_400_000;
    const HOUR_MS: i64 = 3_600_000;
    /// Midnight of a day, UTC.
    const START_MS: i64 = 20_000 * DAY_MS;

    fn days() -> Intervals {
        Intervals::new(&FleetWindow {
            changed_at: None,
            interval: FleetInterval::Days,
            zone: TimeZone::UTC,
            from: None,
            until: None,
        })
    }

    /// Hours since [`START_MS`] with values -> what became of each, and the cells.
    fn folded(kind: SampleKind, samples: &[(f64, f64)]) -> (Vec<Pushed>, Vec<(i32, Cell)>) {
        let (mut track, mut intervals) = (Track::new(kind, None), days());
        let mut push = |&(hours, value): &(f64, f64)| {
            track.push(0, START_MS + (hours * HOUR_MS as f64) as i64, value, &mut intervals)
        };
        let pushed = samples.iter().map(&mut push).collect();
        (pushed, track.finish().remove(0).cells)
    }

    fn hourly(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(hour, value)| (hour as f64, *value)).collect()
    }

    #[test]
    fn increments_and_levels_are_summed_at_their_own_time() {
        for kind in [SampleKind::Increments, SampleKind::Level] {
            let (pushed, cells) = folded(kind, &[(0.0, 1.0), (12.0, 2.0), (24.0, 4.0)]);
            assert_eq!(pushed, [Pushed::Counted; 3]);
            let cell = |samples, sum| Cell { samples, sum, covered_ms: 0 };
            assert_eq!(cells, [(20_000, cell(2, 3.0)), (20_001, cell(1, 4.0))]);
        }
    }

    #[test]
    fn a_counter_that_falls_counts_from_0_and_no_rise_is_lost() {
        let (pushed, cells) = folded(SampleKind::Counter, &hourly(&[10.0, 15.0, 3.0, 3.0, 8.0]));
        assert_eq!(
            pushed,
            [Pushed::Counted, Pushed::Counted, Pushed::Reset, Pushed::Counted, Pushed::Counted]
        );
        assert_eq!(cells, [(20_000, Cell { samples: 5, sum: 13.0, covered_ms: 4 * HOUR_MS })]);
    }

    #[test]
    fn a_rise_up_to_midnight_counts_in_the_day_that_ends() {
        let values: Vec<f64> = (0..=25).map(f64::from).collect();
        let (_, cells) = folded(SampleKind::Counter, &hourly(&values));
        assert_eq!(cells[0], (20_000, Cell { samples: 24, sum: 24.0, covered_ms: DAY_MS }));
        assert_eq!(cells[1], (20_001, Cell { samples: 2, sum: 1.0, covered_ms: HOUR_MS }));
    }

    #[test]
    fn a_counter_read_once_a_day_at_midnight_gives_each_day_its_own_rise() {
        let daily: Vec<(f64, f64)> =
            (0..4).map(|day| (24.0 * f64::from(day), 10.0 * f64::from(day * day))).collect();
        let (_, cells) = folded(SampleKind::Counter, &daily);
        let sums: Vec<f64> = cells.iter().map(|(_, cell)| cell.sum).collect();
        assert_eq!(sums, [10.0, 30.0, 50.0, 0.0]);
    }

    #[test]
    fn a_rise_over_a_gap_counts_within_a_day_and_not_between_two() {
        let (pushed, cells) = folded(
            SampleKind::Counter,
            &[(1.0, 0.0), (2.0, 1.0), (3.0, 2.0), (9.0, 8.0), (10.0, 9.0), (30.0, 99.0), (31.0, 100.0)],
        );
        assert_eq!(pushed[3], Pushed::Counted);
        assert_eq!(pushed[5], Pushed::Gap);
        assert_eq!(cells[0].1, Cell { samples: 5, sum: 9.0, covered_ms: 9 * HOUR_MS });
        assert_eq!(cells[1].1, Cell { samples: 2, sum: 1.0, covered_ms: HOUR_MS });
    }

    #[test]
    fn what_is_no_number_is_missing_and_a_counter_goes_on_from_the_value_before() {
        let (pushed, cells) =
            folded(SampleKind::Counter, &hourly(&[1.0, f64::NAN, 4.0, -1.0, f64::INFINITY, 6.0]));
        use Pushed::{Counted, Negative, NoNumber};
        assert_eq!(pushed, [Counted, NoNumber, Counted, Negative, NoNumber, Counted]);
        assert_eq!(cells[0].1, Cell { samples: 3, sum: 5.0, covered_ms: 5 * HOUR_MS });
    }

    #[test]
    fn a_level_may_be_negative() {
        let (pushed, cells) = folded(SampleKind::Level, &hourly(&[-1.0, 3.0]));
        assert_eq!((pushed, cells[0].1.sum), (vec![Pushed::Counted; 2], 2.0));
    }

    #[test]
    fn samples_of_the_same_or_an_earlier_time_are_told_and_change_nothing() {
        let samples = [(1.0, 1.0), (2.0, 2.0), (2.0, 2.0), (2.0, 3.0), (1.5, 1.0)];
        let (pushed, cells) = folded(SampleKind::Increments, &samples);
        use Pushed::{Contradicting, Counted, Earlier, Repeated};
        assert_eq!(pushed, [Counted, Counted, Repeated, Contradicting, Earlier]);
        assert_eq!(cells[0].1.sum, 3.0);
    }

    #[test]
    fn the_usual_spacing_is_found_among_gaps_and_unpunctual_samples() {
        let (mut track, mut intervals) = (Track::new(SampleKind::Level, None), days());
        let mut time_ms = START_MS;
        for sample in 0..100_i64 {
            track.push(0, time_ms, 1.0, &mut intervals);
            time_ms += if sample % 3 == 0 { 900_000 } else { 300_000 + (sample % 7 - 3) * 1000 };
        }
        let step_ms = track.finish()[0].step_ms;
        assert!((270_000..=330_000).contains(&step_ms), "{step_ms}");
    }
}
