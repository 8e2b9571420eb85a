//! Findings as cards: claim, evidence, advice.

use crate::wording;
use plumb_model::document::RunDocument;
use plumb_model::finding::Finding;

/// One finding.
pub(super) struct Card {
    pub(super) id: String,
    pub(super) severity: &'static str,
    /// `#6 name` of the setup that it is about.
    pub(super) place: Option<String>,
    pub(super) claim: String,
    /// What was observed, its value, and what was expected.
    pub(super) evidence: Vec<(String, String, String)>,
    pub(super) advice: Vec<String>,
}

/// Findings of one kind, for the verdict: the first of them, and the other setups that it is about.
pub(super) struct Reason {
    pub(super) severity: &'static str,
    pub(super) place: Option<String>,
    pub(super) claim: String,
    /// `#2, #4`; empty when there are none.
    pub(super) likewise: String,
    /// Position of its card, from 1.
    pub(super) card: usize,
}

/// The findings, those of one kind about several setups once.
pub(super) fn grouped(document: &RunDocument, findings: &[Finding]) -> Vec<Reason> {
    let reason = |(finding, likewise): (&Finding, Vec<&str>)| Reason {
        severity: wording::severity(finding.severity),
        place: finding.step.as_ref().map(|step| wording::short_name(document, step)),
        claim: finding.claim.trim_end_matches('.').to_owned(),
        likewise: likewise
            .into_iter()
            .map(|step| wording::short_name(document, step))
            .collect::<Vec<_>>()
            .join(", "),
        card: findings.iter().position(|other| std::ptr::eq(other, finding)).map_or(1, |place| place + 1),
    };
    wording::grouped(findings).into_iter().map(reason).collect()
}

/// The findings in their order.
pub(super) fn view(document: &RunDocument, findings: &[Finding]) -> Vec<Card> {
    findings
        .iter()
        .map(|finding| Card {
            id: finding.id.clone(),
            severity: wording::severity(finding.severity),
            place: finding.step.as_ref().map(|step| match wording::setup_number(document, step) {
                Some(number) => format!("#{number} {step}"),
                None => step.clone(),
            }),
            claim: finding.claim.clone(),
            evidence: finding
                .evidence
                .iter()
                .map(|e| (e.what.clone(), e.value.clone(), e.expected.clone().unwrap_or_default()))
                .collect(),
            advice: finding.advice.clone(),
        })
        .collect()
}
