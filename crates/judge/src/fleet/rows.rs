//! The rows of the findings against a trial on a fleet: its checks first, which are shown also when they hold, then the others.

use crate::row::{Family, FlipRow, Row};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};

/// All of them, in the order in which they are read.
pub(crate) static ROWS: [&Row; 27] = [
    &STRATA,
    &SITE,
    &HARDWARE,
    &SERVERS,
    &BALANCE,
    &EXPOSURE,
    &STAMPS,
    &MISSING,
    &COVERAGE,
    &RESTARTS,
    &ONE_DAY,
    &PRE_TREND,
    &PLACEBO,
    &DRIFT,
    &OVERLAP,
    &INTERFERENCE,
    &LEAVE_ONE_OUT,
    &TOTALS,
    &SURGE,
    &NO_LOAD,
    &NO_EVENTS,
    &SHARES_COMPARED,
    &RATIO_OF_TOTALS,
    &FEW_INTERVALS_BEFORE,
    &NO_CONTROL_LEFT,
    &NO_ROLLOUT,
    &UNUSUAL_ELASTICITY,
];

pub(super) static STRATA: Row = Row {
    id: "strata",
    summary: "Whether a site or kind of hardware has servers of both groups, where servers are held within them.",
    page: include_str!("../../../../docs/findings/strata.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the labels of the servers say it",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static SITE: Row = Row {
    id: "site",
    summary: "Whether the groups follow the sites: what came to a site is then in the effect.",
    page: include_str!("../../../../docs/findings/site.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the labels of the servers say it",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static HARDWARE: Row = Row {
    id: "hardware",
    summary: "Whether every kind of hardware has servers of one group only.",
    page: include_str!("../../../../docs/findings/hardware.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the labels of the servers say it",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static SERVERS: Row = Row {
    id: "servers",
    summary: "Whether so few servers can show anything at all.",
    page: include_str!("../../../../docs/findings/servers.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "it follows from the ways in which the groups could have been drawn",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static BALANCE: Row = Row {
    id: "balance",
    summary: "Whether the groups had the same metric before the change.",
    page: include_str!("../../../../docs/findings/balance.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Supported,
    because: "a test of the levels; why the groups are unlike is not told",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static EXPOSURE: Row = Row {
    id: "exposure",
    summary: "Whether the groups had the same load before the change.",
    page: include_str!("../../../../docs/findings/exposure.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Supported,
    because: "a test of the levels; why the groups are unlike is not told",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static STAMPS: Row = Row {
    id: "stamps",
    summary: "Whether the metric fits the load of another hour better than that of its own.",
    page: include_str!("../../../../docs/findings/stamps.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Suspected,
    because: "a metric that really follows its load hours later looks the same",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "read both files in the same time zone",
        setting: None,
        observe: "the correlation at lag 0",
        expect: Expect::Rises,
    }),
};

pub(super) static MISSING: Row = Row {
    id: "missing",
    summary: "Whether the change took servers out, or values of one group are missing.",
    page: include_str!("../../../../docs/findings/missing.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "the servers and values are counted; what they would have been is not known",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static COVERAGE: Row = Row {
    id: "coverage",
    summary: "Whether samples are missing within the intervals of one group.",
    page: include_str!("../../../../docs/findings/coverage.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "the samples are counted; what the missing ones would have been is bounded",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static RESTARTS: Row = Row {
    id: "restarts",
    summary: "Whether the counters of one group restarted more often when the change came.",
    page: include_str!("../../../../docs/findings/restarts.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "falls of counters are counted; what was lost with them is bounded",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static ONE_DAY: Row = Row {
    id: "one-day",
    summary: "Whether the effect is that of one day.",
    page: include_str!("../../../../docs/findings/one-day.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "nothing is left without that day; what happened on it is not told",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "take more days, with that one left out",
        setting: None,
        observe: "the difference of the groups",
        expect: Expect::Gone,
    }),
};

pub(super) static PRE_TREND: Row = Row {
    id: "pre-trend",
    summary: "Whether the groups went apart before the change already.",
    page: include_str!("../../../../docs/findings/pre-trend.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "a test on the time before; that it went on after the change is taken for granted",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "take more intervals before the change",
        setting: None,
        observe: "the difference of the groups at equal load",
        expect: Expect::Gone,
    }),
};

pub(super) static PLACEBO: Row = Row {
    id: "placebo",
    summary: "Whether a change that is pretended before the real one has an effect.",
    page: include_str!("../../../../docs/findings/placebo.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "a test on the time before; that it went on after the change is taken for granted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static DRIFT: Row = Row {
    id: "drift",
    summary: "Whether a steady drift explains the figures as well as the change does.",
    page: include_str!("../../../../docs/findings/drift.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Suspected,
    because: "both explanations fit, and the figures do not tell one from the other",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "take the change back",
        setting: None,
        observe: "the difference of the groups",
        expect: Expect::Stays,
    }),
};

pub(super) static OVERLAP: Row = Row {
    id: "overlap",
    summary: "Whether the load of both groups changed by comparable amounts.",
    page: include_str!("../../../../docs/findings/overlap.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the loads are measured",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static INTERFERENCE: Row = Row {
    id: "interference",
    summary: "Whether one group got the other's traffic when the change came.",
    page: include_str!("../../../../docs/findings/interference.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "the loads are measured; that it was the same traffic follows from their sizes",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "give each group its own traffic",
        setting: None,
        observe: "the shares of the load",
        expect: Expect::Stays,
    }),
};

pub(super) static LEAVE_ONE_OUT: Row = Row {
    id: "leave-one-out",
    summary: "Whether the effect hangs on one server, or on a few that changed unlike the others.",
    page: include_str!("../../../../docs/findings/leave-one-out.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "the effect is worked out without them; why they are unlike is not told",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "find out what happened on the servers that are named",
        setting: None,
        observe: "the difference of the groups without them",
        expect: Expect::Stays,
    }),
};

pub(super) static TOTALS: Row = Row {
    id: "totals",
    summary: "Whether what the groups counted in all bears the verdict out.",
    page: include_str!("../../../../docs/findings/totals.md"),
    family: Family::Fleet,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "a second estimate with another fault than the first",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static SURGE: Row = Row {
    id: "surge",
    summary: "Whether there was a surge of load.",
    page: include_str!("../../../../docs/findings/surge.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the load is measured, or the surge was given",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NO_LOAD: Row = Row {
    id: "no-load",
    summary: "No load was given: what a surge does to the groups is taken for the change.",
    page: include_str!("../../../../docs/findings/no-load.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "there is no load",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NO_EVENTS: Row = Row {
    id: "no-events",
    summary: "A group has no event on one side of the change, so there is no ratio.",
    page: include_str!("../../../../docs/findings/no-events.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the events are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static SHARES_COMPARED: Row = Row {
    id: "shares-compared",
    summary: "The share of intervals with any event is compared, not how much, and not at equal load.",
    page: include_str!("../../../../docs/findings/shares-compared.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the events are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static RATIO_OF_TOTALS: Row = Row {
    id: "ratio-of-totals",
    summary: "The typical server counts too few events: the ratio is of totals.",
    page: include_str!("../../../../docs/findings/ratio-of-totals.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the events are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static FEW_INTERVALS_BEFORE: Row = Row {
    id: "few-intervals-before",
    summary: "In so few intervals before the change a slow drift cannot be seen.",
    page: include_str!("../../../../docs/findings/few-intervals-before.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the intervals are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NO_CONTROL_LEFT: Row = Row {
    id: "no-control-left",
    summary: "The last stage of the roll-out leaves no server without the change.",
    page: include_str!("../../../../docs/findings/no-control-left.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the stages say it",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NO_ROLLOUT: Row = Row {
    id: "no-rollout",
    summary: "Whole sites were held against each other, which give no stages of a roll-out.",
    page: include_str!("../../../../docs/findings/no-rollout.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the units of the comparison say it",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static UNUSUAL_ELASTICITY: Row = Row {
    id: "unusual-elasticity",
    summary: "The metric grows with the load by an unusual power: the load may not be what drives it.",
    page: include_str!("../../../../docs/findings/unusual-elasticity.md"),
    family: Family::Fleet,
    severity: Severity::Note,
    confidence: Confidence::Suspected,
    because: "another load may drive it, or stamps that do not belong together",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "take the load that the metric is made of",
        setting: None,
        observe: "the power by which the metric grows with it",
        expect: Expect::Falls,
    }),
};
