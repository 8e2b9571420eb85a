//! The brokers that a load needs: the result of a sizing.

use super::bound::{Bound, BoundName};
use super::clusters::Clusters;
use super::failure::FailureMode;
use super::flip::FlipTest;
use super::flows::Flows;
use super::zones::CrossZone;
use serde::{Deserialize, Serialize};

/// The needs of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// By the hard bounds.
    pub physics: Count,
    /// With headroom.
    pub plan: Count,
    /// The plan in clusters; absent where the target does not say how many brokers one may have.
    pub clusters: Option<Clusters>,
    /// So many brokers bear the share of the load that a run has already put on one; no bound, but proof.
    pub proven_brokers: Option<u64>,
    /// Brokers that the target says are there.
    pub stated: Option<Count>,
    /// Bytes in tiered storage, one copy of all; absent without it, and where the retention is not told.
    pub tiered_bytes: Option<f64>,
    /// The traffic between zones; absent where there is one zone.
    pub cross_zone: Option<CrossZone>,
    /// True if a rate decides the count of physics; else space, copies or numbers of things do.
    pub throughput_bound: bool,
    /// Every bound.
    pub bounds: Vec<Bound>,
    /// With something down.
    pub failure_modes: Vec<FailureMode>,
    /// The experiment that shows whether the binding bound is the true one.
    pub flip_test: Option<FlipTest>,
    /// Demands that no number of brokers meets, and disagreements with a measurement, each as a sentence.
    pub unreachable: Vec<String>,
    /// Advice, one sentence each.
    pub advice: Vec<String>,
}

/// A number of brokers and what decides it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// So many.
    pub brokers: u64,
    /// The bound that asks for most of them; of a stated count, the fullest. Absent when no bound is known.
    pub binding: Option<BoundName>,
    /// The share of the fullest bound's resource that is used, by the hard bound; absent when none is a rate.
    pub fullest_share: Option<f64>,
    /// The rate that is fullest.
    pub fullest: Option<BoundName>,
    /// Bounds of which a figure is missing: the count is a lower bound when there are any.
    pub unknown_bounds: Vec<BoundName>,
    /// The flows through each broker at that count.
    pub flows: Flows,
}
