//! The cluster's own word on its settings: brokers, and the topics that are watched.

use super::unseen;
use crate::context::RunContext;
use crate::error::Result;
use jiff::Timestamp;
use plumb_load::librdkafka::connect::connect;
use plumb_model::observed::{BrokerWindow, ClusterSettings, TopicSettings, Unseen};
use plumb_observe::{HostRoot, is_local_address, listening_process};
use std::collections::BTreeSet;
use std::net::ToSocketAddrs as _;

/// Topics whose settings are read, those with most traffic first (ours): a cluster may have thousands.
const TOPICS_MOST: usize = 20;

/// Quotas that are kept (ours): a cluster may have one for each of thousands of users.
const QUOTAS_MOST: usize = 1_000;

/// The processes of this host that listen where the cluster says its brokers are.
///
/// # Errors
/// When the cluster cannot be reached.
pub(super) fn processes_here(
    bootstrap: &str,
    root: &HostRoot,
    context: &RunContext,
) -> Result<BTreeSet<u32>> {
    let cluster = connect(bootstrap, &context.security, &context.stop)?;
    let addresses = cluster.brokers.iter().filter_map(|(_, host, port)| {
        let port = u16::try_from(*port).ok()?;
        (host.as_str(), port).to_socket_addrs().ok()
    });
    let here = addresses.flatten().filter(|address| is_local_address(root, address.ip()).unwrap_or(false));
    Ok(here.filter_map(|address| listening_process(root, address)).collect())
}

/// Reads the settings of all brokers, of the topics that had traffic in the window, and the quotas of clients.
///
/// # Errors
/// When the cluster cannot be reached.
pub(super) fn settings(
    bootstrap: &str,
    brokers: &[BrokerWindow],
    context: &RunContext,
    missing: &mut Vec<Unseen>,
) -> Result<ClusterSettings> {
    let cluster = connect(bootstrap, &context.security, &context.stop)?;
    let mut settings = ClusterSettings::default();
    for (id, _, _) in &cluster.brokers {
        settings.brokers.insert(id.to_string(), cluster.broker_configs(*id));
    }
    let busiest = brokers.iter().flat_map(|broker| broker.topics.iter()).map(|topic| &topic.topic);
    let names: BTreeSet<&String> = busiest.take(TOPICS_MOST).collect();
    for name in names {
        // A topic that was deleted meanwhile has no settings any more.
        let Ok(shape) = cluster.topic_shape(name) else { continue };
        let mut topic = TopicSettings {
            partitions: shape.leaders.len() as u32,
            replication: shape.replication,
            configs: cluster.topic_configs(name),
            ..TopicSettings::default()
        };
        if topic.configs.get("message.timestamp.type").is_none_or(|kind| kind == "CreateTime") {
            let newest_ms = cluster.newest_record_ms(name, shape.leaders.len());
            topic.newest_record_ahead_ns =
                newest_ms.map(|newest_ms| (newest_ms - Timestamp::now().as_millisecond()) * 1_000_000);
        }
        for leader in &shape.leaders {
            *topic.leaders.entry(leader.to_string()).or_default() += 1;
        }
        settings.topics.insert(name.clone(), topic);
    }
    match cluster.client_quotas() {
        Ok(quotas) => settings.quotas.extend(quotas.into_iter().take(QUOTAS_MOST)),
        Err(error) => missing.push(unseen("quotas of clients", &error)),
    }
    Ok(settings)
}
