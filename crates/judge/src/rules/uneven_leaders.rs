//! Brokers led unequal numbers of the topic's partitions.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::counted;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::TopicPlan;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "uneven-leaders",
        summary: "One broker led more of the topic's partitions than its share.",
        page: include_str!("../../../../docs/findings/uneven-leaders.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the leaders are read from the cluster's metadata",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "elect the preferred leaders",
            setting: None,
            observe: "the share of the partitions that one broker leads",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| finding(&setup, case)).collect()
}

fn finding(setup: &Setup, case: &Case) -> Option<Finding> {
    // A topic on a log directory of one broker is there because it was told to be.
    if setup.plan.is_some_and(|plan| matches!(plan.topic, TopicPlan::Own { log_dir: Some(_), .. })) {
        return None;
    }
    let cluster = setup.result.cluster.as_ref().unwrap_or(&case.document.environment.cluster);
    let brokers = u32::try_from(cluster.brokers.len()).ok().filter(|brokers| *brokers > 1)?;
    let partitions = setup.result.effective.partitions?;
    let led_most = setup.result.spread.led_most?;
    let share = partitions.div_ceil(brokers);
    let led = format!("one broker led {led_most} of {partitions}");
    let (severity, claim) = if led_most > share {
        let claim = format!(
            "Leaders are uneven: {led}, where {share} would be its share; the figures are those of that broker"
        );
        (Severity::Suspect, claim)
    } else if setup.saturates() && !partitions.is_multiple_of(brokers) {
        let claim = format!(
            "{} cannot lie evenly on {}: the rate is that of the broker that leads most",
            counted(partitions, "partition"),
            counted(brokers, "broker")
        );
        (Severity::Note, claim)
    } else {
        return None;
    };
    let mut finding = about_step(RULE.row.id, severity, setup.name(), claim).seen_against(
        "most partitions led by one broker",
        led_most.to_string(),
        share.to_string(),
    );
    if let Some(records) = &setup.result.spread.leader_records {
        let each: Vec<String> =
            records.iter().map(|(broker, records)| format!("broker {broker}: {records}")).collect();
        finding = finding.seen("records by the broker that led", each.join(", "));
    }
    Some(
        finding
            .advise("Have the preferred leaders elected (kafka-leader-election.sh --election-type PREFERRED --all-topic-partitions), and run again.")
            .advise("Give the topic a multiple of as many partitions as there are brokers."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::rates::saturating;
    use crate::healthy::{assert_found, found, healthy, one};
    use plumb_model::document::RunDocument;
    use plumb_model::plan::Mode;

    fn lead(document: &mut RunDocument, partitions: u32, led_most: u32) {
        document.environment.cluster.brokers = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
        document.steps[0].effective.partitions = Some(partitions);
        document.steps[0].spread.led_most = Some(led_most);
    }

    #[test]
    fn one_broker_that_leads_four_of_six_partitions_is_suspect() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| lead(document, 6, 4));
        assert_eq!(finding.evidence[0].expected.as_deref(), Some("2"));
    }

    #[test]
    fn an_even_share_and_a_rate_on_one_partition_are_not_said() {
        let mut document = healthy();
        lead(&mut document, 6, 2);
        assert_eq!(found(&document, RULE.row.id), []);
        lead(&mut document, 1, 1);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn four_partitions_on_three_brokers_are_noted_where_the_rate_counts() {
        let mut document = saturating(Mode::Produce);
        lead(&mut document, 4, 2);
        assert_eq!(one(&document, RULE.row.id).severity, Severity::Note);
        document.plan.steps[0].topic = TopicPlan::Own {
            partitions: 4,
            replication: 1,
            configs: Default::default(),
            log_dir: Some("nvme".to_owned()),
        };
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
