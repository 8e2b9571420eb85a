//! The estimates of known effects: estimates, intervals and the four verdicts.

use super::trials::{caveat, primary, result, trial_of, verdict};
use crate::trial::values::log_ratios;
use plumb_model::plan::{Payload, Schedule};
use plumb_model::trial::{Against, MetricResult, MetricRole, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::paired::standard_deviation;
use plumb_stats::power::detectable_ratio;
use plumb_stats::random::Random;

#[test]
fn an_injected_ratio_comes_out_within_its_interval_and_the_arm_is_better() {
    let result = result(&trial_of(&[("low", 0.25)], 12, 1));
    let p99 = primary(&result);
    let (low, high) = (p99.interval_low.unwrap(), p99.interval_high.unwrap());
    assert!(low > 0.23 && high < 0.27 && high / low < 1.1, "{low}..{high}");
    // All twelve pairs agree: 2 of 2^12 orders of signs are as clear.
    assert_eq!(p99.p, Some(2.0 / 4_096.0));
    assert_eq!((p99.method, p99.pairs, p99.verdict), (TrialMethod::SignedRank, 12, Verdict::Better));
    assert_eq!(verdict(&result), Verdict::Better);
    assert!(result.verdicts[0].vetoes.is_empty() && result.verdicts[0].reason.is_none());
    let floor = result.noise_floor_ratio.unwrap();
    assert!(floor > 1.0 && floor < 1.1, "{floor}");
}

#[test]
fn the_summary_says_that_figures_are_medians_of_blocks_and_what_else_the_arm_saves() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    let summary = result(&document).summary;
    assert!(summary[0].contains(" ms (medians of blocks), ratio of typical pairs ×0.2"), "{summary:?}");
    assert!(!summary[2].contains("better: "), "the other latencies say nothing new: {summary:?}");
    for block in &mut document.steps[1].blocks {
        block.client_cpu_s = block.client_cpu_s.map(|cpu_s| cpu_s * 0.25);
    }
    let summary = result(&document).summary;
    assert!(
        summary[2].starts_with(
            "Nothing else is shown to be worse; better: the client's CPU time per message, ratio ×0.250"
        ),
        "{summary:?}"
    );
}

/// 95 % of intervals hold the truth: of these 60, 57 or so.
#[test]
fn intervals_hold_an_injected_ratio_as_often_as_they_say() {
    let held = (0..60).filter(|seed| {
        let result = result(&trial_of(&[("low", 0.25)], 12, *seed));
        let p99 = primary(&result);
        p99.interval_low.unwrap() <= 0.25 && 0.25 <= p99.interval_high.unwrap()
    });
    let held = held.count();
    assert!((52..60).contains(&held), "{held}");
}

#[test]
fn the_same_ratio_the_other_way_is_worse_and_of_a_rate_more_is_better() {
    let slow = trial_of(&[("slow", 1.5)], 12, 2);
    assert_eq!(verdict(&result(&slow)), Verdict::Worse);
    let mut rate = trial_of(&[("fast", 1.0)], 12, 2);
    rate.plan.trial.as_mut().unwrap().primary = "throughput.produced_per_s".to_owned();
    for (plan, step) in rate.plan.steps.iter_mut().zip(&mut rate.steps) {
        (plan.load.rate_per_s, plan.load.schedule, step.asked_per_s) = (None, Schedule::Saturating, None);
    }
    let mut random = Random::new(5);
    for (step, factor) in [(0, 1.0), (1, 1.3), (2, 1.0)] {
        for block in &mut rate.steps[step].blocks {
            block.achieved_per_s = Some(100.0 * factor * (0.01 * random.normal()).exp());
        }
    }
    let result = result(&rate);
    assert_eq!(verdict(&result), Verdict::Better, "{:?}", result.metrics[0]);
}

/// At 95 % one in twenty at most is told apart; of these 100, whose truth is no difference, five or a few.
#[test]
fn equal_arms_are_rarely_told_apart_and_never_by_much() {
    let told = (0..100).filter(|seed| {
        let result = result(&trial_of(&[("same", 1.0)], 12, 1_000 + seed));
        matches!(verdict(&result), Verdict::Better | Verdict::Worse)
    });
    let told = told.count();
    assert!((1..=11).contains(&told), "{told}");
}

/// The smallest detectable effect and the largest difference of equal arms that a result states are of the pairs that count.
#[test]
fn what_could_have_been_seen_is_of_the_pairs_that_were_used() {
    let mut document = trial_of(&[("low", 0.7)], 14, 1);
    for round in [3, 8] {
        document.steps[1].blocks[round].slip_mean_ns = Some(4e9);
    }
    let result = result(&document);
    let p99 = primary(&result);
    assert_eq!((p99.pairs, p99.starts, result.pairs), (12, None, 12));
    for metric in [p99, &result.noise_floor[0]] {
        let sd = standard_deviation(&log_ratios(&metric.values)).unwrap();
        assert_eq!(metric.smallest_detectable_ratio, detectable_ratio(sd, 12, 0.95, 0.8));
    }
    let floor = &result.noise_floor[0];
    let ends = [floor.interval_high.unwrap(), 1.0 / floor.interval_low.unwrap()];
    assert_eq!(result.noise_floor_ratio, Some(ends[0].max(ends[1])));
}

#[test]
fn enough_quiet_pairs_of_equal_arms_are_equivalent_within_the_margin() {
    let mut document = trial_of(&[("same", 1.0)], 40, 7);
    document.plan.trial.as_mut().unwrap().margin = 0.05;
    let of_40 = result(&document);
    assert_eq!(verdict(&of_40), Verdict::Equivalent);
    assert!(of_40.summary[0].contains("equivalent within 5 %"), "{:?}", of_40.summary);
    document.plan.trial.as_mut().unwrap().margin = 0.001;
    let strict = result(&document);
    assert_eq!(verdict(&strict), Verdict::Undecided);
    let reason = strict.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.contains("40 pairs of this spread show a difference of"), "{reason}");
    assert!(!strict.summary.join(" ").contains("no change"), "{:?}", strict.summary);
}

#[test]
fn too_few_pairs_have_no_estimate_and_say_how_many_it_takes() {
    let result = result(&trial_of(&[("low", 0.25)], 5, 1));
    let p99 = primary(&result);
    assert_eq!((p99.estimate_ratio, p99.interval_low, p99.p), (None, None, None));
    assert_eq!(p99.absent.as_deref(), Some("95 % needs 6 pairs, and there are 5"));
    assert_eq!(verdict(&result), Verdict::Undecided);
    assert_eq!(result.noise_floor_ratio, None);
}

#[test]
fn a_quantile_without_messages_enough_is_absent_and_says_why() {
    let result = result(&trial_of(&[("low", 0.25)], 8, 1));
    let tail = result.metrics.iter().find(|metric| metric.name == "end_to_end.p999").unwrap();
    assert_eq!((tail.estimate_ratio, tail.pairs), (None, 0));
    assert!(tail.absent.as_ref().unwrap().contains("needs 10000 messages a block"), "{:?}", tail.absent);
    assert_eq!(tail.role, MetricRole::Guardrail);
}

#[test]
fn several_arms_are_allowed_for() {
    let arms = [("a", 0.975), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)];
    let result = result(&trial_of(&arms, 12, 3));
    let primaries: Vec<&MetricResult> =
        result.metrics.iter().filter(|metric| metric.role == MetricRole::Primary).collect();
    assert_eq!((primaries.len(), result.verdicts.len()), (5, 5));
    assert!(primaries.iter().all(|metric| metric.p_adjusted >= metric.p));
    let least = primaries.iter().filter_map(|metric| metric.p).fold(1.0, f64::min);
    let adjusted = primaries.iter().filter_map(|metric| metric.p_adjusted).fold(1.0, f64::min);
    assert!((adjusted - 5.0 * least).abs() < 1e-12, "{least} {adjusted}");
    assert!(result.summary[0].starts_with("Of 5 pairs of arms"), "{:?}", result.summary);
    // The verdicts allow for five comparisons, so does what they could have shown.
    for metric in primaries {
        let sd = standard_deviation(&log_ratios(&metric.values)).unwrap();
        assert_eq!(metric.smallest_detectable_ratio, detectable_ratio(sd, 12, 0.99, 0.8));
    }
}

#[test]
fn each_against_each_holds_only_arms_of_equal_load_against_each_other() {
    let mut document = trial_of(&[("a", 0.5), ("b", 1.0), ("c", 2.0)], 8, 3);
    document.plan.trial.as_mut().unwrap().against = Against::EachOther;
    document.plan.steps[2].load.rate_per_s = Some(300.0);
    document.plan.steps[3].load.rate_per_s = Some(300.0);
    let pairs: Vec<(String, String)> =
        result(&document).verdicts.iter().map(|it| (it.arm.clone(), it.against.clone())).collect();
    let names = |arm: &str, against: &str| (arm.to_owned(), against.to_owned());
    assert_eq!(pairs, [names("a", "default"), names("c", "b")]);
}

#[test]
fn whatever_loads_differ_in_but_their_length_keeps_arms_apart_and_is_named_where_they_are_held_together() {
    let mut document = trial_of(&[("a", 0.5), ("b", 1.0), ("c", 2.0)], 8, 3);
    document.plan.steps[2].load.payload = Payload::Entropy(0.0);
    document.plan.steps[3].load.producers = 4;
    let by_reference = result(&document);
    assert!(caveat(&by_reference, "\"a\" has another load").is_none(), "{:?}", by_reference.findings);
    for said in [
        "\"b\" has another load than \"default\" (payload: {\"entropy\":1.0} / {\"entropy\":0.0})",
        "\"c\" has another load than \"default\" (producers: 1 / 4)",
    ] {
        assert!(caveat(&by_reference, said).is_some(), "{said}: {:?}", by_reference.findings);
    }
    assert_eq!(by_reference.arms[3].effective_differences["load.producers"], "4");
    document.plan.trial.as_mut().unwrap().against = Against::EachOther;
    let verdicts = result(&document).verdicts;
    assert_eq!(
        (verdicts.len(), &verdicts[0].arm[..], crate::trial::comparisons(&document.plan)),
        (1, "a", 1)
    );
}

/// A block at a fixed rate lacks the latency of its last messages: 20 s of load and 1.7 s until all is acknowledged.
#[test]
fn at_a_fixed_rate_the_throughput_says_nothing_and_decides_nothing() {
    let mut document = trial_of(&[("low", 0.5)], 12, 1);
    document.steps[1].blocks.iter_mut().for_each(|block| block.achieved_per_s = Some(92.0));
    let judged = result(&document);
    assert_eq!(verdict(&judged), Verdict::Better, "{:?}", judged.verdicts);
    assert!(judged.metrics.iter().all(|metric| !metric.name.starts_with("throughput.")));
    document.plan.trial.as_mut().unwrap().primary = "throughput.produced_per_s".to_owned();
    let judged = result(&document);
    assert_eq!(verdict(&judged), Verdict::Undecided);
    let reason = judged.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.contains("throughput.produced_per_s, says nothing of these arms"), "{reason}");
}
