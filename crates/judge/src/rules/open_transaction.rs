//! Records behind the first record of a transaction that is open: consumers that read committed records alone are not given them.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, SHARE_THAT_HIDES_P99, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, counted, percent};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "open-transaction",
        summary: "An open transaction of another producer holds records back from consumers that read committed ones alone.",
        page: include_str!("../../../../docs/findings/open-transaction.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the last stable offset that the brokers tell stands before the log's end",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "end the open transaction",
            setting: None,
            observe: "records that wait for it",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(held_back),
};

fn held_back(setup: &Setup) -> Option<Finding> {
    let (counts, accounting) = (&setup.result.counts, &setup.result.accounting);
    let held_back = accounting.held_back.filter(|records| *records > 0 && setup.consumes())?;
    // Consumers that read all records, committed or not, are given them.
    let unread = counts.acked.saturating_sub(counts.received).min(held_back);
    if unread == 0 {
        return None;
    }
    let share = unread as f64 / counts.acked as f64;
    let severity = if share >= SHARE_THAT_HIDES_P99 { Severity::Invalid } else { Severity::Suspect };
    let claim = format!(
        "an open transaction of another producer holds {} back from consumers that read committed records alone; nothing of that is \
         lost or slow, but {} of the messages were not to be read within the run, and the end-to-end figures are of the others only",
        counted(held_back, "record"),
        percent(share)
    );
    Some(
        about_step(RULE.row.id, severity, setup.name(), claim)
            .seen_against("high watermark minus last stable offset, at the end", counted(held_back, "record"), "0")
            .seen("counts.received", figure::count(counts.received))
            .advise("Find the producer: kafka-transactions.sh --bootstrap-server HOST find-hanging, or describe-producers for the topic; \
                 the broker ends its transaction after its transaction.timeout.ms.")
            .advise("Measure on a topic without transactions of others, or with consumers that read all records (-X consumer.isolation.level=read_uncommitted)."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn what_an_open_transaction_holds_back_is_told_by_its_share_and_is_not_saturation() {
        let held = |document: &mut plumb_model::document::RunDocument, part: u64| {
            let step = &mut document.steps[0];
            let unread = step.counts.acked / part;
            step.counts.received -= unread;
            step.accounting.held_back = Some(unread + 1);
        };
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| held(document, 4));
        assert!(finding.claim.contains("25 % of the messages"), "{}", finding.claim);
        assert_found(RULE.row.id, Severity::Suspect, |document| held(document, 500));
        let mut document = healthy();
        held(&mut document, 4);
        for row in document.steps[0].series.iter_mut().filter(|row| row.second > 2) {
            row.received = 0;
        }
        assert_eq!(found(&document, "saturated"), []);
        document.steps[0].accounting.held_back = Some(0);
        assert_eq!(found(&document, "saturated").len(), 1, "the same without a transaction");
    }

    #[test]
    fn where_all_was_received_or_nothing_is_held_back_there_is_nothing_to_tell() {
        let mut document = healthy();
        document.steps[0].accounting.held_back = Some(7);
        assert_eq!(found(&document, RULE.row.id), [], "consumers read all records");
        document.steps[0].counts.received -= 100;
        for held_back in [None, Some(0)] {
            document.steps[0].accounting.held_back = held_back;
            assert_eq!(found(&document, RULE.row.id), []);
        }
    }
}
