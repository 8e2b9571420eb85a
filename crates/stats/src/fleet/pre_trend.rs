//! A check that the groups went the same way before the change.
//!
//! That they would have gone the same way after it, too, is what every comparison of changes rests on and nobody can see. What
//! can be seen is the time before: in each interval the groups are held against each other as after the change, against
//! each server's own mean. All intervals together have one p, by dealing whole servers out anew, so that a server's days stay together.

use super::design::{Design, Groups, dot, squares};
use super::permutation::DRAWN_FOR_CHECK;
use plumb_model::random::Random;

/// Fewest intervals before the change.
pub const INTERVALS_MIN: usize = 3;

/// Logarithms of metric and load of every server in one interval; a server may lack either.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The logarithms of the metric.
    pub metric: Vec<Option<f64>>,
    /// The logarithms of the load; empty: not adjusted.
    pub load: Vec<Option<f64>>,
}

/// The differences between the groups before the change.
#[derive(Debug, Clone, PartialEq)]
pub struct PreTrend {
    /// Test less control in each interval, against each server's own mean; none where groups cannot be told apart.
    pub log_ratios: Vec<Option<f64>>,
    /// Change of that per interval, by least squares.
    pub slope: f64,
    /// Joint p of all of them.
    pub p: f64,
}

impl PreTrend {
    /// The largest difference of an interval.
    pub fn largest(&self) -> f64 {
        self.log_ratios.iter().flatten().fold(0.0, |largest, ratio| ratio.abs().max(largest))
    }
}

/// One interval, ready to be dealt out.
struct Prepared {
    design: Design,
    /// The residual that the load does not explain, stratum by stratum.
    rest: Vec<f64>,
    log_ratio: f64,
    /// Square of the standard error that a dealt-out effect has.
    variance: f64,
}

/// The differences before the change; none with fewer than [`INTERVALS_MIN`] intervals in which the groups can be told apart.
/// Strata are those of the comparison.
pub fn pre_trend(test: &[bool], stratum: &[u32], intervals: &[Interval], seed: u64) -> Option<PreTrend> {
    let prepared = prepared(test, stratum, intervals);
    let known: Vec<&Prepared> = prepared.iter().flatten().collect();
    if known.len() < INTERVALS_MIN {
        return None;
    }
    let log_ratios: Vec<Option<f64>> =
        prepared.iter().map(|interval| interval.as_ref().map(|it| it.log_ratio)).collect();
    Some(PreTrend { slope: slope(&log_ratios), p: joint_p(&known, seed), log_ratios })
}

/// The groups' difference in each interval with its variance, against each server's own mean; none where they cannot be told apart.
pub(super) fn difference_of_each(
    test: &[bool],
    stratum: &[u32],
    intervals: &[Interval],
) -> Vec<Option<(f64, f64)>> {
    let prepared = prepared(test, stratum, intervals);
    prepared.iter().map(|interval| interval.as_ref().map(|it| (it.log_ratio, it.variance))).collect()
}

fn prepared(test: &[bool], stratum: &[u32], intervals: &[Interval]) -> Vec<Option<Prepared>> {
    let metric = deviations(intervals, test.len(), |interval| &interval.metric);
    let adjusted = intervals.iter().all(|interval| !interval.load.is_empty());
    let load =
        if adjusted { deviations(intervals, test.len(), |interval| &interval.load) } else { Vec::new() };
    let prepare = |index: usize| {
        let groups = Groups { test, stratum, load: load.get(index).map(Vec::as_slice) };
        let design = Design::new(&groups)?;
        let (rest, _) = design.reduced(&metric[index]);
        let variance = squares(&rest) / (design.freedom + 1.0) / design.group_squares;
        let log_ratio = dot(&design.group, &rest) / design.group_squares;
        (variance > 0.0).then_some(Prepared { design, rest, log_ratio, variance })
    };
    (0..intervals.len()).map(prepare).collect()
}

/// Sum over the intervals of the squares of their standardised effects, against that of servers dealt out anew.
fn joint_p(intervals: &[&Prepared], seed: u64) -> f64 {
    let observed: f64 = intervals.iter().map(|it| it.log_ratio * it.log_ratio / it.variance).sum();
    let mut random = Random::new(seed);
    let strata = &intervals[0].design.strata;
    let mut places: Vec<u32> = (0..intervals[0].rest.len() as u32).collect();
    let mut extreme = 0;
    for _ in 0..DRAWN_FOR_CHECK {
        strata.iter().for_each(|stratum| random.shuffle(&mut places[stratum.clone()]));
        let statistic: f64 = intervals
            .iter()
            .map(|it| {
                let dealt = it.design.group.iter().zip(&places);
                let effect: f64 = dealt.map(|(group, place)| group * it.rest[*place as usize]).sum();
                (effect / it.design.group_squares).powi(2) / it.variance
            })
            .sum();
        extreme += u32::from(statistic >= observed * (1.0 - 1e-9));
    }
    f64::from(1 + extreme) / f64::from(1 + DRAWN_FOR_CHECK)
}

/// Each server's values less its own mean; 0 where it has none, as that speaks for nothing.
fn deviations<'a>(
    intervals: &'a [Interval],
    servers: usize,
    of: impl Fn(&'a Interval) -> &'a Vec<Option<f64>>,
) -> Vec<Vec<f64>> {
    let mut sums = vec![(0.0, 0u32); servers];
    for interval in intervals {
        for (sum, value) in sums.iter_mut().zip(of(interval)) {
            *sum = value.map_or(*sum, |value| (sum.0 + value, sum.1 + 1));
        }
    }
    let deviation = |(value, sum): (&Option<f64>, &(f64, u32))| {
        value.map_or(0.0, |value| value - sum.0 / f64::from(sum.1))
    };
    intervals.iter().map(|interval| of(interval).iter().zip(&sums).map(deviation).collect()).collect()
}

fn slope(ratios: &[Option<f64>]) -> f64 {
    let points: Vec<(f64, f64)> =
        ratios.iter().enumerate().filter_map(|(at, ratio)| Some((at as f64, (*ratio)?))).collect();
    let n = points.len() as f64;
    let (mean_x, mean_y) =
        (points.iter().map(|it| it.0).sum::<f64>() / n, points.iter().map(|it| it.1).sum::<f64>() / n);
    let across: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let along: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if along > 0.0 { across / along } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 x 10 servers, 14 intervals; the test group's metric grows by `drift` an interval more than the control group's.
    fn intervals(drift: f64, seed: u64) -> (Vec<bool>, Vec<Interval>) {
        let mut random = Random::new(seed);
        let test: Vec<bool> = (0..20).map(|place| place < 10).collect();
        let base: Vec<f64> = test.iter().map(|_| random.normal()).collect();
        let intervals = (0..14)
            .map(|at| {
                let common = 0.1 * random.normal();
                let load: Vec<f64> = base.iter().map(|base| base + common + 0.1 * random.normal()).collect();
                let metric = load.iter().zip(&test).map(|(load, test)| {
                    let drift = if *test { drift * f64::from(at) } else { 0.0 };
                    Some(1.8 * load + drift + 0.2 * random.normal())
                });
                Interval { metric: metric.collect(), load: load.iter().map(|load| Some(*load)).collect() }
            })
            .collect();
        (test, intervals)
    }

    #[test]
    fn groups_that_went_apart_before_the_change_are_found_with_their_slope() {
        let (test, intervals) = intervals(0.06, 3);
        let found = pre_trend(&test, &[0; 20], &intervals, 1).unwrap();
        assert!(found.p < 0.01, "{found:?}");
        assert!((found.slope - 0.06).abs() < 0.02, "{found:?}");
        assert!(found.largest() > 0.25);
    }

    #[test]
    fn groups_that_went_together_are_let_pass_about_as_often_as_promised() {
        let alarms = (0..60)
            .filter(|seed| {
                let (test, intervals) = intervals(0.0, 100 + seed);
                pre_trend(&test, &[0; 20], &intervals, *seed).unwrap().p < 0.1
            })
            .count();
        // 6 are expected of 60; 14 or more in 2 of 1,000 (binomial).
        assert!(alarms < 14, "{alarms}");
    }

    #[test]
    fn what_a_server_lacks_speaks_for_nothing_and_two_intervals_are_too_few() {
        let (test, mut intervals) = intervals(0.0, 9);
        intervals[3].metric[4] = None;
        intervals[3].load[4] = None;
        assert!(pre_trend(&test, &[0; 20], &intervals, 1).unwrap().log_ratios.iter().all(Option::is_some));
        assert_eq!(pre_trend(&test, &[0; 20], &intervals[..2], 1), None);
    }
}
