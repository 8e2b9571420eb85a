//! Figures that nobody measured, each with its author. A user can replace each by name.

use super::input::{Input, Source};
use plumb_model::figure::short;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each row says what it is")]
pub enum Assumed {
    FsyncQueues,
    MemoryTouchesWritten,
    MemoryTouchesSent,
    MemoryTouchesSentTls,
    CpuWeightIn,
    CpuWeightReplica,
    CpuWeightOut,
    CpuUtilisation,
    Utilisation,
    StorageHeadroom,
    PageCacheSeconds,
    FetchPartitionBytes,
    FetchResponseBytes,
    Fetchers,
    SegmentBytes,
}

/// A row of the list of assumptions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The assumption.
    pub assumed: Assumed,
    /// Name on the command line.
    pub name: &'static str,
    /// The value, unless said better.
    pub value: f64,
    /// Its meaning, with the unit.
    pub meaning: &'static str,
    /// Its author.
    pub whose: &'static str,
}

const OURS: &str = "ours, not calibrated";
const CRUISE_CONTROL: &str = "Cruise Control's static weights (MonitorConfig)";
const KAFKA: &str = "Kafka's default";

const ROWS: &[Row] = &[
    row(Assumed::FsyncQueues, "fsync-queues", 1.0, "syncs that a broker's devices do at the same time", OURS),
    row(
        Assumed::MemoryTouchesWritten,
        "memory-touches-written",
        7.0,
        "times that memory is touched for a byte written (6 to 8)",
        OURS,
    ),
    row(
        Assumed::MemoryTouchesSent,
        "memory-touches-sent",
        2.0,
        "the same for a byte sent in plain text",
        OURS,
    ),
    row(
        Assumed::MemoryTouchesSentTls,
        "memory-touches-sent-tls",
        6.0,
        "the same for a byte sent under TLS",
        OURS,
    ),
    row(Assumed::CpuWeightIn, "cpu-weight-in", 0.7, "CPU weight of a byte from a producer", CRUISE_CONTROL),
    row(
        Assumed::CpuWeightReplica,
        "cpu-weight-replica",
        0.15,
        "CPU weight of a byte replicated",
        CRUISE_CONTROL,
    ),
    row(Assumed::CpuWeightOut, "cpu-weight-out", 0.15, "CPU weight of a byte to a consumer", CRUISE_CONTROL),
    row(
        Assumed::CpuUtilisation,
        "cpu-utilisation",
        0.6,
        "share of the cores that a plan uses",
        "AWS: CPU user + system below 60 %",
    ),
    row(
        Assumed::Utilisation,
        "utilisation",
        0.5,
        "share of disk and NIC that a plan uses",
        "AWS MSK sizing, Standard brokers",
    ),
    // The same source's guide says 20 % headroom; the script, which is what the published counts come from, doubles.
    row(
        Assumed::StorageHeadroom,
        "storage-headroom",
        2.0,
        "storage planned over storage used",
        "AWS MSK sizing script",
    ),
    row(
        Assumed::PageCacheSeconds,
        "page-cache-seconds",
        30.0,
        "seconds of writes that memory should buffer",
        "Kafka's documentation",
    ),
    row(Assumed::FetchPartitionBytes, "fetch-partition-bytes", 1_048_576.0, "replica.fetch.max.bytes", KAFKA),
    row(
        Assumed::FetchResponseBytes,
        "fetch-response-bytes",
        10_485_760.0,
        "replica.fetch.response.max.bytes",
        KAFKA,
    ),
    row(Assumed::Fetchers, "fetchers", 1.0, "num.replica.fetchers", KAFKA),
    row(
        Assumed::SegmentBytes,
        "segment-bytes",
        1_073_741_824.0,
        "segment.bytes, of which half is open in each replica on average",
        KAFKA,
    ),
];

const fn row(
    assumed: Assumed,
    name: &'static str,
    value: f64,
    meaning: &'static str,
    whose: &'static str,
) -> Row {
    Row { assumed, name, value, meaning, whose }
}

/// The assumptions of one sizing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assumptions {
    given: BTreeMap<Assumed, f64>,
}

impl Assumptions {
    /// All that can be assumed.
    pub fn rows() -> &'static [Row] {
        ROWS
    }

    /// Says one better. False when there is none of that name, or the value is not more than 0.
    #[must_use]
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        let Some(row) = ROWS.iter().find(|row| row.name == name) else { return false };
        let possible = value.is_finite() && value > 0.0;
        if possible {
            self.given.insert(row.assumed, value);
        }
        possible
    }

    pub(super) fn get(&self, assumed: Assumed) -> f64 {
        self.given.get(&assumed).copied().unwrap_or_else(|| assumed.row().value)
    }

    /// As input of a bound.
    pub(super) fn input(&self, assumed: Assumed) -> Input {
        let row = assumed.row();
        let source = match self.given.get(&assumed) {
            Some(_) => Source::Given(format!("--assume {}", row.name)),
            None => Source::Assumed(row.whose.to_owned()),
        };
        Input { name: format!("{}: {}", row.name, row.meaning), shown: short(self.get(assumed)), source }
    }
}

impl Assumed {
    fn row(self) -> &'static Row {
        // The rows stand in the order of the names; a test holds it.
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assumption_finds_its_own_row() {
        for row in ROWS {
            assert_eq!(row.assumed.row().name, row.name);
        }
    }

    #[test]
    fn an_assumption_said_better_is_no_assumption_any_more() {
        let mut assumptions = Assumptions::default();
        assert!(assumptions.input(Assumed::Fetchers).is_assumed());
        assert!(assumptions.set("fetchers", 4.0));
        assert_eq!(assumptions.get(Assumed::Fetchers), 4.0);
        assert!(!assumptions.input(Assumed::Fetchers).is_assumed());
        assert!(!assumptions.set("no-such-thing", 1.0));
        assert!(!assumptions.set("fetchers", 0.0));
    }
}
