//! Causes as cards: how sure, how much of the wait, what was seen, what to do, what would prove it or what trying has shown.

use crate::findings;
use crate::html::scale::{self, LogScale};
use crate::paint::printable;
use crate::path::words;
use plumb_model::diagnosis::{Cause, Confirmation, ConfirmationOutcome, Diagnosis};
use plumb_model::figure::{interval, percent, ratio_digits, time};
use plumb_model::finding::{Confidence, Evidence};

/// One cause.
pub(super) struct Card {
    pub(super) id: String,
    pub(super) is_sure: bool,
    pub(super) confidence: &'static str,
    /// Style class.
    pub(super) tone: &'static str,
    pub(super) place: &'static str,
    /// `40.6 %`; empty where it has no such measure.
    pub(super) share: String,
    /// The same as a width.
    pub(super) share_width: String,
    pub(super) claim: String,
    pub(super) evidence: Vec<EvidenceRow>,
    pub(super) advice: Vec<String>,
    /// The observation that would prove it; none where it was tried.
    pub(super) proof: Option<String>,
    pub(super) tried: Option<Tried>,
    /// Ids of the causes of which it is a consequence.
    pub(super) consequence_of: Vec<String>,
    pub(super) rivals: Vec<Rival>,
}

/// One observation of the evidence.
pub(super) struct EvidenceRow {
    pub(super) what: String,
    pub(super) value: String,
    pub(super) expected: String,
}

/// A cause with the same symptom.
pub(super) struct Rival {
    pub(super) id: String,
    /// The word of this diagnosis for it.
    pub(super) here: &'static str,
}

/// The result of a flip.
pub(super) struct Tried {
    pub(super) tone: &'static str,
    pub(super) outcome: &'static str,
    /// The change, and what became of the metric.
    pub(super) words: String,
    /// The interval of changed over as it is; none where it is none.
    pub(super) strip: Option<Strip>,
}

/// An interval of a ratio, drawn.
pub(super) struct Strip {
    pub(super) low_x: String,
    pub(super) high_x: String,
    pub(super) one_x: String,
    pub(super) words: String,
    pub(super) ticks: Vec<Tick>,
}

/// A mark on an axis.
pub(super) struct Tick {
    pub(super) x: String,
    pub(super) label: String,
}

/// The cards, in the order of the findings.
pub(super) fn view(diagnosis: &Diagnosis) -> Vec<Card> {
    diagnosis.findings.iter().map(|cause| card(diagnosis, cause)).collect()
}

fn card(diagnosis: &Diagnosis, cause: &Cause) -> Card {
    let finding = &cause.finding;
    let row = |seen: &Evidence| EvidenceRow {
        what: printable(&seen.what),
        value: unbroken(&seen.value),
        expected: unbroken(seen.expected.as_deref().unwrap_or_default()),
    };
    let rival = |id: &String| Rival { id: printable(id), here: here(diagnosis, id) };
    let tried = cause.confirmation.as_ref().map(tried);
    Card {
        id: printable(&finding.id),
        is_sure: finding.confidence >= Some(Confidence::Supported),
        confidence: finding.confidence.map_or("suspected", findings::confidence),
        tone: match finding.confidence {
            Some(Confidence::Confirmed) => "invalid",
            Some(Confidence::Supported) => "suspect",
            Some(Confidence::Suspected) | None => "note",
        },
        place: finding.stage.map_or("", words::place),
        share: cause.share_of_gap.map_or_else(String::new, percent),
        share_width: scale::percent(cause.share_of_gap.unwrap_or(0.0).clamp(0.0, 1.0)),
        claim: printable(&finding.claim),
        evidence: finding.evidence.iter().map(row).collect(),
        advice: finding.advice.iter().map(|advice| printable(advice)).collect(),
        proof: finding
            .flip
            .as_ref()
            .filter(|_| tried.is_none())
            .map(|flip| printable(&findings::proof(flip))),
        tried,
        consequence_of: cause.consequence_of.iter().map(|id| printable(id)).collect(),
        rivals: cause.rivals.iter().map(rival).collect(),
    }
}

/// A figure and its percent sign stay on one line.
fn unbroken(figure: &str) -> String {
    printable(figure).replace(" %", "\u{a0}%")
}

/// The word of the diagnosis on another cause. That it was not found does not say that it is not there.
fn here(diagnosis: &Diagnosis, id: &str) -> &'static str {
    let found = diagnosis.findings.iter().find(|other| other.finding.id == id);
    match found.map(|other| other.finding.confidence.unwrap_or(Confidence::Suspected)) {
        None => "not found here",
        Some(Confidence::Suspected) => "suspected here, too",
        Some(Confidence::Supported) => "supported here, too",
        Some(Confidence::Confirmed) => "confirmed here, too",
    }
}

fn tried(confirmation: &Confirmation) -> Tried {
    Tried {
        tone: match confirmation.outcome {
            ConfirmationOutcome::Holds => "invalid",
            ConfirmationOutcome::DoesNotHold => "note",
            ConfirmationOutcome::Undecided => "note",
        },
        outcome: words::outcome(confirmation.outcome),
        words: printable(&format!(
            "with {} {} was {} and not {}",
            confirmation.change,
            confirmation.metric,
            time(confirmation.after_ns),
            time(confirmation.before_ns)
        )),
        strip: strip(confirmation),
    }
}

fn strip(confirmation: &Confirmation) -> Option<Strip> {
    let (low, high) = (confirmation.ratio_low, confirmation.ratio_high);
    if !(low > 0.0 && high.is_finite() && low <= high) {
        return None;
    }
    let scale = LogScale::around([low * 0.9, high * 1.1, 0.5, 2.0].into_iter())?;
    let tick =
        |ratio: f64| Tick { x: scale::percent(scale.share(ratio)), label: plumb_model::figure::plain(ratio) };
    // Few enough for a card's width.
    let ticks = scale.ticks();
    let every = ticks.len().div_ceil(6).max(1);
    Some(Strip {
        low_x: scale::percent(scale.share(low)),
        high_x: scale::percent(scale.share(high)),
        one_x: scale::percent(scale.share(1.0)),
        words: format!("changed over as it is: {}", interval(low, high, ratio_digits)),
        ticks: ticks.into_iter().step_by(every).map(tick).collect(),
    })
}
