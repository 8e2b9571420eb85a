//! Metrics that are mostly 0: whether anything happened, instead of how much.
//!
//! The logarithm of half an event is no measure of a server on which nothing ever happens. What can be compared then is the share
//! of a server's intervals in which something happened at all.

use super::design::{Design, Groups};
use super::permutation::{Chance, DRAWN, chance};

/// Share of servers without any event on one side of the change above which logarithms of totals are not to be used.
pub const ZERO_SHARE_MAX: f64 = 0.5;

/// Shares of a server's intervals in which something happened, 0..1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Before the change.
    pub before: f64,
    /// After it.
    pub after: f64,
}

/// What the groups' shares say.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareEffect {
    /// Logarithm of (test / control after) over (test / control before), and its standard error by leaving out each server in
    /// turn (jackknife); none where a group has no event at all on one side, or only one server.
    pub log_ratio: Option<(f64, f64)>,
    /// Degrees of freedom of t.
    pub freedom: f64,
    /// Of the difference of the differences of shares, which needs no logarithm.
    pub chance: Chance,
}

/// None where the groups cannot be told apart.
pub fn share_effect(groups: &Groups, shares: &[Shares], seed: u64) -> Option<ShareEffect> {
    let groups = Groups { load: None, ..groups.clone() };
    let outcome: Vec<f64> = shares.iter().map(|it| it.after - it.before).collect();
    let freedom = Design::new(&groups)?.freedom;
    let chance = chance(&groups, &outcome, DRAWN, seed)?;
    Some(ShareEffect { log_ratio: log_ratio(groups.test, shares), freedom, chance })
}

fn log_ratio(test: &[bool], shares: &[Shares]) -> Option<(f64, f64)> {
    let mut sums = Sums::default();
    test.iter().zip(shares).for_each(|(test, share)| sums.add(*test, *share, 1.0));
    let whole = sums.log_ratio()?;
    let without = test.iter().zip(shares).map(|(test, share)| {
        let mut sums = sums;
        sums.add(*test, *share, -1.0);
        sums.log_ratio().map(|ratio| (*test, ratio))
    });
    let without: Vec<(bool, f64)> = without.collect::<Option<_>>()?;
    // The jackknife of a difference of two samples: each group has its own mean and count.
    let variance = |of: bool| {
        let ratios: Vec<f64> =
            without.iter().filter(|(test, _)| *test == of).map(|(_, ratio)| *ratio).collect();
        let n = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / n;
        (n - 1.0) / n * ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>()
    };
    let error = (variance(true) + variance(false)).sqrt();
    (error > 0.0).then_some((whole, error))
}

/// Sums of shares and counts of servers: test, control.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    before: [f64; 2],
    after: [f64; 2],
    servers: [f64; 2],
}

impl Sums {
    fn add(&mut self, test: bool, share: Shares, sign: f64) {
        let group = usize::from(!test);
        self.before[group] += sign * share.before;
        self.after[group] += sign * share.after;
        self.servers[group] += sign;
    }

    fn log_ratio(self) -> Option<f64> {
        let log = |sums: [f64; 2]| (sums[0] / self.servers[0]).ln() - (sums[1] / self.servers[1]).ln();
        let ratio = log(self.after) - log(self.before);
        ratio.is_finite().then_some(ratio)
    }
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
        let (log_ratio, error) = found.log_ratio.unwrap();
        assert!((log_ratio - 0.5f64.ln()).abs() < 2.5 * error && error < 0.2, "{found:?}");
        assert!(found.chance.p < 0.001);
    }

    #[test]
    fn no_event_at_all_has_no_ratio_and_still_a_p() {
        let mut all = shares([0.2, 0.0], 30, 1);
        all.extend(shares([0.2, 0.2], 30, 2));
        let test: Vec<bool> = (0..60).map(|place| place < 30).collect();
        let groups = Groups { test: &test, stratum: &[0; 60], load: None };
        let found = share_effect(&groups, &all, 1).unwrap();
        assert_eq!(found.log_ratio, None);
        assert!(found.chance.p < 0.001);
    }
}
