//! Records that the logs no longer had when consumers came to them: retention, deletion on request, compaction.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Check, Complete, Rule, SHARE_THAT_HIDES_P99, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, counted, percent};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "removed-before-read",
        summary: "Retention, deletion or compaction took records out of the logs before consumers were given them.",
        page: include_str!("../../../../docs/findings/removed-before-read.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the first offsets of the partitions passed the consumers' positions",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "lengthen the retention beyond the run",
            setting: Some(SettingRow { path: "topic.configs.retention.ms", value: "-1" }),
            observe: "records removed before they were read",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(removed),
};

/// Topic configs that say what is removed.
const CONFIGS: [&str; 3] = ["cleanup.policy", "retention.ms", "retention.bytes"];

fn removed(setup: &Setup) -> Option<Finding> {
    let counts = &setup.result.counts;
    let removed = counts.removed.filter(|removed| *removed > 0)?;
    let could_be_read = match setup.reads_as_it_is() {
        true => counts.received.saturating_add(removed),
        // A warm-up built the backlog, and its records are among the removed.
        false if setup.drains_a_backlog() => setup.result.accounting.acked,
        false => counts.acked,
    };
    let share = removed as f64 / could_be_read.max(1) as f64;
    let severity = if share >= SHARE_THAT_HIDES_P99 { Severity::Invalid } else { Severity::Suspect };
    let were = if removed == 1 { "was" } else { "were" };
    let claim = format!(
        "{} ({}) {were} removed from the logs before consumers were given them; nothing of that is lost by the path, and the figures \
         of receiving are those of the others only",
        counted(removed, "message"),
        percent(share)
    );
    let mut finding = about_step(RULE.row.id, severity, setup.name(), claim)
        .seen_against("counts.removed", figure::count(removed), "0")
        .seen("counts.received", figure::count(counts.received));
    for name in CONFIGS {
        if let Some(value) = setup.result.effective.topic.get(name) {
            finding = finding.seen(name, value);
        }
    }
    Some(
        finding
            .advise("Give the topic a retention that is longer than a block with its drain, or use a topic that Plumb makes.")
            .advise("If consumers are to keep up with such a retention, that they do not is the result: look for what slows them."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn what_was_removed_before_it_was_read_spoils_the_figures_where_it_is_much_and_is_not_called_lost() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            step.counts.removed = Some(step.counts.acked / 10);
            step.counts.received -= step.counts.acked / 10;
            step.effective.topic.insert("retention.ms".to_owned(), "500".to_owned());
        });
        assert!(finding.claim.contains("(10 %) were removed"), "{}", finding.claim);
        assert!(finding.evidence.iter().any(|seen| seen.what == "retention.ms" && seen.value == "500"));
    }

    #[test]
    fn a_few_are_told_and_none_or_unknown_are_not() {
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.removed = Some(1));
        let mut document = healthy();
        for removed in [None, Some(0)] {
            document.steps[0].counts.removed = removed;
            assert_eq!(found(&document, RULE.row.id), []);
        }
    }
}
