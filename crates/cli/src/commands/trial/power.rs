//! `plumb trial power`: the differences that a trial on this setup could show, from the reference compared with itself.

use super::super::End;
use super::{pilots, seed};
use crate::args::trial::TrialPowerArgs;
use crate::args::{ClusterArgs, CompareOutput};
use crate::errors::UsageError;
use crate::progress::Estimate;
use crate::{handed_over, judged, printer, progress, stop};
use anyhow::Result;
use plumb_judge::trial::power::{PowerError, Question, power as design};
use plumb_judge::trial::{Unit, comparisons};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::metric::is_count;
use plumb_model::plan::{Origin, Plan};
use plumb_model::resolve::resolve;
use plumb_model::scenario::{ClusterWords, TrialWords};
use std::path::Path;

/// Pairs of a pilot; where pairs share starts of the brokers it has as many starts as a trial has by itself.
const PILOT_PAIRS: u32 = 8;
const PILOT_STARTS: u32 = 6;

pub(super) fn power(arguments: &TrialPowerArgs) -> Result<End> {
    let (document, planned) = match &arguments.from {
        Some(run) => {
            let document = judged::read(run)?;
            let planned = document.plan.clone();
            (document, planned)
        }
        None => pilot(arguments)?,
    };
    let Some(plan) = &planned.trial else { return Err(refused(&PowerError::NoTrial).into()) };
    let question = Question {
        unit: Unit::of(plan),
        comparisons: comparisons(&planned),
        level: arguments.level.unwrap_or(planned.level),
        margin: arguments.margin.map_or(plan.margin, |margin| margin.0),
        detect: arguments.detect.map(|detect| detect.0),
        pairs_max: arguments.pairs_max,
        pair_s: Estimate::of(&planned).known_s().map(|s| s / f64::from(planned.blocks.max(1))),
    };
    check(&question)?;
    let mut result = design(&document, question).map_err(|error| refused(&error))?;
    if arguments.from.is_some() && plan.arms.len() == 1 {
        let caution = "The times are those of the reference and its repetition, which is all that this run had: each arm of the \
                       trial that is meant adds its blocks.";
        result.cautions.push(caution.to_owned());
    }
    printer::out(&match arguments.output {
        CompareOutput::Text => plumb_report::power_text::render(&result, printer::style()),
        CompareOutput::Json => format!("{}\n", serde_json::to_string_pretty(&result)?),
    });
    Ok(match (&arguments.from, &document.run.state) {
        (None, RunState::Interrupted) => End::Interrupted,
        _ if document.validity.verdict == ValidityVerdict::Invalid => End::Found,
        _ => End::Done,
    })
}

fn refused(error: &PowerError) -> UsageError {
    let hint = match error {
        PowerError::NoTrial => "give a run of plumb trial, or a scenario with arms",
        PowerError::Count { .. } => {
            "run it with 12 pairs or more (trial.pairs); for a latency's pairs, name that as trial.primary"
        }
        PowerError::TooFew { .. } => {
            "it takes two at least, six for anything to rest on: --pilot with more pairs, or blocks long enough for the metric"
        }
    };
    UsageError::new(error.to_string(), hint)
}

fn check(question: &Question) -> Result<(), UsageError> {
    let shares = [("--margin", Some(question.margin)), ("--detect", question.detect)];
    match shares.into_iter().find(|(_, share)| share.is_some_and(|share| share <= 0.0)) {
        Some((flag, _)) => Err(UsageError::new(
            format!("{flag} is not above 0"),
            format!("{flag} 5% is a difference of 5 %"),
        )),
        None => Ok(()),
    }
}

/// Measures the reference against itself; gives the document, and the plan of the trial that is meant.
fn pilot(arguments: &TrialPowerArgs) -> Result<(RunDocument, Plan)> {
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let (mut scenario, mut sources) = plumb_scenario::file::read(path)?;
    if scenario.arms.0.is_empty() {
        let message = format!("{} has no arms: the first would be the reference", path.display());
        return Err(
            UsageError::new(message, "write `arms: {default: {}, low: {producer: {linger.ms: 0}}}`").into()
        );
    }
    let ClusterArgs { bootstrap, config } = arguments.cluster.clone();
    if bootstrap.is_some() {
        scenario.cluster = Some(ClusterWords { bootstrap, config, ..ClusterWords::default() });
        sources.insert("cluster.bootstrap".to_owned(), Origin::Flag { flag: "--bootstrap".to_owned() });
    }
    seed::draw(&mut scenario, &mut sources);
    let planned = resolve(&scenario, &sources)?;
    if let Some(trial) = planned.trial.as_ref().filter(|trial| is_count(&trial.primary)) {
        return Err(refused(&PowerError::Count { metric: trial.primary.clone() }).into());
    }
    // The pilot's samples are those of the trial that is meant: as many pairs on each start of the brokers.
    let restart_every = planned.trial.as_ref().map_or(0, |trial| trial.restart_every);
    let pairs = arguments.pilot.unwrap_or(match restart_every {
        2.. => PILOT_STARTS * restart_every,
        _ => PILOT_PAIRS,
    });
    let words = scenario.trial.get_or_insert_with(TrialWords::default);
    *words = TrialWords {
        pairs: Some(pairs),
        until_decided: None,
        max_pairs: None,
        restart_every: Some(restart_every),
        ..words.clone()
    };
    sources.insert("trial.pairs".to_owned(), Origin::Flag { flag: "--pilot".to_owned() });
    let reason = "as in the trial that is meant".to_owned();
    sources.insert("trial.restart_every".to_owned(), Origin::Derived { reason });
    let stop = stop::flag()?;
    let pilot = equal_arms(resolve(&scenario, &sources)?);
    let finished = plumb_session::run(pilot, arguments.out.as_deref(), &stop, &progress::watcher())?;
    pilots::keep(&finished.document);
    handed_over::write(&finished)?.say();
    Ok((finished.document, planned))
}

/// The plan with nothing but its reference, twice.
fn equal_arms(mut plan: Plan) -> Plan {
    let Some(trial) = &mut plan.trial else { return plan };
    let kept = [trial.arms[0].step, trial.again];
    trial.arms.truncate(1);
    (trial.arms[0].step, trial.again) = (0, 1);
    plan.steps = kept.iter().map(|step| plan.steps[*step].clone()).collect();
    plan.name.push_str("-pilot");
    plan
}
