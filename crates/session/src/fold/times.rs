//! The times that a second, a block or a step has seen, by measure. Not their figures: those are made by the statistics
//! crate.

use plumb_load::observation::{Measure, SecondPart};
use plumb_model::observation::SecondLatency;
use plumb_stats::histogram::{CompactHistogram, Histogram, HistogramError};
use serde::{Deserialize, Serialize};

/// Fewest samples of a second for its median and its 99th percentile.
const SECOND_P50_SAMPLES: u64 = 20;
const SECOND_P99_SAMPLES: u64 = 1_000;

/// Response and service time of one measure.
#[derive(Debug, Clone, Default)]
pub(super) struct Pair {
    pub(super) response: Histogram,
    pub(super) service: Histogram,
}

/// The times of all measures.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    pub(super) end_to_end: Pair,
    pub(super) acknowledge: Pair,
    pub(super) slip: Histogram,
}

/// The same as it is kept: small where few different times were seen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct TimesState {
    /// Response and service time.
    end_to_end: [CompactHistogram; 2],
    acknowledge: [CompactHistogram; 2],
    slip: CompactHistogram,
}

/// The numbers of times that were recorded, whatever their values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) end_to_end: u64,
    pub(super) acknowledge: u64,
}

impl Pair {
    fn add(&mut self, part: &SecondPart) {
        self.response.merge(&part.response);
        self.service.merge(&part.service);
    }

    fn merge(&mut self, other: &Pair) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }
}

impl Times {
    /// Takes what one thread saw in one second.
    pub(super) fn add(&mut self, part: &SecondPart) {
        match part.measure {
            Measure::Slip => self.slip.merge(&part.response),
            Measure::Acknowledge => self.acknowledge.add(part),
            Measure::EndToEnd => self.end_to_end.add(part),
        }
    }

    pub(super) fn merge(&mut self, other: &Times) {
        self.end_to_end.merge(&other.end_to_end);
        self.acknowledge.merge(&other.acknowledge);
        self.slip.merge(&other.slip);
    }

    /// The four latencies, by the names of their logs.
    pub(super) fn latencies(&self) -> [(&'static str, &Histogram); 4] {
        [
            ("end_to_end", &self.end_to_end.response),
            ("end_to_end_service", &self.end_to_end.service),
            ("acknowledge", &self.acknowledge.response),
            ("acknowledge_service", &self.acknowledge.service),
        ]
    }
}

impl TimesState {
    /// The numbers of times that were recorded, end to end and to the acknowledgement.
    pub(super) fn recorded(&self) -> Recorded {
        Recorded { end_to_end: self.end_to_end[0].recorded(), acknowledge: self.acknowledge[0].recorded() }
    }
}

impl From<&Times> for TimesState {
    fn from(times: &Times) -> Self {
        let pair = |pair: &Pair| [(&pair.response).into(), (&pair.service).into()];
        TimesState {
            end_to_end: pair(&times.end_to_end),
            acknowledge: pair(&times.acknowledge),
            slip: (&times.slip).into(),
        }
    }
}

impl TryFrom<&TimesState> for Times {
    type Error = HistogramError;

    fn try_from(kept: &TimesState) -> Result<Times, HistogramError> {
        let pair = |[response, service]: &[CompactHistogram; 2]| -> Result<Pair, HistogramError> {
            Ok(Pair { response: response.try_into()?, service: service.try_into()? })
        };
        Ok(Times {
            end_to_end: pair(&kept.end_to_end)?,
            acknowledge: pair(&kept.acknowledge)?,
            slip: (&kept.slip).try_into()?,
        })
    }
}

/// A second's figures of one latency.
pub(super) fn second_latency(histogram: &Histogram) -> SecondLatency {
    let samples = histogram.samples();
    SecondLatency {
        samples,
        mean_ns: histogram.mean_ns(),
        p50_ns: histogram.at_quantile(0.5).filter(|_| samples >= SECOND_P50_SAMPLES),
        p99_ns: histogram.at_quantile(0.99).filter(|_| samples >= SECOND_P99_SAMPLES),
        max_ns: histogram.exact().max_ns,
    }
}
