//! Followers that have not copied what the leaders appended: acknowledged (acks=1, acks=0) and not to be read yet.

use crate::replication::FollowerWait;
use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, SHARE_THAT_HIDES_P99, about_step};
use crate::setup::Setup;
use plumb_model::figure::{counted, per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::sentence;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "replication-behind",
        summary: "Records in the leaders' logs wait long for followers to copy them: consumers cannot read them before.",
        page: include_str!("../../../../docs/findings/replication-behind.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "leaders are asked for the followers' offsets all through a block",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "take away what slows the follower that the finding names",
            setting: None,
            observe: "records in the leaders' logs that followers lack",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Step(finding),
};

/// A follower that keeps up copies within milliseconds; a record that waits so long waits for one that does not (ours).
const LONG_WAIT_NS: u64 = 1_000_000_000;

fn finding(setup: &Setup) -> Option<Finding> {
    let finding = behind(setup).or_else(|| late(setup))?;
    Some(advised(if shows_it(setup) { shown(finding) } else { finding }))
}

/// True if the wait for followers is part of the figure that the step is to show: the producers' queue holds every message
/// without an acknowledgement, and with acks=all none comes before all in-sync followers have it. With acks=1 the queue leaves it
/// out.
fn shows_it(setup: &Setup) -> bool {
    setup.shows_queue() && matches!(setup.result.durability.acks.as_deref(), Some("all" | "-1"))
}

/// The cause of what is shown, and no doubt in it.
fn shown(finding: Finding) -> Finding {
    let claim = format!(
        "{}; with acks=all that wait is in the queue that this step shows",
        finding.claim.trim_end_matches('.')
    );
    Finding { severity: Severity::Note, claim: sentence(&claim), ..finding }
}

fn advised(finding: Finding) -> Finding {
    finding
        .advise("Look for the follower that is slow or gone: its fetch rate, its disk, its network, its CPU.")
        .advise("With acks=all the same lag would be in the acknowledge latency; with acks=1 it is what a leader that fails would lose.")
}

/// Followers that were late and had caught up when the blocks ended.
fn late(setup: &Setup) -> Option<Finding> {
    let wait = long_wait(setup)?;
    let claim = format!(
        "followers were late: a record waited {} or longer for them to copy it, and no consumer could read it before; nothing of that is lost",
        time(wait.longest_ns as f64)
    );
    Some(seen_wait(about_step(RULE.row.id, Severity::Suspect, setup.name(), claim), wait))
}

fn long_wait(setup: &Setup) -> Option<FollowerWait> {
    FollowerWait::of(&setup.result.blocks).filter(|wait| wait.longest_ns >= LONG_WAIT_NS)
}

fn seen_wait(finding: Finding, wait: FollowerWait) -> Finding {
    let asked = match wait.missed {
        0 => format!("the leaders were asked {} times", wait.samples),
        missed => format!("the leaders answered {} times and not {missed} times", wait.samples),
    };
    finding
        .seen_against("longest wait of one record, at least", time(wait.longest_ns as f64), "below 1.00 s")
        .seen("most records that waited at one time", counted(wait.records_highest, "record"))
        .seen("mean wait of all records", format!("{} ({asked})", time(wait.mean_ns)))
}

fn behind(setup: &Setup) -> Option<Finding> {
    let accounting = &setup.result.accounting;
    let waiting = accounting.unreplicated.filter(|waiting| *waiting > 0)?;
    let unread = setup.result.counts.acked.saturating_sub(setup.result.counts.received);
    let share = unread as f64 / setup.result.counts.acked.max(1) as f64;
    // A step that is to show a queue has no end-to-end figures that anything could be hidden from.
    let hides = setup.consumes() && !setup.shows_queue() && share >= SHARE_THAT_HIDES_P99;
    let severity = if hides { Severity::Invalid } else { Severity::Suspect };
    let waits = if waiting == 1 { "waits" } else { "wait" };
    let mut claim = format!(
        "{} appended at the leaders {waits} for followers to copy them; nothing of that is lost",
        counted(waiting, "record")
    );
    if hides {
        claim = format!(
            "{claim}, but {} of the messages were not to be read within the run, and the end-to-end figures are of the others only",
            percent(share)
        );
    }
    let mut finding = about_step(RULE.row.id, severity, setup.name(), claim).seen_against(
        "log end minus high watermark, at the end",
        counted(waiting, "record"),
        "0",
    );
    if let Some((growth, seconds)) = accounting.unreplicated_growth.zip(setup.sending_s()) {
        finding = finding.seen("its growth within the blocks", format!("{growth} records"));
        if growth > 0 && seconds > 0.0 {
            finding = finding.seen("the same, for each second of sending", per_s(growth as f64 / seconds));
        }
    }
    Some(match long_wait(setup) {
        Some(wait) => seen_wait(finding, wait),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{DEFAULT, assert_found, found, healthy};
    use crate::judge;
    use plumb_model::document::RunDocument;
    use plumb_model::finding::ValidityVerdict;
    use plumb_model::observation::ReplicationLag;
    use plumb_model::plan::Purpose;

    fn lag(longest_wait_ns: u64) -> ReplicationLag {
        ReplicationLag {
            samples: 40,
            missed: 2,
            records_least: 100.0,
            records_most: 100.0,
            records_standard_error: 5.0,
            records_highest: 900,
            longest_wait_ns,
            appended_per_s: 200.0,
        }
    }

    #[test]
    fn followers_that_were_late_and_caught_up_are_told_and_those_that_copy_within_a_second_are_not() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].blocks[0].replication_lag = Some(lag(5_500_000_000));
        });
        assert!(finding.claim.contains("a record waited 5.50 s or longer"), "{}", finding.claim);
        let mean = finding.evidence.iter().find(|evidence| evidence.what.starts_with("mean wait")).unwrap();
        assert!(mean.value.starts_with("500 ms"), "{mean:?}");
        let mut document = healthy();
        document.steps[0].blocks[0].replication_lag = Some(lag(900_000_000));
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn what_followers_have_not_copied_is_no_loss_and_spoils_end_to_end_figures_where_it_is_much() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            step.accounting.unreplicated = Some(step.counts.acked / 4);
            step.accounting.unreplicated_growth = Some((step.counts.acked / 4).cast_signed());
            step.counts.received -= step.counts.acked / 4;
        });
        assert!(finding.claim.contains("nothing of that is lost"), "{}", finding.claim);
        assert!(finding.claim.contains("25 % of the messages"), "{}", finding.claim);
        assert!(
            finding.evidence.iter().any(|evidence| evidence.what == "the same, for each second of sending")
        );
    }

    /// The healthy run with steps that are to show a queue, of acks=1 and acks=all, whose followers are late where said.
    fn queues(late: [bool; 2]) -> RunDocument {
        let mut document = healthy();
        for (step, acks) in ["1", "all"].into_iter().enumerate() {
            document.plan.steps[step].load.purpose = Purpose::Queue;
            let result = &mut document.steps[step];
            result.durability.acks = Some(acks.to_owned());
            if late[step] {
                result.blocks[0].replication_lag = Some(lag(5_500_000_000));
                result.accounting.unreplicated = Some(result.counts.acked / 4);
            }
        }
        document
    }

    #[test]
    fn of_a_queue_with_acks_all_late_followers_are_the_cause_and_no_doubt() {
        let document = queues([false, true]);
        let findings = found(&document, RULE.row.id);
        let [finding] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!((finding.severity, finding.step.as_deref()), (Severity::Note, Some(DEFAULT)));
        assert!(
            finding.claim.ends_with("; with acks=all that wait is in the queue that this step shows."),
            "{}",
            finding.claim
        );
        assert_eq!(judge(&document).validity.verdict, ValidityVerdict::Valid);
    }

    #[test]
    fn of_a_queue_with_acks_1_late_followers_stay_a_doubt_since_the_queue_leaves_them_out() {
        for late in [[true, false], [true, true]] {
            let document = queues(late);
            let findings = found(&document, RULE.row.id);
            assert_eq!(findings[0].severity, Severity::Suspect, "{findings:#?}");
            assert_eq!(judge(&document).validity.verdict, ValidityVerdict::Suspect);
        }
        // It has no end-to-end figures that unread messages could spoil.
        let mut document = queues([true, false]);
        document.steps[0].counts.received /= 2;
        let findings = found(&document, RULE.row.id);
        assert_eq!(findings[0].severity, Severity::Suspect);
        assert!(!findings[0].claim.contains("end-to-end"), "{}", findings[0].claim);
    }

    #[test]
    fn a_few_records_that_wait_are_told_and_none_or_unknown_are_not() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].accounting.unreplicated = Some(1)
        });
        let mut document = healthy();
        for unreplicated in [None, Some(0)] {
            document.steps[0].accounting.unreplicated = unreplicated;
            assert_eq!(found(&document, RULE.row.id), []);
        }
    }
}
