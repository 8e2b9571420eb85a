//! Metrics that are mostly 0: whether anything happened, instead of how much.
//!
//! The logarithm of half an event is no measure of a server on which nothing ever happens. What can be compared then is the share
//! of a server's intervals in which something happened at all.

use super::design::{Design, Groups};
use super::permutation::{Chance, DRAWN, chance};
use std::collections::BTreeMap;

/// Share of servers without any event on one side of the change above which logarithms of totals are not to be used.
pub const ZERO_SHARE_MAX: f64 = 0.5;

/// Shares of a server's intervals in which something happened, 0..1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The share before the change.
    pub before: f64,
    /// The share after it.
    pub after: f64,
}

/// The comparison of the groups' shares.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareEffect {
    /// The ratio; none where a group has an event on one side of the change in none of its servers, or in a single one.
    pub ratio: Option<ShareRatio>,
    /// Test less control of after less before, within strata: it needs no logarithm.
    pub difference: f64,
    /// The chance of that difference.
    pub chance: Chance,
}

/// The ratio of ratios of shares.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareRatio {
    /// Logarithm of (test / control after) over (test / control before), the strata of both groups weighing alike.
    pub log_ratio: f64,
    /// Its standard error, by what each server alone moves it by (HC3, which is the jackknife's).
    pub error: f64,
    /// Degrees of freedom of t; 0: none is known (see [`super::degrees_of_freedom`]).
    pub freedom: f64,
    /// See [`super::design::Effect::spread`].
    pub spread: f64,
    /// The contribution of each server to the ratio, in the order in which they were given: test less control is the logarithm.
    pub adds: Vec<f64>,
}

/// The comparison of the groups' shares; none where the groups cannot be told apart, and where no share differs from another.
pub fn share_effect(groups: &Groups, shares: &[Shares], seed: u64) -> Option<ShareEffect> {
    let groups = Groups { load: None, ..groups.clone() };
    let outcome: Vec<f64> = shares.iter().map(|it| it.after - it.before).collect();
    let design = Design::new(&groups)?;
    let difference = design.fit(&outcome)?.log_ratio;
    let chance = chance(&groups, &outcome, DRAWN, seed)?;
    Some(ShareEffect { ratio: ratio(&groups, &design, shares), difference, chance })
}

/// Each group's shares are added up with the weights that strata have in the fit. What a server adds to the logarithms of these
/// sums is fitted like any outcome: its error is that of the ratio.
fn ratio(groups: &Groups, design: &Design, shares: &[Shares]) -> Option<ShareRatio> {
    let mut sizes = BTreeMap::<u32, [f64; 2]>::new();
    for (test, stratum) in groups.test.iter().zip(groups.stratum) {
        sizes.entry(*stratum).or_default()[usize::from(*test)] += 1.0;
    }
    let weight = |[control, test]: &[f64; 2]| control * test / (control + test);
    let all: f64 = sizes.values().map(weight).sum();
    let (mut sums, mut largest) = ([[0.0f64; 2]; 2], [[0.0f64; 2]; 2]);
    for ((test, stratum), share) in groups.test.iter().zip(groups.stratum).zip(shares) {
        let (group, of_stratum) = (usize::from(*test), &sizes[stratum]);
        for (side, share) in [share.before, share.after].into_iter().enumerate() {
            let part = share * weight(of_stratum) / of_stratum[group];
            sums[group][side] += part;
            largest[group][side] = largest[group][side].max(part);
        }
    }
    let hang_on_one = sums
        .iter()
        .zip(&largest)
        .any(|(sums, largest)| sums.iter().zip(largest).any(|(sum, largest)| *largest >= sum * (1.0 - 1e-9)));
    // The only server of a group is all of its sum: what can be said then is said by its degrees of freedom.
    let single = |of: bool| groups.test.iter().filter(|test| **test == of).count() == 1;
    if sums.iter().flatten().any(|sum| *sum <= 0.0) || (hang_on_one && !single(true) && !single(false)) {
        return None;
    }
    let adds = groups.test.iter().zip(shares).map(|(test, share)| {
        let [before, after] = sums[usize::from(*test)];
        all * (share.after / after - share.before / before)
    });
    let change = |[before, after]: [f64; 2]| after.ln() - before.ln();
    let log_ratio = change(sums[1]) - change(sums[0]);
    // Of itself each group's mean is 0.
    let adds: Vec<f64> = groups
        .test
        .iter()
        .zip(adds)
        .map(|(test, adds)| if *test { adds + log_ratio } else { adds })
        .collect();
    let effect = design.effect(&adds)?;
    let moves = effect.without.iter().filter(|moves| moves.is_finite());
    Some(ShareRatio {
        adds,
        log_ratio,
        error: moves.map(|moves| moves * moves).sum::<f64>().sqrt(),
        freedom: effect.freedom,
        spread: effect.spread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::random::Random;

    /// Servers with an event in an interval with the chances given, of 14 intervals before and 7 after.
    fn shares(chances: [f64; 2], n: usize, seed: u64) -> Vec<Shares> {
        let mut random = Random::new(seed);
        let mut share = |chance: f64, of: u32| {
            f64::from((0..of).filter(|_| random.unit() < chance).count() as u32) / f64::from(of)
        };
        (0..n).map(|_| Shares { before: share(chances[0], 14), after: share(chances[1], 7) }).collect()
    }

    #[test]
    fn half_as_many_intervals_with_an_event_are_found_as_half() {
        let mut all = shares([0.2, 0.1], 200, 1);
        all.extend(shares([0.2, 0.2], 200, 2));
        let test: Vec<bool> = (0..400).map(|place| place < 200).collect();
        let groups = Groups { test: &test, stratum: &[0; 400], load: None };
        let found = share_effect(&groups, &all, 1).unwrap();
        let ratio = found.ratio.as_ref().unwrap();
        assert!((ratio.log_ratio - 0.5f64.ln()).abs() < 2.5 * ratio.error && ratio.error < 0.2, "{found:?}");
        assert!(ratio.freedom > 300.0 && found.difference < -0.05);
        assert!(found.chance.p < 0.001);
    }

    #[test]
    fn no_event_at_all_has_no_ratio_and_still_a_p() {
        let mut all = shares([0.2, 0.0], 30, 1);
        all.extend(shares([0.2, 0.2], 30, 2));
        let test: Vec<bool> = (0..60).map(|place| place < 30).collect();
        let groups = Groups { test: &test, stratum: &[0; 60], load: None };
        let found = share_effect(&groups, &all, 1).unwrap();
        assert_eq!(found.ratio, None);
        assert!(found.chance.p < 0.001);
    }

    /// Sites that go different ways, and of which each group has another share: the change does nothing.
    #[test]
    fn strata_of_unlike_size_and_course_do_not_pass_for_an_effect() {
        let sizes = [(150, 30, [0.3, 0.05]), (30, 150, [0.05, 0.3])];
        let (mut all, mut test, mut stratum) = (Vec::new(), Vec::new(), Vec::new());
        for (site, (in_test, in_control, chances)) in sizes.into_iter().enumerate() {
            all.extend(shares(chances, in_test + in_control, 7 + site as u64));
            test.extend((0..in_test + in_control).map(|place| place < in_test));
            stratum.extend(vec![site as u32; in_test + in_control]);
        }
        let of =
            |stratum: &[u32]| share_effect(&Groups { test: &test, stratum, load: None }, &all, 1).unwrap();
        let (within, across) = (of(&stratum), of(&vec![0; test.len()]));
        let (ratio, pooled) = (within.ratio.as_ref().unwrap(), across.ratio.as_ref().unwrap());
        assert!(ratio.log_ratio.abs() < 2.5 * ratio.error && ratio.error < 0.2, "{within:?}");
        assert!(within.chance.p > 0.05 && pooled.log_ratio < -5.0 * pooled.error, "{within:?} {across:?}");
    }

    /// 400 fleets: the interval has the truth in it (standard error 1.1 %).
    #[test]
    fn the_interval_of_shares_has_the_truth_in_it() {
        for (in_test, in_control, effect) in [(40, 40, 1.0), (10, 100, 1.0), (60, 60, 0.4)] {
            let (mut covered, mut known) = (0.0, 0.0);
            for seed in 0..400 {
                let mut all = shares([0.1, 0.1 * effect], in_test, 2 * seed);
                all.extend(shares([0.1, 0.1], in_control, 2 * seed + 1));
                let test: Vec<bool> = (0..in_test + in_control).map(|place| place < in_test).collect();
                let stratum = vec![0; test.len()];
                let groups = Groups { test: &test, stratum: &stratum, load: None };
                let Some(ratio) = ratio(&groups, &Design::new(&groups).unwrap(), &all) else { continue };
                let reach = crate::law::student_quantile(0.975, ratio.freedom).unwrap() * ratio.error;
                known += 1.0;
                covered += f64::from(u8::from((ratio.log_ratio - effect.ln()).abs() <= reach));
            }
            assert!(known > 390.0 && covered / known > 0.92, "{in_test}/{in_control}: {covered} of {known}");
        }
    }
}
