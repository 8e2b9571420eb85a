//! Drives a Kafka-protocol path with an open-loop load and says what happened to every message.
//!
//! [`block`] runs one block of a step: clients are made, every partition is probed, the schedule is sent, and every
//! message is followed to its acknowledgement and its reception. What happens is pushed as [`observation`]s into a
//! sink. This crate knows no report, computes no interval and prints nothing.
//!
//! Read [`block`] next, then [`librdkafka`] for the client underneath.

mod acknowledged;
pub mod block;
pub mod calibrate;
pub mod clock;
mod consume;
pub mod keys;
pub mod librdkafka;
pub mod observation;
mod pace;
pub mod patience;
pub mod payload;
mod produce;
pub mod schedule;
mod seconds;
pub mod stamp;
mod statistics;
mod unread;
mod verify;
pub mod wire;

mod error;

pub use block::BlockOutcome;
pub use error::LoadError;
pub use plumb_model::random;
