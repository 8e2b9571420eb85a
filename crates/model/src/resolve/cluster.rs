//! The path under test: brokers that are there, or a lab.

use super::trail::Trail;
use super::{ResolveError, bootstrap, log_dirs_used};
use crate::plan::{ClusterPlan, InterBroker, LogDirLayout, LogDirPlan, Origin};
use crate::scenario::{ClusterWords, LabWords};
use crate::start_setting::DEFAULT_HEAP;
use std::collections::BTreeMap;

/// The path that the words name.
pub(super) fn cluster(words: Option<&ClusterWords>, trail: &mut Trail) -> Result<ClusterPlan, ResolveError> {
    let Some(words) = words else {
        return Err(ResolveError::Missing {
            place: String::new(),
            path: "cluster",
            reason: "say `lab` for a real broker on this machine, or where yours is: {bootstrap: \"host:9092\"}",
        });
    };
    let place = trail.sources.get("cluster").map(|origin| format!("{origin}: ")).unwrap_or_default();
    let written = if words.lab.is_some() { "cluster.lab" } else { "cluster.bootstrap" };
    trail.note_written("cluster.kind", &[written, "cluster"]);
    match (&words.lab, &words.bootstrap) {
        (Some(_), Some(_)) => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.bootstrap".into(),
            reason: "a run has one cluster",
        }),
        (None, None) => Err(ResolveError::Missing {
            place,
            path: "cluster.bootstrap",
            reason: "without a lab, a run needs the address of a broker",
        }),
        (None, Some(addresses)) => {
            bootstrap::check(addresses, &place)?;
            trail.scenario("cluster.bootstrap", Some(()), || ());
            let config = trail.scenario("cluster.config", words.config.clone().map(Some), || None);
            if words.metrics.iter().any(|url| url.contains('@')) {
                let reason = "an address with a password in it would be kept in the run's document; the environment's \
                              PLUMB_METRICS_USER and PLUMB_METRICS_PASSWORD are the login";
                let origin = trail.sources.get("cluster.metrics");
                let place = origin.map_or(place, |origin| format!("{origin}: "));
                return Err(ResolveError::Reserved { place, path: "cluster.metrics".into(), reason });
            }
            let written = (!words.metrics.is_empty()).then(|| words.metrics.clone());
            let metrics = trail.scenario("cluster.metrics", written, Vec::new);
            Ok(ClusterPlan::Brokers { bootstrap: addresses.clone(), config, metrics })
        }
        (Some(_), None) if !words.metrics.is_empty() => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.metrics".into(),
            reason: "the lab serves its brokers' metrics itself",
        }),
        (Some(_), None) if words.config.is_some() => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.config".into(),
            reason: "the lab makes its clients' settings itself",
        }),
        (Some(lab), None) => lab_plan(lab, trail),
    }
}

/// The places in which a part of the lab stands, if its own place is not known.
const LAB_PLACES: [&str; 2] = ["cluster.lab", "cluster"];

fn lab_plan(lab: &LabWords, trail: &mut Trail) -> Result<ClusterPlan, ResolveError> {
    let mut log_dirs: Vec<LogDirPlan> = lab
        .log_dirs
        .0
        .iter()
        .map(|(name, path)| LogDirPlan { name: name.clone(), path: path.clone() })
        .collect();
    let layout = trail.scenario("cluster.lab.log_dir_layout", lab.log_dir_layout, LogDirLayout::default);
    let each = layout == LogDirLayout::BrokerEach && !log_dirs.is_empty();
    if each && lab.brokers.is_some_and(|brokers| brokers as usize != log_dirs.len()) {
        return Err(ResolveError::Conflict {
            place: trail.sources.get("cluster").map(|origin| format!("{origin}: ")).unwrap_or_default(),
            first: "cluster.lab.brokers".into(),
            second: "cluster.lab.log_dirs".into(),
            reason: "with a broker for each log directory there are as many brokers as directories \
                     (log_dir_layout: together gives every broker all of them)",
        });
    }
    if let Some(used) = &lab.log_dirs_used {
        log_dirs_used::check(used, log_dirs.len(), layout, trail)?;
        log_dirs.truncate(log_dirs_used::most(used));
    }
    let brokers = if each { u32::try_from(log_dirs.len()).unwrap_or(u32::MAX) } else { 1 };
    for key in lab.broker_properties.keys() {
        trail.note_written(&format!("cluster.lab.broker_properties.{key}"), &LAB_PLACES);
    }
    for (path, given) in [("jvm_flags", !lab.jvm_flags.is_empty()), ("log_dirs", !log_dirs.is_empty())] {
        if given {
            trail.note_written(&format!("cluster.lab.{path}"), &LAB_PLACES);
        }
    }
    Ok(ClusterPlan::Lab {
        brokers: trail.scenario("cluster.lab.brokers", lab.brokers, || brokers),
        log_dirs,
        log_dir_layout: layout,
        tls: trail.scenario("cluster.lab.tls", lab.tls, || false),
        inter_broker: trail.scenario("cluster.lab.inter_broker", lab.inter_broker, InterBroker::default),
        heap: trail.scenario("cluster.lab.heap", lab.heap.clone(), || DEFAULT_HEAP.to_owned()),
        broker_properties: lab.broker_properties.iter().map(|(k, v)| (k.clone(), v.0.clone())).collect(),
        jvm_flags: lab.jvm_flags.clone(),
    })
}

/// A block that goes as fast as it can has a topic that is deleted after it; a lab's brokers then remove its files at once
/// and not, as is Kafka's default, after a minute in which the next blocks fill the disk.
pub(super) fn make_quick_to_delete(cluster: &mut ClusterPlan, origins: &mut BTreeMap<String, Origin>) {
    const DELAY: &str = "log.segment.delete.delay.ms";
    if let ClusterPlan::Lab { broker_properties, .. } = cluster
        && !broker_properties.contains_key(DELAY)
    {
        broker_properties.insert(DELAY.to_owned(), "1000".to_owned());
        let reason = "topics of blocks that go as fast as they can are deleted one by one".to_owned();
        origins.insert(format!("cluster.lab.broker_properties.{DELAY}"), Origin::Derived { reason });
    }
}
