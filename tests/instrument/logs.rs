//! The interval logs hold every sample of the document, in HdrHistogram's own format.

use super::{Document, Path};
use crate::drivers::{Driver, on_both_drivers};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

on_both_drivers!(the_interval_logs_put_together_are_the_latencies_of_the_document,);

/// All intervals of a log put together, and how many there are.
fn merged(log: &[u8]) -> (Histogram<u64>, usize) {
    let mut sum = Histogram::<u64>::new(3).unwrap();
    let mut intervals = 0;
    let mut until = 0.0;
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(interval) = entry.unwrap() else { continue };
        let start = interval.start_timestamp().as_secs_f64();
        assert!(start >= until, "intervals follow each other: {start} after {until}");
        until = start + interval.duration().as_secs_f64() - 1e-3;
        let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap();
        let part: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        sum.add(part).unwrap();
        intervals += 1;
    }
    (sum, intervals)
}

fn the_interval_logs_put_together_are_the_latencies_of_the_document(driver: Driver) {
    let path = Path::new(driver);
    let ended = path.latency(500, 2_000).run();
    let document = Document::of(&ended);
    let logs = document.at("/steps/0/histogram_logs").as_object().unwrap();
    let names: Vec<&str> = logs.keys().map(String::as_str).collect();
    assert_eq!(names, ["acknowledge", "acknowledge_service", "end_to_end", "end_to_end_service"]);
    for (latency, file) in logs {
        let log = std::fs::read(ended.path("run").join(file.as_str().unwrap())).unwrap();
        assert!(log.starts_with(b"#[Histogram log format version 1.3]"));
        let (histogram, intervals) = merged(&log);
        assert!(intervals >= 4, "one interval a second, not {intervals} for four");
        let figures = document.at(&format!("/steps/0/latency/{latency}"));
        assert_eq!(figures["samples"], histogram.len());
        for (figure, quantile) in [("p50_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99)] {
            let (ours, theirs) = (figures[figure].as_u64().unwrap(), histogram.value_at_quantile(quantile));
            assert!(histogram.equivalent(ours, theirs), "{latency} {figure}: {ours}, {theirs} in the log");
        }
        let max = figures["max_ns"].as_u64().unwrap();
        assert!(histogram.equivalent(max, histogram.max()));
    }
}
