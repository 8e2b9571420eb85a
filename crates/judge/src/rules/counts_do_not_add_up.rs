//! Messages that are not accounted for, by the client's counts, the histograms and the broker's offsets.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::{AfterWarmUp, StepResult};
use plumb_model::figure::{self, counted};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::observation::{Accounting, Distribution};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "counts-do-not-add-up",
        summary: "Messages sent, acknowledged, received, recorded and stored do not agree.",
        page: include_str!("../../../../docs/findings/counts-do-not-add-up.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "the counts are those of the program and of the brokers' offsets",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Step(disagreement),
};

fn disagreement(setup: &Setup) -> Option<Finding> {
    let result = setup.result;
    let mut finding = about_step(RULE.row.id, Severity::Invalid, setup.name(), claim(setup));
    for sum in wrong_sums(setup) {
        finding = finding.seen_against(sum.what, figure::count(sum.got), figure::count(sum.expected));
    }
    let accounting = &result.accounting;
    if logs_disagree(setup) {
        finding = seen_in_the_logs(finding, accounting);
    }
    if setup.reads_as_it_is() && accounting.agrees == Some(false) {
        let length = accounting.offset_delta.map_or("not known".to_owned(), figure::count);
        finding = finding
            .seen_against("records received, against the length of the log", figure::count(result.counts.received), length)
            .seen("offsets without a record for consumers", accounting.gaps.map_or("not known".to_owned(), figure::count))
            .advise("A part of the log was not read, or was read twice: give the step a longer drain, and look at the consumers' errors.");
    }
    if accounting.corrupt > 0 {
        finding = finding.seen_against("damaged records", figure::count(accounting.corrupt), "0");
    }
    let finding = finding
        .advise("Look at errors and retries of this step; if there are none, this is a fault of the instrument: report it.");
    (!finding.evidence.is_empty()).then_some(finding)
}

/// The fault, and the figures that it leaves. Where every sum of the program's own holds and the logs have nothing that should
/// not be there, the number of messages that the logs miss is exact: each acknowledgement named its record's offset.
fn claim(setup: &Setup) -> String {
    let accounting = &setup.result.accounting;
    let too_many = accounting.surplus.is_none_or(|surplus| surplus > explained(accounting));
    let by_offsets =
        logs_disagree(setup) && !too_many && accounting.corrupt == 0 && wrong_sums(setup).is_empty();
    match accounting.missing.filter(|missing| *missing > 0 && by_offsets) {
        Some(missing) => format!(
            "{} acknowledged and not in the logs; that count is exact, by the offsets that were acknowledged, and so are the others of this \
             step; its rates and latencies are not to be used, as they are of messages that are gone too",
            counted(missing, "message")
        ),
        None => "Messages are missing from the counts or appear in them twice: no figure of this step can be trusted".to_owned(),
    }
}

/// A sum of the program's own, which holds in every run.
struct Sum {
    what: &'static str,
    got: u64,
    expected: u64,
}

/// The sums that are wrong. As fast as possible there is no latency to record.
fn wrong_sums(setup: &Setup) -> Vec<Sum> {
    let kept = if setup.saturates() { 1 } else { usize::MAX };
    sums(setup.result).into_iter().take(kept).filter(|sum| sum.got != sum.expected).collect()
}

/// True if the logs disagree with the acknowledgements in a way that no other rule tells. Where nobody produces, the log was
/// there before.
fn logs_disagree(setup: &Setup) -> bool {
    let disagrees = setup.produces() && setup.result.accounting.agrees == Some(false);
    disagrees && !explained_by_loss(setup) && !explained_by_duplicates(setup)
}

/// With acks=0 an acknowledgement is no promise: less in the log than "acknowledged" is loss, which has its own rule.
fn explained_by_loss(setup: &Setup) -> bool {
    let accounting = &setup.result.accounting;
    let most = accounting.acked.saturating_add(accounting.unknown);
    let stored = accounting.offset_delta.map(|delta| delta.saturating_sub(accounting.foreign));
    let explained = explained(accounting);
    let too_many = accounting.surplus.is_some_and(|surplus| surplus > explained);
    setup.unconfirmed() && !too_many && stored.is_some_and(|stored| stored <= most)
}

/// More in the logs than was acknowledged, and the consumers got as much more than once: each record is accounted for, and that
/// there are duplicates has its own rule.
fn explained_by_duplicates(setup: &Setup) -> bool {
    let accounting = &setup.result.accounting;
    let received_again = setup.result.counts.duplicated.saturating_add(accounting.duplicated_in_warm_up);
    let known = explained(accounting).saturating_add(received_again);
    accounting.missing == Some(0) && accounting.surplus.is_some_and(|surplus| surplus <= known)
}

/// Offsets that may be in the logs beyond the acknowledged ones: records of others, records of unknown outcome, and offsets at
/// which there is no record for consumers.
fn explained(accounting: &Accounting) -> u64 {
    let parts = [accounting.foreign, accounting.unknown, accounting.gaps.unwrap_or(0)];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Adds the disagreements between the logs and the acknowledgements.
fn seen_in_the_logs(mut finding: Finding, accounting: &Accounting) -> Finding {
    let most =
        accounting.acked.saturating_add(accounting.unknown).saturating_add(accounting.gaps.unwrap_or(0));
    let ours = accounting.offset_delta.map(|delta| delta.saturating_sub(accounting.foreign));
    let explained = explained(accounting);
    let missing = accounting.missing.filter(|missing| *missing > 0);
    if let Some(missing) = missing {
        finding = finding.seen_against(
            "acknowledged, and not in the log of their partition",
            figure::count(missing),
            "0",
        );
    }
    let surplus = accounting.surplus.filter(|surplus| *surplus > explained);
    if let Some(surplus) = surplus {
        let expected = if explained == 0 { "0".to_owned() } else { format!("0 to {explained}") };
        finding = finding.seen_against(
            "in the logs, and acknowledged to none of our producers",
            figure::count(surplus),
            expected,
        );
    }
    let neither = missing.is_none() && surplus.is_none();
    if neither || !ours.is_some_and(|ours| (accounting.acked..=most).contains(&ours)) {
        let stored = accounting.offset_delta.map_or("not known".to_owned(), |delta| {
            format!("{delta} stored, {} of them by others", accounting.foreign)
        });
        let expected = format!("{} to {most}", accounting.acked);
        finding = finding.seen_against("records stored by the broker", stored, expected);
    }
    finding
}

fn sums(result: &StepResult) -> [Sum; 3] {
    let counts = &result.counts;
    let recorded = |distribution: &Distribution, cut: fn(&AfterWarmUp) -> u64| {
        let cut = result.blocks.iter().filter_map(|block| block.after_warm_up.as_ref()).map(cut);
        let beside = [distribution.negative, distribution.overflow].into_iter().chain(cut);
        beside.fold(distribution.samples, u64::saturating_add)
    };
    [
        Sum {
            what: "acked + failed + unknown, against sent",
            got: counts.acked.saturating_add(counts.failed).saturating_add(counts.unknown),
            expected: counts.sent,
        },
        Sum {
            what: "acknowledge latencies, against acked",
            got: recorded(&result.latency.acknowledge, |after| after.cut_acknowledge),
            expected: counts.acked,
        },
        Sum {
            what: "end-to-end latencies, against received",
            got: recorded(&result.latency.end_to_end, |after| after.cut_end_to_end),
            expected: counts.received,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_message_that_is_nowhere_is_found() {
        let finding =
            assert_found(RULE.row.id, Severity::Invalid, |document| document.steps[0].counts.sent += 1);
        assert_eq!(finding.evidence[0].value, "10,000");
        assert_eq!(finding.evidence[0].expected.as_deref(), Some("10,001"));
    }

    #[test]
    fn a_sample_that_no_histogram_holds_is_found() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.end_to_end.samples -= 1
        });
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.acknowledge.samples -= 1
        });
    }

    #[test]
    fn records_that_are_twice_in_the_logs_and_were_received_twice_in_the_warm_up_add_up() {
        let mut document = crate::healthy::healthy();
        let step = &mut document.steps[0];
        step.counts.duplicated = 23;
        step.accounting.agrees = Some(false);
        (step.accounting.missing, step.accounting.surplus) = (Some(0), Some(30));
        step.accounting.duplicated_in_warm_up = 7;
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
        document.steps[0].accounting.duplicated_in_warm_up = 6;
        assert_eq!(crate::healthy::found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn samples_below_zero_and_above_the_range_are_counted_as_recorded() {
        let mut document = crate::healthy::healthy();
        let latency = &mut document.steps[0].latency.end_to_end;
        (latency.samples, latency.negative, latency.overflow) = (latency.samples - 2, 1, 1);
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
    }

    #[test]
    fn samples_that_were_cut_as_warm_up_of_a_block_are_counted_as_recorded() {
        let mut document = crate::healthy::healthy();
        let step = &mut document.steps[0];
        step.latency.end_to_end.samples -= 3;
        step.latency.acknowledge.samples -= 2;
        step.blocks[0].after_warm_up =
            Some(AfterWarmUp { cut_end_to_end: 3, cut_acknowledge: 2, ..AfterWarmUp::default() });
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
        document.steps[0].latency.end_to_end.samples -= 1;
        assert_eq!(crate::healthy::found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn what_the_broker_says_and_damaged_records_count() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].accounting.agrees = Some(false)
        });
        assert_found(RULE.row.id, Severity::Invalid, |document| document.steps[0].accounting.corrupt = 1);
    }

    #[test]
    fn what_is_missing_in_one_log_and_too_much_in_another_is_told_though_the_sum_is_right() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            let accounting = &mut document.steps[0].accounting;
            (accounting.agrees, accounting.missing, accounting.surplus) = (Some(false), Some(30), Some(30));
        });
        let told: Vec<_> =
            finding.evidence.iter().map(|one| (one.what.as_str(), one.value.as_str())).collect();
        assert_eq!(
            told,
            [
                ("acknowledged, and not in the log of their partition", "30"),
                ("in the logs, and acknowledged to none of our producers", "30"),
            ]
        );
    }

    #[test]
    fn loss_that_offsets_prove_is_an_exact_count_and_a_wrong_sum_besides_takes_that_back() {
        let lost = |document: &mut plumb_model::document::RunDocument| {
            let accounting = &mut document.steps[0].accounting;
            (accounting.agrees, accounting.missing, accounting.surplus) = (Some(false), Some(30), Some(0));
        };
        let finding = assert_found(RULE.row.id, Severity::Invalid, lost);
        assert!(
            finding.claim.starts_with("30 messages acknowledged and not in the logs; that count is exact"),
            "{}",
            finding.claim
        );
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            lost(document);
            document.steps[0].counts.sent += 1;
        });
        assert!(finding.claim.contains("no figure of this step can be trusted"), "{}", finding.claim);
    }

    #[test]
    fn what_is_in_the_log_twice_and_was_received_twice_adds_up() {
        let mut document = crate::healthy::healthy();
        let step = &mut document.steps[0];
        step.counts.duplicated = 5;
        (step.accounting.agrees, step.accounting.missing, step.accounting.surplus) =
            (Some(false), Some(0), Some(5));
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
        document.steps[0].accounting.surplus = Some(6);
        assert_eq!(crate::healthy::found(&document, RULE.row.id).len(), 1, "one more than was received");
        (document.steps[0].accounting.missing, document.steps[0].accounting.surplus) = (Some(1), Some(5));
        assert_eq!(crate::healthy::found(&document, RULE.row.id).len(), 1, "one is gone besides");
    }

    #[test]
    fn offsets_without_a_record_are_no_records_too_many() {
        let mut document = crate::healthy::healthy();
        let accounting = &mut document.steps[0].accounting;
        (accounting.agrees, accounting.missing) = (Some(false), Some(0));
        (accounting.surplus, accounting.gaps) = (Some(3), Some(3));
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
        document.steps[0].accounting.surplus = Some(4);
        let found = crate::healthy::found(&document, RULE.row.id);
        assert_eq!(found[0].evidence[0].expected.as_deref(), Some("0 to 3"));
    }

    #[test]
    fn less_in_the_log_than_acks_0_handed_over_is_loss_and_more_is_not() {
        let mut document = crate::healthy::healthy();
        document.steps[0].durability.acks = Some("0".to_owned());
        document.steps[0].accounting.agrees = Some(false);
        document.steps[0].accounting.offset_delta = Some(10_990);
        assert_eq!(crate::healthy::found(&document, RULE.row.id), []);
        document.steps[0].accounting.offset_delta = Some(11_001);
        assert_eq!(crate::healthy::found(&document, RULE.row.id).len(), 1);
    }
}
