//! The librdkafka driver: what an application that uses this client library sees.
//!
//! Properties go to the library as the user wrote them and are read back as the library resolved them. All calls into C
//! are in [`ffi`]; we stay below the safe `rdkafka` crate because that allocates and boxes for every message.

pub mod admin;
pub(crate) mod clients;
pub mod connect;
mod consume;
#[expect(unsafe_code, reason = "librdkafka is a C library; every call into it is in this module")]
mod ffi;
pub mod java;
mod offsets;
mod produce;
mod statistics;

pub(crate) use clients::Clients;
pub(crate) use ffi::{Client, Delivery, EventView, Message, ProduceError, Role, Topic};

/// Name and version of the library, as it says itself.
pub fn version() -> String {
    format!("librdkafka {}", ffi::library_version())
}

/// Whether a property's value must never be shown.
pub fn is_secret(key: &str) -> bool {
    const SECRET: &[&str] =
        &["password", "secret", "key.pem", "jaas", "oauthbearer.config", "token", "private"];
    SECRET.iter().any(|part| key.contains(part))
}

/// What is shown instead of a secret.
pub const REDACTED: &str = "[redacted]";
