//! Every call into the C library, behind types that cannot be misused.
//!
//! A [`Client`] owns one handle and its event queue; an [`Event`] owns what the queue gave; a [`Message`] borrows from its
//! event. `rd_kafka_t` and its queues are documented as thread-safe, so a client may be shared between threads.

mod admin;
mod client;
mod event;
mod rebalance;
mod strings;

pub(crate) use admin::{AdminError, MetadataOf};
pub use admin::{ConfigEntry, ConfigOf, Replicas};
pub(crate) use client::{Client, ProduceError, Role, Topic, Watermarks};
pub(crate) use event::{Delivery, EventView, Message};
pub(crate) use strings::library_version;
