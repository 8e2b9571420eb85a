//! One sample of a trial: the pair of blocks, or the start of the brokers that several pairs share.
//!
//! The differences that a trial can show, and the samples that it takes and has, are computed here for before the trial and for
//! after it, so that no plan counts in another unit than its verdict will.

use super::Trial;
use plumb_model::figure::counted;
use plumb_model::plan::{LoadPlan, Plan};
use plumb_model::trial::{Against, TrialPlan};
use plumb_stats::paired::POWER;
use plumb_stats::power::{detectable_ratio, detectable_ratio_of_mean, pairs_needed, units_needed_of_mean};
use plumb_stats::signed_rank::pairs_min;

/// Looking after every pair costs up to about so many times the pairs of a fixed number (simulations of the sign e-process).
const COST_OF_LOOKING: f64 = 1.7;

/// Fewest starts that say anything of how much they differ.
pub(super) const STARTS_MIN: usize = 2;

/// Numbers of samples that are shown before a trial.
const PAIRS_SHOWN: &[usize] = &[6, 8, 12, 16, 20, 30, 40, 60, 100];
const STARTS_SHOWN: &[usize] = &[3, 4, 6, 8, 12, 16, 20, 30, 50, 100];

/// One sample of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A pair of blocks: signed ranks of a number of pairs that is fixed before.
    Pair,
    /// A pair of blocks, where the trial looks after each of them and stops when it is decided.
    PairLookedAt,
    /// A start of the brokers that several pairs share: Student's t over the starts' means.
    Start {
        /// Pairs on each, 2 or more.
        pairs: u32,
    },
}

impl Unit {
    /// The unit of a plan's verdicts.
    pub fn of(plan: &TrialPlan) -> Unit {
        Unit::over(plan.restart_every, plan.until_decided)
    }

    /// The same of a trial whose brokers are started anew after so many pairs (0: never). Where every pair has a start of its own,
    /// the pair is the unit as ever.
    pub fn over(restart_every: u32, until_decided: bool) -> Unit {
        match restart_every {
            pairs @ 2.. => Unit::Start { pairs },
            0 | 1 if until_decided => Unit::PairLookedAt,
            0 | 1 => Unit::Pair,
        }
    }

    /// Pairs in one of it.
    pub fn pairs_each(self) -> u32 {
        match self {
            Unit::Pair | Unit::PairLookedAt => 1,
            Unit::Start { pairs } => pairs.max(1),
        }
    }

    /// The number of units that so many pairs are on; the last may have fewer pairs than the others.
    pub fn in_pairs(self, pairs: u32) -> usize {
        pairs.div_ceil(self.pairs_each()) as usize
    }

    /// Pairs that so many take.
    pub fn pairs_in(self, units: usize) -> u64 {
        units as u64 * u64::from(self.pairs_each())
    }

    /// A number of it as starts; none where the unit is the pair.
    pub(crate) fn starts(self, units: usize) -> Option<u32> {
        matches!(self, Unit::Start { .. }).then(|| u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Fewest that can show a difference at a level; none of a level outside 0..1.
    pub fn fewest(self, level: f64) -> Option<usize> {
        match self {
            Unit::Pair | Unit::PairLookedAt => pairs_min(level),
            Unit::Start { .. } => (level > 0.0 && level < 1.0).then_some(STARTS_MIN),
        }
    }

    /// The smallest ratio above 1 that so many of this spread show with a chance of 80 %; none where they are too few to show
    /// any.
    pub(crate) fn detectable_ratio(self, sd_log: f64, units: usize, level: f64) -> Option<f64> {
        let ratio = match self {
            Unit::Pair => detectable_ratio(sd_log, units, level, POWER),
            Unit::PairLookedAt => detectable_ratio(sd_log, fixed_number(units), level, POWER),
            Unit::Start { .. } => detectable_ratio_of_mean(sd_log, units, level, POWER),
        };
        ratio.filter(|ratio| ratio.is_finite())
    }

    /// Fewest of which [`Unit::detectable_ratio`] is at most `ratio`; none where a million would not do.
    pub(crate) fn needed(self, sd_log: f64, ratio: f64, level: f64) -> Option<usize> {
        match self {
            Unit::Pair => pairs_needed(sd_log, ratio, level, POWER),
            Unit::PairLookedAt => {
                let fixed = pairs_needed(sd_log, ratio, level, POWER)?;
                Some((fixed as f64 * COST_OF_LOOKING).ceil() as usize)
            }
            Unit::Start { .. } => units_needed_of_mean(sd_log, ratio, level, POWER),
        }
    }

    /// The least spread of a mean of this unit, where that of `seen` is at least `sd_log`: means of more pairs vary less, by no
    /// more than if their pairs shared nothing.
    pub(super) fn spread_at_least(self, sd_log: f64, seen: Unit) -> f64 {
        sd_log * (f64::from(seen.pairs_each()) / f64::from(self.pairs_each())).min(1.0).sqrt()
    }

    /// Numbers of it that are worth showing, up to so many pairs.
    pub(crate) fn shown(self, pairs_max: u32) -> Vec<usize> {
        let all = match self {
            Unit::Pair | Unit::PairLookedAt => PAIRS_SHOWN,
            Unit::Start { .. } => STARTS_SHOWN,
        };
        let fits = |units: &usize| self.pairs_in(*units) <= u64::from(pairs_max);
        // Beyond those of the list, each twice the one before.
        let last = all.last().copied().unwrap_or(1);
        let doubled = std::iter::successors(Some(last * 2), |units| units.checked_mul(2));
        all.iter().copied().chain(doubled).take_while(fits).collect()
    }

    /// A number of it within a sentence: `12 pairs`, `6 starts`.
    pub fn counted(self, units: usize) -> String {
        counted(units as u64, if self.starts(units).is_some() { "start" } else { "pair" })
    }

    /// The same with what it means for the plan: `40 pairs`, `20 starts of 2 pairs`.
    pub fn planned(self, units: usize) -> String {
        let pairs = self.starts(units).map(|_| format!(" of {}", counted(self.pairs_each(), "pair")));
        format!("{}{}", self.counted(units), pairs.unwrap_or_default())
    }
}

/// Pairs of a fixed number that are worth as much as so many which are looked at; rounding takes none away.
fn fixed_number(looked_at: usize) -> usize {
    (looked_at as f64 / COST_OF_LOOKING + 1e-9) as usize
}

/// The level at which one of several comparisons has to be told where all are allowed for: Bonferroni's, which Holm's allowance
/// never asks more than.
pub fn deciding_level(level: f64, comparisons: usize) -> f64 {
    1.0 - (1.0 - level) / comparisons.max(1) as f64
}

/// The number of comparisons of its primary metric that a plan makes; 0 of a plan without a trial.
pub fn comparisons(plan: &Plan) -> usize {
    let Some(trial) = &plan.trial else { return 0 };
    let loads: Vec<&LoadPlan> =
        trial.arms.iter().filter_map(|arm| Some(&plan.steps.get(arm.step)?.load)).collect();
    match trial.against {
        Against::Reference => loads.len().saturating_sub(1),
        Against::EachOther => {
            let earlier = |(at, load): (usize, &&LoadPlan)| {
                loads[..at].iter().filter(|other| other.same_but_length(load)).count()
            };
            loads.iter().enumerate().map(earlier).sum()
        }
    }
}

impl Trial<'_> {
    pub(super) fn unit(&self) -> Unit {
        Unit::of(self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_TWO: Unit = Unit::Start { pairs: 2 };

    /// By hand with quantiles of Student's t: 6 starts (2.570582 + 0.919544) / sqrt(6) = 1.42484 standard deviations.
    #[test]
    fn designs_are_shown_up_to_the_pairs_that_are_asked_for() {
        assert_eq!(Unit::Pair.shown(20), [6, 8, 12, 16, 20]);
        assert_eq!(Unit::Pair.shown(450), [6, 8, 12, 16, 20, 30, 40, 60, 100, 200, 400]);
        assert_eq!(Unit::Start { pairs: 2 }.shown(16), [3, 4, 6, 8]);
        assert_eq!(Unit::Start { pairs: 2 }.shown(400).last(), Some(&200));
        assert!(Unit::Pair.shown(5).is_empty());
    }

    #[test]
    fn six_starts_show_less_than_the_twelve_pairs_on_them_and_that_is_what_is_said() {
        let by_starts = OF_TWO.detectable_ratio(0.1, OF_TWO.in_pairs(12), 0.95).unwrap();
        assert!((by_starts.ln() - 0.142_484).abs() < 1e-5, "{by_starts}");
        let by_pairs = Unit::Pair.detectable_ratio(0.1, 12, 0.95).unwrap();
        assert!(by_starts > by_pairs, "{by_starts} {by_pairs}");
    }

    #[test]
    fn as_many_as_needed_show_it_and_one_less_do_not_in_every_unit() {
        for unit in [Unit::Pair, Unit::PairLookedAt, OF_TWO] {
            let needed = unit.needed(0.1, 1.05, 0.95).unwrap();
            assert!(unit.detectable_ratio(0.1, needed, 0.95).unwrap() <= 1.05, "{unit:?} {needed}");
            assert!(unit.detectable_ratio(0.1, needed - 1, 0.95).unwrap() > 1.05, "{unit:?} {needed}");
        }
    }

    #[test]
    fn looking_after_every_pair_takes_more_pairs() {
        let (looked_at, fixed) = (Unit::PairLookedAt, Unit::Pair);
        assert!(looked_at.needed(0.1, 1.05, 0.95) > fixed.needed(0.1, 1.05, 0.95));
        assert_eq!(looked_at.detectable_ratio(0.1, 10, 0.95), None, "worth less than 6 pairs");
    }

    /// 12 comparisons leave 0.05 / 12 to each: 2 of 2^9 orders of signs are fewer, 2 of 2^8 are not.
    #[test]
    fn twelve_comparisons_take_nine_pairs_to_show_anything() {
        let level = deciding_level(0.95, 12);
        assert_eq!(Unit::Pair.fewest(level), Some(9));
        assert_eq!(Unit::Pair.detectable_ratio(0.1, 8, level), None);
        assert!(Unit::Pair.detectable_ratio(0.1, 9, level).is_some());
    }

    #[test]
    fn a_mean_of_more_pairs_varies_less_by_no_more_than_if_they_shared_nothing() {
        let of_four = Unit::Start { pairs: 4 };
        assert!((of_four.spread_at_least(0.2, Unit::Pair) - 0.1).abs() < 1e-12);
        assert!((OF_TWO.spread_at_least(0.2, of_four) - 0.2).abs() < 1e-12, "of fewer it varies more");
    }

    #[test]
    fn a_plan_says_in_words_how_many_pairs_a_start_has() {
        assert_eq!((OF_TWO.in_pairs(12), OF_TWO.in_pairs(13)), (6, 7));
        assert_eq!(OF_TWO.planned(20), "20 starts of 2 pairs");
        assert_eq!(Unit::Pair.planned(20), "20 pairs");
        assert_eq!(OF_TWO.shown(40), [3, 4, 6, 8, 12, 16, 20]);
    }
}
