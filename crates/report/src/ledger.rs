//! Counts that do not add up: each in a sentence, so that no renderer can leave one out.

use crate::headline;
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::figure::count;
use plumb_model::observation::Counts;

/// The counts of a step that was begun: until then nothing was counted, and its zeros count nothing.
pub(crate) fn counted(step: &StepResult) -> Option<&Counts> {
    let begun = !step.blocks.is_empty() || !step.series.is_empty() || step.counts != Counts::default();
    begun.then_some(&step.counts)
}

/// Everything about a step's messages and its topic that is not as it should be.
pub(crate) fn discrepancies(step: &StepResult) -> Vec<String> {
    own_discrepancies(step).into_iter().chain(of_others(step)).collect()
}

/// The messages of others on the topic, in words: the step's own may all be accounted for beside them.
fn of_others(step: &StepResult) -> Vec<String> {
    let accounting = &step.accounting;
    // A record that came late into the log, after its time-out, was perhaps not there yet when the last consumer read.
    let without_a_record = match accounting.unknown {
        0 => "offsets in the logs without a record for consumers (markers of transactions, records removed)",
        _ => {
            "offsets in the logs at which consumers were given no record (messages of unknown outcome that reached the log late, markers of \
             transactions, records removed)"
        }
    };
    let counted = [
        (accounting.gaps.unwrap_or(0), without_a_record),
        (accounting.foreign, "on the topic that this run did not send"),
    ];
    let seen = counted.into_iter().filter(|(n, _)| *n > 0);
    seen.map(|(n, what)| format!("{} {what}", count(n))).collect()
}

/// The faults in the account of the step's own messages. Empty when intended = sent = acknowledged = received, the broker agrees
/// as far as it could be asked, and every sample found its place in a histogram.
pub(crate) fn own_discrepancies(step: &StepResult) -> Vec<String> {
    let counts = &step.counts;
    let mut out = Vec::new();
    let mut say = |n: u64, what: &str| {
        if n > 0 {
            out.push(format!("{} {what}", count(n)));
        }
    };
    say(counts.intended.saturating_sub(counts.sent), "intended and never sent");
    say(counts.failed, "failed");
    let never_sent = counts.never_sent.unwrap_or(0);
    say(counts.unknown.saturating_sub(never_sent), "sent with unknown outcome");
    say(
        never_sent,
        "taken by a client program, which never sent them: it told nothing of them, and no log has them",
    );
    say(counts.lost, "acknowledged and never received");
    say(counts.removed.unwrap_or(0), "removed from the logs before consumers were given them");
    say(step.accounting.unreplicated.unwrap_or(0), "in the leaders' logs, not yet copied by the followers");
    say(
        step.accounting.missing.unwrap_or(0),
        "acknowledged and not in the log of their partition (warm-up included)",
    );
    if step.accounting.agrees == Some(false) {
        let surplus = step.accounting.surplus.unwrap_or(0);
        say(surplus, "in the logs and acknowledged to none of our producers (warm-up included)");
    }
    say(counts.duplicated, "received more than once");
    say(counts.reordered, "received out of order");
    say(step.accounting.corrupt, "received damaged");
    for (name, latency) in [
        ("end-to-end", &step.latency.end_to_end),
        ("acknowledge", &step.latency.acknowledge),
        ("end-to-end service", &step.latency.end_to_end_service),
        ("acknowledge service", &step.latency.acknowledge_service),
    ] {
        say(latency.negative, &format!("with a negative {name} time, outside the histogram"));
        say(latency.overflow, &format!("with an {name} time above the histogram's range"));
    }
    if step.accounting.agrees == Some(false) {
        out.push(broker_word(step));
    }
    if counts.sent != counts.acked + counts.failed + counts.unknown {
        out.push(format!(
            "{} sent, but {} acknowledged + failed + unknown: the instrument miscounted",
            count(counts.sent),
            count(counts.acked + counts.failed + counts.unknown)
        ));
    }
    out
}

/// The sentence about the messages of steps without [`own_discrepancies`].
pub(crate) fn balance<'s>(
    document: &RunDocument,
    mut steps: impl Iterator<Item = &'s StepResult> + Clone,
) -> &'static str {
    if steps.clone().all(|step| step.counts.sent == 0 && step.counts.received > 0) {
        "received, each once"
    } else if steps.clone().all(|step| headline::consumes(document, step)) {
        "intended = sent = acknowledged = received"
    } else if steps.any(|step| headline::consumes(document, step)) {
        "intended = sent = acknowledged, and = received where there is a consumer"
    } else {
        "intended = sent = acknowledged; nobody receives"
    }
}

/// The count by the broker's offsets, beside our own.
fn broker_word(step: &StepResult) -> String {
    let accounting = &step.accounting;
    match (accounting.agrees, accounting.offset_delta) {
        (Some(true), Some(delta)) => format!("broker's offsets agree: grew by {}", count(delta)),
        (Some(false), Some(delta)) => format!(
            "broker's offsets grew by {}, acknowledged were {} and of unknown outcome {} (warm-up included)",
            count(delta),
            count(accounting.acked),
            count(accounting.unknown)
        ),
        _ => "broker's offsets could not be asked".to_owned(),
    }
}

/// True if the broker's offsets confirm the counts; none when they could not be asked.
pub(crate) fn broker_agrees(step: &StepResult) -> Option<bool> {
    step.accounting.offset_delta.and(step.accounting.agrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::document::BlockResult;
    use plumb_model::observation::Accounting;

    fn step(counts: Counts) -> StepResult {
        StepResult { counts, ..Default::default() }
    }

    #[test]
    fn a_step_that_adds_up_has_nothing_to_say() {
        let all = Counts { intended: 10, sent: 10, acked: 10, received: 10, ..Default::default() };
        assert_eq!(discrepancies(&step(all)), Vec::<String>::new());
    }

    #[test]
    fn nothing_was_counted_before_a_step_was_begun_and_zero_after() {
        assert_eq!(counted(&StepResult::default()), None);
        let begun = StepResult { blocks: vec![BlockResult::default()], ..StepResult::default() };
        assert_eq!(counted(&begun), Some(&Counts::default()));
    }

    #[test]
    fn every_kind_of_disagreement_is_a_sentence() {
        let mut bad = step(Counts {
            intended: 14,
            sent: 13,
            acked: 6,
            failed: 1,
            unknown: 4,
            never_sent: Some(2),
            received: 5,
            lost: 1,
            removed: Some(16),
            duplicated: 3,
            reordered: 4,
        });
        bad.accounting = Accounting {
            offset_delta: Some(20),
            acked: 6,
            unknown: 2,
            foreign: 5,
            corrupt: 7,
            agrees: Some(false),
            missing: Some(1),
            surplus: Some(15),
            gaps: Some(17),
            ..Accounting::default()
        };
        bad.latency.end_to_end.negative = 8;
        bad.latency.acknowledge.overflow = 9;
        assert_eq!(
            discrepancies(&bad),
            [
                "1 intended and never sent",
                "1 failed",
                "2 sent with unknown outcome",
                "2 taken by a client program, which never sent them: it told nothing of them, and no log has them",
                "1 acknowledged and never received",
                "16 removed from the logs before consumers were given them",
                "1 acknowledged and not in the log of their partition (warm-up included)",
                "15 in the logs and acknowledged to none of our producers (warm-up included)",
                "3 received more than once",
                "4 received out of order",
                "7 received damaged",
                "8 with a negative end-to-end time, outside the histogram",
                "9 with an acknowledge time above the histogram's range",
                "broker's offsets grew by 20, acknowledged were 6 and of unknown outcome 2 (warm-up included)",
                "13 sent, but 11 acknowledged + failed + unknown: the instrument miscounted",
                "17 offsets in the logs at which consumers were given no record (messages of unknown outcome that reached the log late, \
                 markers of transactions, records removed)",
                "5 on the topic that this run did not send",
            ]
        );
    }

    #[test]
    fn offsets_without_a_record_may_be_late_messages_only_where_an_outcome_is_unknown() {
        let mut beside = step(Counts::default());
        beside.accounting.gaps = Some(1);
        let said =
            "1 offsets in the logs without a record for consumers (markers of transactions, records removed)";
        assert_eq!(discrepancies(&beside), [said]);
        beside.accounting.unknown = 1;
        assert!(discrepancies(&beside)[0].contains("reached the log late"), "{:?}", discrepancies(&beside));
    }

    #[test]
    fn what_others_left_on_the_topic_is_no_discrepancy_of_the_steps_own_messages() {
        let all = Counts { intended: 10, sent: 10, acked: 10, received: 10, ..Default::default() };
        let mut beside = step(all);
        (beside.accounting.foreign, beside.accounting.gaps) = (77, Some(1));
        assert_eq!(own_discrepancies(&beside), Vec::<String>::new());
        assert_eq!(discrepancies(&beside).len(), 2);
    }
}
