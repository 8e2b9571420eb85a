//! The begin and the end of each partition's log, from its leader.

use super::admin::TIMEOUT;
use super::connect::Cluster;
use super::ffi::{Client, Role, Watermarks};
use crate::clock::now_ns;
use crate::error::LoadError;
use std::time::Duration;

/// Longest wait for a leader to know that it is one. Ours: it takes milliseconds, an election about a second, and a broker
/// whose device is busy several, because it makes the partitions' directories first.
const LEADER_WAIT: Duration = Duration::from_secs(20);
/// The last two are the library's own words for a broker of several that has not heard of the topic yet.
const PASSING: &[&str] = &[
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PART",
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
];

impl Cluster {
    /// Lets a group that has no members begin at these offsets of a topic.
    pub(crate) fn begin_group_at(&self, group: &str, topic: &str, offsets: &[i64]) -> Result<(), LoadError> {
        let mut properties = self.properties.clone();
        properties.insert("group.id".to_owned(), group.to_owned());
        let client = Client::new(Role::Consumer, &properties)?;
        let started = now_ns();
        loop {
            let Err(reason) = client.commit(topic, offsets) else { return Ok(()) };
            if now_ns() - started > self.patience.longest_wait(LEADER_WAIT).as_nanos() as u64 {
                let operation = format!("set the offsets at which group {group} begins");
                return Err(LoadError::Refused { operation, reason });
            }
            // The group's coordinator may only be on its way.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// First offset of each partition that is still there.
    pub(crate) fn begin_offsets(&self, topic: &str, partitions: usize) -> Result<Vec<i64>, LoadError> {
        self.of_each(topic, partitions, |watermarks| watermarks.low)
    }

    /// End offset of each partition.
    pub(crate) fn end_offsets(&self, topic: &str, partitions: usize) -> Result<Vec<i64>, LoadError> {
        self.of_each(topic, partitions, |watermarks| watermarks.high)
    }

    fn of_each(
        &self,
        topic: &str,
        partitions: usize,
        which: fn(Watermarks) -> i64,
    ) -> Result<Vec<i64>, LoadError> {
        let watermarks = |at| self.watermarks(topic, i32::try_from(at).unwrap_or(i32::MAX));
        (0..partitions).map(|at| watermarks(at).map(which)).collect()
    }

    /// A broker may be told later than everyone else that it leads a new partition; that passes.
    fn watermarks(&self, topic: &str, partition: i32) -> Result<Watermarks, LoadError> {
        let started = now_ns();
        loop {
            let ask = |timeout| self.client.watermarks(topic, partition, timeout);
            let reason = match self.patience.ask(TIMEOUT, ask) {
                Ok(watermarks) => return Ok(watermarks),
                Err(reason) => reason,
            };
            let passes = PASSING.iter().any(|code| reason.starts_with(code));
            if !passes || now_ns() - started > self.patience.longest_wait(LEADER_WAIT).as_nanos() as u64 {
                let operation = format!("ask for the offsets of {topic} partition {partition}");
                return Err(LoadError::Refused { operation, reason });
            }
            std::thread::sleep(Duration::from_millis(20));
            if reason.starts_with('_') {
                // The library keeps for a while what it was told, unless it is made to ask.
                let _ = self.topic_shape(topic);
            }
        }
    }
}
