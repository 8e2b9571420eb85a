//! Drives a Kafka-protocol path with an open-loop load and says what happened to every message.
//!
//! [`block`] runs one block of a step: clients are made, every partition is probed, the schedule is sent, and every
//! message is followed to its acknowledgement and its reception. What happens is pushed as [`observation`]s into a
//! sink. This crate knows no report, computes no interval and prints nothing.
//!
//! Arrows between its files: [`block`] makes the clients of a driver (`librdkafka`, `wire`, `external`) and knows which one it is; a driver knows the
//! job that it is given (`job`), what its threads share with the block (`shared`), and the outcome that each client comes to
//! (`client_outcome`), and not the block.
//!
//! Read [`block`] next, then [`librdkafka`] for the client underneath.

mod acknowledged;
pub mod block;
pub mod calibrate;
mod client_outcome;
pub mod clock;
mod consume;
mod error_counts;
pub mod external;
mod job;
pub mod keys;
pub mod librdkafka;
pub mod observation;
pub mod one_sided;
mod pace;
pub mod patience;
pub mod payload;
mod produce;
pub mod remote;
pub mod schedule;
mod seconds;
mod segment;
mod shared;
pub mod stamp;
mod statistics;
mod unread;
mod verify;
pub mod wire;

mod error;

pub use block::BlockOutcome;
pub use error::LoadError;
pub use plumb_model::random;
pub use segment::Segment;
