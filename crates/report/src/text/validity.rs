//! The verdict with its reasons, and the findings.

use super::Page;
use crate::findings::{explain, without_stop};
use crate::paint::Tone;
use crate::{short_blocks, wording};
use plumb_model::document::RunDocument;
use plumb_model::finding::{Finding, Severity, ValidityVerdict};
use std::collections::BTreeSet;

/// The verdict, prominent, with a line or two for each reason.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let validity = &document.validity;
    let tone = match validity.verdict {
        ValidityVerdict::Valid => Tone::Good,
        ValidityVerdict::Suspect => Tone::Warning,
        ValidityVerdict::Invalid => Tone::Bad,
    };
    page.line("");
    let word = page.paint.tone(&validity.verdict.word().to_uppercase(), tone);
    page.line(&format!("Verdict: {word}  {}", wording::verdict_meaning(validity.verdict)));
    reasons(page, document, &validity.reasons);
    if let Some(note) = short_blocks::note(document) {
        page.prose("  ", &note, Tone::Dim);
    }
}

/// Findings about the system. Nothing is written when there are none.
pub(super) fn write_findings(page: &mut Page, document: &RunDocument) {
    let findings = &document.findings;
    if !findings.is_empty() {
        page.heading("Findings", "");
        reasons(page, document, findings);
        let mut given = BTreeSet::new();
        for advice in
            findings.iter().flat_map(|finding| &finding.advice).filter(|advice| given.insert(*advice))
        {
            page.prose("  -> ", advice, Tone::Plain);
        }
    }
}

fn reasons(page: &mut Page, document: &RunDocument, findings: &[Finding]) {
    for (finding, likewise) in wording::grouped(findings) {
        let lead = format!("  {:<8} ", wording::severity(finding.severity));
        let tone = match finding.severity {
            Severity::Note => Tone::Dim,
            Severity::Suspect | Severity::Invalid => Tone::Plain,
        };
        let short = |step: &str| wording::short_name(document, step);
        let place = finding.step.as_ref().map(|step| format!("{}: ", short(step)));
        let others = match wording::setups(document, &likewise) {
            none if none.is_empty() => none,
            others => format!("; likewise {others}"),
        };
        page.prose(
            &lead,
            &format!(
                "{}{}{others} {}",
                place.unwrap_or_default(),
                without_stop(&finding.claim),
                explain(&finding.id)
            ),
            tone,
        );
    }
}
