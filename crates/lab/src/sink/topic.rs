//! Topics, their partitions and their settings.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use uuid::Uuid;

use super::{log::Log, producers::Producers, stats::PartitionStats};

/// No more partitions than this in all topics together (ours: enough for any experiment on one machine, and a bound on
/// what a request can make the sink allocate).
const PARTITIONS_MAX: usize = 10_000;
/// Kafka's limit.
const NAME_BYTES_MAX: usize = 249;

pub(super) const MESSAGE_LIMIT: &str = "max.message.bytes";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";

/// The settings that a topic can have, with Kafka's defaults. Only the two named above change what the sink does; the
/// others are kept and shown, as a client that reads its topic's settings back expects.
pub(super) const SETTINGS: [(&str, &str); 15] = [
    ("cleanup.policy", "delete"),
    ("compression.type", "producer"),
    ("delete.retention.ms", "86400000"),
    ("file.delete.delay.ms", "60000"),
    ("flush.messages", "9223372036854775807"),
    ("flush.ms", "9223372036854775807"),
    (MESSAGE_LIMIT, "1048588"),
    (TIMESTAMP_TYPE, "CreateTime"),
    ("min.insync.replicas", "1"),
    ("preallocate", "false"),
    ("retention.bytes", "-1"),
    ("retention.ms", "604800000"),
    ("segment.bytes", "1073741824"),
    ("segment.ms", "604800000"),
    ("unclean.leader.election.enable", "false"),
];

#[derive(Debug, Default)]
pub(super) struct Topics {
    by_name: BTreeMap<String, Topic>,
    created: u64,
}

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) id: Uuid,
    pub(super) partitions: Vec<Partition>,
    /// Settings that differ from the default.
    pub(super) settings: BTreeMap<&'static str, String>,
    pub(super) arrived: u64,
}

#[derive(Debug, Default)]
pub(super) struct Partition {
    pub(super) log: Log,
    pub(super) producers: Producers,
    /// Log offsets, held and kept bytes are filled in when somebody looks.
    pub(super) counts: PartitionStats,
    /// The time at which the newest record becomes visible.
    pub(super) visible_at: Option<std::time::Instant>,
}

impl Topics {
    pub(super) fn get(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_name.get_mut(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Topic)> {
        self.by_name.iter().map(|(name, topic)| (name.as_str(), topic))
    }

    pub(super) fn name_of(&self, id: Uuid) -> Option<&str> {
        self.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name)
    }

    pub(super) fn partition(&self, topic: &str, partition: i32) -> Option<&Partition> {
        self.get(topic)?.partitions.get(usize::try_from(partition).ok()?)
    }

    /// Checks that a topic of that name and size could be made.
    pub(super) fn check(&self, name: &str, partitions: i32) -> Result<(), ResponseError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let named = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain);
        if !named || name == "." || name == ".." {
            Err(ResponseError::InvalidTopicException)
        } else if self.by_name.contains_key(name) {
            Err(ResponseError::TopicAlreadyExists)
        } else {
            usize::try_from(partitions)
                .ok()
                .filter(|partitions| (1..=self.room()).contains(partitions))
                .map(drop)
                .ok_or(ResponseError::InvalidPartitions)
        }
    }

    pub(super) fn create(&mut self, name: &str, partitions: i32) -> Result<&mut Topic, ResponseError> {
        self.check(name, partitions)?;
        self.created += 1;
        let mut topic = Topic {
            id: Uuid::from_u64_pair(1, self.created),
            partitions: Vec::new(),
            settings: BTreeMap::new(),
            arrived: 0,
        };
        topic.partitions.resize_with(partitions as usize, Partition::default);
        Ok(self.by_name.entry(name.to_owned()).or_insert(topic))
    }

    /// Adds partitions up to `count`, or only says whether that could be done.
    pub(super) fn enlarge(&mut self, name: &str, count: i32, apply: bool) -> Result<(), ResponseError> {
        let room = self.room();
        let topic = self.by_name.get_mut(name).ok_or(ResponseError::UnknownTopicOrPartition)?;
        let had = topic.partitions.len();
        let count = usize::try_from(count).ok().filter(|count| (had + 1..=had + room).contains(count));
        let count = count.ok_or(ResponseError::InvalidPartitions)?;
        if apply {
            topic.partitions.resize_with(count, Partition::default);
        }
        Ok(())
    }

    fn room(&self) -> usize {
        let used = self.by_name.values().map(|topic| topic.partitions.len()).sum();
        PARTITIONS_MAX.saturating_sub(used)
    }

    pub(super) fn delete(&mut self, name: &str) -> Result<Topic, ResponseError> {
        self.by_name.remove(name).ok_or(ResponseError::UnknownTopicOrPartition)
    }
}

impl Topic {
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), ResponseError> {
        let (name, _) =
            SETTINGS.into_iter().find(|(known, _)| *known == name).ok_or(ResponseError::InvalidConfig)?;
        let sound = match name {
            MESSAGE_LIMIT => value.parse::<usize>().is_ok(),
            TIMESTAMP_TYPE => matches!(value, "CreateTime" | "LogAppendTime"),
            _ => true,
        };
        if !sound {
            return Err(ResponseError::InvalidConfig);
        }
        self.settings.insert(name, value.to_owned());
        Ok(())
    }

    pub(super) fn has_log_append_time(&self) -> bool {
        self.settings.get(TIMESTAMP_TYPE).is_some_and(|value| value == "LogAppendTime")
    }

    /// The greatest batch that is taken, when the topic has a limit of its own.
    pub(super) fn message_limit_bytes(&self) -> Option<usize> {
        self.settings.get(MESSAGE_LIMIT)?.parse().ok()
    }
}

impl Partition {
    pub(super) fn stats(&self) -> PartitionStats {
        PartitionStats {
            held: u64::from(self.log.held.is_some()),
            kept_bytes: self.log.kept_bytes() as u64,
            log_start: self.log.start(),
            visible_end: self.log.visible_end(),
            log_end: self.log.end(),
            ..self.counts
        }
    }
}
