//! A run as JUnit XML, for continuous integration: the verdict is a test case, and so is each condition on each setup and the
//! verdict on each arm of a trial.
//!
//! A condition that is met is a failure, one whose figure is absent an error. The dialect is the one that Jenkins, GitLab and
//! GitHub's readers share: `testsuites`, `testsuite`, `testcase` with `failure` or `error`.

use crate::ReportError;
use crate::text::printable;
use askama::Template;
use plumb_model::condition::{Answer, ConditionResult};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::verdict::Verdict;

#[derive(Template)]
#[template(path = "junit.xml", escape = "html")]
struct Suite {
    name: String,
    started_at: String,
    cases: Vec<TestCase>,
    failures: usize,
    errors: usize,
}

struct TestCase {
    class: String,
    name: String,
    outcome: Outcome,
}

/// The end of a test case, with one sentence.
enum Outcome {
    Passed(String),
    Failed(String),
    NotKnown(String),
}

/// The verdict on an arm of a trial, and whether it makes the command fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmCase {
    /// The arm.
    pub arm: String,
    /// The arm that it was held against.
    pub against: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// True if the command fails on that verdict.
    pub fails: bool,
}

/// The whole file.
///
/// # Errors
/// [`ReportError`] when the template fails, which no document should cause.
pub fn render(
    document: &RunDocument,
    conditions: &[ConditionResult],
    arms: &[ArmCase],
) -> Result<String, ReportError> {
    let run = printable(&document.run.name);
    let of_condition = |result: &ConditionResult| TestCase {
        class: format!("{run}.{}", printable(&result.setup)),
        name: printable(&result.condition),
        outcome: outcome(result),
    };
    let mut cases =
        vec![TestCase { class: run.clone(), name: "verdict".to_owned(), outcome: verdict(document) }];
    cases.extend(arms.iter().map(|arm| of_arm(&run, arm)));
    cases.extend(conditions.iter().map(of_condition));
    let of_kind = |kind: fn(&Outcome) -> bool| cases.iter().filter(|case| kind(&case.outcome)).count();
    Ok(Suite {
        failures: of_kind(|outcome| matches!(outcome, Outcome::Failed(_))),
        errors: of_kind(|outcome| matches!(outcome, Outcome::NotKnown(_))),
        name: run,
        started_at: printable(&document.run.started_at),
        cases,
    }
    .render()?)
}

fn of_arm(run: &str, arm: &ArmCase) -> TestCase {
    let sentence = format!("{}, held against {}", arm.verdict.word(), printable(&arm.against));
    TestCase {
        class: format!("{run}.{}", printable(&arm.arm)),
        name: "trial".to_owned(),
        outcome: if arm.fails { Outcome::Failed(sentence) } else { Outcome::Passed(sentence) },
    }
}

fn verdict(document: &RunDocument) -> Outcome {
    let reasons: Vec<String> =
        document.validity.reasons.iter().map(|reason| printable(&reason.claim)).collect();
    let sentence = format!("{}. {}", document.validity.verdict.word(), reasons.join("; "));
    match (&document.run.state, document.validity.verdict) {
        (RunState::Complete, ValidityVerdict::Invalid) => Outcome::Failed(sentence),
        (RunState::Complete, _) => Outcome::Passed(sentence),
        _ => Outcome::NotKnown(format!("the run is not whole; {sentence}")),
    }
}

fn outcome(result: &ConditionResult) -> Outcome {
    let value = result.value.as_deref().unwrap_or("absent");
    match &result.answer {
        Answer::Met => {
            Outcome::Failed(format!("it fails on {}, and {value} was measured", printable(&result.condition)))
        }
        Answer::NotMet => Outcome::Passed(value.to_owned()),
        Answer::NotKnown(reason) => Outcome::NotKnown(format!("not known: {}", printable(reason))),
    }
}
