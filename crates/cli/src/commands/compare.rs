//! `plumb compare`: two single runs, two searches, or two watched paths, side by side, from their documents alone.

use super::End;
use super::search::{PROOF, SEARCH};
use crate::args::{CompareArgs, CompareOutput};
use crate::errors::UsageError;
use crate::result_dir::{self, ResultKind};
use crate::{judged, printer, whole_file};
use anyhow::{Context, Result};
use plumb_judge::compare::{self, CompareError, Side, paths, searches};
use plumb_judge::settings_search::{AS_IS, PROPOSED};
use plumb_report::search::side_by_side;
use plumb_report::{path, sheet};
use std::path::Path;

pub(super) fn compare(arguments: &CompareArgs) -> Result<End> {
    let [first, second] = [&arguments.first, &arguments.second].map(Path::new);
    match (result_dir::is_path(first), result_dir::is_path(second)) {
        (true, true) => return compare_paths(arguments),
        (false, false) => {}
        (is_first, _) => {
            let watched = if is_first { &arguments.first } else { &arguments.second };
            let message = format!("{watched} is a watched path, and the other is none");
            return Err(UsageError::new(message, "give two watched paths, or two runs").into());
        }
    }
    refuse_results_of_other_kinds(&arguments.first, &arguments.second)?;
    if arguments.html.is_some() {
        let hint = "of runs there is --output text or json; plumb report RUN --html FILE draws one of them";
        return Err(UsageError::new("--html is for two watched paths", hint).into());
    }
    let (first, second) = (Place::of(&arguments.first), Place::of(&arguments.second));
    if let Some(end) = compare_searches(&first, &second, arguments.output)? {
        return Ok(end);
    }
    let (a, b) = (judged::read(Path::new(first.run))?, judged::read(Path::new(second.run))?);
    let (side_a, side_b) =
        (Side { document: &a, step: first.step }, Side { document: &b, step: second.step });
    let result = compare::compare(side_a, side_b).map_err(|error| usage(&error))?;
    printer::out(&match arguments.output {
        CompareOutput::Text => plumb_report::compare_text::render(&result, printer::style()),
        CompareOutput::Json => format!("{}\n", serde_json::to_string_pretty(&result)?),
    });
    Ok(End::Done)
}

/// Refuses what is neither a run nor a search; hosts are held against each other by another command.
fn refuse_results_of_other_kinds(first: &str, second: &str) -> Result<(), UsageError> {
    let places = [first, second].map(|place| (place, result_dir::kind(Path::new(place))));
    if places.iter().all(|(_, kind)| *kind == Some(ResultKind::Check)) {
        let hint = format!("plumb check {first} {second} holds hosts against each other");
        return Err(UsageError::new(format!("{first} and {second} are checks of hosts, and not runs"), hint));
    }
    let other = places
        .iter()
        .find_map(|(place, kind)| Some((place, kind.filter(|kind| *kind != ResultKind::Search)?)));
    let Some((place, kind)) = other else { return Ok(()) };
    Err(UsageError::new(
        format!("{place} is {}, and not a run", kind.words()),
        "give two runs, or two watched paths; plumb check CHECK CHECK holds hosts against each other",
    ))
}

/// Compares two searches; none where neither is one.
fn compare_searches(first: &Place<'_>, second: &Place<'_>, output: CompareOutput) -> Result<Option<End>> {
    let read = |place: &Place<'_>| match place.step {
        None => result_dir::read_search(Path::new(place.run)),
        Some(_) => Ok(None),
    };
    let (of_first, of_second) = (read(first)?, read(second)?);
    let (first, second) = (first.run, second.run);
    let (a, b) = match (of_first, of_second) {
        (None, None) => {
            refuse_searches(first, second)?;
            return Ok(None);
        }
        (Some(a), Some(b)) => (a, b),
        (of_first, _) => {
            let (search, other) = if of_first.is_some() { (first, second) } else { (second, first) };
            let message = format!("{search} is a search, which is several runs, and {other} is none");
            return Err(UsageError::new(message, way_to_compare(search)).into());
        }
    };
    let side = |place, report| searches::Side { place, report };
    let hint = "give two searches, such as those of two setups, or of before and after";
    let result = searches::compare(side(first, &a), side(second, &b))
        .map_err(|error| UsageError::new(error.to_string(), hint))?;
    printer::out(&match output {
        CompareOutput::Text => sheet::text::render(&side_by_side::sheet(&result), printer::style()),
        CompareOutput::Json => format!("{}\n", serde_json::to_string_pretty(&result)?),
    });
    let [of_a, of_b] = [first, second].map(proof_of);
    if let (Some(of_a), Some(of_b)) = (of_a, of_b) {
        printer::remark(&format!("their proofs, metric by metric: plumb compare {of_a} {of_b}"));
    }
    Ok(Some(End::Done))
}

/// What a search proposes in its proof, as a run's step; none where there is no proof.
fn proof_of(search: &str) -> Option<String> {
    let place = Path::new(search);
    let place = match place.file_name().is_some_and(|name| name == SEARCH) {
        true => place.parent()?,
        false => place,
    };
    let proof = place.join(PROOF);
    result_dir::has_run(&proof).then(|| format!("{}#{PROPOSED}", proof.display()))
}

/// How the runs of a search are held against something.
fn way_to_compare(search: &str) -> String {
    match proof_of(search) {
        Some(proposed) => {
            let as_it_is = proposed.replace(&format!("#{PROPOSED}"), &format!("#{AS_IS}"));
            format!("its proof has both sides: plumb compare '{as_it_is}' {proposed}")
        }
        None => "it proved nothing, so it has no run whose settings could be held against others".to_owned(),
    }
}

/// Refuses a search of which nothing has been measured.
fn refuse_searches(first: &str, second: &str) -> Result<(), UsageError> {
    match [first, second].into_iter().find(|run| result_dir::runs_of_search(Path::new(run)).is_some()) {
        None => Ok(()),
        Some(search) => {
            let message = format!("{search} is a search that has measured nothing yet");
            Err(UsageError::new(message, format!("go on with it: plumb search --resume {search}")))
        }
    }
}

fn compare_paths(arguments: &CompareArgs) -> Result<End> {
    let [a, b] = [&arguments.first, &arguments.second].map(|words| result_dir::read_path(Path::new(words)));
    let (a, b) = (a?, b?);
    let first = paths::Side { label: &arguments.first, path: &a };
    let second = paths::Side { label: &arguments.second, path: &b };
    let hint = "give the path as it was before, or that of another host";
    let result = paths::compare(first, second).map_err(|error| UsageError::new(error.to_string(), hint))?;
    if let Some(file) = &arguments.html {
        let page = path::page::side_by_side::render(&result)?;
        whole_file::write(file, &page).context("cannot write the page")?;
        printer::remark(&format!("report: {}", file.display()));
    }
    printer::out(&match arguments.output {
        CompareOutput::Text => path::side_by_side::text(&result, printer::style()),
        CompareOutput::Json => format!("{}\n", serde_json::to_string_pretty(&result)?),
    });
    Ok(End::Done)
}

/// A run, or one step of it, as a person names it.
struct Place<'a> {
    /// The run's directory.
    run: &'a str,
    /// Its step by name or number; none: all steps.
    step: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// The parts of `RUN#STEP`; the path of a directory that has the sign in its name is a run.
    fn of(words: &'a str) -> Self {
        match words.split_once('#') {
            Some((run, step)) if !Path::new(words).exists() => Place { run, step: Some(step) },
            _ => Place { run: words, step: None },
        }
    }
}

fn usage(error: &CompareError) -> UsageError {
    let hint = match error {
        CompareError::NoSuchStep { .. } => "name a step as it stands there, or its number: RUN#STEP, RUN#1",
        CompareError::Itself { .. } => {
            "give another run, or two steps of this one: plumb compare RUN#STEP RUN#STEP"
        }
        CompareError::NothingInCommon { .. } => "say which two are meant: plumb compare RUN#STEP RUN#STEP",
    };
    UsageError::new(error.to_string(), hint)
}
