//! The effect by totals: a second opinion on counts, which takes no logarithm of any server's count.
//!
//! Poisson's likelihood with a level for each server (fixed effects; Hausman, Hall and Griliches 1984, Econometrica 52). Given what a
//! server counted in all, the share of it that came after the change is a logistic regression on stratum, load and group. The
//! estimate only needs the means to be right, whatever the counts' law (Wooldridge 1999, Journal of Econometrics 90): counts may
//! cluster and be mostly 0. So its errors are by server, of type HC3, and not Poisson's. A negative binomial law would add
//! an assumption, and with a level for each server it is no fixed-effects model (Allison and Waterman 2002, Sociological Methodology 32).
//!
//! Servers weigh as much as they count. That is what makes it a second opinion and not the first: one server may outweigh a group.

use super::degrees_of_freedom::Columns;
use super::design::{Groups, dot};
use crate::ends::Ends;
use std::collections::BTreeMap;

/// Steps of Newton's method; where there is an answer, ten do.
const STEPS: usize = 60;

/// Change of the linear predictor at which it has converged.
const ENOUGH: f64 = 1e-10;

/// A logarithm of odds beyond which one side of the change has no count at all, and the answer runs away.
const ODDS_MOST: f64 = 30.0;

/// The counts of a server before and after the change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// The count in all intervals before the change.
    pub before: f64,
    /// The count in all intervals after it.
    pub after: f64,
    /// Intervals before it.
    pub intervals_before: f64,
    /// Intervals after it.
    pub intervals_after: f64,
}

/// The difference between the groups' totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TotalsEffect {
    /// Test less control: the logarithm of the ratio of ratios of the totals, at equal load.
    pub log_ratio: f64,
    /// Its standard error, by server.
    pub error: f64,
    /// Degrees of freedom of t (see [`super::degrees_of_freedom`]).
    pub freedom: f64,
}

impl TotalsEffect {
    /// log_ratio +- t x error at a confidence level; none for a level outside 0..1.
    pub fn interval(&self, level: f64) -> Option<Ends> {
        Ends::student(self.log_ratio, self.error, self.freedom, level)
    }
}

/// The effect by totals; none where the groups cannot be told apart by what was counted: nothing in a group before or after the
/// change, or too few servers with any count, such as a single one of a group.
pub fn totals_effect(groups: &Groups, counted: &[Counted]) -> Option<TotalsEffect> {
    totals_fit(groups, counted).map(|fit| fit.effect)
}

/// The effect by totals, server by server.
#[derive(Debug, Clone, PartialEq)]
pub struct TotalsFit {
    /// The effect.
    pub effect: TotalsEffect,
    /// The amount by which the estimate would rise without each server, in the order in which they were given.
    pub without: Vec<f64>,
}

/// The same as [`totals_effect`], server by server.
pub fn totals_fit(groups: &Groups, counted: &[Counted]) -> Option<TotalsFit> {
    // A server that counted nothing says nothing of a ratio.
    let kept: Vec<usize> =
        (0..counted.len()).filter(|&at| counted[at].before + counted[at].after > 0.0).collect();
    let fit = Fit {
        all: kept.iter().map(|&at| counted[at].before + counted[at].after).collect(),
        after: kept.iter().map(|&at| counted[at].after).collect(),
        offset: kept
            .iter()
            .map(|&at| (counted[at].intervals_after / counted[at].intervals_before).ln())
            .collect(),
        group: kept.iter().map(|&at| f64::from(u8::from(groups.test[at]))).collect(),
        test: kept.iter().map(|&at| groups.test[at]).collect(),
        load: groups.load.map(|load| kept.iter().map(|&at| load[at]).collect()),
        stratum: numbered(kept.iter().map(|&at| groups.stratum[at])),
    };
    let (effect, moved) = fit.effect()?;
    let mut without = vec![0.0; counted.len()];
    kept.iter().zip(moved).for_each(|(at, moved)| without[*at] = -moved);
    Some(TotalsFit { effect, without })
}

/// Strata numbered from 0, without holes.
fn numbered(strata: impl Iterator<Item = u32> + Clone) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    strata
        .map(|stratum| {
            let next = numbers.len();
            *numbers.entry(stratum).or_insert(next)
        })
        .collect()
}

/// The servers that counted anything, column by column.
struct Fit {
    all: Vec<f64>,
    after: Vec<f64>,
    offset: Vec<f64>,
    group: Vec<f64>,
    test: Vec<bool>,
    load: Option<Vec<f64>>,
    stratum: Vec<usize>,
}

/// Group and load with the strata projected out, the group with the load projected out too, under weights.
struct Projected {
    group: Vec<f64>,
    group_squares: f64,
    load: Vec<f64>,
    load_squares: f64,
    /// Slope of the group over the load.
    group_on_load: f64,
}

impl Fit {
    fn effect(&self) -> Option<(TotalsEffect, Vec<f64>)> {
        let strata = self.stratum.iter().max()? + 1;
        let mut predictor = self.offset.clone();
        for _ in 0..STEPS {
            let (shares, weights) = self.shares(&predictor);
            let projected = self.projected(&weights, strata)?;
            let working: Vec<f64> = (0..self.all.len())
                .map(|at| {
                    predictor[at] - self.offset[at]
                        + (self.after[at] - self.all[at] * shares[at]) / weights[at]
                })
                .collect();
            let centred = self.centred(&working, &weights, strata);
            let log_ratio = weighted(&weights, &projected.group, &centred) / projected.group_squares;
            let slope = match projected.load.is_empty() {
                true => 0.0,
                false => {
                    weighted(&weights, &projected.load, &centred) / projected.load_squares
                        - log_ratio * projected.group_on_load
                }
            };
            let linear = |at: usize| {
                log_ratio * self.group[at] + self.load.as_ref().map_or(0.0, |load| slope * load[at])
            };
            let rest: Vec<f64> = (0..working.len()).map(|at| working[at] - linear(at)).collect();
            let levels = self.means(&rest, &weights, strata);
            let next: Vec<f64> =
                (0..rest.len()).map(|at| self.offset[at] + levels[self.stratum[at]] + linear(at)).collect();
            if next.iter().any(|value| !value.is_finite() || value.abs() > ODDS_MOST) {
                return None;
            }
            let moved = next.iter().zip(&predictor).map(|(next, was)| (next - was).abs()).fold(0.0, f64::max);
            predictor = next;
            if moved < ENOUGH {
                return self.with_error(log_ratio, &predictor, strata);
            }
        }
        None
    }

    /// The error by what each server alone moves the estimate by.
    fn with_error(
        &self,
        log_ratio: f64,
        predictor: &[f64],
        strata: usize,
    ) -> Option<(TotalsEffect, Vec<f64>)> {
        let (shares, weights) = self.shares(predictor);
        let projected = self.projected(&weights, strata)?;
        let mut of_stratum = vec![0.0; strata];
        weights.iter().zip(&self.stratum).for_each(|(weight, stratum)| of_stratum[*stratum] += weight);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let unit = |values: &[f64], squares: f64| -> Vec<f64> {
            values.iter().zip(&roots).map(|(value, root)| root * value / squares.sqrt()).collect()
        };
        let level = roots.iter().zip(&self.stratum).map(|(root, stratum)| root / of_stratum[*stratum].sqrt());
        let level: Vec<f64> = level.collect();
        let columns = Columns {
            stratum: &self.stratum,
            level: &level,
            load: &unit(&projected.load, projected.load_squares),
            group: &unit(&projected.group, projected.group_squares),
            test: &self.test,
        };
        let left = |at: usize| self.after[at] - self.all[at] * shares[at];
        let moved = (0..weights.len()).map(|at| {
            projected.group[at] * left(at) / projected.group_squares / (1.0 - columns.leverage(at))
        });
        let moved: Vec<f64> = moved.collect();
        let rest: Vec<f64> = (0..weights.len()).map(|at| left(at) / roots[at]).collect();
        let (_, freedom) = columns.error(columns.group, &rest);
        let error = dot(&moved, &moved).sqrt();
        let known = freedom > 0.0 && error > 0.0 && error.is_finite();
        known.then_some((TotalsEffect { log_ratio, error, freedom }, moved))
    }

    /// The share after the change that each server is expected to have, and its weight.
    fn shares(&self, predictor: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let shares: Vec<f64> = predictor.iter().map(|log_odds| 1.0 / (1.0 + (-log_odds).exp())).collect();
        let weights = shares.iter().zip(&self.all).map(|(share, all)| all * share * (1.0 - share)).collect();
        (shares, weights)
    }

    /// Group and load, projected; none where the group is told by the stratum or the load.
    fn projected(&self, weights: &[f64], strata: usize) -> Option<Projected> {
        let mut group = self.centred(&self.group, weights, strata);
        let spread = weighted(weights, &group, &group);
        let mut load = self.load.as_ref().map_or_else(Vec::new, |load| self.centred(load, weights, strata));
        let load_squares = if load.is_empty() { 0.0 } else { weighted(weights, &load, &load) };
        let mut group_on_load = 0.0;
        // As in the design: a load that is the same everywhere is left out.
        if load_squares <= 1e-18 * weights.iter().sum::<f64>() {
            load.clear();
        } else {
            group_on_load = weighted(weights, &load, &group) / load_squares;
            group.iter_mut().zip(&load).for_each(|(group, load)| *group -= group_on_load * load);
        }
        let group_squares = weighted(weights, &group, &group);
        let told = !group_squares.is_finite() || group_squares <= 1e-12 * spread || spread == 0.0;
        (!told).then_some(Projected { group, group_squares, load, load_squares, group_on_load })
    }

    fn centred(&self, values: &[f64], weights: &[f64], strata: usize) -> Vec<f64> {
        let means = self.means(values, weights, strata);
        values.iter().zip(&self.stratum).map(|(value, stratum)| value - means[*stratum]).collect()
    }

    fn means(&self, values: &[f64], weights: &[f64], strata: usize) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); strata];
        for ((value, weight), stratum) in values.iter().zip(weights).zip(&self.stratum) {
            sums[*stratum].0 += weight * value;
            sums[*stratum].1 += weight;
        }
        sums.into_iter().map(|(sum, weight)| sum / weight).collect()
    }
}

fn weighted(weights: &[f64], a: &[f64], b: &[f64]) -> f64 {
    weights.iter().zip(a).zip(b).map(|((weight, a), b)| weight * a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: [bool; 12] = [true, true, true, true, true, true, false, false, false, false, false, false];
    const LOAD: [f64; 12] = [0.41, 0.12, 0.77, 0.55, 0.30, 0.62, 0.18, 0.49, 0.66, 0.05, 0.37, 0.71];
    const BEFORE: [f64; 12] = [14.0, 0.0, 35.0, 8.0, 22.0, 3.0, 17.0, 41.0, 9.0, 5.0, 28.0, 12.0];
    const AFTER: [f64; 12] = [9.0, 1.0, 40.0, 0.0, 15.0, 4.0, 12.0, 45.0, 16.0, 3.0, 14.0, 21.0];

    fn counted(before: &[f64], after: &[f64]) -> Vec<Counted> {
        let of = |(before, after): (&f64, &f64)| Counted {
            before: *before,
            after: *after,
            intervals_before: 14.0,
            intervals_after: 7.0,
        };
        before.iter().zip(after).map(of).collect()
    }

    fn close(ours: f64, reference: f64) {
        assert!((ours - reference).abs() < 1e-8 * reference.abs(), "{ours}, reference {reference}");
    }

    /// Reference: statsmodels, GLM(family=Poisson()) with a column for each server, on the same 24 rows; the errors by
    /// GLM(family=Binomial()) on the twelve servers with HC3's weights put on its scores.
    #[test]
    fn the_estimate_is_that_of_a_poisson_model_with_a_level_for_each_server() {
        let of = |stratum: &[u32], load: Option<&[f64]>| {
            totals_effect(&Groups { test: &TEST, stratum, load }, &counted(&BEFORE, &AFTER)).unwrap()
        };
        let adjusted = of(&[0; 12], Some(&LOAD));
        close(adjusted.log_ratio, -0.353_701_567_209_159_8);
        close(adjusted.error, 0.226_134_965_060_807_7);
        assert!((3.0..9.0).contains(&adjusted.freedom), "{adjusted:?}");
        let plain = of(&[0; 12], None);
        close(plain.log_ratio, -0.163_644_072_684_233_1);
        close(plain.error, 0.393_800_184_722_432_2);
        let strata = of(&[3, 8, 3, 8, 3, 8, 3, 8, 3, 8, 3, 8], Some(&LOAD));
        close(strata.log_ratio, -0.329_295_599_453_567_3);
        close(strata.error, 0.427_059_250_850_765_4);
        assert!((3.0..8.0).contains(&strata.freedom), "{strata:?}");
    }

    #[test]
    fn without_load_it_is_the_ratio_of_ratios_of_the_totals() {
        let sum = |of: &[f64], test: bool| -> f64 {
            of.iter().zip(TEST).filter(|(_, is)| *is == test).map(|(value, _)| value).sum()
        };
        let ratio = |test| sum(&AFTER, test) / sum(&BEFORE, test);
        let groups = Groups { test: &TEST, stratum: &[0; 12], load: None };
        let effect = totals_effect(&groups, &counted(&BEFORE, &AFTER)).unwrap();
        close(effect.log_ratio, f64::ln(ratio(true) / ratio(false)));
    }

    #[test]
    fn nothing_counted_on_one_side_has_no_ratio_and_servers_that_count_nothing_do_not_matter() {
        let groups = Groups { test: &TEST, stratum: &[0; 12], load: None };
        let mut after = AFTER;
        after[..6].fill(0.0);
        assert_eq!(totals_effect(&groups, &counted(&BEFORE, &after)), None);
        assert_eq!(totals_effect(&groups, &counted(&[0.0; 12], &[0.0; 12])), None);
        let more = [TEST.as_slice(), &[true, false]].concat();
        let groups_more = Groups { test: &more, stratum: &[0; 14], load: None };
        let and_silent = |of: &[f64]| [of, &[0.0, 0.0]].concat();
        assert_eq!(
            totals_effect(&groups_more, &counted(&and_silent(&BEFORE), &and_silent(&AFTER))),
            totals_effect(&groups, &counted(&BEFORE, &AFTER))
        );
    }
}
