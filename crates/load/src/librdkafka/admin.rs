//! Topics of a run: made, waited for, looked at, and deleted only when this run made them.

use super::connect::Cluster;
use super::ffi::{AdminError, MetadataOf};
use crate::clock::now_ns;
use crate::error::LoadError;
use plumb_model::plan::Properties;
use std::time::Duration;

pub use super::ffi::{ConfigEntry, ConfigOf, Replicas};

/// The library's code where no answer came in time.
const TIMED_OUT: &str = "_TIMED_OUT";

/// Longest wait for an answer of the cluster. Ours.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);

/// A topic's partitions and replicas, as the cluster has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicShape {
    /// Its name.
    pub name: String,
    /// Leader of each partition.
    pub leaders: Vec<i32>,
    /// Replicas of the first partition.
    pub replication: u32,
}

/// The beginning of the names of all topics that a run makes; a hyphen and what tells them apart follows.
pub fn run_topics(run_id: &str) -> String {
    format!("plumb-{run_id}")
}

/// A topic that this run made: the only kind that it can delete.
#[derive(Debug)]
pub struct OwnTopic {
    name: String,
}

impl OwnTopic {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Cluster {
    /// Makes a topic. It may not be ready yet: see [`Cluster::wait_for_leaders`].
    pub fn create_topic(
        &self,
        name: &str,
        partitions: u32,
        replicas: Replicas,
        configs: &Properties,
    ) -> Result<OwnTopic, LoadError> {
        let partitions = i32::try_from(partitions).unwrap_or(i32::MAX);
        self.patience.anew();
        self.patience
            .ask(TIMEOUT, |timeout| self.client.create_topic(name, partitions, replicas, configs, timeout))
            .map_err(|error| self.refused(error, &format!("create topic {name}")))?;
        Ok(OwnTopic { name: name.to_owned() })
    }

    /// Waits until every partition of a topic has a leader.
    pub fn wait_for_leaders(&self, name: &str, partitions: u32) -> Result<TopicShape, LoadError> {
        let started = now_ns();
        loop {
            match self.topic_shape(name) {
                Ok(shape)
                    if shape.leaders.len() == partitions as usize
                        && shape.leaders.iter().all(|id| *id >= 0) =>
                {
                    return Ok(shape);
                }
                Ok(_) | Err(LoadError::UnknownTopic { .. }) => {}
                Err(error) => return Err(error),
            }
            if now_ns() - started > self.patience.longest_wait(TIMEOUT).as_nanos() as u64 {
                let operation = format!("wait for the leaders of topic {name}");
                let reason = format!("not there after {} s", TIMEOUT.as_secs());
                return Err(LoadError::Refused { operation, reason });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How long no broker has answered, where the last exchange was in vain and none answers now either; none where one does.
    pub fn silence(&self) -> Option<Duration> {
        self.patience.silent_for()?;
        let brokers = |timeout| self.client.metadata(MetadataOf::Brokers, timeout);
        let answer = self.patience.ask(TIMEOUT, brokers);
        self.patience.silent_for().filter(|_| answer.is_err())
    }

    /// Topics that were made for a run of this id: those that it left when it was killed.
    pub fn topics_of_run(&self, run_id: &str) -> Result<Vec<OwnTopic>, LoadError> {
        let metadata =
            self.patience.ask(TIMEOUT, |timeout| self.client.metadata(MetadataOf::AllTopics, timeout));
        let metadata = metadata.map_err(|error| self.refused(error, "list the topics"))?;
        let start = format!("{}-", run_topics(run_id));
        let names = metadata.topics.into_iter().map(|topic| topic.name);
        Ok(names.filter(|name| name.starts_with(&start)).map(|name| OwnTopic { name }).collect())
    }

    /// Deletes a topic that this run made.
    pub fn delete_topic(&self, topic: &OwnTopic) -> Result<(), LoadError> {
        let operation = format!("delete topic {}", topic.name);
        self.patience
            .ask(TIMEOUT, |timeout| self.client.delete_topic(&topic.name, timeout))
            .map_err(|error| self.refused(error, &operation))
    }

    /// The error of a control exchange. Once the time after a stop is used up, the last exchange's own short wait says nothing.
    fn refused(&self, error: AdminError, operation: &str) -> LoadError {
        let silence = if error.code == TIMED_OUT { self.patience.why_none() } else { None };
        match silence {
            Some(reason) => LoadError::Refused { operation: operation.to_owned(), reason },
            None => error.refusing(operation),
        }
    }

    /// Deletes a consumer group of this run, if the cluster allows that.
    pub fn delete_group(&self, group: &str) {
        // Some services do not offer it; the group then ends with its offsets' retention.
        let _ = self.patience.ask(TIMEOUT, |timeout| self.client.delete_group(group, timeout));
    }

    /// Partitions, leaders and replicas.
    pub fn topic_shape(&self, name: &str) -> Result<TopicShape, LoadError> {
        let operation = format!("look at topic {name}");
        let refused = |error: AdminError| error.refusing(&operation);
        let ask = |timeout| self.client.metadata(MetadataOf::Topic(name), timeout);
        let metadata = self.patience.ask(TIMEOUT, ask).map_err(&refused)?;
        let Some(topic) = metadata.topics.into_iter().find(|topic| topic.name == name) else {
            return Err(LoadError::UnknownTopic { topic: name.to_owned() });
        };
        match topic.error {
            Some(error) if matches!(error.code.as_str(), "UNKNOWN_TOPIC_OR_PART" | "_UNKNOWN_TOPIC") => {
                Err(LoadError::UnknownTopic { topic: name.to_owned() })
            }
            // Leaders may still be elected; the caller looks at them.
            Some(error) if error.code != "LEADER_NOT_AVAILABLE" => Err(refused(error)),
            _ if topic.partitions.is_empty() => Err(LoadError::UnknownTopic { topic: name.to_owned() }),
            _ => Ok(TopicShape {
                replication: topic.partitions.first().map_or(0, |(_, replicas)| *replicas as u32),
                leaders: topic.partitions.iter().map(|(leader, _)| *leader).collect(),
                name: topic.name,
            }),
        }
    }

    /// The time of a topic's newest record, in milliseconds of the wall clock that gave it; none where it has no records or the cluster does not tell.
    pub fn newest_record_ms(&self, topic: &str, partitions: usize) -> Option<i64> {
        let partitions = i32::try_from(partitions).ok()?;
        let times =
            self.patience.ask(TIMEOUT, |timeout| self.client.newest_times(topic, partitions, timeout));
        times.ok()?.into_iter().max()
    }

    /// Configs of a topic; empty when the cluster does not tell.
    pub fn topic_configs(&self, name: &str) -> Properties {
        self.configs(ConfigOf::Topic(name))
    }

    /// Configs of a broker; empty when the cluster does not tell.
    pub fn broker_configs(&self, id: i32) -> Properties {
        self.configs(ConfigOf::Broker(id))
    }

    fn configs(&self, of: ConfigOf<'_>) -> Properties {
        let entries = self.patience.ask(TIMEOUT, |timeout| self.client.configs(of, timeout));
        entries.unwrap_or_default().into_iter().map(|entry| (entry.name, entry.value)).collect()
    }

    /// Configs of a broker or topic, with whether each was set for it alone.
    ///
    /// # Errors
    /// Where the cluster does not tell.
    pub fn config_entries(&self, of: ConfigOf<'_>) -> Result<Vec<ConfigEntry>, LoadError> {
        let what = format!("read the configs of {}", words(of));
        self.patience.anew();
        let entries = self.patience.ask(TIMEOUT, |timeout| self.client.configs(of, timeout));
        entries.map_err(|error| self.refused(error, &what))
    }

    /// Sets one config of a broker or topic, or takes it away so that its default is in force again.
    ///
    /// # Errors
    /// Where the cluster refuses.
    pub fn set_config(&self, of: ConfigOf<'_>, key: &str, value: Option<&str>) -> Result<(), LoadError> {
        let what = format!("set {key} of {}", words(of));
        self.patience.anew();
        let set = self.patience.ask(TIMEOUT, |timeout| self.client.set_config(of, key, value, timeout));
        set.map_err(|error| self.refused(error, &what))
    }
}
fn words(of: ConfigOf<'_>) -> String {
    match of {
        ConfigOf::Topic(name) => format!("topic {name}"),
        ConfigOf::Broker(id) => format!("broker {id}"),
    }
}
