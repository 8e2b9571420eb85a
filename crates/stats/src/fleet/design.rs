//! The load-adjusted difference between two groups: analysis of covariance over servers, within strata.
//!
//! change = stratum + elasticity x (load change) + effect x (is in the test group) + error, by least squares, with standard
//! errors of type HC2 (MacKinnon and White 1985), which hold where the groups differ in spread, and Student's t on as many degrees of
//! freedom as the smaller group gives (see [`super::degrees_of_freedom`]). The strata and the load are projected out first (Frisch and Waugh 1933,
//! Lovell 1963), so that an outcome costs two dot products.

use super::degrees_of_freedom::{Columns, LEVERAGE_MAX};
use crate::ends::Ends;
use crate::law::student_two_sided;
use std::ops::Range;

/// The servers to compare, with group, stratum and load.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups<'a> {
    /// True for each server of the test group.
    pub test: &'a [bool],
    /// Its stratum; all the same where there are none.
    pub stratum: &'a [u32],
    /// The change of each server's load, as a logarithm; none: not adjusted.
    pub load: Option<&'a [f64]>,
}

/// Groups made ready for any number of outcomes.
#[derive(Debug, Clone)]
pub struct Design {
    /// Places of the servers, stratum by stratum.
    pub(crate) order: Vec<usize>,
    /// The strata as ranges of `order`.
    pub(crate) strata: Vec<Range<usize>>,
    /// True for each server of the test group, in that order.
    pub(super) test: Vec<bool>,
    /// Load, its stratum's mean taken off, in that order; empty: not adjusted.
    pub(crate) load: Vec<f64>,
    pub(crate) load_squares: f64,
    /// Slope of the group over the load.
    group_on_load: f64,
    /// Group, with strata and load projected out.
    pub(crate) group: Vec<f64>,
    pub(crate) group_squares: f64,
    pub(crate) leverage: Vec<f64>,
    /// Servers less coefficients.
    pub(crate) freedom: f64,
}

/// The growth of an outcome with the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The coefficient.
    pub value: f64,
    /// Its standard error (HC2).
    pub error: f64,
    /// Degrees of freedom of t; 0: none is known.
    pub freedom: f64,
}

/// The difference between the groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Test less control: the logarithm of the ratio.
    pub log_ratio: f64,
    /// Its standard error (HC2).
    pub error: f64,
    /// Degrees of freedom of t; 0 where a server has nothing left whatever it does, such as the only one of its group: then the
    /// error lacks that server's spread, and there is neither interval nor p.
    pub freedom: f64,
    /// The growth of the outcome with the load; none: not adjusted.
    pub elasticity: Option<Slope>,
    /// Standard deviation of what one server does beyond its stratum, load and group: both groups weigh the same, so that it is that of
    /// groups of equal size. Of the other group where one has a single server.
    pub spread: f64,
    /// The residual of each server, in the order in which they were given.
    pub rest: Vec<f64>,
    /// The amount by which the estimate would rise without each server; NaN where there is no estimate without it.
    pub without: Vec<f64>,
}

impl Effect {
    /// log_ratio +- t x error at a confidence level; none for a level outside 0..1, or without degrees of freedom.
    pub fn interval(&self, level: f64) -> Option<Ends> {
        Ends::student(self.log_ratio, self.error, self.freedom, level)
    }

    /// Two-sided p of t.
    pub fn p(&self) -> Option<f64> {
        student_two_sided(self.log_ratio / self.error, self.freedom)
    }
}

/// A fit of one outcome, its servers stratum by stratum.
pub(super) struct Fit {
    pub(super) log_ratio: f64,
    /// Square of HC2's error.
    pub(super) variance: f64,
    rest: Vec<f64>,
    slope: Option<f64>,
    /// True if the fit leaves no residual.
    pub(super) exact: bool,
}

impl Design {
    /// Prepares the groups. None where they cannot be told apart: a group without servers, each stratum of one group only, a load
    /// that says which group a server is in, or no degree of freedom left. A load that is the same everywhere is left out.
    pub fn new(groups: &Groups) -> Option<Design> {
        let n = groups.test.len();
        if groups.stratum.len() != n || groups.load.is_some_and(|load| load.len() != n) {
            return None;
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&place| groups.stratum[place]);
        let ends = order.chunk_by(|a, b| groups.stratum[*a] == groups.stratum[*b]).scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end - chunk.len()..*end)
        });
        let strata: Vec<Range<usize>> = ends.collect();
        let taken = |values: &dyn Fn(usize) -> f64| {
            let mut values: Vec<f64> = order.iter().map(|&place| values(place)).collect();
            centre(&mut values, &strata);
            values
        };
        let mut group = taken(&|place| f64::from(u8::from(groups.test[place])));
        let spread = squares(&group);
        let mut load = groups.load.map_or_else(Vec::new, |load| taken(&|place| load[place]));
        let scale = groups.load.map_or(0.0, squares);
        let load_squares = squares(&load);
        let mut group_on_load = 0.0;
        if load_squares <= 1e-18 * (scale + n as f64) {
            load.clear();
        } else {
            group_on_load = dot(&load, &group) / load_squares;
            group.iter_mut().zip(&load).for_each(|(group, load)| *group -= group_on_load * load);
        }
        let group_squares = squares(&group);
        let coefficients = strata.len() + usize::from(!load.is_empty()) + 1;
        if !group_squares.is_finite() || group_squares <= 1e-12 * spread.max(1e-12) || n <= coefficients {
            return None;
        }
        let mut leverage: Vec<f64> = group.iter().map(|group| group * group / group_squares).collect();
        for stratum in &strata {
            leverage[stratum.clone()].iter_mut().for_each(|h| *h += 1.0 / stratum.len() as f64);
        }
        leverage.iter_mut().zip(&load).for_each(|(h, load)| *h += load * load / load_squares);
        leverage.iter_mut().for_each(|h| *h = h.min(LEVERAGE_MAX));
        let freedom = (n - coefficients) as f64;
        let test = order.iter().map(|&place| groups.test[place]).collect();
        Some(Design {
            order,
            test,
            strata,
            load,
            load_squares,
            group_on_load,
            group,
            group_squares,
            leverage,
            freedom,
        })
    }

    /// The effect on an outcome, a value for each server in the order in which the groups were given; none where one is
    /// not finite, or where nothing is left over, as there is no error to hold the effect against then.
    pub fn effect(&self, outcome: &[f64]) -> Option<Effect> {
        let fit = self.fit(outcome).filter(|fit| !fit.exact)?;
        let rest = &fit.rest;
        let columns = UnitColumns::new(self);
        let direction: Vec<f64> = self.group.iter().map(|group| group / self.group_squares).collect();
        let (error, freedom) = columns.columns(self).error(&direction, rest);
        let alone = self.leverage.iter().zip(rest).zip(&direction);
        let without: Vec<f64> = alone
            .map(|((h, e), g)| match () {
                () if *h < LEVERAGE_MAX => -g * e / (1.0 - h),
                () if *g == 0.0 => 0.0,
                () => f64::NAN,
            })
            .collect();
        let in_order = |values: &[f64]| {
            let mut placed = vec![0.0; values.len()];
            self.order.iter().zip(values).for_each(|(&place, value)| placed[place] = *value);
            placed
        };
        Some(Effect {
            log_ratio: fit.log_ratio,
            error,
            freedom,
            elasticity: fit.slope.map(|slope| self.elasticity(slope, &fit, &columns)),
            spread: self.spread(rest),
            rest: in_order(rest),
            without: in_order(&without),
        })
    }

    /// Test less control of an outcome, as [`Effect::log_ratio`]; also where nothing is left over.
    pub fn difference(&self, outcome: &[f64]) -> Option<f64> {
        self.fit(outcome).map(|fit| fit.log_ratio)
    }

    /// The fit of an outcome; none for one of another length, or with a value that is not finite.
    pub(super) fn fit(&self, outcome: &[f64]) -> Option<Fit> {
        if outcome.len() != self.order.len() || outcome.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (reduced, slope) = self.reduced(outcome);
        let log_ratio = dot(&self.group, &reduced) / self.group_squares;
        let rest: Vec<f64> = reduced.iter().zip(&self.group).map(|(y, g)| y - log_ratio * g).collect();
        let each = self.leverage.iter().zip(&rest).zip(&self.group);
        let variance: f64 = each.map(|((h, e), g)| (g * e).powi(2) / (1.0 - h)).sum();
        let exact = squares(&rest) <= 1e-24 * (squares(outcome) + outcome.len() as f64);
        Some(Fit { log_ratio, variance: variance / self.group_squares.powi(2), rest, slope, exact })
    }

    /// The slope with the group in the model: what the change did is not the load's.
    fn elasticity(&self, slope: f64, fit: &Fit, columns: &UnitColumns) -> Slope {
        let with_load = self.group.iter().zip(&self.load);
        let group: Vec<f64> = with_load.map(|(group, load)| group + self.group_on_load * load).collect();
        let on_group = dot(&group, &self.load) / squares(&group);
        let load: Vec<f64> =
            self.load.iter().zip(&group).map(|(load, group)| load - on_group * group).collect();
        let load_squares = squares(&load);
        let direction: Vec<f64> = load.iter().map(|load| load / load_squares).collect();
        let (error, freedom) = columns.columns(self).error(&direction, &fit.rest);
        Slope { value: slope - fit.log_ratio * self.group_on_load, error, freedom }
    }

    /// See [`Effect::spread`].
    fn spread(&self, rest: &[f64]) -> f64 {
        let variances = [false, true].into_iter().filter_map(|of| {
            let of_group = self.leverage.iter().zip(rest).zip(&self.test).filter(|(_, test)| **test == of);
            let known = of_group.filter(|((h, _), _)| **h < LEVERAGE_MAX);
            let (sum, n) = known.fold((0.0, 0.0), |(sum, n), ((h, e), _)| (sum + e * e / (1.0 - h), n + 1.0));
            (n > 0.0).then(|| sum / n)
        });
        let (sum, n) = variances.fold((0.0, 0.0), |(sum, n), variance| (sum + variance, n + 1.0));
        f64::sqrt(sum / f64::max(n, 1.0))
    }

    /// The outcome with strata and load projected out, stratum by stratum, and its slope over the load.
    pub(crate) fn reduced(&self, outcome: &[f64]) -> (Vec<f64>, Option<f64>) {
        let mut reduced: Vec<f64> = self.order.iter().map(|&place| outcome[place]).collect();
        centre(&mut reduced, &self.strata);
        if self.load.is_empty() {
            return (reduced, None);
        }
        let slope = dot(&self.load, &reduced) / self.load_squares;
        reduced.iter_mut().zip(&self.load).for_each(|(y, x)| *y -= slope * x);
        (reduced, Some(slope))
    }
}

/// The part of an outcome that the load explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explained {
    /// The slope of the outcome over the load within strata.
    pub slope: f64,
    /// The share of the outcome's variance that is left at equal load, 0..1.
    pub share_left: f64,
}

/// The part of an outcome that the load explains within strata, whatever the groups. None where either is the same in all servers of
/// each stratum, or of another length.
pub fn explained(stratum: &[u32], load: &[f64], outcome: &[f64]) -> Option<Explained> {
    let mut order: Vec<usize> = (0..stratum.len()).collect();
    order.sort_by_key(|&place| stratum[place]);
    let centred = |values: &[f64]| -> Option<Vec<f64>> {
        let placed = order.iter().map(|&place| values.get(place).copied());
        let mut placed = placed.collect::<Option<Vec<f64>>>()?;
        let ends = order.chunk_by(|a, b| stratum[*a] == stratum[*b]).scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end - chunk.len()..*end)
        });
        centre(&mut placed, &ends.collect::<Vec<_>>());
        Some(placed)
    };
    let (load, outcome) = (centred(load)?, centred(outcome)?);
    let slope = dot(&load, &outcome) / squares(&load);
    let left: f64 = load.iter().zip(&outcome).map(|(x, y)| (y - slope * x).powi(2)).sum();
    let share_left = left / squares(&outcome);
    (slope.is_finite() && share_left.is_finite()).then_some(Explained { slope, share_left })
}

/// The columns of a design at length 1.
struct UnitColumns {
    stratum: Vec<usize>,
    level: Vec<f64>,
    load: Vec<f64>,
    group: Vec<f64>,
}

impl UnitColumns {
    fn new(design: &Design) -> UnitColumns {
        let strata = || design.strata.iter().enumerate();
        let unit = |values: &[f64], squares: f64| -> Vec<f64> {
            values.iter().map(|value| value / squares.sqrt()).collect()
        };
        UnitColumns {
            stratum: strata().flat_map(|(number, places)| places.clone().map(move |_| number)).collect(),
            level: strata()
                .flat_map(|(_, places)| places.clone().map(|_| 1.0 / (places.len() as f64).sqrt()))
                .collect(),
            load: unit(&design.load, design.load_squares),
            group: unit(&design.group, design.group_squares),
        }
    }

    fn columns<'a>(&'a self, design: &'a Design) -> Columns<'a> {
        Columns {
            stratum: &self.stratum,
            level: &self.level,
            load: &self.load,
            group: &self.group,
            test: &design.test,
        }
    }
}

/// Takes each stratum's mean off.
fn centre(values: &mut [f64], strata: &[Range<usize>]) {
    for stratum in strata {
        let part = &mut values[stratum.clone()];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter_mut().for_each(|value| *value -= mean);
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn squares(values: &[f64]) -> f64 {
    dot(values, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: [bool; 12] = [true, true, true, true, true, true, false, false, false, false, false, false];
    const LOAD: [f64; 12] = [0.41, 0.12, 0.77, 0.55, 0.30, 0.62, 0.18, 0.49, 0.66, 0.05, 0.37, 0.71];
    const OUTCOME: [f64; 12] = [0.52, -0.31, 1.21, 0.48, 0.29, 0.61, 0.55, 0.83, 1.47, 0.22, 0.61, 1.02];

    fn close(ours: f64, reference: f64) {
        assert!((ours - reference).abs() < 1e-9 * reference.abs().max(1.0), "{ours}, reference {reference}");
    }

    fn effect(stratum: &[u32], load: Option<&[f64]>) -> Effect {
        Design::new(&Groups { test: &TEST, stratum, load }).unwrap().effect(&OUTCOME).unwrap()
    }

    /// Reference: statsmodels 0.15.0, OLS(...).fit(cov_type="HC2", use_t=True) on the same twelve rows, which is R's
    /// sandwich::vcovHC(lm(...), type = "HC2"); degrees of freedom by the traces of the dense matrices in NumPy.
    #[test]
    fn effect_error_interval_and_p_are_those_of_least_squares_with_hc2() {
        let adjusted = effect(&[0; 12], Some(&LOAD));
        close(adjusted.log_ratio, -0.40500382996746775);
        close(adjusted.error, 0.12056085918625273);
        close(adjusted.freedom, 8.574278444600997);
        let elasticity = adjusted.elasticity.unwrap();
        close(elasticity.value, 1.7097515477574416);
        close(elasticity.error, 0.2925934783780867);
        close(elasticity.freedom, 5.314564151708304);
        let Ends { low, high } = adjusted.interval(0.95).unwrap();
        close(low, -0.6798096259462525);
        close(high, -0.1301980339886833);
        close(adjusted.p().unwrap(), 0.0089969668764526);

        let plain = effect(&[0; 12], None);
        close(plain.log_ratio, -0.3166666666666664);
        close(plain.error, 0.2672119425142187);
        // Without load it is Welch's test.
        close(plain.freedom, 9.833184414348604);
        assert_eq!(plain.elasticity, None);
    }

    #[test]
    fn strata_are_what_a_column_for_each_would_be() {
        let strata = effect(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], Some(&LOAD));
        close(strata.log_ratio, -0.40338187373169);
        close(strata.error, 0.07725653442785521);
        close(strata.freedom, 5.524265497403331);
        let elasticity = strata.elasticity.unwrap();
        close(elasticity.value, 1.678358846419807);
        close(elasticity.error, 0.19104921894692553);
        close(elasticity.freedom, 4.71152338204302);
        close(strata.p().unwrap(), 0.0025344059291432883);
    }

    /// Reference: the same fit twelve times, each without one row (statsmodels 0.15.0).
    #[test]
    fn what_each_server_moves_is_what_a_fit_without_it_says() {
        let reference = [
            -0.029222080981,
            0.05838082409,
            -0.044823930117,
            0.02672155738,
            -0.022726550126,
            0.024650032787,
            0.031529649583,
            -0.018984212148,
            0.066447272363,
            0.011429720675,
            -0.020630739835,
            -0.077092403931,
        ];
        let ours = effect(&[0; 12], Some(&LOAD)).without;
        ours.iter().zip(reference).for_each(|(ours, reference)| close(*ours, reference));
    }

    /// Card and Krueger 1994 (American Economic Review 84), table 3: mean employment 20.44 -> 21.03 in New Jersey, 23.33 -> 21.17 in
    /// Pennsylvania; 2.75 by these rounded means (the paper prints 2.76, from unrounded ones).
    #[test]
    fn without_load_it_is_the_difference_in_differences() {
        let (new_jersey, pennsylvania) = (21.03 - 20.44, 21.17 - 23.33);
        let spread = [-0.1, 0.1];
        let outcome: Vec<f64> =
            [new_jersey, pennsylvania].iter().flat_map(|mean| spread.map(|off| mean + off)).collect();
        let groups = Groups { test: &[true, true, false, false], stratum: &[0; 4], load: None };
        close(Design::new(&groups).unwrap().effect(&outcome).unwrap().log_ratio, 2.75);
    }

    #[test]
    fn groups_that_cannot_be_told_apart_have_no_design() {
        let none = |test: &[bool], stratum: &[u32], load: Option<&[f64]>| {
            assert!(Design::new(&Groups { test, stratum, load }).is_none());
        };
        none(&[true; 4], &[0; 4], None);
        none(&[true, true, false, false], &[0, 0, 1, 1], None);
        none(&[true, true, false, false], &[0; 4], Some(&[1.0, 1.0, 0.0, 0.0]));
        none(&[true, false], &[0; 2], None);
        none(&[], &[], None);
    }

    #[test]
    fn an_even_load_is_left_out_and_an_exact_outcome_has_no_error() {
        let test = [true, false, true, false];
        let design = Design::new(&Groups { test: &test, stratum: &[0; 4], load: Some(&[0.3; 4]) }).unwrap();
        assert_eq!(design.effect(&[1.0, 0.0, 1.2, 0.1]).unwrap().elasticity, None);
        assert_eq!(design.effect(&[1.0, 0.0, 1.0, 0.0]), None);
        assert_eq!(design.effect(&[f64::NAN, 0.0, 1.0, 0.0]), None);
    }
}
