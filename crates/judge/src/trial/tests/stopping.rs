//! Trials that stop as soon as it is decided.

use super::trials::{primary, result, trial_of};
use crate::trial::values::{log_ratios, values};
use crate::trial::{Opponents, Trial, anytime, decided};
use plumb_model::facts::{CpuTime, HostDelta};
use plumb_model::trial::TrialMethod;
use plumb_model::verdict::Verdict;

#[test]
fn stopping_when_decided_has_an_interval_that_stands_it() {
    let mut document = trial_of(&[("low", 0.7)], 30, 4);
    assert_eq!(decided(&document), None, "a fixed number of pairs is never stopped early");
    document.plan.trial.as_mut().unwrap().until_decided = true;
    let whole = document.clone();
    let first = (1..=30).find(|pairs| {
        for (step, all) in document.steps.iter_mut().zip(&whole.steps) {
            step.blocks = all.blocks[..*pairs].to_vec();
        }
        decided(&document).is_some()
    });
    // Bets of a half on each: 1.5^n / 2 reaches 20 at n = 10.
    assert!(first.is_some_and(|pairs| (8..=14).contains(&pairs)), "{first:?}");
    let stopped = result(&document);
    let p99 = primary(&stopped);
    assert_eq!((p99.method, p99.verdict), (TrialMethod::SignEProcess, Verdict::Better));
    assert!(p99.p.unwrap() <= 0.05);
    let all = result(&whole);
    let (low, high) = (primary(&all).interval_low.unwrap(), primary(&all).interval_high.unwrap());
    assert!(low < 0.7 && 0.7 < high && high < 1.0, "{low}..{high}");
}

/// With a look after each of 40 pairs, equal arms are told apart in at most 5 % of trials; of these 60, in 3 or so.
#[test]
fn looking_after_every_pair_does_not_find_what_is_not_there() {
    let found = (0..60).filter(|seed| {
        let mut document = trial_of(&[("same", 1.0)], 40, 9_000 + seed);
        document.plan.trial.as_mut().unwrap().until_decided = true;
        let trial = Trial::of(&document).unwrap();
        let of = Opponents { arm: &trial.arms[1], against: &trial.arms[0] };
        let values = values(&trial, trial.primary().unwrap(), of);
        anytime::p(&log_ratios(&values)) <= 0.05
    });
    assert!(found.count() <= 4);
}

/// Looking costs: what the result says it could have shown is what so many looked-at pairs show, not what a fixed number does.
#[test]
fn what_could_have_been_seen_allows_for_looking_after_every_pair() {
    let mut document = trial_of(&[("same", 1.0)], 34, 2);
    let fixed = primary(&result(&document)).smallest_detectable_ratio.unwrap();
    document.plan.trial.as_mut().unwrap().until_decided = true;
    let looked_at = primary(&result(&document)).smallest_detectable_ratio.unwrap();
    // 34 looked-at pairs are worth 20: 4.7 and not 3.6 tenths of the spread's two standard errors and more.
    assert!((1.25..1.40).contains(&(looked_at.ln() / fixed.ln())), "{looked_at} {fixed}");
}

#[test]
fn lost_messages_end_a_trial_that_stops_when_decided() {
    let mut document = trial_of(&[("same", 1.0)], 12, 6);
    document.plan.trial.as_mut().unwrap().until_decided = true;
    assert_eq!(decided(&document), None);
    for block in &mut document.steps[1].blocks {
        block.counts.lost = 40 + u64::from(block.block);
    }
    let why = decided(&document).unwrap();
    assert!(why.contains("more acknowledged messages that were never received"), "{why}");
}

/// A bet on a pair that is taken back once its outcome is known is none: what was kept at one look is kept at every later one.
#[test]
fn what_was_looked_at_is_never_left_out_later_nor_taken_back_in() {
    // Quiet after three noisy rounds: held against all twelve these were unusual, held against what was known then they were not.
    let steal_ns = [4_000, 4_500, 4_200, 200, 200, 200, 8_000, 200, 200, 200, 200, 200];
    let kept = |looked_at: bool, pairs: usize| {
        let mut document = trial_of(&[("low", 0.9)], 12, 3);
        document.plan.trial.as_mut().unwrap().until_decided = looked_at;
        for step in &mut document.steps {
            step.blocks.truncate(pairs);
            for (block, steal_ns) in step.blocks.iter_mut().zip(steal_ns) {
                let cpu = CpuTime { steal_ns: Some(steal_ns), total_ns: Some(10_000), ..CpuTime::default() };
                block.host = Some(HostDelta { cpu, ..HostDelta::default() });
            }
        }
        Trial::of(&document).unwrap().rounds.kept
    };
    assert_eq!(kept(true, 12), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]);
    for pairs in 1..12 {
        let so_far: Vec<u32> = kept(true, 12).into_iter().filter(|round| *round < pairs as u32).collect();
        assert_eq!(kept(true, pairs), so_far, "at the look after {pairs}");
    }
    assert_eq!(kept(false, 3), [0, 1, 2]);
    assert_eq!(kept(false, 12), [3, 4, 5, 7, 8, 9, 10, 11], "a fixed number is judged once, by all of it");
}
