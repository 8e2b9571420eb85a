//! The settings that every search tries first: what the clients' makers advise for latency and for throughput, and what lies between.
//!
//! A model of the path's answers begins with blocks that lie far apart, and where the best is near one of these it is found at once.

use crate::plan::Properties;
use crate::settings_search::{Preset, SettingsSearch};

/// A preset's name, and its values by setting.
type Row = (&'static str, &'static [(&'static str, &'static str)]);

/// Sources: "How to optimise for latency / throughput" of the vendors' guides (linger 0, no compression, one byte to fetch; linger 10 to
/// 100 ms, batches of 100 to 200 KB, lz4, 100,000 bytes to fetch); the Java client's defaults of Kafka 4.3; the others are ours.
const ROWS: &[Row] = &[
    (
        "low latency",
        &[
            ("producer.linger.ms", "0"),
            ("producer.compression.type", "none"),
            ("producer.socket.nagle.disable", "true"),
            ("consumer.fetch.min.bytes", "1"),
            ("consumer.socket.nagle.disable", "true"),
        ],
    ),
    ("one millisecond", &[("producer.linger.ms", "1"), ("consumer.fetch.min.bytes", "1")]),
    (
        "the Java client's defaults",
        &[
            ("producer.linger.ms", "5"),
            ("producer.batch.size", "16384"),
            ("producer.compression.type", "none"),
            ("producer.max.in.flight.requests.per.connection", "5"),
            ("consumer.fetch.min.bytes", "1"),
            ("consumer.fetch.wait.max.ms", "500"),
        ],
    ),
    (
        "throughput",
        &[
            ("producer.linger.ms", "25"),
            ("producer.batch.size", "131072"),
            ("producer.compression.type", "lz4"),
            ("consumer.fetch.min.bytes", "100000"),
            ("consumer.fetch.wait.max.ms", "500"),
        ],
    ),
    (
        "few requests",
        &[
            ("producer.linger.ms", "100"),
            ("producer.batch.size", "1048576"),
            ("consumer.fetch.min.bytes", "1048576"),
            ("consumer.fetch.wait.max.ms", "100"),
        ],
    ),
    (
        "between",
        &[
            ("producer.linger.ms", "10"),
            ("producer.batch.size", "65536"),
            ("consumer.fetch.min.bytes", "4096"),
            ("consumer.fetch.wait.max.ms", "10"),
        ],
    ),
    (
        "deep queues",
        &[
            ("producer.linger.ms", "5"),
            ("producer.queue.buffering.backpressure.threshold", "4"),
            ("producer.socket.send.buffer.bytes", "1048576"),
            ("consumer.max.partition.fetch.bytes", "4194304"),
            ("consumer.fetch.queue.backoff.ms", "10"),
            ("consumer.socket.receive.buffer.bytes", "1048576"),
        ],
    ),
];

/// The presets of a space, at its levels; none twice, and none that is what the scenario has.
pub(super) fn presets(search: &SettingsSearch) -> Vec<Preset> {
    let mut presets: Vec<Preset> = Vec::new();
    for (name, values) in ROWS {
        let wanted: Properties =
            values.iter().map(|(setting, value)| ((*setting).to_owned(), (*value).to_owned())).collect();
        let settings = search.settings(&search.point(&wanted));
        if !settings.is_empty() && !presets.iter().any(|known| known.settings == settings) {
            presets.push(Preset { name: (*name).to_owned(), settings });
        }
    }
    presets
}
