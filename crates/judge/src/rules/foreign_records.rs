//! Records in the topic that no producer of this run sent.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, counted};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "foreign-records",
        summary: "Somebody else wrote to the topic while it was measured.",
        page: include_str!("../../../../docs/findings/foreign-records.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the logs hold records that this run did not send",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "use a topic of its own",
            setting: None,
            observe: "records of others",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(others),
};

/// From this share of our own records on, the load is not the one that was asked for (ours).
const SHARE_MAX: f64 = 0.01;

fn others(setup: &Setup) -> Option<Finding> {
    let foreign = setup.result.accounting.foreign;
    if foreign == 0 {
        return None;
    }
    if setup.reads_as_it_is() {
        let claim = format!(
            "{} of the topic carry no stamp: they are counted, and not verified",
            counted(foreign, "record")
        );
        return Some(
            about_step(RULE.row.id, Severity::Note, setup.name(), claim)
                .seen("accounting.foreign", figure::count(foreign))
                .seen("counts.received", figure::count(setup.result.counts.received)),
        );
    }
    let few = (foreign as f64) < SHARE_MAX * setup.result.counts.received as f64;
    let severity = if few { Severity::Note } else { Severity::Suspect };
    let claim = format!(
        "{} of somebody else came through the topic while it was measured",
        counted(foreign, "record")
    );
    Some(
        about_step(RULE.row.id, severity, setup.name(), claim)
            .seen_against("accounting.foreign", figure::count(foreign), "0")
            .seen("counts.received", figure::count(setup.result.counts.received))
            .advise("Use a topic of the run's own, or measure when nobody else writes."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_few_records_of_others_are_noted_and_many_are_suspect() {
        assert_found(RULE.row.id, Severity::Note, |document| document.steps[0].accounting.foreign = 99);
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].accounting.foreign = 100);
    }
}
