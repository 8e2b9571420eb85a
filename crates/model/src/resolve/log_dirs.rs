//! The log directory of a lab on which each topic lies, and the check that it can.

use super::ResolveError;
use crate::plan::{ClusterPlan, LogDirLayout, Origin, Plan, StepPlan, TopicPlan};
use crate::scenario::{OneOrMany, Scalar, Scenario};
use std::collections::BTreeMap;

/// Each setup on every log directory, where the lab has a broker for each of several and nothing says which one a topic is on.
pub(super) fn on_each(scenario: &Scenario, cluster: &ClusterPlan) -> Scenario {
    let mut scenario = scenario.clone();
    let ClusterPlan::Lab { log_dirs, log_dir_layout: LogDirLayout::BrokerEach, .. } = cluster else {
        return scenario;
    };
    if log_dirs.len() > 1 && scenario.topic.log_dir.is_none() && scenario.topic.name.is_none() {
        let names = log_dirs.iter().map(|dir| Scalar(dir.name.clone()));
        scenario.topic.log_dir = Some(OneOrMany::Many(names.collect()));
    }
    scenario
}

/// Says of a log directory that nobody wrote why it is there.
pub(super) fn note_each(step: &StepPlan, at: &str, origins: &mut BTreeMap<String, Origin>) {
    let path = format!("{at}.topic.log_dir");
    let unwritten = origins.get(&path) == Some(&Origin::Default);
    if unwritten && matches!(&step.topic, TopicPlan::Own { log_dir: Some(_), .. }) {
        let reason = "each of the lab's log directories".to_owned();
        origins.insert(path, Origin::Derived { reason });
    }
}

/// Checks that each topic can lie where it is told to.
pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    for (index, step) in plan.steps.iter().enumerate() {
        let TopicPlan::Own { replication, log_dir: Some(name), .. } = &step.topic else { continue };
        let place = match plan.origins.get(&format!("steps.{index}.topic.log_dir")) {
            None | Some(Origin::Default | Origin::Derived { .. }) => String::new(),
            Some(origin) => format!("{origin}: "),
        };
        let refuse = |expected: String, reason| {
            let (path, got) = ("topic.log_dir".to_owned(), name.clone());
            Err(ResolveError::OutOfBounds { place: place.clone(), path, got, expected, reason })
        };
        let ClusterPlan::Lab { log_dirs, log_dir_layout, .. } = &plan.cluster else {
            return refuse("left out".to_owned(), "only of a lab Plumb knows where brokers keep their logs");
        };
        let names: Vec<&str> = log_dirs.iter().map(|dir| dir.name.as_str()).collect();
        if !names.contains(&name.as_str()) {
            let names =
                if names.is_empty() { "left out".to_owned() } else { format!("one of {}", names.join(", ")) };
            return refuse(names, "it is one of the names in cluster.lab.log_dirs");
        }
        if *log_dir_layout == LogDirLayout::Together {
            return refuse(
                "left out".to_owned(),
                "where every broker has all log directories, it spreads the partitions itself",
            );
        }
        if *replication > 1 {
            return refuse(
                "left out, or topic.replication 1".to_owned(),
                "each log directory is one broker's, and a second replica would lie on another",
            );
        }
    }
    Ok(())
}
