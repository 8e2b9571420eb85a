//! Followers that have not copied what the leaders appended: acknowledged (acks=1, acks=0) and not to be read yet.

use crate::figure::{count, percent, rate};
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::finding::{Finding, Severity};

pub(super) const RULE: Rule = Rule {
    id: "replication-behind",
    summary: "Records are in the leaders' logs and not copied by all in-sync followers: consumers cannot read them.",
    page: include_str!("../../../../docs/findings/replication-behind.md"),
    severity: Severity::Suspect,
    about: About::Run,
    check,
};

/// So many unread messages hide the p99 of those that were read.
const SHARE_THAT_HIDES_P99: f64 = 0.01;

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| behind(&setup)).collect()
}

fn behind(setup: &Setup) -> Option<Finding> {
    let accounting = &setup.result.accounting;
    let waiting = accounting.unreplicated.filter(|waiting| *waiting > 0)?;
    let unread = setup.result.counts.acked.saturating_sub(setup.result.counts.received);
    let share = unread as f64 / setup.result.counts.acked.max(1) as f64;
    let hides = setup.consumes() && share >= SHARE_THAT_HIDES_P99;
    let severity = if hides { Severity::Invalid } else { Severity::Suspect };
    let waits = if waiting == 1 { "waits" } else { "wait" };
    let mut claim = format!(
        "{} appended at the leaders {waits} for followers to copy them; nothing of that is lost",
        count(waiting, "record")
    );
    if hides {
        claim = format!(
            "{claim}, but {} of the messages were not to be read within the run, and the end-to-end figures are of the others only",
            percent(share)
        );
    }
    let mut finding = about_step(RULE.id, severity, setup.name(), claim).seen_against(
        "log end minus high watermark, at the end",
        count(waiting, "record"),
        "0",
    );
    if let Some((growth, seconds)) = accounting.unreplicated_growth.zip(setup.measured_s()) {
        finding = finding.seen("its growth within the blocks", format!("{growth} records"));
        if growth > 0 && seconds > 0.0 {
            finding = finding.seen("the same, a second", rate(growth as f64 / seconds));
        }
    }
    Some(
        finding
            .advise("Look for the follower that is slow or gone: its fetch rate, its disk, its network, its CPU.")
            .advise("With acks=all the same lag would be in the acknowledge latency; with acks=1 it is what a leader that fails would lose."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn what_followers_have_not_copied_is_no_loss_and_spoils_end_to_end_figures_where_it_is_much() {
        let finding = assert_found(RULE.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            step.accounting.unreplicated = Some(step.counts.acked / 4);
            step.accounting.unreplicated_growth = Some((step.counts.acked / 4).cast_signed());
            step.counts.received -= step.counts.acked / 4;
        });
        assert!(finding.claim.contains("nothing of that is lost"), "{}", finding.claim);
        assert!(finding.claim.contains("25 % of the messages"), "{}", finding.claim);
        assert!(finding.evidence.iter().any(|evidence| evidence.what == "the same, a second"));
    }

    #[test]
    fn a_few_records_that_wait_are_told_and_none_or_unknown_are_not() {
        assert_found(RULE.id, Severity::Suspect, |document| {
            document.steps[0].accounting.unreplicated = Some(1)
        });
        let mut document = healthy();
        for unreplicated in [None, Some(0)] {
            document.steps[0].accounting.unreplicated = unreplicated;
            assert_eq!(found(&document, RULE.id), []);
        }
    }
}
