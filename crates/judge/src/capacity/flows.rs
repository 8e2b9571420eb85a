//! What passes through one broker of a balanced cluster.

use super::Case;
use serde::Serialize;

/// What passes through one broker of a balanced cluster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flows {
    /// Brokers that share it.
    pub brokers: u64,
    /// From producers, at the peak.
    pub ingress_bytes_per_s: f64,
    /// Written to the log, own partitions and copies of others, at the peak.
    pub written_bytes_per_s: f64,
    /// Received: from producers and from leaders. Every byte received is written.
    pub received_bytes_per_s: f64,
    /// Sent: copies to followers and records to consumers.
    pub sent_bytes_per_s: f64,
    /// Of these, to consumers.
    pub consumed_bytes_per_s: f64,
    /// Kept, of the mean load over the retention; absent without one.
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
        sent_bytes_per_s: share * (case.target.follower_copies() + case.target.groups),
        consumed_bytes_per_s: share * case.target.groups,
        stored_bytes: case
            .target
            .retention_s
            .map(|retention_s| case.ingress.mean_bytes_per_s * copies * retention_s / brokers as f64),
    }
}
