//! What was asked of a search, kept in its directory so that it can go on: the scenario as the user wrote it, and the flags over it.

use crate::args::search::SearchArgs;
use crate::commands::run::use_brokers;
use crate::errors::UsageError;
use crate::{result_dir, scenario_file, whole_file};
use anyhow::{Context, Result};
use plumb_model::check::TunePlan;
use plumb_model::plan::{Origin, Plan, Properties};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{GoalWords, Scenario};
use plumb_model::settings_search::{LeftOut, Objective, SearchDimension};
use plumb_model::tunable::Owner;
use plumb_model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Its name in the search's directory.
pub(super) const FILE: &str = "request.json";

/// What stands for a setting of this host that is left as it is.
const AS_IT_IS: &str = "as it is";

/// What was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Request {
    /// The scenario's file, for messages.
    path: String,
    /// Its text.
    pub(super) text: String,
    bootstrap: Option<String>,
    config: Option<String>,
    objective: Option<Objective>,
    goal: Option<String>,
    budget: Option<u32>,
    block: Option<Nanos>,
    settings: Vec<String>,
    /// What may be changed of this host.
    host: Vec<HostSetting>,
    host_left_out: Vec<LeftOut>,
    pub(super) pairs: u32,
    pub(super) seed: u64,
}

/// A setting of this host with the value that a plan gives it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct HostSetting {
    name: String,
    before: Option<String>,
    after: String,
}

impl Request {
    pub(super) fn new(arguments: &SearchArgs) -> Result<Self> {
        let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
        let (scenario, _) = scenario_file::read(path)?;
        let text = fs_err::read_to_string(path)?;
        let (host, host_left_out) = match &arguments.plan {
            None => (Vec::new(), Vec::new()),
            Some(plan) => host_settings(&super::super::tune::read_plan(plan)?),
        };
        let mut seeded = Scenario { seed: arguments.seed.or(scenario.seed), ..Scenario::default() };
        super::super::trial::draw_seed(&mut seeded, &mut Sources::new());
        Ok(Request {
            path: path.display().to_string(),
            text,
            bootstrap: arguments.cluster.bootstrap.clone(),
            config: arguments.cluster.config.clone(),
            objective: arguments.objective.map(Objective::from),
            goal: arguments.goal.map(goal_text),
            budget: arguments.budget,
            block: arguments.block,
            settings: arguments.settings.clone(),
            host,
            host_left_out,
            pairs: arguments.pairs,
            seed: seeded.seed.unwrap_or_default(),
        })
    }

    /// The request of a search that was begun in a directory.
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(FILE);
        if !path.is_file() {
            let message = format!("{} has no search", directory.display());
            return Err(UsageError::new(message, "name the directory that plumb search wrote").into());
        }
        let text = fs_err::read_to_string(&path)?;
        serde_json::from_str(&text).map_err(|_| {
            let message = format!("{} is damaged", path.display());
            UsageError::new(message, "start the search anew").into()
        })
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        fs_err::create_dir_all(directory).context("cannot make the directory of the search")?;
        Ok(whole_file::write(&directory.join(FILE), &result_dir::json(self)?)?)
    }

    /// The scenario with the flags over it, as it is searched.
    pub(super) fn scenario(&self) -> Result<(Scenario, Sources)> {
        let (mut scenario, mut sources) = scenario_file::parse(&self.path, &self.text)?;
        let cluster =
            crate::args::ClusterArgs { bootstrap: self.bootstrap.clone(), config: self.config.clone() };
        use_brokers(&cluster, &mut scenario, &mut sources);
        let mut note = |path: &str, flag: &str| {
            sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
        };
        note("seed", "--seed");
        scenario.seed = Some(self.seed);
        let words = scenario.search.get_or_insert_default();
        // The goal of a search for a rate is a latency that has to hold all the same.
        if let Some(goal) = scenario.goal.take() {
            words.goal.get_or_insert(goal);
        }
        if let Some(goal) = &self.goal {
            words.goal =
                Some(goal.parse().map_err(|error: String| UsageError::new(error, "--goal 'p99<20ms'"))?);
            note("search.goal", "--goal");
        }
        if let Some(objective) = self.objective {
            words.objective = Some(objective);
            note("search.objective", "--objective");
        }
        if let Some(budget) = self.budget {
            words.budget = Some(budget);
            note("search.budget", "--budget");
        }
        if let Some(block) = self.block {
            words.block = Some(block);
            note("search.block", "--block");
        }
        if !self.settings.is_empty() {
            words.settings = Some(self.settings.clone());
            note("search.settings", "--settings");
        }
        Ok((scenario, sources))
    }

    pub(super) fn search_plan(&self) -> Result<Plan> {
        let (scenario, sources) = self.scenario()?;
        let mut plan = resolve(&scenario, &sources)?;
        if let Some(search) = &mut plan.settings_search {
            search.dimensions.extend(self.host.iter().map(dimension));
            search.left_out.extend(self.host_left_out.clone());
        }
        Ok(plan)
    }
}

/// Removes what a search that could not begin had written.
pub(super) fn forget(directory: &Path) {
    // What is there besides is somebody's.
    let _ = fs_err::remove_file(directory.join(FILE));
    let _ = fs_err::remove_dir(directory);
}

fn dimension(setting: &HostSetting) -> SearchDimension {
    let before = setting.before.clone().unwrap_or_else(|| AS_IT_IS.to_owned());
    SearchDimension {
        setting: format!("{}.{}", Owner::Host.name(), setting.name),
        values: vec![before, setting.after.clone()],
        is_ordered: false,
        current: 0,
        is_written: false,
    }
}

/// The changes of a plan that an arm of a trial can make, and why others are left out.
fn host_settings(plan: &TunePlan) -> (Vec<HostSetting>, Vec<LeftOut>) {
    let (mut settings, mut left_out) = (Vec::new(), Vec::new());
    for change in &plan.changes {
        let key = &change.change.target.key;
        let is_clusters = ["broker:", "topic:"].iter().any(|kind| key.starts_with(kind));
        match &change.change.after {
            Some(after) if !is_clusters => settings.push(HostSetting {
                name: key.clone(),
                before: change.change.before.clone(),
                after: after.clone(),
            }),
            _ => left_out.push(LeftOut {
                what: key.clone(),
                reason: "it is a setting of a cluster, which no arm of a trial changes".to_owned(),
            }),
        }
    }
    (settings, left_out)
}

fn goal_text(goal: GoalWords) -> String {
    let latency = match goal.latency {
        Some(plumb_model::plan::GoalLatency::Acknowledge) => "acknowledge ",
        Some(plumb_model::plan::GoalLatency::EndToEnd) => "end_to_end ",
        None => "",
    };
    format!("{latency}p{}<{}", (goal.quantile * 1e8).round() / 1e6, goal.limit)
}

/// The settings of this host among changes.
pub(super) fn host_of(settings: &Properties) -> Properties {
    plumb_model::settings_search::of_owner(settings, Owner::Host)
}
