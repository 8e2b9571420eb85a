//! The search for the best settings of a step: the space that it searches, and every block that it ran.
//!
//! The blocks of a search choose; they prove nothing. What is reported as a result comes from a trial on blocks of its own.

use crate::best::{BestEnding, BestPurpose, Importance};
use crate::plan::{Goal, Properties, StepPlan, TopicPlan};
use crate::property::{same_value, usual_name};
use crate::start_setting::StartChange;
use crate::tunable::Owner;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a search makes as good as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The least latency at the load's rate.
    Latency,
    /// The least CPU time per message, of the clients and of the brokers where that is known.
    Cpu,
    /// The highest rate: under a goal, or as fast as possible.
    Rate,
}

impl Objective {
    /// As it is written: `latency`.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Latency => "latency",
            Objective::Cpu => "cpu",
            Objective::Rate => "rate",
        }
    }
}

/// The space of a search, and how long it may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsSearch {
    /// What is made as good as possible.
    pub objective: Objective,
    /// The metric of a block that says how good it is, by name.
    pub metric: String,
    /// The latency that has to hold.
    pub goal: Option<Goal>,
    /// Blocks of the search; the trial that proves its result has its own.
    pub budget: u32,
    /// Length of a block's measured part.
    pub block: Nanos,
    /// The settings that may change.
    pub dimensions: Vec<SearchDimension>,
    /// Settings that are tried first.
    pub presets: Vec<Preset>,
    /// Settings and setups that are not searched, each with its reason.
    pub left_out: Vec<LeftOut>,
    /// Settings of brokers that need a restart: each is tried in a last trial alone, on brokers of its own. Absent in documents of earlier
    /// versions.
    #[serde(default)]
    pub restart: Vec<StartChange>,
}

/// One setting with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchDimension {
    /// Its name with its owner's, such as `producer.linger.ms`.
    pub setting: String,
    /// Its values; those of an order from least to most.
    pub values: Vec<String>,
    /// True if they have an order.
    pub is_ordered: bool,
    /// Index of the value that the scenario has.
    pub current: usize,
    /// True if the scenario says it; a setting that it does not say has its default.
    pub is_written: bool,
}

/// Settings that are tried first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// What it changes, by the settings' names.
    pub settings: Properties,
}

/// What is not searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The setting or setup.
    pub what: String,
    /// The reason.
    pub reason: String,
}

/// The course of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsSearchResult {
    /// Every block, in order.
    pub blocks: Vec<SearchBlock>,
    /// What the first block told of the path; absent before it.
    pub path: Option<PathFacts>,
    /// What the findings of the first block advise to try.
    pub advised: Vec<Preset>,
    /// Settings that need a restart which the findings of the first block advise. Absent in documents of earlier versions.
    #[serde(default)]
    pub advised_restart: Vec<StartChange>,
    /// The end of the search; absent while it goes on.
    pub ending: Option<BestEnding>,
    /// What to prove, as changes of the scenario's settings; absent where nothing is worth a proof.
    pub winner: Option<Properties>,
    /// The same before changes that do nothing were taken back; absent where nothing was.
    pub unpruned: Option<Properties>,
    /// An objective of this ratio (below 1) to that of the scenario's settings would have shown; absent where that is not known.
    pub smallest_gain_ratio: Option<f64>,
    /// Standard deviation of the logarithm of the objective between equal blocks; absent before there are two.
    pub spread_log: Option<f64>,
    /// What each setting does to the objective over all that was tried, in the order of the plan's settings.
    pub importance: Vec<Importance>,
}

/// What the first block told of the path, by which settings that cannot do are ruled out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathFacts {
    /// The shortest time from a send to its acknowledgement, nanoseconds: no round trip is longer.
    pub round_trip_ns: Option<u64>,
    /// The objective of the scenario's own settings.
    pub objective: Option<f64>,
}

/// One block of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchBlock {
    /// Its settings, as far as they differ from the scenario's.
    pub settings: Properties,
    /// Its purpose.
    pub purpose: BestPurpose,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The objective, in the unit of its metric, less being better (of a rate: seconds per message); absent where the block failed. Of a
    /// block that was given up: at least this.
    pub objective: Option<f64>,
    /// The goal's latency over its limit; absent without a goal.
    pub goal_ratio: Option<f64>,
    /// True if the goal held; absent without a goal.
    pub feasible: Option<bool>,
    /// True if it was given up before its end, as hopeless: its figures are bounds.
    pub aborted: bool,
    /// The reason why it has no figures, or is not used; absent where it is.
    pub failed: Option<String>,
    /// The refusal of its settings, where that is the reason. Absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    /// Seconds that were measured.
    pub measured_s: f64,
    /// Messages per second that were acknowledged.
    pub achieved_per_s: Option<f64>,
    /// The p50 and p99 of its latency (end to end where there are consumers, else acknowledge), nanoseconds; absent with too few samples.
    pub p50_ns: Option<f64>,
    /// See [`SearchBlock::p50_ns`].
    pub p99_ns: Option<f64>,
    /// Microseconds of CPU per message: of the clients, and of the brokers where that is known.
    pub cpu_per_message_us: Option<f64>,
}

/// A refusal of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The one who did not take them.
    pub by: RefusedBy,
    /// Its words.
    pub words: String,
    /// The settings of the block that it can be about, as far as it says so: one where it names it.
    pub suspects: Vec<String>,
}

impl Refusal {
    /// Who refused, and in what words.
    pub fn sentence(&self) -> String {
        format!("refused by {}: {}", self.by.words(), self.words)
    }
}

/// The one who refuses settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// The client library.
    Client,
    /// A broker.
    Broker,
    /// The kernel of this host, or a broker that runs already, asked for a setting that a plan names.
    Host,
}

impl RefusedBy {
    /// For a sentence: `the broker`.
    pub fn words(self) -> &'static str {
        match self {
            RefusedBy::Client => "the client",
            RefusedBy::Broker => "the broker",
            RefusedBy::Host => "this host",
        }
    }
}

impl SettingsSearch {
    /// The place of settings in the space: an index for each dimension. Settings that are not of the space are left aside; a value
    /// between two levels is at the nearer one.
    pub fn point(&self, settings: &Properties) -> Vec<usize> {
        let index = |dimension: &SearchDimension| match settings.get(&dimension.setting) {
            Some(value) => dimension.nearest(value),
            None => dimension.current,
        };
        self.dimensions.iter().map(index).collect()
    }

    /// The changes of the scenario's settings that a place is.
    pub fn settings(&self, point: &[usize]) -> Properties {
        let changed = self.dimensions.iter().zip(point).filter(|(dimension, at)| dimension.current != **at);
        changed.map(|(dimension, at)| (dimension.setting.clone(), dimension.values[*at].clone())).collect()
    }

    /// The value that the scenario has of a setting.
    pub fn current(&self, setting: &str) -> Option<&str> {
        let dimension = self.dimensions.iter().find(|dimension| dimension.setting == setting)?;
        Some(&dimension.values[dimension.current])
    }
}

impl SearchDimension {
    /// The index of a value, or of the nearest one by ratio; the current one where there is none such.
    fn nearest(&self, value: &str) -> usize {
        if let Some(at) = self.values.iter().position(|known| same_value(known, value)) {
            return at;
        }
        let number = |text: &str| text.parse::<f64>().ok().map(|number| number.max(1e-3).ln());
        let Some(wanted) = number(value).filter(|_| self.is_ordered) else { return self.current };
        let distance = |text: &String| number(text).map_or(f64::INFINITY, |known| (known - wanted).abs());
        let nearest = (0..self.values.len())
            .min_by(|a, b| distance(&self.values[*a]).total_cmp(&distance(&self.values[*b])));
        nearest.unwrap_or(self.current)
    }
}

/// The owner and the plain name of a setting such as `producer.linger.ms`.
pub fn split(setting: &str) -> Option<(Owner, &str)> {
    let (owner, name) = setting.split_once('.')?;
    let owners = [Owner::Producer, Owner::Consumer, Owner::Topic, Owner::Host];
    Some((owners.into_iter().find(|known| known.name() == owner)?, name))
}

/// The settings of one owner, by their plain names.
pub fn of_owner(settings: &Properties, owner: Owner) -> Properties {
    let own = settings.iter().filter_map(|(setting, value)| {
        let (of, name) = split(setting)?;
        (of == owner).then(|| (name.to_owned(), value.clone()))
    });
    own.collect()
}

/// A step with other settings of its clients and its topic. Settings of the host are not the step's.
pub fn step_with(step: &StepPlan, settings: &Properties) -> StepPlan {
    let mut step = step.clone();
    put(&mut step.producer, &of_owner(settings, Owner::Producer));
    put(&mut step.consumer, &of_owner(settings, Owner::Consumer));
    if let TopicPlan::Own { configs, .. } = &mut step.topic {
        put(configs, &of_owner(settings, Owner::Topic));
    }
    step
}

/// Puts settings in place of those that are there, whichever of their names those have.
fn put(properties: &mut Properties, settings: &Properties) {
    properties.retain(|name, _| !settings.contains_key(usual_name(name)));
    properties.extend(settings.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> SettingsSearch {
        let dimension = |setting: &str, values: &[&str], current| SearchDimension {
            setting: setting.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            is_ordered: true,
            current,
            is_written: false,
        };
        SettingsSearch {
            objective: Objective::Latency,
            metric: "end_to_end.p99".to_owned(),
            goal: None,
            budget: 40,
            block: Nanos::from_secs(20),
            dimensions: vec![
                dimension("producer.linger.ms", &["0", "1", "5", "100"], 2),
                dimension("consumer.fetch.min.bytes", &["1", "1024"], 0),
            ],
            presets: Vec::new(),
            left_out: Vec::new(),
            restart: Vec::new(),
        }
    }

    fn settings(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_and_points_are_each_others_inverse() {
        let search = search();
        let changed = settings(&[("producer.linger.ms", "100")]);
        assert_eq!(search.point(&changed), [3, 0]);
        assert_eq!(search.settings(&[3, 0]), changed);
        assert_eq!(search.settings(&search.point(&Properties::new())), Properties::new());
    }

    #[test]
    fn a_value_between_levels_is_at_the_nearer_one() {
        let search = search();
        assert_eq!(search.point(&settings(&[("producer.linger.ms", "60")]))[0], 3);
        assert_eq!(search.point(&settings(&[("producer.linger.ms", "5.0")]))[0], 2);
        assert_eq!(search.point(&settings(&[("producer.linger.ms", "often")]))[0], 2);
    }

    #[test]
    fn a_setting_takes_the_place_of_its_other_name() {
        let mut producer = settings(&[("queue.buffering.max.ms", "100"), ("acks", "all")]);
        put(&mut producer, &settings(&[("linger.ms", "0")]));
        assert_eq!(producer, settings(&[("linger.ms", "0"), ("acks", "all")]));
    }
}
