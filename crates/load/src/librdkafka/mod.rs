//! The librdkafka driver: what an application that uses this client library sees.
//!
//! Properties go to the library as the user wrote them and are read back as the library resolved them. All calls into C
//! are in [`ffi`]; we stay below the safe `rdkafka` crate because that allocates and boxes for every message.

pub mod admin;
pub(crate) mod clients;
pub mod connect;
mod consume;
#[expect(unsafe_code, reason = "librdkafka is a C library; every call into it is in this module")]
pub(crate) mod ffi;
pub mod java;
mod offsets;
mod produce;
mod statistics;

pub(crate) use clients::Clients;

/// Name and version of the library, as it says itself.
pub fn version() -> String {
    format!("librdkafka {}", ffi::library_version())
}
