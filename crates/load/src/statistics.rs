//! The clients' statistics over the measured part, put together: sums and counts, so that means stay exact. librdkafka's come
//! from its statistics, the wire driver's from its own readings.

use plumb_model::observation::ClientStatistics;
use serde::{Deserialize, Serialize};

/// A sum and how many are in it.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) sum: f64,
    pub(crate) count: u64,
}

impl Sum {
    /// Adds a sum of so many.
    pub(crate) fn add(&mut self, sum: f64, count: u64) {
        self.sum += sum;
        self.count += count;
    }

    fn mean(self, scale: f64) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 * scale)
    }
}

/// Counters that only grow.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) connects: u64,
    pub(crate) disconnects: u64,
    pub(crate) timeouts: u64,
    pub(crate) retries: u64,
    pub(crate) rebalances: u64,
    /// Times that a library's threads of brokers woke up; none where nobody counts them.
    pub(crate) wakeups: Option<u64>,
    /// Requests that committed offsets; none where the client is no consumer.
    pub(crate) offset_commits: Option<u64>,
    /// The time at which they were read, on the library's clock; of a difference: the time between two readings.
    pub(crate) at_us: u64,
}

/// The statistics of one client, or of several together.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct StatisticsSum {
    /// True if the times are the driver's own readings.
    pub(crate) measured: bool,
    pub(crate) queue: Sum,
    pub(crate) outbuf: Sum,
    pub(crate) rtt: Sum,
    pub(crate) rtt_min_us: Option<u64>,
    pub(crate) batch_count: Sum,
    pub(crate) batch_bytes: Sum,
    pub(crate) throttle_max_ms: u64,
    pub(crate) throttled: u64,
    pub(crate) out_of_range: u64,
    pub(crate) grown: Counters,
}

const MICROSECOND_NS: f64 = 1_000.0;

/// The times of one request of the wire driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTimes {
    /// Sum over its messages of the time from being enqueued to the first byte written, and how many they are.
    pub(crate) queue_sum_ns: f64,
    pub(crate) messages: u64,
    /// First to last byte written.
    pub(crate) writing_ns: u64,
    /// Last byte written to response read; none where there is no response.
    pub(crate) response_ns: Option<u64>,
    pub(crate) batches: u64,
    pub(crate) batch_bytes: u64,
}

impl StatisticsSum {
    /// Takes the times of a request, read at its boundaries.
    pub(crate) fn take_request(&mut self, times: &RequestTimes) {
        self.measured = true;
        self.queue.add(times.queue_sum_ns / MICROSECOND_NS, times.messages);
        // Over messages, as stages are: a request with many of them counts as often.
        let weight = times.messages as f64 / MICROSECOND_NS;
        self.outbuf.add(times.writing_ns as f64 * weight, times.messages);
        self.batch_count.add(times.messages as f64, times.batches);
        self.batch_bytes.add(times.batch_bytes as f64, times.batches);
        if let Some(response_ns) = times.response_ns {
            self.rtt.add(response_ns as f64 * weight, times.messages);
            let response_us = response_ns / 1_000;
            self.rtt_min_us = Some(self.rtt_min_us.map_or(response_us, |so_far| so_far.min(response_us)));
        }
    }

    /// A response told its client to slow down.
    pub(crate) fn take_throttle(&mut self, milliseconds: u64) {
        self.throttle_max_ms = self.throttle_max_ms.max(milliseconds);
        self.throttled += 1;
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
        self.measured |= other.measured;
        self.rtt_min_us = [self.rtt_min_us, other.rtt_min_us].into_iter().flatten().min();
        self.throttle_max_ms = self.throttle_max_ms.max(other.throttle_max_ms);
        self.throttled += other.throttled;
        self.out_of_range += other.out_of_range;
        self.grown.connects += other.grown.connects;
        self.grown.disconnects += other.grown.disconnects;
        self.grown.timeouts += other.grown.timeouts;
        self.grown.retries += other.grown.retries;
        self.grown.rebalances += other.grown.rebalances;
        let wakeups = [self.grown.wakeups, other.grown.wakeups];
        self.grown.wakeups = wakeups.into_iter().flatten().reduce(|mine, theirs| mine + theirs);
        let commits = [self.grown.offset_commits, other.grown.offset_commits];
        self.grown.offset_commits = commits.into_iter().flatten().reduce(|a, b| a + b);
        self.grown.at_us += other.grown.at_us;
    }

    /// As the document has it.
    pub(crate) fn summary(&self) -> ClientStatistics {
        ClientStatistics {
            measured: self.measured,
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
            wakeups: self.grown.wakeups,
            offset_commits: self.grown.offset_commits,
            windows_s: (self.grown.at_us > 0).then(|| self.grown.at_us as f64 / 1e6),
            out_of_range: self.out_of_range,
        }
    }
}
