//! Consumers that take less than producers give while both go as fast as possible.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{messages_per_s, percents};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "consumers-behind",
        summary: "Producers were faster than consumers: the rate of producing cannot be held.",
        page: include_str!("../../../../docs/findings/consumers-behind.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "both rates are measured; which of the two ends is too slow is not",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "double the consumers and the partitions",
            setting: None,
            observe: "throughput.received_per_s",
            expect: Expect::Rises,
        }),
    },
    about: About::System,
    check: Check::Step(finding),
};

/// Least share of what is produced that consumers must take to keep up (ours: the first and the last messages are seen
/// at different ends of the path, so the two spans differ a little).
const SHARE_MIN: f64 = 0.95;

fn finding(setup: &Setup) -> Option<Finding> {
    let both = setup.saturates() && setup.produces() && setup.consumes() && !setup.drains_a_backlog();
    let throughput = &setup.result.throughput;
    let (produced, received) = (throughput.produced_per_s?, throughput.received_per_s?);
    if !both || received >= SHARE_MIN * produced {
        return None;
    }
    let [share, least] = percents(received / produced, SHARE_MIN);
    let claim = format!(
        "Consumers took {}, producers gave {}: what is produced beyond that only fills the log",
        messages_per_s(received),
        messages_per_s(produced)
    );
    Some(
        about_step(RULE.row.id, Severity::Note, setup.name(), claim)
            .seen_against(
                "received / produced",
                share,
                format!("at least {least}"),
            )
            .advise("Take the rate of receiving as what the whole path holds.")
            .advise("Add consumers, up to one a partition, or larger fetches (fetch.min.bytes, fetch.message.max.bytes)."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::rates::saturating;
    use crate::healthy::{found, one};
    use plumb_model::plan::Mode;
    use plumb_model::units::Bytes;

    #[test]
    fn consumers_that_take_less_than_is_produced_are_noted_unless_a_backlog_is_the_plan() {
        let slow = |mode: Mode| {
            let mut document = saturating(mode);
            document.steps[0].throughput.received_per_s = Some(150_000.0);
            document
        };
        let claim = one(&slow(Mode::Mixed), RULE.row.id).claim;
        assert!(claim.starts_with("Consumers took 150,000 messages/s, producers gave"), "{claim}");
        assert_eq!(found(&slow(Mode::Backlog(Bytes(1))), RULE.row.id), []);
    }
}
