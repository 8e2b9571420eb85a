//! The log directories of a run's lab, by the names that the plan gives them.

use plumb_lab::kafka::{LabCluster, LogDir};
use plumb_model::facts::LogDirectory;
use plumb_model::plan::{ClusterPlan, LogDirPlan, TopicPlan};
use plumb_observe::{HostRoot, SystemCommands, storage};
use std::collections::BTreeMap;

/// The name of the lab's own directory where the plan names none.
const OWN: &str = "lab";

/// A log directory.
#[derive(Debug)]
pub(super) struct LogDirectoryPlace {
    pub(super) facts: LogDirectory,
    pub(super) place: LogDir,
}

/// The log directories of a lab; none for brokers that were there.
#[derive(Debug, Default)]
pub(super) struct LogDirs {
    all: Vec<LogDirectoryPlace>,
}

impl LogDirs {
    /// Those of a lab that runs, in the plan's order, each looked through to its devices.
    pub(super) fn of(plan: &ClusterPlan, lab: Option<&LabCluster>) -> Self {
        let ClusterPlan::Lab { log_dirs: planned, .. } = plan else { return LogDirs::default() };
        let dirs = lab.map(LabCluster::log_dirs).unwrap_or_default();
        let all = dirs
            .into_iter()
            .enumerate()
            .map(|(index, place)| LogDirectoryPlace { facts: facts(planned.get(index), &place), place });
        LogDirs { all: all.collect() }
    }

    /// The broker that has a directory to itself.
    pub(super) fn broker_of(&self, name: &str) -> Option<i32> {
        match self.all.iter().find(|directory| directory.facts.name == name)?.facts.brokers[..] {
            [broker] => i32::try_from(broker).ok(),
            _ => None,
        }
    }

    /// Replicas of the topic's partitions in each directory that has any, as found on disk.
    pub(super) fn partitions_of(&self, topic: &str) -> BTreeMap<String, u32> {
        let found = self.all.iter().filter_map(|LogDirectoryPlace { facts, place }| {
            let partitions = place.partitions_of(topic).ok().filter(|partitions| *partitions > 0)?;
            Some((facts.name.clone(), partitions))
        });
        found.collect()
    }

    /// The directories that a topic of the plan may lie on. Not looked up on disk: a broker makes a partition's directory
    /// some time after it says that it leads it.
    pub(super) fn for_topic(&self, topic: &TopicPlan) -> Vec<&LogDirectoryPlace> {
        let only = match topic {
            TopicPlan::Own { log_dir, .. } => log_dir.as_deref(),
            TopicPlan::Existing { .. } => None,
        };
        let held = |directory: &&LogDirectoryPlace| only.is_none_or(|only| only == directory.facts.name);
        self.all.iter().filter(held).collect()
    }

    /// The directories with what is behind them.
    pub(super) fn facts(&self) -> Vec<LogDirectory> {
        self.all.iter().map(|directory| directory.facts.clone()).collect()
    }
}

fn facts(planned: Option<&LogDirPlan>, dir: &LogDir) -> LogDirectory {
    let place =
        dir.brokers.first().map(|(_, place)| place.to_string_lossy().into_owned()).unwrap_or_default();
    LogDirectory {
        name: planned.map_or(OWN, |planned| &planned.name).to_owned(),
        path: planned.map(|planned| planned.path.clone()),
        brokers: dir.brokers.iter().map(|(broker, _)| *broker).collect(),
        storage: storage(&HostRoot::default(), &SystemCommands::default(), &place),
    }
}
