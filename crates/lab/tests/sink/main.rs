//! The sink broker with a real client: what it says it does is what librdkafka sees.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod faults;
mod groups;
mod path;
mod strangers;
mod wire;
