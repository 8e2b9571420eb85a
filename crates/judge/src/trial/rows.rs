//! The rows of the findings that a reader must know before relying on a trial.

use crate::row::{Family, FlipRow, Row};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};

/// All of them, in the order in which they are read.
pub(crate) static ROWS: [&Row; 16] = [
    &TRIAL_NOT_WHOLE,
    &NOT_IN_EFFECT,
    &UNEQUAL_LOAD,
    &NO_FIXED_SIZE,
    &REFERENCE_DIFFERS,
    &NOISE_FLOOR_UNKNOWN,
    &WITHIN_NOISE_FLOOR,
    &PAIRS_CORRELATED,
    &PAIRS_LACK_METRIC,
    &HARM_NOT_SHOWN,
    &HOST_NEVER_QUIET,
    &PAIRS_LEFT_OUT,
    &SINGLE_START,
    &LITTLE_MEMORY,
    &OTHER_BROKER,
    &WARM_UP_CUT,
];

pub(super) static TRIAL_NOT_WHOLE: Row = Row {
    id: "trial-not-whole",
    summary: "The trial did not run to its end.",
    page: include_str!("../../../../docs/findings/trial-not-whole.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Confirmed,
    because: "the document says how the run ended",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NOT_IN_EFFECT: Row = Row {
    id: "not-in-effect",
    summary: "An arm asked for a setting that is not in effect.",
    page: include_str!("../../../../docs/findings/not-in-effect.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Confirmed,
    because: "the setting is read back",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static UNEQUAL_LOAD: Row = Row {
    id: "unequal-load",
    summary: "Arms of unequal load are held against each other.",
    page: include_str!("../../../../docs/findings/unequal-load.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the loads are those of the plan",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static NO_FIXED_SIZE: Row = Row {
    id: "no-fixed-size",
    summary: "An arm did not keep up, so that the ratio grows with the length of the blocks.",
    page: include_str!("../../../../docs/findings/no-fixed-size.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "the arm is saturated by a test on its seconds",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "make the blocks twice as long",
        setting: None,
        observe: "the ratio of the arms",
        expect: Expect::Rises,
    }),
};

pub(super) static REFERENCE_DIFFERS: Row = Row {
    id: "reference-differs",
    summary: "The reference differs from itself.",
    page: include_str!("../../../../docs/findings/reference-differs.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "a test, which by chance says so in one of twenty trials",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "repeat the trial",
        setting: None,
        observe: "the difference of the reference from itself",
        expect: Expect::Gone,
    }),
};

pub(super) static NOISE_FLOOR_UNKNOWN: Row = Row {
    id: "noise-floor-unknown",
    summary: "How far equal arms differ in this setup is not known.",
    page: include_str!("../../../../docs/findings/noise-floor-unknown.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the pairs are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static WITHIN_NOISE_FLOOR: Row = Row {
    id: "within-noise-floor",
    summary: "A difference is no larger than that between equal arms may be.",
    page: include_str!("../../../../docs/findings/within-noise-floor.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "both are estimates with intervals",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "repeat the trial",
        setting: None,
        observe: "the difference of the arms",
        expect: Expect::Stays,
    }),
};

pub(super) static PAIRS_CORRELATED: Row = Row {
    id: "pairs-correlated",
    summary: "Neighbouring pairs are not independent: the interval may be too narrow.",
    page: include_str!("../../../../docs/findings/pairs-correlated.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "a test on the pairs in their order",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static PAIRS_LACK_METRIC: Row = Row {
    id: "pairs-lack-metric",
    summary: "Some pairs have no value of the metric that decides.",
    page: include_str!("../../../../docs/findings/pairs-lack-metric.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Confirmed,
    because: "the pairs are counted",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static HARM_NOT_SHOWN: Row = Row {
    id: "harm-not-shown",
    summary: "An arm had more failures or losses, and so few pairs do not show that it was its doing.",
    page: include_str!("../../../../docs/findings/harm-not-shown.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Suspected,
    because: "the counts are sure; that the arm made them is not",
    stage: Some(PathStage::Comparison),
    flip: Some(FlipRow {
        change: "repeat the trial with more pairs",
        setting: None,
        observe: "the share of messages that failed or were lost",
        expect: Expect::Stays,
    }),
};

pub(super) static HOST_NEVER_QUIET: Row = Row {
    id: "host-never-quiet",
    summary: "Other work took processor time in most rounds, so that no pair is left out for it.",
    page: include_str!("../../../../docs/findings/host-never-quiet.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the kernel counts the time that others took",
    stage: Some(PathStage::Host),
    flip: None,
};

pub(super) static PAIRS_LEFT_OUT: Row = Row {
    id: "pairs-left-out",
    summary: "The rules on noise left out some pairs.",
    page: include_str!("../../../../docs/findings/pairs-left-out.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the pairs are listed with their reasons",
    stage: Some(PathStage::Comparison),
    flip: None,
};

pub(super) static SINGLE_START: Row = Row {
    id: "single-start",
    summary: "Each arm has brokers of its own that were started once.",
    page: include_str!("../../../../docs/findings/single-start.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Suspected,
    because: "starts of the same brokers differ; whether these did is not known",
    stage: Some(PathStage::Broker),
    flip: Some(FlipRow {
        change: "start the brokers anew after every two pairs",
        setting: None,
        observe: "the difference of the arms",
        expect: Expect::Stays,
    }),
};

pub(super) static LITTLE_MEMORY: Row = Row {
    id: "little-memory",
    summary: "The brokers leave little of this host's memory to the page cache.",
    page: include_str!("../../../../docs/findings/little-memory.md"),
    family: Family::Trial,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "the memory is read; that it disturbs the arms is taken for granted",
    stage: Some(PathStage::Host),
    flip: Some(FlipRow {
        change: "give the brokers smaller heaps",
        setting: None,
        observe: "the spread from pair to pair",
        expect: Expect::Falls,
    }),
};

pub(super) static OTHER_BROKER: Row = Row {
    id: "other-broker",
    summary: "Arms are on different brokers, which may differ in more than the setting.",
    page: include_str!("../../../../docs/findings/other-broker.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Suspected,
    because: "the brokers are told by their ids; whether they differ in more is not known",
    stage: Some(PathStage::Broker),
    flip: Some(FlipRow {
        change: "exchange the directories of the arms",
        setting: None,
        observe: "the difference of the arms",
        expect: Expect::Stays,
    }),
};

pub(super) static WARM_UP_CUT: Row = Row {
    id: "warm-up-cut",
    summary: "The beginning of some blocks was cut as warm-up.",
    page: include_str!("../../../../docs/findings/warm-up-cut.md"),
    family: Family::Trial,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the document says what was cut",
    stage: Some(PathStage::Comparison),
    flip: None,
};
