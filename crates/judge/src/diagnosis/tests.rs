//! Promises of the whole: each cause is found first in its own path and not in its rivals', a healthy path has none, no document
//! makes it panic.

mod arbitrary;
pub(in crate::diagnosis) mod build;
mod healthy;
mod limits;
mod pairs;
mod turns;

use super::causes::INJECTIONS;
use super::{REGISTRY, diagnose};
use build::healthy_path;
use plumb_model::diagnosis::{Diagnosis, DiagnosisVerdict};
use plumb_model::finding::Confidence;
use plumb_model::observed::ObservedPath;
use std::collections::BTreeMap;

/// A path that nothing holds back.
pub(crate) fn path_without_cause() -> ObservedPath {
    healthy_path()
}

/// The path that has a cause.
pub(crate) fn path_with_cause(id: &str) -> ObservedPath {
    let (_, inject) = INJECTIONS.iter().find(|(injected, _)| *injected == id).unwrap();
    let mut path = healthy_path();
    inject(&mut path);
    path
}

/// The diagnosis of the path that has a cause.
fn injected(id: &str) -> Diagnosis {
    diagnose(&path_with_cause(id))
}

/// The causes that evidence supports.
fn supported(diagnosis: &Diagnosis) -> Vec<&str> {
    let causes =
        diagnosis.findings.iter().filter(|cause| cause.finding.confidence >= Some(Confidence::Supported));
    causes.map(|cause| cause.finding.id.as_str()).collect()
}

#[test]
fn each_cause_is_supported_and_named_first_in_its_own_path() {
    let mut wrong = Vec::new();
    for (id, _) in INJECTIONS {
        let diagnosis = injected(id);
        let named = supported(&diagnosis);
        if named.first() != Some(&id) || diagnosis.verdict != DiagnosisVerdict::Bound {
            wrong.push(format!(
                "{id}: {named:?}, {:?}",
                diagnosis.findings.iter().map(|f| &f.finding.id).collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_cause_is_not_supported_in_the_path_of_its_rivals_unless_it_is_their_consequence() {
    let mut wrong = Vec::new();
    for cause in &REGISTRY {
        for rival in cause.rivals {
            let diagnosis = injected(rival);
            let named = supported(&diagnosis).contains(&cause.row.id);
            let follows = diagnosis
                .findings
                .iter()
                .any(|found| found.finding.id == cause.row.id && !found.consequence_of.is_empty());
            if named && !follows {
                wrong.push(format!("{} is named in the path of {rival}", cause.row.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_path_with_one_cause_has_no_other_root() {
    let mut wrong = Vec::new();
    for (id, _) in INJECTIONS {
        let diagnosis = injected(id);
        let roots = diagnosis.findings.iter().filter(|cause| {
            cause.finding.confidence >= Some(Confidence::Supported) && cause.consequence_of.is_empty()
        });
        let others: Vec<&str> =
            roots.map(|cause| cause.finding.id.as_str()).filter(|root| *root != id).collect();
        if !others.is_empty() {
            wrong.push(format!("{id}: {others:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ids_of_roots_and_rivals_are_those_of_causes() {
    let ids: Vec<&str> = REGISTRY.iter().map(|cause| cause.row.id).collect();
    for cause in &REGISTRY {
        let named = cause.consequence_of.iter().chain(cause.rivals);
        let unknown: Vec<&&str> = named.filter(|id| !ids.contains(*id) || **id == cause.row.id).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", cause.row.id);
    }
    let injected: Vec<&str> = INJECTIONS.iter().map(|(id, _)| *id).collect();
    assert_eq!(injected, ids);
}

#[test]
fn a_finding_names_the_causes_that_it_was_told_from() {
    let diagnosis = injected("handlers-blocked");
    assert_eq!(diagnosis.findings[0].rivals, ["handlers-saturated", "network-threads-saturated"]);
}

#[test]
fn consequences_have_no_circle() {
    let roots: BTreeMap<&str, &[&str]> =
        REGISTRY.iter().map(|cause| (cause.row.id, cause.consequence_of)).collect();
    let mut free: Vec<&str> = Vec::new();
    while let Some(next) =
        roots.keys().find(|id| !free.contains(*id) && roots[*id].iter().all(|root| free.contains(root)))
    {
        free.push(next);
    }
    let left: Vec<&&str> = roots.keys().filter(|id| !free.contains(*id)).collect();
    assert!(left.is_empty(), "a circle among {left:?}");
}

#[test]
fn every_finding_has_evidence_advice_a_stage_and_a_claim_that_is_a_sentence() {
    for (id, _) in INJECTIONS {
        for cause in injected(id).findings {
            let finding = &cause.finding;
            assert!(!finding.evidence.is_empty() && !finding.advice.is_empty(), "{}", finding.id);
            assert!(
                finding.stage.is_some() && finding.claim.ends_with('.'),
                "{}: {}",
                finding.id,
                finding.claim
            );
            assert!(cause.share_of_gap.is_none_or(|share| (0.0..=1.0).contains(&share)), "{}", finding.id);
        }
    }
}
