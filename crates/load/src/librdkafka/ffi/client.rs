//! Handles: a client with its event queue, a topic, sending, subscribing, offsets, effective configuration.

use super::event::Event;
use super::strings::{ErrorBuffer, c_string, drop_error, error_name, error_text, text};
use crate::error::LoadError;
use plumb_model::plan::Properties;
use plumb_model::secret::{REDACTED, is_secret};
use rdkafka_sys as sys;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{self, NonNull};
use std::time::Duration;
use sys::types::{RDKafka, RDKafkaTopic};

/// The purpose of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    /// A member of a group.
    Consumer,
    /// Looks at and manages the cluster. A consumer handle without a group, because only such a handle leaves topics
    /// that do not exist alone.
    Admin,
}

/// One client handle with its queue of events.
#[derive(Debug)]
pub(crate) struct Client {
    handle: NonNull<RDKafka>,
    queue: NonNull<sys::rd_kafka_queue_t>,
    role: Role,
}

// SAFETY: librdkafka documents its handles and queues as thread-safe.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

/// The ends of a partition's log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watermarks {
    /// The offset of the first record that is still there.
    pub(crate) low: i64,
    /// The high watermark: the offset after the last record that consumers can read.
    pub(crate) high: i64,
}

impl Client {
    /// Makes a client. Its errors, logs, statistics, deliveries and rebalances come as events.
    pub(crate) fn new(role: Role, properties: &Properties) -> Result<Self, LoadError> {
        let conf = configuration(properties)?;
        let events = sys::RD_KAFKA_EVENT_ERROR
            | sys::RD_KAFKA_EVENT_STATS
            | sys::RD_KAFKA_EVENT_LOG
            | match role {
                Role::Producer => sys::RD_KAFKA_EVENT_DR,
                Role::Consumer => sys::RD_KAFKA_EVENT_REBALANCE | sys::RD_KAFKA_EVENT_OFFSET_COMMIT,
                Role::Admin => sys::RD_KAFKA_EVENT_NONE,
            };
        let kind = match role {
            Role::Producer => sys::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            Role::Consumer | Role::Admin => sys::rd_kafka_type_t::RD_KAFKA_CONSUMER,
        };
        let mut error = ErrorBuffer::new();
        let tokens = uses_tokens(properties);
        // SAFETY: `conf` is ours; rd_kafka_new takes it over unless it fails.
        let handle = unsafe {
            sys::rd_kafka_conf_set_events(conf, events);
            sys::rd_kafka_conf_enable_sasl_queue(conf, i32::from(tokens));
            sys::rd_kafka_new(kind, conf, error.as_mut_ptr(), error.len())
        };
        let Some(handle) = NonNull::new(handle) else {
            // SAFETY: on failure the configuration is still ours.
            unsafe { sys::rd_kafka_conf_destroy(conf) };
            return Err(LoadError::properties(error.text()));
        };
        // SAFETY: the handle is alive; a null queue for logs means the main queue; the queue getters return a new
        // reference that Drop gives back. After poll_set_consumer the consumer queue carries the main queue's events.
        let queue = unsafe {
            sys::rd_kafka_set_log_queue(handle.as_ptr(), ptr::null_mut());
            if tokens {
                // The library then fetches tokens by itself; if it cannot, the login fails and says so.
                drop_error(sys::rd_kafka_sasl_background_callbacks_enable(handle.as_ptr()));
            }
            match role {
                Role::Producer | Role::Admin => sys::rd_kafka_queue_get_main(handle.as_ptr()),
                Role::Consumer => {
                    sys::rd_kafka_poll_set_consumer(handle.as_ptr());
                    sys::rd_kafka_queue_get_consumer(handle.as_ptr())
                }
            }
        };
        match NonNull::new(queue) {
            Some(queue) => Ok(Client { handle, queue, role }),
            None => {
                // SAFETY: the handle is alive and nobody else has it.
                unsafe { sys::rd_kafka_destroy(handle.as_ptr()) };
                Err(LoadError::properties("the library gave no event queue"))
            }
        }
    }

    pub(super) fn handle(&self) -> *mut RDKafka {
        self.handle.as_ptr()
    }

    /// Waits up to `timeout` (whole milliseconds) for an event.
    pub(crate) fn poll(&self, timeout: Duration) -> Option<Event> {
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the queue lives as long as self; the event is ours.
        let event = unsafe { sys::rd_kafka_queue_poll(self.queue.as_ptr(), milliseconds) };
        NonNull::new(event).map(Event::new)
    }

    /// The properties as the library resolved them, by the names that most people use, secrets redacted.
    pub(crate) fn effective(&self) -> Properties {
        let mut properties = Properties::new();
        // SAFETY: the client's configuration belongs to the handle and is only read; the topics' is a copy of ours.
        unsafe {
            let mut count = 0;
            let conf = sys::rd_kafka_conf(self.handle()).cast_mut();
            take_dump(sys::rd_kafka_conf_dump(conf, &mut count), count, &mut properties);
            let topics = sys::rd_kafka_default_topic_conf_dup(self.handle());
            take_dump(sys::rd_kafka_topic_conf_dump(topics, &mut count), count, &mut properties);
            sys::rd_kafka_topic_conf_destroy(topics);
        }
        // Addresses of callbacks and opaque pointers say nothing.
        properties.retain(|key, value| {
            !(value.starts_with("0x") || value == "(nil)" || key.ends_with("_cb") || key == "opaque")
        });
        properties
    }

    /// A topic to send to.
    pub(crate) fn topic(&self, name: &str) -> Result<Topic<'_>, LoadError> {
        let c_name = c_string(name);
        // SAFETY: the handle is alive; a null configuration means the client's defaults.
        let topic = unsafe { sys::rd_kafka_topic_new(self.handle(), c_name.as_ptr(), ptr::null_mut()) };
        match NonNull::new(topic) {
            Some(topic) => Ok(Topic { topic, client: self, name: c_name }),
            None => Err(LoadError::Refused {
                operation: format!("use topic {name:?}"),
                reason: "the client library refuses the name".to_owned(),
            }),
        }
    }

    /// The ends of a partition's log, as the broker says.
    pub(crate) fn watermarks(
        &self,
        topic: &str,
        partition: i32,
        timeout: Duration,
    ) -> Result<Watermarks, String> {
        let topic = c_string(topic);
        let (mut low, mut high) = (0, 0);
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the handle is alive and the out-pointers are valid for the call.
        let code = unsafe {
            sys::rd_kafka_query_watermark_offsets(
                self.handle(),
                topic.as_ptr(),
                partition,
                &mut low,
                &mut high,
                milliseconds,
            )
        };
        if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            Ok(Watermarks { low, high })
        } else {
            Err(format!("{}: {}", error_name(code), error_text(code)))
        }
    }

    /// Joins the group for one topic.
    pub(crate) fn subscribe(&self, topic: &str) -> Result<(), LoadError> {
        let topic = c_string(topic);
        // SAFETY: the list is made, used and destroyed here; subscribe copies it.
        let code = unsafe {
            let list = sys::rd_kafka_topic_partition_list_new(1);
            sys::rd_kafka_topic_partition_list_add(list, topic.as_ptr(), -1);
            let code = sys::rd_kafka_subscribe(self.handle(), list);
            sys::rd_kafka_topic_partition_list_destroy(list);
            code
        };
        if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Ok(());
        }
        Err(LoadError::Refused { operation: "subscribe".to_owned(), reason: error_text(code) })
    }

    /// Commits the offsets at which the client's group begins, by partition; the group has no members yet.
    pub(crate) fn commit(&self, topic: &str, offsets: &[i64]) -> Result<(), String> {
        let topic = c_string(topic);
        // SAFETY: the list is made, used and destroyed here; the handle is alive, and a commit that is not asynchronous has ended.
        let code = unsafe {
            let list =
                sys::rd_kafka_topic_partition_list_new(i32::try_from(offsets.len()).unwrap_or(i32::MAX));
            for (partition, offset) in (0..).zip(offsets) {
                sys::rd_kafka_topic_partition_list_add(list, topic.as_ptr(), partition);
                sys::rd_kafka_topic_partition_list_set_offset(list, topic.as_ptr(), partition, *offset);
            }
            let code = sys::rd_kafka_commit(self.handle(), list, 0);
            sys::rd_kafka_topic_partition_list_destroy(list);
            code
        };
        match code {
            sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
            code => Err(format!("{} ({})", error_text(code), error_name(code))),
        }
    }

    /// Stops receiving from every partition that is held.
    pub(crate) fn pause(&self) {
        self.with_assignment(|list| {
            // SAFETY: the handle is alive and the list is valid for the call.
            unsafe { sys::rd_kafka_pause_partitions(self.handle(), list) };
        });
    }

    /// Goes on receiving from every partition that is held.
    pub(crate) fn resume(&self) {
        self.with_assignment(|list| {
            // SAFETY: the handle is alive and the list is valid for the call.
            unsafe { sys::rd_kafka_resume_partitions(self.handle(), list) };
        });
    }

    fn with_assignment(&self, act: impl FnOnce(*mut sys::rd_kafka_topic_partition_list_t)) {
        let mut list = ptr::null_mut();
        // SAFETY: the handle is alive; the list that is made is ours to destroy.
        unsafe {
            sys::rd_kafka_assignment(self.handle(), &mut list);
            if !list.is_null() {
                act(list);
                sys::rd_kafka_topic_partition_list_destroy(list);
            }
        }
    }

    /// Leaves the group. Events must still be polled until [`Client::is_closed`].
    pub(crate) fn begin_close(&self) {
        // SAFETY: both handles are alive; an error object, if any, is ours to destroy.
        unsafe {
            drop_error(sys::rd_kafka_consumer_close_queue(self.handle(), self.queue.as_ptr()));
        }
    }

    /// True if the group was left.
    pub(crate) fn is_closed(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { sys::rd_kafka_consumer_closed(self.handle()) == 1 }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: last use of both; a producer's unsent messages are purged so that destroying does not wait for them,
        // a consumer that was not closed is not closed now (that would wait for the broker).
        unsafe {
            if self.role == Role::Producer {
                let flags = sys::RD_KAFKA_PURGE_F_QUEUE | sys::RD_KAFKA_PURGE_F_INFLIGHT;
                sys::rd_kafka_purge(self.handle(), flags);
            }
            sys::rd_kafka_queue_destroy(self.queue.as_ptr());
            sys::rd_kafka_destroy_flags(self.handle(), sys::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        }
    }
}

/// Names that librdkafka gives in its dumps, and those of the same properties that people write (CONFIGURATION.md).
const USUAL_NAMES: &[(&str, &str)] = &[
    ("queue.buffering.max.ms", "linger.ms"),
    ("request.required.acks", "acks"),
    ("compression.codec", "compression.type"),
    ("message.send.max.retries", "retries"),
    ("max.in.flight", "max.in.flight.requests.per.connection"),
    ("message.timeout.ms", "delivery.timeout.ms"),
    ("metadata.broker.list", "bootstrap.servers"),
    ("fetch.message.max.bytes", "max.partition.fetch.bytes"),
    ("sasl.mechanisms", "sasl.mechanism"),
];

/// Puts a dump among the properties and frees it.
///
/// # Safety
/// `dump` holds `count` strings, names and values in turn, as the library's dump functions give it.
unsafe fn take_dump(dump: *mut *const c_char, count: usize, properties: &mut Properties) {
    // SAFETY: the caller's promise.
    unsafe {
        for index in (0..count).step_by(2) {
            let name = text(*dump.add(index));
            let usual = USUAL_NAMES.iter().find(|(dumped, _)| *dumped == name);
            let key = usual.map_or(name, |(_, usual)| (*usual).to_owned());
            let value = text(*dump.add(index + 1));
            let value = if is_secret(&key) && !value.is_empty() { REDACTED.to_owned() } else { value };
            // The client's own scope comes first; a topic's default such as `inherit` must not hide it.
            properties.entry(key).or_insert(value);
        }
        sys::rd_kafka_conf_dump_free(dump, count);
    }
}

/// The library's words about a property, with the name that the user gave instead of the library's own.
fn in_the_names_given(key: &str, words: &str) -> String {
    let own = USUAL_NAMES.iter().find(|(_, usual)| *usual == key);
    own.map_or_else(|| words.to_owned(), |(own, _)| words.replace(own, key))
}

/// True if the login is by OAuth tokens, which have to be fetched and renewed.
fn uses_tokens(properties: &Properties) -> bool {
    ["sasl.mechanism", "sasl.mechanisms"]
        .iter()
        .any(|key| properties.get(*key).is_some_and(|mechanism| mechanism == "OAUTHBEARER"))
}

/// A configuration with the properties set. The caller owns it.
fn configuration(properties: &Properties) -> Result<*mut sys::rd_kafka_conf_t, LoadError> {
    // SAFETY: makes a new object that is ours.
    let conf = unsafe { sys::rd_kafka_conf_new() };
    let log_queue = ("log.queue".to_owned(), "true".to_owned());
    for (key, value) in properties.iter().chain([(&log_queue.0, &log_queue.1)]) {
        let (c_key, c_value) = (c_string(key), c_string(value));
        let mut error = ErrorBuffer::new();
        // SAFETY: all pointers are valid for the call; the library copies what it keeps.
        let result = unsafe {
            sys::rd_kafka_conf_set(conf, c_key.as_ptr(), c_value.as_ptr(), error.as_mut_ptr(), error.len())
        };
        if result != sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            // SAFETY: ours, and not used again.
            unsafe { sys::rd_kafka_conf_destroy(conf) };
            let reason =
                if is_secret(key) { "bad value".to_owned() } else { in_the_names_given(key, &error.text()) };
            return Err(LoadError::property(key, value, reason));
        }
    }
    Ok(conf)
}

/// The reason why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProduceError {
    /// The client's queue is full: try again.
    QueueFull,
    /// The message is larger than the client allows.
    TooLarge(String),
    /// Anything else.
    Other { code: String, text: String },
}

/// A topic to send to.
#[derive(Debug)]
pub(crate) struct Topic<'a> {
    topic: NonNull<RDKafkaTopic>,
    client: &'a Client,
    name: CString,
}

// SAFETY: librdkafka documents topic handles as thread-safe.
unsafe impl Send for Topic<'_> {}

impl Topic<'_> {
    /// Hands a message to the client, which copies it. `partition` -1 leaves the choice to the client's partitioner.
    pub(crate) fn produce(
        &self,
        partition: i32,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> Result<(), ProduceError> {
        let (key_pointer, key_len) = key.map_or((ptr::null(), 0), |key| (key.as_ptr(), key.len()));
        // SAFETY: with F_COPY the library copies key and value before it returns, and does not write to them.
        let result = unsafe {
            sys::rd_kafka_produce(
                self.topic.as_ptr(),
                partition,
                sys::RD_KAFKA_MSG_F_COPY,
                value.as_ptr().cast_mut().cast::<c_void>(),
                value.len(),
                key_pointer.cast::<c_void>(),
                key_len,
                ptr::null_mut(),
            )
        };
        if result == 0 {
            return Ok(());
        }
        // SAFETY: reads the thread's last error.
        Err(produce_error(unsafe { sys::rd_kafka_last_error() }))
    }

    /// The same with headers.
    pub(crate) fn produce_with_headers(
        &self,
        partition: i32,
        key: Option<&[u8]>,
        value: &[u8],
        headers: &[(CString, Vec<u8>)],
    ) -> Result<(), ProduceError> {
        use sys::rd_kafka_vtype_t as V;
        let mut arguments: [sys::rd_kafka_vu_t; 16] = [sys::rd_kafka_vu_t {
            vtype: V::RD_KAFKA_VTYPE_END,
            u: sys::rd_kafka_vu_s__bindgen_ty_1 { i: 0 },
        }; 16];
        let mut count = 0;
        let mut push = |vtype, u| {
            arguments[count] = sys::rd_kafka_vu_t { vtype, u };
            count += 1;
        };
        push(V::RD_KAFKA_VTYPE_RKT, sys::rd_kafka_vu_s__bindgen_ty_1 { rkt: self.topic.as_ptr() });
        push(V::RD_KAFKA_VTYPE_PARTITION, sys::rd_kafka_vu_s__bindgen_ty_1 { i32_: partition });
        push(V::RD_KAFKA_VTYPE_MSGFLAGS, sys::rd_kafka_vu_s__bindgen_ty_1 { i: sys::RD_KAFKA_MSG_F_COPY });
        push(V::RD_KAFKA_VTYPE_VALUE, memory(value));
        if let Some(key) = key {
            push(V::RD_KAFKA_VTYPE_KEY, memory(key));
        }
        for (name, header) in headers.iter().take(MAX_HEADERS) {
            let header = sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_2 {
                name: name.as_ptr(),
                val: header.as_ptr().cast::<c_void>(),
                size: header.len() as isize,
            };
            push(V::RD_KAFKA_VTYPE_HEADER, sys::rd_kafka_vu_s__bindgen_ty_1 { header });
        }
        // SAFETY: `count` arguments are filled with the variant that each type asks for; the library copies all.
        unsafe {
            let error = sys::rd_kafka_produceva(self.client.handle(), arguments.as_ptr(), count);
            if error.is_null() {
                return Ok(());
            }
            let code = sys::rd_kafka_error_code(error);
            sys::rd_kafka_error_destroy(error);
            Err(produce_error(code))
        }
    }

    pub(super) fn as_ptr(&self) -> *mut RDKafkaTopic {
        self.topic.as_ptr()
    }

    /// The topic's name.
    pub(crate) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }
}

/// Headers that one message may carry, the stamp's included.
const MAX_HEADERS: usize = 11;

fn memory(bytes: &[u8]) -> sys::rd_kafka_vu_s__bindgen_ty_1 {
    let mem = sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 {
        ptr: bytes.as_ptr().cast_mut().cast::<c_void>(),
        size: bytes.len(),
    };
    sys::rd_kafka_vu_s__bindgen_ty_1 { mem }
}

fn produce_error(code: sys::rd_kafka_resp_err_t) -> ProduceError {
    use sys::rd_kafka_resp_err_t as E;
    match code {
        E::RD_KAFKA_RESP_ERR__QUEUE_FULL => ProduceError::QueueFull,
        E::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE => ProduceError::TooLarge(error_text(code)),
        _ => ProduceError::Other { code: error_name(code), text: error_text(code) },
    }
}

impl Drop for Topic<'_> {
    fn drop(&mut self) {
        // SAFETY: gives back our reference; the client outlives it.
        unsafe { sys::rd_kafka_topic_destroy(self.topic.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_refuses_a_property_by_the_name_that_the_user_gave() {
        let words = "Invalid value \"abc\" for configuration property \"queue.buffering.max.ms\"";
        let said = in_the_names_given("linger.ms", words);
        assert!(said.ends_with("property \"linger.ms\"") && !said.contains("queue"), "{said}");
        assert_eq!(in_the_names_given("queue.buffering.max.ms", words), words);
    }
}
