//! Published figures that ship with Plumb, to be shown beside measured ones.

use plumb_model::document::{ReferenceRatio, ReferenceRow, ReferenceTable};
use plumb_model::fault::UsageError;

/// One published row: name, messages per second, then milliseconds min, max, mean, p75, p95, p99.
type Row = (&'static str, f64, [f64; 6]);

const EVENT_HUBS: &[Row] = &[
    ("optimised - optimised", 100.0, [9.09, 49.43, 19.62, 23.81, 36.17, 45.31]),
    ("default - fetch 100 ms", 100.0, [9.10, 110.38, 19.11, 21.91, 26.20, 110.25]),
    ("optimised - optimised, again", 100.0, [7.86, 50.92, 18.15, 21.75, 38.53, 50.64]),
    ("optimised - fetch 100 ms", 100.0, [8.16, 81.64, 19.47, 21.66, 41.89, 63.71]),
    ("default - fetch 100 ms, 300/s", 300.0, [16.30, 50.93, 27.52, 30.32, 48.46, 50.69]),
    ("optimised - fetch 100 ms, 300/s", 300.0, [9.63, 79.56, 25.30, 27.99, 51.35, 79.11]),
    ("optimised - fetch 10 ms, 300/s", 300.0, [9.51, 52.81, 22.54, 25.74, 34.47, 52.61]),
    ("optimised - optimised, 300/s", 300.0, [9.76, 51.84, 25.47, 29.45, 46.61, 51.28]),
];

/// Setup, what it is held against, and so many times as fast at least and at most.
type Ratio = (&'static str, &'static str, f64, f64);

const PERSISTENT_MEMORY: &[Ratio] = &[
    ("nvme", "sata", 2.0, 2.0),
    ("pmem (half Memory Mode, half App Direct)", "sata", 5.0, 5.0),
    ("pmem (half Memory Mode, half App Direct)", "nvme", 2.5, 2.5),
    ("pmem (all App Direct, 25 to 30 producers)", "sata", 12.0, 15.0),
];

/// The published figures of a name.
pub(crate) fn table(name: &str) -> Result<ReferenceTable, UsageError> {
    match name {
        "event-hubs-latency" => Ok(event_hubs()),
        "persistent-memory" => Ok(persistent_memory()),
        _ => {
            let message = format!("there are no published figures called {name:?}");
            Err(UsageError::new(message, "the sets are `event-hubs-latency` and `persistent-memory`"))
        }
    }
}

fn event_hubs() -> ReferenceTable {
    ReferenceTable {
        title: "End-to-end latency on Azure Event Hubs over the Kafka protocol".to_owned(),
        source: "the cloud vendor's own article on lowest latency, librdkafka, 10,000 sequential events a row".to_owned(),
        caveat: "A managed service across a network, two virtual machines with synchronised clocks, counted from the \
                 actual send: not the same path as this run's. Rows 1 and 3 are the same setup and differ by 7 % in the \
                 mean and 12 % in the 99th percentile, as much as most setups differ from each other."
            .to_owned(),
        rows: EVENT_HUBS.iter().map(row).collect(),
        ratios: Vec::new(),
    }
}

fn persistent_memory() -> ReferenceTable {
    let ratio = |(name, over, least, most): &Ratio| ReferenceRatio {
        name: (*name).to_owned(),
        over: (*over).to_owned(),
        least: *least,
        most: *most,
    };
    ReferenceTable {
        title: "Ingestion on persistent memory, messages of 240 KB".to_owned(),
        source: "an engineering podcast, Embracing Digital Transformation, episode 16, 2020".to_owned(),
        caveat: "Told, not tabulated: no rates, no intervals, no numbers of runs. Their SATA drive fell with more producers, \
                 which makes the largest of these ratios larger."
            .to_owned(),
        rows: Vec::new(),
        ratios: PERSISTENT_MEMORY.iter().map(ratio).collect(),
    }
}

fn row((name, rate_per_s, [min_ms, max_ms, mean_ms, p75_ms, p95_ms, p99_ms]): &Row) -> ReferenceRow {
    ReferenceRow {
        name: (*name).to_owned(),
        rate_per_s: *rate_per_s,
        min_ms: *min_ms,
        max_ms: *max_ms,
        mean_ms: *mean_ms,
        p75_ms: *p75_ms,
        p95_ms: *p95_ms,
        p99_ms: *p99_ms,
    }
}
