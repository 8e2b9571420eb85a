//! `plumb trial fleet`: recorded figures of two groups of servers, from words to verdict. `fleet/request.rs` makes the request
//! and the question, `fleet/assign.rs` the groups of a trial to come.

mod assign;
mod request;

use super::super::End;
use crate::args::trial::{FleetArgs, FleetFailWord, FleetOutput, VerdictWord};
use crate::errors::UsageError;
use crate::progress::steps::Steps;
use crate::result_dir::{self, ResultKind, Shown};
use crate::{printer, stop};
use anyhow::Result;
use plumb_fleet::{FleetInputError, FleetProgress, FleetRequest};
use plumb_judge::fleet::FleetError;
use plumb_model::figure::{counted, estimate};
use plumb_model::fleet::{Exclusion, FleetTable};
use plumb_model::verdict::Verdict;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time of reading after which its end is estimated from its progress.
const ESTIMATE_AFTER: Duration = Duration::from_millis(500);

/// Seconds for a server: ten thousand permutations, and the checks (one core of a 2.x GHz server).
const SERVER_S: f64 = 2e-4;

/// Name of the file of groups that were drawn.
const GROUPS: &str = "groups.csv";

/// A table, or the user's end.
enum Read {
    Table(FleetTable),
    Stopped,
}

pub(super) fn fleet(arguments: &FleetArgs) -> Result<End> {
    if let Some(servers) = arguments.assign {
        return assign::assign(arguments, servers);
    }
    let zone = request::zone(arguments)?;
    let question = request::question(arguments, &zone)?;
    let request = request::request(arguments, &zone)?;
    if let Some(directory) = &arguments.out {
        refuse_taken(directory)?;
    }
    let stop = stop::flag()?;
    let Read::Table(table) = read(&request, &stop)? else { return Ok(End::Interrupted) };
    request::strata_are_there(arguments, &table)?;
    let comparing = Steps::begin("comparing the groups", table.servers.len() as f64 * SERVER_S);
    let result = plumb_judge::fleet::result(&table, &question);
    drop(comparing);
    let result = result.map_err(|error| explained(error, arguments, &table.exclusions))?;
    let shown = Shown::fleet(&result)?;
    printer::out(match arguments.output {
        FleetOutput::Text => &shown.text,
        FleetOutput::Json => &shown.json,
    });
    if let Some(directory) = &arguments.out {
        result_dir::write(directory, ResultKind::Fleet, &shown)?;
    }
    Ok(end_of(result.verdict, &arguments.accept, &arguments.fail_on))
}

/// Before anything is read: an hour's work must not end at this.
fn refuse_taken(directory: &Path) -> Result<(), UsageError> {
    result_dir::refuse_taken(directory, &[GROUPS])
}

/// The error with its likely cause. Samples that were left out on the way to it are told; where too few of them filled an
/// interval, the step given is the cause.
fn explained(error: FleetError, arguments: &FleetArgs, exclusions: &[Exclusion]) -> anyhow::Error {
    for Exclusion { what, count, example, done } in exclusions {
        printer::note(&format!("{count} {what}, such as {example}: {done}"));
    }
    let lacking = exclusions.iter().find(|it| it.what == plumb_fleet::TOO_FEW_SAMPLES);
    let (Some(step), Some(lacking), FleetError::OneSided { .. } | FleetError::EmptyGroup { .. }) =
        (arguments.step, lacking, &error)
    else {
        return error.into();
    };
    let message = format!(
        "{error}; with --step {step}, {} {}, such as {}",
        lacking.count, lacking.what, lacking.example
    );
    let hint = "is --step the time between two samples of a server? Without it, the samples' own is taken";
    UsageError::new(message, hint).into()
}

/// Well where nothing of what is to fail is there; where that is not said, where the verdict is one of those to accept.
fn end_of(verdict: Verdict, accept: &[VerdictWord], fail_on: &[FleetFailWord]) -> End {
    let failed = match (fail_on, accept) {
        ([], []) => !matches!(verdict, Verdict::Better | Verdict::Equivalent),
        ([], words) => !words.iter().any(|word| Verdict::from(*word) == verdict),
        (words, _) => words.iter().any(|word| match word {
            FleetFailWord::Worse => verdict == Verdict::Worse,
            FleetFailWord::Undecided => verdict == Verdict::Undecided,
        }),
    };
    if failed { End::Found } else { End::Done }
}

/// Reads the figures, with what is foreseen when it takes longer than a moment.
fn read(request: &FleetRequest, stop: &AtomicBool) -> Result<Read> {
    let began = Instant::now();
    let mut shown: Option<Steps> = None;
    let mut watch = |at: FleetProgress| {
        let elapsed = began.elapsed();
        if shown.is_none() && elapsed >= ESTIMATE_AFTER && at.share > 0.0 {
            shown = Some(Steps::begin("reading", elapsed.as_secs_f64() / at.share));
        }
        if let Some(steps) = &shown {
            let left_s = elapsed.as_secs_f64() * (1.0 / at.share.max(0.001) - 1.0);
            steps.now(&format!(
                "reading: {}, about {} left",
                counted(at.samples, "sample"),
                estimate(left_s)
            ));
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match plumb_fleet::read(request, &mut watch) {
        Ok(table) => Ok(Read::Table(table)),
        Err(FleetInputError::Stopped) => {
            drop(shown);
            printer::note("stopped before everything was read; nothing is compared");
            Ok(Read::Stopped)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_what_is_named_or_else_what_is_not_accepted() {
        use Verdict::{Better, Equivalent, Undecided, Worse};
        let ends = |accept: &[VerdictWord], fail_on: &[FleetFailWord]| {
            [Better, Equivalent, Undecided, Worse]
                .map(|verdict| end_of(verdict, accept, fail_on) == End::Found)
        };
        assert_eq!(ends(&[], &[]), [false, false, true, true]);
        assert_eq!(ends(&[VerdictWord::Better], &[]), [false, true, true, true]);
        assert_eq!(ends(&[], &[FleetFailWord::Worse]), [false, false, false, true]);
        assert_eq!(ends(&[], &[FleetFailWord::Undecided]), [false, false, true, false]);
        assert_eq!(ends(&[], &[FleetFailWord::Worse, FleetFailWord::Undecided]), [false, false, true, true]);
    }
}
