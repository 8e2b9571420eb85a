//! The sink's own account of what it saw and did, as a copy for a test to look at.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Instant,
};

use kafka_protocol::messages::ApiKey;

/// Everything counted since the start.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Requests by their kind.
    pub requests: HashMap<ApiKey, RequestStats>,
    /// The client ids that were seen.
    pub client_ids: BTreeSet<String>,
    /// Connections.
    pub connections: ConnectionStats,
    /// Partitions by topic and number.
    pub partitions: BTreeMap<(String, i32), PartitionStats>,
    /// Groups by id.
    pub groups: BTreeMap<String, GroupStats>,
    /// Stalls in the order in which they began.
    pub stalls: Vec<StallStats>,
    /// Refused requests.
    pub refusals: RefusalStats,
}

impl Stats {
    /// The number of requests of this kind that arrived.
    pub fn count(&self, api: ApiKey) -> u64 {
        self.requests.get(&api).map_or(0, |requests| requests.count)
    }

    /// The sums over a topic's partitions; offsets are summed as well.
    pub fn topic(&self, topic: &str) -> PartitionStats {
        let of_topic = self.partitions.iter().filter(|((name, _), _)| name == topic);
        of_topic.fold(PartitionStats::default(), |sum, (_, next)| PartitionStats {
            arrived: sum.arrived + next.arrived,
            repeated: sum.repeated + next.repeated,
            stored: sum.stored + next.stored,
            dropped: sum.dropped + next.dropped,
            duplicated: sum.duplicated + next.duplicated,
            swapped: sum.swapped + next.swapped,
            held: sum.held + next.held,
            batches: sum.batches + next.batches,
            batches_refused: sum.batches_refused + next.batches_refused,
            kept_bytes: sum.kept_bytes + next.kept_bytes,
            log_start: sum.log_start + next.log_start,
            visible_end: sum.visible_end + next.visible_end,
            log_end: sum.log_end + next.log_end,
        })
    }
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// The number that arrived.
    pub count: u64,
    /// Their bytes, with header, without the length field.
    pub bytes: u64,
}

/// Connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionStats {
    /// The number that were accepted.
    pub opened: u64,
    /// The number that have ended, for whatever reason.
    pub closed: u64,
    /// The number that the sink ended because what arrived was no request that it knows.
    pub cut_off: u64,
    /// The fault of the last one of these.
    pub last_cut_off: Option<&'static str>,
}

/// Records of one partition. Without faults, arrived = stored = the difference of the log's offsets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionStats {
    /// Records that arrived in valid batches; repetitions by an idempotent producer not counted.
    pub arrived: u64,
    /// Records in batches that an idempotent producer sent again, and which were not stored again.
    pub repeated: u64,
    /// Records in the log, with the second copies.
    pub stored: u64,
    /// Records acknowledged and not stored.
    pub dropped: u64,
    /// Second copies.
    pub duplicated: u64,
    /// Records that went behind their successor.
    pub swapped: u64,
    /// Records that wait for a successor to go behind (0 or 1).
    pub held: u64,
    /// Batches that arrived and were accepted.
    pub batches: u64,
    /// Batches that were answered with an error that is not an injected one.
    pub batches_refused: u64,
    /// Bytes in memory.
    pub kept_bytes: u64,
    /// The first offset that can be read.
    pub log_start: i64,
    /// The offset behind the last record that can be read (the high watermark).
    pub visible_end: i64,
    /// The offset of the next record.
    pub log_end: i64,
}

/// One consumer group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// The number of generations: each is one rebalance.
    pub generation: i32,
    /// True if all members have their assignment.
    pub stable: bool,
    /// Member ids.
    pub members: Vec<String>,
    /// Offsets committed, by topic and partition.
    pub committed: BTreeMap<(String, i32), i64>,
}

/// One stall.
#[derive(Debug, Clone, Copy)]
pub struct StallStats {
    /// Its beginning.
    pub began: Instant,
    /// Its end.
    pub ends: Instant,
    /// Answers that it held back.
    pub answers_held: u64,
}

/// Requests that were refused because a test asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalStats {
    /// Answered with an error, whole requests and single partitions.
    pub errors: u64,
    /// Never answered.
    pub silences: u64,
    /// Ended with the connection.
    pub closes: u64,
}
