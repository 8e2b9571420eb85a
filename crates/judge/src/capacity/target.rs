//! The demands on the cluster, as data.

use super::CapacityError;
use super::input::in_range;
use serde::{Deserialize, Serialize};

/// The demands on the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The load, as stated: a mean, unless `peak_factor` is 1.
    pub load: Load,
    /// Bytes before compression over bytes after it; 1 when producers do not compress.
    pub compression_ratio: f64,
    /// Peak over mean. What moves is sized for the peak, what is kept for the mean.
    pub peak_factor: f64,
    /// Copies of each record.
    pub replication: u32,
    /// Consumer groups that each read everything; bytes out over bytes in, so it may be a fraction.
    pub groups: f64,
    /// The time for which records are kept, in seconds; absent when storage was not asked about.
    pub retention_s: Option<f64>,
    /// The connections that are encrypted.
    pub tls: Tls,
    /// The moment at which a broker syncs a record to its device.
    pub flush: Flush,
    /// Bytes of one produce request for one partition; with group commit, the most that one sync covers.
    pub batch_bytes: Option<f64>,
    /// Partitions in all.
    pub partitions: Option<u64>,
    /// Connections that produce.
    pub connections: Option<u64>,
    /// Zones over which the brokers are spread; a plan's count is a multiple of it.
    pub zones: u32,
    /// The part that may fail while the rest carries the load.
    pub reserve: Reserve,
    /// That closed segments are copied to tiered storage; absent where they are not.
    pub tiered: Option<Tiering>,
    /// Brokers that are there already, to see how full each bound is.
    pub brokers: Option<u64>,
    /// Most brokers that one cluster is to have.
    pub brokers_per_cluster: Option<u64>,
    /// Names of the fields above that nobody gave: the value is the usual one, not the user's.
    pub defaulted: Vec<String>,
}

/// The load as stated. Two of the three tell it; the third is then a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Messages per second.
    pub messages_per_s: Option<f64>,
    /// Bytes of a message.
    pub message_bytes: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
}

/// Tiered storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tiering {
    /// The time for which records stay at the brokers too, in seconds; absent: as long as they are kept at all, which is Kafka's
    /// default (`local.retention.ms` -2).
    pub local_retention_s: Option<f64>,
}

/// The connections that are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// Nothing.
    Off,
    /// Producers and consumers.
    Clients,
    /// These, and what brokers send each other.
    All,
}

/// The moment at which a broker syncs a record to its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// The operating system's choice (Kafka's default: copies are the durability).
    Os,
    /// Before it is acknowledged.
    BeforeAck,
}

/// The part that may fail while the rest carries the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// Nothing.
    Nothing,
    /// One broker.
    Broker,
    /// One zone.
    Zone,
}

impl Default for Target {
    /// Nothing stated but what is usual: three copies in three zones, one of which may fail, and one group of consumers.
    fn default() -> Self {
        Target {
            load: Load::default(),
            compression_ratio: 1.0,
            peak_factor: 1.0,
            replication: 3,
            groups: 1.0,
            retention_s: None,
            tls: Tls::Off,
            flush: Flush::Os,
            batch_bytes: None,
            partitions: None,
            connections: None,
            zones: 3,
            reserve: Reserve::Zone,
            tiered: None,
            brokers: None,
            brokers_per_cluster: None,
            defaulted: Vec::new(),
        }
    }
}

/// The smallest compression ratio (ours): data that does not shrink grows by a few percent in any codec, and a smaller figure is the
/// ratio turned round.
const COMPRESSION_LEAST: f64 = 0.9;
const COMPRESSION: &str =
    "0.9 or more: bytes before compression over bytes after it, so 2 for data that shrinks to half";

impl Target {
    pub(super) fn check(&self) -> Result<(), CapacityError> {
        let positive = "more than 0";
        let load = &self.load;
        in_range("messages/s", load.messages_per_s, positive, |n| n > 0.0)?;
        in_range("the size of a message", load.message_bytes, positive, |n| n > 0.0)?;
        in_range("bytes/s", load.bytes_per_s, positive, |n| n > 0.0)?;
        in_range("the compression ratio", Some(self.compression_ratio), COMPRESSION, |n| {
            n >= COMPRESSION_LEAST
        })?;
        in_range("the peak factor", Some(self.peak_factor), "1 or more: peak over mean", |n| n >= 1.0)?;
        in_range("the replication factor", Some(f64::from(self.replication)), "1 or more", |n| n >= 1.0)?;
        in_range("the number of consumer groups", Some(self.groups), "0 to 1e6", |n| {
            (0.0..=1e6).contains(&n)
        })?;
        in_range("the retention", self.retention_s, positive, |n| n > 0.0)?;
        let local_retention_s = self.local_retention_s();
        in_range("the local retention", local_retention_s, positive, |n| n > 0.0)?;
        if let Some((got, _)) = local_retention_s.zip(self.retention_s).filter(|(local, all)| local > all) {
            let expected = "no more than the retention, as Kafka has it";
            return Err(CapacityError::OutOfRange { what: "the local retention in seconds", got, expected });
        }
        in_range("the batch", self.batch_bytes, positive, |n| n > 0.0)?;
        in_range("the number of partitions", self.partitions.map(|n| n as f64), "1 or more", |n| n >= 1.0)?;
        in_range("the number of connections", self.connections.map(|n| n as f64), "1 or more", |n| n >= 1.0)?;
        in_range("the number of zones", Some(f64::from(self.zones)), "1 or more", |n| n >= 1.0)?;
        in_range("the number of brokers", self.brokers.map(|n| n as f64), "1 or more", |n| n >= 1.0)?;
        let least = u64::from(self.replication.max(self.zones)) + u64::from(self.reserve == Reserve::Broker);
        if let Some(got) = self.brokers_per_cluster.filter(|most| *most < least) {
            return Err(CapacityError::OutOfRange {
                what: "the number of brokers in a cluster",
                got: got as f64,
                expected: "as many as there are copies and zones, and one more where a broker is in reserve",
            });
        }
        match (self.reserve, self.zones) {
            (Reserve::Zone, 1) => Err(CapacityError::OneZone),
            _ => Ok(()),
        }
    }

    /// The time for which records stay at the brokers where tiered storage has the rest, in seconds; absent where they stay for
    /// all of the retention.
    pub(super) fn local_retention_s(&self) -> Option<f64> {
        self.tiered?.local_retention_s
    }

    /// Bytes that leaders copy to tiered storage for each from producers.
    pub(super) fn tiered_share(&self) -> f64 {
        if self.tiered.is_some() { 1.0 } else { 0.0 }
    }

    /// Copies beside the leader's.
    pub(super) fn follower_copies(&self) -> f64 {
        f64::from(self.replication) - 1.0
    }

    /// The factor by which the survivors' share grows when a zone is held in reserve.
    pub(super) fn zone_factor(&self) -> f64 {
        let zones = f64::from(self.zones);
        if self.reserve == Reserve::Zone { zones / (zones - 1.0) } else { 1.0 }
    }
}
