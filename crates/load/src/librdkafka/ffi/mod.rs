//! Every call into the C library, behind types that cannot be misused.
//!
//! A [`Client`] owns one handle and its event queue; an [`Event`] owns what the queue gave; a [`Message`] borrows from its
//! event. `rd_kafka_t` and its queues are documented as thread-safe, so a client may be shared between threads.

mod admin;
mod client;
mod event;

pub(crate) use admin::{AdminError, ConfigOf, MetadataOf};
pub(crate) use client::{Client, ProduceError, Role, Topic};
pub(crate) use event::{Delivery, EventView, Message};

use rdkafka_sys as sys;
use std::ffi::{CStr, CString, c_char};

/// Version of the library.
pub(crate) fn library_version() -> String {
    // SAFETY: returns a pointer to a static string.
    unsafe { text(sys::rd_kafka_version_str()) }
}

/// Copies a C string; empty for null.
///
/// # Safety
/// `pointer` is null or points to a string that ends with a zero byte and stays unchanged during the call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A C string; a zero byte inside ends it early, as C would.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// The library's name of an error code, without the enum's prefix (`UNKNOWN_TOPIC_OR_PART`, `_TRANSPORT`).
fn error_name(code: sys::rd_kafka_resp_err_t) -> String {
    // SAFETY: returns a pointer to a static string for every code.
    unsafe { text(sys::rd_kafka_err2name(code)) }
}

/// The library's sentence for an error code.
fn error_text(code: sys::rd_kafka_resp_err_t) -> String {
    // SAFETY: returns a pointer to a static string for every code.
    unsafe { text(sys::rd_kafka_err2str(code)) }
}

/// Room for the library's error messages.
struct ErrorBuffer([c_char; 512]);

impl ErrorBuffer {
    fn new() -> Self {
        ErrorBuffer([0; 512])
    }

    fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn text(&self) -> String {
        // SAFETY: the buffer starts zeroed and the library ends what it writes with a zero byte.
        unsafe { text(self.0.as_ptr()) }
    }
}

/// # Safety
/// `error` is null or an error object that the caller owns.
unsafe fn drop_error(error: *mut sys::rd_kafka_error_t) {
    if !error.is_null() {
        // SAFETY: the caller's promise.
        unsafe { sys::rd_kafka_error_destroy(error) };
    }
}
