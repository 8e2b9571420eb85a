//! Where a message waits: the mean time in each stage of the path.
//!
//! Means add up, so the stages of clients and of brokers can be put in one row; percentiles do not, and are not looked at. The
//! broker starts its clock when a request was read in full, decrypted and taken up by a network thread, and holds back the next
//! request of a connection until it has answered the one before (`SocketServer.processCompletedReceives` of Apache Kafka): the
//! time before that is only in the client's round trip, and is the stage `unexplained`.

use super::measure::{count, known, mean, ratio};
use plumb_model::diagnosis::PathStageTime;
use plumb_model::facts::{RequestStages, WindowMean};
use plumb_model::observed::{ClientWindow, ObservedPath};

/// A stage of the path, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    ClientQueue,
    ClientSend,
    Unexplained,
    RequestQueue,
    Local,
    Remote,
    ResponseQueue,
    Send,
    Fetch,
}

/// All of them.
const STAGES: [Stage; 9] = [
    Stage::ClientQueue,
    Stage::ClientSend,
    Stage::Unexplained,
    Stage::RequestQueue,
    Stage::Local,
    Stage::Remote,
    Stage::ResponseQueue,
    Stage::Send,
    Stage::Fetch,
];

/// Those within the broker's whole time of a request.
const BROKER_STAGES: [Stage; 5] =
    [Stage::RequestQueue, Stage::Local, Stage::Remote, Stage::ResponseQueue, Stage::Send];

impl Stage {
    /// Its name in documents.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stage::ClientQueue => "client_queue",
            Stage::ClientSend => "client_send",
            Stage::Unexplained => "unexplained",
            Stage::RequestQueue => "request_queue",
            Stage::Local => "local",
            Stage::Remote => "remote",
            Stage::ResponseQueue => "response_queue",
            Stage::Send => "send",
            Stage::Fetch => "fetch",
        }
    }

    /// It in a sentence: "8 ms ...".
    pub(super) fn words(self) -> &'static str {
        match self {
            Stage::ClientQueue => "in the producers' queue",
            Stage::ClientSend => "between the producers' queue and their sockets",
            Stage::Unexplained => {
                "between client and broker (network, TLS, a busy network thread, or the wait behind an earlier request)"
            }
            Stage::RequestQueue => "in the broker's request queue",
            Stage::Local => "in the append to the leader's log",
            Stage::Remote => "waiting for followers",
            Stage::ResponseQueue => "in the broker's response queue",
            Stage::Send => "sending the answer",
            Stage::Fetch => "between acknowledgement and consumer",
        }
    }
}

/// The mean of one stage.
#[derive(Debug, Clone)]
struct Time {
    stage: Stage,
    /// Absent where it is unknown. Only `fetch` can be below 0: a consumer may have a message before the producer has its answer.
    mean_ns: Option<f64>,
    source: String,
}

/// The means of all stages.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    times: Vec<Time>,
    /// Mean time by which a request was held back by a quota: no stage of the broker's, and left out of `unexplained`.
    pub(super) throttle_ns: Option<f64>,
    /// Mean time of Produce requests in the brokers.
    pub(super) broker_ns: Option<f64>,
    /// Mean round trip at the producers.
    pub(super) rtt_ns: Option<f64>,
}

impl Stages {
    /// The stages of a path.
    pub(super) fn of(path: &ObservedPath) -> Stages {
        let broker_ns = of_broker(path, |stages| stages.total);
        let queue_ns = of_producers(path, |client| client.queue_mean_ns);
        let send_ns = of_producers(path, |client| client.outbuf_mean_ns);
        let rtt_ns = of_producers(path, |client| client.rtt_mean_ns);
        let throttle_ns = throttle_ns(path);
        let mut times = vec![
            of_client(path, Stage::ClientQueue, queue_ns),
            of_client(path, Stage::ClientSend, send_ns),
            unexplained(path, rtt_ns, broker_ns, throttle_ns),
        ];
        times.extend(broker_times(path));
        times.push(fetch(path, [queue_ns, send_ns, rtt_ns]));
        Stages { times, throttle_ns, broker_ns, rtt_ns }
    }

    /// The mean of a stage, from 0 up; absent where it is unknown.
    pub(super) fn mean_ns(&self, stage: Stage) -> Option<f64> {
        known(self.times.iter().find(|time| time.stage == stage)?.mean_ns)
    }

    /// The sum of the known stages and of throttling: what a message waits for in all.
    pub(super) fn sum_ns(&self) -> Option<f64> {
        let stages = self.times.iter().map(|time| time.mean_ns);
        super::measure::sum(stages.chain([self.throttle_ns])).filter(|sum| *sum > 0.0)
    }

    /// The share of stages in what a message waits for, 0 to 1; absent where none of them is known.
    pub(super) fn share(&self, stages: &[Stage]) -> Option<f64> {
        let of_stages = super::measure::sum(stages.iter().map(|stage| self.mean_ns(*stage)));
        super::measure::share(ratio(of_stages, self.sum_ns()))
    }

    /// The share of stages in the time that the brokers take, of those that are the brokers'; absent where it is unknown.
    pub(super) fn share_of_broker(&self, stages: &[Stage]) -> Option<f64> {
        let own = stages.iter().filter(|stage| BROKER_STAGES.contains(stage));
        let of_stages = super::measure::sum(own.map(|stage| self.mean_ns(*stage)));
        super::measure::share(ratio(of_stages, self.broker_ns))
    }

    /// The known stages, longest first.
    pub(super) fn longest(&self) -> Vec<(Stage, f64)> {
        let mut known_ones: Vec<(Stage, f64)> =
            STAGES.iter().filter_map(|stage| Some((*stage, self.mean_ns(*stage)?))).collect();
        known_ones.sort_by(|a, b| b.1.total_cmp(&a.1));
        known_ones
    }

    /// As the document has them: shares are of the sum of the known ones.
    pub(super) fn times(&self) -> Vec<PathStageTime> {
        let sum_ns = super::measure::sum(self.times.iter().map(|time| time.mean_ns));
        let row = |time: &Time| PathStageTime {
            name: time.stage.name().to_owned(),
            mean_ns: time.mean_ns.filter(|mean| mean.is_finite()),
            share: super::measure::share(ratio(time.mean_ns, sum_ns)),
            source: time.source.clone(),
        };
        self.times.iter().map(row).collect()
    }
}

/// Mean over the producers, by their messages a second; where a producer does not tell them, all count the same.
fn of_producers(path: &ObservedPath, figure: impl Fn(&ClientWindow) -> Option<f64>) -> Option<f64> {
    // One that sends nothing tells no wait of a message.
    let sends = |client: &&ClientWindow| client.is_producer && client.messages_per_s != Some(0.0);
    let producers = || path.clients.iter().filter(sends);
    let all_tell = producers().all(|client| known(client.messages_per_s).is_some_and(|per_s| per_s > 0.0));
    let weight = |client: &ClientWindow| if all_tell { client.messages_per_s.unwrap_or(0.0) } else { 1.0 };
    mean(producers().map(|client| (figure(client), weight(client))))
}

/// Mean over the brokers of their Produce requests.
fn of_broker(path: &ObservedPath, of: impl Fn(&RequestStages) -> Option<WindowMean>) -> Option<f64> {
    let kinds = path.brokers.iter().filter_map(|broker| broker.requests.get("Produce"));
    let means = kinds.filter_map(|kind| of(&kind.stages));
    mean(means.map(|window| (Some(window.mean_ns), window.samples as f64)))
}

fn of_client(path: &ObservedPath, stage: Stage, mean_ns: Option<f64>) -> Time {
    let producers = path.clients.iter().filter(|client| client.is_producer).count();
    let source = match (mean_ns, producers) {
        (Some(_), _) => "statistics of the producers, by their messages",
        (None, 0) => "absent: no producer's statistics were read",
        (None, _) => "absent: the producers' statistics do not have it",
    };
    Time { stage, mean_ns, source: source.to_owned() }
}

/// The throttle time of the average request: of those that carry one, times their share.
fn throttle_ns(path: &ObservedPath) -> Option<f64> {
    let producers = path.clients.iter().filter(|client| client.is_producer);
    let of_client = |client: &ClientWindow| {
        let requests =
            known(super::client::requests_per_s(client)).map(|per_s| per_s * client.window_ns as f64 / 1e9);
        let part = ratio(count(client.throttled), requests).unwrap_or(1.0).min(1.0);
        Some(known(client.throttle_mean_ns)? * part)
    };
    let by_clients = mean(producers.map(|client| (of_client(client), 1.0)));
    by_clients.or_else(|| of_broker(path, |stages| stages.throttle)).filter(|throttle| *throttle > 0.0)
}

fn unexplained(
    path: &ObservedPath,
    rtt_ns: Option<f64>,
    broker_ns: Option<f64>,
    throttle_ns: Option<f64>,
) -> Time {
    let time = |mean_ns, source: &str| Time { stage: Stage::Unexplained, mean_ns, source: source.to_owned() };
    match (rtt_ns, broker_ns) {
        (Some(rtt_ns), Some(broker_ns)) => {
            let rest_ns = rtt_ns - broker_ns - throttle_ns.unwrap_or(0.0);
            match rest_ns > 0.0 {
                true => time(
                    Some(rest_ns),
                    "the producers' round trip less the broker's whole time of a Produce request and less throttling",
                ),
                false => time(
                    Some(0.0),
                    "the round trip is not longer than the broker's times, which are rounded to milliseconds",
                ),
            }
        }
        (None, _) if path.clients.iter().any(|client| client.is_producer) => {
            time(None, "absent: the producers' statistics have no round trip")
        }
        (None, _) => time(None, "absent: no producer's statistics were read"),
        (Some(rtt_ns), None) => {
            time(Some(rtt_ns), "the producers' whole round trip: no broker told its part of it")
        }
    }
}

fn broker_times(path: &ObservedPath) -> [Time; 5] {
    let no_brokers = path.brokers.is_empty();
    let time = |stage: Stage, of: fn(&RequestStages) -> Option<WindowMean>| {
        let mean_ns = of_broker(path, of);
        let source = match mean_ns {
            Some(_) => "the brokers' metrics of Produce requests, rounded to milliseconds by the broker",
            None if no_brokers => "absent: no broker's metrics were read",
            None => "absent: no Produce request of the window has this stage",
        };
        Time { stage, mean_ns, source: source.to_owned() }
    };
    [
        time(Stage::RequestQueue, |stages| stages.request_queue),
        time(Stage::Local, |stages| stages.local),
        time(Stage::Remote, |stages| stages.remote),
        time(Stage::ResponseQueue, |stages| stages.response_queue),
        time(Stage::Send, |stages| stages.response_send),
    ]
}

/// From the acknowledgement to the consumer. Without an acknowledgement of its own, the sum of the client's parts stands for it.
fn fetch(path: &ObservedPath, parts_ns: [Option<f64>; 3]) -> Time {
    let end_to_end_ns = mean(path.clients.iter().map(|client| {
        (client.end_to_end_mean_ns, known(client.messages_per_s).filter(|per_s| *per_s > 0.0).unwrap_or(1.0))
    }));
    let acknowledge_ns = of_producers(path, |client| client.acknowledge_mean_ns);
    let of_parts_ns = parts_ns[2].and_then(|_| super::measure::sum(parts_ns.into_iter()));
    let time =
        |mean_ns: Option<f64>, source: &str| Time { stage: Stage::Fetch, mean_ns, source: source.to_owned() };
    match (end_to_end_ns, acknowledge_ns.or(of_parts_ns)) {
        (Some(end_to_end_ns), Some(acknowledge_ns)) if end_to_end_ns < acknowledge_ns => time(
            Some(end_to_end_ns - acknowledge_ns),
            "consumers had the messages before the producers had their acknowledgements",
        ),
        (Some(end_to_end_ns), Some(acknowledge_ns)) => time(
            Some(end_to_end_ns - acknowledge_ns),
            "mean from send to reception less that to the acknowledgement",
        ),
        (None, _) => match (behind_ns(path), held_for_bytes_ns(path)) {
            (Some(behind_ns), _) => {
                time(Some(behind_ns), "the consumers' mean lag over the messages that come a second")
            }
            (None, Some(held_ns)) => time(
                Some(0.5 * held_ns),
                "half of what a consumer's fetch waits in the broker for fetch.min.bytes: a message comes at any moment of it",
            ),
            (None, None) => match wanted_ns(path).filter(|_| fetch_held_ns(path).is_none()) {
                Some(wanted_ns) => time(
                    Some(0.5 * wanted_ns),
                    "half of the time in which fetch.min.bytes come to a consumer at its rate, or of its longest wait",
                ),
                None => time(None, "absent: no client told the time from send to reception"),
            },
        },
        (_, None) => time(None, "absent: no producer told the time to its acknowledgement"),
    }
}

/// Growth of a lag over the messages taken from which it is a backlog, and not what is on the way (ours).
pub(super) const LAG_GROWS: f64 = 0.01;

/// Age of the messages that are read from which a lag is a backlog though it does not grow (ours): six times the usual time between two commits, up to
/// which a consumer that stores its offsets late is behind by its commits alone.
const BEHIND_NS_MIN: f64 = 30e9;

/// Mean age of the messages that an application reads, of the consumer that is farthest behind: its mean lag of the window over the messages that
/// come a second.
fn behind_ns(path: &ObservedPath) -> Option<f64> {
    let consumers = path.clients.iter().filter(|client| !client.is_producer);
    let behind = consumers.map(|client| {
        let (lag, growth, taken) = (known(client.lag)?, client.lag_growth_per_s?, known(client.taken_per_s)?);
        let mean_lag = lag - growth * client.window_ns as f64 / 2e9;
        let age_ns = ratio(Some(mean_lag.max(0.0) * 1e9), Some(taken + growth))?;
        let grows = ratio(Some(growth), client.messages_per_s).is_some_and(|growth| growth >= LAG_GROWS);
        (grows || age_ns >= BEHIND_NS_MIN).then_some(age_ns)
    });
    super::measure::most(behind)
}

/// Wait of a fetch in the broker from which it is no pause between two messages (ours).
pub(super) const HELD_NS_MIN: f64 = 50e6;
/// Appends for each fetch from which the fetch did not return at the first of them (ours).
pub(super) const APPENDS_MIN: f64 = 3.0;

/// Longest wait for bytes of a consumer's fetch where no broker tells it: what its settings and its rate make it, without other partitions' bytes.
fn wanted_ns(path: &ObservedPath) -> Option<f64> {
    let brokers = path.settings.brokers.len().max(path.brokers.len()).max(1) as f64;
    let consumers = path.clients.iter().filter(|client| !client.is_producer);
    let wait = consumers.map(|client| {
        let told = |keys: &[&str]| super::client::setting(client, keys).and_then(super::measure::number);
        let bytes = told(&["fetch.min.bytes"]).filter(|bytes| *bytes > 1.0)?;
        let most_ns = told(&["fetch.max.wait.ms", "fetch.wait.max.ms"]).unwrap_or(500.0) * 1e6;
        Some(ratio(Some(bytes * brokers * 1e9), client.bytes_per_s)?.min(most_ns))
    });
    super::measure::most(wait).filter(|wait_ns| *wait_ns >= HELD_NS_MIN)
}

/// Mean wait of consumers' fetches in the brokers, where a consumer is set to wait for bytes and the fetches do: a fetch that returned at the first
/// append would have one.
fn held_for_bytes_ns(path: &ObservedPath) -> Option<f64> {
    let consumers = path.clients.iter().filter(|client| !client.is_producer);
    let least =
        consumers.filter_map(|client| super::measure::number(client.settings.get("fetch.min.bytes")?));
    let is_set = least.into_iter().any(|bytes| bytes > 1.0);
    fetch_held_ns(path)
        .filter(|held_ns| is_set && *held_ns >= HELD_NS_MIN && appends_of_fetch(path) >= Some(APPENDS_MIN))
}

/// Mean wait of consumers' fetches in the brokers.
pub(super) fn fetch_held_ns(path: &ObservedPath) -> Option<f64> {
    let kinds = path.brokers.iter().filter_map(|broker| broker.requests.get("FetchConsumer"));
    mean(kinds.filter_map(|kind| kind.stages.remote).map(|held| (Some(held.mean_ns), held.samples as f64)))
}

/// Produce requests for each fetch of a consumer.
pub(super) fn appends_of_fetch(path: &ObservedPath) -> Option<f64> {
    let per_s =
        |kind: &str| super::measure::sum(path.brokers.iter().map(|broker| broker.requests.get(kind)?.per_s));
    ratio(per_s("Produce"), per_s("FetchConsumer"))
}
