//! Settings that cannot do on a path, whatever its speed: what a message has to wait because of them is longer than what is wanted, or
//! what they let through is less than the load.
//!
//! Each rule is a bound on the side of trying: a wait counts at its least, a way through at its most. What is ruled out wrongly is never
//! seen again, while what is tried in vain costs a block.

use crate::best::{Physics, Point};
use plumb_model::plan::{Mode, Properties, StepPlan, TopicPlan};
use plumb_model::settings_search::{Objective, PathFacts, SettingsSearch};

/// A wait that nearly all messages of the quantile have is at least this share of the longest one: the messages of a batch come evenly
/// while it waits, and only its first waits for the whole of it.
const WAIT_SHARE: f64 = 0.9;
/// A way through counts as narrower than the load only where it is this much narrower: the shortest acknowledgement that was seen is
/// no shortest round trip.
const THROUGH_SPARE: f64 = 2.0;
/// Records of a batch, by librdkafka's default.
const BATCH_RECORDS: f64 = 10_000.0;
/// Reach of the logarithm of a model's further inputs: beyond it a batch is always, or never, filled.
const INPUT_REACH: f64 = 7.0;

/// What is known of a path before a block runs.
pub(super) struct PathPhysics<'a> {
    pub(super) search: &'a SettingsSearch,
    pub(super) step: &'a StepPlan,
    pub(super) path: Option<&'a PathFacts>,
}

/// The load, in the units of the rules.
#[derive(Debug, Clone, Copy)]
struct Flow {
    messages_per_s: f64,
    bytes_per_s: f64,
    value_bytes: f64,
    producers: f64,
    partitions: f64,
}

impl PathPhysics<'_> {
    fn flow(&self) -> Option<Flow> {
        let load = &self.step.load;
        let messages_per_s = load.rate_per_s?;
        let value_bytes = load.size.mean();
        let partitions = match &self.step.topic {
            TopicPlan::Own { partitions, .. } => f64::from(*partitions),
            TopicPlan::Existing { .. } => 1.0,
        };
        Some(Flow {
            messages_per_s,
            bytes_per_s: messages_per_s * value_bytes,
            value_bytes,
            producers: f64::from(load.producers.max(1)),
            partitions,
        })
    }

    /// A setting's value at a place: of the space, else of the step, else none.
    fn value(&self, settings: &Properties, setting: &str) -> Option<f64> {
        let value = settings.get(setting).map(String::as_str).or_else(|| self.search.current(setting));
        value?.parse().ok()
    }

    /// The latency that is too long, in nanoseconds.
    fn limit_ns(&self) -> Option<f64> {
        let own = || match (self.search.objective, self.search.metric.contains('.')) {
            (Objective::Latency, true) => self.path?.objective,
            _ => None,
        };
        self.search.goal.map(|goal| goal.limit.0 as f64).or_else(own)
    }

    /// The longest that a batch waits to be filled or sent, at its least: as if one partition got all that a producer sends.
    fn linger_ns(&self, settings: &Properties, flow: Flow) -> Option<f64> {
        let linger_ns = self.value(settings, "producer.linger.ms")? * 1e6;
        let batch = self.value(settings, "producer.batch.size").unwrap_or(f64::INFINITY);
        let records = (batch / flow.value_bytes.max(1.0)).clamp(1.0, BATCH_RECORDS);
        let fill_ns = records / (flow.messages_per_s / flow.producers) * 1e9;
        Some(linger_ns.min(fill_ns))
    }

    /// The longest that a fetch waits at the broker, at its least: as if one broker had all the data for one consumer.
    fn fetch_ns(&self, settings: &Properties, flow: Flow) -> Option<f64> {
        let least = self.value(settings, "consumer.fetch.min.bytes")?;
        let wait_ns = self.value(settings, "consumer.fetch.wait.max.ms").unwrap_or(500.0) * 1e6;
        // A record is there before the fetch has to wait for a second one.
        let missing = (least - flow.value_bytes).max(0.0);
        Some(wait_ns.min(missing / flow.bytes_per_s.max(1.0) * 1e9))
    }

    fn waits_too_long(&self, settings: &Properties, flow: Flow) -> bool {
        let Some(limit_ns) = self.limit_ns() else { return false };
        let is_consumed = self.step.load.consumers > 0 && self.step.load.mode == Mode::Mixed;
        let about_ack = self.search.metric.starts_with("acknowledge");
        let linger_ns = self.linger_ns(settings, flow).unwrap_or(0.0);
        let fetch_ns = match is_consumed && !about_ack {
            true => self.fetch_ns(settings, flow).unwrap_or(0.0),
            false => 0.0,
        };
        WAIT_SHARE * linger_ns.max(fetch_ns) > limit_ns
    }

    /// True if what may be under way at once is less than what the load sends in a round trip.
    fn lets_too_little_through(&self, settings: &Properties, flow: Flow) -> bool {
        let Some(round_trip_ns) = self.path.and_then(|path| path.round_trip_ns) else { return false };
        let in_flight = self.value(settings, "producer.max.in.flight.requests.per.connection");
        let (Some(in_flight), Some(batch)) = (in_flight, self.value(settings, "producer.batch.size")) else {
            return false;
        };
        // A batch holds one record at least, however large.
        let under_way = in_flight * batch.max(flow.value_bytes) * flow.producers * flow.partitions;
        flow.bytes_per_s > THROUGH_SPARE * under_way / (round_trip_ns as f64 / 1e9)
    }
}

impl Physics for PathPhysics<'_> {
    fn is_possible(&self, point: &Point) -> bool {
        let settings = self.search.settings(&point.0);
        match self.flow() {
            None => true,
            Some(flow) => {
                !self.waits_too_long(&settings, flow) && !self.lets_too_little_through(&settings, flow)
            }
        }
    }

    /// How far a batch is filled while it lingers, and how far what is under way fills a round trip, each as a logarithm within 0 to 1.
    fn inputs(&self, point: &Point) -> Vec<f64> {
        let settings = self.search.settings(&point.0);
        let scaled =
            |ratio: f64| (ratio.ln().clamp(-INPUT_REACH, INPUT_REACH) + INPUT_REACH) / (2.0 * INPUT_REACH);
        let Some(flow) = self.flow() else { return Vec::new() };
        let batch = self.value(&settings, "producer.batch.size");
        let filled = || {
            let linger_s = self.value(&settings, "producer.linger.ms")?.max(0.01) / 1e3;
            Some(scaled(flow.bytes_per_s / flow.partitions * linger_s / batch?))
        };
        let under_way = || {
            let in_flight = self.value(&settings, "producer.max.in.flight.requests.per.connection")?;
            let round_trip_s = self.path?.round_trip_ns? as f64 / 1e9;
            Some(scaled(in_flight * batch? / (flow.bytes_per_s * round_trip_s).max(1.0)))
        };
        [filled(), under_way()].into_iter().flatten().collect()
    }
}
