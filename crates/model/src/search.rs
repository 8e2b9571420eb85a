//! The search for the highest rate at which a latency goal holds: what was tried, and what came of it.

use crate::plan::Goal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the search for the highest rate that holds a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The goal.
    pub goal: Goal,
    /// Highest rate that was confirmed to hold, messages per second: the lower end of the interval in which the path's
    /// own limit lies. Absent when no rate was.
    pub rate_low_per_s: Option<f64>,
    /// Lowest rate above it that was confirmed not to hold: the upper end. Absent when no such rate was found.
    pub rate_high_per_s: Option<f64>,
    /// The reason why there is no more above; absent while the search goes on.
    pub bounded_by: Option<SearchBound>,
    /// Every rate that was tried, in order. Older documents call them `trials`.
    #[serde(alias = "trials")]
    pub tries: Vec<Try>,
}

/// The reason why a search ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchBound {
    /// The path: above the interval it does not hold the goal.
    Path,
    /// The generator: it could not send more at its times, so the path may hold more.
    Generator,
    /// The highest rate that a plan may ask for held.
    RateMost,
    /// Not even the lowest rate tried held.
    NothingHolds,
    /// Equal rates held and did not hold, until there was no more time: the interval is wider than was aimed at.
    Unsettled,
}

/// One rate tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Try {
    /// Messages per second asked for.
    pub rate_per_s: f64,
    /// Its purpose.
    pub purpose: TryPurpose,
    /// What came of it. Older documents call it `verdict`.
    #[serde(alias = "verdict")]
    pub outcome: TryOutcome,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Length of its measured part.
    pub measured_s: f64,
    /// Rate reached.
    pub achieved_per_s: Option<f64>,
    /// The goal's quantile of the goal's latency; absent with too few samples.
    pub quantile_ns: Option<u64>,
    /// Samples behind it.
    pub samples: u64,
    /// Share of its time in which some thread of the generator's host waited for a processor; absent where the host does not
    /// tell.
    pub processor_wait_share: Option<f64>,
    /// Share of the processors' time that the hypervisor took from that host; absent where the host does not tell.
    pub steal_share: Option<f64>,
    /// The reasons why it did not hold, in words; empty when it did.
    pub reasons: Vec<String>,
}

/// The purpose of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryPurpose {
    /// From below, each rate a multiple of the one before, until one does not hold.
    Climb,
    /// Halving what lies between the highest that held and the lowest that did not.
    Narrow,
    /// From above: whether a rate that held on the way up also holds right after one that did not.
    Descend,
    /// At full length, with clients of its own.
    Confirm,
}

/// The outcome of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// The goal held, the path kept up, and nothing was lost or failed.
    Holds,
    /// The latency was above its limit, the path fell behind, or messages were lost or failed.
    Fails,
    /// The generator could not keep the times that it was asked for: the try says nothing of the path.
    GeneratorBound,
    /// Too few samples for the quantile.
    TooFew,
}
