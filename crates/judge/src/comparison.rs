//! Steps of equal load held against each other over paired blocks.
//!
//! Blocks of one round ran next to each other in time, so what disturbed the machine disturbed both: the ratio is taken
//! within each round, and its interval and p come from how much the rounds agree. All comparisons of a run are one
//! family: intervals hold together (Bonferroni), p values are Holm's, and a difference is called one when Holm's p is
//! below 1 - level. Rarely, Holm tells a difference whose more cautious interval still touches 1.

use crate::durability;
use crate::rule::Case;
use crate::setup::Setup;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::finding::{Comparison, ComparisonVerdict};
use plumb_model::sweep::SweepResult;
use plumb_stats::multiple::holm;
use plumb_stats::paired::{PAIRS_MIN, Pair, PairedRatio, paired_ratio};
use std::collections::BTreeMap;

/// Mean of a block's end-to-end latency.
pub(crate) const END_TO_END_MEAN: &str = "end_to_end.mean";
/// Median of a block's end-to-end latency.
pub(crate) const END_TO_END_P50: &str = "end_to_end.p50";
/// 99th percentile of a block's end-to-end latency.
pub(crate) const END_TO_END_P99: &str = "end_to_end.p99";
/// Mean of a block's acknowledge latency: compared where nobody receives.
pub(crate) const ACKNOWLEDGE_MEAN: &str = "acknowledge.mean";
/// Median of a block's acknowledge latency.
pub(crate) const ACKNOWLEDGE_P50: &str = "acknowledge.p50";
/// 99th percentile of a block's acknowledge latency.
pub(crate) const ACKNOWLEDGE_P99: &str = "acknowledge.p99";

/// Messages acknowledged per second of a block, where they went as fast as possible. The larger is the better.
pub(crate) const PRODUCED_PER_S: &str = "throughput.produced_per_s";
/// Messages received per second of a block, where only receiving is what the step is for. The larger is the better.
pub(crate) const RECEIVED_PER_S: &str = "throughput.received_per_s";

/// Up to so many steps of equal load, each is held against each; beyond, each against the first of them (ours: all
/// pairs of a long sweep would be so many that none could show a difference).
const ALL_PAIRS_MAX: usize = 8;

/// Rates of different settings that are this near have a limit in common, and say nothing of the settings (Dekaf's benchmark, where
/// every client had the broker's 402.5 thousand messages per second within 0.1 %).
const CEILING: f64 = 0.005;

/// Confidence level for a document whose plan has none that makes sense.
const LEVEL_DEFAULT: f64 = 0.95;

type Metric = (&'static str, fn(&BlockResult) -> Option<f64>);

const END_TO_END: [Metric; 3] = [
    (END_TO_END_MEAN, |block| block.end_to_end.mean_ns),
    (END_TO_END_P50, |block| block.end_to_end.p50_ns.map(|p50| p50 as f64)),
    (END_TO_END_P99, |block| block.end_to_end.p99_ns.map(|p99| p99 as f64)),
];

const ACKNOWLEDGE: [Metric; 3] = [
    (ACKNOWLEDGE_MEAN, |block| block.acknowledge.mean_ns),
    (ACKNOWLEDGE_P50, |block| block.acknowledge.p50_ns.map(|p50| p50 as f64)),
    (ACKNOWLEDGE_P99, |block| block.acknowledge.p99_ns.map(|p99| p99 as f64)),
];

/// Whether a comparison is of means, whichever the latency, or of rates.
pub(crate) fn is_of_means(comparison: &Comparison) -> bool {
    [END_TO_END_MEAN, ACKNOWLEDGE_MEAN, PRODUCED_PER_S, RECEIVED_PER_S].contains(&comparison.metric.as_str())
}

/// Whether a comparison is of rates: more is better then.
pub(crate) fn is_of_rates(comparison: &Comparison) -> bool {
    [PRODUCED_PER_S, RECEIVED_PER_S].contains(&comparison.metric.as_str())
}

/// Whether a comparison is of 99th percentiles, whichever the latency.
pub(crate) fn is_of_p99s(comparison: &Comparison) -> bool {
    [END_TO_END_P99, ACKNOWLEDGE_P99].contains(&comparison.metric.as_str())
}

const PRODUCED: [Metric; 1] = [(PRODUCED_PER_S, |block| block.achieved_per_s)];

const RECEIVED: [Metric; 1] = [(RECEIVED_PER_S, |block| block.received_per_s)];

fn metrics(a: &Setup, b: &Setup) -> &'static [Metric] {
    if a.saturates() && b.saturates() {
        return if a.is_for_receiving() { &RECEIVED } else { &PRODUCED };
    }
    if a.consumes() && b.consumes() { &END_TO_END } else { &ACKNOWLEDGE }
}

/// The confidence level of a document.
pub(crate) fn level(document: &RunDocument) -> f64 {
    Some(document.plan.level).filter(|level| *level > 0.5 && *level < 1.0).unwrap_or(LEVEL_DEFAULT)
}

/// All comparisons of a run, the reference first in each as in the plan's order. Steps that are points of a line are
/// left to it: the lines are held against each other as wholes.
pub(crate) fn comparisons(document: &RunDocument, sweeps: &[SweepResult]) -> Vec<Comparison> {
    let level = level(document);
    let is_point =
        |setup: &Setup| sweeps.iter().flat_map(|line| &line.points).any(|point| point.step == setup.name());
    let setups: Vec<Setup> =
        Setup::all(document).filter(|setup| !is_point(setup) && !setup.shows_queue()).collect();
    let pairs = pairs(&setups);
    let tested = pairs.iter().flat_map(|(a, b)| metrics(a, b).iter().map(move |metric| (a, b, metric)));
    let samples: Vec<_> =
        tested.map(|(a, b, metric)| (a, b, metric.0, paired_blocks(a, b, metric.1))).collect();

    let family = samples.iter().filter(|(.., blocks)| blocks.len() >= PAIRS_MIN).count().max(1);
    let each_level = 1.0 - (1.0 - level) / family as f64;
    let ratios: Vec<Option<PairedRatio>> =
        samples.iter().map(|(.., blocks)| paired_ratio(blocks, each_level)).collect();
    let p: Vec<f64> = ratios.iter().flatten().map(|ratio| ratio.p).collect();
    let mut adjusted = holm(&p).into_iter();

    let compared = samples.iter().zip(&ratios).map(|((a, b, metric, blocks), ratio)| {
        let p_adjusted = ratio.and_then(|_| adjusted.next());
        let finite =
            |value: fn(&PairedRatio) -> f64| ratio.as_ref().map(value).filter(|value| value.is_finite());
        Comparison {
            a: a.name().to_owned(),
            b: b.name().to_owned(),
            metric: (*metric).to_owned(),
            ratio: finite(|ratio| ratio.ratio),
            ratio_low: finite(|ratio| ratio.low),
            ratio_high: finite(|ratio| ratio.high),
            level,
            p_adjusted,
            smallest_detectable_ratio: finite(|ratio| ratio.smallest_detectable_ratio),
            blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
            verdict: match at_a_ceiling(
                (a, b),
                metric,
                ratio.as_ref(),
                p_adjusted.filter(|p| *p <= 1.0 - level),
            ) {
                true => ComparisonVerdict::Ceiling,
                false => verdict(p_adjusted, level),
            },
            durability_differences: durability::differences(&a.result.durability, &b.result.durability),
        }
    });
    compared.collect()
}

/// Whether two setups as fast as possible are too near each other for settings that differ. `shown`: p, where it shows a
/// difference. Where it shows none, the whole interval has to be that near.
fn at_a_ceiling(
    (a, b): (&Setup, &Setup),
    metric: &str,
    ratio: Option<&PairedRatio>,
    shown: Option<f64>,
) -> bool {
    let Some(ratio) = ratio else { return false };
    let near = |ratio: f64| ratio.ln().abs() <= CEILING.ln_1p();
    let is_rate = [PRODUCED_PER_S, RECEIVED_PER_S].contains(&metric);
    let found = if shown.is_some() { near(ratio.ratio) } else { near(ratio.low) && near(ratio.high) };
    is_rate && found && !a.same_settings(b)
}

fn verdict(p_adjusted: Option<f64>, level: f64) -> ComparisonVerdict {
    match p_adjusted {
        None => ComparisonVerdict::TooFewBlocks,
        Some(p) if p <= 1.0 - level => ComparisonVerdict::Differs,
        Some(_) => ComparisonVerdict::WithinNoise,
    }
}

fn pairs<'s, 'a>(setups: &'s [Setup<'a>]) -> Vec<(&'s Setup<'a>, &'s Setup<'a>)> {
    let mut pairs = Vec::new();
    for (index, a) in setups.iter().enumerate() {
        let equals = setups.iter().filter(|setup| setup.same_offer(a)).count();
        let is_first = !setups[..index].iter().any(|setup| setup.same_offer(a));
        if equals <= ALL_PAIRS_MAX || is_first {
            pairs.extend(setups[index + 1..].iter().filter(|b| b.same_offer(a)).map(|b| (a, b)));
        }
    }
    pairs
}

/// The metric of both steps in every round that has both, whole.
fn paired_blocks(a: &Setup, b: &Setup, metric: fn(&BlockResult) -> Option<f64>) -> Vec<Pair> {
    let of = |setup: &Setup| -> BTreeMap<u32, f64> {
        let blocks = setup.result.blocks.iter().filter(|block| !block.cut_short);
        blocks.filter_map(|block| Some((block.block, metric(block).filter(|value| *value > 0.0)?))).collect()
    };
    let b = of(b);
    of(a).into_iter().filter_map(|(round, value)| Some(Pair { a: value, b: *b.get(&round)? })).collect()
}

/// Comparisons of steps that differ in nothing but their names.
pub(crate) fn identical_pairs<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Comparison> + use<'a> {
    let setups: Vec<Setup> = case.setups().collect();
    case.comparisons.iter().filter(move |comparison| {
        let find = |name: &str| setups.iter().find(|setup| setup.name() == name);
        find(&comparison.a).zip(find(&comparison.b)).is_some_and(|(a, b)| a.same_settings(b))
    })
}
