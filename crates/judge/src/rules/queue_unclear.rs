//! A step that was to show whether a queue grows, and does not.

use crate::queue::SECONDS_MIN;
use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::queue::{QueueCourse, QueueResult};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "queue-unclear",
        summary: "Whether the producers' queue grows cannot be told.",
        page: include_str!("../../../../docs/findings/queue-unclear.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the seconds do not decide it, which their test says",
        stage: Some(PathStage::ClientQueue),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let setups = case.setups().filter(Setup::shows_queue);
    let own = |setup: &Setup| case.queues.iter().find(|queue| queue.step == setup.name());
    setups.filter_map(|setup| own(&setup).and_then(finding)).collect()
}

fn finding(queue: &QueueResult) -> Option<Finding> {
    let (claim, advice) = match queue.course {
        QueueCourse::Grows | QueueCourse::KeepsUp => return None,
        QueueCourse::Unclear => (
            "Whether the queue grows cannot be told: it surely does in some blocks, and in others not by more than chance".to_owned(),
            "Run more blocks, or longer ones; near the highest rate that the path holds, chance decides.",
        ),
        QueueCourse::TooShort => (
            format!(
                "Whether the queue grows cannot be told: {} measured in the longest block, a slope needs {SECONDS_MIN}",
                seconds(longest_block_s(queue))
            ),
            "Raise load.duration: the blocks share it.",
        ),
    };
    let growths: Vec<String> = queue
        .growth_of_blocks_per_s
        .iter()
        .map(|growth| plumb_model::figure::significant(*growth, 3))
        .collect();
    let seen = if growths.is_empty() { "none".to_owned() } else { growths.join(", ") };
    Some(
        about_step(RULE.row.id, RULE.row.severity, &queue.step, claim)
            .seen("growth of each block, messages per second", seen)
            .advise(advice),
    )
}

fn longest_block_s(queue: &QueueResult) -> usize {
    let measured = queue.levels.iter().filter(|level| !level.warm_up).collect::<Vec<_>>();
    measured.chunk_by(|a, b| a.block == b.block).map(<[_]>::len).max().unwrap_or(0)
}

fn seconds(n: usize) -> String {
    if n == 1 { "1 second was".to_owned() } else { format!("{n} seconds were") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::plan::{Length, Purpose};
    use plumb_model::units::Nanos;

    #[test]
    fn blocks_of_too_few_seconds_are_told_and_a_step_of_another_purpose_is_not_asked() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            let load = &mut document.plan.steps[0].load;
            (load.purpose, load.length) = (Purpose::Queue, Length::Duration(Nanos::from_secs(15)));
        });
        let mut short = healthy();
        short.plan.steps[0].load.purpose = Purpose::Queue;
        short.plan.steps[0].load.length = Length::Duration(Nanos::from_secs(15));
        let claim = &found(&short, RULE.row.id)[0].claim;
        assert!(claim.contains("seconds were measured in the longest block, a slope needs 6"), "{claim}");
        let mut document = healthy();
        document.plan.steps[0].load.length = Length::Duration(Nanos::from_secs(15));
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
