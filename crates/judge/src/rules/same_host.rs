//! Generator and broker on one machine.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::ClusterPlan;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "same-host",
        summary: "Generator and broker share a machine: no network is in the figures.",
        page: include_str!("../../../../docs/findings/same-host.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "the brokers' processes or addresses are this host's",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "run the load from another machine",
            setting: None,
            observe: "the network's part of the stages",
            expect: Expect::Rises,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let document = case.document;
    let lab = matches!(document.plan.cluster, ClusterPlan::Lab { .. });
    // A search that found no rate has trials and no figures.
    let mut searched = document.steps.iter().filter_map(|step| step.search.as_ref());
    let tried = searched.any(|search| !search.tries.is_empty());
    let nothing_ran = case.setups().next().is_none() && !tried;
    if !document.environment.cluster.on_this_host.unwrap_or(lab) || nothing_ran {
        return Vec::new();
    }
    vec![
        about_run(
            RULE.row.id,
            Severity::Note,
            "Generator and broker share this machine and its CPUs: this is not a network result",
        )
        .seen("brokers", document.environment.cluster.brokers.join(", "))
        .advise("Compare setups within this run; for figures of a network, run against brokers on other machines."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::searched::{search, searched, tried};
    use crate::healthy::{found, healthy, one};
    use plumb_model::observation::Counts;
    use plumb_model::search::{SearchBound, TryOutcome};

    #[test]
    fn a_broker_on_this_host_is_noted_and_one_elsewhere_is_not() {
        let mut document = healthy();
        assert_eq!(one(&document, RULE.row.id).severity, Severity::Note);
        document.environment.cluster.on_this_host = Some(false);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_lab_is_on_this_host_even_if_the_cluster_does_not_tell() {
        let mut document = healthy();
        document.environment.cluster.on_this_host = None;
        assert_eq!(one(&document, RULE.row.id).severity, Severity::Note);
        document.plan.cluster =
            ClusterPlan::Brokers { bootstrap: "a:9092".to_owned(), config: None, metrics: Vec::new() };
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_search_that_found_no_rate_ran_on_this_host_too() {
        let tries = vec![tried(220.0, TryOutcome::Fails)];
        let mut document = searched(search(None, SearchBound::NothingHolds, tries));
        document.steps[0].counts = Counts::default();
        assert_eq!(one(&document, RULE.row.id).severity, Severity::Note);
    }
}
