//! Fleets with a known truth: servers of different size, days of different load, drops that grow faster than the load, a surge that
//! begins with the change and hits each server differently. What is known of them is what the methods have to find.

use super::change::{Scale, log_change};
use super::naive::Rate;
use super::totals::Counted;
use plumb_model::random::Random;

/// Days before the change, and after it.
pub(super) const BEFORE: usize = 14;
const AFTER: usize = 7;

/// The true values by which a fleet is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    /// Servers in each group.
    pub(super) servers: usize,
    /// The effect of the change on the test group's drops, as a logarithm.
    pub(super) effect: f64,
    /// The ratio by which the surge hits the test group harder.
    pub(super) unequal: f64,
}

/// A fleet: drops and attempts by server and day; the first half of the servers is the test group.
pub(super) struct Fleet {
    pub(super) test: Vec<bool>,
    drops: Vec<Vec<f64>>,
    attempts: Vec<Vec<f64>>,
}

impl Fleet {
    pub(super) fn new(recipe: Recipe, seed: u64) -> Fleet {
        let mut random = Random::new(seed);
        let days: Vec<f64> = (0..BEFORE + AFTER).map(|_| (0.1 * random.normal()).exp()).collect();
        let test: Vec<bool> = (0..2 * recipe.servers).map(|place| place < recipe.servers).collect();
        let (mut drops, mut attempts) = (Vec::new(), Vec::new());
        for test in &test {
            let usual_drops = 50.0 * (0.7 * random.normal()).exp();
            let usual_attempts = 1e6 * (0.5 * random.normal()).exp();
            let harder = if *test { recipe.unequal } else { 1.0 };
            let surge = 1.6 * harder * (0.25 * random.normal()).exp();
            let (mut of_drops, mut of_attempts) = (Vec::new(), Vec::new());
            for (day, usual) in days.iter().enumerate() {
                let after = day >= BEFORE;
                let load = usual * if after { surge } else { 1.0 };
                let effect = if after && *test { recipe.effect } else { 0.0 };
                let expected = usual_drops * load.powf(1.8) * effect.exp();
                of_drops.push(poisson(expected * gamma_4(&mut random), &mut random));
                of_attempts.push(usual_attempts * load);
            }
            drops.push(of_drops);
            attempts.push(of_attempts);
        }
        Fleet { test, drops, attempts }
    }

    /// The change of each server's drops.
    pub(super) fn drops_change(&self) -> Vec<f64> {
        let scale = Scale::Total { offset: 0.5 };
        self.drops.iter().map(|days| log_change(&days[..BEFORE], &days[BEFORE..], scale).unwrap()).collect()
    }

    /// The change of each server's load.
    pub(super) fn load_change(&self) -> Vec<f64> {
        let scale = Scale::Total { offset: 0.0 };
        self.attempts
            .iter()
            .map(|days| log_change(&days[..BEFORE], &days[BEFORE..], scale).unwrap())
            .collect()
    }

    /// The counts of each server.
    pub(super) fn counted(&self) -> Vec<Counted> {
        let of = |days: &Vec<f64>| Counted {
            before: days[..BEFORE].iter().sum(),
            after: days[BEFORE..].iter().sum(),
            intervals_before: BEFORE as f64,
            intervals_after: AFTER as f64,
        };
        self.drops.iter().map(of).collect()
    }

    /// All drops over all attempts of a group on one side of the change.
    pub(super) fn rate(&self, test: bool, after: bool) -> Rate {
        let range = if after { BEFORE..BEFORE + AFTER } else { 0..BEFORE };
        let sum = |rows: &[Vec<f64>]| {
            let of_group = rows.iter().zip(&self.test).filter(|(_, of)| **of == test);
            of_group.map(|(days, _)| days[range.clone()].iter().sum::<f64>()).sum::<f64>()
        };
        Rate { events: sum(&self.drops), exposure: sum(&self.attempts) }
    }
}

/// Mean 1, variance 1/4: how drops cluster.
fn gamma_4(random: &mut Random) -> f64 {
    (0..4).map(|_| -(1.0 - random.unit()).ln()).sum::<f64>() / 4.0
}

/// Waiting times up to 200, the normal approximation beyond.
fn poisson(expected: f64, random: &mut Random) -> f64 {
    if expected > 200.0 {
        return (expected + expected.sqrt() * random.normal()).round().max(0.0);
    }
    let (mut waited, mut events) = (0.0, -1.0);
    while waited < expected {
        waited -= (1.0 - random.unit()).ln();
        events += 1.0;
    }
    f64::max(events, 0.0)
}
