//! `plumb compare`: two single runs side by side, from their documents alone.

use super::End;
use crate::args::{CompareArgs, CompareOutput};
use crate::errors::UsageError;
use crate::{judged, printer};
use anyhow::Result;
use plumb_judge::compare::{self, CompareError};
use std::path::Path;

pub(super) fn compare(arguments: &CompareArgs) -> Result<End> {
    let (path_a, step_a) = run_and_step(&arguments.first);
    let (path_b, step_b) = run_and_step(&arguments.second);
    let (a, b) = (judged::read(Path::new(path_a))?, judged::read(Path::new(path_b))?);
    let result = compare::compare((&a, step_a), (&b, step_b)).map_err(|error| usage(&error))?;
    printer::out(&match arguments.output {
        CompareOutput::Text => plumb_report::compare_text::render(&result, printer::style()),
        CompareOutput::Json => format!("{}\n", serde_json::to_string_pretty(&result)?),
    });
    Ok(End::Done)
}

/// `RUN#STEP` apart; a directory that has the sign in its name is a run.
fn run_and_step(words: &str) -> (&str, Option<&str>) {
    match words.split_once('#') {
        Some((run, step)) if !Path::new(words).exists() => (run, Some(step)),
        _ => (words, None),
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
