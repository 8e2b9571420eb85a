//! The causes that take a verdict back, one at a time, with the words that say it.

use super::trials::{primary, result, trial_of, verdict};
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::trial::TrialResult;
use plumb_model::verdict::Verdict;

/// Equal arms over 20 pairs whose ranks show that.
fn equivalent() -> RunDocument {
    let mut document = trial_of(&[("arm", 1.0)], 20, 2);
    document.plan.trial.as_mut().unwrap().margin = 0.05;
    assert_eq!(verdict(&result(&document)), Verdict::Equivalent);
    document
}

fn slow(block: &mut BlockResult, times: f64) {
    block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|ns| (ns as f64 * times) as u64);
}

/// Undecided though its ranks say otherwise, with the reason.
fn doubted(result: &TrialResult, by_ranks: Verdict) -> &str {
    assert_eq!((primary(result).verdict, verdict(result)), (by_ranks, Verdict::Undecided));
    result.verdicts[0].reason.as_deref().unwrap()
}

#[test]
fn one_block_five_times_slower_than_any_other_makes_no_equivalent_arm_whichever_it_is() {
    for (step, name) in [(1, "arm"), (0, "default")] {
        let mut document = equivalent();
        slow(&mut document.steps[step].blocks[7], 5.0);
        let result = result(&document);
        let reason = doubted(&result, Verdict::Equivalent);
        let words = format!("in 1 of 20 pairs the p99 of end-to-end latency of \"{name}\" is far worse");
        assert!(reason.starts_with(&words) && reason.contains("in none the other way round"), "{reason}");
    }
}

#[test]
fn a_stall_that_equal_arms_have_too_is_the_hosts() {
    let mut document = equivalent();
    slow(&mut document.steps[1].blocks[7], 5.0);
    slow(&mut document.steps[2].blocks[11], 5.0);
    let result = result(&document);
    assert_eq!(verdict(&result), Verdict::Equivalent, "{:?}", result.verdicts);
}

#[test]
fn a_faster_arm_that_stalls_is_not_called_better_and_a_stall_of_the_reference_speaks_for_nobody() {
    for (step, expected) in [(1, Verdict::Undecided), (0, Verdict::Better)] {
        let mut document = trial_of(&[("low", 0.7)], 14, 1);
        slow(&mut document.steps[step].blocks[7], 5.0);
        let result = result(&document);
        assert_eq!((primary(&result).verdict, verdict(&result)), (Verdict::Better, expected));
    }
}

/// The generator starves in so many of a step's first blocks, which are slower then.
fn starve(document: &mut RunDocument, step: usize, blocks: std::ops::Range<usize>, times: f64) {
    for block in &mut document.steps[step].blocks[blocks] {
        block.slip_mean_ns = Some(4e6);
        slow(block, times);
    }
}

#[test]
fn rounds_that_would_change_the_verdict_are_not_left_out_without_doubt() {
    let mut document = equivalent();
    starve(&mut document, 1, 0..7, 3.0);
    let result = result(&document);
    assert_eq!(result.excluded.len(), 7);
    assert!(result.excluded.iter().all(|pair| pair.seen_in == ["arm"]), "{:?}", result.excluded);
    let reason = doubted(&result, Verdict::Equivalent);
    assert!(
        reason.contains("7 of 20 pairs are left out") && reason.contains("the verdict would be"),
        "{reason}"
    );
}

#[test]
fn rounds_that_are_left_out_for_one_arm_alone_are_its_choice_and_for_several_they_are_not() {
    let mut document = equivalent();
    starve(&mut document, 1, 0..5, 1.0);
    let one = result(&document);
    let reason = doubted(&one, Verdict::Equivalent);
    assert!(reason.contains("seen in the blocks of \"arm\" (by chance so in one of 81 trials)"), "{reason}");
    starve(&mut document, 2, 5..6, 1.0);
    assert_eq!(verdict(&result(&document)), Verdict::Equivalent);
    let mut three = equivalent();
    starve(&mut three, 1, 0..3, 1.0);
    assert_eq!(verdict(&result(&three)), Verdict::Equivalent, "one of nine trials by chance");
}

/// The arm slows the block after it, whoever runs then.
fn slow_what_follows(document: &mut RunDocument) {
    let after: Vec<u32> = document.steps[1].blocks.iter().map(|block| block.position + 1).collect();
    let blocks = document.steps.iter_mut().flat_map(|step| &mut step.blocks);
    blocks.filter(|block| after.contains(&block.position)).for_each(|block| slow(block, 1.3));
}

#[test]
fn an_arm_that_slows_the_block_after_it_is_not_better_than_what_it_slowed() {
    let mut document = trial_of(&[("arm", 1.0)], 30, 5);
    slow_what_follows(&mut document);
    let result = result(&document);
    let reason = doubted(&result, Verdict::Better);
    assert!(reason.contains("ran right after one of \"arm\" differs by +"), "{reason}");
}

#[test]
fn an_arm_so_much_better_that_what_it_leaves_behind_cannot_be_why_stays_better() {
    let mut document = trial_of(&[("arm", 0.4)], 30, 5);
    slow_what_follows(&mut document);
    assert_eq!(verdict(&result(&document)), Verdict::Better);
}
