//! The search for the best settings: the purposes of its blocks, its endings, and how much each setting matters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The purpose of a block of a search for the best settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BestPurpose {
    /// The settings that there are, at first and more than once: how far equal blocks differ.
    Noise,
    /// Settings that are known to suit some loads.
    Preset,
    /// Settings that a model of the blocks so far expects to be better.
    Explore,
    /// The settings that there are, among the others: what has drifted since.
    Default,
    /// Finalists and the settings that there are, in rounds.
    Race,
    /// The winner, and the winner without the changes that seem idle, in pairs.
    Prune,
}

/// The reason why a search for the best settings ended, and what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BestEnding {
    /// Other settings were better in the race; where the settings that there are break the goal: others meet it. No more than a
    /// candidate before it is proven by blocks of its own.
    Better,
    /// Nothing beat the settings that there are.
    AsGood,
    /// Neither the settings that there are nor any others that were found meet the goal.
    NothingMeetsGoal,
    /// Equal blocks differ so much that the budget would not show even half of the objective.
    TooNoisy,
    /// The budget is too small for even one other setting and a race.
    TooFewBlocks,
    /// No block of the settings that there are could be measured, so there is nothing to hold others against.
    DefaultFailed,
    /// Blocks of the settings that there are were measured, but of no others.
    NothingElseRan,
    /// No block at all could be measured.
    NothingRan,
}

/// What it rests on that settings are not tried because they were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalGrounds {
    /// The refusal can be about nothing else: it names the setting, it was the only change, or all other changes ran elsewhere.
    Only,
    /// The setting was among the changes of two refusals that do not say what they are about: it may not be the one.
    Repeated,
    /// One of several changes, or all of them together: what was refused is not tried again together.
    Together,
}

/// How much a setting matters over the region that was explored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Importance {
    /// Share of the objective's variance that goes with the setting, alone and together with others, 0 to 1. The shares of
    /// settings that act together overlap.
    pub share: f64,
    /// Lower end of its 80 % band, 0 to 1. Where it is 0, whether the setting matters cannot be told.
    pub low: f64,
    /// Upper end of its 80 % band, 0 to 1.
    pub high: f64,
}

impl Importance {
    /// False if whether the setting matters cannot be told.
    pub fn is_told(&self) -> bool {
        self.low > 0.0
    }
}
