//! Trials made up so that their truth is known, and what is read off their results.

use crate::healthy::healthy;
use crate::judge;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::observation::{Counts, Distribution};
use plumb_model::trial::{Against, ArmPlan, MetricResult, MetricRole, TrialPlan, TrialResult};
use plumb_model::verdict::Verdict;
use plumb_stats::random::Random;
use std::collections::BTreeMap;

/// Standard deviation of what a round does to all of its blocks, and of what each block has of its own.
const SHARED_SD: f64 = 0.2;
const OWN_SD: f64 = 0.03;
pub(crate) const MESSAGES: u64 = 2_000;

/// A trial of arms whose latency is so many times the reference's, over so many rounds.
pub(crate) fn trial_of(arms: &[(&str, f64)], rounds: u32, seed: u64) -> RunDocument {
    trial_on(arms, rounds, seed, OWN_SD)
}

/// The same where each block has so much of its own: the standard deviation of its logarithm.
pub(crate) fn trial_on(arms: &[(&str, f64)], rounds: u32, seed: u64, own_sd: f64) -> RunDocument {
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
                let own = (own_sd * random.normal()).exp();
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
    in_random_order(&mut document, rounds, seed);
    document.plan.blocks = rounds;
    document.plan.trial = Some(TrialPlan {
        arms: all[..all.len() - 1].iter().enumerate().map(|(step, named)| arm(step, named)).collect(),
        again: all.len() - 1,
        against: Against::Reference,
        primary: "end_to_end.p99".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: vec![Verdict::Better, Verdict::Equivalent],
    });
    document
}

/// Each round's blocks one after the other, in an order drawn for that round.
fn in_random_order(document: &mut RunDocument, rounds: u32, seed: u64) {
    let steps = document.steps.len();
    for round in 0..rounds {
        let order = Random::for_part(seed, u64::from(round)).order(steps);
        for (place, step) in order.into_iter().enumerate() {
            document.steps[step].blocks[round as usize].position = round * steps as u32 + place as u32;
        }
    }
}

/// Equal arms over so many pairs.
pub(crate) fn equal(pairs: u32) -> RunDocument {
    trial_of(&[("same", 1.0)], pairs, 1)
}

/// Arms over 12 pairs, so many of them on each start.
pub(crate) fn started(arms: &[(&str, f64)], restart_every: u32) -> RunDocument {
    let mut document = trial_of(arms, 12, 1);
    document.plan.trial.as_mut().unwrap().restart_every = restart_every;
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        block.broker_start = block.block.checked_div(restart_every).unwrap_or(0);
    }
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

pub(crate) fn result(document: &RunDocument) -> TrialResult {
    judge(document).trial.unwrap()
}

pub(crate) fn primary(result: &TrialResult) -> &MetricResult {
    assert_eq!(result.metrics[0].role, MetricRole::Primary);
    &result.metrics[0]
}

pub(crate) fn verdict(result: &TrialResult) -> Verdict {
    result.verdicts[0].verdict
}

pub(crate) fn caveat<'r>(result: &'r TrialResult, words: &str) -> Option<&'r String> {
    result.findings.iter().map(|finding| &finding.claim).find(|claim| claim.contains(words))
}
