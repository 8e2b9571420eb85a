//! The spread between equal arms on a setup, kept from one trial to the next, so that a trial that cannot show anything is
//! refused before it begins.
//!
//! A setup is the reference: its settings and load, the length of a block, the cluster, this host's processor, and restarts of
//! its brokers within a trial. A spread is kept in the unit of the trial that saw it.

use crate::errors::UsageError;
use plumb_judge::trial::power::{Hopeless, Question, Spread, hopeless, spreads};
use plumb_judge::trial::{Unit, comparisons};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::figure::ratio;
use plumb_model::finding::ValidityVerdict;
use plumb_model::metric::METRIC_NAMES;
use plumb_model::plan::{Length, Plan};
use plumb_model::units::Nanos;
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FILE: &str = "trial-pilots.json";
/// Setups that are kept; the oldest go.
const KEPT_MOST: usize = 200;
/// Pairs, or starts, from which on a spread is kept (ours: fewer know next to nothing of it).
const UNITS_LEAST: usize = 6;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    pilots: Vec<Pilot>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pilot {
    plumb_version: String,
    setup: String,
    measured_at: String,
    /// True if the host was noisy or the run invalid.
    #[serde(default)]
    disturbed: bool,
    /// Pairs that shared a start of the brokers; with 2 or more, spreads are of starts.
    restart_every: u32,
    /// Standard deviation of the units' log ratios and how many there were, by metric.
    spreads: BTreeMap<String, (f64, usize)>,
}

/// Findings about a run that say of its spread that it was that moment's and not the setup's.
const DISTURBED: [&str; 1] = ["noisy-host"];

/// Keeps what a finished trial says of its equal arms. Where something else than the setup was at work it refuses no other
/// trial, and takes no place of one that may.
pub(super) fn keep(document: &RunDocument) {
    let disturbed = document.validity.verdict == ValidityVerdict::Invalid
        || document.validity.reasons.iter().any(|reason| DISTURBED.contains(&reason.id.as_str()));
    let Some(plan) = document.plan.trial.as_ref().filter(|_| document.run.state == RunState::Complete) else {
        return;
    };
    let cpu_model = document.environment.host.as_ref().and_then(|host| host.cpu_model.value().cloned());
    let Some(setup) = setup(&document.plan, cpu_model.as_deref()) else { return };
    let known = spreads(document).into_iter().filter(|spread| spread.units >= UNITS_LEAST);
    let spreads: BTreeMap<String, (f64, usize)> =
        known.map(|spread| (spread.metric.to_owned(), (spread.sd_log, spread.units))).collect();
    if spreads.is_empty() {
        return;
    }
    let mut kept: Kept = plumb_session::cache::read(FILE);
    if disturbed && kept.pilots.iter().any(|pilot| pilot.setup == setup && !pilot.disturbed) {
        return;
    }
    kept.pilots.retain(|pilot| pilot.setup != setup);
    let pilot = Pilot {
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        setup,
        measured_at: document.run.started_at.clone(),
        disturbed,
        restart_every: plan.restart_every,
        spreads,
    };
    kept.pilots.push(pilot);
    let surplus = kept.pilots.len().saturating_sub(KEPT_MOST);
    kept.pilots.drain(..surplus);
    plumb_session::cache::write(FILE, &kept);
}

/// Refuses a trial whose pairs, on this very setup, leave unseen even what is many margins large.
pub(super) fn refuse_hopeless(plan: &Plan) -> Result<(), UsageError> {
    let Some(trial) = &plan.trial else { return Ok(()) };
    let kept: Kept = plumb_session::cache::read(FILE);
    if kept.pilots.is_empty() {
        return Ok(());
    }
    let cpu_model = host_facts(&HostRoot::default(), &SystemCommands::default()).cpu_model.value().cloned();
    let Some(setup) = setup(plan, cpu_model.as_deref()) else { return Ok(()) };
    let found = kept.pilots.iter().find(|pilot| pilot.setup == setup && !pilot.disturbed);
    let metric = METRIC_NAMES.iter().find(|name| **name == trial.primary);
    let (Some(pilot), Some(&metric)) = (found, metric) else { return Ok(()) };
    let Some((sd_log, units)) = pilot.spreads.get(metric).copied() else { return Ok(()) };
    let question = Question {
        unit: Unit::of(trial),
        comparisons: comparisons(plan),
        level: plan.level,
        margin: trial.margin,
        detect: None,
        pairs_max: plan.blocks,
        pair_s: None,
    };
    let spread = Spread { metric, sd_log, units, unit: Unit::over(pilot.restart_every, false) };
    // Few samples know their spread badly: refused is only what would be hopeless with the least that it may be.
    match hopeless(&spread, plan.blocks, question) {
        Some(hopeless) => {
            Err(refusal(plan.blocks, question, &EqualArms { pilot, spread: &spread }, hopeless))
        }
        None => Ok(()),
    }
}

/// The equal arms of an earlier trial on this setup.
struct EqualArms<'a> {
    pilot: &'a Pilot,
    spread: &'a Spread,
}

fn refusal(pairs: u32, question: Question, seen: &EqualArms<'_>, hopeless: Hopeless) -> UsageError {
    let unit = question.unit;
    let on = match unit {
        Unit::Start { .. } => format!(" on {} of the brokers", unit.counted(unit.in_pairs(pairs))),
        Unit::Pair | Unit::PairLookedAt => String::new(),
    };
    let message = format!(
        "{pairs} pairs{on} cannot show what they are for: on this very setup equal arms came out so far apart in {} ({}, {}) \
         that no difference below {} would be seen",
        seen.spread.metric,
        seen.pilot.measured_at,
        seen.spread.unit.counted(seen.spread.units),
        ratio(hopeless.detectable_ratio)
    );
    let flags = |units: usize| match unit {
        Unit::Pair => format!("--pairs {units}"),
        Unit::PairLookedAt => format!("--max-pairs {units}"),
        Unit::Start { pairs } => {
            format!("--pairs {} --restart-every {pairs} ({})", unit.pairs_in(units), unit.planned(units))
        }
    };
    let enough = hopeless.units_needed.map_or(String::new(), |units| {
        format!("{} would show {} and more; ", flags(units), ratio(hopeless.limit_ratio))
    });
    let fewer = match unit {
        Unit::Start { .. } => "fewer pairs on each start,",
        Unit::Pair | Unit::PairLookedAt => "",
    };
    let others = format!("{fewer} longer blocks or a quieter host need fewer");
    UsageError::new(message, format!("{enough}{}; --anyway runs it as it is", others.trim_start()))
}

/// The reference with its host, as text; none of a plan without a trial.
fn setup(plan: &Plan, cpu_model: Option<&str>) -> Option<String> {
    let trial = plan.trial.as_ref()?;
    let (reference, restarted) = (trial.arms.first()?.step, trial.restart_every > 0);
    let mut step = plan.steps.get(reference)?.clone();
    let blocks = u64::from(plan.blocks.max(1));
    step.name = String::new();
    step.load.length = match step.load.length {
        Length::Count(count) => Length::Count(count / blocks),
        Length::Duration(time) => Length::Duration(Nanos(time.0 / blocks)),
    };
    let cluster = step.cluster.take().unwrap_or_else(|| plan.cluster.clone());
    serde_json::to_string(&(env!("CARGO_PKG_VERSION"), cpu_model, cluster, restarted, step)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message and the hint for 12 pairs in a unit, where equal arms were far apart in it.
    fn refused(unit: Unit) -> (String, String) {
        let question = Question {
            unit,
            comparisons: 1,
            level: 0.95,
            margin: 0.03,
            detect: None,
            pairs_max: 12,
            pair_s: None,
        };
        let pilot = Pilot {
            plumb_version: String::new(),
            setup: String::new(),
            measured_at: "2026-11-20T15:04:05Z".to_owned(),
            disturbed: false,
            restart_every: unit.pairs_each(),
            spreads: BTreeMap::new(),
        };
        let seen = Spread { metric: "end_to_end.p99", sd_log: 1.0, units: 6, unit };
        let found = hopeless(&seen, 12, question).unwrap();
        let error = refusal(12, question, &EqualArms { pilot: &pilot, spread: &seen }, found);
        (error.message, error.hint.unwrap())
    }

    #[test]
    fn a_trial_judged_by_starts_is_refused_in_starts_with_the_flags_that_would_do() {
        let (message, hint) = refused(Unit::Start { pairs: 2 });
        assert!(
            message.starts_with("12 pairs on 6 starts of the brokers cannot show what they are for"),
            "{message}"
        );
        assert!(message.contains("end_to_end.p99 (2026-11-20T15:04:05Z, 6 starts)"), "{message}");
        let flags = hint.split(" would show").next().unwrap();
        let pairs: u32 = flags.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(flags, format!("--pairs {pairs} --restart-every 2 ({} starts of 2 pairs)", pairs / 2));
        assert!(hint.contains("fewer pairs on each start"), "{hint}");
    }

    #[test]
    fn one_judged_by_pairs_is_refused_in_pairs() {
        let (message, hint) = refused(Unit::Pair);
        assert!(message.starts_with("12 pairs cannot show") && message.contains(", 6 pairs)"), "{message}");
        assert!(hint.starts_with("--pairs ") && !hint.contains("start"), "{hint}");
        let (_, hint) = refused(Unit::PairLookedAt);
        assert!(hint.starts_with("--max-pairs "), "{hint}");
    }
}
