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
