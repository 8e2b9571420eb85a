//! The differences that a trial on a setup could show, by the spread of the reference against itself there.
//!
//! Everything is in the unit that the trial's verdict uses ([`Unit`]): pairs, or starts of the brokers that several pairs share.
//! A few samples know their own spread badly: beside the spread that was seen stands the one that it is truly at most with a
//! chance of 80 %, and a careful design uses that. `summary` has the sentences.

mod summary;

use super::pairs::Compared;
use super::unit::{Unit, deciding_level};
use super::{Trial, metric};
use plumb_model::document::RunDocument;
use plumb_model::finding::Severity;
use plumb_model::power::{Design, MetricPower, POWER_SCHEMA_VERSION, PowerResult};
use plumb_model::prose::quoted;
use plumb_stats::law::chi_squared_quantile;
use plumb_stats::paired::POWER;
use thiserror::Error;

/// Chance that the true spread is at most the upper one.
const SPREAD_SURE: f64 = 0.8;

/// Chance that the true spread is at least the lower one.
const SPREAD_SURELY_ABOVE: f64 = 0.95;

/// A difference so many margins large cannot be seen: such a trial is refused (ours: at a margin of 3 % that is 34 %).
const HOPELESS_MARGINS: i32 = 10;

/// The trial that is planned, and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// One sample of its verdicts.
    pub unit: Unit,
    /// The number of comparisons that they allow for.
    pub comparisons: usize,
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

impl Question {
    /// The level at which a difference has to be told.
    fn deciding_level(&self) -> f64 {
        deciding_level(self.level, self.comparisons)
    }
}

/// Equal arms that say nothing of how far they come out apart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PowerError {
    /// The run is no trial.
    #[error("the run is no trial, so it has no equal arms")]
    NoTrial,
    /// A count decides.
    #[error("{metric} is a count, which has no ratio: no number of pairs can be told before the trial")]
    Count {
        /// The count.
        metric: String,
    },
    /// Fewer than two samples of the metric that decides.
    #[error("equal arms have {got} of {metric}; expected 2 or more to tell how much they differ")]
    TooFew {
        /// The metric.
        metric: String,
        /// The number of samples, such as `1 start`.
        got: String,
    },
}

/// The differences that a trial could show, by the equal arms of a document.
///
/// # Errors
/// [`PowerError`] where the document is no trial, a count decides, or it has fewer than two samples of the metric that decides.
pub fn power(document: &RunDocument, question: Question) -> Result<PowerResult, PowerError> {
    let trial = Trial::of(document).ok_or(PowerError::NoTrial)?;
    if let Some(count) = trial.count() {
        return Err(PowerError::Count { metric: count.name.to_owned() });
    }
    let floor = trial.floor();
    let metrics: Vec<MetricPower> =
        floor.iter().filter_map(|compared| of_metric(compared, question)).collect();
    let (Some(first), Some(decides)) =
        (metrics.first().filter(|first| first.name == trial.plan.primary), floor.first())
    else {
        let units = floor.first().map_or(0, |compared| compared.units);
        let got = trial.unit().counted(units);
        return Err(PowerError::TooFew { metric: trial.plan.primary.clone(), got });
    };
    let fewer = by_ranks(decides, question);
    let summary =
        summary::Summary { first, words: decides.words, pairs_by_ranks: fewer, question }.sentences();
    Ok(PowerResult {
        schema_version: POWER_SCHEMA_VERSION,
        run_id: document.run.id.clone(),
        name: document.run.name.clone(),
        level: question.level,
        power: POWER,
        margin: question.margin,
        detect: question.detect,
        comparisons: question.comparisons as u32,
        until_decided: question.unit == Unit::PairLookedAt,
        pairs_per_start: question.unit.starts(0).map(|_| question.unit.pairs_each()),
        pilot_pairs: first.pairs,
        pilot_starts: first.starts,
        pair_s: question.pair_s,
        metrics,
        cautions: cautions(document, &trial),
        summary,
    })
}

/// Largest share of the standard deviation that the spread by ranks has where some pairs are far from all others (ours: then the
/// standard deviation asks for four times the pairs that ranks need).
const FAR_SHARE: f64 = 0.5;

/// Pairs that it takes by the spread of ranks, where some pairs of the pilot are far from all others and ranks decide.
fn by_ranks(compared: &Compared, question: Question) -> Option<usize> {
    let (sd, ranks) = compared.sd_log.zip(compared.rank_sd_log)?;
    if question.unit != Unit::Pair
        || compared.result.starts.is_some()
        || !(ranks > 0.0 && ranks <= FAR_SHARE * sd)
    {
        return None;
    }
    let high = spread_high(ranks, compared.units)?;
    let wanted = 1.0 + question.detect.unwrap_or(question.margin);
    question.unit.needed(high, wanted, question.deciding_level())
}

/// The findings against the pilot, as sentences: those of the whole run, and of its equal arms.
fn cautions(document: &RunDocument, trial: &Trial) -> Vec<String> {
    let equal = [trial.arms.first(), trial.again.as_ref()];
    let concerned = |step: &str| equal.iter().flatten().any(|arm| arm.setup.name() == step);
    let told =
        document.validity.reasons.iter().filter(|reason| {
            reason.severity > Severity::Note && reason.step.as_deref().is_none_or(concerned)
        });
    let each = told.map(|reason| {
        let place = reason.step.as_ref().map(|step| format!("{}: ", quoted(step))).unwrap_or_default();
        let weight = match reason.severity {
            Severity::Invalid => {
                "The pilot's figures are not fit for use, and so is no number of pairs from them"
            }
            Severity::Suspect | Severity::Note => "The pilot is suspect, and so are the numbers of pairs",
        };
        format!("{weight}: {place}{} (plumb explain {})", reason.claim.trim_end_matches('.'), reason.id)
    });
    each.collect()
}

fn of_metric(compared: &Compared, question: Question) -> Option<MetricPower> {
    let (sd, unit, level) = (compared.sd_log?, question.unit, question.deciding_level());
    let high = spread_high(sd, compared.units)?;
    let designs = unit.shown(question.pairs_max).into_iter().filter_map(|units| {
        Some(Design {
            pairs: unit.pairs_in(units) as u32,
            starts: unit.starts(units),
            detectable_ratio: unit.detectable_ratio(sd, units, level)?,
            detectable_ratio_high: unit.detectable_ratio(high, units, level)?,
        })
    });
    // The careful spread: a design by the one seen is too small in every other case.
    let needed = |difference: f64| unit.needed(high, 1.0 + difference, level);
    let (for_margin, for_detect) = (needed(question.margin), question.detect.and_then(needed));
    let pairs = |units: Option<usize>| units.map(|units| unit.pairs_in(units));
    let starts = |units: Option<usize>| units.and_then(|units| unit.starts(units)).map(u64::from);
    Some(MetricPower {
        name: compared.result.name.clone(),
        unit: compared.result.unit.clone(),
        median: compared.result.against_median,
        pairs: compared.result.pairs,
        starts: compared.result.starts,
        sd_log: sd,
        sd_log_high: high,
        designs: designs.collect(),
        pairs_for_margin: pairs(for_margin),
        starts_for_margin: starts(for_margin),
        pairs_for_detect: pairs(for_detect),
        starts_for_detect: starts(for_detect),
    })
}

/// Upper limit of a standard deviation: (n-1) s^2 over its true square is chi-squared with n-1 degrees of freedom.
fn spread_high(sd: f64, samples: usize) -> Option<f64> {
    limit(sd, samples, 1.0 - SPREAD_SURE)
}

/// Lower limit of the same, so low that the true spread is above it with a chance of 95 %.
fn spread_low(sd: f64, samples: usize) -> Option<f64> {
    limit(sd, samples, SPREAD_SURELY_ABOVE)
}

fn limit(sd: f64, samples: usize, chance: f64) -> Option<f64> {
    let freedom = samples.checked_sub(1)? as f64;
    Some(sd * (freedom / chi_squared_quantile(chance, freedom)?).sqrt())
}

/// The spread between equal arms in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The metric's name.
    pub metric: &'static str,
    /// Standard deviation of the log ratios of the trial's units, or their spread by ranks where that is smaller.
    pub sd_log: f64,
    /// The number of samples.
    pub units: usize,
    /// One of the samples.
    pub unit: Unit,
}

/// The spreads of a document's equal arms, of each metric that has two samples; none where it is no trial.
pub fn spreads(document: &RunDocument) -> Vec<Spread> {
    let Some(trial) = Trial::of(document) else { return Vec::new() };
    let (floor, unit) = (trial.floor(), trial.unit());
    let known = floor.iter().filter_map(|compared| {
        let metric = metric::find(&compared.result.name)?.name;
        let sd_log = compared.sd_log?;
        // One stall must not refuse a trial whose ranks it hardly moves.
        let sd_log = compared.rank_sd_log.map_or(sd_log, |ranks| ranks.min(sd_log));
        Some(Spread { metric, sd_log, units: compared.units, unit })
    });
    known.collect()
}

/// A trial that cannot show what it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hopeless {
    /// The smallest difference that it would show, as a ratio above 1.
    pub detectable_ratio: f64,
    /// The largest that it may be.
    pub limit_ratio: f64,
    /// Samples with which it would do, in the unit of its verdict.
    pub units_needed: Option<usize>,
}

/// A trial of so many pairs that leaves unseen even a difference of many margins; none where it would show one. The spread is
/// that of an earlier trial's equal arms, and counts with the least value that it leaves possible.
pub fn hopeless(seen: &Spread, pairs: u32, question: Question) -> Option<Hopeless> {
    let low = spread_low(seen.sd_log, seen.units)?;
    let (unit, level) = (question.unit, question.deciding_level());
    let least = unit.spread_at_least(low, seen.unit);
    let limit_ratio = (1.0 + question.margin).powi(HOPELESS_MARGINS);
    let detectable_ratio = unit.detectable_ratio(least, unit.in_pairs(pairs), level)?;
    (detectable_ratio > limit_ratio).then(|| Hopeless {
        detectable_ratio,
        limit_ratio,
        units_needed: unit.needed(least, limit_ratio, level),
    })
}

#[cfg(test)]
mod tests;
