//! What was asked of a search, kept in its directory so that it can go on: the scenario as the user wrote it, and the flags over it.

use crate::args::search::SearchArgs;
use crate::commands::run::use_brokers;
use crate::errors::UsageError;
use crate::{result_dir, whole_file};
use anyhow::{Context, Result};
use plumb_judge::settings_search::promise;
use plumb_model::check::TunePlan;
use plumb_model::document::RunDocument;
use plumb_model::figure::quantile;
use plumb_model::plan::{Origin, Plan, Properties};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{GoalWords, Scenario, SearchAllow};
use plumb_model::setting_name::{ClusterName, ClusterPart};
use plumb_model::settings_search::{LeftOut, Objective, Preset, SearchDimension};
use plumb_model::tunable::Owner;
use plumb_model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Its name in the search's directory.
pub(crate) const FILE: &str = "request.json";

/// One in so many of the blocks that held the goal goes on to the next rate.
const BETTER_OF: usize = 3;
/// The fewest blocks of a search at a higher rate.
const CLIMBING_LEAST: u32 = 14;

/// What stands for a setting of this host that is left as it is.
const AS_IT_IS: &str = "as it is";

/// What was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Request {
    /// The scenario's file, for messages.
    path: String,
    /// Its text.
    pub(super) text: String,
    pub(super) bootstrap: Option<String>,
    pub(super) config: Option<String>,
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
    /// True if the scenario of the trial is printed in place of running it.
    #[serde(default)]
    pub(super) trial_only: bool,
    /// The setups that are searched from, by their places in the file; empty: all of them.
    #[serde(default)]
    setups: Vec<usize>,
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
        let (scenario, _) = plumb_scenario::file::read(path)?;
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
            trial_only: arguments.trial_only,
            setups: Vec::new(),
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
        let (mut scenario, mut sources) = plumb_scenario::file::parse(&self.path, &self.text)?;
        let cluster =
            crate::args::ClusterArgs { bootstrap: self.bootstrap.clone(), config: self.config.clone() };
        use_brokers(&cluster, &mut scenario, &mut sources)?;
        if !self.setups.is_empty() {
            scenario.setups = self.setups.iter().filter_map(|at| scenario.setups.get(*at).cloned()).collect();
        }
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

    /// The request for each promise that the setups make, where the scenario allows to look at several; the first setup's is the first.
    pub(super) fn by_promise(&self) -> Result<Vec<Request>> {
        let (mut scenario, sources) = self.scenario()?;
        let words = scenario.search.take().unwrap_or_default();
        let is_allowed = words.allow.is_some_and(|allow| allow.contains(&SearchAllow::Durability));
        if !is_allowed || scenario.setups.len() < 2 {
            return Ok(vec![self.clone()]);
        }
        let plan = resolve(&scenario, &sources)?;
        if plan.steps.len() != scenario.setups.len() {
            let hint = "write a setup for each value";
            return Err(UsageError::new("a search goes out from setups without lists of values", hint).into());
        }
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for (at, promised) in plan.steps.iter().map(promise).enumerate() {
            match groups.iter_mut().find(|(known, _)| *known == promised) {
                Some((_, setups)) => setups.push(at),
                None => groups.push((promised, vec![at])),
            }
        }
        Ok(groups.into_iter().map(|(_, setups)| Request { setups, ..self.clone() }).collect())
    }

    /// True if the highest rate under a goal is what is searched for.
    pub(super) fn climbs(&self) -> Result<bool> {
        let plan = self.search_plan()?;
        Ok(plan
            .settings_search
            .is_some_and(|search| search.objective == Objective::Rate && search.goal.is_some()))
    }

    /// The search at a share of the scenario's rate, that begins with what did best in the one before.
    pub(super) fn climbing_plan(&self, before: &RunDocument, share: f64) -> Result<Plan> {
        let mut plan = self.search_plan()?;
        let Some(search) = &mut plan.settings_search else { return Ok(plan) };
        let blocks = before.settings_search.iter().flat_map(|result| &result.blocks);
        let mut good: Vec<_> =
            blocks.filter(|block| block.feasible == Some(true) && !block.settings.is_empty()).collect();
        good.sort_by(|a, b| {
            a.objective.unwrap_or(f64::INFINITY).total_cmp(&b.objective.unwrap_or(f64::INFINITY))
        });
        good.truncate(good.len().div_ceil(BETTER_OF));
        search.presets = Vec::new();
        for block in good {
            if !search.presets.iter().any(|known| known.settings == block.settings) {
                let name = format!("good at a lower rate {}", search.presets.len() + 1);
                search.presets.push(Preset { name, settings: block.settings.clone() });
            }
        }
        search.budget = (search.budget / 2).max(CLIMBING_LEAST);
        for step in &mut plan.steps {
            step.load.rate_per_s = step.load.rate_per_s.map(|rate| rate * share);
        }
        Ok(plan)
    }

    pub(super) fn search_plan(&self) -> Result<Plan> {
        let (scenario, sources) = self.scenario()?;
        let mut plan = resolve(&scenario, &sources)?;
        if let Some(search) = &mut plan.settings_search {
            search.dimensions.extend(self.host.iter().map(dimension));
            search.left_out.extend(self.host_left_out.clone());
            if !self.host.is_empty() {
                let setting =
                    |of: &HostSetting| (format!("{}.{}", Owner::Host.name(), of.name), of.after.clone());
                let settings = self.host.iter().map(setting).collect();
                search.presets.push(Preset { name: "all of the host's plan".to_owned(), settings });
            }
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
        let reason = match ClusterName::new(key) {
            Some(ClusterName { of: ClusterPart::Topic(_), .. }) => {
                Some("each block has a topic of its own; topic settings are searched without a plan")
            }
            Some(name) if name.key.contains("flush") => Some("it changes what an acknowledgment promises"),
            _ => None,
        };
        match (&change.change.after, reason) {
            (Some(after), None) => settings.push(HostSetting {
                name: key.clone(),
                before: change.change.before.clone(),
                after: after.clone(),
            }),
            (_, reason) => left_out.push(LeftOut {
                what: key.clone(),
                reason: reason.unwrap_or("the plan gives it no value").to_owned(),
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
    format!("{latency}{}<{}", quantile(goal.quantile), goal.limit)
}

/// The settings of this host among changes.
pub(super) fn host_of(settings: &Properties) -> Properties {
    plumb_model::settings_search::of_owner(settings, Owner::Host)
}
