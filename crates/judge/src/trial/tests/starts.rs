//! Pairs that share starts of the brokers.

use super::trials::{primary, result, started, verdict};
use crate::trial::decided;
use plumb_model::trial::TrialMethod;
use plumb_model::verdict::Verdict;

#[test]
fn pairs_that_share_starts_make_the_start_the_unit_whatever_the_data_say() {
    let mut document = started(&[("other flag", 0.93)], 2);
    let steady = result(&document);
    assert_eq!((primary(&steady).method, verdict(&steady)), (TrialMethod::Starts, Verdict::Better));
    assert!(steady.summary[0].contains("12 pairs on 6 starts"), "{:?}", steady.summary);
    assert_eq!(steady.noise_floor[0].method, TrialMethod::Starts);
    assert_eq!((primary(&steady).starts, steady.noise_floor[0].starts), (Some(6), Some(6)));
    for (index, block) in document.steps[1].blocks.iter_mut().enumerate() {
        let start = [1.12, 0.9, 0.98, 1.2, 0.85, 1.05][index / 2];
        block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|p99| (p99 as f64 * start) as u64);
    }
    let moved = result(&document);
    assert_eq!((primary(&moved).method, verdict(&moved)), (TrialMethod::Starts, Verdict::Undecided));
    let reason = moved.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.starts_with("6 starts of this spread show a difference of"), "{reason}");
    assert!(reason.contains("starts of 2 pairs"), "{reason}");
    // By hand: log ratios have a standard deviation of about 0.13 over starts, (2.571 + 0.920) * 0.13 / sqrt(6) = 0.19.
    let seen = primary(&moved).smallest_detectable_ratio.unwrap();
    assert!((1.15..1.28).contains(&seen), "{seen}");
}

#[test]
fn where_every_pair_has_a_start_of_its_own_the_pair_is_the_unit() {
    for restart_every in [0, 1] {
        assert_eq!(
            primary(&result(&started(&[("other flag", 0.93)], restart_every))).method,
            TrialMethod::SignedRank
        );
    }
}

#[test]
fn a_single_start_of_what_was_to_be_several_decides_nothing_and_says_why() {
    let mut document = started(&[("other flag", 0.93)], 2);
    for step in &mut document.steps {
        step.blocks.truncate(2);
    }
    let result = result(&document);
    assert_eq!((primary(&result).estimate_ratio, verdict(&result)), (None, Verdict::Undecided));
    let reason = result.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.contains("the start is the unit: it takes 2, and there is 1"), "{reason}");
    assert_eq!(result.noise_floor_ratio, None);
}

#[test]
fn a_trial_whose_pairs_share_starts_is_never_stopped_early() {
    let mut document = started(&[("other flag", 0.93)], 2);
    for block in &mut document.steps[1].blocks {
        block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|p99| p99 / 2);
    }
    document.plan.trial.as_mut().unwrap().until_decided = true;
    assert_eq!(decided(&document), None);
    document.plan.trial.as_mut().unwrap().restart_every = 1;
    assert!(decided(&document).is_some());
}
