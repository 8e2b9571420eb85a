//! One file a command: words into a plan, the plan run, the document shown.

mod check;
mod compare;
mod compat;
mod completions;
mod demo;
mod diagnose;
mod driver;
mod explain;
mod import;
mod judge;
mod lab;
mod latency;
mod observe;
mod probe;
mod property;
mod report;
mod run;
pub(crate) mod search;
pub(crate) mod size;
mod throughput;
mod trial;
mod tune;
mod watched;
mod worker;

use crate::args::{Arguments, Command, OutputArgs, OutputFormat, WorkersArgs};
use crate::conditions::Conditions;
use crate::progress::Estimate;
use crate::{handed_over, printer, progress, stop};
use anyhow::Result;
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::Plan;
use plumb_model::search::SearchResult;
use plumb_report::text::Figures;
use plumb_session::{Finished, resume_with_workers, run_dir, run_with_workers};
use std::path::Path;
use std::process::ExitCode;

/// The end of a command without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// A finding, or a run that is invalid.
    Found,
    /// Nothing of what was named could be seen.
    Unseen,
    /// Stopped by the user.
    Interrupted,
}

impl End {
    /// The same end where the user's conditions pass; a run that does not pass has found something.
    fn unless(self, passes: bool) -> End {
        match self {
            End::Done if !passes => End::Found,
            other => other,
        }
    }

    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            End::Done => 0,
            End::Found => 1,
            End::Unseen => 4,
            End::Interrupted => 130,
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<End> {
    match &arguments.command {
        Command::Demo(arguments) => demo::demo(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Latency(arguments) => latency::latency(arguments),
        Command::Throughput(arguments) => throughput::throughput(arguments),
        Command::Import(arguments) => import::import(arguments),
        Command::Compat(arguments) => compat::compat(arguments),
        Command::Lab(arguments) => lab::lab(&arguments.command),
        Command::Observe(arguments) => observe::observe(arguments),
        Command::Diagnose(arguments) => diagnose::diagnose(arguments),
        Command::Judge(arguments) => judge::judge(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Tune(arguments) => tune::tune(&arguments.command),
        Command::Size(arguments) => size::size(arguments),
        Command::Probe(arguments) => probe::probe(arguments),
        Command::Search(arguments) => search::search(arguments),
        Command::Trial(arguments) => trial::trial(arguments),
        Command::Driver(arguments) => driver::driver(arguments),
        Command::Worker(arguments) => worker::worker(arguments),
        Command::Compare(arguments) => compare::compare(arguments),
        Command::Report(arguments) => report::report(arguments),
        Command::Explain(arguments) => explain::explain(arguments),
        Command::Completions(arguments) => completions::completions(arguments),
        Command::Man(arguments) => completions::man(arguments),
    }
}

/// Runs a plan and shows the document, or shows the plan.
fn carry_out(plan: Plan, output: &OutputArgs) -> Result<End> {
    carry_out_with(plan, output, &WorkersArgs::default())
}

/// The same, with workers that join as the flags say where the plan has any.
fn carry_out_with(plan: Plan, output: &OutputArgs, flags: &WorkersArgs) -> Result<End> {
    worker::check_door(&plan, flags)?;
    if output.dry_run {
        return dry_run(&plan, output);
    }
    let stop = stop::flag()?;
    let conditions = Conditions::new(&output.conditions)?;
    let workers = worker::options(flags);
    let finished = run_with_workers(plan, output.out.as_deref(), &workers, &stop, &progress::watcher())?;
    ended(&finished, output, conditions)
}

/// Shows a run that is over, and holds the user's conditions against it.
fn ended(finished: &Finished, output: &OutputArgs, conditions: Conditions) -> Result<End> {
    let handed_over = handed_over::write(finished)?;
    show(&finished.document, output.output)?;
    handed_over.say();
    let passes = conditions.hold(&finished.document, &[])?;
    Ok(end_of(&finished.document).unless(passes))
}

/// Shows a plan.
fn dry_run(plan: &Plan, output: &OutputArgs) -> Result<End> {
    // What a run would refuse is refused here too.
    Conditions::check(&output.conditions)?;
    plumb_session::check(plan)?;
    output.out.as_deref().map_or(Ok(()), run_dir::refuse_taken)?;
    match output.output {
        OutputFormat::Json => printer::out(&format!("{}\n", serde_json::to_string_pretty(plan)?)),
        OutputFormat::Text | OutputFormat::Csv => {
            printer::out(&plumb_report::plan_text::render(plan, printer::style()));
            printer::remark(&format!("It would take {}.", Estimate::of(plan)));
        }
    }
    Ok(End::Done)
}

/// Goes on with a run that was stopped or killed, and shows the document.
fn carry_on(directory: &Path, output: &OutputArgs) -> Result<End> {
    carry_on_with(directory, output, &WorkersArgs::default())
}

/// The same, with workers that join as the flags say where the plan has any.
fn carry_on_with(directory: &Path, output: &OutputArgs, flags: &WorkersArgs) -> Result<End> {
    worker::check_door_of(directory, flags)?;
    let stop = stop::flag()?;
    let conditions = Conditions::new(&output.conditions)?;
    let finished = resume_with_workers(directory, &worker::options(flags), &stop, &progress::watcher())?;
    ended(&finished, output, conditions)
}

/// Prints a document.
fn show(document: &RunDocument, format: OutputFormat) -> Result<()> {
    printer::out(&match format {
        OutputFormat::Text => plumb_report::text::render(document, printer::style(), Figures::Headline),
        OutputFormat::Json => plumb_report::json::render(document)?,
        OutputFormat::Csv => plumb_report::csv::render(document),
    });
    Ok(())
}

fn end_of(document: &RunDocument) -> End {
    match &document.run.state {
        RunState::Interrupted => End::Interrupted,
        _ => end_of_figures(document),
    }
}

/// The end that the figures alone make: well unless they are not fit for use, or a search has no answer.
fn end_of_figures(document: &RunDocument) -> End {
    let unanswered = |search: &SearchResult| search.bounded_by.is_some() && search.rate_low_per_s.is_none();
    let mut searches = document.steps.iter().filter_map(|step| step.search.as_ref());
    let invalid = document.validity.verdict == ValidityVerdict::Invalid;
    if invalid || searches.any(unanswered) { End::Found } else { End::Done }
}
