//! One broker's machine: known figures, each with its source. Unknown figures are absent.

use super::CapacityError;
use super::input::{Figure, Source, in_range};
use super::target::Target;
use serde::{Deserialize, Serialize};

/// One broker's machine. A bound whose figure is absent is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name in the published table.
    pub name: Option<String>,
    /// The reason why its devices and network have no bounds of their own: its vendor publishes the rate that a broker takes
    /// instead.
    pub hidden: Option<String>,
    /// Write rate of the log's devices.
    pub disk_bytes_per_s: Option<Figure>,
    /// Rate between the machine and storage that is not in it.
    pub storage_network_bytes_per_s: Option<Figure>,
    /// Rate of the network card, each way.
    pub nic_bytes_per_s: Option<Figure>,
    /// The rate that one broker takes in from producers, by its vendor.
    pub ingress_bytes_per_s: Option<Figure>,
    /// The rate that one broker gives out to consumers, by its vendor.
    pub egress_bytes_per_s: Option<Figure>,
    /// The rate that one broker has taken in during a run: not a limit, but proof of as much.
    pub proven_ingress_bytes_per_s: Option<Figure>,
    /// Copies that were written in that run.
    pub proven_replication: Option<u32>,
    /// Time of one sync to the device.
    pub fsync_s: Option<Figure>,
    /// AES-GCM rate of one core with the TLS provider that the broker uses.
    pub aes_bytes_per_s_per_core: Option<Figure>,
    /// Cores (in clouds: virtual CPUs).
    pub cores: Option<Figure>,
    /// The cores' time that a broker spends.
    pub cpu: Option<CpuCost>,
    /// Main memory.
    pub memory_bytes: Option<Figure>,
    /// Memory that each replica of a partition takes.
    pub memory_per_replica_bytes: Option<Figure>,
    /// Rate of the main memory.
    pub memory_bandwidth_bytes_per_s: Option<Figure>,
    /// Space for logs.
    pub storage_bytes: Option<Figure>,
    /// Replicas of partitions that a broker should hold at most.
    pub replicas: Option<Figure>,
    /// Broker's total time of a produce request.
    pub service_time_s: Option<Figure>,
    /// Broker's time to append one batch.
    pub append_time_s: Option<Figure>,
    /// Round trip of a follower's fetch.
    pub fetch_round_trip_s: Option<Figure>,
    /// Share of a device or NIC that a plan may use.
    pub planned_utilisation: Option<Figure>,
}

/// The processor time that brokers spend, with the load at which it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// CPU seconds of all brokers for each 10^9 bytes from producers.
    pub s_per_gb: Figure,
    /// Copies that were written then.
    pub replication: u32,
    /// Consumer groups that read then.
    pub groups: f64,
    /// True if TLS is in it.
    pub tls: bool,
}

impl Machine {
    pub(super) fn check(&self) -> Result<(), CapacityError> {
        let figures = [
            ("the disk's rate", &self.disk_bytes_per_s),
            ("the storage network's rate", &self.storage_network_bytes_per_s),
            ("the NIC's rate", &self.nic_bytes_per_s),
            ("a broker's ingress", &self.ingress_bytes_per_s),
            ("a broker's egress", &self.egress_bytes_per_s),
            ("the time of a sync", &self.fsync_s),
            ("the AES rate", &self.aes_bytes_per_s_per_core),
            ("the number of cores", &self.cores),
            ("the memory", &self.memory_bytes),
            ("the memory per replica", &self.memory_per_replica_bytes),
            ("the memory's rate", &self.memory_bandwidth_bytes_per_s),
            ("the storage", &self.storage_bytes),
            ("the number of replicas", &self.replicas),
            ("the service time", &self.service_time_s),
            ("the append time", &self.append_time_s),
            ("the fetch round trip", &self.fetch_round_trip_s),
        ];
        for (what, figure) in figures {
            in_range(what, figure.as_ref().map(|figure| figure.value), "more than 0", |n| n > 0.0)?;
        }
        let cost = self.cpu.as_ref().map(|cpu| cpu.s_per_gb.value);
        in_range("the CPU time per GB", cost, "more than 0", |n| n > 0.0)?;
        let share = self.planned_utilisation.as_ref().map(|share| share.value);
        in_range("the planned utilisation", share, "more than 0 and at most 1", |n| n > 0.0 && n <= 1.0)
    }

    pub(super) fn cautions(&self, target: &Target) -> Vec<String> {
        let mut cautions = Vec::new();
        let published = |figure: &Option<Figure>| {
            figure.as_ref().is_some_and(|figure| matches!(figure.source, Source::Published(_)))
        };
        if published(&self.storage_network_bytes_per_s) && self.disk_bytes_per_s.is_none() {
            cautions.push(
                "The table has the rate from the machine to its volumes, not that of the volumes: a default gp2 or gp3 volume \
                 on MSK stops at 250 MiB/s unless more is provisioned (AWS). Give it with --disk."
                    .to_owned(),
            );
        }
        if self.hidden.is_some() && target.replication != 3 {
            cautions
                .push(format!("Express brokers always keep 3 copies; {} was asked for.", target.replication));
        }
        cautions
    }
}
