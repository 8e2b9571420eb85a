//! The traffic between zones, which clouds charge for and links between sites have to carry.
//!
//! Replicas are taken to be spread over the zones as evenly as they can be (`broker.rack` is set), leaders, producers and
//! consumers evenly over all zones. Each flow is a multiple of what producers send, so it holds for the peak and for the mean.

use super::Case;
use serde::{Deserialize, Serialize};

/// The traffic between zones of the whole cluster; shares are of the bytes that producers send.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CrossZone {
    /// From producers to leaders in another zone.
    pub producers_share: f64,
    /// From leaders to followers in another zone.
    pub replication_share: f64,
    /// From leaders to consumers in another zone.
    pub consumers_share: f64,
    /// The same when consumers fetch from the closest replica (`client.rack` and a replica selector are set).
    pub consumers_share_from_closest: f64,
    /// From producers in all, at the peak.
    pub peak_bytes_per_s: f64,
    /// From producers in all, on average.
    pub mean_bytes_per_s: f64,
}

/// The traffic between the target's zones; absent where there is one.
pub(super) fn cross_zone(case: &Case) -> Option<CrossZone> {
    let zones = case.target.zones;
    (zones > 1).then(|| {
        let elsewhere = 1.0 - 1.0 / f64::from(zones);
        let without_replica = (1.0 - f64::from(case.target.replication) / f64::from(zones)).max(0.0);
        CrossZone {
            producers_share: elsewhere,
            replication_share: copies_elsewhere(case.target.replication, zones),
            consumers_share: case.target.groups * elsewhere,
            consumers_share_from_closest: case.target.groups * without_replica,
            peak_bytes_per_s: case.ingress.peak_bytes_per_s,
            mean_bytes_per_s: case.ingress.mean_bytes_per_s,
        }
    })
}

/// Copies of a record outside its leader's zone, on average over the replicas that may lead.
///
/// With at most one replica in a zone these are all but the leader. With more, a zone holds `replication / zones` of them, rounded
/// down or up, and a leader there does not send those beside it to another zone.
fn copies_elsewhere(replication: u32, zones: u32) -> f64 {
    let (least, fuller) = (replication / zones, replication % zones);
    let squares = |replicas: u32, zones: u32| f64::from(replicas).powi(2) * f64::from(zones);
    let beside_leader =
        (squares(least, zones - fuller) + squares(least + 1, fuller)) / f64::from(replication);
    f64::from(replication) - beside_leader
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_beside_its_leader_does_not_cross() {
        assert_eq!(copies_elsewhere(3, 3), 2.0);
        assert_eq!(copies_elsewhere(2, 3), 1.0);
        assert_eq!(copies_elsewhere(1, 3), 0.0);
        // Two in one zone, one in the other: a leader of the two sends one away, the third both. (1 + 1 + 2) / 3.
        assert!((copies_elsewhere(3, 2) - 4.0 / 3.0).abs() < 1e-12);
        // Two in each: every leader sends two of three away.
        assert_eq!(copies_elsewhere(4, 2), 2.0);
        assert_eq!(copies_elsewhere(3, 1), 0.0);
    }
}
