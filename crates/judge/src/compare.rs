//! Two runs, each measured for itself, side by side.
//!
//! The statement about a metric rests on the spread of blocks within each run. Whatever drifted between the runs (another load on
//! the host, another start of the brokers, another day) is in the difference and in no interval. So nothing here is better or
//! worse: at most the runs differ by more than blocks within a run do. A trial (`trial`) pairs blocks.

mod arms;
pub mod paths;
pub mod searches;
mod steps;

use plumb_model::compare::{
    COMPARE_SCHEMA_VERSION, CompareResult, CompareSays, ComparedMetric, ComparedRun, ComparedSteps,
};
use plumb_model::document::RunDocument;
use plumb_model::finding::{Severity, ValidityVerdict};
use plumb_model::prose::quoted;
use thiserror::Error;

/// Two runs that have nothing to hold side by side.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompareError {
    /// A step that was named is not there.
    #[error("run {run} has no step {got:?}; it has {expected}")]
    NoSuchStep {
        /// The run's id.
        run: String,
        /// The name that was asked for.
        got: String,
        /// The steps that the run has.
        expected: String,
    },
    /// No step of one has the name of one of the other's.
    #[error("no step of the two runs has the same name: {a} and {b}")]
    NothingInCommon {
        /// Steps of the first.
        a: String,
        /// Of the second.
        b: String,
    },
    /// Both are one run, and of it the same steps.
    #[error("both are run {run} itself, which differs from itself in nothing")]
    Itself {
        /// The run's id.
        run: String,
    },
}

/// One side of a comparison: a run, or one step of it.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The run.
    pub document: &'a RunDocument,
    /// The name of the step, or its number as reports print it (`1` is the first); none: all steps.
    pub step: Option<&'a str>,
}

/// One step of a run.
#[derive(Debug, Clone, Copy)]
struct RunStep<'a> {
    document: &'a RunDocument,
    /// The step's place among the run's steps, from 0.
    index: usize,
}

/// Two steps that are compared.
#[derive(Debug, Clone, Copy)]
struct StepPair<'a> {
    a: RunStep<'a>,
    b: RunStep<'a>,
}

/// Two runs side by side.
///
/// # Errors
/// [`CompareError`] when there are no two steps to hold side by side.
pub fn compare(side_a: Side, side_b: Side) -> Result<CompareResult, CompareError> {
    let (a, b) = (side_a.document, side_b.document);
    let pairs = steps::pairs(side_a, side_b)?;
    if a.run.id == b.run.id && pairs.iter().all(|pair| pair.a.index == pair.b.index) {
        return Err(CompareError::Itself { run: a.run.id.clone() });
    }
    let shown = |of: fn(&StepPair) -> usize, document: &RunDocument| -> Vec<String> {
        pairs.iter().map(|pair| document.steps[of(pair)].name.clone()).collect()
    };
    let (steps_a, steps_b) = (shown(|pair| pair.a.index, a), shown(|pair| pair.b.index, b));
    // Of one run, both sides' steps are its own.
    let both: Vec<String> = steps_a.iter().chain(&steps_b).cloned().collect();
    let (steps_a, steps_b) = if a.run.id == b.run.id { (both.clone(), both) } else { (steps_a, steps_b) };
    let named = side_a.step.is_some() || side_b.step.is_some();
    let alone = if named { Vec::new() } else { steps::alone(a, b) };
    let steps: Vec<ComparedSteps> = pairs.iter().map(|pair| steps::compared(*pair)).collect();
    let differs = |metric: &ComparedMetric| metric.says == CompareSays::DiffersMoreThanBlocks;
    let outcome = match steps.iter().flat_map(|pair| &pair.metrics).any(differs) {
        true => CompareSays::DiffersMoreThanBlocks,
        false => CompareSays::CannotTell,
    };
    Ok(CompareResult {
        schema_version: COMPARE_SCHEMA_VERSION,
        outcome,
        a: run(a, &steps_a),
        b: run(b, &steps_b),
        apart_s: apart_s(&a.run.started_at, &b.run.started_at),
        conditions: conditions(a, b),
        steps,
        alone,
        cannot_show: cannot_show(a, b),
    })
}

/// A run with what speaks against it, as far as it is about the steps that are shown.
fn run(document: &RunDocument, steps: &[String]) -> ComparedRun {
    let told = document.validity.reasons.iter().filter(|reason| {
        reason.severity > Severity::Note && reason.step.as_ref().is_none_or(|step| steps.contains(step))
    });
    ComparedRun {
        run_id: document.run.id.clone(),
        name: document.run.name.clone(),
        started_at: document.run.started_at.clone(),
        plumb_version: document.run.plumb_version.clone(),
        validity: document.validity.verdict,
        reasons: told
            .map(|reason| {
                let place =
                    reason.step.as_ref().map(|step| format!("{}: ", quoted(step))).unwrap_or_default();
                format!("{place}{}", reason.claim)
            })
            .collect(),
    }
}

/// The conditions around the two runs that differ, as `condition: a / b`.
fn conditions(a: &RunDocument, b: &RunDocument) -> Vec<String> {
    let host = |document: &RunDocument| {
        let host = document.environment.host.as_ref();
        let text = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
        [
            text(host.and_then(|host| host.host_digest.value().map(ToString::to_string))),
            text(host.and_then(|host| host.cpu_model.value().map(ToString::to_string))),
            text(host.and_then(|host| host.logical_cpus.value().map(ToString::to_string))),
            text(host.and_then(|host| host.memory_total_bytes.value().map(ToString::to_string))),
            text(host.and_then(|host| host.kernel_release.value().map(ToString::to_string))),
        ]
    };
    let cluster = |document: &RunDocument| {
        let cluster = &document.environment.cluster;
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
        [
            text(&cluster.id),
            cluster.brokers.len().to_string(),
            text(&cluster.version),
            text(&cluster.security_protocol),
            document.environment.client.clone(),
            document.run.plumb_version.clone(),
        ]
    };
    const HOST: [&str; 5] = [
        "host",
        "processor of the host",
        "processors of the host",
        "memory of the host, bytes",
        "kernel of the host",
    ];
    const CLUSTER: [&str; 6] =
        ["cluster", "brokers", "version of the brokers", "security.protocol", "client", "version of Plumb"];
    let named = HOST.into_iter().zip(host(a).into_iter().zip(host(b)));
    let named = named.chain(CLUSTER.into_iter().zip(cluster(a).into_iter().zip(cluster(b))));
    named.filter(|(_, (a, b))| a != b).map(|(what, (a, b))| format!("{what}: {a} / {b}")).collect()
}

fn cannot_show(a: &RunDocument, b: &RunDocument) -> Vec<String> {
    let one = a.run.id == b.run.id;
    let mut all = vec![
        format!(
            "Why they differ: whatever changed between the two {} is in the difference, what you changed on purpose and what changed \
             by itself.",
            if one { "steps" } else { "runs" }
        ),
        "That they are equal: \"cannot tell\" is not \"no change\".".to_owned(),
    ];
    if one && a.plan.trial.is_some() {
        all.push(
            "As much as the trial that they are of: its verdict rests on pairs of blocks (plumb report RUN)."
                .to_owned(),
        );
    } else if one {
        all.push(
            "As much as the run itself: its report pairs blocks that ran next to each other.".to_owned(),
        );
    }
    if [a, b].iter().any(|document| document.validity.verdict != ValidityVerdict::Valid) {
        all.push(
            "Anything that rests on figures of a run that is suspect or invalid: read its reasons first."
                .to_owned(),
        );
    }
    all
}

/// Seconds between two RFC 3339 times in UTC.
fn apart_s(a: &str, b: &str) -> Option<i64> {
    Some(seconds(b)? - seconds(a)?)
}

/// Seconds since 1970 of `2026-11-20T15:04:05Z`; days by the proleptic Gregorian calendar (Hinnant's days_from_civil).
fn seconds(rfc_3339: &str) -> Option<i64> {
    let (day, time) = rfc_3339.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, by: char| -> Option<Vec<i64>> {
        text.split(by).map(|part| part.split('.').next()?.parse().ok()).collect()
    };
    let (day, time) = (numbers(day, '-')?, numbers(time, ':')?);
    let ([year, month, day], [hour, minute, second]) =
        (<[i64; 3]>::try_from(day).ok()?, <[i64; 3]>::try_from(time).ok()?);
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests;
