//! A trial of one arm, and one of several arms against each other. The figures are made up.

use super::{full, properties};
use plumb_model::document::RunDocument;
use plumb_model::finding::{Finding, Severity};
use plumb_model::trial::{
    Against, ArmPlan, ArmResult, ArmVerdict, ExcludedPair, Good, MetricResult, MetricRole, PairValues,
    TRIAL_SCHEMA_VERSION, TrialMethod, TrialPlan, TrialResult,
};
use plumb_model::verdict::Verdict;
use std::collections::BTreeMap;

const PAIRS: u32 = 12;

/// linger.ms 0 against 5: better, with a guardrail that could not be told and a round left out.
pub(crate) fn one_arm() -> RunDocument {
    let mut metrics = vec![
        metric("end_to_end.p99", MetricRole::Primary, ("low", "default"), 9.2e6, 0.38),
        metric("end_to_end.p999", MetricRole::Guardrail, ("low", "default"), 0.0, 1.0),
        metric("end_to_end.mean", MetricRole::Secondary, ("low", "default"), 6.1e6, 0.19),
        metric("cpu.client_per_message", MetricRole::Secondary, ("low", "default"), 41.0, 1.0),
        metric("loss.lost", MetricRole::Guardrail, ("low", "default"), 0.0, 1.0),
        metric("errors.failed", MetricRole::Guardrail, ("low", "default"), 0.0, 1.0),
    ];
    let tail = &mut metrics[1];
    (tail.estimate_ratio, tail.interval_low, tail.interval_high, tail.p, tail.p_adjusted) =
        (None, None, None, None, None);
    (tail.smallest_detectable_ratio, tail.against_median, tail.arm_median) = (None, None, None);
    (tail.values, tail.pairs) = (Vec::new(), 0);
    tail.absent = Some("needs 10000 messages a block, and a block has 1000".to_owned());
    for count in &mut metrics[4..] {
        (count.method, count.unit, count.estimate_ratio) = (TrialMethod::Counts, "share".to_owned(), None);
        (count.interval_low, count.interval_high, count.smallest_detectable_ratio) = (None, None, None);
        count.verdict = Verdict::Undecided;
    }
    metrics[4].absent = Some("none of 12000 -> none of 12000".to_owned());
    let failed = &mut metrics[5];
    failed.values[3].arm = 0.002;
    failed.p = Some(1.0);
    failed.absent = Some("none of 12000 -> 2 of 12000 (0.02 %)".to_owned());
    let result = TrialResult {
        excluded: vec![ExcludedPair {
            round: 4,
            reason: "\"low\": the hypervisor took 31 % of the processors' time (rule: at most 10 %)".to_owned(),
            seen_in: vec!["low".to_owned()],
        }],
        unequal_guarantees: vec![
            "\"default\" and \"low\" differ in durability, so in what they promise (acks: all / 1)".to_owned(),
        ],
        verdicts: vec![verdict("low", "default", Verdict::Better)],
        summary: vec![
            "\"low\" is better than \"default\": p99 of end-to-end latency 9.20 ms -> 3.50 ms (medians of blocks), ratio of typical pairs \
             0.38 (95 % 0.37 to 0.39), 11 pairs."
                .to_owned(),
            "Equal arms may differ by up to 4 % here.".to_owned(),
            "Nothing else is shown to be worse; 1 finding below.".to_owned(),
        ],
        findings: vec![Finding::new(
            "pairs-left-out",
            Severity::Note,
            "1 of 12 pairs is left out by the rules on noise; with them the verdicts would be the same.".to_owned(),
        )],
        ..result(&["default", "low"], metrics)
    };
    document(&["default", "low"], result)
}

/// Four arms, each against each: some differ, some not, one veto.
pub(crate) fn several_arms() -> RunDocument {
    let names = ["default", "linger 0", "fetch 10 ms", "both"];
    let levels = [1.0, 0.62, 0.97, 0.55];
    let (mut metrics, mut verdicts) = (Vec::new(), Vec::new());
    for arm in 1..names.len() {
        for against in 0..arm {
            let ratio: f64 = levels[arm] / levels[against];
            let pair = (names[arm], names[against]);
            metrics.push(metric("end_to_end.p99", MetricRole::Primary, pair, 9.2e6 * levels[against], ratio));
            metrics.push(metric(
                "cpu.client_per_message",
                MetricRole::Secondary,
                pair,
                40.0,
                1.0 + 0.1 * arm as f64,
            ));
            let told = metrics[metrics.len() - 2].verdict;
            verdicts.push(verdict(pair.0, pair.1, told));
        }
    }
    let vetoed = verdicts.last_mut().expect("there are some");
    vetoed.verdict = Verdict::Undecided;
    vetoed.vetoes =
        vec!["\"both\" has more messages that failed: none of 12000 -> 40 of 12000 (0.33 %)".to_owned()];
    vetoed.reason = vetoed.vetoes.first().cloned();
    metrics.sort_by_key(|metric| metric.role != MetricRole::Primary);
    let result = TrialResult { verdicts, ..result(&names, metrics) };
    document(&names, result)
}

fn document(names: &[&str], result: TrialResult) -> RunDocument {
    let mut document = full();
    document.steps.truncate(names.len() + 1);
    document.plan.steps.truncate(names.len() + 1);
    document.comparisons.clear();
    document.findings.clear();
    document.validity.reasons.retain(|reason| reason.step.is_none());
    let again = format!("{}, again", names[0]);
    for (index, name) in names.iter().copied().chain([again.as_str()]).enumerate() {
        document.steps[index].name = name.to_owned();
        document.plan.steps[index].name = name.to_owned();
    }
    document.plan.trial = Some(TrialPlan {
        arms: names
            .iter()
            .enumerate()
            .map(|(step, name)| ArmPlan {
                name: (*name).to_owned(),
                step,
                differences: BTreeMap::new(),
                before: None,
                after: None,
                host: BTreeMap::new(),
            })
            .collect(),
        again: names.len(),
        against: Against::Reference,
        primary: "end_to_end.p99".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: vec![Verdict::Better, Verdict::Equivalent],
    });
    document.summary = result.summary.clone();
    document.trial = Some(result);
    document
}

fn result(names: &[&str], metrics: Vec<MetricResult>) -> TrialResult {
    let again = format!("{}, again", names[0]);
    let floor = metric("end_to_end.p99", MetricRole::Primary, (&again, names[0]), 9.2e6, 1.0);
    TrialResult {
        schema_version: TRIAL_SCHEMA_VERSION,
        run_id: "5d1c0b7fa9e3428e".to_owned(),
        outcome: None,
        name: "linger".to_owned(),
        seed: 7,
        arms: names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let differences = match index {
                    0 => BTreeMap::new(),
                    _ => properties(&[("producer.linger.ms", "0")]),
                };
                ArmResult {
                    name: (*name).to_owned(),
                    effective_differences: match index {
                        0 => BTreeMap::new(),
                        _ => properties(&[("producer.queue.buffering.max.ms", "0")]),
                    },
                    differences,
                    blocks: PAIRS,
                    warm_up_cut_mean_s: Some(0.4),
                }
            })
            .collect(),
        pairs: PAIRS - 1,
        pairs_planned: PAIRS,
        excluded: Vec::new(),
        metrics,
        noise_floor_ratio: Some(1.04),
        noise_floor: vec![floor],
        unequal_guarantees: Vec::new(),
        verdicts: Vec::new(),
        summary: vec!["Of 6 pairs of arms, 3 better and 3 undecided.".to_owned()],
        findings: Vec::new(),
    }
}

fn verdict(arm: &str, against: &str, verdict: Verdict) -> ArmVerdict {
    let reason = (verdict == Verdict::Undecided)
        .then(|| "11 pairs of this spread show a difference of 4.0 % or more in 4 of 5 trials".to_owned());
    ArmVerdict { arm: arm.to_owned(), against: against.to_owned(), verdict, vetoes: Vec::new(), reason }
}

/// A metric whose pairs scatter by some percent around the ratio.
fn metric(
    name: &str,
    role: MetricRole,
    (arm, against): (&str, &str),
    level: f64,
    ratio: f64,
) -> MetricResult {
    // Fixed scatter: what is looked at is the rendering.
    let scatter = |round: u32, of: u32| 1.0 + 0.03 * f64::from((round * 7 + of * 5) % 11) / 5.0 - 0.03;
    let values: Vec<PairValues> = (0..PAIRS)
        .filter(|round| *round != 4)
        .map(|round| {
            let moment = 1.0 + 0.25 * f64::from((round * 5) % 7) / 6.0;
            PairValues {
                round,
                against: level * moment * scatter(round, 1),
                arm: level * ratio * moment * scatter(round, 2),
            }
        })
        .collect();
    let differs = (ratio - 1.0).abs() > 0.04;
    MetricResult {
        name: name.to_owned(),
        unit: if name.starts_with("cpu") { "us" } else { "ns" }.to_owned(),
        role,
        good: Good::Lower,
        arm: arm.to_owned(),
        against: against.to_owned(),
        estimate_ratio: Some(ratio * 1.002),
        interval_low: Some(ratio * 0.97),
        interval_high: Some(ratio * 1.03),
        level: 0.95,
        verdict: match (differs, ratio < 1.0) {
            (true, true) => Verdict::Better,
            (true, false) => Verdict::Worse,
            (false, _) => Verdict::Undecided,
        },
        smallest_detectable_ratio: Some(1.041),
        p: Some(if differs { 0.000_976 } else { 0.52 }),
        p_adjusted: Some(if differs { 0.000_976 } else { 0.52 }),
        method: TrialMethod::SignedRank,
        pairs: values.len() as u32,
        starts: None,
        against_median: Some(level * 1.12),
        arm_median: Some(level * ratio * 1.12),
        values,
        absent: None,
        clock_error: None,
    }
}
