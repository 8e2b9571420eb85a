//! A run document in, a judgement out: the validity of its figures, the findings, and the differences between its steps.
//!
//! [`judge`] is a pure function of the document, so any machine can judge any run again. A rule is one file under
//! `rules/` and one row of the [registry](rows); its page under `docs/findings` is part of the program.
//!
//! Not here: measuring, arithmetic on samples (the `stats` crate), and how a finding looks (the `report` crate).

pub mod best;
pub mod capacity;
pub mod compare;
mod comparison;
pub mod condition;
pub mod crypto;
pub mod diagnosis;
mod durability;
pub mod fleet;
pub mod hosts;
mod linger;
mod queue;
mod registry;
mod replication;
mod row;
mod rule;
mod rules;
pub mod search;
mod setup;
pub mod stages;
mod stall;
mod steadiness;
pub mod storage;
mod summary;
mod sweep;
pub mod trial;
mod winner;

#[cfg(test)]
mod healthy;
#[cfg(test)]
mod tests;

pub use registry::{row, rows};
pub use row::{Family, FlipRow, Row, SettingRow};

use rule::{About, Case};

use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, Finding, Severity, Validity, ValidityVerdict};
use plumb_model::outcome::Outcome;
use plumb_model::queue::QueueResult;
use plumb_model::sweep::SweepResult;
use plumb_model::trial::TrialResult;
use plumb_model::winner::Winner;
use std::cmp::Reverse;

/// The judgement of a document; its parts are those of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The outcome in one word.
    pub outcome: Outcome,
    /// The validity of the figures with every reason, the gravest first.
    pub validity: Validity,
    /// Claims about the system, gravest first.
    pub findings: Vec<Finding>,
    /// Steps of equal load held against each other.
    pub comparisons: Vec<Comparison>,
    /// Steps that differ in nothing but their clients, as lines.
    pub sweeps: Vec<SweepResult>,
    /// The course of the producers' queue, of each step that is to show it.
    pub queues: Vec<QueueResult>,
    /// The result of the trial, where the plan is one.
    pub trial: Option<TrialResult>,
    /// Settings that came out ahead of what they were held against.
    pub winners: Vec<Winner>,
    /// The summary, in at most three sentences.
    pub summary: Vec<String>,
}

impl Judgement {
    /// Puts it into the document that it is of, in place of what an earlier one said.
    pub fn put_into(self, document: &mut RunDocument) {
        document.outcome = Some(self.outcome);
        document.validity = self.validity;
        document.findings = self.findings;
        document.comparisons = self.comparisons;
        document.sweeps = self.sweeps;
        document.queues = self.queues;
        document.trial = self.trial;
        document.winners = self.winners;
        document.summary = self.summary;
    }
}

/// Judges a document from its observations and its plan; what an earlier judgement left in it is not looked at.
/// A document may lack any part: a rule without its observations stays silent.
pub fn judge(document: &RunDocument) -> Judgement {
    let sweeps = sweep::sweeps(document);
    // A trial has comparisons of its own, over pairs that its rules chose; two answers to one question would be one too many.
    let comparisons = match document.plan.trial {
        Some(_) => Vec::new(),
        None => comparison::comparisons(document, &sweeps),
    };
    let queues = queue::queues(document);
    let case = Case { document, comparisons: &comparisons, sweeps: &sweeps, queues: &queues };
    let reasons = claims(&case, About::Run);
    let findings = claims(&case, About::System);
    let verdict = match reasons.first().map(|finding| finding.severity) {
        Some(Severity::Invalid) => ValidityVerdict::Invalid,
        Some(Severity::Suspect) => ValidityVerdict::Suspect,
        Some(Severity::Note) | None => ValidityVerdict::Valid,
    };
    let validity = Validity { verdict, reasons };
    let mut trial = trial::result(document, &validity);
    let of_trial =
        trial.as_ref().map(|trial| Outcome::of_verdicts(trial.verdicts.iter().map(|arm| arm.verdict)));
    let outcome = Outcome::of_run(&document.run.state, verdict, of_trial);
    if let Some(trial) = &mut trial {
        trial.outcome = Some(outcome);
    }
    let summary = match &trial {
        Some(trial) => trial.summary.clone(),
        None => summary::summary(&case, &validity, &findings),
    };
    let winners = winner::winners(document, verdict, &comparisons, trial.as_ref());
    Judgement { outcome, validity, findings, comparisons, sweeps, queues, trial, winners, summary }
}

fn claims(case: &Case, about: About) -> Vec<Finding> {
    let rules = rules::REGISTRY.iter().filter(|rule| rule.about == about);
    let found = rules
        .flat_map(|rule| rule.check.findings(case).into_iter().map(|finding| rule.row.complete(finding)));
    let mut findings: Vec<Finding> = found.collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}
