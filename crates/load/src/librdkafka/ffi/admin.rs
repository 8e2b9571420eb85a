//! Administrative requests and metadata.

use super::client::Client;
use super::event::Event;
use super::strings::{ErrorBuffer, c_string, error_name, error_text, text};
use plumb_model::plan::Properties;
use rdkafka_sys as sys;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// The placement of the replicas of a new topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// So many replicas of each partition, wherever the cluster puts them.
    Number(u32),
    /// One replica of each partition, on the broker of this id.
    On(i32),
}

/// An error of an administrative request: the library's name and sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdminError {
    pub(crate) code: String,
    pub(crate) text: String,
}

/// The cluster's metadata.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    pub(crate) brokers: Vec<(i32, String, i32)>,
    pub(crate) topics: Vec<TopicMetadata>,
}

/// The metadata of a topic.
#[derive(Debug, Clone)]
pub(crate) struct TopicMetadata {
    pub(crate) name: String,
    pub(crate) error: Option<AdminError>,
    /// Leader and number of replicas, by partition.
    pub(crate) partitions: Vec<(i32, usize)>,
}

/// The resource whose configs are to be read.
#[derive(Debug, Clone, Copy)]
pub enum ConfigOf<'a> {
    /// A topic, by its name.
    Topic(&'a str),
    /// A broker, by its number.
    Broker(i32),
}

/// A config as the cluster tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its key.
    pub name: String,
    /// The value in force; of a secret, a word that says so.
    pub value: String,
    /// True if the value is kept from everybody.
    pub is_secret: bool,
    /// True if it cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// True if it was set for this topic or broker alone while the cluster ran, and can be taken away again.
    pub is_own: bool,
}

fn resource(of: ConfigOf<'_>) -> (sys::rd_kafka_ResourceType_t, std::ffi::CString) {
    use sys::rd_kafka_ResourceType_t as T;
    match of {
        ConfigOf::Topic(name) => (T::RD_KAFKA_RESOURCE_TOPIC, c_string(name)),
        ConfigOf::Broker(id) => (T::RD_KAFKA_RESOURCE_BROKER, c_string(&id.to_string())),
    }
}

fn admin_error(code: sys::rd_kafka_resp_err_t, detail: String) -> AdminError {
    let text = if detail.is_empty() { error_text(code) } else { detail };
    AdminError { code: error_name(code), text }
}

fn timeout_ms(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
}

/// The topics to ask for beside the brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetadataOf<'a> {
    Brokers,
    Topic(&'a str),
    AllTopics,
}

impl Client {
    /// Brokers, and the topic asked about (none: brokers only).
    pub(crate) fn metadata(&self, of: MetadataOf<'_>, timeout: Duration) -> Result<Metadata, AdminError> {
        let topic = match of {
            MetadataOf::Topic(name) => Some(name),
            MetadataOf::Brokers | MetadataOf::AllTopics => None,
        };
        let topic = topic
            .map(|name| self.topic(name))
            .transpose()
            .map_err(|error| AdminError { code: "_INVALID_ARG".to_owned(), text: error.to_string() })?;
        let only = topic.as_ref().map_or(ptr::null_mut(), |topic| topic.as_ptr());
        let all = i32::from(of == MetadataOf::AllTopics);
        let mut found = ptr::null();
        // SAFETY: handle and topic are alive; on success `found` is ours until it is destroyed below.
        unsafe {
            let code = sys::rd_kafka_metadata(self.handle(), all, only, &mut found, timeout_ms(timeout));
            if code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(admin_error(code, String::new()));
            }
            let metadata = read_metadata(&*found);
            sys::rd_kafka_metadata_destroy(found);
            Ok(metadata)
        }
    }

    /// The cluster's id.
    pub(crate) fn cluster_id(&self, timeout: Duration) -> Option<String> {
        // SAFETY: the handle is alive; the string is ours to free.
        unsafe {
            let id = sys::rd_kafka_clusterid(self.handle(), timeout_ms(timeout));
            if id.is_null() {
                return None;
            }
            let copy = text(id);
            sys::rd_kafka_mem_free(self.handle(), id.cast::<c_void>());
            Some(copy)
        }
    }

    /// Makes a topic.
    pub(crate) fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        replicas: Replicas,
        configs: &Properties,
        timeout: Duration,
    ) -> Result<(), AdminError> {
        let c_name = c_string(name);
        let mut error = ErrorBuffer::new();
        let replication = match replicas {
            Replicas::Number(number) => i32::try_from(number).unwrap_or(i32::MAX),
            // The brokers are named below, partition by partition.
            Replicas::On(_) => -1,
        };
        // SAFETY: every object is made, used and destroyed here; the request copies what it needs.
        unsafe {
            let topic = sys::rd_kafka_NewTopic_new(
                c_name.as_ptr(),
                partitions,
                replication,
                error.as_mut_ptr(),
                error.len(),
            );
            if topic.is_null() {
                return Err(AdminError { code: "_INVALID_ARG".to_owned(), text: error.text() });
            }
            if let Replicas::On(broker) = replicas
                && let Err(text) = place(topic, partitions, broker, &mut error)
            {
                sys::rd_kafka_NewTopic_destroy(topic);
                return Err(AdminError { code: "_INVALID_ARG".to_owned(), text });
            }
            for (key, value) in configs {
                let (key, value) = (c_string(key), c_string(value));
                sys::rd_kafka_NewTopic_set_config(topic, key.as_ptr(), value.as_ptr());
            }
            let mut topics = [topic];
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_CreateTopics(self.handle(), topics.as_mut_ptr(), 1, ptr::null(), queue);
            });
            sys::rd_kafka_NewTopic_destroy(topic);
            let answer = answer?;
            let result = sys::rd_kafka_event_CreateTopics_result(answer.as_ptr());
            let mut count = 0;
            topic_results(sys::rd_kafka_CreateTopics_result_topics(result, &mut count), count)
        }
    }

    /// The times of the newest records of a topic's partitions, in milliseconds of the wall clock that gave them: by their largest time, wherever in the
    /// log it is. Partitions without records are left out. No record is read.
    pub(crate) fn newest_times(
        &self,
        name: &str,
        partitions: i32,
        timeout: Duration,
    ) -> Result<Vec<i64>, AdminError> {
        let name = c_string(name);
        let by_largest_time = sys::rd_kafka_OffsetSpec_t::RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP as i64;
        // SAFETY: the list is made, used and destroyed here, the request copies it, and the answer outlives what is read of it.
        unsafe {
            let list = sys::rd_kafka_topic_partition_list_new(partitions);
            for partition in 0..partitions {
                let entry = sys::rd_kafka_topic_partition_list_add(list, name.as_ptr(), partition);
                (*entry).offset = by_largest_time;
            }
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_ListOffsets(self.handle(), list, ptr::null(), queue);
            });
            sys::rd_kafka_topic_partition_list_destroy(list);
            let answer = answer?;
            let result = sys::rd_kafka_event_ListOffsets_result(answer.as_ptr());
            let mut count = 0;
            let infos = sys::rd_kafka_ListOffsets_result_infos(result, &mut count);
            let times = (0..count).map(|at| sys::rd_kafka_ListOffsetsResultInfo_timestamp(*infos.add(at)));
            Ok(times.filter(|time_ms| *time_ms >= 0).collect())
        }
    }

    /// Deletes a topic.
    pub(crate) fn delete_topic(&self, name: &str, timeout: Duration) -> Result<(), AdminError> {
        let name = c_string(name);
        // SAFETY: as in create_topic.
        unsafe {
            let topic = sys::rd_kafka_DeleteTopic_new(name.as_ptr());
            let mut topics = [topic];
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_DeleteTopics(self.handle(), topics.as_mut_ptr(), 1, ptr::null(), queue);
            });
            sys::rd_kafka_DeleteTopic_destroy(topic);
            let answer = answer?;
            let result = sys::rd_kafka_event_DeleteTopics_result(answer.as_ptr());
            let mut count = 0;
            topic_results(sys::rd_kafka_DeleteTopics_result_topics(result, &mut count), count)
        }
    }

    /// Deletes a consumer group.
    pub(crate) fn delete_group(&self, group: &str, timeout: Duration) -> Result<(), AdminError> {
        let group = c_string(group);
        // SAFETY: as in create_topic.
        unsafe {
            let request = sys::rd_kafka_DeleteGroup_new(group.as_ptr());
            let mut requests = [request];
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_DeleteGroups(self.handle(), requests.as_mut_ptr(), 1, ptr::null(), queue);
            });
            sys::rd_kafka_DeleteGroup_destroy(request);
            answer.map(drop)
        }
    }

    /// Sets a config of a topic or broker, or takes it away so that its default is in force again. The other ones stay.
    pub(crate) fn set_config(
        &self,
        of: ConfigOf<'_>,
        key: &str,
        value: Option<&str>,
        timeout: Duration,
    ) -> Result<(), AdminError> {
        use sys::rd_kafka_AlterConfigOpType_t as Op;
        let (kind, name) = resource(of);
        let (key, text_of) = (c_string(key), c_string(value.unwrap_or_default()));
        let (op, given) = match value {
            Some(_) => (Op::RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, text_of.as_ptr()),
            None => (Op::RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE, ptr::null()),
        };
        let invalid = |text: String| AdminError { code: "_INVALID_ARG".to_owned(), text };
        // SAFETY: as in create_topic; the texts are copied, and the resources belong to the answer.
        unsafe {
            let resource = sys::rd_kafka_ConfigResource_new(kind, name.as_ptr());
            if resource.is_null() {
                return Err(invalid("no such resource".to_owned()));
            }
            let refused =
                sys::rd_kafka_ConfigResource_add_incremental_config(resource, key.as_ptr(), op, given);
            if !refused.is_null() {
                let words = text(sys::rd_kafka_error_string(refused));
                sys::rd_kafka_error_destroy(refused);
                sys::rd_kafka_ConfigResource_destroy(resource);
                return Err(invalid(words));
            }
            let mut resources = [resource];
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_IncrementalAlterConfigs(
                    self.handle(),
                    resources.as_mut_ptr(),
                    1,
                    ptr::null(),
                    queue,
                );
            });
            sys::rd_kafka_ConfigResource_destroy(resource);
            let answer = answer?;
            let result = sys::rd_kafka_event_IncrementalAlterConfigs_result(answer.as_ptr());
            let mut count = 0;
            let found = sys::rd_kafka_IncrementalAlterConfigs_result_resources(result, &mut count);
            if found.is_null() || count == 0 {
                return Err(invalid("the cluster did not say what became of it".to_owned()));
            }
            match sys::rd_kafka_ConfigResource_error(*found) {
                sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
                code => Err(admin_error(code, text(sys::rd_kafka_ConfigResource_error_string(*found)))),
            }
        }
    }

    /// Reads the configs of a topic or broker.
    pub(crate) fn configs(
        &self,
        of: ConfigOf<'_>,
        timeout: Duration,
    ) -> Result<Vec<ConfigEntry>, AdminError> {
        let (kind, name) = resource(of);
        // SAFETY: as in create_topic; the resources belong to the answer.
        unsafe {
            let resource = sys::rd_kafka_ConfigResource_new(kind, name.as_ptr());
            if resource.is_null() {
                return Err(AdminError {
                    code: "_INVALID_ARG".to_owned(),
                    text: "no such resource".to_owned(),
                });
            }
            let mut resources = [resource];
            let answer = self.ask(timeout, |queue| {
                sys::rd_kafka_DescribeConfigs(self.handle(), resources.as_mut_ptr(), 1, ptr::null(), queue);
            });
            sys::rd_kafka_ConfigResource_destroy(resource);
            let answer = answer?;
            let result = sys::rd_kafka_event_DescribeConfigs_result(answer.as_ptr());
            let mut count = 0;
            let found = sys::rd_kafka_DescribeConfigs_result_resources(result, &mut count);
            if found.is_null() || count == 0 {
                return Ok(Vec::new());
            }
            let found = *found;
            let code = sys::rd_kafka_ConfigResource_error(found);
            if code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(admin_error(code, text(sys::rd_kafka_ConfigResource_error_string(found))));
            }
            Ok(read_configs(found))
        }
    }

    /// Sends a request that answers into a queue of its own, and waits for the answer.
    fn ask(
        &self,
        timeout: Duration,
        send: impl FnOnce(*mut sys::rd_kafka_queue_t),
    ) -> Result<Event, AdminError> {
        // SAFETY: the queue is made, used and destroyed here; the event is ours.
        unsafe {
            let queue = sys::rd_kafka_queue_new(self.handle());
            send(queue);
            let event = sys::rd_kafka_queue_poll(queue, timeout_ms(timeout));
            sys::rd_kafka_queue_destroy(queue);
            let Some(event) = NonNull::new(event).map(Event::new) else {
                let text = format!("no answer within {} s", timeout.as_secs_f64());
                return Err(AdminError { code: "_TIMED_OUT".to_owned(), text });
            };
            let code = sys::rd_kafka_event_error(event.as_ptr());
            if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Ok(event);
            }
            Err(admin_error(code, text(sys::rd_kafka_event_error_string(event.as_ptr()))))
        }
    }
}

/// Puts every partition of a new topic on one broker.
///
/// # Safety
/// `topic` is what rd_kafka_NewTopic_new gave for that number of partitions.
unsafe fn place(
    topic: *mut sys::rd_kafka_NewTopic_t,
    partitions: i32,
    broker: i32,
    error: &mut ErrorBuffer,
) -> Result<(), String> {
    let mut brokers = [broker];
    for partition in 0..partitions {
        // SAFETY: the list is copied.
        let code = unsafe {
            sys::rd_kafka_NewTopic_set_replica_assignment(
                topic,
                partition,
                brokers.as_mut_ptr(),
                brokers.len(),
                error.as_mut_ptr(),
                error.len(),
            )
        };
        if code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(error.text());
        }
    }
    Ok(())
}

/// # Safety
/// `metadata` is what rd_kafka_metadata gave.
unsafe fn read_metadata(metadata: &sys::rd_kafka_metadata) -> Metadata {
    // SAFETY: the library fills each array with as many elements as its count says.
    unsafe {
        let brokers = array(metadata.brokers, metadata.broker_cnt);
        let topics = array(metadata.topics, metadata.topic_cnt);
        Metadata {
            brokers: brokers.iter().map(|broker| (broker.id, text(broker.host), broker.port)).collect(),
            topics: topics
                .iter()
                .map(|topic| TopicMetadata {
                    name: text(topic.topic),
                    error: (topic.err != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR)
                        .then(|| admin_error(topic.err, String::new())),
                    partitions: array(topic.partitions, topic.partition_cnt)
                        .iter()
                        .map(|partition| {
                            (partition.leader, usize::try_from(partition.replica_cnt).unwrap_or(0))
                        })
                        .collect(),
                })
                .collect(),
        }
    }
}

/// # Safety
/// `pointer` is null or points to `count` elements that live as long as the slice is used.
unsafe fn array<'a, T>(pointer: *const T, count: i32) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's promise.
        Ok(count) if !pointer.is_null() => unsafe { std::slice::from_raw_parts(pointer, count) },
        _ => &[],
    }
}

/// # Safety
/// `results` is the array of `count` results that belongs to an event that is alive.
unsafe fn topic_results(
    results: *mut *const sys::rd_kafka_topic_result_t,
    count: usize,
) -> Result<(), AdminError> {
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let result = *results.add(index);
            let code = sys::rd_kafka_topic_result_error(result);
            if code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(admin_error(code, text(sys::rd_kafka_topic_result_error_string(result))));
            }
        }
    }
    Ok(())
}

/// # Safety
/// `resource` belongs to an event that is alive.
unsafe fn read_configs(resource: *const sys::rd_kafka_ConfigResource_t) -> Vec<ConfigEntry> {
    use sys::rd_kafka_ConfigSource_t as Source;
    let mut configs = Vec::new();
    // SAFETY: the entries belong to the resource.
    unsafe {
        let mut count = 0;
        let entries = sys::rd_kafka_ConfigResource_configs(resource, &mut count);
        for index in 0..count {
            let entry = *entries.add(index);
            let is_secret = sys::rd_kafka_ConfigEntry_is_sensitive(entry) != 0;
            let value = match is_secret {
                false => text(sys::rd_kafka_ConfigEntry_value(entry)),
                true => plumb_model::secret::REDACTED.to_owned(),
            };
            configs.push(ConfigEntry {
                name: text(sys::rd_kafka_ConfigEntry_name(entry)),
                value,
                is_secret,
                is_read_only: sys::rd_kafka_ConfigEntry_is_read_only(entry) != 0,
                is_own: matches!(
                    sys::rd_kafka_ConfigEntry_source(entry),
                    Source::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG
                        | Source::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG
                ),
            });
        }
    }
    configs
}
