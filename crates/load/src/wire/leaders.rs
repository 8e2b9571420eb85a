//! The end of each partition's log at its leader, whether the followers have copied it or not, and the offsets up to which they
//! have.
//!
//! What a client asks for as the end of a log is the high watermark: the end of what all in-sync replicas have, and all that
//! consumers may read. The leader's own end is told to replicas. Kafka lets anyone ask as a replica that is there for
//! debugging (id -2), with the right to describe the topic and no other.

use super::cluster::{BrokerAddress, ClusterView};
use super::settings::SocketSettings;
use super::{addresses, security};
use crate::librdkafka::connect::Cluster;
use plumb_wire::connection::{Connection, Transport};
use plumb_wire::control::{End, PartitionOffset, list_offsets};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for one leader, before and after a block. Ours.
const ANSWER: Duration = Duration::from_secs(5);

/// A topic whose partitions' leaders are to be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logs<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) topic: &'a str,
    pub(crate) partitions: usize,
}

/// Connections to the leaders of a topic.
pub(super) struct Leaders<'a> {
    logs: Logs<'a>,
    /// Longest wait for one of them.
    patience: Duration,
    leaders: Vec<Leader>,
}

/// A connection to one broker, and the partitions that it leads.
struct Leader {
    connection: Connection,
    partitions: Vec<i32>,
}

impl<'a> Leaders<'a> {
    /// Connects to all leaders; none when one of them cannot be asked: a login that only the client library speaks, a broker that
    /// is gone.
    pub(super) fn connect(logs: Logs<'a>, patience: Duration) -> Option<Self> {
        let Logs { cluster, topic, partitions } = logs;
        let transport = security::transport(&cluster.properties, SocketSettings::CONTROL).ok()?;
        let bootstrap = addresses(&cluster.bootstrap);
        let look = |timeout| ClusterView::new(transport.clone(), bootstrap, topic, partitions, timeout);
        let view = cluster.patience.ask(patience, look).ok()?;
        let known = view.leaders();
        let mut led: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (index, leader) in known.of_partition.iter().enumerate() {
            led.entry((*leader)?).or_default().push(i32::try_from(index).ok()?);
        }
        let open = |(broker, partitions)| {
            let BrokerAddress { host, port } = known.brokers.get(&broker)?;
            let open = |timeout| Transport::open_within(&transport, host, *port, timeout);
            let connection = cluster.patience.ask(patience, open).ok()?;
            Some(Leader { connection, partitions })
        };
        let leaders = led.into_iter().map(open).collect::<Option<_>>()?;
        Some(Leaders { logs, patience, leaders })
    }

    /// The end of each partition. None when any of them cannot be had: a leader that is gone or is one no more, a service
    /// that tells replicas alone.
    pub(super) fn ends(&mut self, end: End) -> Option<Vec<i64>> {
        let mut ends = vec![None; self.logs.partitions];
        for leader in &mut self.leaders {
            let ask = |timeout| leader.ends(self.logs.topic, end, timeout).ok_or(());
            for (index, end) in self.logs.cluster.patience.ask(self.patience, ask).ok()? {
                *ends.get_mut(usize::try_from(index).ok()?)? = Some(end);
            }
        }
        ends.into_iter().collect()
    }
}

impl Leader {
    fn ends(&mut self, topic: &str, end: End, timeout: Duration) -> Option<Vec<(i32, i64)>> {
        let deadline = Instant::now() + timeout;
        let offsets = list_offsets(&mut self.connection, topic, &self.partitions, end, deadline).ok()?;
        let whole = |offset: &PartitionOffset| {
            (offset.error.ok().is_ok() && offset.offset >= 0).then_some((offset.index, offset.offset))
        };
        offsets.iter().map(whole).collect()
    }
}

/// The ends of the logs at one moment, by partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaderEnds {
    /// The ends at the leaders.
    pub(crate) appended: Vec<i64>,
    /// The high watermarks, asked after `appended`, so that what is appended meanwhile does not seem to wait for followers.
    pub(crate) replicated: Vec<i64>,
    /// The last stable offsets, asked at last for the same reason; none where they are not told.
    pub(crate) stable: Option<Vec<i64>>,
}

impl LeaderEnds {
    /// Asks for the ends of the logs; none when any of them cannot be had.
    pub(crate) fn ask(logs: Logs<'_>) -> Option<Self> {
        let mut leaders = Leaders::connect(logs, ANSWER)?;
        Some(LeaderEnds {
            appended: leaders.ends(End::LogEnd)?,
            replicated: leaders.ends(End::HighWatermark)?,
            stable: leaders.ends(End::LastStable),
        })
    }

    /// Records that an open transaction holds back from consumers that read committed records alone.
    pub(crate) fn held_back(&self) -> Option<u64> {
        Some(waiting(self.stable.as_ref()?, &self.replicated))
    }

    /// Records that no consumer can read yet.
    pub(crate) fn unreplicated(&self) -> u64 {
        waiting(&self.replicated, &self.appended)
    }
}

/// Records between the ends of what is replicated and of what is appended.
pub(super) fn waiting(replicated: &[i64], appended: &[i64]) -> u64 {
    replicated
        .iter()
        .zip(appended)
        .map(|(replicated, appended)| appended.saturating_sub(*replicated).max(0))
        .sum::<i64>()
        .unsigned_abs()
}
