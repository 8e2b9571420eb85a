//! Clusters of the user's that were reached without TLS.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::plan::ClusterPlan;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "unencrypted",
        summary: "The cluster was reached without TLS: figures of clients that use it are others.",
        page: include_str!("../../../../docs/findings/unencrypted.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "the security protocol is that of the connections",
        stage: Some(PathStage::Network),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let document = case.document;
    let own = matches!(document.plan.cluster, ClusterPlan::Brokers { .. });
    let protocol = document.environment.cluster.security_protocol.as_deref().unwrap_or("PLAINTEXT");
    let encrypted = protocol.to_ascii_uppercase().ends_with("SSL");
    if !own || encrypted || case.setups().next().is_none() {
        return Vec::new();
    }
    vec![
        about_run(
            RULE.row.id,
            Severity::Note,
            "Nothing between clients and brokers was encrypted: with TLS both take more CPU for each byte, and latencies are others",
        )
        .seen("security.protocol", protocol)
        .advise("Where production uses TLS, measure with its client properties: --config client.properties."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};
    use plumb_model::document::RunDocument;

    fn reached_by(protocol: Option<&str>) -> RunDocument {
        let mut document = healthy();
        document.plan.cluster =
            ClusterPlan::Brokers { bootstrap: "a:9092".to_owned(), config: None, metrics: Vec::new() };
        document.environment.cluster.security_protocol = protocol.map(str::to_owned);
        document
    }

    #[test]
    fn a_cluster_that_is_reached_in_the_clear_is_noted() {
        for (protocol, said) in [
            (None, "PLAINTEXT"),
            (Some("plaintext"), "plaintext"),
            (Some("SASL_PLAINTEXT"), "SASL_PLAINTEXT"),
        ] {
            assert_eq!(one(&reached_by(protocol), RULE.row.id).evidence[0].value, said);
        }
    }

    #[test]
    fn tls_is_not_said_and_neither_is_a_lab_that_has_what_the_plan_says() {
        for protocol in ["ssl", "SASL_SSL"] {
            assert_eq!(found(&reached_by(Some(protocol)), RULE.row.id), []);
        }
        assert_eq!(found(&healthy(), RULE.row.id), []);
    }
}
