//! The search for settings over a document: its blocks so far in, the settings to try next out.
//!
//! [`crate::best`] chooses among points; here the points are settings of a step, and what cannot do is ruled out by the load alone and by
//! what the first block told.

mod arms;
mod physics;
mod refusal;
mod report;
mod taking_back;

use crate::best::{self, BestPlan, Dimension, Outcome, Point, Tried};
use crate::trial::metric_value;
use physics::PathPhysics;
use plumb_model::best::{BestEnding, BestPurpose, Importance};
use plumb_model::document::BlockResult;
use plumb_model::finding::Finding;
use plumb_model::plan::{Plan, Properties, StepPlan};
use plumb_model::property::same_value;
use plumb_model::settings_search::{
    PathFacts, Preset, SearchBlock, SearchDimension, SettingsSearch, SettingsSearchResult,
};
use plumb_model::start_setting::{self, StartChange};
use std::cmp::Ordering;

pub use crate::best::{BLOCKS_LEAST, EXPLORING_LEAST};
pub use arms::{ALL, AS_IS, FEWER, PROPOSED, SHOWN, started_with, without};
pub use refusal::{About, refusal, refuses_messages};
pub use report::{Runs, ToProve, ended_with_error, promise, proven, report, to_prove};
pub use taking_back::{Part, TRIALS_MOST, Taken, TakingBack, shown_to_matter, taking_back};

/// The next action of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Try these settings.
    Try(NextBlock),
    /// The search is over.
    Done(Found),
}

/// A block to run.
#[derive(Debug, Clone, PartialEq)]
pub struct NextBlock {
    /// Its settings, as changes of the scenario's.
    pub settings: Properties,
    /// Its purpose.
    pub purpose: BestPurpose,
    /// A block whose objective is above this for certain may end early; none where it has to go to its end.
    pub give_up_above: Option<f64>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The end.
    pub ending: BestEnding,
    /// What to prove, as changes of the scenario's settings.
    pub winner: Option<Properties>,
    /// The same before changes that do nothing were taken back.
    pub unpruned: Option<Properties>,
    /// An objective of this ratio (below 1) to that of the scenario's settings would have shown.
    pub smallest_gain: Option<f64>,
    /// Standard deviation of the logarithm of the objective between equal blocks.
    pub spread: Option<f64>,
}

/// A search as far as it has come.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// The space.
    pub search: &'a SettingsSearch,
    /// The step as the scenario has it.
    pub step: &'a StepPlan,
    /// Seed of the search.
    pub seed: u64,
    /// The blocks so far.
    pub result: &'a SettingsSearchResult,
}

impl<'a> Course<'a> {
    /// The search of a plan; none where the plan is none.
    pub fn of(plan: &'a Plan, result: &'a SettingsSearchResult) -> Option<Self> {
        let (search, step) = (plan.settings_search.as_ref()?, plan.steps.first()?);
        Some(Course { search, step, seed: plan.seed, result })
    }

    /// The next block, or the end.
    pub fn next(&self) -> Next {
        match best::next(&self.tried(), &self.plan(), &self.physics()) {
            best::Next::Try { point, purpose, give_up_above } => {
                Next::Try(NextBlock { settings: self.search.settings(&point.0), purpose, give_up_above })
            }
            best::Next::Done(found) => {
                let settings = |point: Option<Point>| point.map(|point| self.search.settings(&point.0));
                Next::Done(Found {
                    ending: found.ending,
                    winner: settings(found.winner),
                    unpruned: settings(found.unpruned),
                    smallest_gain: found.smallest_gain,
                    spread: found.spread,
                })
            }
        }
    }

    /// The most blocks that it takes, with those in which changes that do nothing are taken back.
    pub fn blocks_most(&self) -> usize {
        self.plan().blocks_most()
    }

    /// What each setting does to the objective over all that was tried.
    pub fn importance(&self) -> Vec<Importance> {
        best::importance(&self.tried(), &self.plan(), &self.physics())
    }

    /// Presets that may be tried, by what is known so far; what the findings of the first block advise comes on top.
    pub fn presets_left(&self) -> usize {
        let (plan, physics) = (self.plan(), self.physics());
        let may_be_tried =
            |point: &&Point| **point != plan.default && best::Physics::is_possible(&physics, point);
        plan.presets.iter().filter(may_be_tried).count()
    }

    /// Presets that cannot do on this path, by what is known of it.
    pub fn ruled_out(&self) -> Vec<&'a str> {
        let physics = self.physics();
        let presets = self.search.presets.iter().chain(&self.result.advised);
        let out = presets.filter(|preset| {
            !best::Physics::is_possible(&physics, &Point(self.search.point(&preset.settings)))
        });
        out.map(|preset| preset.name.as_str()).collect()
    }

    fn plan(&self) -> BestPlan {
        let presets = self.search.presets.iter().chain(&self.result.advised);
        let mut points: Vec<Point> = Vec::new();
        for point in presets.map(|preset| Point(self.search.point(&preset.settings))) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        BestPlan {
            dimensions: self.search.dimensions.iter().map(dimension).collect(),
            default: Point(self.search.point(&Properties::new())),
            presets: points,
            budget: self.search.budget as usize,
            has_goal: self.search.goal.is_some(),
            seed: self.seed,
        }
    }

    fn tried(&self) -> Vec<Tried> {
        let tried = |block: &SearchBlock| Tried {
            point: Point(self.search.point(&block.settings)),
            purpose: block.purpose,
            outcome: self.outcome(block),
        };
        self.result.blocks.iter().map(tried).collect()
    }

    fn outcome(&self, block: &SearchBlock) -> Outcome {
        if let Some(refusal) = &block.refused {
            let place = |setting: &String| {
                self.search.dimensions.iter().position(|dimension| dimension.setting == *setting)
            };
            return Outcome::Refused { suspects: refusal.suspects.iter().filter_map(place).collect() };
        }
        match (block.objective.filter(|_| block.failed.is_none()), block.aborted) {
            (None, _) => Outcome::Failed,
            (Some(objective), true) => Outcome::AtLeast { objective, goal_ratio: block.goal_ratio },
            (Some(objective), false) => Outcome::Measured { objective, goal_ratio: block.goal_ratio },
        }
    }

    fn physics(&self) -> PathPhysics<'a> {
        PathPhysics { search: self.search, step: self.step, path: self.result.path.as_ref() }
    }
}

fn dimension(dimension: &SearchDimension) -> Dimension {
    match dimension.is_ordered {
        true => Dimension::Ordered { places: dimension.values.len() },
        false => Dimension::Choice { values: dimension.values.len() },
    }
}

/// The objective of a block, less being better: the metric's value, of a rate the seconds per message.
pub fn objective(search: &SettingsSearch, block: &BlockResult) -> Option<f64> {
    let value = metric_value(&search.metric, block)?;
    let is_rate = search.metric.starts_with("throughput.");
    Some(if is_rate { 1.0 / value } else { value })
}

/// What a block of the scenario's own settings tells of the path.
pub fn path_facts(search: &SettingsSearch, block: &BlockResult) -> PathFacts {
    PathFacts { round_trip_ns: block.acknowledge.min_ns, objective: objective(search, block) }
}

/// What the findings of a block advise to try, as far as it is in the space: each one that names a setting.
pub fn advised(search: &SettingsSearch, findings: &[Finding]) -> Vec<Preset> {
    let mut presets: Vec<Preset> = Vec::new();
    for finding in findings {
        let row = crate::row(&finding.id);
        let Some(setting) = row.and_then(|row| row.flip.as_ref()?.setting.as_ref()) else { continue };
        let wanted = [(setting.path.to_owned(), setting.value.to_owned())].into();
        let settings = search.settings(&search.point(&wanted));
        if !settings.is_empty() && !presets.iter().any(|known| known.settings == settings) {
            presets.push(Preset { name: format!("advised by {}", finding.id), settings });
        }
    }
    presets
}

/// What the findings of a block advise to start brokers with, where they are a lab's.
pub fn advised_restart(plan: &Plan, findings: &[Finding]) -> Vec<StartChange> {
    let mut changes: Vec<StartChange> = Vec::new();
    for finding in findings {
        let row = crate::row(&finding.id);
        let Some(setting) = row.and_then(|row| row.flip.as_ref()?.setting.as_ref()) else { continue };
        let name = setting.path.strip_prefix(BROKER_PROPERTIES).and_then(start_setting::find);
        let Some((name, from)) = name.and_then(|name| Some((name, name.of_lab(&plan.cluster)?))) else {
            continue;
        };
        if !same_value(&from, setting.value) && !changes.iter().any(|known| known.setting == name.name) {
            changes.push(StartChange {
                setting: name.name.to_owned(),
                from,
                to: setting.value.to_owned(),
                advised_by: Some(finding.id.clone()),
            });
        }
    }
    changes
}

/// How the path of a broker's property begins in what a finding advises.
const BROKER_PROPERTIES: &str = "cluster.broker_properties.";

/// Settings that brokers may be started with in the last trial, at most.
const RESTARTS_MOST: usize = 3;

/// What brokers are started with in the last trial: what the scenario names, then what findings advise, one value of each setting.
pub fn restarts(search: &SettingsSearch, result: &SettingsSearchResult) -> Vec<StartChange> {
    let mut changes = search.restart.clone();
    for advised in &result.advised_restart {
        if !changes.iter().any(|known| known.setting == advised.setting) {
            changes.push(advised.clone());
        }
    }
    changes.truncate(RESTARTS_MOST);
    changes
}

/// Rates this close, in logarithms, are alike (ours): a block at a fixed rate ends with some messages more or less.
const RATES_ALIKE: f64 = 0.03;

/// The blocks that no other of the same search is better than in everything: latency, CPU time per message and rate. Indices.
pub fn front(blocks: &[SearchBlock]) -> Vec<usize> {
    // Rates that differ by less than some percent are those of one schedule; less is better here.
    let alike_rate = |rate: f64| -(rate.max(f64::MIN_POSITIVE).ln() / RATES_ALIKE).round();
    let is_whole = |block: &&SearchBlock| block.failed.is_none() && !block.aborted;
    let has_p99 = blocks.iter().filter(is_whole).all(|block| block.p99_ns.is_some());
    let latency = |block: &SearchBlock| if has_p99 { block.p99_ns } else { block.p50_ns };
    let whole = |at: &usize| {
        let block = &blocks[*at];
        is_whole(&block) && latency(block).is_some()
    };
    let dominates = |a: &SearchBlock, b: &SearchBlock| {
        let less = [
            (latency(a), latency(b)),
            (a.cpu_per_message_us, b.cpu_per_message_us),
            (a.achieved_per_s.map(alike_rate), b.achieved_per_s.map(alike_rate)),
        ];
        let known = || less.iter().filter_map(|(a, b)| Some(((*a)?, (*b)?)));
        known().all(|(a, b)| a <= b) && known().any(|(a, b)| a < b)
    };
    // Of blocks of the same settings the middle one stands for them: the luckiest would flatter them.
    let mut alike: Vec<(&Properties, Vec<usize>)> = Vec::new();
    for at in (0..blocks.len()).filter(whole) {
        match alike.iter_mut().find(|(settings, _)| **settings == blocks[at].settings) {
            Some((_, same)) => same.push(at),
            None => alike.push((&blocks[at].settings, vec![at])),
        }
    }
    let middle = |(_, mut same): (&Properties, Vec<usize>)| {
        same.sort_by(|a, b| {
            latency(&blocks[*a]).partial_cmp(&latency(&blocks[*b])).unwrap_or(Ordering::Equal)
        });
        same.get(same.len() / 2).copied()
    };
    let candidates: Vec<usize> = alike.into_iter().filter_map(middle).collect();
    let is_front = |at: &usize| !candidates.iter().any(|other| dominates(&blocks[*other], &blocks[*at]));
    candidates.iter().copied().filter(is_front).collect()
}

#[cfg(test)]
mod tests;
