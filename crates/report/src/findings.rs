//! A finding in every output that shows one: as a line of text, and the words for how sure it is and what would prove it.
//!
//! Findings of a run that are alike for several setups are put together by [`crate::wording::grouped`]; a page's cards are in
//! `html/cards.rs`.

use plumb_model::finding::{Confidence, Expect, Finding, Flip};

/// Claim, evidence and advice, with where there is more.
pub(crate) fn line(finding: &Finding) -> String {
    let evidence = finding.evidence.iter().map(|seen| match &seen.expected {
        Some(expected) => format!("{}: {} (expected: {expected})", seen.what, seen.value),
        None => format!("{}: {}", seen.what, seen.value),
    });
    let evidence = evidence.collect::<Vec<_>>().join("; ");
    let advice = finding.advice.join(" ");
    let more = explain(&finding.id);
    match (evidence.is_empty(), advice.is_empty()) {
        (true, true) => format!("{} {more}", without_stop(&finding.claim)),
        (true, false) => format!("{} {advice} {more}", finding.claim),
        (false, true) => format!("{} {evidence} {more}", finding.claim),
        (false, false) => format!("{} {evidence}. {advice} {more}", finding.claim),
    }
}

/// The claim alone, after the step that it is about, with where there is more.
pub(crate) fn short(finding: &Finding) -> String {
    let step = finding.step.as_ref().map(|step| format!("\"{step}\": ")).unwrap_or_default();
    format!("{step}{} {}", without_stop(&finding.claim), explain(&finding.id))
}

/// `(plumb explain saturated)`.
pub(crate) fn explain(id: &str) -> String {
    format!("(plumb explain {id})")
}

/// A claim within a sentence.
pub(crate) fn without_stop(claim: &str) -> &str {
    claim.trim_end().trim_end_matches('.')
}

/// The word for how sure a finding is.
pub(crate) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Suspected => "suspected",
        Confidence::Supported => "supported",
        Confidence::Confirmed => "confirmed",
    }
}

/// `To prove it, send without lingering (producer.linger.ms: 0): end_to_end.mean should fall.`
pub(crate) fn proof(flip: &Flip) -> String {
    let setting = flip.setting.as_ref().map(|set| format!(" ({}: {})", set.path, set.value));
    let expected = match flip.expect {
        Expect::Falls => "should fall",
        Expect::Rises => "should rise",
        Expect::Gone => "should be gone",
        Expect::Stays => "should stay as it is",
    };
    format!("To prove it, {}{}: {} {expected}.", flip.change, setting.unwrap_or_default(), flip.observe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::finding::{Evidence, FlipSetting, Severity};

    #[test]
    fn a_line_has_claim_evidence_and_advice_and_says_where_there_is_more() {
        let mut finding = Finding::new("linger-bound", Severity::Note, "The client waits.".to_owned());
        assert_eq!(line(&finding), "The client waits (plumb explain linger-bound)");
        finding.evidence.push(Evidence {
            what: "wait".into(),
            value: "5 ms".into(),
            expected: Some("0".into()),
        });
        assert_eq!(line(&finding), "The client waits. wait: 5 ms (expected: 0) (plumb explain linger-bound)");
        finding.advice.push("Set linger.ms=0.".into());
        assert_eq!(
            line(&finding),
            "The client waits. wait: 5 ms (expected: 0). Set linger.ms=0. (plumb explain linger-bound)"
        );
    }

    #[test]
    fn what_would_prove_a_finding_is_an_order_with_what_should_be_seen() {
        let flip = Flip {
            change: "send without lingering".into(),
            setting: Some(FlipSetting { path: "producer.linger.ms".into(), value: "0".into() }),
            observe: "end_to_end.mean".into(),
            expect: Expect::Falls,
        };
        let said =
            "To prove it, send without lingering (producer.linger.ms: 0): end_to_end.mean should fall.";
        assert_eq!(proof(&flip), said);
    }
}
