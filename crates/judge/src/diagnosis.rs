//! A watched path in, its diagnosis out: where the time goes, what causes it, how near each limit is.
//!
//! [`diagnose`] is a pure function of the document. It works in the order of the questions: `stages` says where a message
//! waits, each file under `causes/` looks for one cause, `bounds` holds what was measured against the limits, and `verdict`
//! puts causes into order and writes the summary. A cause is one file, one row of [`REGISTRY`] and one page under
//! `docs/findings`. Not here: observing (the `observe` crate), and confirming a cause by changing something (a trial).

mod bounds;
mod case;
mod cause;
mod causes;
mod client;
mod measure;
mod processors;
mod stages;
mod threads;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use causes::REGISTRY;

use case::Case;
use plumb_model::diagnosis::{Cause, Confirmation, ConfirmationOutcome, Diagnosis, DiagnosisVerdict};
use plumb_model::finding::Confidence;
use plumb_model::observed::ObservedPath;
use plumb_model::prose::list;
use std::cmp::Reverse;

/// Says what bounds a path, from what was observed of it; what an earlier diagnosis left in it is not looked at. A document may
/// lack any part: a cause whose observations are missing is not claimed, and what to collect is said.
pub fn diagnose(path: &ObservedPath) -> Diagnosis {
    let case = Case::of(path);
    let claims = REGISTRY.iter().filter_map(|cause| Some((cause, (cause.check)(&case)?)));
    let findings = verdict::ranked(claims.collect());
    let bounds = bounds::bounds(&case);
    let verdict = verdict::verdict(&case, &findings, &bounds);
    let collect = verdict::collect(&case, verdict);
    let summary = verdict::summary(&case, verdict, &findings, &bounds, &collect);
    Diagnosis { summary, verdict, stages: case.stages.times(), findings, bounds, collect }
}

/// Takes over what flips have shown in an earlier diagnosis of the same path.
pub fn keep_confirmations(diagnosis: &mut Diagnosis, earlier: Option<&Diagnosis>) {
    for cause in &mut diagnosis.findings {
        let before = earlier.iter().flat_map(|earlier| &earlier.findings);
        let shown = before.filter(|before| before.finding.id == cause.finding.id);
        if let Some(confirmation) = shown.filter_map(|before| before.confirmation.clone()).next() {
            confirmed(cause, confirmation);
        }
    }
    conclude(diagnosis);
}

/// What a flip has shown of a cause: it is confirmed, or its sign had another reason. One that decided nothing leaves it as it was.
pub fn confirmed(cause: &mut Cause, confirmation: Confirmation) {
    match confirmation.outcome {
        ConfirmationOutcome::Holds => cause.finding.confidence = Some(Confidence::Confirmed),
        ConfirmationOutcome::DoesNotHold => cause.finding.confidence = Some(Confidence::Suspected),
        ConfirmationOutcome::Undecided => {}
    }
    cause.confirmation = Some(confirmation);
}

/// Order and verdict after flips: what is surer stands first, and a path is bound by what is supported or confirmed.
pub fn conclude(diagnosis: &mut Diagnosis) {
    diagnosis.findings.sort_by_key(|cause| Reverse(cause.finding.confidence));
    let of = |outcome: ConfirmationOutcome| -> Vec<String> {
        let tried = diagnosis.findings.iter().filter(|cause| {
            cause.confirmation.as_ref().is_some_and(|confirmation| confirmation.outcome == outcome)
        });
        tried.map(|cause| format!("`{}`", cause.finding.id)).collect()
    };
    let told = [
        ("Tried and confirmed", of(ConfirmationOutcome::Holds)),
        ("Tried, and it did not hold", of(ConfirmationOutcome::DoesNotHold)),
        ("Tried without a decision", of(ConfirmationOutcome::Undecided)),
    ];
    for (words, ids) in told.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        diagnosis.summary.push_str(&format!(" {words}: {}.", list(&ids)));
    }
    let sure = |cause: &Cause| cause.finding.confidence >= Some(Confidence::Supported);
    match diagnosis.findings.iter().any(sure) {
        true => diagnosis.verdict = DiagnosisVerdict::Bound,
        false if diagnosis.verdict == DiagnosisVerdict::Bound => {
            diagnosis.verdict = DiagnosisVerdict::NotEnoughEvidence;
        }
        false => {}
    }
}
