//! How far equal arms came out apart on a setup, kept from one trial to the next, so that one that cannot show anything is
//! refused before it begins.
//!
//! A setup is what the reference is: its settings and load, the length of a block, the cluster, this host's processor.

use crate::cache;
use crate::errors::UsageError;
use plumb_judge::trial::power::{hopeless, spread_low};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::{Length, Plan};
use plumb_model::trial::{METRIC_NAMES, TrialResult};
use plumb_model::units::Nanos;
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use plumb_report::number::ratio;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FILE: &str = "trial-pilots.json";
/// Setups that are kept; the oldest go.
const KEPT_MOST: usize = 200;
/// Pairs from which on a spread is kept (ours: fewer know next to nothing of it).
const PAIRS_LEAST: usize = 6;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    pilots: Vec<Pilot>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pilot {
    plumb_version: String,
    setup: String,
    measured_at: String,
    /// Whether the host was noisy or the run invalid.
    #[serde(default)]
    disturbed: bool,
    /// Standard deviation of log ratios and pairs behind it, by metric.
    spreads: BTreeMap<String, (f64, u32)>,
}

/// Findings about a run that say of its spread that it was that moment's and not the setup's.
const DISTURBED: [&str; 1] = ["noisy-host"];

/// Keeps what a finished trial says of its equal arms. Where something else than the setup was at work it refuses no other
/// trial, and takes no place of one that may.
pub(super) fn keep(document: &RunDocument) {
    let disturbed = document.validity.verdict == ValidityVerdict::Invalid
        || document.validity.reasons.iter().any(|reason| DISTURBED.contains(&reason.id.as_str()));
    let Some(trial) = document.trial.as_ref().filter(|_| document.run.state == RunState::Complete) else {
        return;
    };
    let cpu_model = document.environment.host.as_ref().and_then(|host| host.cpu_model.value().cloned());
    let (Some(setup), spreads) = (setup(&document.plan, cpu_model.as_deref()), spreads(trial)) else {
        return;
    };
    if spreads.is_empty() {
        return;
    }
    let mut kept: Kept = cache::read(FILE);
    if disturbed && kept.pilots.iter().any(|pilot| pilot.setup == setup && !pilot.disturbed) {
        return;
    }
    kept.pilots.retain(|pilot| pilot.setup != setup);
    let pilot = Pilot {
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        setup,
        measured_at: document.run.started_at.clone(),
        disturbed,
        spreads,
    };
    kept.pilots.push(pilot);
    let surplus = kept.pilots.len().saturating_sub(KEPT_MOST);
    kept.pilots.drain(..surplus);
    cache::write(FILE, &kept);
}

fn spreads(trial: &TrialResult) -> BTreeMap<String, (f64, u32)> {
    let known = trial
        .noise_floor
        .iter()
        .filter(|metric| METRIC_NAMES.contains(&metric.name.as_str()) && metric.values.len() >= PAIRS_LEAST);
    known
        .filter_map(|metric| {
            let sd = plumb_judge::trial::power::spread(metric)?;
            Some((metric.name.clone(), (sd, metric.values.len() as u32)))
        })
        .collect()
}

/// Refuses a trial whose pairs, on this very setup, leave unseen even what is many margins large.
pub(super) fn refuse_hopeless(plan: &Plan) -> Result<(), UsageError> {
    let Some(trial) = &plan.trial else { return Ok(()) };
    let kept: Kept = cache::read(FILE);
    if kept.pilots.is_empty() {
        return Ok(());
    }
    let cpu_model = host_facts(&HostRoot::default(), &SystemCommands::default()).cpu_model.value().cloned();
    let Some(setup) = setup(plan, cpu_model.as_deref()) else { return Ok(()) };
    let found = kept.pilots.iter().find(|pilot| pilot.setup == setup && !pilot.disturbed);
    let Some((pilot, (sd, pairs))) =
        found.and_then(|pilot| Some((pilot, *pilot.spreads.get(&trial.primary)?)))
    else {
        return Ok(());
    };
    // Few pairs know their spread badly: refused is only what would be hopeless with the least that it may be.
    let Some(least) = spread_low(sd, pairs as usize) else { return Ok(()) };
    let Some(hopeless) = hopeless(least, plan.blocks as usize, (plan.level, trial.margin)) else {
        return Ok(());
    };
    let message = format!(
        "{} pairs cannot show what they are for: on this very setup equal arms came out so far apart in {} ({}, {pairs} pairs) \
         that no difference below {} would be seen",
        plan.blocks,
        trial.primary,
        pilot.measured_at,
        ratio(hopeless.detectable_ratio)
    );
    let enough = match hopeless.pairs_needed {
        Some(needed) => format!("--pairs {needed} would show {} and more; ", ratio(hopeless.limit_ratio)),
        None => String::new(),
    };
    Err(UsageError::new(
        message,
        format!("{enough}longer blocks or a quieter host need fewer; --anyway runs it as it is"),
    ))
}

/// What the reference is, as text; none of a plan without a trial.
fn setup(plan: &Plan, cpu_model: Option<&str>) -> Option<String> {
    let reference = plan.trial.as_ref()?.arms.first()?.step;
    let mut step = plan.steps.get(reference)?.clone();
    let blocks = u64::from(plan.blocks.max(1));
    step.name = String::new();
    step.load.length = match step.load.length {
        Length::Count(count) => Length::Count(count / blocks),
        Length::Duration(time) => Length::Duration(Nanos(time.0 / blocks)),
    };
    let cluster = step.cluster.take().unwrap_or_else(|| plan.cluster.clone());
    serde_json::to_string(&(env!("CARGO_PKG_VERSION"), cpu_model, cluster, step)).ok()
}
