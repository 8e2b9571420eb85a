//! What a cause is before it is found, and the claim that finds it. The causes are under `causes/`.

use super::case::Case;
use super::measure::known;
use crate::row::Row;
use plumb_model::diagnosis::Cause;
use plumb_model::finding::{Confidence, Evidence, Finding, Severity};
use plumb_model::prose::sentence;

/// A cause that Plumb can name.
#[derive(Debug)]
pub(crate) struct CauseRow {
    /// What help, pages and lists say of it, and what its findings have in common.
    pub(crate) row: Row,
    /// Causes that bring it about: where one of them is found as well, this one is its consequence and is named after it.
    pub(super) consequence_of: &'static [&'static str],
    /// Causes with the same symptom, which the predicate tells it from.
    pub(super) rivals: &'static [&'static str],
    /// The next steps, one sentence each, the first first.
    pub(super) advice: &'static [&'static str],
    /// Looks for it; none where its observations are missing or speak against it.
    pub(super) check: fn(&Case) -> Option<Claim>,
}

/// A cause that was found.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// How sure it is.
    pub(super) confidence: Confidence,
    /// The part of the time that clients wait which it explains, 0 to 1; absent where it has no such measure.
    pub(super) share: Option<f64>,
    claim: String,
    evidence: Vec<Evidence>,
}

impl Claim {
    /// A claim: supported where the evidence that tells it from its rivals is there, else suspected.
    pub(super) fn new(supported: bool, share: Option<f64>, claim: impl Into<String>) -> Claim {
        Claim {
            confidence: if supported { Confidence::Supported } else { Confidence::Suspected },
            share: known(share).map(|share| share.min(1.0)),
            claim: sentence(&claim.into()),
            evidence: Vec::new(),
        }
    }

    /// Adds a figure, if it is known, with what it was held against.
    pub(super) fn seen(
        self,
        what: impl Into<String>,
        figure: Option<f64>,
        written: fn(f64) -> String,
        expected: &str,
    ) -> Claim {
        match known(figure) {
            Some(figure) => self.told(what, written(figure), expected),
            None => self,
        }
    }

    /// Adds an observation that is no figure, with what it was held against (empty: nothing).
    pub(super) fn told(mut self, what: impl Into<String>, value: impl Into<String>, expected: &str) -> Claim {
        let expected = (!expected.is_empty()).then(|| expected.to_owned());
        self.evidence.push(Evidence { what: what.into(), value: value.into(), expected });
        self
    }

    /// The finding, with the causes that brought it about.
    pub(super) fn complete(self, cause: &CauseRow, consequence_of: Vec<String>) -> Cause {
        let mut finding = cause.row.finding(Severity::Note, self.claim);
        finding.evidence = self.evidence;
        finding.advice = cause.advice.iter().map(|advice| (*advice).to_owned()).collect();
        Cause {
            fix: finding.advice.first().cloned(),
            finding: Finding { confidence: Some(self.confidence), ..finding },
            share_of_gap: self.share,
            consequence_of,
            rivals: cause.rivals.iter().map(|rival| (*rival).to_owned()).collect(),
            confirmation: None,
        }
    }
}
