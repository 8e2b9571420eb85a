//! `plumb trial run`: the arms of a scenario held against each other, from words to exit code.

use super::super::{End, dry_run, run as plain};
use super::{pilots, seed};
use crate::args::OutputFormat;
use crate::args::trial::TrialRunArgs;
use crate::errors::UsageError;
use crate::session;
use crate::{printer, scenario_file, stop};
use anyhow::Result;
use plumb_judge::trial::{Unit, comparisons, deciding_level};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::{Origin, Plan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{ClusterWords, Scenario, TrialWords};
use plumb_model::trial::TrialVerdict;
use plumb_report::text::Figures;
use std::path::Path;

/// Pairs of a quick trial at least: two more than the fewest with which two arms can be told apart at 95 %.
const QUICK_PAIRS: u32 = 8;
/// Pairs of a quick trial beyond the fewest that can answer, as some may have to be left out.
const QUICK_SPARE: u32 = 2;

pub(super) fn run(arguments: &TrialRunArgs) -> Result<End> {
    let stop = stop::flag()?;
    let finished = match &arguments.resume {
        Some(directory) => session::resume(directory, &stop)?,
        None => {
            let plan = plan(arguments)?;
            if arguments.dry_run {
                return dry_run(&plan, arguments.output);
            }
            session::run(plan, arguments.out.as_deref(), &stop)?
        }
    };
    pilots::keep(&finished.document);
    show(&finished.document, arguments.output)?;
    finished.say_what_is_there();
    Ok(end_of(&finished.document))
}

/// The plan of a trial, refused where it cannot answer.
fn plan(arguments: &TrialRunArgs) -> Result<Plan> {
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let (mut scenario, mut sources) = scenario_file::read(path)?;
    if scenario.arms.0.is_empty() {
        let message = format!("{} has no arms to hold against each other", path.display());
        let hint = "write `arms: {default: {}, low: {producer: {linger.ms: 0}}}` instead of setups, the reference first; \
                    `plumb run` measures setups";
        return Err(UsageError::new(message, hint).into());
    }
    if arguments.quick {
        plain::quicken(&mut scenario, &mut sources, "--quick");
    }
    if let Some(bootstrap) = &arguments.bootstrap {
        let (bootstrap, config) = (Some(bootstrap.clone()), arguments.config.clone());
        scenario.cluster = Some(ClusterWords { bootstrap, config, ..ClusterWords::default() });
        sources.insert("cluster.bootstrap".to_owned(), Origin::Flag { flag: "--bootstrap".to_owned() });
    }
    overlay(arguments, &mut scenario, &mut sources);
    seed::draw(&mut scenario, &mut sources);
    let mut plan = resolve(&scenario, &sources)?;
    if let Some(pairs) = quick_pairs(&plan) {
        scenario.trial.get_or_insert_with(TrialWords::default).pairs = Some(pairs);
        plan = resolve(&scenario, &sources)?;
    }
    refuse_too_few(&plan)?;
    if !arguments.anyway {
        pilots::refuse_hopeless(&plan)?;
    }
    Ok(plan)
}

/// Flags over the file's words.
fn overlay(arguments: &TrialRunArgs, scenario: &mut Scenario, sources: &mut Sources) {
    let mut note = |path: &str, flag: &str| {
        sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    };
    if let Some(level) = arguments.level {
        scenario.level = Some(level);
        note("level", "--level");
    }
    if let Some(seed) = arguments.seed {
        scenario.seed = Some(seed);
        note("seed", "--seed");
    }
    let words = scenario.trial.get_or_insert_with(TrialWords::default);
    if arguments.quick && words.until_decided != Some(true) {
        words.pairs = Some(QUICK_PAIRS);
        note("trial.pairs", "--quick");
    }
    // A flag that says how long the trial goes on takes the place of all that the file says about it.
    if arguments.until_decided || arguments.max_pairs.is_some() {
        words.pairs = None;
        words.until_decided = Some(arguments.until_decided || words.until_decided == Some(true));
        note("trial.until_decided", "--until-decided");
    }
    if let Some(pairs) = arguments.pairs {
        *words = TrialWords { pairs: Some(pairs), until_decided: None, max_pairs: None, ..words.clone() };
        note("trial.pairs", "--pairs");
    }
    if let Some(most) = arguments.max_pairs {
        words.max_pairs = Some(most);
        note("trial.max_pairs", "--max-pairs");
    }
    if let Some(margin) = arguments.margin {
        words.margin = Some(margin);
        note("trial.margin", "--margin");
    }
    if let Some(primary) = &arguments.primary {
        words.primary = Some(primary.clone());
        note("trial.primary", "--primary");
    }
    if let Some(every) = arguments.restart_every {
        words.restart_every = Some(every);
        note("trial.restart_every", "--restart-every");
    }
    if !arguments.accept.is_empty() {
        words.accept = Some(arguments.accept.iter().copied().map(TrialVerdict::from).collect());
        note("trial.accept", "--accept");
    }
}

/// As many pairs as a quick trial needs to be able to answer, where those that `--quick` gave it are fewer: each comparison takes
/// some, and so do pairs that share a start of the brokers.
fn quick_pairs(plan: &Plan) -> Option<u32> {
    let quick = matches!(plan.origins.get("blocks"), Some(Origin::Flag { flag }) if flag == "--quick");
    let unit = Unit::of(plan.trial.as_ref()?);
    let fewest = unit.fewest(deciding_level(plan.level, comparisons(plan)))?;
    let spare = if unit.pairs_each() == 1 { QUICK_SPARE } else { 0 };
    let enough = u32::try_from(unit.pairs_in(fewest)).ok()?.saturating_add(spare);
    (quick && plan.blocks < enough).then_some(enough)
}

/// Refuses a number of pairs with which no outcome whatever would be a proof.
fn refuse_too_few(plan: &Plan) -> Result<(), UsageError> {
    let Some(trial) = &plan.trial else { return Ok(()) };
    let (unit, comparisons) = (Unit::of(trial), comparisons(plan));
    let (have, least) = match unit.fewest(deciding_level(plan.level, comparisons)) {
        Some(least) if unit.in_pairs(plan.blocks) < least => (unit.in_pairs(plan.blocks), least),
        _ => return Ok(()),
    };
    let place = plan.origins.get("blocks").map(|origin| format!("{origin}: ")).unwrap_or_default();
    let among = match comparisons {
        0 | 1 => String::new(),
        comparisons => format!(" with {comparisons} comparisons to allow for"),
    };
    let level = plan.level;
    if let Unit::Start { pairs } = unit {
        let message = format!(
            "{place}{} pairs on {} of the brokers cannot show a difference at a level of {level}: where pairs share a start the \
             start is the unit, and it takes {least}",
            plan.blocks,
            unit.counted(have)
        );
        let enough = unit.pairs_in(least);
        return Err(UsageError::new(
            message,
            format!("--pairs {enough} or more, or --restart-every below {pairs}"),
        ));
    }
    let message = format!(
        "{place}{} pairs cannot show a difference at a level of {level}{among}: even if every pair pointed the same way, chance \
         alone does that too often",
        plan.blocks
    );
    let flag = if unit == Unit::PairLookedAt { "--max-pairs" } else { "--pairs" };
    Err(UsageError::new(message, format!("{least} pairs are the fewest that can; {flag} {least} or more")))
}

fn show(document: &RunDocument, format: OutputFormat) -> Result<()> {
    printer::out(&match format {
        OutputFormat::Text => plumb_report::text::render(document, printer::style(), Figures::Headline),
        OutputFormat::Json => format!("{}\n", serde_json::to_string_pretty(&document.trial)?),
        OutputFormat::Csv => plumb_report::csv::pairs::render(document),
    });
    Ok(())
}

/// Well where every verdict is one of those that were to be accepted.
fn end_of(document: &RunDocument) -> End {
    let accept = document.plan.trial.as_ref().map(|trial| &trial.accept[..]).unwrap_or_default();
    let verdicts = document.trial.as_ref().map(|trial| &trial.verdicts[..]).unwrap_or_default();
    let accepted = !verdicts.is_empty() && verdicts.iter().all(|arm| accept.contains(&arm.verdict));
    match (&document.run.state, document.validity.verdict) {
        (RunState::Interrupted, _) => End::Interrupted,
        (_, ValidityVerdict::Invalid) => End::Found,
        _ if accepted => End::Done,
        _ => End::Found,
    }
}
