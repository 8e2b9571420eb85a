//! Kafka's own performance tools: their flags as a scenario, a run's document as the lines that they print.
//!
//! The lines have the tools' format to the byte, and the tools' meaning: latency from the actual send to the
//! acknowledgement. What that leaves out is in the notes, which go to standard error.

pub mod consumer;
mod flags;
mod lines;
pub mod producer;
mod properties;
mod windows;

pub use flags::{ConsumerPerfArgs, ConsumerPerfRefused, ProducerPerfArgs, ProducerPerfRefused};
