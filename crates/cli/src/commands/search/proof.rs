//! The trials that prove what a search found: on fresh topics, seeds and starts of the brokers, against the scenario as it is.

use super::request::{Request, host_of};
use anyhow::Result;
use plumb_judge::settings_search::{ALL, AS_IS, FEWER, PROPOSED, SHOWN, ToProve, started_with, without};
use plumb_judge::trial::{Unit, comparisons, deciding_level};
use plumb_model::plan::{ClusterPlan, Plan, Properties};
use plumb_model::property::usual_name;
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ArmClusterWords, ArmLabWords, ArmWords, ArmsWords, LoadWords, OneOrMany, RateWords, Scalar, SetupWords,
};
use plumb_model::settings_search::of_owner;
use plumb_model::start_setting::{HEAP, StartChange};
use plumb_model::trial::Against;
use plumb_model::tunable::Owner;
use plumb_scenario::yaml::{Key, Value};

/// Pairs in which each change's own part is measured, at least. Many changes take more: a verdict allows for how many there are.
const PARTS_PAIRS: u32 = 8;
/// Pairs beyond the fewest that can decide: some are left out as disturbed.
const PARTS_SPARE: u32 = 2;
/// Pairs at another rate: a look and no verdict.
const RATE_PAIRS: u32 = 3;
/// The other rates, as shares of the scenario's.
const OTHER_RATES: [f64; 2] = [0.7, 1.3];
/// What differs from the seed of the search in that of its proof.
const PROOF_SEED: u64 = 0x5851_f42d;

/// The trials of a winner.
pub(super) struct Proof<'a> {
    pub(super) request: &'a Request,
    /// All changes that were found.
    pub(super) winner: &'a Properties,
    /// Those that are left when what is not shown to matter is taken back.
    pub(super) smallest: Properties,
    /// Those of them that are shown to matter.
    pub(super) shown: Properties,
    /// The changes before those that seemed idle were taken back, where that is more.
    pub(super) unpruned: Option<&'a Properties>,
    /// The rate at which it was found, where that is not the scenario's.
    pub(super) rate_per_s: Option<f64>,
}

/// Another rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherRate {
    share: f64,
    per_s: f64,
}

impl OtherRate {
    /// For a sentence.
    pub(super) fn words(self) -> String {
        format!("at {} of the rate", self.share)
    }

    /// The name of its directory.
    pub(super) fn name(self) -> String {
        format!("at-{}-of-the-rate", self.share)
    }
}

/// The comparison of a trial.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    number: u32,
    /// Starts of the brokers; the plan's lab is started anew as often.
    restarts: bool,
}

/// The fewest pairs with which a trial can decide all its comparisons.
pub(super) fn fewest_pairs(plan: &Plan) -> u32 {
    let Some(trial) = &plan.trial else { return 0 };
    let fewest = Unit::of(trial).fewest(deciding_level(plan.level, comparisons(plan)));
    fewest.and_then(|fewest| u32::try_from(fewest).ok()).unwrap_or(0)
}

impl Proof<'_> {
    /// What is to be proven.
    pub(super) fn prove(&mut self, ToProve { smallest, shown }: ToProve) {
        (self.smallest, self.shown) = (smallest, shown);
    }

    /// The trial of the whole.
    pub(super) fn plan(&self) -> Result<Plan> {
        let mut arms = vec![(AS_IS, Properties::new()), (PROPOSED, self.smallest.clone())];
        let all = match self.smallest == *self.winner {
            true => self.unpruned.filter(|unpruned| *unpruned != self.winner),
            false => Some(self.winner),
        };
        arms.extend(all.map(|all| (ALL, all.clone())));
        if self.shown != self.smallest {
            arms.push((SHOWN, self.shown.clone()));
        }
        let pairs = Pairs { number: self.request.pairs, restarts: true };
        self.trial(&named(arms), pairs, self.rate_per_s)
    }

    /// The trial of fewer changes against all.
    pub(super) fn race_plan(&self, all: &Properties, fewer: &Properties) -> Result<Plan> {
        let arms = named(vec![(ALL, all.clone()), (FEWER, fewer.clone())]);
        self.trial(&arms, Pairs { number: PARTS_PAIRS, restarts: false }, self.rate_per_s)
    }

    /// The trial of each change's own part: all of them against all but one; in so many times the usual pairs.
    pub(super) fn parts_plan(&self, all: &Properties, times: u32) -> Result<Plan> {
        let mut arms = vec![(ALL.to_owned(), all.clone())];
        for setting in all.keys() {
            let mut others = all.clone();
            others.remove(setting);
            arms.push((without(setting), others));
        }
        let of_pairs = |number| self.trial(&arms, Pairs { number, restarts: false }, self.rate_per_s);
        let fewest = fewest_pairs(&of_pairs(PARTS_PAIRS)?);
        of_pairs((fewest + PARTS_SPARE).max(PARTS_PAIRS) * times)
    }

    /// The search for the highest rate that holds the goal, of the scenario's settings and of what is proposed.
    pub(super) fn rates_plan(&self) -> Result<Plan> {
        let (mut scenario, sources) = self.request.scenario()?;
        let words = scenario.search.take().unwrap_or_default();
        let first = scenario.setups.first().cloned().unwrap_or_default();
        let setup = |name: &str, settings: &Properties| {
            let arm = arm(&first, settings);
            let load = LoadWords { rate: None, count: None, duration: None, ..arm.load };
            SetupWords {
                name: Some(name.to_owned()),
                cluster: first.cluster.clone(),
                driver: arm.driver,
                producer: arm.producer,
                consumer: arm.consumer,
                load,
                topic: arm.topic,
            }
        };
        scenario.setups = vec![setup(AS_IS, &Properties::new()), setup(PROPOSED, &self.smallest)];
        scenario.load.rate = None;
        scenario.load.count = None;
        scenario.load.duration = words.block.map(OneOrMany::One);
        scenario.goal = words.goal;
        scenario.blocks = None;
        scenario.seed = Some(self.request.seed ^ PROOF_SEED);
        Ok(resolve(&scenario, &sources)?)
    }

    /// The rates at which it is looked at besides; none where the load is as fast as possible.
    pub(super) fn other_rates(&self, search: &Plan) -> Vec<OtherRate> {
        let rate = search.steps.first().and_then(|step| step.load.rate_per_s);
        let rates = rate.into_iter().flat_map(|rate| {
            OTHER_RATES.map(|share| OtherRate { share, per_s: (rate * share).round().max(1.0) })
        });
        rates.collect()
    }

    /// The trial at another rate.
    pub(super) fn rate_plan(&self, rate: OtherRate) -> Result<Plan> {
        let arms = named(vec![(AS_IS, Properties::new()), (PROPOSED, self.smallest.clone())]);
        let pairs = Pairs { number: RATE_PAIRS, restarts: false };
        self.trial(&arms, pairs, Some(rate.per_s))
    }

    fn trial(&self, arms: &[(String, Properties)], pairs: Pairs, rate: Option<f64>) -> Result<Plan> {
        let arms: Vec<Arm> =
            arms.iter().map(|(name, settings)| Arm { name, settings, start: None }).collect();
        trial(self.request, &arms, pairs, rate)
    }

    /// The scenario of the trial, for another day.
    pub(super) fn scenario_text(&self) -> Result<String> {
        let search = self.request.search_plan()?;
        let Some(space) = &search.settings_search else {
            anyhow::bail!("the plan of the search has no space")
        };
        let tree: Value = serde_saphyr::from_str(&self.request.text)?;
        let Value::Map(entries) = tree else { anyhow::bail!("the scenario is no object") };
        let first =
            entries.iter().find(|(key, _)| key.name == "setups").and_then(|(_, setups)| match setups {
                Value::List(setups) => setups.first().cloned(),
                _ => None,
            });
        let left = ["setups", "search", "goal", "blocks", "twin", "seed", "trial"];
        let mut kept: Vec<(Key, Value)> =
            entries.into_iter().filter(|(key, _)| !left.contains(&key.name.as_str())).collect();
        for (key, value) in &mut kept {
            if let ("load", Value::Map(load)) = (key.name.as_str(), value) {
                load.retain(|(key, _)| !["count", "duration"].contains(&key.name.as_str()));
                load.push(entry("duration", Value::Scalar(space.block.to_string())));
            }
        }
        if !kept.iter().any(|(key, _)| key.name == "load") {
            let duration = entry("duration", Value::Scalar(space.block.to_string()));
            kept.push(entry("load", Value::Map(vec![duration])));
        }
        if let Some(bootstrap) = &self.request.bootstrap {
            let mut cluster = vec![entry("bootstrap", Value::Scalar(bootstrap.clone()))];
            cluster.extend(self.request.config.clone().map(|config| entry("config", Value::Scalar(config))));
            kept.retain(|(key, _)| key.name != "cluster");
            kept.insert(0, entry("cluster", Value::Map(cluster)));
        }
        let reference = arm_tree(first.as_ref(), &Properties::new());
        let proposed = arm_tree(first.as_ref(), &self.smallest);
        kept.push(entry("arms", Value::Map(vec![entry(AS_IS, reference), entry(PROPOSED, proposed)])));
        let mut trial = vec![("primary", space.metric.clone()), ("pairs", self.request.pairs.to_string())];
        if matches!(search.cluster, ClusterPlan::Lab { .. }) {
            trial.push(("restart_every", "1".to_owned()));
        }
        let trial = trial.into_iter().map(|(name, value)| entry(name, Value::Scalar(value)));
        kept.push(entry("trial", Value::Map(trial.collect())));
        kept.push(entry("seed", Value::Scalar((self.request.seed ^ PROOF_SEED).to_string())));
        Ok(Value::Map(kept).to_yaml())
    }
}

/// An arm of a trial.
struct Arm<'a> {
    name: &'a str,
    /// Changes over the first setup.
    settings: &'a Properties,
    /// What its brokers are started with.
    start: Option<&'a StartChange>,
}

impl Arm<'_> {
    fn words(&self, first: &SetupWords) -> ArmWords {
        let mut words = arm(first, self.settings);
        if let Some(change) = self.start {
            let mut lab = ArmLabWords::default();
            match change.setting.as_str() {
                HEAP => lab.heap = Some(change.to.clone()),
                name => {
                    lab.broker_properties.insert(name.to_owned(), Scalar(change.to.clone()));
                }
            }
            words.cluster = Some(ArmClusterWords::Lab(lab));
        }
        words
    }
}

/// The last trial: brokers started with each of these against the others, all with the settings that are proposed.
pub(super) fn restart_plan(
    request: &Request,
    settings: &Properties,
    changes: &[StartChange],
) -> Result<Plan> {
    let names: Vec<String> = changes.iter().map(started_with).collect();
    let reference = if settings.is_empty() { AS_IS } else { PROPOSED };
    let mut arms = vec![Arm { name: reference, settings, start: None }];
    arms.extend(changes.iter().zip(&names).map(|(change, name)| Arm { name, settings, start: Some(change) }));
    trial(request, &arms, Pairs { number: request.pairs, restarts: true }, None)
}

fn trial(request: &Request, arms: &[Arm<'_>], pairs: Pairs, rate: Option<f64>) -> Result<Plan> {
    let (mut scenario, sources) = request.scenario()?;
    let search = request.search_plan()?;
    let Some(space) = &search.settings_search else { anyhow::bail!("the plan of the search has no space") };
    let first = scenario.setups.first().cloned().unwrap_or_default();
    scenario.search = None;
    scenario.setups = Vec::new();
    scenario.blocks = None;
    scenario.twin = None;
    scenario.seed = Some(request.seed ^ PROOF_SEED);
    scenario.arms = ArmsWords(arms.iter().map(|of| (of.name.to_owned(), of.words(&first))).collect());
    // What is left of the load's words is the first setup's or the scenario's; its length is a block's.
    for (_, arm) in &mut scenario.arms.0 {
        arm.load.count = None;
        arm.load.duration = Some(OneOrMany::One(space.block));
        if let Some(rate) = rate {
            arm.load.rate = Some(OneOrMany::One(RateWords::PerSecond(rate)));
        }
    }
    scenario.load.count = None;
    scenario.load.duration = Some(OneOrMany::One(space.block));
    let is_lab = matches!(search.cluster, ClusterPlan::Lab { .. });
    let words = scenario.trial.get_or_insert_default();
    if arms.iter().any(|arm| [ALL, SHOWN].contains(&arm.name)) && arms[0].name == AS_IS {
        words.against = Some(Against::EachOther);
    }
    words.primary.get_or_insert_with(|| space.metric.clone());
    words.until_decided = None;
    words.max_pairs = None;
    words.pairs = Some(pairs.number);
    words.restart_every = Some(u32::from(is_lab && pairs.restarts));
    Ok(resolve(&scenario, &Sources::clone(&sources))?)
}

fn named(arms: Vec<(&str, Properties)>) -> Vec<(String, Properties)> {
    arms.into_iter().map(|(name, settings)| (name.to_owned(), settings)).collect()
}

fn entry(name: &str, value: Value) -> (Key, Value) {
    (Key { name: name.to_owned(), line: 0 }, value)
}

/// A setup as an arm, with changes over it.
fn arm(setup: &SetupWords, settings: &Properties) -> ArmWords {
    let mut arm = ArmWords {
        driver: setup.driver.clone(),
        producer: setup.producer.clone(),
        consumer: setup.consumer.clone(),
        load: setup.load.clone(),
        topic: setup.topic.clone(),
        cluster: setup.cluster.clone().map(ArmClusterWords::Named),
        ..ArmWords::default()
    };
    for (owner, properties) in [
        (Owner::Producer, &mut arm.producer),
        (Owner::Consumer, &mut arm.consumer),
        (Owner::Topic, &mut arm.topic.configs),
    ] {
        let own = of_owner(settings, owner);
        properties.retain(|name, _| !own.contains_key(usual_name(name)));
        properties.extend(own.into_iter().map(|(name, value)| (name, OneOrMany::One(Scalar(value)))));
    }
    arm.host = host_of(settings).into_iter().map(|(name, value)| (name, Scalar(value))).collect();
    arm
}

/// The same in the words of a file.
fn arm_tree(setup: Option<&Value>, settings: &Properties) -> Value {
    let mut words = match setup {
        Some(Value::Map(words)) => words.clone(),
        _ => Vec::new(),
    };
    words.retain(|(key, _)| key.name != "name");
    for owner in [Owner::Producer, Owner::Consumer, Owner::Host] {
        let own = of_owner(settings, owner);
        put(&mut words, owner.name(), own);
    }
    let configs = of_owner(settings, Owner::Topic);
    if !configs.is_empty() {
        let at = words.iter().position(|(key, _)| key.name == "topic");
        let at = at.unwrap_or_else(|| {
            words.push(entry("topic", Value::Map(Vec::new())));
            words.len() - 1
        });
        if let Value::Map(topic) = &mut words[at].1 {
            put(topic, "configs", configs);
        }
    }
    Value::Map(words)
}

/// Puts properties over those of a part.
fn put(words: &mut Vec<(Key, Value)>, part: &str, properties: Properties) {
    if properties.is_empty() {
        return;
    }
    let at = words.iter().position(|(key, _)| key.name == part);
    let at = at.unwrap_or_else(|| {
        words.push(entry(part, Value::Map(Vec::new())));
        words.len() - 1
    });
    if let Value::Map(known) = &mut words[at].1 {
        known.retain(|(key, _)| !properties.contains_key(usual_name(&key.name)));
        known.extend(properties.into_iter().map(|(name, value)| entry(&name, Value::Scalar(value))));
    }
}
