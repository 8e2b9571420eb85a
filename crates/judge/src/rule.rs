//! A rule: one row of the registry, and the function that makes its findings.

use crate::row::Row;
use crate::setup::Setup;
use crate::sweep::MARGIN;
use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, Evidence, Finding, Severity};
use plumb_model::prose::sentence;
use plumb_model::queue::QueueResult;
use plumb_model::sweep::SweepResult;

/// With this share of messages without a latency (failed, lost or unread), a p99 can be that of another distribution (1 - 0.99).
pub(crate) const SHARE_THAT_HIDES_P99: f64 = 0.01;

/// A rule of judgement about a run.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The text of help, pages and lists, and the properties that all its findings share.
    pub(crate) row: Row,
    /// The subject of its findings.
    pub(crate) about: About,
    /// Finds what there is to find; silent where observations are missing.
    pub(crate) check: Check,
}

/// The function of a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// It looks at each step by itself.
    Step(fn(&Setup) -> Option<Finding>),
    /// It looks at the whole run.
    Run(fn(&Case) -> Vec<Finding>),
}

impl Check {
    /// The findings about a run.
    pub(crate) fn findings(self, case: &Case) -> Vec<Finding> {
        match self {
            Check::Step(finding) => case.setups().filter_map(|setup| finding(&setup)).collect(),
            Check::Run(check) => check(case),
        }
    }
}

/// The subject of a rule's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The run itself: they are the reasons of its validity.
    Run,
    /// The system under test.
    System,
}

/// The input of a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The document.
    pub(crate) document: &'a RunDocument,
    /// Its steps held against each other.
    pub(crate) comparisons: &'a [Comparison],
    /// Its steps as lines over the number of clients.
    pub(crate) sweeps: &'a [SweepResult],
    /// The course of the producers' queue, of each step that is to show it.
    pub(crate) queues: &'a [QueueResult],
}

impl<'a> Case<'a> {
    /// The steps in which anything was sent, each with its plan.
    pub(crate) fn setups(&self) -> impl Iterator<Item = Setup<'a>> + use<'a> {
        Setup::all(self.document)
    }

    /// Comparisons of steps that differ in nothing but their names.
    pub(crate) fn identical_pairs(&self) -> impl Iterator<Item = &'a Comparison> + use<'a> {
        let setups: Vec<Setup> = self.setups().collect();
        self.comparisons.iter().filter(move |comparison| {
            let find = |name: &str| setups.iter().find(|setup| setup.name() == name);
            find(&comparison.a).zip(find(&comparison.b)).is_some_and(|(a, b)| a.same_settings(b))
        })
    }

    /// True if a step is a point of a line of which a point with more clients reached more: the limit at its number of clients is
    /// then what the line shows.
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
