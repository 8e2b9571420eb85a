//! Settings that cannot do on a path, whatever its speed: what a message has to wait because of them is longer than what is wanted, or
//! what they let through is less than the load.
//!
//! Each rule is a bound on the side of trying: a wait counts at its least, a way through at its most. What is ruled out wrongly is never
//! seen again, while what is tried in vain costs a block.

use crate::best::{Part, Physics, Point};
use plumb_model::metric::goal_of;
use plumb_model::plan::{GoalLatency, Keys, Mode, Properties, StepPlan, TopicPlan};
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
        let about_ack = self.search.metric.starts_with("acknowledge");
        let linger_ns = self.linger_ns(settings, flow).unwrap_or(0.0);
        let fetch_ns = match self.is_consumed() && !about_ack {
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

/// What a fetch takes beside its wait where no round trip was seen.
const FETCH_NS: f64 = 1e6;

impl PathPhysics<'_> {
    fn batches(&self, point: &Point) -> Option<Batches> {
        let flow = self.flow()?;
        let settings = self.search.settings(&point.0);
        let linger_ns = self.value(&settings, "producer.linger.ms").unwrap_or(0.0) * 1e6;
        let batch = self.value(&settings, "producer.batch.size").unwrap_or(f64::INFINITY);
        let records = (batch / flow.value_bytes.max(1.0)).clamp(1.0, BATCH_RECORDS);
        // Records without a key stay with one partition for a while, so that its batch gets all that a producer sends.
        let sticky_ns = self.value(&settings, "producer.sticky.partitioning.linger.ms").unwrap_or(0.0) * 1e6;
        let shared_by = match self.step.load.keys == Keys::None && sticky_ns >= linger_ns {
            true => flow.producers,
            false => flow.producers * flow.partitions,
        };
        let per_s = flow.messages_per_s / shared_by;
        let wait_ns = linger_ns.min(records / per_s * 1e9);
        let requests_per_s = flow.messages_per_s / (1.0 + per_s * wait_ns / 1e9).min(records);
        let fetch_wait_ns = match self.is_consumed() {
            true => self.fetch_ns(&settings, flow).unwrap_or(0.0),
            false => 0.0,
        };
        let round_trip_ns = self.path.and_then(|path| path.round_trip_ns).map_or(FETCH_NS, |ns| ns as f64);
        let consumers = if self.is_consumed() { f64::from(self.step.load.consumers) } else { 0.0 };
        // A fetch is answered by data: there are no more of them than batches for each consumer.
        let fetches_per_s = consumers * (1e9 / (fetch_wait_ns + round_trip_ns)).min(requests_per_s);
        Some(Batches { wait_ns, fetch_wait_ns, requests_per_s, fetches_per_s, flow })
    }

    fn is_consumed(&self) -> bool {
        self.step.load.consumers > 0 && self.step.load.mode == Mode::Mixed
    }

    /// A quantile of a latency, in units of so many nanoseconds. Messages come evenly while a batch waits, so that of the waits the
    /// quantile is that share of the longest.
    fn latency(&self, point: &Point, of: GoalLatency, quantile: f64, unit_ns: f64) -> Vec<Part> {
        let Some(batches) = self.batches(point) else { return Vec::new() };
        let fetch_wait_ns = match of {
            GoalLatency::EndToEnd => batches.fetch_wait_ns,
            GoalLatency::Acknowledge => 0.0,
        };
        let wait_ns = quantile * (batches.wait_ns + fetch_wait_ns);
        vec![Part::Known(wait_ns / unit_ns), Part::Queue(batches.requests_per_s + batches.fetches_per_s)]
    }
}

/// What settings make of a load, about.
#[derive(Debug, Clone, Copy)]
struct Batches {
    /// The longest wait of a message for its batch.
    wait_ns: f64,
    /// The longest wait of a fetch for its bytes.
    fetch_wait_ns: f64,
    requests_per_s: f64,
    fetches_per_s: f64,
    flow: Flow,
}

impl Physics for PathPhysics<'_> {
    fn objective(&self, point: &Point) -> Vec<Part> {
        match (self.search.objective, goal_of(&self.search.metric)) {
            (Objective::Latency, Some(metric)) => self.latency(point, metric.latency, metric.quantile, 1.0),
            (Objective::Latency, None) => Vec::new(),
            // The cost of a message has a part for each request; as fast as possible has no rate, and so no law.
            (Objective::Cpu | Objective::Rate, _) => match self.batches(point) {
                Some(batches) => [batches.requests_per_s, batches.fetches_per_s]
                    .map(|per_s| Part::Proportional(per_s / batches.flow.messages_per_s))
                    .to_vec(),
                None => Vec::new(),
            },
        }
    }

    fn goal(&self, point: &Point) -> Vec<Part> {
        let Some(goal) = self.search.goal else { return Vec::new() };
        self.latency(point, goal.latency, goal.quantile, goal.limit.0 as f64)
    }

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
