//! Events: deliveries, messages, statistics, errors, logs, rebalances.

use super::strings::{error_name, error_text, text};
use crate::stamp::STAMP_HEADER;
use rdkafka_sys as sys;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// An event of a client's queue.
#[derive(Debug)]
pub(crate) struct Event {
    event: NonNull<sys::rd_kafka_event_t>,
}

/// The content of an event.
#[derive(Debug)]
pub(crate) enum EventView<'a> {
    /// Messages delivered or failed, or one message fetched.
    Messages(Messages<'a>),
    /// The client's statistics, as JSON.
    Statistics(&'a str),
    /// A consumer came to the end of a partition: the offset that the next record will have, whatever lies before it.
    PartitionEnd { partition: i32, offset: i64 },
    /// An error of the client as a whole.
    Error { code: String, text: String, fatal: bool },
    /// A line of the client's log.
    Log { facility: String, text: String },
    /// The group gives or takes partitions.
    Rebalance(Rebalance<'a>),
    /// The result of an administrative request.
    Admin,
    /// An event that we did not ask for.
    Other,
}

impl Event {
    pub(super) fn new(event: NonNull<sys::rd_kafka_event_t>) -> Self {
        Event { event }
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_event_t {
        self.event.as_ptr()
    }

    /// The content of the event.
    pub(crate) fn view(&self) -> EventView<'_> {
        let event = self.event.as_ptr();
        // SAFETY: the event lives as long as self, and each accessor is called only for its own type of event.
        unsafe {
            match sys::rd_kafka_event_type(event) {
                sys::RD_KAFKA_EVENT_DR | sys::RD_KAFKA_EVENT_FETCH => {
                    EventView::Messages(Messages { event, _event: PhantomData })
                }
                sys::RD_KAFKA_EVENT_STATS => {
                    let statistics = CStr::from_ptr(sys::rd_kafka_event_stats(event));
                    EventView::Statistics(statistics.to_str().unwrap_or("{}"))
                }
                sys::RD_KAFKA_EVENT_ERROR => error_view(event),
                sys::RD_KAFKA_EVENT_LOG => {
                    let (mut facility, mut line, mut level) = (ptr::null(), ptr::null(), 0);
                    sys::rd_kafka_event_log(event, &mut facility, &mut line, &mut level);
                    EventView::Log { facility: text(facility), text: text(line) }
                }
                sys::RD_KAFKA_EVENT_REBALANCE => EventView::Rebalance(Rebalance { event: self }),
                sys::RD_KAFKA_EVENT_CREATETOPICS_RESULT
                | sys::RD_KAFKA_EVENT_DELETETOPICS_RESULT
                | sys::RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT
                | sys::RD_KAFKA_EVENT_DELETEGROUPS_RESULT => EventView::Admin,
                _ => EventView::Other,
            }
        }
    }
}

/// The content of an error's event.
///
/// # Safety
/// The event is alive and of that type.
unsafe fn error_view<'a>(event: *mut sys::rd_kafka_event_t) -> EventView<'a> {
    // SAFETY: as the caller says; the place is ours and destroyed once.
    unsafe {
        let code = sys::rd_kafka_event_error(event);
        if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__PARTITION_EOF
            && let Some(place) = NonNull::new(sys::rd_kafka_event_topic_partition(event))
        {
            let (partition, offset) = (place.as_ref().partition, place.as_ref().offset);
            sys::rd_kafka_topic_partition_destroy(place.as_ptr());
            return EventView::PartitionEnd { partition, offset };
        }
        EventView::Error {
            code: error_name(code),
            text: text(sys::rd_kafka_event_error_string(event)),
            fatal: sys::rd_kafka_event_error_is_fatal(event) != 0,
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing borrowed from it is left.
        unsafe { sys::rd_kafka_event_destroy(self.event.as_ptr()) };
    }
}

/// The messages of an event.
#[derive(Debug)]
pub(crate) struct Messages<'a> {
    event: *mut sys::rd_kafka_event_t,
    _event: PhantomData<&'a Event>,
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        // SAFETY: the event is alive for 'a; messages live as long as their event.
        let message = unsafe { sys::rd_kafka_event_message_next(self.event).as_ref() };
        message.map(|message| Message { message })
    }
}

/// A message, on its way out or in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    message: &'a sys::rd_kafka_message_t,
}

/// The end of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delivery {
    Acknowledged,
    /// Surely not stored.
    Failed {
        code: String,
        text: String,
    },
    /// Perhaps stored.
    Unknown {
        code: String,
        text: String,
    },
}

impl<'a> Message<'a> {
    pub(crate) fn partition(self) -> i32 {
        self.message.partition
    }

    pub(crate) fn offset(self) -> i64 {
        self.message.offset
    }

    /// The value.
    pub(crate) fn value(self) -> &'a [u8] {
        if self.message.payload.is_null() {
            return &[];
        }
        // SAFETY: the library says that `len` bytes are there for as long as the message lives.
        unsafe { std::slice::from_raw_parts(self.message.payload.cast::<u8>(), self.message.len) }
    }

    /// The header that carries the stamp, if there is one.
    pub(crate) fn stamp_header(self) -> Option<&'a [u8]> {
        const NAME: &CStr = c"plumb";
        debug_assert_eq!(NAME.to_str(), Ok(STAMP_HEADER));
        let (mut headers, mut value, mut size) = (ptr::null_mut(), ptr::null(), 0);
        // SAFETY: out-pointers are valid; headers and values live as long as the message.
        unsafe {
            let none = sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
            if sys::rd_kafka_message_headers(self.message, &mut headers) != none
                || sys::rd_kafka_header_get_last(headers, NAME.as_ptr(), &mut value, &mut size) != none
                || value.is_null()
            {
                return None;
            }
            Some(std::slice::from_raw_parts(value.cast::<u8>(), size))
        }
    }

    /// Error of a fetched message: name and sentence.
    pub(crate) fn error(self) -> Option<(String, String)> {
        let code = self.message.err;
        (code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR)
            .then(|| (error_name(code), error_text(code)))
    }

    /// The end of the delivery of a sent message.
    pub(crate) fn delivery(self) -> Delivery {
        use sys::rd_kafka_msg_status_t as S;
        let Some((code, text)) = self.error() else { return Delivery::Acknowledged };
        // SAFETY: the message is alive.
        match unsafe { sys::rd_kafka_message_status(self.message) } {
            S::RD_KAFKA_MSG_STATUS_NOT_PERSISTED => Delivery::Failed { code, text },
            _ => Delivery::Unknown { code, text },
        }
    }

    /// The broker's append time in milliseconds of the epoch, where the topic keeps that.
    pub(crate) fn append_time_ms(self) -> Option<i64> {
        let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is alive and the out-pointer valid.
        let time = unsafe { sys::rd_kafka_message_timestamp(self.message, &mut kind) };
        (kind == sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME && time >= 0)
            .then_some(time)
    }
}

/// The group gives or takes partitions; the client waits for the answer.
#[derive(Debug)]
pub(crate) struct Rebalance<'a> {
    pub(super) event: &'a Event,
}
