//! A broker that went away: it closed its connections, and took no new ones.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::observation::ErrorCount;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "broker-unreachable",
        summary: "A broker closed its connections and took no new ones: the figures are of a path without it.",
        page: include_str!("../../../../docs/findings/broker-unreachable.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "clients report that connections were lost and that new ones were refused; whether the broker or what is between them refused is not known",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "repeat the run while the broker is up",
            setting: None,
            observe: "the connections that are not taken",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(gone),
};

fn gone(setup: &Setup) -> Option<Finding> {
    let refused = refused(setup)?;
    let claim = format!(
        "Broker {} closed its connections and took no new ones: messages waited for another broker, or for it to come back",
        address(refused)
    );
    let finding = about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
        .seen_against("connections that were not taken", figure::count(refused.count), "0")
        .seen("the first of them", refused.message.clone())
        .advise("Look at this broker's log and at its host for why it went away.");
    let finding = finding
        .advise("If it was stopped on purpose, the figures tell how long clients wait for a new leader; run again for figures of the path itself.");
    Some(finding)
}

/// The broker that went away in the run, where one did.
pub(super) fn unreachable<'a>(setup: &Setup<'a>) -> Option<&'a str> {
    refused(setup).map(address)
}

/// Connections that a broker did not take after others to it had been lost. An address that never answered, such as one of several to begin
/// with, costs no message anything.
fn refused<'a>(setup: &Setup<'a>) -> Option<&'a ErrorCount> {
    let errors = &setup.result.errors;
    let statistics = [&setup.result.producer_statistics, &setup.result.consumer_statistics];
    let lost = statistics.iter().any(|statistics| statistics.disconnects > 0)
        || errors.iter().any(|error| ["DISCONNECTED", "_ALL_BROKERS_DOWN"].contains(&error.code.as_str()));
    let not_taken = |error: &&ErrorCount| {
        let refused =
            error.message.contains("Connection refused") || error.message.contains("No route to host");
        error.origin == "client" && refused && !error.message.contains("/bootstrap:")
    };
    errors.iter().find(not_taken).filter(|_| lost)
}

/// `127.0.0.1:9092` of `127.0.0.1:9092/1: Connect to ...`, as librdkafka has it, and of `127.0.0.1:9092: cannot connect`.
fn address(error: &ErrorCount) -> &str {
    let name = error.message.split(": ").next().unwrap_or(&error.message);
    name.split('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    fn error(code: &str, message: &str) -> ErrorCount {
        ErrorCount {
            origin: "client".to_owned(),
            code: code.to_owned(),
            message: message.to_owned(),
            count: 13,
        }
    }

    #[test]
    fn a_broker_that_closed_its_connections_and_takes_none_is_named_whichever_client_tells_it() {
        let librdkafka = [
            error("_ALL_BROKERS_DOWN", "1/1 brokers are down"),
            error(
                "_TRANSPORT",
                "127.0.0.1:39002/1: Connect to ipv4#127.0.0.1:39002 failed: Connection refused (after 0ms)",
            ),
        ];
        let wire = [
            error("CONNECT", "127.0.0.1:39002: cannot connect: Connection refused (os error 111)"),
            error(
                "DISCONNECTED",
                "127.0.0.1:39002: the peer closed the connection while waiting for responses",
            ),
        ];
        for errors in [librdkafka.to_vec(), wire.to_vec()] {
            let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
                document.steps[0].errors = errors.clone()
            });
            assert!(finding.claim.starts_with("Broker 127.0.0.1:39002 closed"), "{}", finding.claim);
        }
    }

    #[test]
    fn an_address_that_never_answered_costs_no_message_anything() {
        let mut document = healthy();
        document.steps[0].errors = vec![error("CONNECT", "127.0.0.1:1: cannot connect: Connection refused")];
        assert_eq!(found(&document, RULE.row.id), []);
        document.steps[0].errors = vec![
            error(
                "_TRANSPORT",
                "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused",
            ),
            error("DISCONNECTED", "127.0.0.1:2: the peer closed the connection"),
        ];
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
