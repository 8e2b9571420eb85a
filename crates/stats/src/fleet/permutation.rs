//! The chance that groups differ so much without an effect, by permutation.
//!
//! With few servers every way in which the groups could have been drawn is tried: that is exact for groups that were
//! drawn at random. With many, what the load does not explain is dealt out anew among the servers of a stratum (Freedman and Lane
//! 1983, Journal of Business & Economic Statistics 1). Either way the statistic is t with HC2's error, so that groups of
//! unequal spread do not pass for groups of unequal mean (Chung and Romano 2013, Annals of Statistics 41).

use super::design::{Design, Fit, Groups, dot};
use crate::power::smallest_p_two_groups;
use plumb_model::random::Random;

/// Permutations to draw for a verdict, where there are too many to try them all.
pub const DRAWN: u32 = 9_999;

/// Permutations to draw for a check: enough to tell 1 % from 5 %.
pub const DRAWN_FOR_CHECK: u32 = 999;

/// Ways to draw the groups up to which each is tried (ours: well under a second).
const TRIED_MOST: f64 = 20_000.0;

/// Statistics that differ by less than this share are equal: sums in another order round differently.
const EQUAL: f64 = 1e-9;

/// A p, and where it is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// Two-sided p.
    pub p: f64,
    /// Ways tried or drawn.
    pub tried: u32,
    /// True if they are all.
    pub exact: bool,
}

/// Ways to draw the test group within the strata; infinite where a number has no room for it.
pub fn ways(test: &[bool], stratum: &[u32]) -> f64 {
    sizes(test, stratum).iter().map(|(test, control)| choose(test + control, *test)).product()
}

/// The smallest two-sided p that these groups can reach: 2 / ways where every stratum has groups of equal size, as each
/// draw has its mirror image then, else 1 / ways.
pub fn smallest_p(test: &[bool], stratum: &[u32]) -> f64 {
    let mirrored = sizes(test, stratum).iter().all(|(test, control)| test == control);
    (if mirrored { 2.0 } else { 1.0 } / ways(test, stratum)).min(1.0)
}

/// The fewest servers in each of two equal groups for which [`smallest_p`] is at most `alpha`: 4 for 5 %.
pub fn servers_min(alpha: f64) -> usize {
    (1..).find(|&n| smallest_p_two_groups(n, n) <= alpha || n >= 1_000).unwrap_or(1_000)
}

/// The chance of an effect as large without a cause; `rounds` permutations are drawn where not all can be tried. Groups that
/// differ by the same in every server have no error: then the plain differences are compared. None where there is no effect to
/// test.
pub fn chance(groups: &Groups, outcome: &[f64], rounds: u32, seed: u64) -> Option<Chance> {
    let design = Design::new(groups)?;
    let fit = design.fit(outcome)?;
    let nothing = 1e-18 * (dot(outcome, outcome) + outcome.len() as f64);
    if fit.exact && fit.log_ratio * fit.log_ratio * design.group_squares <= nothing {
        return None;
    }
    let plain = fit.exact;
    let ways = ways(groups.test, groups.stratum);
    if ways > TRIED_MOST {
        return Some(drawn(&design, outcome, plain, rounds, seed));
    }
    let statistic = |fit: &Fit| {
        let square = fit.log_ratio * fit.log_ratio;
        if plain { square } else { square / fit.variance }
    };
    let threshold = statistic(&fit) * (1.0 - EQUAL);
    let (mut tried, mut extreme) = (0, 0);
    each_draw(groups, &mut |test| {
        let drawn = Groups { test, ..groups.clone() };
        let fit = Design::new(&drawn).and_then(|design| design.fit(outcome));
        tried += 1;
        // A draw that cannot be told apart by any load or error counts against the effect.
        let counts = |fit: &Fit| (fit.exact && !plain) || statistic(fit) >= threshold;
        extreme += u32::from(fit.as_ref().is_none_or(counts));
    });
    Some(Chance { p: f64::from(extreme) / f64::from(tried), tried, exact: true })
}

/// Freedman and Lane's permutations: (1 + extreme) / (1 + drawn), Phipson and Smyth 2010.
pub(super) fn drawn(design: &Design, outcome: &[f64], plain: bool, rounds: u32, seed: u64) -> Chance {
    let (mut rest, _) = design.reduced(outcome);
    let weights: Vec<f64> =
        design.group.iter().zip(&design.leverage).map(|(group, h)| group * group / (1.0 - h)).collect();
    let statistic = |rest: &[f64]| match plain {
        true => dot(&design.group, rest).powi(2),
        false => square_of_t(design, rest, &weights),
    };
    let threshold = statistic(&rest) * (1.0 - EQUAL);
    let mut random = Random::new(seed);
    let mut extreme = 0;
    for _ in 0..rounds {
        design.strata.iter().for_each(|stratum| random.shuffle(&mut rest[stratum.clone()]));
        extreme += u32::from(statistic(&rest) >= threshold);
    }
    Chance { p: f64::from(1 + extreme) / f64::from(1 + rounds), tried: rounds, exact: false }
}

/// The square of t of an outcome whose strata's means are taken off already.
fn square_of_t(design: &Design, centred: &[f64], weights: &[f64]) -> f64 {
    let effect = dot(&design.group, centred) / design.group_squares;
    let variance: f64 = if design.load.is_empty() {
        let rest = centred.iter().zip(&design.group).map(|(y, g)| y - effect * g);
        rest.zip(weights).map(|(rest, weight)| weight * rest * rest).sum()
    } else {
        let slope = dot(&design.load, centred) / design.load_squares;
        let explained = design.group.iter().zip(&design.load).map(|(g, x)| effect * g + slope * x);
        let rest = centred.iter().zip(explained).map(|(y, explained)| y - explained);
        rest.zip(weights).map(|(rest, weight)| weight * rest * rest).sum()
    };
    if effect == 0.0 { 0.0 } else { effect * effect / variance }
}

/// Calls with every way to draw the test group within the strata.
fn each_draw(groups: &Groups, visit: &mut dyn FnMut(&[bool])) {
    let mut order: Vec<usize> = (0..groups.test.len()).collect();
    order.sort_by_key(|&place| groups.stratum[place]);
    let strata: Vec<&[usize]> = order.chunk_by(|a, b| groups.stratum[*a] == groups.stratum[*b]).collect();
    let mut test = vec![false; groups.test.len()];
    let in_test = |places: &[usize]| places.iter().filter(|&&place| groups.test[place]).count();
    let wanted: Vec<usize> = strata.iter().map(|places| in_test(places)).collect();
    draw_from(&strata, &wanted, &mut test, visit);
}

/// Draws from the first stratum in every way, and from the others after each.
fn draw_from(strata: &[&[usize]], wanted: &[usize], test: &mut [bool], visit: &mut dyn FnMut(&[bool])) {
    let (Some((places, others)), Some((&left, wanted_of_others))) =
        (strata.split_first(), wanted.split_first())
    else {
        return visit(test);
    };
    if left == 0 {
        return draw_from(others, wanted_of_others, test, visit);
    }
    // With so few places left, those before were the last chance.
    for first in 0..=places.len() - left {
        test[places[first]] = true;
        let mut rest = vec![&places[first + 1..]];
        rest.extend(others);
        let mut wanted = vec![left - 1];
        wanted.extend(wanted_of_others);
        draw_from(&rest, &wanted, test, visit);
        test[places[first]] = false;
    }
}

/// Test and control servers of each stratum.
fn sizes(test: &[bool], stratum: &[u32]) -> Vec<(usize, usize)> {
    let mut sizes = std::collections::BTreeMap::<u32, (usize, usize)>::new();
    for (test, stratum) in test.iter().zip(stratum) {
        let (in_test, in_control) = sizes.entry(*stratum).or_default();
        *if *test { in_test } else { in_control } += 1;
    }
    sizes.into_values().collect()
}

fn choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(n: usize) -> Vec<bool> {
        (0..2 * n).map(|place| place < n).collect()
    }

    /// 2 / C(2n, n): the table of benchmath's anone.go (golang.org/x/perf) for Mann and Whitney's test, which has the same floor.
    #[test]
    fn three_servers_in_each_group_can_never_reach_five_percent() {
        for (n, floor) in [(3, 0.1), (4, 0.02857), (5, 0.00794), (6, 0.00216)] {
            let p = smallest_p(&halves(n), &vec![0; 2 * n]);
            assert!((p - floor).abs() < 5e-6, "{n}: {p}");
        }
        assert_eq!([0.05, 0.01, 0.001].map(servers_min), [4, 5, 7]);
        // Six matched pairs: 2 of 64.
        let pairs: Vec<u32> = (0..12).map(|place| place / 2).collect();
        let test: Vec<bool> = (0..12).map(|place| place % 2 == 0).collect();
        assert_eq!(smallest_p(&test, &pairs), 2.0 / 64.0);
    }

    #[test]
    fn groups_that_do_not_overlap_have_the_smallest_p() {
        let outcome = [-3.0, -3.2, -2.9, -3.1, 0.1, 0.0, -0.1, 0.2];
        let groups = Groups { test: &halves(4), stratum: &[0; 8], load: None };
        let chance = chance(&groups, &outcome, DRAWN, 1).unwrap();
        assert_eq!((chance.p, chance.tried, chance.exact), (2.0 / 70.0, 70, true));
    }

    /// Every server of a group changed by the same: there is no error, and the two groups are as far apart as any draw can make them.
    #[test]
    fn a_difference_without_any_spread_has_a_p() {
        let outcome: Vec<f64> = (0..12).map(|place| if place < 6 { -1.0 } else { 0.0 }).collect();
        let groups = Groups { test: &halves(6), stratum: &[0; 12], load: None };
        assert_eq!(chance(&groups, &outcome, DRAWN, 1).unwrap().p, 2.0 / 924.0);
        assert_eq!(chance(&groups, &[0.3; 12], DRAWN, 1), None);
        let outcome: Vec<f64> = (0..40).map(|place| if place < 20 { 1.0 } else { 0.0 }).collect();
        let groups = Groups { test: &halves(20), stratum: &[0; 40], load: None };
        assert_eq!(chance(&groups, &outcome, 999, 1).unwrap().p, 1.0 / 1_000.0);
    }

    #[test]
    fn every_way_to_draw_is_tried_once() {
        let groups = Groups {
            test: &[true, true, false, false, true, false, false],
            stratum: &[5, 5, 5, 5, 2, 2, 2],
            load: None,
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut calls = 0;
        each_draw(&groups, &mut |test| {
            calls += 1;
            seen.insert(test.to_vec());
            assert_eq!(
                (test[..4].iter().filter(|it| **it).count(), test[4..].iter().filter(|it| **it).count()),
                (2, 1)
            );
        });
        assert_eq!((calls, seen.len()), (18, 18));
        assert_eq!(ways(groups.test, groups.stratum), 18.0);
    }

    /// The two ways to a p are of the same thing: on groups that both can handle they agree within what drawing leaves open.
    #[test]
    fn drawing_agrees_with_trying_them_all() {
        let mut random = Random::new(11);
        let load: Vec<f64> = (0..16).map(|_| random.normal() * 0.25).collect();
        for shift in [0.0, -0.2, -0.35] {
            let test = halves(8);
            let outcome: Vec<f64> = (0..16)
                .map(|place| {
                    1.8 * load[place] + 0.3 * random.normal() + if test[place] { shift } else { 0.0 }
                })
                .collect();
            let groups = Groups { test: &test, stratum: &[0; 16], load: Some(&load) };
            let exact = chance(&groups, &outcome, DRAWN, 1).unwrap();
            let drawn = drawn(&Design::new(&groups).unwrap(), &outcome, false, DRAWN, 1);
            assert!(exact.exact && !drawn.exact);
            assert!((exact.p - drawn.p).abs() < 0.03, "{exact:?} {drawn:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_p_and_what_is_added_to_all_changes_nothing() {
        let mut random = Random::new(5);
        let outcome: Vec<f64> = (0..40).map(|_| random.normal()).collect();
        let shifted: Vec<f64> = outcome.iter().map(|value| value + 7.0).collect();
        let groups = Groups { test: &halves(20), stratum: &[0; 40], load: None };
        let of = |outcome: &[f64], seed| chance(&groups, outcome, DRAWN, seed).unwrap().p;
        assert_eq!(of(&outcome, 3), of(&outcome, 3));
        assert!((of(&outcome, 3) - of(&shifted, 3)).abs() < 1e-3);
        assert!((of(&outcome, 3) - of(&outcome, 4)).abs() < 0.02);
    }
}
