//! The lines of Kafka's tools, to the byte as Kafka 4.3's print them.

use std::fmt::Write;

/// Bytes of what the tools call MB.
const MIB: f64 = 1_048_576.0;

/// Figures behind a line of kafka-producer-perf-test. A figure that is not known is none and prints as Java's NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sent {
    pub(crate) records: u64,
    pub(crate) records_per_s: f64,
    pub(crate) bytes_per_s: f64,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
}

/// Percentiles of the last line, in whole milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Percentiles {
    pub(crate) p50_ms: Option<u64>,
    pub(crate) p95_ms: Option<u64>,
    pub(crate) p99_ms: Option<u64>,
    pub(crate) p999_ms: Option<u64>,
}

/// Figures behind a row of kafka-consumer-perf-test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Consumed {
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) records: u64,
    pub(crate) bytes: f64,
    pub(crate) elapsed_s: f64,
}

/// Header of the consumer's row.
pub(crate) const CONSUMER_HEADER: &str = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, \
                                          nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n";

/// Header of the consumer's rows of intervals.
pub(crate) const DETAILED_HEADER: &str = "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, \
                                          rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n";

/// The messages of one interval of the consumer's tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// Until its end.
    pub(crate) records: u64,
    /// In it.
    pub(crate) grown: u64,
    pub(crate) length_s: f64,
    pub(crate) bytes_per_record: f64,
}

/// A row of an interval.
pub(crate) fn detailed(time: &str, interval: &Interval) -> String {
    let Interval { records, grown, length_s, bytes_per_record } = *interval;
    let mib = |records: u64| records as f64 * bytes_per_record / MIB;
    let (mib_per_s, records_per_s) = (mib(grown) / length_s, grown as f64 / length_s);
    let fetching_ms = (length_s * 1e3).round() as u64;
    format!(
        "{time}, 0, {:.4}, {mib_per_s:.4}, {records}, {records_per_s:.4}, 0, {fetching_ms}, {mib_per_s:.4}, {records_per_s:.4}\n",
        mib(records)
    )
}

/// A line that the producer's tool prints while it sends.
pub(crate) fn progress(sent: &Sent) -> String {
    format!(
        "{} records sent, {:.1} records/sec ({:.2} MB/sec), {} ms avg latency, {} ms max latency.\n",
        sent.records,
        sent.records_per_s,
        sent.bytes_per_s / MIB,
        decimals(sent.mean_ms, 1),
        decimals(sent.max_ms, 1),
    )
}

/// The last line of the producer's tool.
pub(crate) fn last(sent: &Sent, percentiles: &Percentiles) -> String {
    let mut line = format!(
        "{} records sent, {:.6} records/sec ({:.2} MB/sec), {} ms avg latency, {} ms max latency",
        sent.records,
        sent.records_per_s,
        sent.bytes_per_s / MIB,
        decimals(sent.mean_ms, 2),
        decimals(sent.max_ms, 2),
    );
    let Percentiles { p50_ms, p95_ms, p99_ms, p999_ms } = *percentiles;
    for (name, value) in [("50th", p50_ms), ("95th", p95_ms), ("99th", p99_ms), ("99.9th", p999_ms)] {
        let value = value.map_or("NaN".to_owned(), |ms| ms.to_string());
        let _ = write!(line, ", {value} ms {name}");
    }
    line + ".\n"
}

/// The row of the consumer's tool. The group had settled before the time was taken: rebalancing took none of it.
pub(crate) fn row(consumed: &Consumed) -> String {
    let Consumed { start, end, records, bytes, elapsed_s } = consumed;
    let (mib, elapsed_ms) = (bytes / MIB, (elapsed_s * 1e3).round() as u64);
    let (mib_per_s, records_per_s) = (mib / elapsed_s, *records as f64 / elapsed_s);
    format!(
        "{start}, {end}, {mib:.4}, {mib_per_s:.4}, {records}, {records_per_s:.4}, 0, {elapsed_ms}, {mib_per_s:.4}, \
         {records_per_s:.4}\n"
    )
}

fn decimals(value: Option<f64>, digits: usize) -> String {
    value.map_or("NaN".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected lines are those that Kafka 4.3.0's tools printed for these figures.

    #[test]
    fn the_last_line_of_the_producers_tool_is_equal_to_the_byte() {
        let sent = Sent {
            records: 24_000,
            records_per_s: 1_996.174,
            bytes_per_s: 199_617.4,
            mean_ms: Some(64.57),
            max_ms: Some(1_744.0),
        };
        let percentiles =
            Percentiles { p50_ms: Some(8), p95_ms: Some(372), p99_ms: Some(390), p999_ms: Some(410) };
        assert_eq!(
            last(&sent, &percentiles),
            "24000 records sent, 1996.174000 records/sec (0.19 MB/sec), 64.57 ms avg latency, 1744.00 ms max latency, 8 ms \
             50th, 372 ms 95th, 390 ms 99th, 410 ms 99.9th.\n"
        );
    }

    #[test]
    fn a_progress_line_is_equal_to_the_byte() {
        let sent = Sent {
            records: 9_996,
            records_per_s: 1_996.4,
            bytes_per_s: 199_640.0,
            mean_ms: Some(145.2),
            max_ms: Some(1_744.0),
        };
        assert_eq!(
            progress(&sent),
            "9996 records sent, 1996.4 records/sec (0.19 MB/sec), 145.2 ms avg latency, 1744.0 ms max latency.\n"
        );
    }

    #[test]
    fn the_consumers_row_is_equal_in_form() {
        let consumed = Consumed {
            start: "2026-11-21 14:33:33:241".into(),
            end: "2026-11-21 14:33:42:860".into(),
            records: 500_292,
            bytes: 451.366_4 * MIB,
            elapsed_s: 9.619,
        };
        assert_eq!(
            row(&consumed),
            "2026-11-21 14:33:33:241, 2026-11-21 14:33:42:860, 451.3664, 46.9245, 500292, 52010.8119, 0, 9619, 46.9245, \
             52010.8119\n"
        );
        assert_eq!(CONSUMER_HEADER.split(", ").count(), row(&consumed).split(", ").count());
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        assert!(
            last(&Sent::default(), &Percentiles::default())
                .contains("NaN ms avg latency, NaN ms max latency, NaN ms 50th")
        );
    }
}
