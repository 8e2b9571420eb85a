//! Findings as cards: claim, evidence, advice. Findings of one kind about several setups share a card.

use crate::findings;
use crate::wording;
use plumb_model::document::RunDocument;
use plumb_model::finding::{Evidence, Finding};

/// Findings of one kind and gravity.
pub(super) struct Card {
    pub(super) id: String,
    pub(super) severity: &'static str,
    /// `#6 name` of the setup that the first of them is about.
    pub(super) place: Option<String>,
    pub(super) claim: String,
    /// The observations of the first of them.
    pub(super) evidence: EvidenceTable,
    /// The other setups, with what was found there.
    pub(super) likewise: Vec<Likewise>,
    /// `#2, #4`; empty when there are none.
    pub(super) likewise_setups: String,
    pub(super) advice: Vec<String>,
    /// The confidence of the first of them; empty where its document does not say.
    pub(super) confidence: &'static str,
    /// The change that would prove it.
    pub(super) proof: Option<String>,
}

/// The same finding about another setup.
pub(super) struct Likewise {
    pub(super) place: String,
    pub(super) claim: String,
    pub(super) evidence: EvidenceTable,
}

/// Observations, each with its value and the expected one.
pub(super) struct EvidenceTable {
    /// The finding that it is the evidence of, not twice on a page: screen readers list the regions of a page by their names.
    pub(super) name: String,
    pub(super) rows: Vec<(String, String, String)>,
}

/// A line of the verdict: a card in short.
pub(super) struct Reason {
    pub(super) severity: &'static str,
    pub(super) place: Option<String>,
    pub(super) claim: String,
    /// `#2, #4`; empty when there are none.
    pub(super) likewise: String,
    /// Position of its card, from 1.
    pub(super) card: usize,
}

/// The lines of the verdict, one for each of the cards.
pub(super) fn reasons(document: &RunDocument) -> Vec<Reason> {
    let groups = wording::grouped(&document.validity.reasons);
    let reason = |(index, (first, likewise)): (usize, &(&Finding, Vec<&Finding>))| Reason {
        severity: wording::severity(first.severity),
        place: first.step.as_ref().map(|step| wording::short_name(document, step)),
        claim: findings::without_stop(&first.claim).to_owned(),
        likewise: wording::setups(document, likewise),
        card: index + 1,
    };
    groups.iter().enumerate().map(reason).collect()
}

/// The cards, in the order of the findings.
pub(super) fn view(document: &RunDocument, shown: &[Finding]) -> Vec<Card> {
    wording::grouped(shown).into_iter().map(|(first, likewise)| card(document, first, &likewise)).collect()
}

fn card(document: &RunDocument, first: &Finding, likewise: &[&Finding]) -> Card {
    let place = first.step.as_ref().map(|step| long_name(document, step));
    let others = likewise.iter().map(|finding| Likewise {
        place: finding.step.as_ref().map(|step| long_name(document, step)).unwrap_or_default(),
        claim: finding.claim.clone(),
        evidence: evidence(document, finding),
    });
    let mut advice: Vec<String> = Vec::new();
    for line in std::iter::once(&first).chain(likewise).flat_map(|finding| &finding.advice) {
        if !advice.contains(line) {
            advice.push(line.clone());
        }
    }
    Card {
        id: first.id.clone(),
        severity: wording::severity(first.severity),
        place,
        claim: first.claim.clone(),
        evidence: evidence(document, first),
        likewise: others.collect(),
        likewise_setups: wording::setups(document, likewise),
        advice,
        confidence: first.confidence.map_or("", findings::confidence),
        proof: first.flip.as_ref().map(findings::proof),
    }
}

fn evidence(document: &RunDocument, finding: &Finding) -> EvidenceTable {
    let place = finding.step.as_ref().map(|step| format!(", {}", wording::short_name(document, step)));
    let row = |e: &Evidence| (e.what.clone(), e.value.clone(), e.expected.clone().unwrap_or_default());
    EvidenceTable {
        name: format!("Evidence of {}{}", finding.id, place.unwrap_or_default()),
        rows: finding.evidence.iter().map(row).collect(),
    }
}

/// `#6 name`, or the name where the document has no such step.
fn long_name(document: &RunDocument, step: &str) -> String {
    match wording::setup_number(document, step) {
        Some(number) => format!("#{number} {step}"),
        None => step.to_owned(),
    }
}
