//! What is asked of a fleet's table.

use plumb_model::fleet::SampleKind;
use plumb_model::trial::Good;

/// What makes servers alike enough to be held against each other first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stratum {
    /// Site.
    Site,
    /// Hardware.
    Hardware,
}

/// The question, with all that a verdict needs beside the table.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetQuestion {
    /// The metric's name.
    pub metric: String,
    /// How its samples became values.
    pub metric_kind: SampleKind,
    /// The load's name; none: there is no load, and nothing is adjusted.
    pub load: Option<String>,
    /// Which direction is good.
    pub good: Good,
    /// When the change came, seconds since 1970.
    pub changed_at_s: i64,
    /// Length of an interval; days may be an hour shorter or longer.
    pub interval_s: u64,
    /// Differences up to this count as none.
    pub margin: f64,
    /// Confidence level.
    pub level: f64,
    /// Servers are compared within these.
    pub strata: Vec<Stratum>,
    /// From when to when a surge was, where the user knows; seconds since 1970.
    pub surge_s: Option<(i64, Option<i64>)>,
    /// Servers of the whole fleet, for the roll-out; none: those of the table.
    pub fleet_servers: Option<u32>,
    /// Seed of the permutations.
    pub seed: u64,
    /// For the result.
    pub plumb_version: String,
}
