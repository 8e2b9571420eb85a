//! One emission of librdkafka's statistics (its STATISTICS.md), out of a line of text.
//!
//! Applications write them in many ways: bare, behind a log line's prefix, as a field of a log line that is JSON itself, as an object
//! or as text. Only what a window needs is kept; what an emission does not have is absent.

use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Openings of an object that are tried in a line: those of a prefix come first (ours).
const OPENINGS_MOST: usize = 16;

/// One emission. Times in microseconds unless said otherwise; counters are since the client was made.
#[derive(Debug, Deserialize)]
pub(super) struct Emission {
    pub(super) name: String,
    #[serde(default)]
    pub(super) client_id: String,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    /// The client's monotonic clock.
    pub(super) ts: f64,
    /// Since the client was made; older versions do not have it.
    pub(super) age: Option<f64>,
    pub(super) replyq: Option<f64>,
    pub(super) msg_cnt: Option<f64>,
    pub(super) msg_size: Option<f64>,
    pub(super) msg_max: Option<f64>,
    pub(super) msg_size_max: Option<f64>,
    pub(super) txmsgs: Option<f64>,
    pub(super) txmsg_bytes: Option<f64>,
    pub(super) rxmsgs: Option<f64>,
    pub(super) rxmsg_bytes: Option<f64>,
    pub(super) brokers: HashMap<String, Broker>,
    #[serde(default)]
    pub(super) topics: HashMap<String, Topic>,
    pub(super) cgrp: Option<Group>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Producer,
    Consumer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Broker {
    /// -1 for an entry of `bootstrap.servers`.
    pub(super) nodeid: f64,
    /// Requests that wait for their answer.
    pub(super) waitresp_cnt: Option<f64>,
    pub(super) txerrs: Option<f64>,
    pub(super) rxerrs: Option<f64>,
    pub(super) txretries: Option<f64>,
    pub(super) req_timeouts: Option<f64>,
    pub(super) connects: Option<f64>,
    /// Answers.
    pub(super) rx: Option<f64>,
    /// Requests by their kind; older versions do not have it.
    pub(super) req: Option<HashMap<String, f64>>,
    pub(super) int_latency: Window,
    pub(super) outbuf_latency: Window,
    pub(super) rtt: Window,
    /// Milliseconds.
    pub(super) throttle: Window,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Topic {
    pub(super) batchsize: Window,
    pub(super) batchcnt: Window,
    pub(super) partitions: HashMap<String, Partition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Partition {
    /// -1 for messages that have no partition yet.
    pub(super) partition: Option<f64>,
    /// Messages that came from the application and are not with the sending thread yet, and those in flight. What that thread holds is not told:
    /// `xmit_msgq_cnt` is 0 in every version.
    pub(super) msgq_cnt: Option<f64>,
    pub(super) msgs_inflight: Option<f64>,
    pub(super) fetchq_cnt: Option<f64>,
    pub(super) fetch_state: Option<String>,
    /// -1 where it is not known, as all offsets.
    pub(super) consumer_lag: Option<f64>,
    pub(super) consumer_lag_stored: Option<f64>,
    pub(super) hi_offset: Option<f64>,
    pub(super) ls_offset: Option<f64>,
    pub(super) txmsgs: Option<f64>,
    pub(super) rxmsgs: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Group {
    pub(super) rebalance_cnt: Option<f64>,
}

/// Values since the emission before. Percentiles cannot be put together, and are cut off where values were out of range: they say how many values
/// of this one emission lie in a range, and no more.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) avg: f64,
    pub(super) sum: Option<f64>,
    pub(super) cnt: f64,
    pub(super) outofrange: f64,
    p50: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

impl Window {
    /// Share of its values that is known to lie in a range, 0 to 1: between two percentiles that both do. Absent where there are no values, or
    /// percentiles that hold.
    pub(super) fn least_share_in(&self, range: &RangeInclusive<f64>) -> Option<f64> {
        if self.cnt <= 0.0 || self.outofrange > 0.0 {
            return None;
        }
        let points = [
            (0.0, self.min),
            (0.5, self.p50?),
            (0.75, self.p75?),
            (0.9, self.p90?),
            (0.95, self.p95?),
            (0.99, self.p99?),
            (1.0, self.max),
        ];
        let inside = points.windows(2).filter(|ends| ends.iter().all(|(_, value)| range.contains(value)));
        Some(inside.map(|ends| ends[1].0 - ends[0].0).sum())
    }
}

impl Emission {
    /// Messages that the sending thread holds, and those that are done and whose delivery report the application has not taken: a message is counted
    /// until then. Absent where a version does not count what is in flight.
    pub(super) fn held_or_done(&self) -> Option<f64> {
        let partitions = self.topics.values().flat_map(|topic| topic.partitions.values());
        let elsewhere = partitions.map(|partition| Some(partition.msgq_cnt? + partition.msgs_inflight?));
        Some((self.msg_cnt? - elsewhere.sum::<Option<f64>>()?).max(0.0))
    }

    /// Each emission in a text: one in most lines, several where an array or one object behind another is written.
    pub(super) fn each_in(text: &[u8], mut each: impl FnMut(Emission)) {
        let (mut at, mut tried) = (0, 0);
        while let Some(opening) =
            text[at..].iter().position(|byte| *byte == b'{').filter(|_| tried < OPENINGS_MOST)
        {
            let rest = &text[at + opening..];
            let found = first::<Emission>(rest).or_else(|| {
                let object = first::<Value>(rest)?;
                Some(First { value: within(&object.value)?, bytes: object.bytes })
            });
            match found {
                Some(emission) => {
                    at += opening + emission.bytes;
                    each(emission.value);
                }
                None => {
                    at += opening + 1;
                    tried += 1;
                }
            }
        }
    }
}

/// The client.id of a line that would be an emission but for what is in it: librdkafka writes it between quotation marks as it is
/// (`rd_kafka_stats_emit_all`), so that one with a quotation mark or a backslash makes no JSON. None where it has neither.
pub(super) fn unescaped_client_id(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    // As text within a line that is JSON itself, everything is escaped once more.
    let bare = line.replace("\\\"", "\"");
    [&*line, bare.as_str()].into_iter().find_map(|line| {
        let (_, rest) = line.split_once("\"client_id\": \"")?;
        let (client_id, rest) = rest.split_once("\", \"type\": \"")?;
        let is_emission = rest.contains("\", \"ts\":");
        (is_emission && client_id.contains(['"', '\\'])).then(|| client_id.to_owned())
    })
}

/// The value that a text begins with, and its length.
struct First<T> {
    value: T,
    bytes: usize,
}

fn first<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Option<First<T>> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    let value = values.next()?.ok()?;
    Some(First { value, bytes: values.byte_offset() })
}

/// The emission that is a field of an object, as an object or as text.
fn within(value: &Value) -> Option<Emission> {
    let fields = value.as_object()?.values();
    fields.into_iter().find_map(|field| match field {
        Value::Object(_) => Emission::deserialize(field).ok().or_else(|| within(field)),
        Value::String(text) => {
            let opening = text.find('{')?;
            first(&text.as_bytes()[opening..]).map(|first| first.value)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BARE: &str = r#"{ "name": "rdkafka#producer-1", "client_id": "rdkafka", "type": "producer", "ts": 5, "brokers": { "a:1/1": { "nodeid": 1, "rtt": { "min": 1, "sum": 9, "cnt": 2 } } }, "unknown": [1] }"#;

    fn names(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        Emission::each_in(text.as_bytes(), |emission| names.push(emission.name));
        names
    }

    fn name(line: &str) -> Option<String> {
        names(line).pop()
    }

    #[test]
    fn an_emission_is_found_bare_behind_a_prefix_and_in_a_line_that_is_json_itself() {
        let escaped = serde_json::to_string(&format!("stats: {BARE}")).unwrap();
        for line in [
            BARE.to_owned(),
            format!("2026-11-20 10:00:00,123 [main] {{a=1}} INFO stats: {BARE} (end)"),
            format!(r#"{{"level": "info", "msg": {escaped}}}"#),
            format!(r#"{{"level": "info", "kafka": {{"stats": {BARE}}}}}"#),
        ] {
            assert_eq!(names(&line), ["rdkafka#producer-1"], "{line}");
        }
        assert_eq!(names(&format!("[{BARE}, {BARE}]\n{BARE}{BARE}")).len(), 4);
    }

    #[test]
    fn a_client_id_that_librdkafka_does_not_escape_is_found_in_a_line_that_is_no_json_for_it() {
        let with = |id: &str| {
            BARE.replace("rdkafka#producer-1", &format!("{id}#producer-1"))
                .replace("\"rdkafka\"", &format!("\"{id}\""))
        };
        for id in ["the \"fast\" one", "a\\b", "\""] {
            let line = with(id);
            assert_eq!(unescaped_client_id(line.as_bytes()).as_deref(), Some(id), "{line}");
        }
        let log = serde_json::to_string(&with("the \"fast\" one")).unwrap();
        let log = format!("{{\"level\": \"info\", \"msg\": {log}}}");
        assert_eq!(unescaped_client_id(log.as_bytes()).as_deref(), Some("the \"fast\" one"));
        for other in [BARE, "", "\"client_id\": \"a", "{\"client_id\": \"a\", \"other\": 1}"] {
            assert_eq!(unescaped_client_id(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn other_json_and_half_an_emission_are_none() {
        for line in ["", "{", "{}", "[1, 2]", r#"{"name": "x", "type": "producer", "ts": 5}"#, &BARE[..80]] {
            assert_eq!(name(line), None, "{line}");
        }
        assert_eq!(name(&BARE.replace("\"ts\": 5", "\"ts\": \"now\"")), None);
        assert_eq!(name(&"{\"a\":".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_emission_or_none(cut in 0_usize..200, bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut line = BARE.as_bytes()[..cut.min(BARE.len())].to_vec();
            line.extend(bytes);
            Emission::each_in(&line, |_| ());
        }
    }
}
