//! The histograms of a step's seconds, from the interval logs in its run's directory.
//!
//! The document has a few figures for each second; other tools' formats want quantiles over several, and those can
//! only be had from histograms put together. Where the logs are not there, or are not those of the document, nothing is
//! made up: the histograms are absent.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plumb_model::document::StepResult;
use plumb_model::observation::SecondRow;
use plumb_stats::histogram::Histogram;
use std::path::Path;

/// A histogram for each row of a step's series, or none where that second had no sample.
#[derive(Debug, Default)]
pub struct Seconds {
    /// Actual send to acknowledgement. Empty where the log cannot be used.
    pub acknowledge_service: Vec<Option<Histogram>>,
    /// Actual send to reception. Empty where the log cannot be used.
    pub end_to_end_service: Vec<Option<Histogram>>,
    /// Intended to actual send. Empty where the log cannot be used.
    pub slip: Vec<Option<Histogram>>,
}

impl Seconds {
    /// Reads the logs of a step. `directory` is that of the run.
    pub fn read(directory: &Path, step: &StepResult) -> Self {
        let of = |measure: &str, samples: fn(&SecondRow) -> u64| {
            let log = step.histogram_logs.get(measure)?;
            let bytes = fs_err::read(directory.join(log)).ok()?;
            aligned(&step.series, samples, entries(&bytes)?)
        };
        // As fast as possible no message has a time at which it was due, so the rows count none: each that was acknowledged was timed.
        let unscheduled = step.series.iter().all(|row| row.acknowledge.samples == 0);
        let acknowledged =
            if unscheduled { |row: &SecondRow| row.acked } else { |row: &SecondRow| row.acknowledge.samples };
        Seconds {
            acknowledge_service: of("acknowledge_service", acknowledged).unwrap_or_default(),
            end_to_end_service: of("end_to_end_service", |row| row.end_to_end.samples).unwrap_or_default(),
            slip: of("slip", |row| row.sent).unwrap_or_default(),
        }
    }
}

/// The histograms of a log, in its order.
fn entries(log: &[u8]) -> Option<Vec<Histogram>> {
    let mut deserializer = Deserializer::new();
    let mut histograms = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(entry) = entry.ok()? else { continue };
        let bytes = STANDARD.decode(entry.encoded_histogram()).ok()?;
        let inner: hdrhistogram::Histogram<u64> = deserializer.deserialize(&mut &bytes[..]).ok()?;
        histograms.push(Histogram::from_buckets(&inner).ok()?);
    }
    Some(histograms)
}

/// Each measured row with samples has an entry, in the same order; a log that does not fit is another run's.
fn aligned(
    rows: &[SecondRow],
    samples: fn(&SecondRow) -> u64,
    entries: Vec<Histogram>,
) -> Option<Vec<Option<Histogram>>> {
    let mut entries = entries.into_iter();
    let of = |row: &SecondRow| {
        if row.warm_up || samples(row) == 0 {
            return Some(None);
        }
        entries.next().filter(|entry| entry.samples() == samples(row)).map(Some)
    };
    rows.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::{RunDir, interval};
    use jiff::Timestamp;
    use plumb_model::observation::SecondLatency;
    use std::time::{Duration, SystemTime};

    fn row(second: u32, warm_up: bool, samples: u64) -> SecondRow {
        let acknowledge = SecondLatency { samples, ..SecondLatency::default() };
        SecondRow { second, warm_up, acknowledge, ..SecondRow::default() }
    }

    #[test]
    fn each_second_finds_its_histogram_and_one_that_does_not_fit_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let mut dir = RunDir::create(Some(place.path()), Timestamp::UNIX_EPOCH, "x").unwrap();
        for times_ms in [vec![1, 2], vec![30]] {
            let mut histogram = Histogram::new();
            times_ms.iter().for_each(|ms| histogram.record_ns(ms * 1_000_000));
            let start = SystemTime::now();
            let line = interval(start, Duration::from_secs(1), &histogram).unwrap();
            dir.append("a.hlog", start, &line).unwrap();
        }
        let mut step = StepResult::default();
        step.histogram_logs.insert("acknowledge_service".into(), "a.hlog".into());
        step.series = vec![row(0, true, 9), row(1, false, 2), row(2, false, 0), row(3, false, 1)];
        let seconds = Seconds::read(place.path(), &step).acknowledge_service;
        let samples: Vec<u64> = seconds.iter().map(|s| s.as_ref().map_or(0, Histogram::samples)).collect();
        assert_eq!(samples, [0, 2, 0, 1]);
        let p50_ms = seconds[3].as_ref().unwrap().at_quantile(0.5).unwrap() as f64 / 1e6;
        assert!((29.9..30.1).contains(&p50_ms), "{p50_ms}");
        step.series[1] = row(1, false, 3);
        assert!(Seconds::read(place.path(), &step).acknowledge_service.is_empty());
    }
}
