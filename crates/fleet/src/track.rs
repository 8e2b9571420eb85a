//! The values of one quantity, the metric or the load: sample by sample in the order of time into intervals.
//!
//! The rules, which `docs/guide/fleet-input.md` tells the user:
//! - Increments are summed, each in the interval of its time, which is when what it counts began. Levels are averaged.
//! - Of a counter, the rise between two samples counts in the interval of the moment halfway between them. A fall is a restart: it
//!   counted from 0 to the new value (as PromQL's `increase`, but for its extrapolation). A rise over a gap within an interval is
//!   known and counts; over a gap between two intervals nobody knows where it belongs, and it is left out.
//!
//! Not for telling what of it is enough to be believed: `table.rs` does that.

use crate::intervals::{Intervals, Moment};
use plumb_model::fleet::SampleKind;

/// A spacing of samples that is this many times the usual one is a gap: one sample at least is missing. Ours.
pub(crate) const GAP_STEPS: f64 = 1.5;

/// Spacings that differ by up to this share of the usual one count as it: scrapes are not punctual. Ours.
const STEP_TOLERANCE_SHARE: i64 = 10;

/// No sample yet.
const NEVER: i64 = i64::MIN;

/// The sums of a series in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SeriesCell {
    /// Usable samples.
    pub(crate) samples: u32,
    /// Their sum; of a counter, of its rises.
    pub(crate) sum: f64,
    /// The highest of them; of a counter, the highest rise of a usual spacing.
    pub(crate) peak: f64,
    /// The time between the samples whose rises are counted, of a counter.
    pub(crate) covered_ms: i64,
    /// The number of restarts of a counter.
    pub(crate) restarts: u32,
}

/// The steps of a series from each sample to the next, and the places of its samples in their intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) rises: u32,
    pub(crate) falls: u32,
    /// Samples that are neither at the begin of their interval nor at its end.
    pub(crate) inside: u32,
}

/// The fate of a sample.
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

/// No interval yet.
const NOWHERE: i32 = i32::MIN;

/// A series of a server, or of one of its parts: the fields that every sample touches, in one line of a processor's cache.
#[derive(Debug, Clone)]
struct Series {
    last_ms: i64,
    last: f64,
    /// The usual spacing so far, by majority vote (Boyer and Moore): whatever more than half of all spacings are wins.
    step_ms: i64,
    /// The sum of the interval under way.
    sum: f64,
    peak: f64,
    samples: u32,
    /// Number of that interval.
    interval: i32,
    votes: u32,
    moves: Moves,
}

/// The state that a counter needs besides.
#[derive(Debug, Clone)]
struct Base {
    /// The last usable value and its time.
    at_ms: i64,
    value: f64,
    /// The covered time of the interval under way.
    covered_ms: i64,
    restarts: u32,
}

const NEW_SERIES: Series = Series {
    last_ms: NEVER,
    last: f64::NAN,
    step_ms: 0,
    sum: 0.0,
    peak: 0.0,
    samples: 0,
    interval: NOWHERE,
    votes: 0,
    moves: Moves { rises: 0, falls: 0, inside: 0 },
};

const NEW_BASE: Base = Base { at_ms: NEVER, value: 0.0, covered_ms: 0, restarts: 0 };

impl Series {
    fn vote(&mut self, spacing_ms: i64) {
        if (spacing_ms - self.step_ms).abs() * STEP_TOLERANCE_SHARE <= self.step_ms {
            self.votes += 1;
        } else if self.votes == 0 {
            (self.step_ms, self.votes) = (spacing_ms, 1);
        } else {
            self.votes -= 1;
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
    /// The bases of the series; empty where they are no counters.
    bases: Vec<Base>,
    /// The intervals of each series that are over.
    done: Vec<Vec<(i32, SeriesCell)>>,
}

impl Track {
    pub(crate) fn new(kind: SampleKind, step_s: Option<f64>) -> Self {
        let step_ms = step_s.map_or(0, |step| (step * 1000.0) as i64);
        Track { kind, step_ms, series: Vec::new(), bases: Vec::new(), done: Vec::new() }
    }

    /// Takes a sample of a series; series are numbered from 0. The time is one that [`Intervals::believes`].
    #[inline]
    pub(crate) fn push(
        &mut self,
        series: u32,
        moment: Moment,
        value: f64,
        intervals: &mut Intervals,
    ) -> Pushed {
        let place = series as usize;
        if place >= self.series.len() {
            self.grow(place + 1);
        }
        let Moment { time_ms, .. } = moment;
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
        // The usual: one more value of the interval under way.
        if self.kind != SampleKind::Counter
            && series.interval == moment.interval
            && (0.0..f64::INFINITY).contains(&value)
        {
            series.samples += 1;
            series.moves.inside += u32::from(moment.inside);
            series.sum += value;
            series.peak = series.peak.max(value);
            return Pushed::Counted;
        }
        self.unusual(place, moment, value, intervals)
    }

    /// The same for the first sample of an interval, a counter's, and what is no usable value.
    fn unusual(&mut self, place: usize, moment: Moment, value: f64, intervals: &mut Intervals) -> Pushed {
        if !value.is_finite() {
            return Pushed::NoNumber;
        }
        if value < 0.0 && self.kind != SampleKind::Level {
            return Pushed::Negative;
        }
        let pushed = match self.kind {
            SampleKind::Counter => self.rise(place, moment, value, intervals),
            SampleKind::Increments | SampleKind::Level => Pushed::Counted,
        };
        if self.series[place].interval != moment.interval {
            self.close(place);
            self.series[place].interval = moment.interval;
        }
        let series = &mut self.series[place];
        series.samples += 1;
        series.moves.inside += u32::from(moment.inside);
        if self.kind != SampleKind::Counter {
            series.sum += value;
            series.peak = series.peak.max(value);
        }
        pushed
    }

    #[cold]
    fn grow(&mut self, series: usize) {
        self.series.resize(series, NEW_SERIES);
        self.done.resize(series, Vec::new());
        if self.kind == SampleKind::Counter {
            self.bases.resize(series, NEW_BASE);
        }
    }

    /// The rise since the last usable sample, which counts in the interval of the moment halfway between the two.
    fn rise(&mut self, place: usize, moment: Moment, value: f64, intervals: &mut Intervals) -> Pushed {
        let (series, base) = (&self.series[place], &mut self.bases[place]);
        let (before_ms, before) = (base.at_ms, base.value);
        (base.at_ms, base.value) = (moment.time_ms, value);
        if before_ms == NEVER {
            return Pushed::Counted;
        }
        let spacing_ms = moment.time_ms - before_ms;
        let step_ms = if self.step_ms > 0 { self.step_ms } else { series.step_ms };
        let moved_on = series.interval != moment.interval;
        if moved_on && spacing_ms as f64 > step_ms as f64 * GAP_STEPS {
            return Pushed::Gap;
        }
        let reset = value < before;
        if moved_on && intervals.find(before_ms + spacing_ms / 2).index != series.interval {
            self.close(place);
            self.series[place].interval = moment.interval;
        }
        let rise = if reset { value } else { value - before };
        let series = &mut self.series[place];
        series.sum += rise;
        series.peak = series.peak.max(rise * step_ms as f64 / spacing_ms as f64);
        let base = &mut self.bases[place];
        base.covered_ms += spacing_ms;
        base.restarts += u32::from(reset);
        match reset {
            false => Pushed::Counted,
            true if value > before / 2.0 => Pushed::Slip,
            true => Pushed::Reset,
        }
    }

    /// Ends the interval under way of a series.
    fn close(&mut self, place: usize) {
        let series = &mut self.series[place];
        let (covered_ms, restarts) = self.bases.get_mut(place).map_or((0, 0), |base| {
            (std::mem::take(&mut base.covered_ms), std::mem::take(&mut base.restarts))
        });
        let Series { samples, sum, peak, .. } = *series;
        let cell = SeriesCell { samples, sum, peak, covered_ms, restarts };
        (series.samples, series.sum, series.peak) = (0, 0.0, 0.0);
        if cell != SeriesCell::default() {
            self.done[place].push((series.interval, cell));
        }
    }

    /// The cells of each series, with its usual spacing in milliseconds (0 where there are not two samples).
    pub(crate) fn finish(mut self) -> Vec<SeriesCells> {
        (0..self.series.len()).for_each(|place| self.close(place));
        let finished = self.series.into_iter().zip(self.done);
        finished
            .map(|(series, cells)| SeriesCells { cells, step_ms: series.step_ms, moves: series.moves })
            .collect()
    }
}

/// The cells of a series, by the numbers of its intervals, ascending.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeriesCells {
    pub(crate) cells: Vec<(i32, SeriesCell)>,
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
    fn folded(kind: SampleKind, samples: &[(f64, f64)]) -> (Vec<Pushed>, Vec<(i32, SeriesCell)>) {
        let (mut track, mut intervals) = (Track::new(kind, None), days());
        let mut push = |&(hours, value): &(f64, f64)| {
            let moment = intervals.moment(START_MS + (hours * HOUR_MS as f64) as i64);
            track.push(0, moment, value, &mut intervals)
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
            let cell = |samples, sum, peak| SeriesCell { samples, sum, peak, ..SeriesCell::default() };
            assert_eq!(cells, [(20_000, cell(2, 3.0, 2.0)), (20_001, cell(1, 4.0, 4.0))]);
        }
    }

    #[test]
    fn a_counter_that_falls_counts_from_0_and_no_rise_is_lost() {
        let (pushed, cells) = folded(SampleKind::Counter, &hourly(&[10.0, 15.0, 3.0, 3.0, 8.0]));
        assert_eq!(
            pushed,
            [Pushed::Counted, Pushed::Counted, Pushed::Reset, Pushed::Counted, Pushed::Counted]
        );
        assert_eq!(
            cells,
            [(20_000, SeriesCell { samples: 5, sum: 13.0, peak: 5.0, covered_ms: 4 * HOUR_MS, restarts: 1 })]
        );
    }

    #[test]
    fn a_rise_up_to_midnight_counts_in_the_day_that_ends() {
        let values: Vec<f64> = (0..=25).map(f64::from).collect();
        let (_, cells) = folded(SampleKind::Counter, &hourly(&values));
        assert_eq!(
            cells[0],
            (20_000, SeriesCell { samples: 24, sum: 24.0, peak: 1.0, covered_ms: DAY_MS, restarts: 0 })
        );
        assert_eq!(
            cells[1],
            (20_001, SeriesCell { samples: 2, sum: 1.0, peak: 1.0, covered_ms: HOUR_MS, restarts: 0 })
        );
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
        assert_eq!(
            cells[0].1,
            SeriesCell { samples: 5, sum: 9.0, peak: 1.0, covered_ms: 9 * HOUR_MS, restarts: 0 }
        );
        assert_eq!(
            cells[1].1,
            SeriesCell { samples: 2, sum: 1.0, peak: 1.0, covered_ms: HOUR_MS, restarts: 0 }
        );
    }

    #[test]
    fn what_is_no_number_is_missing_and_a_counter_goes_on_from_the_value_before() {
        let (pushed, cells) =
            folded(SampleKind::Counter, &hourly(&[1.0, f64::NAN, 4.0, -1.0, f64::INFINITY, 6.0]));
        use Pushed::{Counted, Negative, NoNumber};
        assert_eq!(pushed, [Counted, NoNumber, Counted, Negative, NoNumber, Counted]);
        assert_eq!(
            cells[0].1,
            SeriesCell { samples: 3, sum: 5.0, peak: 1.5, covered_ms: 5 * HOUR_MS, restarts: 0 }
        );
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
            let moment = intervals.moment(time_ms);
            track.push(0, moment, 1.0, &mut intervals);
            time_ms += if sample % 3 == 0 { 900_000 } else { 300_000 + (sample % 7 - 3) * 1000 };
        }
        let step_ms = track.finish()[0].step_ms;
        assert!((270_000..=330_000).contains(&step_ms), "{step_ms}");
    }

    #[test]
    fn a_fall_to_more_than_half_of_the_count_is_a_slip_and_to_half_or_less_a_restart() {
        let fell_to = |value| folded(SampleKind::Counter, &hourly(&[0.0, 100.0, value])).0[2];
        assert_eq!([fell_to(50.0), fell_to(50.1)], [Pushed::Reset, Pushed::Slip]);
        assert_eq!([fell_to(99.0), fell_to(100.0)], [Pushed::Slip, Pushed::Counted], "equal is no fall");
        let (_, cells) = folded(SampleKind::Counter, &hourly(&[0.0, 100.0, 60.0]));
        assert_eq!((cells[0].1.sum, cells[0].1.restarts), (160.0, 1), "a slip counts from 0, too");
    }

    #[test]
    fn a_spacing_of_one_and_a_half_steps_over_midnight_is_no_gap_and_a_longer_one_is() {
        let over_midnight = |hours: f64| {
            let samples = [(20.0, 0.0), (21.0, 1.0), (22.0, 2.0), (23.0, 3.0), (23.0 + hours, 9.0)];
            let (pushed, cells) = folded(SampleKind::Counter, &samples);
            (pushed[4], cells.iter().map(|(_, cell)| cell.sum).sum::<f64>())
        };
        assert_eq!(over_midnight(1.5), (Pushed::Counted, 9.0));
        assert_eq!(over_midnight(1.6), (Pushed::Gap, 3.0));
    }

    #[test]
    fn what_is_a_gap_goes_by_the_step_that_was_asked_for() {
        let of_step = |step_s: Option<f64>| {
            let (mut track, mut intervals) = (Track::new(SampleKind::Counter, step_s), days());
            let mut push = |hours: i64, value: f64| {
                let moment = intervals.moment(START_MS + hours * HOUR_MS);
                track.push(0, moment, value, &mut intervals)
            };
            [(20, 0.0), (21, 1.0), (25, 5.0)].map(|(hours, value)| push(hours, value))[2]
        };
        assert_eq!(of_step(None), Pushed::Gap);
        assert_eq!([of_step(Some(3_600.0)), of_step(Some(4.0 * 3_600.0))], [Pushed::Gap, Pushed::Counted]);
    }

    #[test]
    fn rises_falls_and_samples_within_an_interval_are_counted_of_each_series() {
        let (mut track, mut intervals) = (Track::new(SampleKind::Level, None), days());
        for (series, hours, value) in [
            (0, 0.0, 1.0),
            (1, 12.0, 9.0),
            (0, 12.0, 2.0),
            (0, 24.0, 2.0),
            (0, 36.0, 1.0),
            (1, 36.0, f64::NAN),
        ] {
            let moment = intervals.moment(START_MS + (hours * HOUR_MS as f64) as i64);
            track.push(series, moment, value, &mut intervals);
        }
        let series = track.finish();
        assert_eq!(series[0].moves, Moves { rises: 1, falls: 1, inside: 2 });
        assert_eq!(series[1].moves, Moves { rises: 0, falls: 0, inside: 1 });
        assert_eq!([series[0].samples(), series[1].samples()], [4, 1]);
        assert_eq!(series[0].step_ms, 12 * HOUR_MS);
    }

    #[test]
    fn a_missing_number_comes_again_as_it_was() {
        let (pushed, _) = folded(SampleKind::Level, &[(1.0, f64::NAN), (1.0, f64::NAN), (1.0, 2.0)]);
        assert_eq!(pushed, [Pushed::NoNumber, Pushed::Repeated, Pushed::Contradicting]);
        let (pushed, _) = folded(SampleKind::Increments, &[(1.0, 1.0), (2.0, -1.0), (3.0, f64::INFINITY)]);
        assert_eq!(pushed, [Pushed::Counted, Pushed::Negative, Pushed::NoNumber]);
    }
}
