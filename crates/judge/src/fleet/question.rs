//! The question that a fleet's table answers.

use plumb_model::fleet::SampleKind;
use plumb_model::trial::Good;

/// A label by which servers are alike enough to be compared first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stratum {
    /// Site.
    Site,
    /// Hardware.
    Hardware,
}

/// Seconds of a day.
pub(super) const DAY_S: u64 = 86_400;

/// The time of a surge as a user gives it, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurgeTime {
    /// Its beginning.
    pub from_s: i64,
    /// Its end; none: it went on to the end of the figures.
    pub until_s: Option<i64>,
}

/// The question, with all that a verdict needs beside the table.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetQuestion {
    /// The metric's name.
    pub metric: String,
    /// The kind of its samples.
    pub metric_kind: SampleKind,
    /// The load's name; none: there is no load, and nothing is adjusted.
    pub load: Option<String>,
    /// The good direction.
    pub good: Good,
    /// The time of the change, in seconds since 1970.
    pub changed_at_s: i64,
    /// Length of an interval; days may be an hour shorter or longer.
    pub interval_s: u64,
    /// Differences up to this count as none.
    pub margin: f64,
    /// Confidence level.
    pub level: f64,
    /// Servers are compared within these.
    pub strata: Vec<Stratum>,
    /// The time of a surge, where the user knows it.
    pub surge: Option<SurgeTime>,
    /// Servers of the whole fleet, for the roll-out; none: those of the table.
    pub fleet_servers: Option<u32>,
    /// Seed of the permutations.
    pub seed: u64,
    /// For the result.
    pub plumb_version: String,
}
