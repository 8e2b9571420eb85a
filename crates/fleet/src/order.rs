//! Samples in the order of time for every server, whatever the input's order.
//!
//! Inputs are nearly always in order for each server: then [`Tracks`] takes the samples as they come and keeps none. Where one is
//! earlier than the one before it, everything is read again into a [`Sorter`], which keeps as many servers at a time as fit
//! into a bounded memory; the input is then read once for each such part.

use crate::error::FleetInputError;
use crate::exclusions::{Exclusions, Left};
use crate::instant::written;
use crate::intervals::Intervals;
use crate::request::FleetRequest;
use crate::rows::{Refused, Sample, SampleSink};
use crate::servers::Servers;
use crate::track::{Pushed, Track};

/// Samples that a [`Sorter`] keeps at a time: 480 MiB.
const KEPT_SAMPLES: usize = 12 << 20;

/// The metric and the load of every server, sample by sample.
#[derive(Debug)]
pub(crate) struct Tracks {
    pub(crate) metric: Track,
    pub(crate) load: Option<Track>,
    pub(crate) left: Exclusions,
    pub(crate) intervals: Intervals,
    /// First and last sample of all.
    pub(crate) span_ms: Option<(i64, i64)>,
    pub(crate) metric_steps: Steps,
    pub(crate) load_steps: Steps,
}

/// Steps between samples, and those that went down a little: see [`Pushed::Slip`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps {
    pub(crate) steps: u64,
    pub(crate) slips: u64,
    pub(crate) example: String,
}

/// A value of one quantity with its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedValue {
    pub(crate) time_ms: i64,
    pub(crate) value: f64,
}

/// The quantity of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Metric,
    Load,
}

impl Quantity {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Quantity::Metric => "metric",
            Quantity::Load => "load",
        }
    }
}

impl Tracks {
    pub(crate) fn new(request: &FleetRequest, with_load: bool) -> Self {
        Tracks {
            metric: Track::new(request.metric_kind.kind(), request.step_s),
            load: with_load.then(|| Track::new(request.load_kind.kind(), request.step_s)),
            left: Exclusions::new(),
            intervals: Intervals::new(&request.window),
            span_ms: None,
            metric_steps: Steps::default(),
            load_steps: Steps::default(),
        }
    }

    /// Counts what is to be told of a sample.
    #[inline]
    fn note<'s>(&mut self, quantity: Quantity, pushed: Pushed, server: impl Fn() -> &'s str, time_ms: i64) {
        match quantity {
            Quantity::Metric => self.metric_steps.steps += 1,
            Quantity::Load => self.load_steps.steps += 1,
        }
        if pushed != Pushed::Counted {
            self.tell(quantity, pushed, server(), time_ms);
        }
    }

    #[cold]
    fn tell(&mut self, quantity: Quantity, pushed: Pushed, server: &str, time_ms: i64) {
        let metric = quantity == Quantity::Metric;
        let steps = if metric { &mut self.metric_steps } else { &mut self.load_steps };
        let example = || format!("{server} at {}", written(time_ms));
        let kind = match (pushed, metric) {
            (Pushed::NoNumber, true) => Left::MetricNoNumber,
            (Pushed::NoNumber, false) => Left::LoadNoNumber,
            (Pushed::Negative, true) => Left::MetricNegative,
            (Pushed::Negative, false) => Left::LoadNegative,
            (Pushed::Gap, true) => Left::MetricGap,
            (Pushed::Gap, false) => Left::LoadGap,
            (Pushed::Repeated, _) => Left::Repeated,
            (Pushed::Contradicting, _) => Left::Contradicting,
            (_, true) => Left::MetricReset,
            (_, false) => Left::LoadReset,
        };
        if pushed == Pushed::Slip {
            steps.slips += 1;
            if steps.example.is_empty() {
                steps.example = example();
            }
        }
        self.left.add(kind, example);
    }

    /// Takes a sample of one quantity alone, where the two come apart.
    pub(crate) fn take_one(
        &mut self,
        quantity: Quantity,
        series: u32,
        sample: TimedValue,
        server: &str,
    ) -> Result<(), Refused> {
        let track = match quantity {
            Quantity::Metric => Some(&mut self.metric),
            Quantity::Load => self.load.as_mut(),
        };
        let Some(track) = track else { return Ok(()) };
        let TimedValue { time_ms, value } = sample;
        let moment = self.intervals.moment(time_ms);
        let pushed = track.push(series, moment, value, &mut self.intervals);
        if pushed == Pushed::Earlier {
            return Err(Refused::OutOfOrder);
        }
        self.note(quantity, pushed, || server, time_ms);
        // The load is no reason to look for a metric.
        if quantity == Quantity::Metric {
            self.extend_span(time_ms);
        }
        Ok(())
    }

    fn extend_span(&mut self, time_ms: i64) {
        let (first, last) = self.span_ms.unwrap_or((time_ms, time_ms));
        self.span_ms = Some((first.min(time_ms), last.max(time_ms)));
    }
}

impl SampleSink for Tracks {
    #[inline]
    fn take(&mut self, sample: Sample, servers: &Servers) -> Result<(), Refused> {
        let Sample { time_ms, series, .. } = sample;
        let moment = self.intervals.moment(time_ms);
        let pushed = self.metric.push(series, moment, sample.metric, &mut self.intervals);
        let load = self.load.as_mut().map(|load| load.push(series, moment, sample.load, &mut self.intervals));
        let name = || &*servers.of_series(series).name;
        match pushed {
            Pushed::Earlier => return Err(Refused::OutOfOrder),
            Pushed::Repeated if load == Some(Pushed::Contradicting) => {
                self.note(Quantity::Load, Pushed::Contradicting, name, time_ms);
                return Ok(());
            }
            Pushed::Repeated | Pushed::Contradicting => {
                self.note(Quantity::Metric, pushed, name, time_ms);
                return Ok(());
            }
            _ => self.note(Quantity::Metric, pushed, name, time_ms),
        }
        if let Some(load) = load {
            self.note(Quantity::Load, load, name, time_ms);
        }
        self.extend_span(time_ms);
        Ok(())
    }
}

/// Keeps the samples of some of the series.
#[derive(Debug)]
pub(crate) struct Sorter {
    samples: Vec<Sample>,
    kept: usize,
    /// The number of parts of the series, and the one that is kept.
    parts: u32,
    part: u32,
}

impl Sorter {
    pub(crate) fn new() -> Self {
        Sorter::keeping(KEPT_SAMPLES)
    }

    fn keeping(kept: usize) -> Self {
        Sorter { samples: Vec::new(), kept: kept.max(1), parts: 1, part: 0 }
    }

    /// Gives what it keeps to the tracks, and gets ready for the next part; false when there is none.
    pub(crate) fn next_part(
        &mut self,
        tracks: &mut Tracks,
        servers: &Servers,
    ) -> Result<bool, FleetInputError> {
        let mut samples = std::mem::take(&mut self.samples);
        samples.sort_unstable_by_key(|sample| (sample.series, sample.time_ms, sample.number));
        for sample in &samples {
            match tracks.take(*sample, servers) {
                // Sorted: none is earlier than the one before.
                Ok(()) | Err(Refused::OutOfOrder) => {}
                Err(Refused::Error(error)) => return Err(*error),
            }
        }
        samples.clear();
        self.samples = samples;
        self.part += 1;
        Ok(self.part < self.parts)
    }
}

impl SampleSink for Sorter {
    fn take(&mut self, sample: Sample, _: &Servers) -> Result<(), Refused> {
        if sample.series % self.parts != self.part {
            return Ok(());
        }
        self.samples.push(sample);
        // Later parts are no larger than the first by more than chance; they may be as large as they are.
        while self.part == 0 && self.samples.len() > self.kept && self.parts < 1 << 16 {
            self.parts *= 2;
            self.samples.retain(|sample| sample.series % self.parts == self.part);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{FleetGroups, FleetInterval, FleetSource, FleetWindow, Sampling};
    use jiff::tz::TimeZone;
    use plumb_model::fleet::SampleKind;

    const DAY_MS: i64 = 86_400_000;

    fn request() -> FleetRequest {
        FleetRequest {
            source: FleetSource::Files(crate::files::tests::files(&[])),
            groups: FleetGroups::None,
            window: FleetWindow {
                changed_at: None,
                interval: FleetInterval::Days,
                zone: TimeZone::UTC,
                from: None,
                until: None,
            },
            metric_kind: Sampling::Stated(SampleKind::Counter),
            load_kind: Sampling::Stated(SampleKind::Increments),
            step_s: None,
        }
    }

    fn servers(count: u32) -> Servers {
        let mut servers = Servers::new(&FleetGroups::None, &mut Exclusions::new()).unwrap();
        for server in 0..count {
            servers.id(&format!("s{server}"));
        }
        servers
    }

    /// Hourly samples of servers over two days, in order.
    fn samples(count: u32) -> Vec<Sample> {
        let all = (0..48_i64).flat_map(|hour| (0..count).map(move |server| (hour, server)));
        all.enumerate()
            .map(|(number, (hour, server))| Sample {
                time_ms: 20_000 * DAY_MS + hour * 3_600_000,
                metric: f64::from(server) + (hour % 20) as f64,
                load: hour as f64,
                series: server,
                number: number as u64,
            })
            .collect()
    }

    fn cells(tracks: Tracks) -> String {
        format!(
            "{:?} {:?} {:?}",
            tracks.metric.finish(),
            tracks.load.unwrap().finish(),
            tracks.left.into_rows()
        )
    }

    #[test]
    fn samples_in_any_order_and_in_any_number_of_parts_give_what_they_give_in_order() {
        let (request, servers) = (request(), servers(7));
        let mut in_order = Tracks::new(&request, true);
        for sample in samples(7) {
            in_order.take(sample, &servers).unwrap();
        }
        let expected = cells(in_order);
        let mut shuffled = samples(7);
        shuffled.sort_by_key(|sample| (sample.number.wrapping_mul(2_654_435_761), sample.number));
        for kept in [1, 40, 100, 10_000] {
            let (mut sorter, mut tracks) = (Sorter::keeping(kept), Tracks::new(&request, true));
            let mut passes = 0;
            loop {
                for sample in &shuffled {
                    sorter.take(*sample, &servers).unwrap();
                }
                passes += 1;
                if !sorter.next_part(&mut tracks, &servers).unwrap() {
                    break;
                }
            }
            assert_eq!(passes > 1, kept < 336, "{passes} passes");
            // Servers come in another order, so that the example of a reset may be another: the figures are the same.
            let figures = |text: &str| text.split(" [Exclusion").next().unwrap().to_owned();
            assert_eq!(figures(&cells(tracks)), figures(&expected));
        }
    }

    #[test]
    fn an_earlier_sample_is_refused_by_the_tracks() {
        let (request, servers) = (request(), servers(2));
        let mut tracks = Tracks::new(&request, true);
        let [first, .., last] = &samples(2)[..] else { unreachable!() };
        tracks.take(*last, &servers).unwrap();
        let earlier = Sample { series: last.series, ..*first };
        assert!(matches!(tracks.take(earlier, &servers), Err(Refused::OutOfOrder)));
    }

    #[test]
    fn a_pair_that_differs_in_the_load_alone_is_no_pair_alike() {
        let (request, servers) = (request(), servers(1));
        let mut tracks = Tracks::new(&request, true);
        let sample = samples(1)[0];
        tracks.take(sample, &servers).unwrap();
        tracks.take(Sample { load: 77.0, ..sample }, &servers).unwrap();
        tracks.take(sample, &servers).unwrap();
        assert_eq!((tracks.left.count(Left::Contradicting), tracks.left.count(Left::Repeated)), (1, 1));
    }
}
