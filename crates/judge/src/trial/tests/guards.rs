//! Guardrails: what takes "better" away from an arm that has it by the metric that decides.

use super::trials::{MESSAGES, caveat, primary, result, started, trial_of, verdict};
use plumb_model::document::RunDocument;
use plumb_model::trial::{MetricResult, TrialResult};
use plumb_model::verdict::Verdict;
use plumb_stats::law::binomial_at_most;
use plumb_stats::random::Random;

#[test]
fn lost_messages_veto_an_arm_that_is_faster() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    for block in &mut document.steps[1].blocks {
        (block.counts.lost, block.counts.received) = (3, MESSAGES - 3);
    }
    let result = result(&document);
    assert_eq!(primary(&result).verdict, Verdict::Better);
    assert_eq!(verdict(&result), Verdict::Undecided);
    let veto = &result.verdicts[0].vetoes[0];
    assert!(veto.contains("never received") && veto.contains("none of 24000 -> 36 of 24000"), "{veto}");
}

#[test]
fn failures_in_both_arms_alike_veto_nothing() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    for step in 0..3 {
        for (index, block) in document.steps[step].blocks.iter_mut().enumerate() {
            block.counts.failed = ((index + step) % 3) as u64;
        }
    }
    assert_eq!(result(&document).verdicts[0].vetoes, Vec::<String>::new());
}

fn failures(result: &TrialResult) -> &MetricResult {
    result.metrics.iter().find(|metric| metric.name == "errors.failed").unwrap()
}

/// So many messages of a step's block fail.
fn fail(document: &mut RunDocument, (step, block): (usize, usize), failed: u64) {
    document.steps[step].blocks[block].counts.failed = failed;
}

#[test]
fn a_burst_in_one_block_is_no_proof_against_its_arm_and_better_is_not_said_of_it() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    fail(&mut document, (1, 4), 500);
    let result = result(&document);
    // One pair in twelve: either order of it is as likely. A Poisson's interval would be sure.
    assert_eq!((failures(&result).verdict, failures(&result).p), (Verdict::Undecided, Some(1.0)));
    assert_eq!((primary(&result).verdict, verdict(&result)), (Verdict::Better, Verdict::Undecided));
    let veto = &result.verdicts[0].vetoes[0];
    for part in [
        "none of 24000 -> 500 of 24000 (2.1 %, in 1 block)",
        "over 12 pairs that is not shown to be its doing",
    ] {
        assert!(veto.contains(part), "{part}: {veto}");
    }
}

#[test]
fn a_burst_in_the_reference_alone_speaks_for_nobody() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    fail(&mut document, (0, 4), 500);
    let result = result(&document);
    assert_eq!((failures(&result).verdict, verdict(&result)), (Verdict::Undecided, Verdict::Better));
}

#[test]
fn a_burst_in_an_arm_that_is_not_better_is_told_all_the_same() {
    let mut document = trial_of(&[("slow", 2.0)], 12, 1);
    fail(&mut document, (1, 4), 500);
    let result = result(&document);
    assert_eq!(verdict(&result), Verdict::Worse);
    assert!(caveat(&result, "not shown to be its doing").is_some(), "{:?}", result.findings);
}

#[test]
fn one_message_lost_in_the_arm_alone_is_not_passed_over() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[1].blocks[4].counts.lost = 1;
    let result = result(&document);
    assert_eq!(verdict(&result), Verdict::Undecided);
    assert!(result.verdicts[0].vetoes[0].contains("never received"), "{:?}", result.verdicts);
}

#[test]
fn one_message_lost_in_the_reference_alone_makes_the_arm_no_better() {
    let mut document = trial_of(&[("same", 1.0)], 12, 1);
    document.steps[0].blocks[4].counts.lost = 1;
    let result = result(&document);
    let lost = result.metrics.iter().find(|metric| metric.name == "loss.lost").unwrap();
    assert_eq!((lost.verdict, lost.p), (Verdict::Undecided, Some(1.0)));
}

#[test]
fn one_burst_in_the_reference_does_not_turn_many_small_harms_round() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    (0..11).for_each(|block| fail(&mut document, (1, block), 2));
    fail(&mut document, (0, 11), 900);
    let result = result(&document);
    assert!(failures(&result).p.unwrap() <= 0.05);
    assert_eq!(failures(&result).verdict, Verdict::Undecided, "{:?}", failures(&result));
}

/// 2 of 2^6 orders of six starts are as clear as all of them.
#[test]
fn where_pairs_share_starts_counts_are_judged_by_starts() {
    let failing = |per_start: &[u64]| {
        let mut document = started(&[("low", 0.25)], 2);
        for (start, failed) in per_start.iter().enumerate() {
            fail(&mut document, (1, 2 * start), *failed);
            fail(&mut document, (1, 2 * start + 1), *failed);
        }
        let result = result(&document);
        let found = failures(&result);
        assert_eq!((found.starts, found.pairs), (Some(6), 12));
        (found.p.unwrap(), found.verdict)
    };
    assert_eq!(failing(&[3, 4, 5, 6, 7, 8]), (2.0 / 64.0, Verdict::Worse));
    // Six pairs of one sign on three starts would be 2 of 2^6 orders, were they samples.
    assert_eq!(failing(&[3, 4, 5]), (2.0 / 8.0, Verdict::Undecided));
}

/// Messages fail in bursts, a block in three has one, in both arms alike: told apart in 5 % of trials at most, and by totals
/// under a Poisson's law in most.
#[test]
fn bursts_that_come_to_both_arms_alike_are_hardly_ever_taken_for_a_difference() {
    let mut random = Random::new(5);
    let (mut by_ranks, mut by_poisson) = (0, 0);
    for _ in 0..100 {
        let mut document = trial_of(&[("same", 1.0)], 12, 1);
        for step in 0..2 {
            for block in 0..12 {
                if random.unit() < 1.0 / 3.0 {
                    fail(&mut document, (step, block), (-100.0 * (1.0 - random.unit()).ln()) as u64);
                }
            }
        }
        let [against, arm] = [0, 1].map(|step: usize| {
            document.steps[step].blocks.iter().map(|block| block.counts.failed).sum::<u64>()
        });
        // Both sent as many: by a Poisson's law each failure is as likely to be of either.
        let p = 2.0 * binomial_at_most(against.min(arm), against + arm, 0.5).unwrap();
        by_poisson += u32::from(p <= 0.05);
        by_ranks += u32::from(failures(&result(&document)).verdict != Verdict::Undecided);
    }
    assert!(by_ranks <= 11 && by_poisson >= 70, "{by_ranks} by ranks, {by_poisson} by a Poisson's law");
}

#[test]
fn a_worse_far_tail_vetoes() {
    let mut document = trial_of(&[("low", 0.5)], 12, 1);
    for (step, p999_ns) in [(0, 20_000_000), (1, 60_000_000), (2, 20_000_000)] {
        for block in &mut document.steps[step].blocks {
            block.end_to_end.samples = 20_000;
            block.end_to_end.p999_ns = Some(p999_ns + u64::from(block.block) * 1_000);
        }
    }
    let result = result(&document);
    assert_eq!(verdict(&result), Verdict::Undecided);
    assert!(result.verdicts[0].vetoes[0].contains("p99.9 of end-to-end latency"), "{:?}", result.verdicts);
}

#[test]
fn where_blocks_are_too_short_for_a_p99_9_a_worse_p99_vetoes() {
    let mut document = trial_of(&[("low", 0.5)], 12, 1);
    document.plan.trial.as_mut().unwrap().primary = "end_to_end.mean".to_owned();
    for (step, mean_ns) in [(0, 4e6), (1, 1e6), (2, 4e6)] {
        for block in &mut document.steps[step].blocks {
            block.end_to_end.mean_ns = Some(mean_ns * (1.0 + 0.001 * f64::from(block.block)));
            let p99_ns = if step == 1 { 60_000_000 } else { 20_000_000 };
            block.end_to_end.p99_ns = Some(p99_ns + u64::from(block.block) * 1_000);
        }
    }
    let short = result(&document);
    assert_eq!(verdict(&short), Verdict::Undecided);
    assert!(short.verdicts[0].vetoes[0].contains("p99 of end-to-end latency"), "{:?}", short.verdicts);
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        block.end_to_end.samples = 20_000;
        block.end_to_end.p999_ns = Some(70_000_000 + u64::from(block.block) * 1_000);
    }
    assert_eq!(verdict(&result(&document)), Verdict::Better, "the far tail is p99.9 where it is known");
}
