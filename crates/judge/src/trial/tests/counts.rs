//! Counts that decide: packets that the host lost.

use super::trials::{primary, result, trial_of, verdict};
use crate::trial::power::{PowerError, Question, power};
use crate::trial::{Unit, decided};
use plumb_model::check::{Evidence, LayerLoss, LossLayer, PACKETS};
use plumb_model::document::RunDocument;
use plumb_model::facts::HostDelta;
use plumb_model::metric::PACKETS_LOST;
use plumb_model::trial::TrialResult;
use plumb_model::verdict::Verdict;

const PAIRS: u32 = 12;
const BLOCK_S: u64 = 5;

/// A trial that packets decide. Its steps are the reference, the arm and the reference once more; each loses so many by round.
fn losing(lost: [fn(u32) -> u64; 3]) -> RunDocument {
    let mut document = trial_of(&[("larger backlog", 1.0)], PAIRS, 1);
    document.plan.trial.as_mut().unwrap().primary = PACKETS_LOST.to_owned();
    for (step, lost) in document.steps.iter_mut().zip(lost) {
        for block in &mut step.blocks {
            let host = block.host.get_or_insert_with(HostDelta::default);
            host.elapsed_ns = BLOCK_S * 1_000_000_000;
            block.host_losses = Some(match lost(block.block) {
                0 => Vec::new(),
                packets => vec![layer(packets)],
            });
        }
    }
    document
}

fn layer(packets: u64) -> LayerLoss {
    let counter = Evidence {
        counter: "softnet.*.dropped".to_owned(),
        amount: packets as f64,
        unit: PACKETS.to_owned(),
        over_s: Some(BLOCK_S as f64),
    };
    LayerLoss { layer: LossLayer::SoftnetBacklog, counters: vec![counter], reasons: Vec::new() }
}

fn said(result: &TrialResult) -> &str {
    primary(result).absent.as_deref().unwrap()
}

#[test]
fn an_arm_that_loses_none_of_what_the_reference_loses_is_better_and_no_ratio_is_made_of_it() {
    let found = result(&losing([|round| 40 + u64::from(round), |_| 0, |round| 45 + u64::from(round)]));
    assert_eq!(verdict(&found), Verdict::Better, "{found:#?}");
    let metric = primary(&found);
    assert_eq!((metric.name.as_str(), metric.unit.as_str()), (PACKETS_LOST, "packets/s"));
    assert_eq!((metric.estimate_ratio, metric.interval_high), (None, None));
    assert_eq!((metric.against_median, metric.arm_median), (Some(9.1), Some(0.0)));
    assert_eq!(said(&found), "546 in 60.0 s (9.10 packets/s, in 12 blocks) -> none in 60.0 s");
    let first = &found.summary[0];
    assert!(first.contains("packets that this host lost 9.10 packets/s -> 0 packets/s"), "{first}");
    assert!(found.summary[1].starts_with("Equal arms: 546 in"), "{}", found.summary[1]);
    let floor = found.findings.iter().find(|finding| finding.id == "noise-floor-unknown");
    assert!(floor.is_none(), "{floor:?}");
}

#[test]
fn an_arm_that_loses_more_is_worse() {
    let found = result(&losing([|_| 1, |round| 40 + u64::from(round), |_| 1]));
    assert_eq!(verdict(&found), Verdict::Worse);
}

#[test]
fn where_nothing_is_lost_there_is_nothing_to_tell_apart() {
    let found = result(&losing([|_| 0; 3]));
    let judged = &found.verdicts[0];
    assert_eq!(judged.verdict, Verdict::Undecided);
    let reason = judged.reason.as_ref().unwrap();
    assert!(reason.starts_with("none in 60.0 s -> none in 60.0 s: there is nothing"), "{reason}");
}

#[test]
fn one_burst_decides_nothing_whatever_its_size() {
    let found = result(&losing([|round| if round == 3 { 100_000 } else { 0 }, |_| 0, |_| 0]));
    assert_eq!(verdict(&found), Verdict::Undecided);
}

#[test]
fn blocks_that_do_not_tell_it_leave_it_undecided_and_say_so() {
    let mut document = losing([|_| 9, |_| 0, |_| 9]);
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        block.host_losses = None;
    }
    let found = result(&document);
    assert_eq!(verdict(&found), Verdict::Undecided);
    assert_eq!(
        found.verdicts[0].reason.as_deref(),
        Some("no pair of blocks tells it: a counter that went back or was gone at the end leaves it unknown")
    );
}

#[test]
fn messages_that_failed_may_decide_as_well_and_then_guard_no_more() {
    let mut document = trial_of(&[("low", 1.0)], PAIRS, 1);
    document.plan.trial.as_mut().unwrap().primary = "errors.failed".to_owned();
    for block in &mut document.steps[0].blocks {
        block.counts.failed = 5 + u64::from(block.block);
    }
    for block in &mut document.steps[2].blocks {
        block.counts.failed = 4 + u64::from(block.block);
    }
    let found = result(&document);
    assert_eq!(verdict(&found), Verdict::Better);
    assert_eq!(found.metrics.iter().filter(|metric| metric.name == "errors.failed").count(), 1);
}

#[test]
fn no_number_of_pairs_is_told_before_for_a_count_and_no_look_ends_its_trial() {
    let mut document = losing([|_| 9, |_| 0, |_| 9]);
    let question = Question {
        level: 0.95,
        margin: 0.03,
        detect: None,
        comparisons: 1,
        unit: Unit::Pair,
        pair_s: None,
        pairs_max: 100,
    };
    assert!(matches!(power(&document, question), Err(PowerError::Count { .. })));
    document.plan.trial.as_mut().unwrap().until_decided = true;
    assert_eq!(decided(&document), None);
}

#[test]
fn no_round_is_left_out_where_a_count_decides() {
    let mut document = losing([|_| 9, |_| 0, |_| 9]);
    // What leaves a round out where a latency decides: a generator that was late by far.
    document.steps[1].blocks[3].slip_mean_ns = Some(1e9);
    let kept = |document: &RunDocument| (result(document).excluded.len(), result(document).pairs);
    assert_eq!(kept(&document), (0, PAIRS));
    document.plan.trial.as_mut().unwrap().primary = "end_to_end.mean".to_owned();
    assert_eq!(kept(&document), (1, PAIRS - 1));
}
