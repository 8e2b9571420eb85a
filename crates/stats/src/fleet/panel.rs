//! A second estimate of the effect, from every interval of every server instead of two levels of each.
//!
//! log metric = server + stratum and interval + elasticity x (log load) + effect x (test group, after the change) + error, by least
//! squares (difference in differences with two-way effects). A surge of one day is one day here, where a level over many days takes the
//! logarithm of their mean, which a day of heavy drops moves by more than its load does. In return it takes one elasticity for all loads:
//! near saturation, where drops grow ever faster, it is off, and levels are not. So neither is enough where they differ.
//!
//! Standard errors are clustered by unit (Liang and Zeger 1986): a server's days share its hardware and its customers. Each unit's share in
//! the estimate's error is its score; the variance is the sum of those of the groups' means of scores in each stratum, each with its own
//! n/(n-1), on Welch's and Satterthwaite's degrees of freedom less one for the load. Without load and gaps this is Welch's test of the units'
//! changes, exactly.

use super::design::{dot, squares};
use crate::ends::Ends;
use std::collections::BTreeMap;

/// Passes of the alternating projections at most (ours; without gaps it takes two).
const PASSES: usize = 500;

/// Change of a pass, as a share of the values' spread, at which they are done.
const DONE: f64 = 1e-10;

/// One interval of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerInterval {
    /// Place of its server.
    pub server: usize,
    /// Place of its interval.
    pub interval: usize,
    /// Logarithm of its metric.
    pub metric: f64,
    /// Logarithm of its load.
    pub load: f64,
}

/// The servers and intervals to compare, with the values that were measured.
#[derive(Debug, Clone, Copy)]
pub struct Panel<'a> {
    /// True for each server of the test group.
    pub test: &'a [bool],
    /// Its stratum.
    pub stratum: &'a [u32],
    /// Its unit: what was drawn into the groups.
    pub unit: &'a [usize],
    /// True for each interval after the change.
    pub after: &'a [bool],
    /// The measured values.
    pub cells: &'a [ServerInterval],
}

/// The difference between the groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PanelEffect {
    /// Test over control, after over before, at equal load: the logarithm.
    pub log_ratio: f64,
    /// Its standard error, clustered by unit.
    pub error: f64,
    /// Degrees of freedom of t.
    pub freedom: f64,
    /// The growth of the metric with the load.
    pub elasticity: f64,
}

impl PanelEffect {
    /// log_ratio +- t x error at a confidence level; none for a level outside 0..1.
    pub fn interval(&self, level: f64) -> Option<Ends> {
        Ends::student(self.log_ratio, self.error, self.freedom, level)
    }
}

impl Panel<'_> {
    /// The effect; none where it cannot be told from server, interval and load, or a group has a single unit in some stratum.
    pub fn effect(&self) -> Option<PanelEffect> {
        let taken = |of: &dyn Fn(&ServerInterval) -> f64| self.within(self.cells.iter().map(of).collect());
        let changed =
            taken(&|cell| f64::from(u8::from(self.test[cell.server] && self.after[cell.interval])))?;
        let load = taken(&|cell| cell.load)?;
        let metric = taken(&|cell| cell.metric)?;
        let load_squares = squares(&load);
        if load_squares <= 1e-12 * self.cells.len() as f64 {
            return None;
        }
        let slope = dot(&load, &changed) / load_squares;
        let group: Vec<f64> = changed.iter().zip(&load).map(|(group, load)| group - slope * load).collect();
        let group_squares = squares(&group);
        if group_squares <= 1e-9 * squares(&changed).max(1e-12) {
            return None;
        }
        let log_ratio = dot(&group, &metric) / group_squares;
        let rest: Vec<f64> =
            metric.iter().zip(&changed).map(|(metric, it)| metric - log_ratio * it).collect();
        let elasticity = dot(&load, &rest) / load_squares;
        let mut scores = vec![0.0; self.unit.iter().max()? + 1];
        for (at, cell) in self.cells.iter().enumerate() {
            scores[self.unit[cell.server]] += group[at] * (rest[at] - elasticity * load[at]) / group_squares;
        }
        let (error, freedom) = self.error(&scores)?;
        Some(PanelEffect { log_ratio, error, freedom, elasticity })
    }

    /// Takes off the mean of each server and of each interval in its stratum, in turns until neither is left.
    fn within(&self, mut values: Vec<f64>) -> Option<Vec<f64>> {
        let servers: Vec<usize> = self.cells.iter().map(|cell| cell.server).collect();
        let strata = self.stratum.iter().copied().max()? as usize + 1;
        let intervals: Vec<usize> = self
            .cells
            .iter()
            .map(|cell| cell.interval * strata + self.stratum[cell.server] as usize)
            .collect();
        let spread = squares(&values).sqrt().max(f64::MIN_POSITIVE);
        for _ in 0..PASSES {
            centre_by(&mut values, &servers);
            let moved = centre_by(&mut values, &intervals);
            if moved <= DONE * spread {
                return Some(values);
            }
        }
        None
    }

    /// The standard error of the estimate to which each unit's score is its share, and the degrees of freedom.
    fn error(&self, scores: &[f64]) -> Option<(f64, f64)> {
        let mut groups: BTreeMap<(u32, bool), Vec<f64>> = BTreeMap::new();
        let mut known = vec![false; scores.len()];
        for cell in self.cells {
            let unit = self.unit[cell.server];
            if !known[unit] {
                known[unit] = true;
                let group = (self.stratum[cell.server], self.test[cell.server]);
                groups.entry(group).or_default().push(scores[unit]);
            }
        }
        let units: usize = groups.values().map(Vec::len).sum();
        let left = units.checked_sub(groups.len() + 1).filter(|left| *left > 0)? as f64;
        let (mut variance, mut weighted) = (0.0, 0.0);
        for scores in groups.values() {
            let n = scores.len() as f64;
            if scores.len() < 2 {
                return None;
            }
            let mean = scores.iter().sum::<f64>() / n;
            let of_group = n / (n - 1.0) * scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>();
            variance += of_group;
            weighted += of_group * of_group / (n - 1.0);
        }
        // One coefficient more than the groups' means was fitted: the elasticity.
        let error = (variance * (left + 1.0) / left).sqrt();
        let freedom = (variance * variance / weighted).min(left);
        (error > 0.0 && freedom.is_finite()).then_some((error, freedom))
    }
}

/// Takes the mean of each group off its values; the largest that was taken off.
fn centre_by(values: &mut [f64], group: &[usize]) -> f64 {
    let mut means = vec![(0.0, 0.0); group.iter().max().map_or(0, |most| most + 1)];
    for (value, group) in values.iter().zip(group) {
        means[*group].0 += value;
        means[*group].1 += 1.0;
    }
    for (sum, n) in &mut means {
        *sum /= f64::max(*n, 1.0);
    }
    values.iter_mut().zip(group).for_each(|(value, group)| *value -= means[*group].0);
    means.iter().map(|(mean, _)| mean.abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::random::Random;

    struct Made {
        test: Vec<bool>,
        stratum: Vec<u32>,
        unit: Vec<usize>,
        after: Vec<bool>,
        cells: Vec<ServerInterval>,
    }

    impl Made {
        fn panel(&self) -> Panel<'_> {
            let Made { test, stratum, unit, after, cells } = self;
            Panel { test, stratum, unit, after, cells }
        }
    }

    /// `servers` in each group over 14 and 7 intervals; what came to a server with the change is 0.1, an interval's own noise 0.2.
    fn made(servers: usize, effect: f64, load: impl Fn(bool, usize, &mut Random) -> f64, seed: u64) -> Made {
        let mut random = Random::new(seed);
        let days: Vec<f64> = (0..21).map(|_| 0.2 * random.normal()).collect();
        let mut cells = Vec::new();
        for server in 0..2 * servers {
            let (own, shock) = (random.normal(), 0.1 * random.normal());
            let test = server % 2 == 0;
            for (interval, day) in days.iter().enumerate() {
                let load = load(test, interval, &mut random);
                let after = interval >= 14;
                let change = if after { shock + if test { effect } else { 0.0 } } else { 0.0 };
                let metric = own + day + 1.5 * load + change + 0.2 * random.normal();
                cells.push(ServerInterval { server, interval, metric, load });
            }
        }
        Made {
            test: (0..2 * servers).map(|server| server % 2 == 0).collect(),
            stratum: vec![0; 2 * servers],
            unit: (0..2 * servers).collect(),
            after: (0..21).map(|interval| interval >= 14).collect(),
            cells,
        }
    }

    fn quiet(_: bool, _: usize, random: &mut Random) -> f64 {
        0.1 * random.normal()
    }

    #[test]
    fn without_gaps_and_with_a_load_that_does_nothing_it_is_welchs_test_of_the_units_changes() {
        // A load that differs in two intervals before the change, and not in their sum: nothing of it is in the changes.
        let mut made = made(6, -0.3, |_, _, _| 0.0, 3);
        for cell in &mut made.cells {
            let sign = if cell.server < 6 { 1.0 } else { -1.0 };
            cell.load = match cell.interval {
                0 => sign,
                1 => -sign,
                _ => 0.0,
            };
        }
        let effect = made.panel().effect().unwrap();
        let change = |server: usize| {
            let mean = |after: bool| {
                let values: Vec<f64> = made
                    .cells
                    .iter()
                    .filter(|cell| cell.server == server && made.after[cell.interval] == after)
                    .map(|cell| cell.metric)
                    .collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            mean(true) - mean(false)
        };
        let of = |test: bool| -> (f64, f64) {
            let changes: Vec<f64> = (0..12).filter(|server| made.test[*server] == test).map(change).collect();
            let mean = changes.iter().sum::<f64>() / 6.0;
            (mean, changes.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 5.0 / 6.0)
        };
        let ((test, test_variance), (control, control_variance)) = (of(true), of(false));
        assert!((effect.log_ratio - (test - control)).abs() < 1e-9, "{effect:?}");
        // The load was fitted all the same: one degree of freedom less.
        let welch = (test_variance + control_variance).sqrt() * (10.0f64 / 9.0).sqrt();
        assert!((effect.error - welch).abs() < 1e-9, "{effect:?} {welch}");
    }

    #[test]
    fn the_interval_holds_the_truth_at_its_level_also_with_a_surge_that_hits_one_group_harder() {
        let surge = |test: bool, interval: usize, random: &mut Random| {
            let one_day = if interval == 16 { 1.0 + if test { 0.8 } else { 0.0 } } else { 0.0 };
            one_day * (1.0 + 0.3 * random.normal()) + 0.1 * random.normal()
        };
        for (servers, least) in [(5, 0.90), (30, 0.91)] {
            let held = (0..400)
                .filter(|seed| {
                    let effect = made(servers, -0.3, surge, *seed).panel().effect().unwrap();
                    effect.interval(0.95).unwrap().contains(-0.3)
                })
                .count();
            assert!((least..=0.985).contains(&(held as f64 / 400.0)), "{servers} servers: {held} of 400");
        }
    }

    #[test]
    fn gaps_do_not_move_the_estimate() {
        let mut made = made(20, -0.3, quiet, 5);
        let mut random = Random::new(9);
        made.cells.retain(|_| random.unit() < 0.8);
        let effect = made.panel().effect().unwrap();
        assert!((effect.log_ratio + 0.3).abs() < 3.0 * effect.error, "{effect:?}");
        assert!((effect.elasticity - 1.5).abs() < 0.3, "{effect:?}");
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_effect() {
        let made = made(1, -0.3, quiet, 1);
        assert_eq!(made.panel().effect(), None, "one server in each group");
        let load_is_group =
            self::made(6, -0.3, |test, interval, _| f64::from(u8::from(test && interval >= 14)), 1);
        assert_eq!(load_is_group.panel().effect(), None);
    }
}
