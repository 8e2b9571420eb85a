//! The intervals that are whole, and the value of a server in each.

use super::series_of_servers::SeriesOfServers;
use crate::error::FleetInputError;
use crate::exclusions::Left;
use crate::instant::written;
use crate::intervals::Interval;
use crate::request::{FleetInterval, FleetRequest};
use crate::rows::Rows;
use crate::track::{SeriesCell, SeriesCells};
use crate::value::Value;
use plumb_model::fleet::{FleetBasis, SampleKind};

/// Less than this share of an interval may be missing at the begin or the end of all samples. Ours.
const PART_SHARE: f64 = 0.01;

/// Spacings of servers that differ by less from the usual one are the same. Ours.
const STEP_TOLERANCE: f64 = 0.1;

/// Samples that come once an interval and inside of it, above which their time is not believed to the interval. Ours.
const INSIDE_PERCENT: u64 = 5;

/// Values that a table has at most, of metric and load each: about 400 MB.
const VALUES: usize = 10_000_000;

/// The spacing that most servers have: the median of theirs, of an even number the longer of the two in the middle, which is one that
/// there is.
pub(super) fn usual_step_ms(
    request: &FleetRequest,
    series: &SeriesOfServers,
    kept: &[u32],
) -> Result<f64, FleetInputError> {
    let interval_ms = usual_length_ms(request);
    let steps = kept.iter().flat_map(|server| series.series_of(*server)).map(|series| series.step_ms);
    let mut steps: Vec<i64> = steps.filter(|step_ms| *step_ms > 0).collect();
    steps.sort_unstable();
    let found_ms = match steps.is_empty() {
        // Nobody has two samples: one an interval, as far as can be told.
        true => interval_ms,
        false => steps[steps.len() / 2],
    };
    let step_ms = request.step_s.map_or(found_ms as f64, |step_s| step_s * 1000.0);
    if step_ms > interval_ms as f64 * (1.0 + STEP_TOLERANCE) {
        let interval_s = interval_ms / 1000;
        return Err(FleetInputError::StepLongerThanInterval { step_s: step_ms / 1000.0, interval_s });
    }
    Ok(step_ms)
}

fn usual_length_ms(request: &FleetRequest) -> i64 {
    match request.window.interval {
        FleetInterval::Days => 86_400_000,
        FleetInterval::Seconds(length) => i64::from(length) * 1000,
    }
}

/// The inputs of the values.
pub(super) struct Making<'a> {
    pub(super) request: &'a FleetRequest,
    pub(super) rows: Rows,
    pub(super) span_ms: (i64, i64),
    pub(super) step_ms: f64,
}

impl Making<'_> {
    /// The intervals that are compared.
    pub(super) fn intervals(
        &mut self,
        metric: &SeriesOfServers,
        kept: &[u32],
    ) -> Result<Vec<Interval>, FleetInputError> {
        let cells = kept.iter().flat_map(|server| metric.series_of(*server)).flat_map(|series| &series.cells);
        let (first, last) = cells
            .fold((i32::MAX, i32::MIN), |(first, last), (index, _)| (first.min(*index), last.max(*index)));
        let (from, to) = (written(self.span_ms.0), written(self.span_ms.1));
        let count = (i64::from(last) - i64::from(first) + 1).max(0) as usize;
        if count.saturating_mul(kept.len().max(1)) > VALUES {
            return Err(FleetInputError::TooLarge {
                servers: kept.len(),
                intervals: count,
                first: from,
                last: to,
                limit: VALUES,
            });
        }
        let inside = self.stamped_inside(metric, kept);
        let mut whole = Vec::with_capacity(count);
        for index in first..=last {
            let interval = self.rows.intervals.at(index);
            // A zone may skip a day.
            if interval.length_ms() <= 0 {
                continue;
            }
            let example = || written(interval.start_ms);
            if self.has_change_inside(&interval) {
                self.rows.left.add(Left::ChangeInterval, example);
            } else if self.is_part(&interval) {
                self.rows.left.add(Left::PartInterval, example);
            } else if inside && self.is_near_change(&interval) {
                self.rows.left.add(Left::NearChange, example);
            } else {
                whole.push(interval);
            }
        }
        if whole.is_empty() {
            return Err(FleetInputError::NoWholeInterval { first: from, last: to });
        }
        Ok(whole)
    }

    fn has_change_inside(&self, interval: &Interval) -> bool {
        let change = self.request.window.changed_at.map(|moment| moment.as_millisecond());
        change.is_some_and(|change_ms| change_ms > interval.start_ms && change_ms < interval.end_ms)
    }

    /// True if samples come once an interval, and inside of it: such as those of days of another zone, or those of a job at 03:00
    /// about the day before. The begin of what they tell of is then not known to less than an interval.
    fn stamped_inside(&mut self, metric: &SeriesOfServers, kept: &[u32]) -> bool {
        let length_ms = usual_length_ms(self.request) as f64;
        if self.step_ms * 2.0 <= length_ms {
            return false;
        }
        let (mut inside, mut samples, mut example) = (0, 0, None);
        for (server, series) in
            kept.iter().flat_map(|server| metric.series_of(*server).into_iter().map(move |it| (server, it)))
        {
            samples += series.samples();
            inside += u64::from(series.moves.inside);
            if series.moves.inside > 0 {
                example = example.or(Some(*server));
            }
        }
        if inside * 100 <= samples * INSIDE_PERCENT {
            return false;
        }
        let name = example.map_or(String::new(), |server| self.rows.servers.get(server).name.to_string());
        self.rows.left.add_many(Left::StampInside, inside, || name);
        true
    }

    /// True if a sample in it may tell of both sides of the change, whichever way its time is meant.
    fn is_near_change(&self, interval: &Interval) -> bool {
        let change = self.request.window.changed_at.map(|moment| moment.as_millisecond());
        change.is_some_and(|change_ms| {
            let from_ms = (change_ms - interval.end_ms) as f64;
            let until_ms = (interval.start_ms - change_ms) as f64;
            from_ms < self.step_ms && until_ms < self.step_ms
        })
    }

    /// True if the samples begin after its first or end before its last one should have come.
    fn is_part(&self, interval: &Interval) -> bool {
        let (first_ms, last_ms) = self.span_ms;
        let little_ms = interval.length_ms() as f64 * PART_SHARE;
        !self.rows.intervals.wants_all(interval)
            || (first_ms - interval.start_ms) as f64 >= self.step_ms.max(little_ms)
            || (interval.end_ms - last_ms) as f64 > self.step_ms * (1.0 + STEP_TOLERANCE) + little_ms
    }

    /// A server's values with what they rest on. `name`: to be counted under; the metric has it.
    pub(super) fn values(
        &mut self,
        kind: SampleKind,
        usual_ms: f64,
        series: Vec<&SeriesCells>,
        intervals: &[Interval],
        name: Option<&str>,
    ) -> (Vec<Option<f64>>, FleetBasis) {
        let own_ms = series.iter().map(|series| series.step_ms).filter(|step_ms| *step_ms > 0).min();
        let differs = |own_ms: &i64| (*own_ms as f64 - usual_ms).abs() > usual_ms * STEP_TOLERANCE;
        let other_ms = own_ms.filter(|own_ms| self.request.step_s.is_none() && differs(own_ms));
        let step_ms = other_ms.map_or(usual_ms, |own_ms| own_ms as f64);
        if let (Some(_), Some(name)) = (other_ms, name) {
            let example = || format!("{name}: {} s, not {} s", step_ms / 1000.0, usual_ms / 1000.0);
            self.rows.left.add(Left::OtherStep, example);
        }
        let mut read = vec![0; series.len()];
        let mut figures = Vec::with_capacity(intervals.len());
        let mut basis = FleetBasis { covered: Vec::with_capacity(intervals.len()), ..FleetBasis::default() };
        let usual = usual_length_ms(self.request) as f64 / step_ms;
        basis.samples = usual * series.len() as f64;
        let mut peaks = Vec::with_capacity(intervals.len());
        for interval in intervals {
            let cells = series.iter().zip(&mut read).map(|(series, read)| {
                // Both ascend: what is before this interval is left behind.
                while series.cells.get(*read).is_some_and(|(index, _)| *index < interval.index) {
                    *read += 1;
                }
                series.cells.get(*read).filter(|(index, _)| *index == interval.index).map(|(_, cell)| *cell)
            });
            let cells: Vec<SeriesCell> = cells.flatten().collect();
            let value = Value::from_cells(kind, &cells, series.len(), interval, step_ms);
            if let Some(name) = name {
                let example = || format!("{name} from {}", written(interval.start_ms));
                if value.figure.is_none() {
                    self.rows.left.add(Left::TooFewSamples, example);
                } else if cells.len() < series.len() {
                    self.rows.left.add(Left::PartMissing, example);
                } else if value.scaled {
                    self.rows.left.add(Left::Scaled, example);
                }
            }
            if kind == SampleKind::Counter {
                basis.restarts.push(cells.iter().map(|cell| cell.restarts).sum());
            }
            peaks.extend(value.peak.map(|peak| IntervalPeak { whole: value.covered >= 1.0, peak }));
            figures.push(value.figure);
            basis.covered.push(value.covered as f32);
        }
        basis.peak = usual_peak(peaks);
        (figures, basis)
    }
}

/// The peak of an interval.
struct IntervalPeak {
    /// True if samples cover all of the interval.
    whole: bool,
    peak: f64,
}

/// The median of the peaks of intervals that samples cover whole, else of all; of an even number the higher of the two in the middle.
fn usual_peak(peaks: Vec<IntervalPeak>) -> Option<f64> {
    let whole = peaks.iter().any(|peak| peak.whole);
    let mut peaks: Vec<f64> = peaks.into_iter().filter(|it| it.whole == whole).map(|it| it.peak).collect();
    peaks.sort_by(f64::total_cmp);
    peaks.get(peaks.len() / 2).copied()
}
