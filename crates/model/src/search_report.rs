//! The answer of a search for settings: what to change and what it is proven to gain. `plumb search --output json` prints it.
//!
//! Every figure of an effect is from a trial on blocks of its own. What the search itself saw is kept beside it, as what led there.

use crate::best::{BestEnding, Importance, RefusalGrounds};
use crate::plan::{Goal, Properties};
use crate::search::SearchBound;
use crate::settings_search::{LeftOut, Objective, RefusedBy, SearchBlock, SearchDimension};
use crate::start_setting::StartChange;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of [`SearchReport`]'s shape.
pub const SEARCH_SCHEMA_VERSION: u32 = 1;

/// The answer of a search for settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReport {
    /// Shape of this document.
    pub schema_version: u32,
    /// Name of the scenario.
    pub name: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Seed of the search; the same one tries the same settings where blocks come out alike.
    pub seed: u64,
    /// What was made as good as possible.
    pub objective: Objective,
    /// The metric that tells it, by name.
    pub metric: String,
    /// The latency that has to hold.
    pub goal: Option<Goal>,
    /// What a write is promised by the settings that were searched from, as the scenario asks for it.
    pub promise: String,
    /// The answers for setups that promise something else; none is better or worse than another.
    pub other_promises: Vec<SearchReport>,
    /// The answer in one word.
    pub outcome: SearchOutcome,
    /// The end of the search itself; absent where it did not come to one.
    pub ending: Option<BestEnding>,
    /// The error with which it ended, such as brokers that give no answer any more; absent where it did not, and in documents of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer in sentences, the main one first.
    pub summary: Vec<String>,
    /// What to change of the scenario, with each change's own part; empty where nothing is proven.
    pub proposed: Vec<ProposedChange>,
    /// What looked better and is not proven; empty where something is.
    pub candidates: Vec<ProposedChange>,
    /// The trial of what is proposed against the scenario's own settings; absent where there was none.
    pub proof: Option<SearchProof>,
    /// The highest rates that hold the goal, each with clients of its own: of the scenario's settings, and of what is proposed. Empty unless
    /// the rate is what was made as high as possible.
    pub highest_rates: Vec<HighestRate>,
    /// The same at other rates; too few pairs for a verdict.
    pub other_rates: Vec<RateCheck>,
    /// Starts of the brokers with other settings, each against what is proposed, or what there is, in a trial of their own.
    pub restart: Vec<Restarted>,
    /// What the figures hold for.
    pub envelope: Vec<EnvelopeFact>,
    /// Every block of the search, in order.
    pub blocks: Vec<SearchBlock>,
    /// Indices of the blocks that no other is better than in latency, CPU time per message and rate together.
    pub front: Vec<usize>,
    /// Blocks that were given up early.
    pub aborted: usize,
    /// Blocks that failed.
    pub failed: usize,
    /// What a client or a broker refused, so that it was not tried again.
    pub refused: Vec<RefusedSettings>,
    /// Trials that a client, a broker or the host refused, so that they came to no result.
    #[serde(default)]
    pub refused_trials: Vec<RefusedTrial>,
    /// Presets that the load rules out, so that they were not run.
    pub ruled_out: Vec<String>,
    /// An objective of this ratio (below 1) to that of the scenario's settings would have shown; absent where that is not known.
    pub smallest_gain_ratio: Option<f64>,
    /// Standard deviation of the logarithm of the objective between equal blocks; absent before there are two.
    pub spread_log: Option<f64>,
    /// What each setting does to the objective over all that was tried.
    pub importance: Vec<SettingImportance>,
    /// The settings that might change.
    pub space: Vec<SearchDimension>,
    /// What was not searched.
    pub left_out: Vec<LeftOut>,
    /// Directories of the runs behind this, below this document's: the search, its proof, the parts, other rates.
    pub runs: Vec<String>,
}

/// A trial that somebody refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedTrial {
    /// The stage that it belongs to.
    pub stage: TrialStage,
    /// Its directory, below this document's.
    pub run: String,
    /// The words of the one who refused.
    pub reason: String,
}

/// The stages of a search that follow its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialStage {
    /// Trials by which changes are taken back: of each one's own part, and of fewer changes against all.
    TakingBack,
    /// The proof of what is proposed.
    Proof,
    /// A look at another rate.
    OtherRate,
}

/// Settings that were refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedSettings {
    /// The value of each; of several, all together.
    pub settings: Properties,
    /// True if values that lie farther from the scenario's are not tried, either.
    pub beyond: bool,
    /// What it rests on that they are the ones.
    pub grounds: RefusalGrounds,
    /// The one who refused them.
    pub by: RefusedBy,
    /// Its words, of the first time.
    pub words: String,
    /// Blocks that were refused for it.
    pub blocks: usize,
}

/// The answer of a search in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// What is proposed is proven better.
    Better,
    /// The settings that there are are as good as any found.
    AsGood,
    /// Something looked better, and the trial did not prove it.
    NotProven,
    /// Nothing that was found holds the goal.
    NothingMeetsGoal,
    /// Equal blocks differ too much, or there are too few, to show anything.
    TooNoisy,
    /// Something looked better, and no trial was run.
    ToProve,
    /// No other settings were tried: all that there was room for is ruled out.
    NothingTried,
    /// It was stopped before its end.
    Interrupted,
    /// Blocks failed, so that nothing could be found.
    Failed,
}

/// One change that is proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedChange {
    /// The setting, such as `producer.linger.ms`.
    pub setting: String,
    /// The value that the scenario has.
    pub from: String,
    /// True if the scenario says that value; else it is the default.
    pub from_is_written: bool,
    /// The value to give it.
    pub to: String,
    /// Its own part: the metric with all changes over the metric with all but this one; absent where it was not measured by itself.
    pub effect: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// What that shows.
    pub verdict: PartVerdict,
}

/// What the trial of a change's own part shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartVerdict {
    /// Without it the rest is worse.
    Matters,
    /// Without it the rest is as good, within the margin.
    Idle,
    /// Without it the rest is better.
    Harmful,
    /// Not shown either way.
    NotShown,
    /// It is the only change, so its part is the whole.
    Whole,
    /// Not measured by itself.
    NotMeasured,
}

/// A trial of two settings, on blocks that chose neither.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchProof {
    /// The metric with the changes over the metric without.
    pub estimate_ratio: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// The verdict, all guards considered.
    pub verdict: Verdict,
    /// Guards that took a better verdict away, each as a sentence.
    pub vetoes: Vec<String>,
    /// The reason why it is undecided; absent for every other verdict.
    pub reason: Option<String>,
    /// Median of the metric over the blocks of the scenario's settings, in the metric's unit.
    pub before: Option<f64>,
    /// Median with the changes.
    pub after: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// Pairs of blocks.
    pub pairs: u32,
    /// Starts of the brokers behind them.
    pub starts: u32,
    /// The other metrics that were looked at, as `name: ratio`.
    pub guards: Vec<GuardFigure>,
    /// Of the blocks with the changes: how many held the goal; absent without a goal.
    pub goal_held: Option<GoalHeld>,
    /// Differences of durability or security between the two as they were read back; empty when there are none.
    pub unequal_guarantees: Vec<String>,
    /// What was read back as equal on both sides, such as acks.
    pub guarantees: Properties,
    /// What its blocks with the changes came to. Absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<ProofFigures>,
}

/// Medians over the blocks of a proof with the changes; each absent where no block has it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProofFigures {
    /// The p50 of the latency (end to end where there are consumers, else acknowledge), nanoseconds.
    pub p50_ns: Option<f64>,
    /// Its p99.
    pub p99_ns: Option<f64>,
    /// Microseconds of CPU per message: of the clients, and of the brokers where that is known.
    pub cpu_per_message_us: Option<f64>,
}

/// Another metric of a proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardFigure {
    /// Its name.
    pub metric: String,
    /// With the changes over without.
    pub estimate_ratio: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// The verdict on it alone.
    pub verdict: Verdict,
}

/// How often a goal held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalHeld {
    /// Blocks that held it.
    pub held: u32,
    /// All blocks.
    pub blocks: u32,
}

impl GoalHeld {
    /// True if it held in nearly all blocks: a goal on a quantile is broken by one block in ten at the limit by chance.
    pub fn mostly(self) -> bool {
        self.blocks > 0 && f64::from(self.held) >= 0.9 * f64::from(self.blocks)
    }
}

/// The highest rate at which settings hold the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HighestRate {
    /// Whose: `as it is`, or `proposed`.
    pub arm: String,
    /// Highest rate that was confirmed to hold, messages per second; absent where none was.
    pub rate_low_per_s: Option<f64>,
    /// Lowest rate above it that was confirmed not to hold; absent where none was found.
    pub rate_high_per_s: Option<f64>,
    /// The reason why it is no higher.
    pub bounded_by: Option<SearchBound>,
}

/// What is proposed at another rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateCheck {
    /// Messages per second.
    pub rate_per_s: f64,
    /// Pairs of blocks.
    pub pairs: u32,
    /// The metric with the changes over the metric without, of each pair.
    pub ratios: Vec<f64>,
    /// True if the changes were better in every pair.
    pub better_in_each: bool,
}

/// What a start of the brokers with another setting is shown to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// The setting with its values.
    #[serde(flatten)]
    pub change: StartChange,
    /// What it is held against: `proposed`, or `as it is`.
    pub against: String,
    /// The metric on brokers started so over the metric on the others.
    pub estimate_ratio: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// The verdict, all guards considered.
    pub verdict: Verdict,
    /// What took a better verdict away, or why it is undecided, each as a sentence.
    pub reasons: Vec<String>,
    /// Pairs of blocks.
    pub pairs: u32,
    /// Starts of the brokers behind them.
    pub starts: u32,
}

/// One fact of what the figures hold for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvelopeFact {
    /// Its name.
    pub what: String,
    /// Its value.
    pub value: String,
}

/// What a setting does to the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingImportance {
    /// The setting.
    pub setting: String,
    /// Its share of the objective's variance over what was tried.
    #[serde(flatten)]
    pub importance: Importance,
    /// False where whether it matters cannot be told.
    pub is_told: bool,
    /// The settings that changed together with it, so that what each of them does cannot be told apart; absent where it can, and in documents
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// Settings that the blocks of a search do not tell apart from another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Their names.
    pub with: Vec<String>,
    /// The blocks in which they changed together.
    pub blocks: TogetherIn,
}

/// The blocks in which settings changed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TogetherIn {
    /// Each one in which the setting changed.
    Every,
    /// Nine of ten of those in which any of them changed, or more.
    NearlyEvery,
    /// Some of them in each, so that no blocks differ in the setting alone.
    Some,
}

/// Settings that a sentence names, at most.
const NAMED_MOST: usize = 3;

impl Together {
    /// The reason why the setting's importance cannot be told.
    pub fn sentence(&self) -> String {
        let mut with = self.with[..self.with.len().min(NAMED_MOST)].join(", ");
        if self.with.len() > NAMED_MOST {
            with.push_str(&format!(" and {} more", self.with.len() - NAMED_MOST));
        }
        match self.blocks {
            TogetherIn::Every => format!("changed together with {with} in every block"),
            TogetherIn::NearlyEvery => format!("changed together with {with} in nearly every block"),
            TogetherIn::Some => format!("no blocks tell it apart from {with}"),
        }
    }
}
