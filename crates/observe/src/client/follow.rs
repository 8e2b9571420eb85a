//! One librdkafka client over a window, out of its emissions.
//!
//! Counters are the difference between the first and the last emission of the window. The values that an emission carries are
//! of the time since the one before, so those of the first began before the window and are left out; those of the others are put together
//! by sum and count, which is exact. Nothing else is: percentiles are rolling and cut off, and only say how many round trips of one emission lie in a range.

use super::emission::{Broker, Emission, Kind, Partition, Topic, Window};
use plumb_model::figure::whole;
use plumb_model::observed::{ClientKind, ClientWindow};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// A client's name is cut at so many characters.
pub(super) const NAME_MOST: usize = 200;
/// Emissions from which a queue that grew in each of them grows: three intervals (ours).
const GROWING_LEAST: u32 = 4;
/// Batches of the average partition from which the partitions of a topic can be held against each other: of fewer the largest is
/// far from the mean by chance alone (ours).
const BATCHES_LEAST: f64 = 10.0;
/// Share of a producer's answers that must be of Produce requests for its round trips to be theirs (ours).
const PRODUCE_LEAST: f64 = 0.9;

/// Round trips in microseconds that are a delayed acknowledgement of TCP (40 ms at least on Linux) and little more.
const NEAR_40_MS: RangeInclusive<f64> = 35e3..=50e3;

const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;

/// A client while its emissions come.
#[derive(Debug)]
pub(super) struct Follower {
    first: Reading,
    last: Reading,
    pub(super) emissions: u32,
    /// A counter went back: another client under the same name.
    pub(super) went_back: bool,
    queue: Sum,
    outbuf: Sum,
    rtt: Sum,
    near_40_ms: Near,
    throttle_ms: Sum,
    out_of_range: f64,
    topics: HashMap<String, Batches>,
    queue_share_max: Option<f64>,
    in_flight_max: Option<f64>,
    /// Whether the reply queue grew with each emission so far.
    replies_grow: bool,
    /// Of each reading that tells it.
    held_or_done: Vec<HeldOrDone>,
    /// Of the partitions that the last emission has: a consumer may get them within the window.
    first_lags: HashMap<PartitionName, FirstLag>,
}

/// Round trips that are known to take about 40 ms, of all whose distribution is known.
#[derive(Debug, Clone, Copy, Default)]
struct Near {
    within: f64,
    values: f64,
}

/// What a close look at a client gives.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) window: ClientWindow,
    /// Figures that are absent though the client wrote them, with the reason in words.
    pub(super) doubts: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Batches {
    messages: Sum,
    bytes: Sum,
}

/// Values of several windows.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    count: f64,
    min: Option<f64>,
    max: Option<f64>,
    /// Some window had a value of 0 among others.
    with_zeros: bool,
}

impl Sum {
    fn add(&mut self, window: &Window) {
        let sum = window.sum.unwrap_or(window.avg * window.cnt);
        if !(window.cnt > 0.0 && sum >= 0.0) {
            return;
        }
        self.sum += sum;
        self.count += window.cnt;
        self.min = Some(self.min.map_or(window.min, |min| min.min(window.min)));
        self.max = Some(self.max.map_or(window.max, |max| max.max(window.max)));
        self.with_zeros |= window.min <= 0.0;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count).filter(|mean| mean.is_finite())
    }
}

/// Counters and gauges of one emission.
#[derive(Debug, Default)]
struct Reading {
    ts_us: f64,
    messages: Option<f64>,
    bytes: Option<f64>,
    retries: Option<f64>,
    timeouts: Option<f64>,
    errors: Option<f64>,
    connects: Option<f64>,
    rebalances: Option<f64>,
    commits: Option<f64>,
    requests: Option<Requests>,
    replies: Option<f64>,
    fetch_queue: Option<f64>,
    stable_offset_lag: Option<f64>,
    partitions: HashMap<PartitionName, PartitionReading>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    produce: f64,
    others: f64,
    answers: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct PartitionName {
    topic: String,
    number: i64,
}

/// Messages that the sending thread holds or whose reports wait, and those that were sent until then.
#[derive(Debug, Clone, Copy)]
struct HeldOrDone {
    messages: f64,
    sent: f64,
}

/// The lag of a partition when it was first known.
#[derive(Debug, Clone, Copy)]
struct FirstLag {
    ts_us: f64,
    messages: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct PartitionReading {
    messages: Option<f64>,
    lag: Option<f64>,
    /// A consumer takes from it.
    active: bool,
}

impl Follower {
    pub(super) fn new(emission: &Emission) -> Self {
        let mut follower = Follower {
            first: Reading::of(emission),
            last: Reading::of(emission),
            emissions: 1,
            went_back: false,
            queue: Sum::default(),
            outbuf: Sum::default(),
            rtt: Sum::default(),
            near_40_ms: Near::default(),
            throttle_ms: Sum::default(),
            out_of_range: 0.0,
            topics: HashMap::new(),
            queue_share_max: None,
            in_flight_max: None,
            replies_grow: true,
            held_or_done: Vec::new(),
            first_lags: HashMap::new(),
        };
        follower.take_gauges(emission);
        follower
    }

    /// Takes the next emission. One that was taken already is passed over; one whose clock went back without an age that would tell the
    /// clients apart is of another client.
    pub(super) fn take(&mut self, emission: &Emission) {
        if emission.ts <= self.last.ts_us {
            self.went_back |= emission.age.is_none() && emission.ts < self.last.ts_us;
            return;
        }
        let reading = Reading::of(emission);
        self.went_back |= reading.went_back_from(&self.last);
        self.replies_grow &=
            matches!((self.last.replies, reading.replies), (Some(before), Some(now)) if now > before);
        self.emissions += 1;
        self.last = reading;
        self.take_gauges(emission);
        for broker in emission.brokers.values() {
            self.queue.add(&broker.int_latency);
            self.outbuf.add(&broker.outbuf_latency);
            self.rtt.add(&broker.rtt);
            if let Some(share) = broker.rtt.least_share_in(&NEAR_40_MS) {
                self.near_40_ms.within += share * broker.rtt.cnt;
                self.near_40_ms.values += broker.rtt.cnt;
            }
            self.throttle_ms.add(&broker.throttle);
            for window in [&broker.int_latency, &broker.outbuf_latency, &broker.rtt] {
                self.out_of_range += window.outofrange.max(0.0);
            }
        }
        for (name, topic) in &emission.topics {
            let batches = self.topics.entry(name.clone()).or_default();
            batches.messages.add(&topic.batchcnt);
            batches.bytes.add(&topic.batchsize);
        }
    }

    /// Partitions that are kept in memory.
    pub(super) fn partitions(&self) -> usize {
        self.last.partitions.len()
    }

    fn take_gauges(&mut self, emission: &Emission) {
        let known = emission.held_or_done().zip(emission.txmsgs);
        self.held_or_done.extend(known.map(|(messages, sent)| HeldOrDone { messages, sent }));
        let now = &self.last.partitions;
        self.first_lags.retain(|name, _| now.get(name).is_some_and(|partition| partition.lag.is_some()));
        for (name, partition) in now {
            let Some(messages) = partition.lag else { continue };
            let first = FirstLag { ts_us: self.last.ts_us, messages };
            self.first_lags.entry(name.clone()).or_insert(first);
        }
        let of = |now: Option<f64>, most: Option<f64>| share(now?, most?);
        let full =
            most([of(emission.msg_cnt, emission.msg_max), of(emission.msg_size, emission.msg_size_max)]);
        self.queue_share_max = most([self.queue_share_max, full]);
        let waiting = emission.brokers.values().filter(|broker| broker.nodeid >= 0.0);
        self.in_flight_max =
            waiting.fold(self.in_flight_max, |so_far, broker| most([so_far, broker.waitresp_cnt]));
    }

    /// The client over the time between its first and its last emission.
    pub(super) fn close(self, source: &str, name: &str, kind: Kind) -> Followed {
        let mut doubts = Vec::new();
        let is_producer = kind == Kind::Producer;
        let mut window = ClientWindow {
            source: source.to_owned(),
            name: name.chars().take(NAME_MOST).collect(),
            kind: ClientKind::Librdkafka,
            is_producer,
            reply_queue: self.last.replies.filter(|_| is_producer),
            lag: self.last.lag(),
            ..ClientWindow::default()
        };
        if is_producer {
            (window.queue_share_max, window.in_flight_max) = (self.queue_share_max, self.in_flight_max);
        } else {
            window.fetch_queue = self.last.fetch_queue;
            window.stable_offset_lag = self.last.stable_offset_lag;
        }
        if self.emissions < 2 {
            doubts.push(
                "one emission came within the window, so that there are no rates and no means: the time that its values are of began before"
                    .to_owned(),
            );
            return Followed { window, doubts };
        }
        window.window_ns = ((self.last.ts_us - self.first.ts_us) * NS_PER_US) as u64;
        if is_producer && self.last.replies.is_some() {
            window.reply_queue_grows = match (self.replies_grow, self.emissions) {
                (true, 0..GROWING_LEAST) => None,
                (grow, _) => Some(grow),
            };
        }
        if self.went_back {
            doubts.push(
                "its counters went back within the window: it started anew, and has no rates and no means"
                    .to_owned(),
            );
            return Followed { window, doubts };
        }
        self.rates(&mut window);
        self.means(&mut window, &mut doubts);
        Followed { window, doubts }
    }

    fn rates(&self, window: &mut ClientWindow) {
        let elapsed_s = (self.last.ts_us - self.first.ts_us) / 1e6;
        let grown = |of: fn(&Reading) -> Option<f64>| grown(of(&self.first), of(&self.last));
        let rate = |of: fn(&Reading) -> Option<f64>| grown(of).map(|grown| grown / elapsed_s);
        window.messages_per_s = rate(|reading| reading.messages);
        window.bytes_per_s = rate(|reading| reading.bytes);
        let messages = grown(|reading| reading.messages).filter(|messages| *messages > 0.0);
        window.record_bytes_mean =
            grown(|reading| reading.bytes).zip(messages).map(|(bytes, messages)| bytes / messages);
        window.retries_per_s = rate(|reading| reading.retries);
        window.timeouts_per_s = rate(|reading| reading.timeouts);
        window.errors_per_s = rate(|reading| reading.errors);
        window.connects_per_s = rate(|reading| reading.connects);
        window.commits_per_s = rate(|reading| reading.commits);
        // Each is counted twice, when partitions are taken away and when they are given.
        window.rebalances = grown(|reading| reading.rebalances).map(|changes| (changes / 2.0).ceil() as u64);
        window.lag_growth_per_s = self.lag_growth_per_s();
        window.taken_per_s =
            self.taken().filter(|_| !window.is_producer).map(|messages| messages / elapsed_s);
        window.partition_skew = self.skew(window.is_producer);
    }

    /// Messages whose delivery report waits, on average, at least: of those that the client counts, what the sending thread may hold is no more
    /// than it sends in the longest time that a message waited for it. That time is known of readings after which so many were sent; absent where
    /// these are less than half of all.
    fn reports_waiting(&self) -> Option<f64> {
        let elapsed_us = self.last.ts_us - self.first.ts_us;
        let held = grown(self.first.messages, self.last.messages)? / elapsed_us * self.queue.max?;
        let sent_by_now = self.last.messages?;
        let went_out =
            self.held_or_done.iter().filter(|reading| sent_by_now - reading.sent >= reading.messages);
        let known: Vec<f64> = went_out.map(|reading| reading.messages).collect();
        let enough = !known.is_empty() && 2 * known.len() >= self.held_or_done.len();
        enough.then(|| (known.iter().sum::<f64>() / known.len() as f64 - held).max(0.0))
    }

    /// Growth of the lag, of each partition since it was first known: one that comes with a lag is no growth.
    fn lag_growth_per_s(&self) -> Option<f64> {
        sum(self.last.partitions.iter().map(|(name, now)| {
            let first = self.first_lags.get(name).filter(|first| first.ts_us < self.last.ts_us)?;
            Some((now.lag? - first.messages) / (self.last.ts_us - first.ts_us) * 1e6)
        }))
    }

    /// Messages that the application took: those that came, less those that have come to wait for it.
    fn taken(&self) -> Option<f64> {
        // For a consumer that had no partition yet nothing waited.
        let had_none = !self.first.partitions.values().any(|partition| partition.active);
        let waited = self.first.fetch_queue.or(had_none.then_some(0.0))?;
        let waits = self.last.fetch_queue? - waited;
        Some((grown(self.first.messages, self.last.messages)? - waits).max(0.0))
    }

    fn means(&self, window: &mut ClientWindow, doubts: &mut Vec<String>) {
        let throttled = self.throttle_ms.sum > 0.0;
        window.throttle_mean_ns =
            self.throttle_ms.mean().filter(|_| throttled).map(|mean_ms| mean_ms * NS_PER_MS);
        // Earlier versions count answers without a throttle time as well.
        window.throttled = match (throttled, self.throttle_ms.with_zeros) {
            (false, _) => Some(0),
            (true, false) => Some(self.throttle_ms.count as u64),
            (true, true) => None,
        };
        window.out_of_range = Some(self.out_of_range as u64);
        if !window.is_producer {
            // A consumer's round trips are its waits for records, and its batches are what a fetch brought of a partition.
            return;
        }
        window.reports_waiting = self.reports_waiting();
        window.queue_mean_ns = self.queue.mean().map(|mean_us| mean_us * NS_PER_US);
        window.outbuf_mean_ns = self.outbuf.mean().map(|mean_us| mean_us * NS_PER_US);
        self.round_trips(window, doubts);
        let mut batches = Batches::default();
        for topic in self.topics.values() {
            batches.messages.sum += topic.messages.sum;
            batches.messages.count += topic.messages.count;
            batches.bytes.sum += topic.bytes.sum;
            batches.bytes.count += topic.bytes.count;
        }
        window.batch_messages_mean = batches.messages.mean();
        window.batch_bytes_mean = batches.bytes.mean();
        // Bytes as sent, compressed and with what frames them. By the counted messages, because an emission may have been missed.
        if let (Some(per_s), Some(messages), Some(bytes)) = (
            window.messages_per_s,
            window.batch_messages_mean.filter(|messages| *messages > 0.0),
            window.batch_bytes_mean,
        ) {
            window.bytes_per_s = Some(per_s * bytes / messages);
        }
    }

    /// Round trips are of all kinds of requests together: they are those of Produce requests where nearly all answers are.
    fn round_trips(&self, window: &mut ClientWindow, doubts: &mut Vec<String>) {
        window.rtt_min_ns = self.rtt.min.map(|min_us| min_us * NS_PER_US);
        if let (Some(before), Some(after)) = (self.first.requests, self.last.requests) {
            let answers = after.answers - before.answers;
            let of_others = (after.others - before.others).min(answers);
            let share = (answers - of_others) / answers;
            if answers > 0.0 && share < PRODUCE_LEAST {
                if after.produce > before.produce {
                    doubts.push(format!(
                        "its round trips are mostly of other requests than Produce: {} of {} answers",
                        whole(of_others),
                        whole(answers)
                    ));
                }
                return;
            }
        }
        window.rtt_mean_ns = self.rtt.mean().map(|mean_us| mean_us * NS_PER_US);
        window.rtt_max_ns = self.rtt.max.map(|max_us| max_us * NS_PER_US);
        window.rtt_near_40_ms_share = share(self.near_40_ms.within, self.near_40_ms.values);
    }

    /// Of the topic with most messages: its largest partition over the mean of its partitions.
    fn skew(&self, is_producer: bool) -> Option<f64> {
        let mut topics: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (name, after) in &self.last.partitions {
            let before = self.first.partitions.get(name).and_then(|partition| partition.messages);
            let messages = grown(before.or(Some(0.0)), after.messages)?;
            if is_producer || after.active {
                topics.entry(&name.topic).or_default().push(messages);
            }
        }
        let (topic, partitions) = topics
            .into_iter()
            .max_by(|a, b| total(&a.1).total_cmp(&total(&b.1)))
            .filter(|topic| topic.1.len() > 1)?;
        let batches = self.topics.get(topic)?.messages.count;
        let mean = total(&partitions) / partitions.len() as f64;
        let enough = batches >= BATCHES_LEAST * partitions.len() as f64 && mean > 0.0;
        enough.then(|| partitions.iter().copied().fold(0.0, f64::max) / mean)
    }
}

fn total(values: &[f64]) -> f64 {
    values.iter().sum()
}

impl Reading {
    fn of(emission: &Emission) -> Self {
        let is_producer = emission.kind == Kind::Producer;
        let brokers = || emission.brokers.values().filter(|broker| broker.nodeid >= 0.0);
        let counted = |of: fn(&Broker) -> Option<f64>| sum(brokers().map(of));
        let partitions: HashMap<PartitionName, PartitionReading> = emission
            .topics
            .iter()
            .flat_map(|(topic, partitions)| PartitionReading::all_of(topic, partitions, is_producer))
            .collect();
        Reading {
            ts_us: emission.ts,
            messages: if is_producer { emission.txmsgs } else { emission.rxmsgs },
            bytes: if is_producer { emission.txmsg_bytes } else { emission.rxmsg_bytes },
            retries: counted(|broker| broker.txretries),
            timeouts: counted(|broker| broker.req_timeouts),
            errors: sum([counted(|broker| broker.txerrs), counted(|broker| broker.rxerrs)].into_iter()),
            // Entries of bootstrap.servers connect on their own account.
            connects: counted(|broker| broker.connects),
            rebalances: emission.cgrp.as_ref().and_then(|group| group.rebalance_cnt),
            commits: commits(emission).filter(|_| !is_producer),
            requests: Requests::of(emission),
            replies: emission.replyq,
            fetch_queue: fetch_queue(emission),
            stable_offset_lag: stable_offset_lag(emission),
            partitions,
        }
    }

    fn went_back_from(&self, before: &Reading) -> bool {
        let went_back = |of: fn(&Reading) -> Option<f64>| {
            of(self).zip(of(before)).is_some_and(|(now, before)| now < before)
        };
        went_back(|reading| reading.messages) || went_back(|reading| reading.bytes)
    }

    /// Messages behind, of the partitions whose lag is known.
    fn lag(&self) -> Option<f64> {
        sum(self.partitions.values().map(|partition| partition.lag))
    }
}

impl Requests {
    fn of(emission: &Emission) -> Option<Self> {
        let mut requests = Requests::default();
        for broker in emission.brokers.values() {
            let produce = broker.req.as_ref()?.get("Produce").copied().unwrap_or(0.0);
            requests.produce += produce;
            requests.others += broker.req.as_ref()?.values().sum::<f64>() - produce;
            requests.answers += broker.rx?;
        }
        Some(requests)
    }
}

impl PartitionReading {
    fn all_of(
        name: &str,
        topic: &Topic,
        is_producer: bool,
    ) -> impl Iterator<Item = (PartitionName, PartitionReading)> {
        topic.partitions.values().filter_map(move |partition| {
            let number = partition.partition.filter(|number| *number >= 0.0)? as i64;
            let messages = if is_producer { partition.txmsgs } else { partition.rxmsgs };
            let active = is_active(partition);
            // Behind the application's own position where it is told, else behind what is committed.
            let lag = [partition.consumer_lag_stored, partition.consumer_lag]
                .into_iter()
                .flatten()
                .find(|lag| *lag >= 0.0);
            let lag = lag.filter(|_| active && !is_producer);
            Some((
                PartitionName { topic: name.to_owned(), number },
                PartitionReading { messages, lag, active },
            ))
        })
    }
}

fn is_active(partition: &Partition) -> bool {
    partition.fetch_state.as_deref() == Some("active")
}

/// The coordinator is an entry of its own.
fn commits(emission: &Emission) -> Option<f64> {
    sum(emission
        .brokers
        .values()
        .map(|broker| Some(broker.req.as_ref()?.get("OffsetCommit").copied().unwrap_or(0.0))))
}

/// Messages that wait for the application. The partitions of a consumer share one queue unless the application took them apart, and each
/// tells the length of the whole; the reply queue is the same queue then.
fn fetch_queue(emission: &Emission) -> Option<f64> {
    let active = || {
        let partitions = emission.topics.values().flat_map(|topic| topic.partitions.values());
        partitions.filter(|partition| is_active(partition)).filter_map(|partition| partition.fetchq_cnt)
    };
    let largest = most([active().reduce(f64::max)])?;
    let least = active().reduce(f64::min)?;
    let shared = emission.replyq.is_some_and(|replies| replies >= 0.5 * largest) || least >= 0.9 * largest;
    Some(if shared { largest } else { active().sum() })
}

/// Messages between the last stable offset and the high watermark, of the partitions that are taken from.
fn stable_offset_lag(emission: &Emission) -> Option<f64> {
    let partitions = emission.topics.values().flat_map(|topic| topic.partitions.values());
    sum(partitions.filter(|partition| is_active(partition)).map(|partition| {
        let known = |offset: Option<f64>| offset.filter(|offset| *offset >= 0.0);
        Some((known(partition.hi_offset)? - known(partition.ls_offset)?).max(0.0))
    }))
}

/// Growth of a counter; absent where it is not known at both ends, or went back.
fn grown(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some(after? - before?).filter(|grown| *grown >= 0.0 && grown.is_finite())
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part >= 0.0).then(|| (part / whole).min(1.0))
}

fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(|a, b| a + b)
}

fn most<const N: usize>(values: [Option<f64>; N]) -> Option<f64> {
    values.into_iter().flatten().reduce(f64::max)
}
