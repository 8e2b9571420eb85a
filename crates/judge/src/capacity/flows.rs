//! The flows through one broker of a balanced cluster.

use super::Case;
use super::kept::kept;
use super::target::Target;
use serde::{Deserialize, Serialize};

/// The flows through one broker of a balanced cluster, in bytes/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Flows {
    /// Brokers that share it.
    pub brokers: u64,
    /// From producers, at the peak.
    pub ingress_bytes_per_s: f64,
    /// Written to the log, own partitions and copies of others, at the peak.
    pub written_bytes_per_s: f64,
    /// Received: from producers and from leaders. Every byte received is written.
    pub received_bytes_per_s: f64,
    /// Sent: copies to followers and to tiered storage, and records to consumers.
    pub sent_bytes_per_s: f64,
    /// Of these, to consumers.
    pub consumed_bytes_per_s: f64,
    /// Kept at the brokers, of the mean load over the retention; absent without one.
    pub stored_bytes: Option<f64>,
}

/// The flows when so many brokers share the load.
pub(crate) fn flows(case: &Case, brokers: u64) -> Flows {
    let share = case.ingress.peak_bytes_per_s / brokers as f64;
    let copies = f64::from(case.target.replication);
    Flows {
        brokers,
        ingress_bytes_per_s: share,
        written_bytes_per_s: share * copies,
        received_bytes_per_s: share * copies,
        sent_bytes_per_s: share * sent_share(case.target),
        consumed_bytes_per_s: share * case.target.groups,
        stored_bytes: kept(case).map(|kept| kept.bytes / brokers as f64),
    }
}

/// Bytes that brokers send for each from producers.
pub(super) fn sent_share(target: &Target) -> f64 {
    target.follower_copies() + target.groups + target.tiered_share()
}
