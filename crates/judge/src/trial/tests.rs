//! Trials of known truth: what was put in is what comes out.

use super::{Trial, decided};
use crate::healthy::healthy;
use crate::judge;
use plumb_model::document::{BlockResult, Effective, RunDocument, RunState};
use plumb_model::facts::{CpuTime, HostDelta};
use plumb_model::observation::{Counts, Distribution};
use plumb_model::trial::{
    Against, ArmPlan, MetricResult, MetricRole, TrialMethod, TrialPlan, TrialResult, TrialVerdict,
};
use plumb_stats::random::Random;
use std::collections::BTreeMap;

/// Standard deviation of what a round does to all of its blocks, and of what each block has of its own.
const SHARED_SD: f64 = 0.2;
const OWN_SD: f64 = 0.03;
const MESSAGES: u64 = 2_000;

/// A trial of arms whose latency is so many times the reference's, over so many rounds.
fn trial_of(arms: &[(&str, f64)], rounds: u32, seed: u64) -> RunDocument {
    let mut document = healthy();
    let mut random = Random::new(seed);
    let shared: Vec<f64> = (0..rounds).map(|_| (SHARED_SD * random.normal()).exp()).collect();
    let all: Vec<(&str, f64)> =
        [("default", 1.0)].iter().chain(arms).chain(&[("default, again", 1.0)]).copied().collect();
    let (step, plan) = (document.steps[0].clone(), document.plan.steps[0].clone());
    (document.steps, document.plan.steps) = (Vec::new(), Vec::new());
    for (name, factor) in &all {
        let mut step = step.clone();
        step.name = (*name).to_owned();
        step.series = Vec::new();
        step.effective.producer.insert("queue.buffering.max.ms".to_owned(), format!("{factor}"));
        step.blocks = (0..rounds)
            .map(|round| {
                let own = (OWN_SD * random.normal()).exp();
                block(round, 5e6 * factor * shared[round as usize] * own)
            })
            .collect();
        document.steps.push(step);
        let mut plan = plan.clone();
        plan.name = (*name).to_owned();
        document.plan.steps.push(plan);
    }
    let arm = |step: usize, (name, factor): &(&str, f64)| ArmPlan {
        name: (*name).to_owned(),
        step,
        differences: match step {
            0 => BTreeMap::new(),
            _ => BTreeMap::from([("producer.linger.ms".to_owned(), format!("{factor}"))]),
        },
        before: None,
        after: None,
        host: BTreeMap::new(),
    };
    document.plan.blocks = rounds;
    document.plan.trial = Some(TrialPlan {
        arms: all[..all.len() - 1].iter().enumerate().map(|(step, named)| arm(step, named)).collect(),
        again: all.len() - 1,
        against: Against::Reference,
        primary: "end_to_end.p99".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: vec![TrialVerdict::Better, TrialVerdict::Equivalent],
    });
    document
}

fn block(round: u32, mean_ns: f64) -> BlockResult {
    let latency = |mean_ns: f64| Distribution {
        samples: MESSAGES,
        mean_ns: Some(mean_ns),
        p50_ns: Some((mean_ns * 0.9) as u64),
        p95_ns: Some((mean_ns * 1.5) as u64),
        p99_ns: Some((mean_ns * 2.0) as u64),
        ..Distribution::default()
    };
    BlockResult {
        block: round,
        counts: Counts {
            intended: MESSAGES,
            sent: MESSAGES,
            acked: MESSAGES,
            received: MESSAGES,
            ..Counts::default()
        },
        achieved_per_s: Some(100.0),
        end_to_end: latency(mean_ns),
        acknowledge: latency(mean_ns * 0.8),
        slip_mean_ns: Some(5_000.0),
        client_cpu_s: Some(0.1),
        ..BlockResult::default()
    }
}

fn result(document: &RunDocument) -> TrialResult {
    judge(document).trial.unwrap()
}

fn primary(result: &TrialResult) -> &MetricResult {
    assert_eq!(result.metrics[0].role, MetricRole::Primary);
    &result.metrics[0]
}

fn verdict(result: &TrialResult) -> TrialVerdict {
    result.verdicts[0].verdict
}

fn caveat<'r>(result: &'r TrialResult, words: &str) -> Option<&'r String> {
    result.caveats.iter().find(|caveat| caveat.contains(words))
}

#[test]
fn an_injected_ratio_comes_out_within_its_interval_and_the_arm_is_better() {
    let result = result(&trial_of(&[("low", 0.25)], 12, 1));
    let p99 = primary(&result);
    let (low, high) = (p99.interval_low.unwrap(), p99.interval_high.unwrap());
    assert!(low > 0.23 && high < 0.27 && high / low < 1.1, "{low}..{high}");
    // All twelve pairs agree: 2 of 2^12 orders of signs are as clear.
    assert_eq!(p99.p, Some(2.0 / 4_096.0));
    assert_eq!((p99.method, p99.pairs, p99.verdict), (TrialMethod::SignedRank, 12, TrialVerdict::Better));
    assert_eq!(verdict(&result), TrialVerdict::Better);
    assert!(result.verdicts[0].vetoes.is_empty() && result.verdicts[0].reason.is_none());
    let floor = result.noise_floor_ratio.unwrap();
    assert!(floor > 1.0 && floor < 1.1, "{floor}");
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
    assert_eq!(verdict(&result(&slow)), TrialVerdict::Worse);
    let mut rate = trial_of(&[("fast", 1.0)], 12, 2);
    rate.plan.trial.as_mut().unwrap().primary = "throughput.produced_per_s".to_owned();
    let mut random = Random::new(5);
    for (step, factor) in [(0, 1.0), (1, 1.3), (2, 1.0)] {
        for block in &mut rate.steps[step].blocks {
            block.achieved_per_s = Some(100.0 * factor * (0.01 * random.normal()).exp());
        }
    }
    let result = result(&rate);
    assert_eq!(verdict(&result), TrialVerdict::Better, "{:?}", result.metrics[0]);
}

/// At 95 % one in twenty at most is told apart; of these 100, whose truth is no difference, five or a few.
#[test]
fn equal_arms_are_rarely_told_apart_and_never_by_much() {
    let told = (0..100).filter(|seed| {
        let result = result(&trial_of(&[("same", 1.0)], 12, 1_000 + seed));
        matches!(verdict(&result), TrialVerdict::Better | TrialVerdict::Worse)
    });
    let told = told.count();
    assert!((1..=11).contains(&told), "{told}");
}

#[test]
fn enough_quiet_pairs_of_equal_arms_are_equivalent_within_the_margin() {
    let mut document = trial_of(&[("same", 1.0)], 40, 7);
    document.plan.trial.as_mut().unwrap().margin = 0.05;
    let of_40 = result(&document);
    assert_eq!(verdict(&of_40), TrialVerdict::Equivalent);
    assert!(of_40.summary[0].contains("equivalent within 5 %"), "{:?}", of_40.summary);
    document.plan.trial.as_mut().unwrap().margin = 0.001;
    let strict = result(&document);
    assert_eq!(verdict(&strict), TrialVerdict::Undecided);
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
    assert_eq!(verdict(&result), TrialVerdict::Undecided);
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
fn lost_messages_veto_an_arm_that_is_faster() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    for block in &mut document.steps[1].blocks {
        (block.counts.lost, block.counts.received) = (3, MESSAGES - 3);
    }
    let result = result(&document);
    assert_eq!(primary(&result).verdict, TrialVerdict::Better);
    assert_eq!(verdict(&result), TrialVerdict::Undecided);
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
    assert_eq!(verdict(&result), TrialVerdict::Undecided);
    assert!(result.verdicts[0].vetoes[0].contains("p99.9 of end-to-end latency"), "{:?}", result.verdicts);
}

/// A host on which the hypervisor took so much of 10,000 ns.
fn host(steal_ns: u64) -> Option<HostDelta> {
    let cpu = CpuTime { steal_ns: Some(steal_ns), total_ns: Some(10_000), ..CpuTime::default() };
    Some(HostDelta { cpu, ..HostDelta::default() })
}

fn steal(document: &mut RunDocument, steal_ns: u64) {
    document.steps.iter_mut().flat_map(|step| &mut step.blocks).for_each(|block| block.host = host(steal_ns));
}

#[test]
fn a_host_that_is_never_quiet_is_what_the_verdict_is_about() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    steal(&mut document, 3_000);
    document.steps[1].blocks[5].host = host(5_000);
    let result = result(&document);
    assert_eq!(result.excluded.iter().map(|pair| pair.round).collect::<Vec<_>>(), [5]);
    assert_eq!((result.pairs, verdict(&result)), (11, TrialVerdict::Better));
    assert!(
        caveat(&result, "the hypervisor took 30 % of the processors' time").is_some(),
        "{:?}",
        result.caveats
    );
}

#[test]
fn noisy_rounds_are_left_out_whole_and_counted() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    steal(&mut document, 200);
    document.steps[2].blocks[4].host = host(3_000);
    document.steps[1].blocks[7].slip_mean_ns = Some(4e9);
    document.steps[0].blocks[9].cut_short = true;
    let result = result(&document);
    assert_eq!(result.pairs, 9);
    let rounds: Vec<u32> = result.excluded.iter().map(|pair| pair.round).collect();
    assert_eq!(rounds, [4, 7]);
    assert!(result.excluded[0].reason.contains("30 %"), "{:?}", result.excluded);
    assert!(primary(&result).values.iter().all(|(round, ..)| ![4, 7, 9].contains(round)));
    assert!(caveat(&result, "2 of 11 pairs are left out").is_some(), "{:?}", result.caveats);
}

/// The reference's usual mean is about 5 ms: 2 ms late is within half of it for every arm, 4 ms is not.
#[test]
fn a_late_generator_is_held_against_the_reference_so_that_no_arms_speed_decides_what_is_left_out() {
    for factor in [0.05, 1.0, 4.0] {
        let mut document = trial_of(&[("low", factor)], 12, 1);
        document.steps[1].blocks[3].slip_mean_ns = Some(1.5e6);
        document.steps[1].blocks[7].slip_mean_ns = Some(4e6);
        let left_out: Vec<u32> = result(&document).excluded.iter().map(|pair| pair.round).collect();
        assert_eq!(left_out, [7], "{factor}");
        document.steps[1].instrument.queue_full_waits = 1;
        assert_eq!(result(&document).excluded.len(), 1, "another block's wait excuses none");
        document.steps[1].blocks[7].queue_full_waits = Some(1);
        assert_eq!(result(&document).excluded, [], "the path's doing, so the arm's own");
    }
}

/// The arm at 0.93 over 12 pairs on so many starts, as the plan has them.
fn started(restart_every: u32) -> RunDocument {
    let mut document = trial_of(&[("other flag", 0.93)], 12, 1);
    document.plan.trial.as_mut().unwrap().restart_every = restart_every;
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        block.broker_start = block.block.checked_div(restart_every).unwrap_or(0);
    }
    document
}

#[test]
fn pairs_that_share_starts_make_the_start_the_unit_whatever_the_data_say() {
    let mut document = started(2);
    let steady = result(&document);
    assert_eq!((primary(&steady).method, verdict(&steady)), (TrialMethod::Starts, TrialVerdict::Better));
    assert!(steady.summary[0].contains("12 pairs on 6 starts"), "{:?}", steady.summary);
    assert_eq!(steady.noise_floor[0].method, TrialMethod::Starts);
    for (index, block) in document.steps[1].blocks.iter_mut().enumerate() {
        let start = [1.12, 0.9, 0.98, 1.2, 0.85, 1.05][index / 2];
        block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|p99| (p99 as f64 * start) as u64);
    }
    let moved = result(&document);
    assert_eq!((primary(&moved).method, verdict(&moved)), (TrialMethod::Starts, TrialVerdict::Undecided));
    let reason = moved.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.starts_with("6 starts of this spread show a difference of"), "{reason}");
    // By hand: log ratios have a standard deviation of about 0.13 over starts, (2.571 + 0.920) * 0.13 / sqrt(6) = 0.19.
    let seen = primary(&moved).smallest_detectable_ratio.unwrap();
    assert!((1.15..1.28).contains(&seen), "{seen}");
}

#[test]
fn where_every_pair_has_a_start_of_its_own_the_pair_is_the_unit() {
    for restart_every in [0, 1] {
        assert_eq!(primary(&result(&started(restart_every))).method, TrialMethod::SignedRank);
    }
}

#[test]
fn a_single_start_of_what_was_to_be_several_decides_nothing_and_says_why() {
    let mut document = started(2);
    for step in &mut document.steps {
        step.blocks.truncate(2);
    }
    let result = result(&document);
    assert_eq!((primary(&result).estimate_ratio, verdict(&result)), (None, TrialVerdict::Undecided));
    let reason = result.verdicts[0].reason.as_ref().unwrap();
    assert!(reason.contains("the start is the unit: it takes 2, and there is 1"), "{reason}");
    assert_eq!(result.noise_floor_ratio, None);
}

#[test]
fn a_trial_whose_pairs_share_starts_is_never_stopped_early() {
    let mut document = started(2);
    for block in &mut document.steps[1].blocks {
        block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|p99| p99 / 2);
    }
    document.plan.trial.as_mut().unwrap().until_decided = true;
    assert_eq!(decided(&document), None);
    document.plan.trial.as_mut().unwrap().restart_every = 1;
    assert!(decided(&document).is_some());
}

#[test]
fn unequal_guarantees_are_said_before_anything_else() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[1].durability.acks = Some("0".to_owned());
    document.steps[1].effective.producer.insert("security.protocol".to_owned(), "plaintext".to_owned());
    document.steps[0].effective.producer.insert("security.protocol".to_owned(), "ssl".to_owned());
    let result = result(&document);
    assert_eq!(
        result.unequal_guarantees,
        [
            "\"default\" and \"low\" differ in durability and security, so in what they promise (acks: 1 / 0; producer \
             security.protocol: ssl / plaintext)"
        ]
    );
    assert!(
        result.summary[0].starts_with("\"default\" and \"low\" differ in durability"),
        "{:?}",
        result.summary
    );
    assert_eq!(result.arms[1].effective_differences["producer.security.protocol"], "plaintext");
}

#[test]
fn what_was_asked_for_and_is_not_in_effect_is_said() {
    let mut document = trial_of(&[("low", 1.0)], 12, 1);
    let value = document.steps[0].effective.producer.clone();
    document.steps[1].effective.producer = value;
    let result = result(&document);
    assert!(caveat(&result, "it is not in effect").is_some(), "{:?}", result.caveats);
    assert!(result.arms[1].effective_differences.is_empty());
    document.steps[1].effective = Effective::default();
    assert!(
        caveat(&judge(&document).trial.unwrap(), "not in effect").is_none(),
        "what is not known is no finding"
    );
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
fn a_generator_that_was_the_bound_proves_nothing_of_the_arms() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[1].slip.mean_ns = Some(9e8);
    let result = result(&document);
    assert_eq!(verdict(&result), TrialVerdict::Undecided);
    assert!(result.verdicts[0].vetoes[0].contains("not fit for use"), "{:?}", result.verdicts);
}

#[test]
fn whatever_makes_the_run_unfit_for_use_vetoes() {
    let mut failed = trial_of(&[("low", 0.25)], 12, 1);
    failed.run.state = RunState::Failed { error: "the brokers are gone".to_owned() };
    let mut outgrown = trial_of(&[("low", 0.25)], 12, 1);
    outgrown.steps[0].latency.end_to_end.overflow = 1;
    for document in [failed, outgrown] {
        let result = result(&document);
        assert_eq!(primary(&result).verdict, TrialVerdict::Better);
        assert_eq!(verdict(&result), TrialVerdict::Undecided);
        assert!(result.verdicts[0].vetoes[0].contains("not fit for use"), "{:?}", result.verdicts);
        assert_eq!(result.noise_floor_ratio, None, "{:?}", result.caveats);
    }
}

/// Messages that fail have no latency, so the arm's is flattered.
#[test]
fn failed_messages_take_nothing_from_a_verdict_against_their_own_arm() {
    let verdict_of = |factor: f64, failing: usize| {
        let mut document = trial_of(&[("other", factor)], 12, 1);
        let step = &mut document.steps[failing];
        let (counts, latency) = (&mut step.counts, &mut step.latency.acknowledge);
        counts.failed = counts.sent / 10;
        counts.acked -= counts.failed;
        latency.samples -= counts.failed;
        verdict(&result(&document))
    };
    let (arm, reference) = (1, 0);
    assert_eq!(verdict_of(2.0, arm), TrialVerdict::Worse);
    assert_eq!(verdict_of(0.5, arm), TrialVerdict::Undecided);
    assert_eq!(verdict_of(0.5, reference), TrialVerdict::Better);
    assert_eq!(verdict_of(2.0, reference), TrialVerdict::Undecided);
}

/// Its latency grows with the block, so the ratio is at least what it would be.
#[test]
fn an_arm_that_does_not_keep_up_stays_worse_and_cannot_be_better() {
    let verdict_of = |factor: f64, slow: usize| {
        let mut document = trial_of(&[("other", factor)], 12, 1);
        let step = &mut document.steps[slow];
        let achieved_per_s = step.asked_per_s.map(|asked| 0.8 * asked);
        step.achieved_per_s = achieved_per_s;
        step.blocks.iter_mut().for_each(|block| block.achieved_per_s = achieved_per_s);
        let result = result(&document);
        assert_eq!(result.verdicts[0].vetoes.is_empty(), verdict(&result) != TrialVerdict::Undecided);
        verdict(&result)
    };
    let (arm, reference) = (1, 0);
    assert_eq!(verdict_of(2.0, arm), TrialVerdict::Worse);
    assert_eq!(verdict_of(0.5, arm), TrialVerdict::Undecided);
    assert_eq!(verdict_of(0.5, reference), TrialVerdict::Better);
    assert_eq!(verdict_of(2.0, reference), TrialVerdict::Undecided);
}

#[test]
fn a_fault_of_the_references_repetition_leaves_the_noise_floor_unknown_and_the_arm_its_verdict() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[2].slip.mean_ns = Some(9e8);
    let result = result(&document);
    assert_eq!((result.noise_floor_ratio, verdict(&result)), (None, TrialVerdict::Better));
    let said = caveat(&result, "How much equal arms differ here is not known");
    assert!(said.is_some_and(|said| said.contains("default, again")), "{:?}", result.caveats);
}

#[test]
fn a_trial_that_its_user_stopped_says_what_that_does_to_its_intervals() {
    let mut document = trial_of(&[("low", 0.25)], 8, 1);
    document.plan.blocks = 12;
    document.run.state = RunState::Interrupted;
    let result = result(&document);
    let said = caveat(&result, "The trial was stopped: 8 of 12 planned pairs were run");
    assert!(said.is_some_and(|said| said.contains("--until-decided")), "{:?}", result.caveats);
}

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
    assert_eq!((p99.method, p99.verdict), (TrialMethod::SignEProcess, TrialVerdict::Better));
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
        let logs: Vec<f64> = trial
            .rounds
            .kept
            .iter()
            .map(|round| {
                let of = |arm: usize| trial.arms[arm].blocks[round].end_to_end.p99_ns.unwrap() as f64;
                (of(1) / of(0)).ln()
            })
            .collect();
        super::anytime::p(&logs) <= 0.05
    });
    assert!(found.count() <= 4);
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
