//! Trials that had this host changed while the run measured on it.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "host-changed",
        summary: "A trial had changed settings of this host, or its commands were not undone.",
        page: include_str!("../../../../docs/findings/host-changed.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the journal of the changes is on this host",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "resume the trial that changed it, which undoes the changes",
            setting: None,
            observe: "changes left on this host",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let Some(changed) = &case.document.environment.changed_by_trial else { return Vec::new() };
    let claim = "This host was not as it usually is: a trial had changed it when the run began";
    vec![about_run(RULE.row.id, Severity::Suspect, claim).seen("the trial", changed).advise(
        "Let that trial end, or put right what it left with `plumb trial run --resume DIR`, and run again.",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_run_on_a_host_that_a_killed_trial_left_changed_is_suspect() {
        let left = "a trial that was killed may have left settings changed: runs/one";
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.environment.changed_by_trial = Some(left.to_owned());
        });
        assert!(finding.evidence.iter().any(|seen| seen.value == left), "{:?}", finding.evidence);
    }
}
