//! A check for drift: a steady drift of the groups may explain their difference as well as the change does.
//!
//! Groups that go apart all along are apart after the change, too. How fast they did before it is hardly known from a few days, so that
//! taking it off, with its error, would leave hardly anything of any effect. What both suppositions say of the whole course can be
//! held against it: a step at the change, or a line from the first interval to the last. Each has one figure beside a level, so that the one
//! that leaves the smaller weighted sum of squares is the likelier one (of normal errors), whatever noise there is.

use super::pre_trend::{Interval, difference_of_each};

/// The fits of a step and of a line to the groups' differences, and the share of squares that each leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOrDrift {
    /// The step, as a logarithm.
    pub step: f64,
    /// The line's rise from the middle of the time before to the middle of that after.
    pub drift: f64,
    /// Share of the squares about their mean that the step leaves, 0..1.
    pub step_leaves: f64,
    /// Share that the line leaves.
    pub drift_leaves: f64,
}

impl StepOrDrift {
    /// True if a drift in the effect's direction explains as much of the course as the change does.
    pub fn drift_explains(&self) -> bool {
        self.step * self.drift > 0.0 && self.drift_leaves <= self.step_leaves
    }
}

/// The fits of a step and of a line to the intervals' differences between the groups; `at` is the middle of each interval, in any
/// unit, `after` true after the change. None with fewer than two intervals on either side and three in all, as a step and a line
/// are the same then.
pub fn step_or_drift(
    test: &[bool],
    stratum: &[u32],
    intervals: &[Interval],
    at: &[f64],
    after: &[bool],
) -> Option<StepOrDrift> {
    let differences = difference_of_each(test, stratum, intervals);
    let known = differences.iter().zip(at).zip(after);
    let known: Vec<Point> = known
        .filter_map(|((found, at), after)| {
            let (difference, variance) = (*found)?;
            Some(Point { difference, weight: 1.0 / variance, at: *at, after: f64::from(u8::from(*after)) })
        })
        .collect();
    let (before, all) = (known.iter().filter(|point| point.after == 0.0).count(), known.len());
    if before < 2 || all < before + 1 {
        return None;
    }
    let squares = left(&known, |_| 0.0)?.1;
    let (step, step_left) = left(&known, |point| point.after)?;
    let (slope, drift_left) = left(&known, |point| point.at)?;
    let middle = |of: f64| {
        let side = || known.iter().filter(|point| point.after == of);
        side().map(|point| point.at).sum::<f64>() / side().count() as f64
    };
    let drift = slope * (middle(1.0) - middle(0.0));
    (squares > 0.0).then(|| StepOrDrift {
        step,
        drift,
        step_leaves: step_left / squares,
        drift_leaves: drift_left / squares,
    })
}

/// One interval's difference between the groups.
struct Point {
    difference: f64,
    weight: f64,
    at: f64,
    after: f64,
}

/// The coefficient of a column beside a level, by weighted least squares, and the squares that are left.
fn left(points: &[Point], column: impl Fn(&Point) -> f64) -> Option<(f64, f64)> {
    let weight: f64 = points.iter().map(|point| point.weight).sum();
    let mean = |of: &dyn Fn(&Point) -> f64| {
        points.iter().map(|point| point.weight * of(point)).sum::<f64>() / weight
    };
    let (mean_x, mean_y) = (mean(&column), mean(&|point| point.difference));
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        let of = |point: &Point| point.weight * of(column(point) - mean_x, point.difference - mean_y);
        points.iter().map(of).sum::<f64>()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    let rest = (yy - slope * xy).max(0.0);
    (slope.is_finite() && rest.is_finite()).then_some((slope, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::random::Random;

    const TEST: [bool; 20] = [
        true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false,
        false, false, false, false,
    ];

    /// Twenty servers over `before` + 7 days, the test group's logarithm raised by `raised`.
    fn course(before: usize, raised: impl Fn(usize) -> f64, seed: u64) -> Option<StepOrDrift> {
        let mut random = Random::new(seed);
        let days = before + 7;
        let day = |day: usize, random: &mut Random| Interval {
            metric: TEST
                .iter()
                .map(|test| Some(0.1 * random.normal() + if *test { raised(day) } else { 0.0 }))
                .collect(),
            load: Vec::new(),
        };
        let intervals: Vec<Interval> = (0..days).map(|at| day(at, &mut random)).collect();
        let at: Vec<f64> = (0..days).map(|at| at as f64).collect();
        let after: Vec<bool> = (0..days).map(|at| at >= before).collect();
        step_or_drift(&TEST, &[0; 20], &intervals, &at, &after)
    }

    #[test]
    fn a_line_is_told_from_a_step() {
        for before in [3, 7, 14] {
            let line = course(before, |day| 0.05 * day as f64, 1).unwrap();
            assert!(line.drift_explains() && line.drift_leaves < line.step_leaves, "{line:?}");
            let apart = 0.05 * ((before + 7) as f64 / 2.0);
            assert!((line.drift - apart).abs() < 0.1, "{line:?}");
            let step = course(before, |day| if day >= before { 0.4 } else { 0.0 }, 2).unwrap();
            assert!(!step.drift_explains() && (step.step - 0.4).abs() < 0.1, "{step:?}");
        }
    }

    #[test]
    fn a_step_against_the_drift_is_not_explained_by_it() {
        let found = course(14, |day| 0.05 * day as f64 - if day >= 14 { 2.0 } else { 0.0 }, 3).unwrap();
        assert!(!found.drift_explains(), "{found:?}");
    }

    #[test]
    fn one_interval_before_tells_nothing() {
        assert_eq!(course(1, |_| 0.0, 4), None);
    }
}
