//! Two watched paths side by side, from their documents alone: figures, settings, findings.
//!
//! One window has no spread between blocks, so a difference has no interval: nothing here says better or worse, or that a difference is
//! more than chance. Figures that are far apart are told first, and no more is claimed of them.

mod figures;
mod settings;

#[cfg(test)]
mod tests;

use super::apart_s;
use crate::diagnosis::diagnose;
use plumb_model::compare::paths::{
    ComparedPath, PATH_COMPARE_SCHEMA_VERSION, PathCompareKind, PathCompareResult, PathFigure, PathFinding,
    PathPart,
};
use plumb_model::diagnosis::{Cause, Diagnosis};
use plumb_model::figure::{ratio, time};
use plumb_model::finding::Confidence;
use plumb_model::observed::ObservedPath;
use thiserror::Error;

/// A path with the name that whoever compares has for it.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Such as its directory.
    pub label: &'a str,
    /// Its document. What an earlier diagnosis left in it is not looked at.
    pub path: &'a ObservedPath,
}

/// Both are one path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{a} and {b} are one watched path, which differs from itself in nothing")]
pub struct SamePath {
    /// The first's name.
    pub a: String,
    /// The second's name.
    pub b: String,
}

/// The two side by side.
///
/// # Errors
/// [`SamePath`] when both are the same window.
pub fn compare(a: Side, b: Side) -> Result<PathCompareResult, SamePath> {
    if is_same(a.path, b.path) {
        return Err(SamePath { a: a.label.to_owned(), b: b.label.to_owned() });
    }
    let judged = [a, b].map(|side| Judged { side, diagnosis: diagnose(side.path) });
    let [first, second] = &judged;
    let figures = figures::figures(first, second);
    let settings = settings::settings(a.path, b.path);
    Ok(PathCompareResult {
        schema_version: PATH_COMPARE_SCHEMA_VERSION,
        kind: PathCompareKind::Paths,
        a: told(first),
        b: told(second),
        apart_s: apart_s(&a.path.started_at, &b.path.started_at),
        conditions: settings::conditions(a.path, b.path),
        cannot_show: cannot_show(first, second, &figures),
        figures,
        settings: settings.differ,
        findings: findings(&first.diagnosis, &second.diagnosis),
        alone: settings.alone,
    })
}

/// A path with what the rules of this version say of it.
struct Judged<'a> {
    side: Side<'a>,
    diagnosis: Diagnosis,
}

/// True if both documents are of one window: the same begin to the second, and the same length to the nanosecond.
fn is_same(a: &ObservedPath, b: &ObservedPath) -> bool {
    let key = |path: &ObservedPath| (path.started_at.clone(), path.elapsed_ns);
    key(a) == key(b) && a.host == b.host
}

fn told(judged: &Judged) -> ComparedPath {
    let path = judged.side.path;
    ComparedPath {
        label: judged.side.label.to_owned(),
        started_at: path.started_at.clone(),
        elapsed_ns: path.elapsed_ns,
        complete: path.complete,
        plumb_version: path.plumb_version.clone(),
        verdict: judged.diagnosis.verdict,
        summary: judged.diagnosis.summary.clone(),
    }
}

/// Findings of either, those of one alone first, and the surest first among them.
fn findings(a: &Diagnosis, b: &Diagnosis) -> Vec<PathFinding> {
    let of = |diagnosis: &Diagnosis, id: &str| -> Option<Confidence> {
        let cause = diagnosis.findings.iter().find(|cause| cause.finding.id == id)?;
        Some(cause.finding.confidence.unwrap_or(Confidence::Suspected))
    };
    let row = |cause: &Cause| PathFinding {
        id: cause.finding.id.clone(),
        a: of(a, &cause.finding.id),
        b: of(b, &cause.finding.id),
        claim: cause.finding.claim.clone(),
    };
    let mut all: Vec<PathFinding> = b.findings.iter().map(row).collect();
    all.extend(a.findings.iter().filter(|cause| of(b, &cause.finding.id).is_none()).map(row));
    all.sort_by_key(|finding| {
        let both = finding.a.is_some() && finding.b.is_some();
        (both, std::cmp::Reverse(finding.a.max(finding.b)))
    });
    all
}

/// Loads that are further apart than this are told before anything else (ours).
const SAME_LOAD: f64 = 1.1;

fn cannot_show(a: &Judged, b: &Judged, figures: &[PathFigure]) -> Vec<String> {
    let mut all = vec![
        "Better or worse: each is one window, which has no spread between blocks and so no interval. Chance, the time of the day and \
         other work on the hosts are in every ratio. A trial pairs blocks and has intervals: plumb trial run."
            .to_owned(),
    ];
    let loads = figures.iter().filter(|figure| figure.part == PathPart::Load);
    for load in loads {
        if let Some(of_load) = load.ratio.filter(|ratio| *ratio > SAME_LOAD || *ratio < 1.0 / SAME_LOAD) {
            all.push(format!(
                "Anything at the same load: {} of the second is {} that of the first, and times and shares grow with it.",
                load.name,
                ratio(of_load)
            ));
        }
    }
    let lengths = [a, b].map(|judged| judged.side.path.elapsed_ns as f64);
    if lengths[0] / lengths[1] > SAME_LOAD || lengths[1] / lengths[0] > SAME_LOAD {
        all.push(format!(
            "Rare events alike: the windows are {} and {} long.",
            time(lengths[0]),
            time(lengths[1])
        ));
    }
    for judged in [a, b].into_iter().filter(|judged| !judged.side.path.complete) {
        all.push(format!("All of {}: it was stopped before its end.", judged.side.label));
    }
    all
}
