//! What a rule is: one row of the registry, and how it makes findings.

use crate::figure::sentence;
use crate::row::Row;
use crate::setup::Setup;
use crate::sweep::MARGIN;
use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, Evidence, Finding, Severity};
use plumb_model::queue::QueueResult;
use plumb_model::sweep::SweepResult;

/// A rule of judgement about a run.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What help, pages and lists say of it, and what its findings have in common.
    pub(crate) row: Row,
    /// What its findings are about.
    pub(crate) about: About,
    /// Finds what there is to find; silent where observations are missing.
    pub(crate) check: fn(&Case) -> Vec<Finding>,
}

/// What a rule's findings are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The run itself: they are the reasons of its validity.
    Run,
    /// The system under test.
    System,
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The document.
    pub(crate) document: &'a RunDocument,
    /// Its steps held against each other.
    pub(crate) comparisons: &'a [Comparison],
    /// Its steps as lines over the number of clients.
    pub(crate) sweeps: &'a [SweepResult],
    /// Whether the producers' queue grew, of each step that is to show it.
    pub(crate) queues: &'a [QueueResult],
}

impl<'a> Case<'a> {
    /// The steps in which anything was sent, each with its plan.
    pub(crate) fn setups(&self) -> impl Iterator<Item = Setup<'a>> + use<'a> {
        Setup::all(self.document)
    }

    /// Whether a step is a point of a line of which a point with more clients reached more: what held it back at its
    /// number of clients is what the line shows.
    pub(crate) fn is_outrun(&self, step: &str) -> bool {
        self.sweeps.iter().any(|line| {
            let own = line.points.iter().find(|point| point.step == step);
            own.is_some_and(|own| {
                let more = line.points.iter().filter(|point| point.clients > own.clients);
                more.map(|point| point.per_s).fold(0.0, f64::max) * (1.0 - MARGIN) > own.per_s
            })
        })
    }
}

/// A claim about one step, to be completed with evidence and advice.
pub(crate) fn about_step(id: &str, severity: Severity, step: &str, claim: impl Into<String>) -> Finding {
    Finding { step: Some(step.to_owned()), ..about_run(id, severity, claim) }
}

/// A claim about the whole run.
pub(crate) fn about_run(id: &str, severity: Severity, claim: impl Into<String>) -> Finding {
    Finding::new(id, severity, sentence(&claim.into()))
}

/// Completing a finding.
pub(crate) trait Complete {
    /// Adds an observation.
    fn seen(self, what: impl Into<String>, value: impl Into<String>) -> Self;
    /// Adds an observation with what it was held against.
    fn seen_against(
        self,
        what: impl Into<String>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self;
    /// Adds a sentence of advice.
    fn advise(self, advice: impl Into<String>) -> Self;
}

impl Complete for Finding {
    fn seen(mut self, what: impl Into<String>, value: impl Into<String>) -> Self {
        self.evidence.push(Evidence { what: what.into(), value: value.into(), expected: None });
        self
    }

    fn seen_against(
        mut self,
        what: impl Into<String>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence {
            what: what.into(),
            value: value.into(),
            expected: Some(expected.into()),
        });
        self
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}
