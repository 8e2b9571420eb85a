//! The registry of what brokers may be started with for the last trial of a search: settings that need a restart, one row each.
//!
//! As in [`crate::tunable`], what changes a promise (flushes, replication, retention, security, time-outs after which a follower counts as out of
//! sync) has no row and cannot be written down. Settings that can be changed while brokers run are tried around blocks, by a plan of
//! `tune`; those of them that advice names are here as well, because a lab starts after any plan was made.
//!
//! Names and defaults: Kafka 4.3.0's generated configuration reference.

use crate::plan::ClusterPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The heap of each broker's JVM, which is no broker property.
pub const HEAP: &str = "heap";

/// The heap of a lab's brokers where nobody says another.
pub const DEFAULT_HEAP: &str = "512m";
/// The same in MiB.
pub const DEFAULT_HEAP_MIB: u32 = 512;

/// One setting that brokers are started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartSetting {
    /// Kafka's name, or [`HEAP`].
    pub name: &'static str,
    /// Kafka's default; of the heap the lab's.
    pub default: &'static str,
}

/// Every such setting.
pub const START_SETTINGS: &[StartSetting] = &[
    StartSetting { name: HEAP, default: DEFAULT_HEAP },
    StartSetting { name: "group.coordinator.append.linger.ms", default: "-1" },
    StartSetting { name: "num.io.threads", default: "8" },
    StartSetting { name: "num.network.threads", default: "3" },
    StartSetting { name: "num.replica.fetchers", default: "1" },
    StartSetting { name: "queued.max.requests", default: "500" },
    StartSetting { name: "replica.fetch.max.bytes", default: "1048576" },
    StartSetting { name: "replica.fetch.min.bytes", default: "1" },
    StartSetting { name: "replica.fetch.wait.max.ms", default: "500" },
    StartSetting { name: "replica.socket.receive.buffer.bytes", default: "65536" },
    StartSetting { name: "socket.receive.buffer.bytes", default: "102400" },
    StartSetting { name: "socket.send.buffer.bytes", default: "102400" },
];

/// A start of the brokers with another value of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartChange {
    /// The setting.
    pub setting: String,
    /// The value that the scenario's brokers have.
    pub from: String,
    /// The value that is tried.
    pub to: String,
    /// The finding that advises it; absent where the scenario names it.
    pub advised_by: Option<String>,
}

/// The setting of a name.
pub fn find(name: &str) -> Option<&'static StartSetting> {
    START_SETTINGS.iter().find(|setting| setting.name == name)
}

impl StartSetting {
    /// The value that the brokers of a lab are started with; none where they are no lab.
    pub fn of_lab(&self, cluster: &ClusterPlan) -> Option<String> {
        match cluster {
            ClusterPlan::Lab { heap, .. } if self.name == HEAP => Some(heap.clone()),
            ClusterPlan::Lab { broker_properties, .. } => {
                let written = broker_properties.get(self.name).map(String::as_str);
                Some(written.unwrap_or(self.default).to_owned())
            }
            ClusterPlan::Brokers { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_heap_is_one() {
        assert_eq!(crate::plan::heap_mib(DEFAULT_HEAP).unwrap(), DEFAULT_HEAP_MIB);
    }

    #[test]
    fn names_are_unique_sorted_and_found_and_none_changes_a_promise() {
        let names: Vec<&str> = START_SETTINGS.iter().map(|setting| setting.name).collect();
        assert!(names[1..].is_sorted_by(|a, b| a < b), "{names:?}");
        for setting in START_SETTINGS {
            assert_eq!(find(setting.name), Some(setting));
        }
        let promises = [
            "flush",
            "retention",
            "isr",
            "unclean",
            "replication.factor",
            "ssl",
            "sasl",
            "lag.time",
            "listeners",
        ];
        for part in promises {
            assert!(names.iter().all(|name| !name.contains(part)), "{part}");
        }
    }
}
