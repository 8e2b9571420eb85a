//! One metric of one arm against another over the pairs: estimate, interval, p, and the smallest detectable ratio.
//!
//! The samples are logarithms of the ratio of two blocks of one round; `unit` says what of them is one sample. Verdicts are made
//! in `verdicts`, where the number of comparisons is known.

use super::clock::Extremes;
use super::estimate::{Estimate, Levels};
use super::metric::{Metric, TrialMetric};
use super::unit::{STARTS_MIN, Unit, deciding_level};
use super::values::{log_ratios, values};
use super::{Arm, Opponents, Trial, anytime, starts};
use plumb_model::figure::percent;
use plumb_model::trial::{MetricResult, MetricRole, PairValues, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::ends::Ends;
use plumb_stats::median::median;
use plumb_stats::paired::{Pair, rank_ratio, standard_deviation};
use plumb_stats::signed_rank::{pairs_min, rank_spread};

/// A metric compared, with what its verdict needs.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) result: MetricResult,
    pub(crate) words: &'static str,
    /// Interval for equivalence: each end alone is beyond the truth with a chance of 1 - level (two one-sided tests).
    pub(crate) equivalence: Option<Ends>,
    /// Samples behind it, in the trial's unit.
    pub(crate) units: usize,
    /// Standard deviation of the samples' log ratios; none of fewer than two, and of counts.
    pub(crate) sd_log: Option<f64>,
    /// The same by ranks, which a few samples far from the others hardly move.
    pub(crate) rank_sd_log: Option<f64>,
    /// The p if the values were exact, where clocks leave them open.
    pub(crate) p_without_clock: Option<f64>,
    /// Of a count: harm that is not shown to be the arm's doing, and too much to be passed over, as a sentence.
    pub(crate) alarm: Option<String>,
}

/// The comparison; none where no block of either has the metric and it does not have to be told. `family`: comparisons
/// among which equivalence is claimed.
pub(super) fn compare(
    trial: &Trial,
    TrialMetric { metric, role }: TrialMetric,
    of: Opponents,
    family: usize,
) -> Option<Compared> {
    let values = values(trial, metric, of);
    if values.is_empty() && role == MetricRole::Secondary {
        return None;
    }
    let alpha = 1.0 - trial.level;
    let levels = Levels { interval: trial.level, equivalence: 1.0 - 2.0 * alpha / family.max(1) as f64 };
    let unit = trial.unit();
    let sampled = |values: &[PairValues]| samples(unit, of.arm, values, &log_ratios(values));
    let samples = sampled(&values);
    let shortage = match unit {
        Unit::Start { .. } => starts_shortage(trial, samples.len()),
        Unit::Pair | Unit::PairLookedAt => pairs_shortage(trial, samples.len()),
    };
    let estimate_of = |values: &[PairValues]| match unit {
        Unit::Start { .. } => starts::estimate(&sampled(values), levels),
        Unit::PairLookedAt => anytime::estimate(&sampled(values), levels),
        Unit::Pair => over_pairs(values, levels),
    };
    let by_values = shortage.is_none().then(|| estimate_of(&values)).flatten();
    let extremes = Extremes::of(&values, metric, of);
    let estimate = match &extremes {
        Some(extremes) => by_values.map(|estimate| extremes.widen(estimate, estimate_of)),
        None => by_values,
    };
    let sd_log = standard_deviation(&samples);
    let rank_sd_log = rank_spread(&samples);
    let detectable = sd_log
        .filter(|_| estimate.is_some())
        .and_then(|sd_log| unit.detectable_ratio(sd_log, samples.len(), deciding_level(trial.level, family)));
    let absent = match shortage {
        Some(shortage) => Some(absence(trial, metric, of).unwrap_or(shortage)),
        None => estimate.is_none().then(|| "it cannot be worked out from these pairs".to_owned()),
    };
    let interval = estimate.and_then(|estimate| estimate.interval);
    let result = MetricResult {
        name: metric.name.to_owned(),
        unit: metric.unit.to_owned(),
        role,
        good: metric.good,
        arm: of.arm.name.to_owned(),
        against: of.against.name.to_owned(),
        estimate_ratio: estimate.map(|estimate| estimate.ratio),
        interval_low: interval.map(|interval| interval.low),
        interval_high: interval.map(|interval| interval.high),
        level: trial.level,
        verdict: Verdict::Undecided,
        smallest_detectable_ratio: detectable,
        p: estimate.map(|estimate| estimate.p),
        p_adjusted: estimate.map(|estimate| estimate.p),
        method: estimate.map(|estimate| estimate.method).unwrap_or_default(),
        pairs: values.len() as u32,
        starts: unit.starts(samples.len()),
        against_median: median(values.iter().map(|pair| pair.against)),
        arm_median: median(values.iter().map(|pair| pair.arm)),
        values,
        absent,
        clock_error: extremes.map(|extremes| extremes.error),
    };
    let equivalence = estimate.and_then(|estimate| estimate.equivalence);
    Some(Compared {
        result,
        words: metric.words,
        equivalence,
        units: samples.len(),
        sd_log,
        rank_sd_log,
        p_without_clock: by_values.map(|estimate| estimate.p),
        alarm: None,
    })
}

/// The fixed number of pairs: Hodges and Lehmann over log ratios, with the exact signed-rank interval.
fn over_pairs(values: &[PairValues], levels: Levels) -> Option<Estimate> {
    let pairs: Vec<Pair> = values.iter().map(|pair| Pair { a: pair.against, b: pair.arm }).collect();
    let found = rank_ratio(&pairs, levels.interval)?;
    let equivalence = rank_ratio(&pairs, levels.equivalence);
    Some(Estimate {
        method: TrialMethod::SignedRank,
        ratio: found.ratio,
        interval: Some(Ends { low: found.low, high: found.high }),
        equivalence: equivalence.map(|found| Ends { low: found.low, high: found.high }),
        p: found.p,
    })
}

/// One figure a pair, as samples of the trial's unit: the figures themselves, or the mean of those on each start.
pub(super) fn samples(unit: Unit, arm: &Arm, values: &[PairValues], each: &[f64]) -> Vec<f64> {
    match unit {
        Unit::Pair | Unit::PairLookedAt => each.to_vec(),
        Unit::Start { .. } => {
            let start = |pair: &PairValues| Some(arm.blocks.get(&pair.round)?.broker_start);
            let on: Vec<u32> = values.iter().filter_map(start).collect();
            starts::means(each, &on)
        }
    }
}

/// The reason why no block has the metric, where blocks tell one.
fn absence(trial: &Trial, metric: &Metric, Opponents { arm, against }: Opponents) -> Option<String> {
    let blocks =
        trial.rounds.kept.iter().flat_map(|round| [against.blocks.get(round), arm.blocks.get(round)]);
    blocks.flatten().find_map(|block| metric.shortage(block))
}

/// Fewer pairs than the level needs.
fn pairs_shortage(trial: &Trial, pairs: usize) -> Option<String> {
    // The level lies in 0..1.
    let needed = pairs_min(trial.level).unwrap_or(usize::MAX);
    let have = trial.rounds.kept.len();
    (pairs < needed).then(|| match have < needed {
        true => format!("{} needs {needed} pairs, and there are {have}", percent(trial.level)),
        false => "too few blocks tell it".to_owned(),
    })
}

/// Fewer starts than say anything of how much they differ.
fn starts_shortage(trial: &Trial, starts: usize) -> Option<String> {
    (starts < STARTS_MIN).then(|| {
        format!(
            "pairs share starts of the brokers ({} on each), so the start is the unit: it takes {}, and there {} (more pairs, \
             or a smaller --restart-every)",
            trial.plan.restart_every,
            STARTS_MIN,
            if starts == 0 { "is none".to_owned() } else { format!("is {starts}") }
        )
    })
}
