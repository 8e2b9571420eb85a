//! The words of a search for settings.

use super::{GoalWords, Scalar};
use crate::settings_search::Objective;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The search for the best settings of the first setup; further setups are tried as they are.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchWords {
    /// What is made as good as possible: `latency` at the load's rate, `cpu` per message, or the `rate`.
    pub objective: Option<Objective>,
    /// The latency that has to hold, such as p99=20ms.
    pub goal: Option<GoalWords>,
    /// Blocks of the search.
    pub budget: Option<u32>,
    /// Length of each block.
    pub block: Option<Nanos>,
    /// The settings that may change, such as `producer.linger.ms`, or all of an owner, such as `consumer`; without it all that there are.
    pub settings: Option<Vec<String>>,
    /// Settings of the lab's brokers that need a restart, such as `queued.max.requests: 1000`, each tried by itself in a last trial; `heap` is
    /// that of each broker.
    #[serde(default)]
    pub restart: BTreeMap<String, Scalar>,
    /// With `durability`, setups that promise less or more than the first are searched from as well, each kind of promise by itself.
    pub allow: Option<Vec<SearchAllow>>,
}

/// What a search may look at beside the first setup's promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchAllow {
    /// Setups of another durability. Their results are never held against each other.
    Durability,
}
