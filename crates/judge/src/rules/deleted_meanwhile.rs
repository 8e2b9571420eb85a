//! Logs of which the broker deleted records while they were written or read.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::counted;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "deleted-meanwhile",
        summary: "The broker deleted records of the topic while the blocks ran: that work is in the figures.",
        page: include_str!("../../../../docs/findings/deleted-meanwhile.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "the first offsets of the partitions moved between two readings",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "lengthen the retention beyond the run",
            setting: Some(SettingRow { path: "topic.configs.retention.ms", value: "-1" }),
            observe: "records deleted while the blocks ran",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(deleted),
};

/// Topic configs that say what is deleted, and in what pieces.
const CONFIGS: [&str; 5] =
    ["cleanup.policy", "retention.ms", "retention.bytes", "segment.bytes", "segment.ms"];

fn deleted(setup: &Setup) -> Option<Finding> {
    let deleted = setup.result.accounting.deleted.filter(|deleted| *deleted > 0)?;
    let were = if deleted == 1 { "was" } else { "were" };
    let claim = format!(
        "{} {were} deleted from the topic's logs while the blocks ran: the broker's work for it is in the figures",
        counted(deleted, "record")
    );
    let mut finding = about_step(RULE.row.id, Severity::Note, setup.name(), claim).seen_against(
        "offsets by which the logs' beginnings moved",
        deleted.to_string(),
        "0",
    );
    for name in CONFIGS {
        if let Some(value) = setup.result.effective.topic.get(name) {
            finding = finding.seen(name, value);
        }
    }
    Some(finding.advise("If production deletes as fast as it writes, so should the test: let the topic fill to its retention first; else give it a longer one."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};

    #[test]
    fn what_was_deleted_while_blocks_ran_is_noted_with_the_settings_that_say_when() {
        let mut document = healthy();
        document.steps[0].accounting.deleted = Some(5_000);
        document.steps[0].effective.topic.insert("retention.bytes".to_owned(), "1000000".to_owned());
        let finding = one(&document, RULE.row.id);
        assert!(finding.claim.contains("5,000 records were deleted"), "{}", finding.claim);
        assert!(
            finding.evidence.iter().any(|seen| seen.what == "retention.bytes" && seen.value == "1000000")
        );
    }

    #[test]
    fn nothing_deleted_or_unknown_is_not_said() {
        let mut document = healthy();
        for deleted in [None, Some(0)] {
            document.steps[0].accounting.deleted = deleted;
            assert_eq!(found(&document, RULE.row.id), []);
        }
    }
}
