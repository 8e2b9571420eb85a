//! Steps of equal load compared over paired blocks.
//!
//! Blocks of one round ran next to each other in time, so a disturbance of the machine disturbed both: the ratio is taken within
//! each round, and its interval and p come from the agreement of the rounds. All comparisons of a run are one family: intervals
//! hold together (Bonferroni), p values are Holm's, and two steps differ when Holm's p is below 1 - level. Rarely, Holm tells a
//! difference whose more cautious interval still touches 1.

use crate::durability::{self, Unlike};
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
const END_TO_END_P50: &str = "end_to_end.p50";
/// 99th percentile of a block's end-to-end latency.
pub(crate) const END_TO_END_P99: &str = "end_to_end.p99";
/// Mean of a block's acknowledge latency: compared where nobody receives.
const ACKNOWLEDGE_MEAN: &str = "acknowledge.mean";
/// Median of a block's acknowledge latency.
const ACKNOWLEDGE_P50: &str = "acknowledge.p50";
/// 99th percentile of a block's acknowledge latency.
const ACKNOWLEDGE_P99: &str = "acknowledge.p99";

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

/// A metric of a block that is compared.
struct Metric {
    name: &'static str,
    of: fn(&BlockResult) -> Option<f64>,
}

impl Metric {
    /// The most by which it may be off in a block, because it lies between workers' clocks whose difference is known to a band.
    fn error(&self, block: &BlockResult) -> f64 {
        if self.name.starts_with("end_to_end.") { block.end_to_end.clock_error() } else { 0.0 }
    }
}

const END_TO_END: [Metric; 3] = [
    Metric { name: END_TO_END_MEAN, of: |block| block.end_to_end.mean_ns },
    Metric { name: END_TO_END_P50, of: |block| block.end_to_end.p50_ns.map(|p50| p50 as f64) },
    Metric { name: END_TO_END_P99, of: |block| block.end_to_end.p99_ns.map(|p99| p99 as f64) },
];

const ACKNOWLEDGE: [Metric; 3] = [
    Metric { name: ACKNOWLEDGE_MEAN, of: |block| block.acknowledge.mean_ns },
    Metric { name: ACKNOWLEDGE_P50, of: |block| block.acknowledge.p50_ns.map(|p50| p50 as f64) },
    Metric { name: ACKNOWLEDGE_P99, of: |block| block.acknowledge.p99_ns.map(|p99| p99 as f64) },
];

/// True if a comparison is of means, of whichever latency, or of rates.
pub(crate) fn is_of_means(comparison: &Comparison) -> bool {
    [END_TO_END_MEAN, ACKNOWLEDGE_MEAN, PRODUCED_PER_S, RECEIVED_PER_S].contains(&comparison.metric.as_str())
}

/// True if a comparison is of rates, of which more is better.
pub(crate) fn is_of_rates(comparison: &Comparison) -> bool {
    [PRODUCED_PER_S, RECEIVED_PER_S].contains(&comparison.metric.as_str())
}

/// True if a comparison is of 99th percentiles, of whichever latency.
pub(crate) fn is_of_p99s(comparison: &Comparison) -> bool {
    [END_TO_END_P99, ACKNOWLEDGE_P99].contains(&comparison.metric.as_str())
}

const PRODUCED: [Metric; 1] = [Metric { name: PRODUCED_PER_S, of: |block| block.achieved_per_s }];

const RECEIVED: [Metric; 1] = [Metric { name: RECEIVED_PER_S, of: |block| block.received_per_s }];

/// The confidence level of a document.
pub(crate) fn level(document: &RunDocument) -> f64 {
    Some(document.plan.level).filter(|level| *level > 0.5 && *level < 1.0).unwrap_or(LEVEL_DEFAULT)
}

/// The confidence level of several comparisons, by Bonferroni.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FamilyLevel {
    /// The level at which all intervals hold together, 0..1.
    pub(crate) all: f64,
    /// The level of each interval.
    pub(crate) each: f64,
}

impl FamilyLevel {
    /// The levels of a document's comparisons, of which there are so many.
    pub(crate) fn of(document: &RunDocument, comparisons: usize) -> Self {
        let all = level(document);
        FamilyLevel { all, each: 1.0 - (1.0 - all) / comparisons.max(1) as f64 }
    }
}

/// A ratio and its p, with every latency as low or as high as the clocks allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extreme {
    pub(crate) ratio: f64,
    pub(crate) p: f64,
}

/// The p of a ratio other than 1 that holds for all that lies between two extremes: 1 where a ratio of 1 does.
pub(crate) fn p_between(lowest: Extreme, highest: Extreme) -> f64 {
    let on_one_side = (lowest.ratio - 1.0) * (highest.ratio - 1.0) > 0.0;
    if on_one_side { lowest.p.max(highest.p) } else { 1.0 }
}

/// Two setups of equal load, the reference first.
struct SetupPair<'s, 'a> {
    a: &'s Setup<'a>,
    b: &'s Setup<'a>,
}

impl SetupPair<'_, '_> {
    /// The metrics that are compared.
    fn metrics(&self) -> &'static [Metric] {
        let SetupPair { a, b } = self;
        if a.saturates() && b.saturates() {
            return if a.is_for_receiving() { &RECEIVED } else { &PRODUCED };
        }
        if a.consumes() && b.consumes() { &END_TO_END } else { &ACKNOWLEDGE }
    }

    /// The metric of both steps in every round that has both, whole.
    fn blocks(&self, metric: &Metric) -> Vec<Pair> {
        self.blocks_off_by(metric, 0.0)
    }

    /// The same with each value off by this part of the error of its clocks: of `b` upwards, of `a` downwards.
    fn blocks_off_by(&self, metric: &Metric, part: f64) -> Vec<Pair> {
        let values = |setup: &Setup, part: f64| -> BTreeMap<u32, f64> {
            let blocks = setup.result.blocks.iter().filter(|block| !block.cut_short);
            let positive = |block: &BlockResult| {
                (metric.of)(block)
                    .map(|value| value + part * metric.error(block))
                    .filter(|value| *value > 0.0)
            };
            blocks.filter_map(|block| Some((block.block, positive(block)?))).collect()
        };
        let b = values(self.b, part);
        let pairs = values(self.a, -part).into_iter();
        pairs.filter_map(|(round, a)| Some(Pair { a, b: *b.get(&round)? })).collect()
    }

    /// The ratio over these pairs of blocks; its interval and p hold wherever the truth is within the errors of the clocks.
    fn ratio(&self, metric: &Metric, blocks: &[Pair], level: f64) -> Option<PairedRatio> {
        let middle = paired_ratio(blocks, level)?;
        let [lowest, highest] = [-1.0, 1.0].map(|part| self.blocks_off_by(metric, part));
        if lowest == *blocks && highest == *blocks {
            return Some(middle);
        }
        let known =
            |pairs: &[Pair]| (pairs.len() == blocks.len()).then(|| paired_ratio(pairs, level)).flatten();
        Some(match known(&lowest).zip(known(&highest)) {
            None => PairedRatio { low: 0.0, high: f64::INFINITY, p: 1.0, ..middle },
            Some((lowest, highest)) => PairedRatio {
                low: lowest.low,
                high: highest.high,
                p: p_between(
                    Extreme { ratio: lowest.ratio, p: lowest.p },
                    Extreme { ratio: highest.ratio, p: highest.p },
                ),
                ..middle
            },
        })
    }

    /// True if the rates of two setups as fast as possible are too near each other for settings that differ. `shown`: the ratio
    /// is shown to differ from 1; where it is not, the whole interval has to be that near.
    fn at_a_ceiling(&self, metric: &Metric, ratio: &PairedRatio, shown: bool) -> bool {
        let near = |ratio: f64| ratio.ln().abs() <= CEILING.ln_1p();
        let is_rate = [PRODUCED_PER_S, RECEIVED_PER_S].contains(&metric.name);
        let found = if shown { near(ratio.ratio) } else { near(ratio.low) && near(ratio.high) };
        is_rate && found && !self.a.same_settings(self.b)
    }
}

/// All comparisons of a run, the reference first in each as in the plan's order. Steps that are points of a line are
/// left to it: the lines are held against each other as wholes.
pub(crate) fn comparisons(document: &RunDocument, sweeps: &[SweepResult]) -> Vec<Comparison> {
    let is_point =
        |setup: &Setup| sweeps.iter().flat_map(|line| &line.points).any(|point| point.step == setup.name());
    let setups: Vec<Setup> =
        Setup::all(document).filter(|setup| !is_point(setup) && !setup.shows_queue()).collect();
    let pairs = pairs(&setups);
    let tested = pairs.iter().flat_map(|pair| pair.metrics().iter().map(move |metric| (pair, metric)));
    let samples: Vec<_> = tested.map(|(pair, metric)| (pair, metric, pair.blocks(metric))).collect();

    let level =
        FamilyLevel::of(document, samples.iter().filter(|(.., blocks)| blocks.len() >= PAIRS_MIN).count());
    let ratios: Vec<Option<PairedRatio>> =
        samples.iter().map(|(pair, metric, blocks)| pair.ratio(metric, blocks, level.each)).collect();
    let p: Vec<f64> = ratios.iter().flatten().map(|ratio| ratio.p).collect();
    let mut adjusted = holm(&p).into_iter();

    let compared = samples.iter().zip(&ratios).map(|((pair, metric, blocks), ratio)| {
        let p_adjusted = ratio.and_then(|_| adjusted.next());
        let shown = p_adjusted.is_some_and(|p| p <= 1.0 - level.all);
        let at_a_ceiling = ratio.is_some_and(|ratio| pair.at_a_ceiling(metric, &ratio, shown));
        let finite =
            |value: fn(&PairedRatio) -> f64| ratio.as_ref().map(value).filter(|value| value.is_finite());
        let Unlike { known, half_told } =
            durability::unlike(&pair.a.result.durability, &pair.b.result.durability);
        Comparison {
            a: pair.a.name().to_owned(),
            b: pair.b.name().to_owned(),
            metric: metric.name.to_owned(),
            ratio: finite(|ratio| ratio.ratio),
            ratio_low: finite(|ratio| ratio.low),
            ratio_high: finite(|ratio| ratio.high),
            level: level.all,
            p_adjusted,
            smallest_detectable_ratio: finite(|ratio| ratio.smallest_detectable_ratio),
            blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
            verdict: match p_adjusted {
                _ if at_a_ceiling => ComparisonVerdict::Ceiling,
                None => ComparisonVerdict::TooFewBlocks,
                Some(_) if shown => ComparisonVerdict::Differs,
                Some(_) => ComparisonVerdict::WithinNoise,
            },
            durability_differences: known,
            durability_not_known: half_told,
        }
    });
    compared.collect()
}

fn pairs<'s, 'a>(setups: &'s [Setup<'a>]) -> Vec<SetupPair<'s, 'a>> {
    let mut pairs = Vec::new();
    for (index, a) in setups.iter().enumerate() {
        let equals = setups.iter().filter(|setup| setup.same_offer(a)).count();
        let is_first = !setups[..index].iter().any(|setup| setup.same_offer(a));
        if equals <= ALL_PAIRS_MAX || is_first {
            let later = setups[index + 1..].iter().filter(|b| b.same_offer(a));
            pairs.extend(later.map(|b| SetupPair { a, b }));
        }
    }
    pairs
}
