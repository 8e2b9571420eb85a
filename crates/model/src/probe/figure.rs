//! A figure that was measured several times over.

use crate::observation::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The median of several short measurements (blocks), with how far they lay apart. The unit is in the name of the field
/// that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The middle one: a neighbour who disturbs less than half of the blocks does not move it.
    pub median: f64,
    /// Interval of the median, from the ranks that enclose it; absent below 6 blocks.
    pub interval: Option<Interval>,
    /// The lowest block.
    pub lowest: f64,
    /// The highest block.
    pub highest: f64,
    /// Number of blocks.
    pub blocks: u32,
}
