//! Reads librdkafka's statistics (STATISTICS.md) and keeps the windows that lie in the measured part.
//!
//! A window's averages are exact (sum over count), so windows are put together by their counts. Percentiles are not:
//! they are rolling, censored by the library's ranges, and cannot be merged.

use plumb_model::observation::ClientStatistics;
use serde::Deserialize;
use std::collections::HashMap;

/// One emission of the statistics.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Emission {
    brokers: HashMap<String, Broker>,
    topics: HashMap<String, Topic>,
    cgrp: Option<Group>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Broker {
    nodeid: i64,
    connects: u64,
    disconnects: u64,
    req_timeouts: u64,
    txretries: u64,
    int_latency: Window,
    outbuf_latency: Window,
    rtt: Window,
    throttle: Window,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Topic {
    batchsize: Window,
    batchcnt: Window,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    rebalance_cnt: u64,
}

/// A window of values: microseconds, except `throttle` (milliseconds), sizes and counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    min: i64,
    max: i64,
    sum: i64,
    cnt: i64,
    outofrange: i64,
}

/// Sums of windows.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    sum: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, window: &Window) {
        if window.cnt > 0 {
            self.sum += window.sum as f64;
            self.count += window.cnt.unsigned_abs();
        }
    }

    fn mean(self, scale: f64) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 * scale)
    }
}

/// Counters that only grow.
#[derive(Debug, Default, Clone, Copy)]
struct Counters {
    connects: u64,
    disconnects: u64,
    timeouts: u64,
    retries: u64,
    rebalances: u64,
}

/// Puts together the windows of one client, or of several.
#[derive(Debug, Default, Clone)]
pub(crate) struct StatisticsSum {
    queue: Sum,
    outbuf: Sum,
    rtt: Sum,
    rtt_min_us: Option<u64>,
    batch_count: Sum,
    batch_bytes: Sum,
    throttle_max_ms: u64,
    throttled: u64,
    out_of_range: u64,
    /// Counters at the last emission before the measured part.
    before: Option<Counters>,
    last: Counters,
    grown: Counters,
}

const MICROSECOND_NS: f64 = 1_000.0;

impl StatisticsSum {
    /// Takes one emission; `measured` when its whole window lies in the measured part.
    pub(crate) fn take(&mut self, json: &str, measured: bool) {
        // The library writes it; should it ever not parse, its figures are absent rather than wrong.
        let Ok(emission) = serde_json::from_str::<Emission>(json) else { return };
        let counters = counters(&emission);
        if !measured {
            if self.before.is_none() || self.grown_is_zero() {
                self.before = Some(counters);
            }
            self.last = counters;
            return;
        }
        let before = self.before.unwrap_or(self.last);
        self.before = Some(before);
        self.last = counters;
        self.grown = Counters {
            connects: counters.connects.saturating_sub(before.connects),
            disconnects: counters.disconnects.saturating_sub(before.disconnects),
            timeouts: counters.timeouts.saturating_sub(before.timeouts),
            retries: counters.retries.saturating_sub(before.retries),
            rebalances: counters.rebalances.saturating_sub(before.rebalances),
        };
        for broker in emission.brokers.values() {
            self.take_broker(broker);
        }
        for topic in emission.topics.values() {
            self.batch_count.add(&topic.batchcnt);
            self.batch_bytes.add(&topic.batchsize);
        }
    }

    fn grown_is_zero(&self) -> bool {
        self.queue.count == 0 && self.rtt.count == 0
    }

    fn take_broker(&mut self, broker: &Broker) {
        self.queue.add(&broker.int_latency);
        self.outbuf.add(&broker.outbuf_latency);
        self.rtt.add(&broker.rtt);
        if broker.rtt.cnt > 0 {
            let min = broker.rtt.min.max(0).unsigned_abs();
            self.rtt_min_us = Some(self.rtt_min_us.map_or(min, |so_far| so_far.min(min)));
        }
        if broker.throttle.cnt > 0 && broker.throttle.max > 0 {
            self.throttle_max_ms = self.throttle_max_ms.max(broker.throttle.max.unsigned_abs());
            self.throttled += broker.throttle.cnt.unsigned_abs();
        }
        for window in [&broker.int_latency, &broker.outbuf_latency, &broker.rtt] {
            self.out_of_range += window.outofrange.max(0).unsigned_abs();
        }
    }

    /// Adds what another client of the same role gathered.
    pub(crate) fn absorb(&mut self, other: &StatisticsSum) {
        for (mine, theirs) in [
            (&mut self.queue, other.queue),
            (&mut self.outbuf, other.outbuf),
            (&mut self.rtt, other.rtt),
            (&mut self.batch_count, other.batch_count),
            (&mut self.batch_bytes, other.batch_bytes),
        ] {
            mine.sum += theirs.sum;
            mine.count += theirs.count;
        }
        self.rtt_min_us = [self.rtt_min_us, other.rtt_min_us].into_iter().flatten().min();
        self.throttle_max_ms = self.throttle_max_ms.max(other.throttle_max_ms);
        self.throttled += other.throttled;
        self.out_of_range += other.out_of_range;
        self.grown.connects += other.grown.connects;
        self.grown.disconnects += other.grown.disconnects;
        self.grown.timeouts += other.grown.timeouts;
        self.grown.retries += other.grown.retries;
        self.grown.rebalances += other.grown.rebalances;
    }

    /// As the document has it.
    pub(crate) fn summary(&self) -> ClientStatistics {
        ClientStatistics {
            measured: false,
            queue_mean_ns: self.queue.mean(MICROSECOND_NS),
            queue_samples: self.queue.count,
            outbuf_mean_ns: self.outbuf.mean(MICROSECOND_NS),
            outbuf_samples: self.outbuf.count,
            batches: self.batch_count.count,
            rtt_mean_ns: self.rtt.mean(MICROSECOND_NS),
            rtt_min_ns: self.rtt_min_us.map(|us| us * 1_000),
            rtt_samples: self.rtt.count,
            batch_messages_mean: self.batch_count.mean(1.0),
            batch_bytes_mean: self.batch_bytes.mean(1.0),
            throttle_max_ns: (self.throttled > 0).then_some(self.throttle_max_ms * 1_000_000),
            throttled_responses: self.throttled,
            reconnects: self.grown.connects,
            disconnects: self.grown.disconnects,
            timeouts: self.grown.timeouts,
            retries: self.grown.retries,
            rebalances: self.grown.rebalances,
            out_of_range: self.out_of_range,
        }
    }
}

fn counters(emission: &Emission) -> Counters {
    // Bootstrap entries (node id -1) reconnect on their own account.
    let brokers = || emission.brokers.values().filter(|broker| broker.nodeid >= 0);
    Counters {
        connects: brokers().map(|broker| broker.connects).sum(),
        disconnects: brokers().map(|broker| broker.disconnects).sum(),
        timeouts: brokers().map(|broker| broker.req_timeouts).sum(),
        retries: brokers().map(|broker| broker.txretries).sum(),
        rebalances: emission.cgrp.as_ref().map_or(0, |group| group.rebalance_cnt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emission(queue_sum: i64, queue_cnt: i64, connects: u64) -> String {
        format!(
            r#"{{"txmsgs": 1, "brokers": {{"a:1/1": {{"nodeid": 1, "connects": {connects},
            "int_latency": {{"min": 1, "max": 9, "sum": {queue_sum}, "cnt": {queue_cnt}, "outofrange": 0}},
            "rtt": {{"min": 100, "max": 300, "sum": 400, "cnt": 2}},
            "throttle": {{"min": 0, "max": 12, "sum": 12, "cnt": 1}}}}}},
            "topics": {{"t": {{"batchcnt": {{"sum": 30, "cnt": 10}}}}}}, "unknown": [1, 2]}}"#
        )
    }

    #[test]
    fn windows_are_put_together_by_their_counts() {
        let mut sum = StatisticsSum::default();
        sum.take(&emission(999_999, 1, 1), false);
        sum.take(&emission(1_000, 10, 1), true);
        sum.take(&emission(4_000, 10, 3), true);
        let summary = sum.summary();
        assert_eq!(summary.queue_mean_ns, Some(250_000.0));
        assert_eq!(summary.queue_samples, 20);
        assert_eq!(summary.rtt_mean_ns, Some(200_000.0));
        assert_eq!(summary.rtt_min_ns, Some(100_000));
        assert_eq!(summary.batch_messages_mean, Some(3.0));
        assert_eq!((summary.throttle_max_ns, summary.throttled_responses), (Some(12_000_000), 2));
        assert_eq!(summary.reconnects, 2);
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let mut sum = StatisticsSum::default();
        sum.take("not json", true);
        sum.take("{}", true);
        let summary = sum.summary();
        assert_eq!(summary.queue_mean_ns, None);
        assert_eq!(summary.throttle_max_ns, None);
    }
}
