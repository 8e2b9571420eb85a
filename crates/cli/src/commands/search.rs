//! `plumb search`: the best settings for a scenario, and the trial that proves them.
//!
//! The search is a run of its own in `search`. In `parts` each change of what it finds is left out in turn; those without which the rest is worse
//! are proven in `proof`, by blocks that chose nothing, and looked at beside at other rates. Every run goes on by itself where it was stopped, so a search that is resumed
//! looks at each in turn.

mod proof;
mod request;

use crate::args::search::SearchArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::progress::Estimate;
use crate::result_dir::{self, ResultKind, Shown};
use crate::{printer, progress, stop};
use anyhow::Result;
use plumb_judge::settings_search::{Runs, report, smallest};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::plan::Plan;
use plumb_model::search_report::{SearchOutcome, SearchReport};
use plumb_session::run_dir;
use proof::Proof;
use request::Request;
use std::path::{Path, PathBuf};

/// The directory of the search itself, below that of the whole.
const SEARCH: &str = "search";

pub(super) fn search(arguments: &SearchArgs) -> Result<End> {
    if let Some(directory) = &arguments.resume {
        let directory = whole(directory);
        let request = Request::read(&directory)?;
        return Whole { request: &request, directory: &directory }.carry(arguments);
    }
    let request = Request::new(arguments)?;
    let plan = request.search_plan()?;
    if arguments.dry_run {
        plumb_session::check(&plan)?;
        printer::out(&plumb_report::plan_text::render(&plan, printer::style()));
        printer::remark(&format!(
            "The search would take at most {}, and its proof as long again or more.",
            Estimate::of(&plan)
        ));
        return Ok(End::Done);
    }
    let directory = arguments.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        PathBuf::from(format!("runs/{now}-search"))
    });
    result_dir::refuse_taken(&directory, &[request::FILE])?;
    if directory.join(SEARCH).exists() {
        let message = format!("{} has a search already", directory.display());
        return Err(UsageError::new(
            message,
            "go on with it with --resume, or name another directory with --out",
        )
        .into());
    }
    plumb_session::check(&plan)?;
    request.write(&directory)?;
    let whole = Whole { request: &request, directory: &directory };
    let done = whole.carry(arguments);
    if done.is_err() && !directory.join(SEARCH).exists() {
        // Nothing was measured: nothing is left.
        request::forget(&directory);
    }
    done
}

/// The directory of the whole search, where that of one of its runs is named.
fn whole(directory: &Path) -> PathBuf {
    match directory.parent() {
        Some(parent) if !directory.join(request::FILE).exists() && parent.join(request::FILE).exists() => {
            parent.to_owned()
        }
        _ => directory.to_owned(),
    }
}

/// A search with its directory.
struct Whole<'a> {
    request: &'a Request,
    directory: &'a Path,
}

impl Whole<'_> {
    fn carry(&self, arguments: &SearchArgs) -> Result<End> {
        let search = self.run(SEARCH, || self.request.search_plan())?;
        let found = search.settings_search.as_ref().and_then(|result| result.winner.clone());
        let Some(winner) = found.filter(|_| !is_stopped(&search)) else {
            return self
                .show(Runs { search: &search, proof: None, parts: None, other_rates: &[] }, arguments);
        };
        let unpruned = search.settings_search.as_ref().and_then(|result| result.unpruned.clone());
        let mut proof = Proof {
            request: self.request,
            winner: &winner,
            smallest: winner.clone(),
            unpruned: unpruned.as_ref(),
        };
        let only = Runs { search: &search, proof: None, parts: None, other_rates: &[] };
        if arguments.trial_only {
            printer::out(&proof.scenario_text()?);
            self.write(only)?;
            return Ok(End::Done);
        }
        let parts = match winner.len() {
            0 | 1 => None,
            _ => Some(self.run("parts", || proof.parts_plan())?),
        };
        let with_parts = Runs { parts: parts.as_ref(), ..only };
        if parts.as_ref().is_some_and(is_stopped) {
            return self.show(with_parts, arguments);
        }
        proof.smallest = smallest(&winner, parts.as_ref());
        let proven = self.run("proof", || proof.plan())?;
        let with_proof = Runs { proof: Some(&proven), ..with_parts };
        let is_better = report(with_proof).is_some_and(|report| report.outcome == SearchOutcome::Better);
        if is_stopped(&proven) || !is_better {
            return self.show(with_proof, arguments);
        }
        let mut other_rates = Vec::new();
        for rate in proof.other_rates(&search.plan) {
            let run = self.run(&rate.name(), || proof.rate_plan(rate))?;
            if is_stopped(&run) {
                break;
            }
            other_rates.push(run);
        }
        self.show(Runs { other_rates: &other_rates, ..with_proof }, arguments)
    }

    /// A run below the directory: the document that is there if it is complete, else from where it was stopped, else from its beginning.
    fn run(&self, name: &str, plan: impl FnOnce() -> Result<Plan>) -> Result<RunDocument> {
        let place = self.directory.join(name);
        let finished = match run_dir::read_document(&place) {
            Ok(document) if document.run.state == RunState::Complete => return Ok(document),
            Ok(_) => plumb_session::resume(&place, &stop::flag()?, &progress::watcher())?,
            Err(_) => plumb_session::run(plan()?, Some(&place), &stop::flag()?, &progress::watcher())?,
        };
        crate::handed_over::write(&finished)?;
        Ok(finished.document)
    }

    fn write(&self, runs: Runs<'_>) -> Result<Option<(SearchReport, Shown)>> {
        let Some(mut report) = report(runs) else { return Ok(None) };
        report.runs = self.runs();
        let shown = Shown::search(&report)?;
        result_dir::write(self.directory, ResultKind::Search, &shown)?;
        Ok(Some((report, shown)))
    }

    fn show(&self, runs: Runs<'_>, arguments: &SearchArgs) -> Result<End> {
        let Some((report, shown)) = self.write(runs)? else { return Ok(End::Done) };
        printer::out(match arguments.output {
            crate::args::result::ResultOutput::Text => &shown.text,
            crate::args::result::ResultOutput::Json => &shown.json,
        });
        if report.outcome == SearchOutcome::Better {
            printer::note(&format!("to install: {}", self.directory.join("proof").join("install").display()));
        }
        if report.outcome == SearchOutcome::Interrupted {
            printer::note(&format!("it can go on: plumb search --resume {}", self.directory.display()));
            return Ok(End::Interrupted);
        }
        Ok(if shown.found { End::Found } else { End::Done })
    }

    /// The directories of runs that are there.
    fn runs(&self) -> Vec<String> {
        let Ok(entries) = fs_err::read_dir(self.directory) else { return Vec::new() };
        let names = entries.flatten().filter(|entry| entry.path().join(run_dir::DOCUMENT).is_file());
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn is_stopped(document: &RunDocument) -> bool {
    document.run.state != RunState::Complete
}
