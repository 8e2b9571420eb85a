//! Strings and errors of the C library as ours: copied, named, and freed.

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
pub(super) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A C string; a zero byte inside ends it early, as C would.
pub(super) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// The library's name of an error code, without the enum's prefix (`UNKNOWN_TOPIC_OR_PART`, `_TRANSPORT`).
pub(super) fn error_name(code: sys::rd_kafka_resp_err_t) -> String {
    // SAFETY: returns a pointer to a static string for every code.
    unsafe { text(sys::rd_kafka_err2name(code)) }
}

/// The library's sentence for an error code.
pub(super) fn error_text(code: sys::rd_kafka_resp_err_t) -> String {
    // SAFETY: returns a pointer to a static string for every code.
    unsafe { text(sys::rd_kafka_err2str(code)) }
}

/// Room for the library's error messages.
pub(super) struct ErrorBuffer([c_char; 512]);

impl ErrorBuffer {
    pub(super) fn new() -> Self {
        ErrorBuffer([0; 512])
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn text(&self) -> String {
        // SAFETY: the buffer starts zeroed and the library ends what it writes with a zero byte.
        unsafe { text(self.0.as_ptr()) }
    }
}

/// # Safety
/// `error` is null or an error object that the caller owns.
pub(super) unsafe fn drop_error(error: *mut sys::rd_kafka_error_t) {
    if !error.is_null() {
        // SAFETY: the caller's promise.
        unsafe { sys::rd_kafka_error_destroy(error) };
    }
}
