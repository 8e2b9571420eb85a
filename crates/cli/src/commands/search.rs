//! `plumb search`: the best settings for a scenario, and the trial that proves them.
//!
//! The search is a run of its own in `search`. In `parts` each change of what it finds is left out in turn; those that are not shown to matter are
//! taken back together and what is left is raced against all in `fewer`. That is proven in `proof`, by blocks that chose nothing, and looked at
//! beside at other rates. Every run goes on by itself where it was stopped, so a search that is resumed looks at each in turn.

mod extent;
mod proof;
mod request;

use crate::args::result::ResultOutput;
use crate::args::search::SearchArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::result_dir::{self, ResultKind, Shown};
use crate::{install_dir, printer, progress, stop};
use anyhow::Result;
use plumb_judge::settings_search::{
    Runs, Taken, TakingBack, ended_with_error, proven, report, restarts, taking_back, to_prove,
};
use plumb_model::best::BestEnding;
use plumb_model::document::{RunDocument, RunState};
use plumb_model::fault::{self, HasFault};
use plumb_model::figure::counted;
use plumb_model::plan::{Plan, Properties};
use plumb_model::search_report::{RefusedTrial, SearchOutcome, SearchReport, TrialStage};
use plumb_session::{SessionError, run_dir};
use plumb_tune::host::Host;
use plumb_tune::journal::Places;
use proof::Proof;
use request::Request;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a search writes into its directory before anything else.
pub(crate) const REQUEST: &str = request::FILE;

/// The directory of the search itself, below that of the whole.
pub(crate) const SEARCH: &str = "search";
/// Those of the trials of each change's part, of fewer changes against all, and of the whole.
const PARTS: &str = "parts";
const FEWER: &str = "fewer";
pub(crate) const PROOF: &str = "proof";
/// The proof of all changes, where that of fewer is refused.
const PROOF_OF_ALL: &str = "proof-of-all";
const RESTART: &str = "restart";

/// Each search for the highest rate is at so many times the rate of the one before, and there are at most so many.
const CLIMB: f64 = 1.5;
const CLIMBS_MOST: i32 = 8;

pub(super) fn search(arguments: &SearchArgs) -> Result<End> {
    if let Some(directory) = &arguments.resume {
        let directory = whole(directory);
        return carry_or_say_way_on(&Request::read(&directory)?, &directory, arguments);
    }
    let request = Request::new(arguments)?;
    let plan = request.search_plan()?;
    if arguments.dry_run {
        return dry_run(&request, arguments.output);
    }
    let directory = arguments.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        PathBuf::from(format!("runs/{now}-search"))
    });
    result_dir::refuse_taken(&directory, &[REQUEST])?;
    if directory.join(SEARCH).exists() {
        let message = format!("{} has a search already", directory.display());
        let hint = "go on with it with --resume, or name another directory with --out";
        return Err(UsageError::new(message, hint).into());
    }
    plumb_session::check(&plan)?;
    if let Some(restart) = restart_plan(&request, &plan)? {
        plumb_session::check(&restart)?;
    }
    // What keeps a trial from running here is better known before the search than after it.
    if !request.trial_only && !request.climbs()? {
        plumb_tune::journal::check(&Places::here(), &Host::default())?;
    }
    for own in request.by_promise()? {
        printer::remark(&extent::sentences(&own, &own.search_plan()?)?);
    }
    request.write(&directory)?;
    let done = carry_or_say_way_on(&request, &directory, arguments);
    if done.is_err() && !directory.join(SEARCH).exists() {
        // Nothing was measured: nothing is left.
        request::forget(&directory);
    }
    done
}

/// Searches; after an error that leaves something measured, keeps the answer so far and says how it goes on.
fn carry_or_say_way_on(request: &Request, directory: &Path, arguments: &SearchArgs) -> Result<End> {
    let way_on = progress::Whole::new(format!("plumb search --resume {}", directory.display()));
    let done = carry(request, directory, arguments, &way_on);
    if let Err(error) = &done
        && directory.join(SEARCH).exists()
    {
        if let Err(error) = keep_so_far(request, directory, &way_on, error) {
            printer::note(&format!("warning: what was seen so far has no page: {error:#}"));
        }
        way_on.say_way_on();
    }
    done
}

/// The answers of a search that ended with an error, as far as it came: document and page.
fn keep_so_far(
    request: &Request,
    directory: &Path,
    way_on: &Arc<progress::Whole>,
    error: &anyhow::Error,
) -> Result<()> {
    let ended = Ended {
        error: fault::chain(error.as_ref()).join(": "),
        way_on: format!("plumb search --resume {}", directory.display()),
    };
    let mut answers = Vec::new();
    for (at, request) in request.by_promise()?.iter().enumerate() {
        let place = of_promise(directory, at);
        answers.extend(Whole { request, directory: &place, way_on }.so_far(&ended)?);
    }
    let mut answers = answers.into_iter();
    let Some(mut first) = answers.next() else { return Ok(()) };
    first.other_promises = answers.collect();
    result_dir::write(directory, ResultKind::Search, &Shown::search(&first)?)
}

/// The error with which a search ended, and the command with which it goes on.
struct Ended {
    error: String,
    way_on: String,
}

/// The directory of the search for one of the promises.
fn of_promise(directory: &Path, at: usize) -> PathBuf {
    match at {
        0 => directory.to_owned(),
        at => directory.join(format!("promise-{}", at + 1)),
    }
}

/// The last trial, as far as the scenario asks for it; none where it does not.
fn restart_plan(request: &Request, plan: &Plan) -> Result<Option<Plan>> {
    match &plan.settings_search {
        Some(search) if !search.restart.is_empty() => {
            proof::restart_plan(request, &Properties::new(), &search.restart).map(Some)
        }
        _ => Ok(None),
    }
}

/// Shows the search for each promise that the setups make.
fn dry_run(request: &Request, output: ResultOutput) -> Result<End> {
    let all = request.by_promise()?;
    let plans = all.iter().map(Request::search_plan).collect::<Result<Vec<Plan>>>()?;
    for plan in &plans {
        plumb_session::check(plan)?;
    }
    if output == ResultOutput::Json {
        let searches = serde_json::json!({ "searches": plans });
        printer::out(&format!("{}\n", serde_json::to_string_pretty(&searches)?));
        return Ok(End::Done);
    }
    for (own, plan) in all.iter().zip(&plans) {
        printer::out(&plumb_report::plan_text::render(plan, printer::style()));
        printer::remark(&extent::sentences(own, plan)?);
    }
    if all.len() > 1 {
        printer::remark(&format!(
            "{} searches, one for each promise of the setups; none is held against another.",
            all.len()
        ));
    }
    Ok(End::Done)
}

/// Searches for each promise that the setups make, and shows the answers: the first setup's, and beside it those of others, which are never
/// held against it.
fn carry(
    request: &Request,
    directory: &Path,
    arguments: &SearchArgs,
    way_on: &Arc<progress::Whole>,
) -> Result<End> {
    let mut answer: Option<SearchReport> = None;
    for (at, own) in request.by_promise()?.iter().enumerate() {
        let place = of_promise(directory, at);
        if at > 0 {
            printer::remark("setups of another promise are searched from by themselves");
        }
        let whole = Whole { request: own, directory: &place, way_on };
        let Some(found) = whole.carry(request.trial_only)? else { return Ok(End::Done) };
        let is_stopped = found.outcome == SearchOutcome::Interrupted;
        match &mut answer {
            None => answer = Some(found),
            Some(answer) => answer.other_promises.push(found),
        }
        if is_stopped {
            break;
        }
    }
    answer.map_or(Ok(End::Done), |answer| show(&answer, directory, arguments))
}

fn show(report: &SearchReport, directory: &Path, arguments: &SearchArgs) -> Result<End> {
    let shown = Shown::search(report)?;
    result_dir::write(directory, ResultKind::Search, &shown)?;
    printer::out(match arguments.output {
        ResultOutput::Text => &shown.text,
        ResultOutput::Json => &shown.json,
    });
    let all = || std::iter::once(report).chain(&report.other_promises);
    if all().any(|report| report.outcome == SearchOutcome::Interrupted) {
        printer::note(&format!("it can go on: plumb search --resume {}", directory.display()));
        return Ok(End::Interrupted);
    }
    let installs = [PROOF, PROOF_OF_ALL].map(|proof| directory.join(proof).join("install"));
    if report.outcome == SearchOutcome::Better
        && let Some(install) = installs.iter().find(|install| install.is_dir())
    {
        printer::note(&format!("to install: {}", install.display()));
    }
    Ok(if shown.found { End::Found } else { End::Done })
}

/// The directory of the whole search, where that of one of its runs is named.
fn whole(directory: &Path) -> PathBuf {
    match directory.parent() {
        Some(parent) if !directory.join(REQUEST).exists() && parent.join(REQUEST).exists() => {
            parent.to_owned()
        }
        _ => directory.to_owned(),
    }
}

/// A search with its directory.
struct Whole<'a> {
    request: &'a Request,
    directory: &'a Path,
    way_on: &'a Arc<progress::Whole>,
}

impl Whole<'_> {
    /// The answer; none where the scenario of the trial was printed in its place.
    fn carry(&self, trial_only: bool) -> Result<Option<SearchReport>> {
        let search = match self.request.climbs()? {
            true => self.climb()?,
            false => self.run(SEARCH, || self.request.search_plan())?,
        };
        let only = Runs::of(&search);
        let found = search.settings_search.as_ref().and_then(|result| result.winner.clone());
        let Some(winner) = found.filter(|_| !is_stopped(&search)) else {
            return if trial_only { self.write(only) } else { self.restarted(only, &Properties::new()) };
        };
        let unpruned = search.settings_search.as_ref().and_then(|result| result.unpruned.clone());
        let rate_per_s = search.plan.steps.first().and_then(|step| step.load.rate_per_s);
        let mut proof = Proof {
            request: self.request,
            winner: &winner,
            smallest: winner.clone(),
            shown: winner.clone(),
            unpruned: unpruned.as_ref(),
            rate_per_s: rate_per_s.filter(|_| self.request.climbs().unwrap_or(false)),
        };
        if trial_only {
            printer::out(&proof.scenario_text()?);
            self.write(only)?;
            return Ok(None);
        }
        let (mut before, mut refused) = (Vec::new(), Vec::new());
        if !self.take_back(&proof, &mut before, &mut refused)? {
            return self.write(Runs { before_proof: &before, ..only });
        }
        if proof.rate_per_s.is_some() {
            proof.prove(to_prove(&winner, &before, &refused));
            let rates = self.trial("highest-rates", TrialStage::Proof, || proof.rates_plan())?;
            let rates = rates.map_err(|trial| refused.push(trial)).ok();
            let runs = Runs { before_proof: &before, refused: &refused, ..only };
            return self.write(Runs { highest_rates: rates.as_ref(), ..runs });
        }
        let trial = self.prove(&mut proof, &before, &mut refused)?;
        let mut with_proof = Runs { proof: trial.as_ref(), before_proof: &before, refused: &refused, ..only };
        let answer = report(with_proof).filter(|report| report.outcome == SearchOutcome::Better);
        let Some(answer) = answer else {
            return self.restarted(with_proof, &Properties::new());
        };
        if let Some(trial) = &trial {
            self.install(trial, &refused)?;
        }
        // What is looked at is what is proposed: all changes, where the fewest are not enough.
        proof.smallest = answer.proposed.into_iter().map(|change| (change.setting, change.to)).collect();
        let (mut other_rates, mut refused) = (Vec::new(), refused.clone());
        for rate in proof.other_rates(&search.plan) {
            let plan = match proof.rate_plan(rate) {
                Ok(plan) => plan,
                Err(error) => {
                    printer::note(&format!("not looked at {}: {error}", rate.words()));
                    continue;
                }
            };
            match self.trial(&rate.name(), TrialStage::OtherRate, || Ok(plan))? {
                Ok(run) if is_stopped(&run) => {
                    return self.write(Runs { other_rates: &other_rates, refused: &refused, ..with_proof });
                }
                Ok(run) => other_rates.push(run),
                Err(trial) => refused.push(trial),
            }
        }
        with_proof = Runs { other_rates: &other_rates, refused: &refused, ..with_proof };
        self.restarted(with_proof, &proof.smallest)
    }

    /// The trial of what is left; where that is refused and is not all of what was found, the trial of all. None where nothing is let run.
    fn prove(
        &self,
        proof: &mut Proof<'_>,
        before: &[RunDocument],
        refused: &mut Vec<RefusedTrial>,
    ) -> Result<Option<RunDocument>> {
        proof.prove(to_prove(proof.winner, before, refused));
        let has_others = proof.shown != *proof.winner || proof.unpruned.is_some();
        match self.trial(PROOF, TrialStage::Proof, || proof.plan())? {
            Ok(proven) => return Ok(Some(proven)),
            Err(trial) => refused.push(trial),
        }
        if !has_others {
            return Ok(None);
        }
        proof.prove(to_prove(proof.winner, before, refused));
        proof.unpruned = None;
        let all = self.trial(PROOF_OF_ALL, TrialStage::Proof, || proof.plan())?;
        Ok(all.map_err(|trial| refused.push(trial)).ok())
    }

    /// Writes the files of what is proposed beside its proof.
    fn install(&self, proof: &RunDocument, refused: &[RefusedTrial]) -> Result<()> {
        let name = match refused.iter().any(|trial| trial.stage == TrialStage::Proof) {
            true => PROOF_OF_ALL,
            false => PROOF,
        };
        let winners = proven(proof).into_iter().collect();
        let proof = RunDocument { winners, ..proof.clone() };
        install_dir::write(&self.directory.join(name).join(install_dir::NAME), &proof)?;
        Ok(())
    }

    /// The last trial, of brokers started with what the scenario names or a finding advises, and then the answer.
    fn restarted(&self, runs: Runs<'_>, settings: &Properties) -> Result<Option<SearchReport>> {
        let outcome = report(runs).map(|report| report.outcome);
        let is_to_be_tried = matches!(
            outcome,
            Some(
                SearchOutcome::Better
                    | SearchOutcome::AsGood
                    | SearchOutcome::NotProven
                    | SearchOutcome::NothingTried
            )
        );
        let of_search = runs.search.plan.settings_search.as_ref().zip(runs.search.settings_search.as_ref());
        let changes = of_search.map(|(search, result)| restarts(search, result)).unwrap_or_default();
        if !is_to_be_tried || changes.is_empty() || self.request.climbs()? {
            return self.write(runs);
        }
        let answer = self.write(runs)?;
        match self.run(RESTART, || proof::restart_plan(self.request, settings, &changes)) {
            Ok(trial) if is_stopped(&trial) => {}
            Ok(trial) => return self.write(Runs { restart: Some(&trial), ..runs }),
            // What the search found does not hang on brokers that do not start so.
            Err(error) => {
                let is_stop = error.downcast_ref::<SessionError>().is_some_and(HasFault::is_stop);
                let why = if is_stop { "stopped".to_owned() } else { format!("{error:#}") };
                printer::note(&format!("not tried with a restart: {why}"));
            }
        }
        printer::note(&format!("what is left: plumb search --resume {}", self.directory.display()));
        Ok(answer)
    }

    /// Takes back the changes that nothing shows to matter, by trials that are kept; false where one of them was stopped.
    fn take_back(
        &self,
        proof: &Proof<'_>,
        trials: &mut Vec<RunDocument>,
        refused: &mut Vec<RefusedTrial>,
    ) -> Result<bool> {
        let numbered = |name: &str, before: usize| match before {
            0 => name.to_owned(),
            before => format!("{name}-{}", before + 1),
        };
        let (mut parts, mut races) = (0, 0);
        loop {
            let taken: Vec<Taken> = trials.iter().map(Taken::of).collect();
            let run = match taking_back(proof.winner, &taken) {
                TakingBack::Prove(_) => return Ok(true),
                TakingBack::Parts(all) => {
                    parts += 1;
                    self.parts(proof, &all, &numbered(PARTS, parts - 1))?
                }
                TakingBack::Race { all, fewer } => {
                    races += 1;
                    let name = numbered(FEWER, races - 1);
                    self.trial(&name, TrialStage::TakingBack, || proof.race_plan(&all, &fewer))?
                }
            };
            match run {
                Ok(run) => trials.push(run),
                Err(trial) => {
                    refused.push(trial);
                    return Ok(true);
                }
            }
            if trials.last().is_some_and(is_stopped) {
                return Ok(false);
            }
        }
    }

    /// The trial of each change's own part; once more in twice as many pairs, where so many were left out as disturbed that no verdict was
    /// possible.
    fn parts(
        &self,
        proof: &Proof<'_>,
        all: &Properties,
        name: &str,
    ) -> Result<Result<RunDocument, RefusedTrial>> {
        let first = match self.trial(name, TrialStage::TakingBack, || proof.parts_plan(all, 1))? {
            Ok(first) => first,
            Err(refused) => return Ok(Err(refused)),
        };
        let sound = first.trial.as_ref().map_or(0, |trial| trial.pairs);
        let fewest = proof::fewest_pairs(&first.plan);
        if is_stopped(&first) || sound >= fewest {
            return Ok(Ok(first));
        }
        printer::remark(&format!(
            "plumb: of the parts {} left after the disturbed ones, and a verdict takes {fewest}: once more, with twice as many",
            counted(sound as usize, "pair")
        ));
        self.trial(&format!("{name}-again"), TrialStage::TakingBack, || proof.parts_plan(all, 2))
    }

    /// A run of a stage, or that a client, a broker or the host refused it. Blocks of the search ran with what it tries, or with less or more:
    /// what was found does not hang on it.
    fn trial(
        &self,
        name: &str,
        stage: TrialStage,
        plan: impl FnOnce() -> Result<Plan>,
    ) -> Result<Result<RunDocument, RefusedTrial>> {
        let error = match self.run(name, plan) {
            Ok(document) => return Ok(Ok(document)),
            Err(error) => error,
        };
        if !error.downcast_ref::<SessionError>().is_some_and(SessionError::is_refusal) {
            return Err(error);
        }
        let reason = format!("{error:#}");
        printer::note(&format!("the trial in {name} was refused: {reason}"));
        Ok(Err(RefusedTrial { stage, run: name.to_owned(), reason }))
    }

    /// The search at rising rates: as long as something holds the goal, what did best goes on at the next rate. The last search that found
    /// something, or the first.
    fn climb(&self) -> Result<RunDocument> {
        let mut best = self.run(SEARCH, || self.request.search_plan())?;
        for step in 1..CLIMBS_MOST {
            let result = best.settings_search.as_ref();
            let holds = result
                .is_some_and(|result| matches!(result.ending, Some(BestEnding::Better | BestEnding::AsGood)));
            if !holds || is_stopped(&best) {
                break;
            }
            let share = CLIMB.powi(step);
            let name = format!("{SEARCH}-at-{share}-of-the-rate");
            let next = self.run(&name, || self.request.climbing_plan(&best, share))?;
            if is_stopped(&next) {
                return Ok(next);
            }
            let ending = next.settings_search.as_ref().and_then(|result| result.ending);
            if !matches!(ending, Some(BestEnding::Better | BestEnding::AsGood)) {
                break;
            }
            best = next;
        }
        Ok(best)
    }

    /// A run below the directory: the document that is there if it is complete, else from where it was stopped, else from its beginning.
    fn run(&self, name: &str, plan: impl FnOnce() -> Result<Plan>) -> Result<RunDocument> {
        let place = self.directory.join(name);
        let watcher = || progress::watcher_of_part(self.way_on);
        let finished = match run_dir::read_document(&place) {
            Ok(document) if document.run.state == RunState::Complete => return Ok(document),
            Ok(_) => plumb_session::resume(&place, &stop::flag()?, &watcher())?,
            Err(_) => plumb_session::run(plan()?, Some(&place), &stop::flag()?, &watcher())?,
        };
        // The search has no figures of its own to show: its answer is the whole's.
        if finished.document.plan.settings_search.is_none() {
            crate::handed_over::write_page(&finished)?;
        }
        Ok(finished.document)
    }

    /// The answer of a search that ended with an error: what it saw. One that came to an end before stays; none where it had not begun.
    fn so_far(&self, ended: &Ended) -> Result<Option<SearchReport>> {
        let before = fs_err::read_to_string(self.directory.join(ResultKind::Search.document()));
        let before = before.ok().and_then(|text| serde_json::from_str::<SearchReport>(&text).ok());
        let is_old =
            |before: &SearchReport| before.outcome == SearchOutcome::Interrupted || before.error.is_some();
        if let Some(before) = before.filter(|before| !is_old(before)) {
            return Ok(Some(before));
        }
        let Ok(search) = run_dir::read_document(&self.directory.join(SEARCH)) else { return Ok(None) };
        let Some(report) = report(Runs::of(&search)) else { return Ok(None) };
        self.keep(ended_with_error(report, &ended.error, &ended.way_on)).map(Some)
    }

    /// The answer as far as it goes, also on disk.
    fn write(&self, runs: Runs<'_>) -> Result<Option<SearchReport>> {
        report(runs).map(|report| self.keep(report)).transpose()
    }

    /// Keeps an answer, document and page.
    fn keep(&self, report: SearchReport) -> Result<SearchReport> {
        let report = SearchReport { runs: self.runs(), ..report };
        result_dir::keep(self.directory, ResultKind::Search, &Shown::search(&report)?)?;
        Ok(report)
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
