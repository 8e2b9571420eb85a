//! The growth of the producers' queue at a rate: messages that were due and not yet acknowledged.

use crate::observation::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The queue of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueResult {
    /// Name of the step.
    pub step: String,
    /// Messages due per second.
    pub asked_per_s: f64,
    /// The course of the queue.
    pub course: QueueCourse,
    /// The messages by which it grows in a second: the mean of the blocks. Below 0 it shrinks. Absent where no block is long
    /// enough.
    pub growth_per_s: Option<f64>,
    /// Interval of it over the blocks; absent with fewer than three.
    pub growth_interval: Option<Interval>,
    /// The growth of each block that is long enough: the slope of Theil and Sen over its measured seconds.
    pub growth_of_blocks_per_s: Vec<f64>,
    /// The longest that it was at the end of a second.
    pub longest: f64,
    /// The queues in which its messages wait, and the time at which each is full.
    pub limits: Vec<QueueLimit>,
    /// The queue at the end of each second of each block, warm-up included.
    pub levels: Vec<QueueLevel>,
}

impl QueueResult {
    /// The least and the greatest growth of a block; absent without any.
    pub fn blocks_span(&self) -> Option<(f64, f64)> {
        let growths = || self.growth_of_blocks_per_s.iter().copied();
        growths().reduce(f64::min).zip(growths().reduce(f64::max))
    }
}

/// The course of a queue at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueCourse {
    /// It grows: the path does not keep up.
    Grows,
    /// It does not grow: the path keeps up.
    KeepsUp,
    /// Blocks disagree.
    Unclear,
    /// No block is long enough to tell.
    TooShort,
}

/// Room for a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueLimit {
    /// The setting, with its value as read back, such as `queue.buffering.max.messages 100000`.
    pub setting: String,
    /// Messages of this load that all producers' queues hold.
    pub messages: f64,
    /// Seconds until an empty queue is full at the growth seen.
    pub full_after_s: f64,
}

/// The queue at the end of a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueLevel {
    /// The block's number.
    pub block: u32,
    /// Seconds since the block's first intended send.
    pub second: u32,
    /// True while the warm-up still ran.
    pub warm_up: bool,
    /// Messages due and not yet acknowledged.
    pub messages: f64,
}
