//! Where the log of each partition ends at its leader, whether the followers have copied it or not.
//!
//! What a client asks for as the end of a log is the high watermark: the end of what all in-sync replicas have, and all that
//! consumers may read. The leader's own end is told to replicas. Kafka lets anyone ask as a replica that is there for
//! debugging (id -2), with the right to describe the topic and no other.

use super::cluster::ClusterView;
use super::settings::SocketSettings;
use super::{addresses, security};
use crate::librdkafka::connect::Cluster;
use plumb_wire::connection::Transport;
use plumb_wire::control::{End, list_offsets};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for one leader. Ours.
const ANSWER: Duration = Duration::from_secs(5);
const SOCKET: SocketSettings = SocketSettings { no_delay: true, send_bytes: None, receive_bytes: None };

/// The end of each partition's log. None when any of them cannot be had: a login that only the client library speaks, a
/// broker that is gone, a service that tells replicas alone.
pub(crate) fn log_ends(cluster: &Cluster, topic: &str, partitions: usize) -> Option<Vec<i64>> {
    let transport = security::transport(&cluster.properties, SOCKET).ok()?;
    let bootstrap = addresses(&cluster.bootstrap);
    let look = |timeout| ClusterView::new(transport.clone(), bootstrap, (topic, partitions), timeout);
    let view = cluster.patience.ask(ANSWER, look).ok()?;
    let leaders = view.leaders();
    let mut led: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (index, leader) in leaders.of_partition.iter().enumerate() {
        led.entry((*leader)?).or_default().push(i32::try_from(index).ok()?);
    }
    let mut ends = vec![None; partitions];
    for (broker, indexes) in led {
        let (host, port) = leaders.brokers.get(&broker)?;
        let ask = |timeout| ends_at((&transport, timeout), (host, *port), topic, &indexes).ok_or(());
        for (index, end) in cluster.patience.ask(ANSWER, ask).ok()? {
            *ends.get_mut(usize::try_from(index).ok()?)? = Some(end);
        }
    }
    ends.into_iter().collect()
}

fn ends_at(
    (transport, timeout): (&Transport, Duration),
    (host, port): (&str, u16),
    topic: &str,
    indexes: &[i32],
) -> Option<Vec<(i32, i64)>> {
    let mut connection = transport.open_within(host, port, timeout).ok()?;
    let deadline = Instant::now() + timeout;
    let offsets = list_offsets(&mut connection, topic, indexes, End::LogEnd, deadline).ok()?;
    let whole = |offset: &plumb_wire::control::PartitionOffset| {
        (offset.error.ok().is_ok() && offset.offset >= 0).then_some((offset.index, offset.offset))
    };
    offsets.iter().map(whole).collect()
}
