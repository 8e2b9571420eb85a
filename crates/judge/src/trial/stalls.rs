//! Single blocks that are far off the others of their arm: ranks pass over them by design.
//!
//! The median of the pairs says nothing of one block in ten that takes five times as long, and an interval by ranks hardly more.
//! So few blocks are never shown to be the arm's doing: any block could have met the host's moment. They are an alarm, as a burst
//! of lost messages is (see `counts`): an arm whose blocks stall where no other's do is not called better or equivalent.

use super::metric::{Metric, shown};
use super::values::{log_ratios, values};
use super::{Opponents, Trial};
use plumb_model::figure::{counted, ratio};
use plumb_model::trial::Good;
use plumb_stats::median::median;

/// Standard deviations from the middle from which a pair is far out: Tukey's outer fences, three interquartile ranges beyond the
/// quartiles (Exploratory Data Analysis, 1977), in deviations of a normal law.
const FAR_OUT_SD: f64 = 4.72;

/// Standard deviation of a normal law over its median absolute deviation.
const SD_OF_MAD: f64 = 1.4826;

/// So many times the stalls of others, where others stall too, are an alarm (ours),
const ALARM_TIMES: usize = 3;

/// and at least so many: one or two more come by chance (ours).
const ALARM_LEAST: usize = 3;

/// The stalls of an arm held against another, where they are an alarm, as a sentence: pairs in which its block is worse than its
/// partner by more than the margin and far off the other pairs.
pub(super) fn alarm(trial: &Trial, metric: &'static Metric, of: Opponents) -> Option<String> {
    let Opponents { arm, against } = of;
    let harm = harms(trial, metric, of);
    let here = stalled(&harm, trial.plan.margin);
    let turned: Vec<f64> = harm.iter().map(|harm| -harm).collect();
    let elsewhere = stalled(&turned, trial.plan.margin).len().max(equal_arms(trial, metric));
    let alarming = match elsewhere {
        0 => !here.is_empty(),
        elsewhere => here.len() >= ALARM_LEAST && here.len() >= ALARM_TIMES * elsewhere,
    };
    if !alarming {
        return None;
    }
    let worst = here.iter().copied().fold(0.0, f64::max);
    let medians =
        [against, arm].map(|arm| median(arm.blocks.values().filter_map(|block| metric.value(block))));
    let usual = match medians {
        [Some(against), Some(arm)] => {
            format!(" (usual: {} -> {})", shown(metric.unit, against), shown(metric.unit, arm))
        }
        _ => String::new(),
    };
    Some(format!(
        "in {} of {} the {} of \"{}\" is far worse than that of \"{}\" beside it, up to {}{usual}, and {}: that is not shown to be \
         its doing, and too much to be passed over",
        here.len(),
        counted(harm.len() as u64, "pair"),
        metric.words,
        arm.name,
        against.name,
        ratio(worst.exp()),
        match elsewhere {
            0 => "in none the other way round".to_owned(),
            elsewhere => format!("in {elsewhere} the other way round or between equal arms"),
        }
    ))
}

/// Stalls between the reference and its repetition, of the one that has more: what the host does to equal arms.
fn equal_arms(trial: &Trial, metric: &'static Metric) -> usize {
    let Some(again) = &trial.again else { return 0 };
    let harm = harms(trial, metric, Opponents { arm: again, against: &trial.arms[0] });
    // A stall of the reference itself is in its pair with the arm, too.
    stalled(&harm, trial.plan.margin).len()
}

/// The logarithm of the ratio of each pair, above 0 where the arm is worse.
fn harms(trial: &Trial, metric: &Metric, of: Opponents) -> Vec<f64> {
    let sign = if metric.good == Good::Lower { 1.0 } else { -1.0 };
    log_ratios(&values(trial, metric, of)).into_iter().map(|log| sign * log).collect()
}

/// The harms that are above the margin and far out.
fn stalled(harm: &[f64], margin: f64) -> Vec<f64> {
    let Some(middle) = median(harm.iter().copied()) else { return Vec::new() };
    let deviation = median(harm.iter().map(|harm| (harm - middle).abs())).unwrap_or(0.0);
    let least = (1.0 + margin).ln();
    let fence = middle + (FAR_OUT_SD * SD_OF_MAD * deviation).max(least);
    harm.iter().filter(|harm| **harm > least && **harm > fence).copied().collect()
}
