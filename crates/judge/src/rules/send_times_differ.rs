//! A client that is a program of its own wrote another time into records than it reported.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::time;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::observation::Distribution;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "send-times-differ",
        summary: "A producer wrote other send times into its records than it reported.",
        page: include_str!("../../../../docs/findings/send-times-differ.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "both times of the same messages were summed",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Step(differs),
};

/// Both sums are of the same messages, and differ by nothing but their rounding; far below what a service time is read for (ours).
const APART_NS: f64 = 100_000.0;

fn differs(setup: &Setup) -> Option<Finding> {
    if !setup.has_program("producer") {
        return None;
    }
    let latency = &setup.result.latency;
    let written_ns = lateness_ns(&latency.end_to_end, &latency.end_to_end_service)?;
    let reported_ns = lateness_ns(&latency.acknowledge, &latency.acknowledge_service)?;
    let counts = &setup.result.counts;
    // Of other messages the means may differ: late ones are the first that are cut off, or never acknowledged.
    let same =
        [latency.acknowledge.samples, latency.end_to_end.samples, counts.received] == [counts.acked; 3];
    let is_impossible = written_ns < -APART_NS;
    let differs = same && (written_ns - reported_ns).abs() > APART_NS;
    if !is_impossible && !differs {
        return None;
    }
    let claim = "The producer wrote other times of sending into its records than it reported: service times and stages of the \
                 end-to-end latency are not to be used";
    let finding = about_step(RULE.row.id, Severity::Invalid, setup.name(), claim)
        .seen("mean time from due to sent, as it reported", signed(reported_ns))
        .seen_against(
            "the same, as it wrote into the records",
            signed(written_ns),
            "within 100 us where both are of the same messages, and never below zero",
        );
    Some(
        finding
            .advise("`plumb driver check` names the records; the time is read once, written, and reported."),
    )
}

/// Mean time by which messages were sent later than they were due: that of the response less that of the service.
fn lateness_ns(response: &Distribution, service: &Distribution) -> Option<f64> {
    Some(response.mean_ns? - service.mean_ns?)
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("-{}", time(-ns)) } else { time(ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::document::RunDocument;
    use plumb_model::observation::ProgramAccount;

    /// A healthy run of a program whose records say that they were sent so much later than it reported.
    fn apart(ns: f64) -> impl Fn(&mut RunDocument) {
        move |document: &mut RunDocument| {
            let step = &mut document.steps[0];
            step.blocks[0].programs =
                vec![ProgramAccount { role: "producer".to_owned(), ..ProgramAccount::default() }];
            let latency = &mut step.latency;
            let mean = |of: &Distribution| of.mean_ns.unwrap();
            let messages = latency.acknowledge.samples;
            (step.counts.acked, step.counts.received) = (messages, messages);
            let reported = mean(&latency.acknowledge) - mean(&latency.acknowledge_service);
            latency.end_to_end_service.mean_ns = Some(mean(&latency.end_to_end) - reported - ns);
            latency.end_to_end.samples = latency.acknowledge.samples;
        }
    }

    #[test]
    fn stamps_that_are_not_what_was_reported_make_the_run_invalid_in_either_direction() {
        for ns in [50e6, -3e6, 200e3] {
            assert_found(RULE.row.id, Severity::Invalid, apart(ns));
        }
        let mut right = healthy();
        apart(50e3)(&mut right);
        assert_eq!(found(&right, RULE.row.id), []);
    }

    #[test]
    fn where_other_messages_were_received_than_acknowledged_only_what_cannot_be_is_found() {
        let with_one_less = |ns: f64| {
            move |document: &mut RunDocument| {
                apart(ns)(document);
                document.steps[0].latency.end_to_end.samples -= 1;
            }
        };
        let mut document = healthy();
        with_one_less(20e6)(&mut document);
        assert_eq!(found(&document, RULE.row.id), []);
        assert_found(RULE.row.id, Severity::Invalid, with_one_less(-20e6));
    }
}
