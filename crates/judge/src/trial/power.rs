//! What a trial on a setup could show, from how far the reference came out apart from itself there.
//!
//! Few pairs know their own spread badly: beside the spread that was seen stands the one that it is truly at most with a
//! chance of 80 %, and a careful design uses that.

use super::verdicts::sd_log;
use crate::figure::{count, percent, round_percent};
use plumb_model::power::{Design, MetricPower, POWER_SCHEMA_VERSION, PowerResult};
use plumb_model::trial::{MetricResult, TrialResult};
use plumb_stats::law::chi_squared_quantile;
use plumb_stats::paired::POWER;
use plumb_stats::power::{detectable_ratio, pairs_needed};

/// Chance that the true spread is at most the upper one.
const SPREAD_SURE: f64 = 0.8;

/// Chance that the true spread is at least the lower one.
const SPREAD_SURELY_ABOVE: f64 = 0.95;

/// Numbers of pairs that are shown.
const PAIRS_SHOWN: [u32; 11] = [6, 8, 12, 16, 20, 30, 40, 60, 100, 200, 400];

/// A difference so many margins large cannot be seen: such a trial is refused (ours: at a margin of 3 % that is 34 %).
const HOPELESS_MARGINS: i32 = 10;

/// What is asked of a design.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Confidence level.
    pub level: f64,
    /// Differences up to this count as none.
    pub margin: f64,
    /// The difference that is to be seen, such as 0.05.
    pub detect: Option<f64>,
    /// No design with more pairs is shown.
    pub pairs_max: u32,
    /// Time that a pair takes.
    pub pair_s: Option<f64>,
}

/// What so many pairs of a trial could show; none where its equal arms have no two pairs of any metric.
pub fn power(trial: &TrialResult, question: Question) -> Option<PowerResult> {
    let metrics: Vec<MetricPower> =
        trial.noise_floor.iter().filter_map(|metric| of_metric(metric, question)).collect();
    let first = metrics.first()?;
    let summary = summary(first, question);
    Some(PowerResult {
        schema_version: POWER_SCHEMA_VERSION,
        run_id: trial.run_id.clone(),
        name: trial.name.clone(),
        level: question.level,
        power: POWER,
        margin: question.margin,
        detect: question.detect,
        pilot_pairs: first.pairs,
        pair_s: question.pair_s,
        metrics,
        summary,
    })
}

fn of_metric(metric: &MetricResult, question: Question) -> Option<MetricPower> {
    let sd = spread(metric)?;
    let high = spread_high(sd, metric.values.len())?;
    let Question { level, margin, detect, pairs_max, .. } = question;
    let shown = PAIRS_SHOWN.iter().copied().filter(|pairs| *pairs <= pairs_max);
    let designs = shown.filter_map(|pairs| {
        Some(Design {
            pairs,
            detectable_ratio: detectable_ratio(sd, pairs as usize, level, POWER)?,
            detectable_ratio_high: detectable_ratio(high, pairs as usize, level, POWER)?,
        })
    });
    // The careful spread: a design by the one seen is too small in every other case.
    let needed =
        |difference: f64| pairs_needed(high, 1.0 + difference, level, POWER).map(|pairs| pairs as u64);
    Some(MetricPower {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        median: metric.against_median,
        pairs: metric.values.len() as u32,
        sd_log: sd,
        sd_log_high: high,
        designs: designs.collect(),
        pairs_for_margin: needed(margin),
        pairs_for_detect: detect.and_then(needed),
    })
}

/// Upper limit of a standard deviation: (n-1) s^2 over its true square is chi-squared with n-1 degrees of freedom.
pub fn spread_high(sd: f64, pairs: usize) -> Option<f64> {
    let freedom = pairs.checked_sub(1)? as f64;
    Some(sd * (freedom / chi_squared_quantile(1.0 - SPREAD_SURE, freedom)?).sqrt())
}

/// Lower limit of the same, so low that the true spread is above it with a chance of 95 %.
pub fn spread_low(sd: f64, pairs: usize) -> Option<f64> {
    let freedom = pairs.checked_sub(1)? as f64;
    Some(sd * (freedom / chi_squared_quantile(SPREAD_SURELY_ABOVE, freedom)?).sqrt())
}

/// Standard deviation of the log ratios of a metric's pairs; none of fewer than two.
pub fn spread(metric: &MetricResult) -> Option<f64> {
    sd_log(metric).filter(|_| metric.values.len() >= 2)
}

fn summary(first: &MetricPower, question: Question) -> Vec<String> {
    let spread = format!(
        "Neighbouring blocks of the same setting differ by {} here in {} (standard deviation over {})",
        round_percent(first.sd_log.exp() - 1.0),
        first.name,
        count(first.pairs.into(), "pair")
    );
    let wanted = match question.detect {
        Some(detect) => (detect, first.pairs_for_detect),
        None => (question.margin, first.pairs_for_margin),
    };
    let time = |pairs: u64| {
        let seconds = question.pair_s.map(|pair_s| pair_s * pairs as f64);
        seconds.map_or(String::new(), |seconds| match seconds {
            s if s < 100.0 => format!(", about {s:.0} s"),
            s if s < 6_000.0 => format!(", about {:.0} min", s / 60.0),
            s => format!(", about {:.1} h", s / 3_600.0),
        })
    };
    let design = match wanted.1 {
        Some(pairs) => format!(
            "{} show a difference of {} in {} of 100 trials at {} confidence{}",
            count(pairs, "pair"),
            round_percent(wanted.0),
            (POWER * 100.0).round(),
            percent(question.level),
            time(pairs)
        ),
        None => format!("No number of pairs shows a difference of {} here", round_percent(wanted.0)),
    };
    vec![format!("{spread}."), format!("{design}.")]
}

/// A trial that cannot show what it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hopeless {
    /// The smallest difference that it would show, as a ratio above 1.
    pub detectable_ratio: f64,
    /// The largest that it may be.
    pub limit_ratio: f64,
    /// Pairs with which it would do.
    pub pairs_needed: Option<usize>,
}

/// Whether so many pairs of such a spread leave unseen even what is many margins large.
pub fn hopeless(sd_log: f64, pairs: usize, (level, margin): (f64, f64)) -> Option<Hopeless> {
    let limit_ratio = (1.0 + margin).powi(HOPELESS_MARGINS);
    let detectable_ratio = detectable_ratio(sd_log, pairs, level, POWER)?;
    (detectable_ratio > limit_ratio).then(|| Hopeless {
        detectable_ratio,
        limit_ratio,
        pairs_needed: pairs_needed(sd_log, limit_ratio, level, POWER),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 8 pairs, so 7 degrees of freedom, qchisq(0.2, 7) = 3.8223: sqrt(7 / 3.8223) = 1.3533.
    #[test]
    fn a_spread_that_few_pairs_know_badly_may_be_a_third_larger() {
        assert!((spread_high(0.1, 8).unwrap() - 0.135_33).abs() < 1e-4);
        assert_eq!(spread_high(0.1, 1), None);
    }

    #[test]
    fn a_trial_that_leaves_a_third_unseen_is_hopeless_and_one_that_does_not_is_none() {
        assert_eq!(hopeless(0.05, 12, (0.95, 0.03)), None);
        let found = hopeless(0.6, 8, (0.95, 0.03)).unwrap();
        assert!(found.detectable_ratio > 1.35 && found.limit_ratio < 1.35, "{found:?}");
        let enough = found.pairs_needed.unwrap();
        assert_eq!(hopeless(0.6, enough, (0.95, 0.03)), None);
        assert!(hopeless(0.6, enough - 1, (0.95, 0.03)).is_some());
    }
}
