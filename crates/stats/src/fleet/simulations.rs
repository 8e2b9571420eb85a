//! The methods on simulated fleets whose truth is known: false alarms, bias, power, coverage, and the naive answers on the same
//! data. A few hundred fleets in the usual tests, thousands in `make simulations`.

use super::design::{Design, Groups};
use super::naive::poisson;
use super::permutation::{chance, drawn};
use super::simulated::{Fleet, Recipe};
use super::totals::totals_effect;

const ALPHA: f64 = 0.05;
/// Permutations of a simulated fleet: p of 5 % needs no more.
const ROUNDS: u32 = 399;

/// Shares of fleets, and the mean error of the estimate.
#[derive(Debug, Default)]
struct Tally {
    adjusted: f64,
    by_interval: f64,
    log_count: f64,
    log_rate: f64,
    bias: f64,
    covered: f64,
    /// Totals at 99 %: their interval has the truth in it; it does not have the estimate by servers.
    totals_covered: f64,
    totals_apart: f64,
    after_only: f64,
    before_after: f64,
    pooled_did: f64,
}

fn tally(recipe: Recipe, fleets: u64, first_seed: u64) -> Tally {
    let mut tally = Tally::default();
    let one = 1.0 / fleets as f64;
    let count = |share: &mut f64, holds: bool| *share += if holds { one } else { 0.0 };
    for seed in first_seed..first_seed + fleets {
        let fleet = Fleet::new(recipe, seed);
        let (drops, load) = (fleet.drops_change(), fleet.load_change());
        let stratum = vec![0; drops.len()];
        let plain = Groups { test: &fleet.test, stratum: &stratum, load: None };
        let adjusted = Groups { load: Some(&load), ..plain.clone() };
        let p = |groups: &Groups, outcome: &[f64]| {
            if recipe.servers < 9 {
                return chance(groups, outcome, ROUNDS, seed).unwrap().p;
            }
            drawn(&Design::new(groups).unwrap(), outcome, false, ROUNDS, seed).p
        };
        let effect = Design::new(&adjusted).unwrap().effect(&drops).unwrap();
        let interval = effect.interval(1.0 - ALPHA).unwrap();
        let rate: Vec<f64> = drops.iter().zip(&load).map(|(drops, load)| drops - load).collect();
        count(&mut tally.adjusted, p(&adjusted, &drops) <= ALPHA);
        count(&mut tally.by_interval, !interval.contains(0.0));
        count(&mut tally.covered, interval.contains(recipe.effect));
        let totals =
            totals_effect(&adjusted, &fleet.counted()).and_then(|totals| totals.interval(0.99)).unwrap();
        count(&mut tally.totals_covered, totals.contains(recipe.effect));
        count(&mut tally.totals_apart, !totals.contains(effect.log_ratio));
        count(&mut tally.log_count, p(&plain, &drops) <= ALPHA);
        count(&mut tally.log_rate, p(&plain, &rate) <= ALPHA);
        tally.bias += (effect.log_ratio - recipe.effect) * one;
        let of = |test, after| fleet.rate(test, after);
        let naive = |over: &[_], under: &[_]| poisson(over, under, 0.95).unwrap().p <= ALPHA;
        count(&mut tally.after_only, naive(&[of(true, true)], &[of(false, true)]));
        count(&mut tally.before_after, naive(&[of(true, true)], &[of(true, false)]));
        let crossed = naive(&[of(true, true), of(false, false)], &[of(true, false), of(false, true)]);
        count(&mut tally.pooled_did, crossed);
    }
    tally
}

fn fleet(effect: f64, unequal: f64) -> Recipe {
    Recipe { servers: 10, effect, unequal }
}

/// Counts beyond four standard errors of the promise fail: 5 % of 120 fleets are 6, and 0.05 + 4 x 0.02 is 13 %.
#[test]
fn a_surge_with_the_change_is_not_taken_for_the_change_and_pooled_events_say_it_is() {
    let null = tally(fleet(0.0, 1.0), 120, 1);
    assert!(null.adjusted <= 0.13 && null.by_interval <= 0.13 && null.bias.abs() < 0.08, "{null:?}");
    assert!(null.after_only > 0.8 && null.before_after > 0.8 && null.pooled_did > 0.6, "{null:?}");
    let unequal = tally(fleet(0.0, 1.3), 120, 1_000);
    assert!(unequal.adjusted <= 0.13 && unequal.bias.abs() < 0.08, "{unequal:?}");
    assert!(unequal.log_count > 0.3 && unequal.log_rate > unequal.adjusted, "{unequal:?}");
}

#[test]
fn a_quarter_fewer_drops_are_found_more_often_at_equal_load() {
    let real = tally(fleet(-0.3, 1.0), 120, 2_000);
    assert!(real.adjusted > 0.5 && real.adjusted > real.log_count + 0.15, "{real:?}");
    assert!((0.88..=1.0).contains(&real.covered), "{real:?}");
    // Nominal 99 %, and 1 % at most, as a check is to alarm; by the simulations below 98.3 to 99.6 %, and 0 to 0.1 %.
    assert!(real.totals_covered >= 0.94 && real.totals_apart <= 0.03, "{real:?}");
}

#[test]
#[ignore = "a simulation: make simulations"]
fn fleets_without_an_effect_are_let_pass_as_often_as_promised() {
    for (recipe, seed) in [(fleet(0.0, 1.0), 10_000), (fleet(0.0, 1.3), 20_000)] {
        let null = tally(recipe, 400, seed);
        eprintln!("{recipe:?}\n{null:?}");
        assert!(null.adjusted <= 0.075 && null.by_interval <= 0.075, "{null:?}");
        assert!(null.bias.abs() < 0.02, "{null:?}");
    }
}

#[test]
#[ignore = "a simulation: make simulations"]
fn intervals_cover_the_truth_as_often_as_promised_for_few_and_many_servers() {
    for servers in [4, 6, 8, 10, 20, 60] {
        for effect in [0.0, -0.3, -3.0] {
            let many = tally(Recipe { servers, effect, unequal: 1.0 }, 1_000, 30_000);
            eprintln!("{servers} servers, effect {effect}: {many:?}");
            // Standard error 0.7 %: nominal 95 % less three of them.
            assert!(many.covered >= 0.93 && many.bias.abs() < 0.04, "{servers}: {many:?}");
            assert!(many.totals_covered >= 0.97 && many.totals_apart <= 0.015, "{servers}: {many:?}");
            if effect == 0.0 {
                assert!(many.adjusted <= 0.07, "{servers}: {many:?}");
            }
        }
    }
}

#[test]
#[ignore = "a simulation: make simulations"]
fn a_quarter_fewer_drops_are_found_in_most_fleets_of_ten_and_ten() {
    let real = tally(fleet(-0.3, 1.0), 400, 40_000);
    eprintln!("{real:?}");
    assert!(real.adjusted > 0.58 && real.log_rate < real.adjusted && real.log_count < 0.4, "{real:?}");
}
