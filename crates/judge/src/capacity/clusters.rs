//! The plan's brokers in clusters, where a cluster has a largest size.
//!
//! The load is spread evenly over the clusters, each with its own reserve. The largest size of a cluster is the user's own limit:
//! vendors' differ, and so do operators'.

use super::Case;
use super::target::Reserve;
use serde::{Deserialize, Serialize};

/// The plan's brokers in clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clusters {
    /// So many clusters.
    pub clusters: u64,
    /// Brokers of each, a multiple of the zones.
    pub brokers_each: u64,
    /// Brokers in all.
    pub brokers: u64,
}

/// Absent where the target has no limit. `plan_brokers` are those of one cluster without a limit.
pub(super) fn clusters(case: &Case, plan_brokers: u64) -> Option<Clusters> {
    let zones = u64::from(case.target.zones);
    let most = case.target.brokers_per_cluster? / zones * zones;
    // A broker in reserve is one of each cluster; a zone in reserve is a share of each, which is in the count already.
    let spare = u64::from(case.target.reserve == Reserve::Broker);
    let loaded = plan_brokers.saturating_sub(spare).max(1);
    let clusters = loaded.div_ceil(most.saturating_sub(spare).max(1));
    let brokers_each = (loaded.div_ceil(clusters) + spare).div_ceil(zones) * zones;
    Some(Clusters { clusters, brokers_each, brokers: clusters.saturating_mul(brokers_each) })
}
