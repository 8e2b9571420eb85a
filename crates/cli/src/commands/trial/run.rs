//! `plumb trial run`: the arms of a scenario compared with each other, from words to exit code.

use super::super::driver::use_driver;
use super::super::worker::{check_door, check_door_of, options, use_workers};
use super::super::{End, dry_run, run as plain};
use super::{pilots, seed};
use crate::args::trial::{FailWord, JudgedArgs, TrialRunArgs};
use crate::args::{OutputArgs, OutputFormat, WorkersArgs};
use crate::conditions::Conditions;
use crate::errors::UsageError;
use crate::{handed_over, printer, progress, stop};
use anyhow::Result;
use plumb_judge::trial::{Unit, comparisons, deciding_level};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::{Origin, Plan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{Scenario, TrialWords};
use plumb_model::trial::ArmVerdict;
use plumb_model::verdict::Verdict;
use plumb_report::junit::ArmCase;
use plumb_report::text::Figures;
use plumb_session::{Finished, resume_with_workers, run_with_workers};
use std::path::Path;

/// Pairs of a quick trial at least: two more than the fewest with which two arms can be told apart at 95 %.
const QUICK_PAIRS: u32 = 8;
/// Pairs of a quick trial beyond the fewest that can answer, as some may have to be left out.
const QUICK_SPARE: u32 = 2;

pub(super) fn run(arguments: &TrialRunArgs) -> Result<End> {
    let judged = &arguments.judged;
    match &arguments.resume {
        Some(directory) => {
            check_door_of(directory, &arguments.workers)?;
            let conditions = Conditions::new(&arguments.output.conditions)?;
            let workers = options(&arguments.workers);
            let finished = resume_with_workers(directory, &workers, &stop::flag()?, &progress::watcher())?;
            finish(&finished, judged, arguments.output.output, conditions)
        }
        None => carry_out_with(plan(arguments)?, judged, &arguments.output, &arguments.workers),
    }
}

/// Runs a trial and shows what it showed, or shows the plan.
pub(super) fn carry_out(plan: Plan, judged: &JudgedArgs, output: &OutputArgs) -> Result<End> {
    carry_out_with(plan, judged, output, &WorkersArgs::default())
}

/// The same, with workers that join as the flags say where the plan has any.
fn carry_out_with(plan: Plan, judged: &JudgedArgs, output: &OutputArgs, flags: &WorkersArgs) -> Result<End> {
    check_door(&plan, flags)?;
    if output.dry_run {
        return dry_run(&plan, output);
    }
    let conditions = Conditions::new(&output.conditions)?;
    let (out, stop) = (output.out.as_deref(), stop::flag()?);
    let finished = run_with_workers(plan, out, &options(flags), &stop, &progress::watcher())?;
    finish(&finished, judged, output.output, conditions)
}

fn finish(
    finished: &Finished,
    judged: &JudgedArgs,
    format: OutputFormat,
    conditions: Conditions,
) -> Result<End> {
    let document = &finished.document;
    pilots::keep(document);
    let handed_over = handed_over::write(finished)?;
    show(document, format)?;
    handed_over.say();
    let verdicts = document.trial.as_ref().map(|trial| &trial.verdicts[..]).unwrap_or_default();
    let of_arm = |arm: &ArmVerdict| ArmCase {
        arm: arm.arm.clone(),
        against: arm.against.clone(),
        verdict: arm.verdict,
        fails: fails(arm.verdict, document, &judged.fail_on),
    };
    let passes = conditions.hold(document, &verdicts.iter().map(of_arm).collect::<Vec<_>>())?;
    Ok(end_of(document, &judged.fail_on).unless(passes))
}

/// True if a verdict on an arm makes the command fail.
fn fails(verdict: Verdict, document: &RunDocument, fail_on: &[FailWord]) -> bool {
    let accept = document.plan.trial.as_ref().map(|trial| &trial.accept[..]).unwrap_or_default();
    match verdict {
        _ if fail_on.is_empty() => !accept.contains(&verdict),
        Verdict::Worse => fail_on.contains(&FailWord::Worse),
        Verdict::Undecided => fail_on.contains(&FailWord::Undecided),
        Verdict::Better | Verdict::Equivalent => false,
    }
}

/// The plan of a trial, refused where it cannot answer.
fn plan(arguments: &TrialRunArgs) -> Result<Plan> {
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let (mut scenario, mut sources) = plumb_scenario::file::read(path)?;
    if scenario.arms.0.is_empty() {
        let message = format!("{} has no arms to hold against each other", path.display());
        let hint = "write `arms: {default: {}, low: {producer: {linger.ms: 0}}}` instead of setups, the reference first; \
                    `plumb run` measures setups";
        return Err(UsageError::new(message, hint).into());
    }
    if arguments.quick {
        plain::quicken(&mut scenario, &mut sources, "--quick");
    }
    plain::use_brokers(&arguments.cluster, &mut scenario, &mut sources)?;
    use_driver(&arguments.driver, &mut scenario, &mut sources)?;
    use_workers(&arguments.workers, &mut scenario, &mut sources);
    if let Some(seed) = arguments.seed {
        scenario.seed = Some(seed);
        sources.insert("seed".to_owned(), Origin::Flag { flag: "--seed".to_owned() });
    }
    planned(scenario, sources, &arguments.judged, arguments.quick)
}

/// The plan of a scenario with arms and of the flags over it, refused where it cannot answer.
pub(in crate::commands) fn planned(
    mut scenario: Scenario,
    mut sources: Sources,
    judged: &JudgedArgs,
    quick: bool,
) -> Result<Plan> {
    overlay(judged, quick, &mut scenario, &mut sources);
    seed::draw(&mut scenario, &mut sources);
    let mut plan = resolve(&scenario, &sources)?;
    if let Some(pairs) = quick_pairs(&plan) {
        scenario.trial.get_or_insert_with(TrialWords::default).pairs = Some(pairs);
        plan = resolve(&scenario, &sources)?;
    }
    refuse_too_few(&plan)?;
    if !judged.anyway {
        pilots::refuse_hopeless(&plan)?;
    }
    Ok(plan)
}

/// Flags over the file's words.
fn overlay(judged: &JudgedArgs, quick: bool, scenario: &mut Scenario, sources: &mut Sources) {
    let mut note = |path: &str, flag: &str| {
        sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    };
    if let Some(level) = judged.level {
        scenario.level = Some(level);
        note("level", "--level");
    }
    let words = scenario.trial.get_or_insert_with(TrialWords::default);
    if quick && words.until_decided != Some(true) {
        words.pairs = Some(QUICK_PAIRS);
        note("trial.pairs", "--quick");
    }
    // A flag that says how long the trial goes on takes the place of all that the file says about it.
    if judged.until_decided || judged.max_pairs.is_some() {
        words.pairs = None;
        words.until_decided = Some(judged.until_decided || words.until_decided == Some(true));
        note("trial.until_decided", "--until-decided");
    }
    if let Some(pairs) = judged.pairs {
        *words = TrialWords { pairs: Some(pairs), until_decided: None, max_pairs: None, ..words.clone() };
        note("trial.pairs", "--pairs");
    }
    if let Some(most) = judged.max_pairs {
        words.max_pairs = Some(most);
        note("trial.max_pairs", "--max-pairs");
    }
    if let Some(margin) = judged.margin {
        words.margin = Some(margin);
        note("trial.margin", "--margin");
    }
    if let Some(primary) = &judged.primary {
        words.primary = Some(primary.clone());
        note("trial.primary", "--primary");
    }
    if let Some(every) = judged.restart_every {
        words.restart_every = Some(every);
        note("trial.restart_every", "--restart-every");
    }
    if !judged.accept.is_empty() {
        words.accept = Some(judged.accept.iter().copied().map(Verdict::from).collect());
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

pub(in crate::commands) fn show(document: &RunDocument, format: OutputFormat) -> Result<()> {
    printer::out(&match format {
        OutputFormat::Text => plumb_report::text::render(document, printer::style(), Figures::Headline),
        OutputFormat::Json => format!("{}\n", serde_json::to_string_pretty(&document.trial)?),
        OutputFormat::Csv => plumb_report::csv::pairs::render(document),
    });
    Ok(())
}

/// Well where nothing of what is to fail is there; where that is not said, where every verdict is one of those to accept.
fn end_of(document: &RunDocument, fail_on: &[FailWord]) -> End {
    let verdicts = document.trial.as_ref().map(|trial| &trial.verdicts[..]).unwrap_or_default();
    let invalid = document.validity.verdict == ValidityVerdict::Invalid;
    // A trial without a verdict decided nothing.
    let undecided = verdicts.is_empty() && (fail_on.is_empty() || fail_on.contains(&FailWord::Undecided));
    let arms = verdicts.iter().any(|arm| fails(arm.verdict, document, fail_on));
    let void = invalid && (fail_on.is_empty() || fail_on.contains(&FailWord::Invalid));
    let failed = void || undecided || arms;
    match (&document.run.state, failed) {
        (RunState::Interrupted, _) => End::Interrupted,
        (_, true) => End::Found,
        (_, false) => End::Done,
    }
}
