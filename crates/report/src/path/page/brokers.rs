//! Brokers and clients by their own figures: the stages of each kind of request, and what else they told.

use crate::paint::printable;
use plumb_model::facts::WindowMean;
use plumb_model::figure::{
    ABSENT, bytes, bytes_per_s, count, messages_per_s, milliseconds, per_s, rate, rough_share, short, time,
};
use plumb_model::observed::{BrokerWindow, ClientWindow, ObservedPath};

/// One broker.
pub(super) struct BrokerView {
    pub(super) name: String,
    /// Requests a second and mean times in milliseconds, a row for each kind.
    pub(super) requests: Vec<Vec<String>>,
    pub(super) facts: Vec<Fact>,
    pub(super) notes: Vec<String>,
}

/// A figure with its name.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The clients, a row each.
pub(super) struct ClientTable {
    pub(super) rows: Vec<Vec<String>>,
}

/// Kinds of requests that are shown, in this order; others follow by their number.
const FIRST: [&str; 3] = ["Produce", "FetchConsumer", "FetchFollower"];
/// Kinds that are shown at most.
const KINDS_MOST: usize = 8;

pub(super) fn view(broker: &BrokerWindow) -> BrokerView {
    let id = broker.id.map(|id| format!("{id}, ")).unwrap_or_default();
    let mut notes = Vec::new();
    if broker.restarted {
        notes.push("It started anew within the window: its rates are absent.".to_owned());
    }
    if !broker.missing.is_empty() {
        notes.push(printable(&format!("Its page does not have: {}.", broker.missing.join(", "))));
    }
    BrokerView {
        name: printable(&format!("{id}{}", broker.source)),
        requests: requests(broker),
        facts: facts(broker),
        notes,
    }
}

fn requests(broker: &BrokerWindow) -> Vec<Vec<String>> {
    let mut kinds: Vec<&String> =
        broker.requests.keys().filter(|kind| !FIRST.contains(&kind.as_str())).collect();
    let per_s_of = |kind: &&String| broker.requests[*kind].per_s.unwrap_or(0.0);
    kinds.sort_by(|a, b| per_s_of(b).total_cmp(&per_s_of(a)));
    let first = FIRST.iter().filter_map(|kind| broker.requests.get_key_value(*kind)).map(|(kind, _)| kind);
    let mean =
        |mean: Option<WindowMean>| mean.map_or_else(|| ABSENT.to_owned(), |mean| milliseconds(mean.mean_ns));
    let row = |kind: &String| {
        let requests = &broker.requests[kind];
        let stages = &requests.stages;
        let seen = stages.total.is_some() || requests.per_s.is_some_and(|per_s| per_s > 0.0);
        seen.then(|| {
            vec![
                printable(kind),
                requests.per_s.map_or_else(|| ABSENT.to_owned(), rate),
                mean(stages.request_queue),
                mean(stages.local),
                mean(stages.remote),
                mean(stages.response_queue),
                mean(stages.response_send),
                mean(stages.throttle),
                mean(stages.total),
            ]
        })
    };
    first.chain(kinds).filter_map(row).take(KINDS_MOST).collect()
}

fn facts(broker: &BrokerWindow) -> Vec<Fact> {
    let idle = broker.network_processors.iter().filter_map(|thread| thread.idle_share);
    let idle =
        idle.fold(None, |least: Option<f64>, share| Some(least.map_or(share, |least| least.min(share))));
    let fact = |name: &'static str, figure: Option<f64>, written: fn(f64) -> String| {
        figure.filter(|figure| figure.is_finite()).map(|figure| Fact { name, value: written(figure) })
    };
    let known = [
        fact("bytes in", broker.bytes_in_per_s, bytes_per_s),
        fact("bytes out", broker.bytes_out_per_s, bytes_per_s),
        fact("messages in", broker.messages_in_per_s, messages_per_s),
        fact("replication in", broker.replication_bytes_in_per_s, bytes_per_s),
        fact("replication out", broker.replication_bytes_out_per_s, bytes_per_s),
        fact("least idle network thread, idle", idle, rough_share),
        fact("request handlers, idle", broker.handlers.idle_share, rough_share),
        fact("request queue at the end", broker.request_queue_size, short),
        fact("response queue at the end", broker.response_queue_size, short),
        fact("connections", broker.connections, short),
        fact("new connections", broker.connections_per_s, per_s),
        fact("partitions led", broker.leaders, short),
        fact("under-replicated partitions", broker.under_replicated, short),
        fact("replicas out of sync", broker.isr_shrinks_per_s, per_s),
        fact("largest lag of its fetchers, messages", broker.follower_max_lag, short),
        fact("produce requests waiting for followers", broker.produce_purgatory, short),
        fact("failed requests", broker.failed_requests_per_s, per_s),
        fact("messages converted", broker.conversions_per_s, per_s),
        fact("log flushes", broker.log_flushes_per_s, per_s),
        fact("mean log flush", broker.log_flush_mean_ns, time),
        fact("mean throttle time", broker.throttle_mean_ns, time),
        fact("log cleaner", broker.cleaner_bytes_per_s, bytes_per_s),
        fact("time in collections", broker.gc_time_share, rough_share),
    ];
    known.into_iter().flatten().collect()
}

/// None where no client told anything.
pub(super) fn clients(path: &ObservedPath) -> Option<ClientTable> {
    (!path.clients.is_empty()).then(|| ClientTable { rows: path.clients.iter().map(client).collect() })
}

fn client(client: &ClientWindow) -> Vec<String> {
    let ms = |ns: Option<f64>| ns.map_or_else(|| ABSENT.to_owned(), milliseconds);
    let figure = |figure: Option<f64>, written: fn(f64) -> String| {
        figure.filter(|figure| figure.is_finite()).map_or_else(|| ABSENT.to_owned(), written)
    };
    vec![
        printable(&format!("{} ({})", client.name, if client.is_producer { "producer" } else { "consumer" })),
        figure(client.passed_on_per_s(), rate),
        figure(client.bytes_per_s, bytes_per_s),
        figure(client.batch_bytes_mean, bytes),
        ms(client.queue_mean_ns),
        ms(client.outbuf_mean_ns),
        ms(client.rtt_mean_ns),
        ms(client.acknowledge_mean_ns),
        ms(client.end_to_end_mean_ns),
        client.throttled.map_or_else(|| ABSENT.to_owned(), count),
    ]
}
