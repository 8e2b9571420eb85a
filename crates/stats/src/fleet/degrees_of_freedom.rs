//! Degrees of freedom of an error that is estimated from each group by itself.
//!
//! With 50 servers in one group and 2 in the other, the error of their difference is that of the two, and n - k = 50 degrees of freedom are
//! not there. Bell and McCaffrey 2002 (Survey Methodology 28; Imbens and Kolesár 2016, Review of Economics and Statistics 98)
//! match the law of the HC2 variance to a chi-squared of the same mean and variance when all servers spread alike. Where they do not,
//! that is too many; then Welch's rule (1947, Biometrika 34) on the two groups' parts gives fewer. The smaller one is taken.

/// Leverage beyond which nothing is left of a server whatever it does: it tells nothing of its own spread.
pub(super) const LEVERAGE_MAX: f64 = 1.0 - 1e-9;

/// Share of a direction's square from which such a server matters.
const MATTERS: f64 = 1e-9;

/// The columns that a fit projects out: orthogonal, each of length 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns<'a> {
    /// The stratum of each server, numbered from 0.
    pub(super) stratum: &'a [usize],
    /// The value of each server in the column of its stratum.
    pub(super) level: &'a [f64],
    /// The values in the column of the load; empty without load.
    pub(super) load: &'a [f64],
    /// The values in the column of the group.
    pub(super) group: &'a [f64],
    /// True for each server of the test group.
    pub(super) test: &'a [bool],
}

impl Columns<'_> {
    pub(super) fn leverage(&self, at: usize) -> f64 {
        let load = self.load.get(at).map_or(0.0, |load| load * load);
        self.level[at] * self.level[at] + load + self.group[at] * self.group[at]
    }

    /// HC2's error of a coefficient and its degrees of freedom. `direction` is what the coefficient takes of each server, `rest` what the
    /// fit leaves of it. 0 degrees of freedom: a server that the coefficient hangs on has nothing left whatever it does.
    pub(super) fn error(&self, direction: &[f64], rest: &[f64]) -> (f64, f64) {
        let whole: f64 = direction.iter().map(|it| it * it).sum();
        let mut parts = [0.0; 2];
        let mut alone = false;
        for (at, (direction, rest)) in direction.iter().zip(rest).enumerate() {
            let left = 1.0 - self.leverage(at);
            if left > 1.0 - LEVERAGE_MAX {
                parts[usize::from(self.test[at])] += (direction * rest).powi(2) / left;
            } else {
                alone |= direction * direction > MATTERS * whole;
            }
        }
        let error = (parts[0] + parts[1]).sqrt();
        if alone {
            return (error, 0.0);
        }
        let alike = self.matched(direction, |_| true);
        let squares: f64 = [false, true]
            .into_iter()
            .map(|of| {
                let freedom = self.matched(direction, |at| self.test[at] == of);
                if freedom > 0.0 { parts[usize::from(of)].powi(2) / freedom } else { 0.0 }
            })
            .sum();
        let apart = if squares > 0.0 { (parts[0] + parts[1]).powi(2) / squares } else { alike };
        (error, alike.min(apart))
    }

    /// Twice the square of the mean over the variance of some servers' part of HC2's variance, where all spread alike:
    /// the sum of d (1 - h), squared, over the sum of d d' M^2, with M = 1 - H, and H the sum of the columns' products.
    fn matched(&self, direction: &[f64], of: impl Fn(usize) -> bool) -> f64 {
        let strata = self.stratum.iter().max().map_or(0, |last| last + 1);
        let (mut mean, mut variance) = (0.0, 0.0);
        let mut of_strata = vec![[0.0; 3]; strata];
        let (mut load_squares, mut group_squares, mut crossed) = (0.0, 0.0, 0.0);
        for (at, direction) in direction.iter().enumerate() {
            let leverage = self.leverage(at);
            if !of(at) || leverage >= LEVERAGE_MAX {
                continue;
            }
            let weight = direction * direction / (1.0 - leverage);
            mean += weight * (1.0 - leverage);
            variance += weight * weight * (1.0 - 2.0 * leverage);
            let (level, group) = (self.level[at], self.group[at]);
            let load = self.load.get(at).copied().unwrap_or(0.0);
            let sums = &mut of_strata[self.stratum[at]];
            sums[0] += weight * level * level;
            sums[1] += weight * level * load;
            sums[2] += weight * level * group;
            load_squares += weight * load * load;
            group_squares += weight * group * group;
            crossed += weight * load * group;
        }
        let pairs: f64 =
            of_strata.iter().map(|[own, load, group]| own * own + 2.0 * (load * load + group * group)).sum();
        variance +=
            pairs + load_squares * load_squares + group_squares * group_squares + 2.0 * crossed * crossed;
        if variance > 0.0 { mean * mean / variance } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::fleet::design::{Design, Groups};

    const LOAD: [f64; 12] = [0.41, 0.12, 0.77, 0.55, 0.30, 0.62, 0.18, 0.49, 0.66, 0.05, 0.37, 0.71];
    const OUTCOME: [f64; 12] = [0.52, -0.31, 1.21, 0.48, 0.29, 0.61, 0.55, 0.83, 1.47, 0.22, 0.61, 1.02];

    /// Imbens and Kolesár 2016 (Review of Economics and Statistics 98): 27 and 3 units have 2.5 degrees of freedom, as
    /// (27 + 3)^2 (27 - 1)(3 - 1) / (27^2 (27 - 1) + 3^2 (3 - 1)), each size times its own square crosswise.
    #[test]
    fn three_servers_against_many_have_about_two_degrees_of_freedom() {
        let test: Vec<bool> = (0..30).map(|place| place < 3).collect();
        // The three spread as the others do, so that Welch's rule does not give fewer.
        let outcome: Vec<f64> = (0..30).map(|place| f64::from(place % 3 - 1)).collect();
        let groups = Groups { test: &test, stratum: &[0; 30], load: None };
        let effect = Design::new(&groups).unwrap().effect(&outcome).unwrap();
        let (few, many) = (3.0f64, 27.0f64);
        let alike = (few + many).powi(2) * (few - 1.0) * (many - 1.0)
            / (many.powi(2) * (many - 1.0) + few.powi(2) * (few - 1.0));
        assert!((alike - 2.5).abs() < 0.05);
        let parts = [1.0 / few, (18.0 / 26.0) / many];
        let welch = (parts[0] + parts[1]).powi(2)
            / (parts[0] * parts[0] / (few - 1.0) + parts[1] * parts[1] / (many - 1.0));
        assert!((effect.freedom - alike.min(welch)).abs() < 1e-9, "{effect:?}");
    }

    #[test]
    fn the_only_server_of_its_group_tells_nothing_of_its_own_spread() {
        let mut test = [false; 12];
        test[4] = true;
        let of = |stratum: &[u32], load| {
            Design::new(&Groups { test: &test, stratum, load }).unwrap().effect(&OUTCOME).unwrap()
        };
        for alone in [of(&[0; 12], None), of(&[0; 12], Some(LOAD.as_slice()))] {
            assert_eq!((alone.freedom, alone.interval(0.95), alone.p()), (0.0, None, None));
            assert!(alone.without[4].is_nan() && alone.without[3].is_finite());
            assert!(alone.error.is_finite() && (0.1..1.0).contains(&alone.spread), "{alone:?}");
            assert!(alone.elasticity.is_none_or(|elasticity| elasticity.freedom > 2.0));
        }
    }
}
