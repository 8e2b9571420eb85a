//! Reads librdkafka's statistics (STATISTICS.md) and keeps the windows that lie in the measured part.
//!
//! A window's averages are exact (sum over count), so windows are put together by their counts. Percentiles are not:
//! they are rolling, censored by the library's ranges, and cannot be merged.

use crate::statistics::{Counters, StatisticsSum, Sum};
use serde::Deserialize;
use std::collections::HashMap;

/// One emission of the statistics.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Emission {
    ts: u64,
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
    wakeups: u64,
    int_latency: Window,
    outbuf_latency: Window,
    rtt: Window,
    throttle: Window,
    /// Requests by their kind.
    req: HashMap<String, u64>,
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

/// Follows the emissions of one client.
#[derive(Debug, Default)]
pub(crate) struct Emissions {
    pub(crate) sum: StatisticsSum,
    /// Counters at the last emission before the measured part.
    before: Option<Counters>,
    last: Counters,
}

impl Emissions {
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
        self.sum.grown = Counters {
            connects: counters.connects.saturating_sub(before.connects),
            disconnects: counters.disconnects.saturating_sub(before.disconnects),
            timeouts: counters.timeouts.saturating_sub(before.timeouts),
            retries: counters.retries.saturating_sub(before.retries),
            rebalances: counters.rebalances.saturating_sub(before.rebalances),
            wakeups: counters.wakeups.zip(before.wakeups).map(|(now, before)| now.saturating_sub(before)),
            offset_commits: counters
                .offset_commits
                .map(|now| now.saturating_sub(before.offset_commits.unwrap_or(0))),
            // Without an emission before the measured part nobody knows when its first window began.
            at_us: if before.at_us == 0 { 0 } else { counters.at_us.saturating_sub(before.at_us) },
        };
        for broker in emission.brokers.values() {
            self.take_broker(broker);
        }
        for topic in emission.topics.values() {
            add(&mut self.sum.batch_count, &topic.batchcnt);
            add(&mut self.sum.batch_bytes, &topic.batchsize);
        }
    }

    fn grown_is_zero(&self) -> bool {
        self.sum.queue.count == 0 && self.sum.rtt.count == 0
    }

    fn take_broker(&mut self, broker: &Broker) {
        add(&mut self.sum.queue, &broker.int_latency);
        add(&mut self.sum.outbuf, &broker.outbuf_latency);
        add(&mut self.sum.rtt, &broker.rtt);
        if broker.rtt.cnt > 0 {
            let min = broker.rtt.min.max(0).unsigned_abs();
            self.sum.rtt_min_us = Some(self.sum.rtt_min_us.map_or(min, |so_far| so_far.min(min)));
        }
        if broker.throttle.cnt > 0 && broker.throttle.max > 0 {
            self.sum.throttle_max_ms = self.sum.throttle_max_ms.max(broker.throttle.max.unsigned_abs());
            self.sum.throttled += broker.throttle.cnt.unsigned_abs();
        }
        for window in [&broker.int_latency, &broker.outbuf_latency, &broker.rtt] {
            self.sum.out_of_range += window.outofrange.max(0).unsigned_abs();
        }
    }
}

fn add(sum: &mut Sum, window: &Window) {
    if window.cnt > 0 {
        sum.add(window.sum as f64, window.cnt.unsigned_abs());
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
        wakeups: Some(brokers().map(|broker| broker.wakeups).sum()),
        rebalances: emission.cgrp.as_ref().map_or(0, |group| group.rebalance_cnt),
        // The coordinator is an entry of its own.
        offset_commits: emission
            .cgrp
            .as_ref()
            .map(|_| emission.brokers.values().filter_map(|broker| broker.req.get("OffsetCommit")).sum()),
        at_us: emission.ts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emission(queue_sum: i64, queue_cnt: i64, connects: u64) -> String {
        let wakeups = connects * 100;
        format!(
            r#"{{"txmsgs": 1, "brokers": {{"a:1/1": {{"nodeid": 1, "connects": {connects}, "wakeups": {wakeups},
            "int_latency": {{"min": 1, "max": 9, "sum": {queue_sum}, "cnt": {queue_cnt}, "outofrange": 0}},
            "rtt": {{"min": 100, "max": 300, "sum": 400, "cnt": 2}},
            "throttle": {{"min": 0, "max": 12, "sum": 12, "cnt": 1}}}}}},
            "topics": {{"t": {{"batchcnt": {{"sum": 30, "cnt": 10}}}}}}, "unknown": [1, 2]}}"#
        )
    }

    #[test]
    fn windows_are_put_together_by_their_counts() {
        let mut sum = Emissions::default();
        sum.take(&emission(999_999, 1, 1), false);
        sum.take(&emission(1_000, 10, 1), true);
        sum.take(&emission(4_000, 10, 3), true);
        let summary = sum.sum.summary();
        assert_eq!(summary.queue_mean_ns, Some(250_000.0));
        assert_eq!(summary.queue_samples, 20);
        assert_eq!(summary.rtt_mean_ns, Some(200_000.0));
        assert_eq!(summary.rtt_min_ns, Some(100_000));
        assert_eq!(summary.batch_messages_mean, Some(3.0));
        assert_eq!((summary.throttle_max_ns, summary.throttled_responses), (Some(12_000_000), 2));
        assert_eq!(summary.reconnects, 2);
        assert_eq!(summary.wakeups, Some(200));
    }

    #[test]
    fn commits_are_counted_over_the_windows_of_the_measured_part() {
        let consumer = |ts: u64, commits: u64| {
            format!(
                r#"{{"ts": {ts}, "brokers": {{"GroupCoordinator": {{"nodeid": 1,
                "req": {{"OffsetCommit": {commits}, "Heartbeat": 5}}}}}}, "cgrp": {{"rebalance_cnt": 1}}}}"#
            )
        };
        let mut sum = Emissions::default();
        sum.take(&consumer(7_000_000, 3), false);
        sum.take(&consumer(7_500_000, 13), true);
        sum.take(&consumer(8_000_000, 33), true);
        let summary = sum.sum.summary();
        assert_eq!((summary.offset_commits, summary.windows_s), (Some(30), Some(1.0)));
        let mut producer = Emissions::default();
        producer.take(&emission(1, 1, 1), true);
        assert_eq!(producer.sum.summary().offset_commits, None);
        assert_eq!(producer.sum.summary().windows_s, None);
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let mut sum = Emissions::default();
        sum.take("not json", true);
        sum.take("{}", true);
        let summary = sum.sum.summary();
        assert_eq!(summary.queue_mean_ns, None);
        assert_eq!(summary.throttle_max_ns, None);
        assert_eq!(StatisticsSum::default().summary().wakeups, None);
    }
}
