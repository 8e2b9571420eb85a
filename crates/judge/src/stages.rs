//! The parts of the mean end-to-end time of a step: slip, produce, publish, commit, catch-up, fetch, and the remainder.
//!
//! Means add up, percentiles do not, so only means are divided. Each stage carries the band in which the truth lies and the
//! source of its figure; a stage that no source tells is absent, and the remainder is shown as unexplained.
//!
//! Sources: our own stamps (one clock); the client's statistics (exact window means of `int_latency`, `outbuf_latency` and
//! `rtt`); the broker's append times (whole milliseconds, clock offset bounded by sending and receiving); the brokers' request
//! metrics (Kafka rounds each value to whole milliseconds, hence +-0.5 ms); the leaders' number of records that wait for
//! followers.

use crate::replication::FollowerWait;
use plumb_model::document::{BlockResult, StepResult};
use plumb_model::facts::{RequestStages, RequestTimes, WindowMean};
use plumb_model::figure::time;
use plumb_model::observation::{Fidelity, Stage, StageName, Twin};

/// A figure with its band.
#[derive(Debug, Clone, Copy)]
struct Banded {
    mean: f64,
    low: f64,
    high: f64,
}

const APPEND_FLOOR_NS: f64 = 1e6;
/// Times in the client that are longer than the whole by no more than this are of slightly other messages (ours): the client's
/// windows do not begin and end with the measured part.
const OVERLAP_MAX: f64 = 1.05;
/// The twin's requests may take so many times as long as the step's, or as short, to be of the same path (ours).
const TWIN_RATIO_MAX: f64 = 2.0;
/// The part of a round trip outside the brokers is a figure of its own where it is so many times the brokers' part (ours).
const OUTSIDE_RATIO_MIN: f64 = 10.0;

impl Banded {
    fn exactly(mean: f64) -> Self {
        Banded { mean, low: mean, high: mean }
    }

    fn plus(self, other: Banded) -> Self {
        Banded { mean: self.mean + other.mean, low: self.low + other.low, high: self.high + other.high }
    }

    fn minus(self, other: Banded) -> Self {
        Banded { mean: self.mean - other.mean, low: self.low - other.high, high: self.high - other.low }
    }

    /// No stage is shorter than nothing or longer than the whole.
    fn within(self, most: f64) -> Self {
        let clip = |value: f64| value.clamp(0.0, most.max(0.0));
        Banded { mean: clip(self.mean), low: clip(self.low), high: clip(self.high) }
    }
}

/// Divides the mean end-to-end time of a step; `same_clock`: whether all brokers are on the generating host. Empty when
/// nothing was received, and where the end-to-end time lies between clocks that are known to a band: stages are differences of it.
pub fn stages(step: &StepResult, same_clock: Option<bool>) -> Vec<Stage> {
    let latency = &step.latency;
    let (Some(whole), Some(service)) = (latency.end_to_end.mean_ns, latency.end_to_end_service.mean_ns)
    else {
        return Vec::new();
    };
    if latency.end_to_end.clock_error() > 0.0 {
        return Vec::new();
    }
    let path = Path::of(step, service, same_clock);
    let mut stages = vec![known(
        StageName::Slip,
        Banded::exactly(whole - service),
        Fidelity::Measured,
        "intended to actual send time, on one clock",
    )];
    stages.push(path.produce_stage());
    stages.push(path.publish_stage());
    stages.push(path.commit_stage());
    stages.push(path.catch_up_stage());
    stages.push(path.fetch_stage());
    tighten(whole, &mut stages);
    stages.push(unexplained(whole, &stages, step));
    stages
}

/// No stage is shorter than nothing, so none is longer than the whole without the least of the others. A figure whose
/// band is wider than itself is no figure: its band stays, its mean goes.
fn tighten(whole: f64, stages: &mut [Stage]) {
    release_what_cannot_be(whole, stages);
    let least: f64 = stages.iter().filter_map(|stage| stage.low_ns).sum();
    for stage in stages {
        let (Some(low), Some(high)) = (stage.low_ns, stage.high_ns) else { continue };
        let high = high.min((whole - (least - low)).max(low));
        stage.high_ns = Some(high);
        let Some(mean) = stage.mean_ns else { continue };
        if stage.fidelity == Some(Fidelity::Metrics) && high - low >= 2.0 * mean {
            stage.mean_ns = None;
            stage.fidelity = None;
            stage.source = format!("{}: too coarse for a figure here", stage.source);
        } else {
            stage.mean_ns = Some(mean.min(high));
        }
    }
}

/// Figures that are not of the measured messages themselves (of all records of a block, of a twin) may leave no room for the others: then
/// the least of the longest of them is not known, and one that another topic told has no figure.
fn release_what_cannot_be(whole: f64, stages: &mut [Stage]) {
    loop {
        let least: f64 = stages.iter().filter_map(|stage| stage.low_ns).sum();
        if least <= whole * (1.0 + 1e-9) {
            return;
        }
        let of_others = |stage: &&mut Stage| {
            matches!(stage.fidelity, Some(Fidelity::Metrics | Fidelity::Probe)) && stage.low_ns > Some(0.0)
        };
        let low = |stage: &Stage| stage.low_ns.unwrap_or(0.0);
        let longest = stages.iter_mut().filter(of_others).max_by(|a, b| low(a).total_cmp(&low(b)));
        let Some(longest) = longest else { return };
        longest.low_ns = Some(0.0);
        if longest.fidelity == Some(Fidelity::Probe) {
            longest.mean_ns = None;
            longest.fidelity = None;
            longest.source = format!("{}: more than the other stages leave, so no figure", longest.source);
        }
    }
}

/// The known facts about the path of a step's messages.
struct Path<'a> {
    step: &'a StepResult,
    service: f64,
    confirmed: bool,
    produce: Option<Banded>,
    rtt: Option<f64>,
    requests: Option<RequestTimes>,
    /// Actual send to append.
    send_to_append: Option<Banded>,
}

/// True if its clients of this role are programs of their own, which tell nothing of what happens in them.
fn has_program(step: &StepResult, role: &str) -> bool {
    step.blocks.iter().flat_map(|block| &block.programs).any(|program| program.role == role)
}

impl<'a> Path<'a> {
    fn of(step: &'a StepResult, service: f64, same_clock: Option<bool>) -> Self {
        let statistics = &step.producer_statistics;
        let queue = statistics.queue_mean_ns.zip(statistics.outbuf_mean_ns.or(Some(0.0)));
        Path {
            step,
            service,
            confirmed: step.durability.acks.as_deref() != Some("0"),
            produce: queue
                .map(|(queue, outbuf)| queue + outbuf)
                .filter(|produce| *produce <= service * OVERLAP_MAX)
                .map(|produce| Banded::exactly(produce).within(service)),
            rtt: statistics.rtt_mean_ns,
            requests: merged_request_times(&step.blocks),
            send_to_append: send_to_append(step, service, same_clock),
        }
    }

    fn produce_stage(&self) -> Stage {
        let statistics = &self.step.producer_statistics;
        match self.produce {
            Some(produce) if statistics.measured => known(
                StageName::Produce,
                produce,
                Fidelity::Measured,
                &format!(
                    "the driver's own times, enqueued to last byte written, of {} messages",
                    statistics.queue_samples
                ),
            ),
            Some(produce) => known(
                StageName::Produce,
                produce,
                Fidelity::Metrics,
                &format!(
                    "client statistics: queue with linger, and writing, of {} messages",
                    statistics.queue_samples
                ),
            ),
            None if statistics.queue_mean_ns.is_some() => Stage {
                low_ns: Some(0.0),
                high_ns: Some(self.service),
                ..absent(
                    StageName::Produce,
                    "messages waited for longer in the client than until they were received: some were sent more than once, \
                     and which time brought them to the log is not known",
                )
            },
            None if has_program(self.step, "producer") => absent(
                StageName::Produce,
                "the producer is a program of its own, and how long messages waited in it before they were written is not told by anybody",
            ),
            None => {
                absent(StageName::Produce, "the client's statistics had no whole window in the measured part")
            }
        }
    }

    fn publish_stage(&self) -> Stage {
        if let Some(twin) = self.twin().filter(|twin| self.met_another_path(twin)) {
            let round_trip = self.rtt.filter(|_| self.confirmed);
            return Stage {
                low_ns: round_trip.map(|_| 0.0),
                high_ns: round_trip.map(|rtt| rtt.min(self.service)),
                ..absent(
                    StageName::Publish,
                    &format!(
                        "the twin topic was used after the blocks, and its requests took {} where those of the blocks took {}",
                        twin.rtt_mean_ns.map_or_else(|| "another time".to_owned(), time),
                        round_trip.map_or_else(|| "another time".to_owned(), time)
                    ),
                )
            };
        }
        if let Some((append, produce)) = self.send_to_append.zip(self.produce_before_append()) {
            return known(
                StageName::Publish,
                append.minus(produce).within(self.service),
                Fidelity::Probe,
                match self.twin() {
                    Some(_) => {
                        "broker's append times (whole milliseconds) on a twin topic after the blocks, minus send time and its own produce stage"
                    }
                    None => {
                        "broker's append times (whole milliseconds), minus send time and the produce stage"
                    }
                },
            );
        }
        let produce = &self.requests_of(|times| &times.produce);
        let by_the_leader = self.rtt.filter(|_| self.confirmed && self.acknowledged_by_the_leader_alone());
        if let Some(rtt) = by_the_leader.filter(|_| self.step.producer_statistics.measured) {
            let inside = produce
                .as_ref()
                .and_then(|times| Some(banded(times.request_queue?).plus(banded(times.local?)).low));
            return known(
                StageName::Publish,
                Banded { mean: rtt, low: inside.unwrap_or(0.0), high: rtt }.within(self.service),
                Fidelity::Measured,
                "the driver's own times, last byte written to acknowledgement read: its way back is in it",
            );
        }
        let inside =
            produce.as_ref().and_then(|times| Some(banded(times.request_queue?).plus(banded(times.local?))));
        let total = produce.as_ref().and_then(|times| times.total).map(banded);
        match (inside, self.rtt.filter(|_| self.confirmed), total) {
            (Some(inside), Some(rtt), Some(total)) => {
                let (rest, most) = ((rtt - total.mean).max(0.0), (rtt - total.low).max(0.0));
                // Far more than rounding can make: requests that nobody read, as those to a broker that stands still.
                let unread = rest >= OUTSIDE_RATIO_MIN * (inside.high - inside.low).max(inside.mean);
                // The request's way there is in it, the response's way back is not: some part of the rest.
                let mean = if unread { rest } else { rest / 2.0 };
                known(
                    StageName::Publish,
                    inside.plus(Banded { low: 0.0, mean, high: most }).within(rtt),
                    Fidelity::Metrics,
                    match unread {
                        true => {
                            "client statistics: round trip of the requests, nearly all of it outside the brokers' own times; the acknowledgement's way back is in it"
                        }
                        false => {
                            "brokers' request queue and local times, and up to all of the round trip outside the broker"
                        }
                    },
                )
            }
            (Some(inside), None, _) => {
                let most = self.service - self.produce.map_or(0.0, |produce| produce.low);
                let open = Banded { high: most, ..inside };
                known(
                    StageName::Publish,
                    open.within(self.service),
                    Fidelity::Metrics,
                    "brokers' request queue and local times; without confirmations the way there is not in it",
                )
            }
            _ => match self.round_trip() {
                Some(round_trip) if by_the_leader.is_some() => known(
                    StageName::Publish,
                    round_trip.within(self.service),
                    Fidelity::Metrics,
                    "client statistics: round trip of the requests; the acknowledgement's way back is in it",
                ),
                Some(round_trip) => within_round_trip(StageName::Publish, round_trip),
                None => {
                    absent(StageName::Publish, "no confirmations, and the brokers' own times are not at hand")
                }
            },
        }
    }

    /// True if only the leader's append lies between request and response.
    fn acknowledged_by_the_leader_alone(&self) -> bool {
        self.step.effective.replication == Some(1) || self.step.durability.acks.as_deref() == Some("1")
    }

    /// Request written to acknowledgement read, as the client tells it. Its mean is over requests, and a large one may take longer; no message took
    /// longer in the mean than its own stamps leave after the produce stage.
    fn round_trip(&self) -> Option<Banded> {
        let rtt = self.rtt.filter(|_| self.confirmed)?;
        let acknowledged = self.step.latency.acknowledge_service.mean_ns.zip(self.produce);
        let left = acknowledged.map_or(0.0, |(acknowledged, produce)| acknowledged - produce.mean);
        Some(Banded { mean: rtt, low: 0.0, high: rtt.max(left) })
    }

    /// The twin, where it and not the step's own topic tells the append times.
    fn twin(&self) -> Option<&Twin> {
        let own = self.step.blocks.iter().any(|block| block.append_times.is_some());
        self.step.twin.as_ref().filter(|_| !own)
    }

    /// True where the twin's requests took so much more or less time than the step's that its append times are not the step's.
    fn met_another_path(&self, twin: &Twin) -> bool {
        let times = self.rtt.filter(|rtt| *rtt > 0.0).zip(twin.rtt_mean_ns.filter(|rtt| *rtt > 0.0));
        times.is_some_and(|(step, twin)| step.max(twin) > TWIN_RATIO_MAX * step.min(twin))
    }

    /// The produce stage of the messages whose append times are known.
    fn produce_before_append(&self) -> Option<Banded> {
        match self.twin() {
            Some(twin) => twin.produce_mean_ns.map(Banded::exactly),
            None => self.produce,
        }
    }

    fn commit_stage(&self) -> Stage {
        if self.step.effective.replication == Some(1) {
            return known(
                StageName::Commit,
                Banded::exactly(0.0),
                Fidelity::Derived,
                "one replica: appended is committed",
            );
        }
        let all = matches!(self.step.durability.acks.as_deref(), Some("all" | "-1"));
        let remote = self.requests_of(|times| &times.produce).and_then(|times| times.remote);
        if let Some(remote) = remote.filter(|_| all) {
            return known(
                StageName::Commit,
                banded(remote).within(self.service),
                Fidelity::Metrics,
                "brokers' remote time of produce requests",
            );
        }
        if let Some(FollowerWait { mean_ns: mean, low_ns: low, high_ns: high, samples, .. }) =
            FollowerWait::of(&self.step.blocks)
        {
            return known(
                StageName::Commit,
                Banded { mean, low, high }.within(self.service),
                Fidelity::Metrics,
                &format!(
                    "records that waited for followers, asked of the leaders {samples} times, over the rate (Little's law)"
                ),
            );
        }
        match self.round_trip().filter(|_| all) {
            Some(round_trip) => within_round_trip(StageName::Commit, round_trip),
            None if all => absent(StageName::Commit, "the brokers' own times are not at hand"),
            None => absent(StageName::Commit, "only acks=all lets the brokers time the replication"),
        }
    }

    fn catch_up_stage(&self) -> Stage {
        let at_most = weighted_mean(&self.step.blocks, |block| block.catch_up_at_most_ns);
        match at_most {
            Some(at_most) if at_most > 0.0 => Stage {
                low_ns: Some(0.0),
                high_ns: Some(at_most.min(self.service)),
                ..absent(
                    StageName::CatchUp,
                    "at most the time for which the record before was still to come: a consumer that reads on arrival is not behind",
                )
            },
            Some(_) => known(
                StageName::CatchUp,
                Banded::exactly(0.0),
                Fidelity::Measured,
                "the record before had always come when a record was sent",
            ),
            None => absent(StageName::CatchUp, "nothing was received"),
        }
    }

    fn fetch_stage(&self) -> Stage {
        let times = self.requests_of(|times| &times.fetch_consumer);
        let parts = times.and_then(|times| {
            Some(banded(times.local?).plus(banded(times.response_queue?)).plus(banded(times.response_send?)))
        });
        match parts {
            Some(parts) => known(
                StageName::Fetch,
                parts.within(self.service),
                Fidelity::Metrics,
                "brokers' local, response queue and send times of fetches; the network is not in it",
            ),
            None => absent(StageName::Fetch, "the brokers' own times are not at hand"),
        }
    }

    fn requests_of(&self, kind: fn(&RequestTimes) -> &RequestStages) -> Option<RequestStages> {
        self.requests.as_ref().map(|times| kind(times).clone())
    }
}

/// Actual send to append, from the broker's append times of all blocks, or else of the twin.
fn send_to_append(step: &StepResult, service: f64, same_clock: Option<bool>) -> Option<Banded> {
    let mut times: Vec<_> = step.blocks.iter().filter_map(|block| block.append_times).collect();
    if times.is_empty() {
        times.extend(step.twin.as_ref().map(|twin| twin.append_times));
    }
    let samples: u64 = times.iter().map(|times| times.samples).sum();
    if samples == 0 {
        return None;
    }
    let weighted = |figure: fn(&plumb_model::observation::AppendTimes) -> f64| {
        times.iter().map(|times| figure(times) * times.samples as f64).sum::<f64>() / samples as f64
    };
    let floor = weighted(|times| times.floor_minus_sent_mean_ns);
    // On one host there is one clock, unless the bounds say otherwise (a tunnel ends here, the broker is elsewhere); on
    // others the broker's is ahead by something between the bounds.
    let low = weighted(|times| times.clock_offset_low_ns as f64);
    let high = weighted(|times| times.clock_offset_high_ns as f64);
    let (ahead_low, ahead_high) = match same_clock {
        Some(true) if low <= 0.0 && 0.0 <= high => (0.0, 0.0),
        _ => (low, high),
    };
    let low = floor - ahead_high;
    let high = floor + APPEND_FLOOR_NS - ahead_low;
    Some(Banded { mean: (low + high) / 2.0, low, high }.within(service))
}

fn merged_request_times(blocks: &[BlockResult]) -> Option<RequestTimes> {
    RequestTimes::merged(&blocks.iter().filter_map(|block| block.request_times.as_ref()).collect::<Vec<_>>())
}

fn weighted_mean(blocks: &[BlockResult], figure: fn(&BlockResult) -> Option<f64>) -> Option<f64> {
    let parts = blocks.iter().filter_map(|block| Some((figure(block)?, block.counts.received as f64)));
    let (sum, weight) =
        parts.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    (weight > 0.0).then(|| sum / weight)
}

fn banded(mean: WindowMean) -> Banded {
    Banded { mean: mean.mean_ns, low: mean.low_ns, high: mean.high_ns }
}

/// The remainder of the whole after the known stages; negative where they overlap.
fn unexplained(whole: f64, stages: &[Stage], step: &StepResult) -> Stage {
    let sum = |figure: fn(&Stage) -> Option<f64>| stages.iter().filter_map(figure).sum::<f64>();
    let means = sum(|stage| stage.mean_ns);
    let lows = sum(|stage| stage.mean_ns.and(stage.low_ns));
    let highs = sum(|stage| stage.mean_ns.and(stage.high_ns));
    let mean = whole - means;
    // A negative remainder is shown when the figures themselves overlap, not because their bands are wide.
    let rest = Banded { mean, low: (whole - highs).max(mean.min(0.0)), high: whole - lows };
    let source = match divided(whole, mean, stages, step) {
        Some(divided) => format!("the end-to-end mean minus the stages above; {divided}"),
        None => "the end-to-end mean minus the stages above".to_owned(),
    };
    known(StageName::Unexplained, rest, Fidelity::Derived, &source)
}

/// A remainder that is a larger part of the whole than this is divided as far as the client's own stamps can, and says what would
/// divide it further (ours).
const REST_SHARE_MAX: f64 = 0.20;

/// A part of a remainder that is smaller than this share of it is not told as a time (ours).
const PART_MIN: f64 = 0.01;

/// From this multiple of the whole on, acknowledgements came after the messages: how long they took is no part of it (ours).
const ACKNOWLEDGED_LATE: f64 = 1.2;

/// A sentence that divides a large remainder into the parts before and after the acknowledgement, where stages in between are not
/// known.
fn divided(whole: f64, rest: f64, stages: &[Stage], step: &StepResult) -> Option<String> {
    let confirmed = step.durability.acks.as_deref() != Some("0");
    // Neither metrics nor append times would tell how long a consumer was behind.
    let told_elsewhere = |stage: &&Stage| stage.stage != StageName::CatchUp;
    let unknown = stages.iter().filter(told_elsewhere).any(|stage| stage.mean_ns.is_none());
    if !confirmed || !unknown || rest < REST_SHARE_MAX * whole {
        return None;
    }
    let acknowledged = step.latency.acknowledge_service.mean_ns?;
    let elsewhere = "the brokers' request metrics, or a topic with append times \
                     (message.timestamp.type=LogAppendTime), would tell where";
    if acknowledged > ACKNOWLEDGED_LATE * whole {
        let later = time(acknowledged - whole);
        return Some(format!(
            "acknowledgements came {later} later than the messages in the mean, so that they divide nothing; {elsewhere}"
        ));
    }
    let before = [StageName::Produce, StageName::Publish, StageName::Commit];
    let known = stages.iter().filter(|stage| before.contains(&stage.stage)).filter_map(|stage| stage.mean_ns);
    let until = (acknowledged - known.sum::<f64>()).clamp(0.0, rest);
    let after = rest - until;
    let (some_until, some_after) = (until >= PART_MIN * rest, after >= PART_MIN * rest);
    let trips = match step.producer_statistics.rtt_mean_ns {
        Some(rtt) if some_until => format!(" (round trips of requests took {} in the mean)", time(rtt)),
        _ => String::new(),
    };
    let nearly = if until.min(after) < 1.0 { "all" } else { "nearly all" };
    let parts = match (some_until, some_after) {
        (true, true) => {
            format!(
                "{} of it were until the acknowledgement{trips} and {} after it",
                time(until),
                time(after)
            )
        }
        (true, false) => format!("{nearly} of it was until the acknowledgement{trips}"),
        (false, _) => format!("{nearly} of it was after the acknowledgement"),
    };
    Some(format!("by the client's own stamps {parts}; {elsewhere}"))
}

fn known(stage: StageName, figure: Banded, fidelity: Fidelity, source: &str) -> Stage {
    Stage {
        stage,
        mean_ns: Some(figure.mean),
        low_ns: Some(figure.low),
        high_ns: Some(figure.high),
        fidelity: Some(fidelity),
        source: source.to_owned(),
    }
}

/// A stage of which only the round trip that holds it is known.
fn within_round_trip(stage: StageName, round_trip: Banded) -> Stage {
    Stage {
        low_ns: Some(0.0),
        high_ns: Some(round_trip.high),
        ..absent(stage, "somewhere in the round trip; the brokers' own times are not at hand")
    }
}

fn absent(stage: StageName, reason: &str) -> Stage {
    Stage { stage, mean_ns: None, low_ns: None, high_ns: None, fidelity: None, source: reason.to_owned() }
}

#[cfg(test)]
mod tests;
