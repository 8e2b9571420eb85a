//! Workers on one host.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "workers-share-host",
        summary: "Workers run on one host, and share its processors.",
        page: include_str!("../../../../docs/findings/workers-share-host.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "their kernels name the same boot",
        stage: Some(PathStage::Host),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let workers = &case.document.environment.workers;
    let sharing = workers.iter().filter_map(|worker| Some((worker, worker.same_host_as.as_ref()?)));
    let pairs: Vec<String> = sharing.map(|(worker, other)| format!("{} with {other}", worker.name)).collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let claim = "Workers share a host and its processors: together they send no more than one could, and each may hold the other up";
    vec![about_run(RULE.row.id, Severity::Note, claim).seen("on one host", pairs.join(", ")).advise(
        "Run each worker on a host of its own; one worker uses all processors of its host by itself.",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, one, with_workers};

    #[test]
    fn workers_of_one_boot_are_noted_and_those_of_two_are_not() {
        let mut document = with_workers();
        assert_eq!(found(&document, RULE.row.id), []);
        document.environment.workers[1].same_host_as = Some("one".to_owned());
        let finding = one(&document, RULE.row.id);
        assert_eq!((finding.severity, finding.evidence[0].value.as_str()), (Severity::Note, "two with one"));
    }
}
