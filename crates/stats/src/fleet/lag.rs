//! A check of time stamps: the lag at which the metric fits the load best, which is not 0 where the stamps of one of them are of
//! another time zone.
//!
//! Loads have a course of the day, and so have metrics, whatever makes them: any two courses of a day fit at some lag. So what repeats each
//! day is taken off each server, and what all servers have in common is taken off each interval. What is left is a server's own: an
//! unforeseen high load of a server comes back in its metric, at the lag that the stamps have. The server is the unit: each gives one
//! correlation a lag, and it is the servers' differences between two lags that are tested (Student's t, Bonferroni over the lags).
//!
//! Not here: which lags are worth looking at, and what to say of one.

use super::design::squares;
use crate::law::student_two_sided;

/// Fewest servers whose correlations are tested (ours).
const SERVERS_MIN: usize = 6;

/// Fewest pairs of values of a server for a correlation (ours).
const VALUES_MIN: usize = 24;

/// Passes over servers and intervals, each of which leaves less of either (ours; without gaps the first is exact).
const PASSES: usize = 5;

/// Servers' courses on one grid of intervals of equal length.
#[derive(Debug, Clone, Copy)]
pub struct Courses<'a> {
    /// Logarithm of the metric by server and interval.
    pub metric: &'a [Vec<Option<f64>>],
    /// Logarithm of the load, likewise.
    pub load: &'a [Vec<Option<f64>>],
    /// The class of each interval whose mean is taken off at each server: its time of day, before or after the change.
    pub time_of_day: &'a [usize],
    /// The class of each server with a course in common, such as its site.
    pub common: &'a [usize],
}

/// The lag at which the metric fits the load best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    /// Intervals by which the metric is later than the load; below 0: earlier.
    pub intervals: i64,
    /// Mean over the servers of the correlation at it.
    pub correlation: f64,
    /// The same at lag 0.
    pub correlation_at_none: f64,
    /// One-sided p of a better fit than at lag 0, for all lags together; 1 at lag 0.
    pub p: f64,
}

impl Courses<'_> {
    /// The best of lag 0 and `lags`. None with fewer than six servers of which every lag has 24 pairs of values.
    pub fn best(&self, lags: &[i64]) -> Option<Lag> {
        let (metric, load) = (self.own(self.metric), self.own(self.load));
        let of_server = |at: usize| {
            let at_lag = |lag: i64| correlation(&metric[at], &load[at], lag);
            let all: Option<Vec<f64>> = lags.iter().map(|lag| at_lag(*lag)).collect();
            Some(Fit { at_none: at_lag(0)?, at_lags: all? })
        };
        let servers: Vec<Fit> = (0..metric.len()).filter_map(of_server).collect();
        if servers.len() < SERVERS_MIN {
            return None;
        }
        let n = servers.len() as f64;
        let none = servers.iter().map(|fit| fit.at_none).sum::<f64>() / n;
        let means =
            (0..lags.len()).map(|place| servers.iter().map(|fit| fit.at_lags[place]).sum::<f64>() / n);
        let (place, best) = means.enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        if best.abs() <= none.abs() {
            return Some(Lag { intervals: 0, correlation: none, correlation_at_none: none, p: 1.0 });
        }
        let better = |fit: &Fit| best.signum() * fit.at_lags[place] - none.signum() * fit.at_none;
        let differences: Vec<f64> = servers.iter().map(better).collect();
        let p = (above_0(&differences)? * lags.len() as f64).min(1.0);
        Some(Lag { intervals: lags[place], correlation: best, correlation_at_none: none, p })
    }

    /// The deviations of each server from its own mean at each time of day and from the common mean of each interval.
    fn own(&self, values: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
        let mut own = values.to_vec();
        let times = self.time_of_day.iter().max().map_or(0, |most| most + 1);
        let commons = self.common.iter().max().map_or(0, |most| most + 1);
        for _ in 0..PASSES {
            for of_server in &mut own {
                let mut means = Means::new(times);
                let seen = || of_server.iter().zip(self.time_of_day);
                seen().for_each(|(value, time)| means.add(*time, *value));
                of_server
                    .iter_mut()
                    .zip(self.time_of_day)
                    .for_each(|(value, time)| means.take_off(*time, value));
            }
            for interval in 0..self.time_of_day.len() {
                let mut means = Means::new(commons);
                own.iter().zip(self.common).for_each(|(of, common)| means.add(*common, of[interval]));
                own.iter_mut()
                    .zip(self.common)
                    .for_each(|(of, common)| means.take_off(*common, &mut of[interval]));
            }
        }
        own
    }
}

/// One server's correlations.
struct Fit {
    at_none: f64,
    at_lags: Vec<f64>,
}

/// Means of values of several kinds.
struct Means(Vec<(f64, f64)>);

impl Means {
    fn new(kinds: usize) -> Self {
        Means(vec![(0.0, 0.0); kinds])
    }

    fn add(&mut self, kind: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.0[kind].0 += value;
            self.0[kind].1 += 1.0;
        }
    }

    fn take_off(&self, kind: usize, value: &mut Option<f64>) {
        let (sum, n) = self.0[kind];
        *value = value.map(|value| value - sum / n);
    }
}

/// The correlation of the metric with the load so many intervals earlier. None with too few pairs, or where either never moves.
fn correlation(metric: &[Option<f64>], load: &[Option<f64>], lag: i64) -> Option<f64> {
    let at = |place: usize| usize::try_from(place as i64 - lag).ok();
    let pairs = metric.iter().enumerate().filter_map(|(place, metric)| {
        Some(((*metric)?, at(place).and_then(|place| load.get(place).copied().flatten())?))
    });
    let (metric, load): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if metric.len() < VALUES_MIN {
        return None;
    }
    let (metric, load) = (centred(metric), centred(load));
    let product: f64 = metric.iter().zip(&load).map(|(metric, load)| metric * load).sum();
    let correlation = product / (squares(&metric) * squares(&load)).sqrt();
    correlation.is_finite().then_some(correlation)
}

fn centred(mut values: Vec<f64>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    values
}

/// One-sided p of a mean above 0, by Student's t.
fn above_0(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let error = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    if error == 0.0 {
        return Some(if mean > 0.0 { 0.0 } else { 1.0 });
    }
    let half = student_two_sided(mean / error, n - 1.0)? / 2.0;
    Some(if mean > 0.0 { half } else { 1.0 - half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::random::Random;

    const DAYS: usize = 14;
    const INTERVALS: usize = 24 * DAYS;

    /// Fleets of `servers` whose loads have a course of the day; the metric is `of` (its own noise, the load `later` intervals ago).
    fn best(servers: usize, later: usize, power: f64, seed: u64) -> Option<Lag> {
        let mut random = Random::new(seed);
        let (mut metric, mut load) = (Vec::new(), Vec::new());
        for _ in 0..servers {
            let loads: Vec<f64> = (0..INTERVALS + later)
                .map(|at| (at as f64 / 24.0 * std::f64::consts::TAU).sin() + 0.1 * random.normal())
                .collect();
            metric.push((0..INTERVALS).map(|at| Some(power * loads[at] + 0.3 * random.normal())).collect());
            load.push((0..INTERVALS).map(|at| Some(loads[at + later])).collect());
        }
        let time_of_day: Vec<usize> = (0..INTERVALS).map(|at| at % 24).collect();
        let lags: Vec<i64> = (1..=14).flat_map(|lag| [lag, -lag]).collect();
        let common = vec![0; servers];
        Courses { metric: &metric, load: &load, time_of_day: &time_of_day, common: &common }.best(&lags)
    }

    #[test]
    fn a_metric_that_is_nine_intervals_late_is_found_to_be() {
        let found = best(20, 9, 1.5, 1).unwrap();
        assert_eq!(found.intervals, 9, "{found:?}");
        assert!(
            found.p < 1e-6 && found.correlation > 0.35 && found.correlation_at_none.abs() < 0.1,
            "{found:?}"
        );
    }

    #[test]
    fn stamps_that_are_right_are_at_lag_0_whatever_the_day_is_like() {
        let found = best(20, 0, 1.5, 2).unwrap();
        assert_eq!((found.intervals, found.p), (0, 1.0), "{found:?}");
    }

    /// 1 % is expected at p < 0.01; 8 or more of 200 in 1 of 1,000 (binomial).
    #[test]
    fn a_metric_that_has_nothing_to_do_with_the_load_fits_no_lag() {
        let wrong = (0..200).filter(|seed| best(8, 0, 0.0, 100 + seed).unwrap().p < 0.01);
        assert!(wrong.count() < 8);
    }

    /// Worked out by hand: of (1, 2, 3, ..) with the same one place later every pair is one apart, so r = 1; of an alternating
    /// course with itself, r is -1 at lag 1 and 1 at lag 2.
    #[test]
    fn correlations_are_of_pairs_that_lie_so_far_apart() {
        let rising: Vec<Option<f64>> = (0..40).map(|at| Some(f64::from(at))).collect();
        let turning: Vec<Option<f64>> = (0..40).map(|at| Some(f64::from(at % 2))).collect();
        assert!((correlation(&rising, &rising, 1).unwrap() - 1.0).abs() < 1e-12);
        assert!((correlation(&turning, &turning, 1).unwrap() + 1.0).abs() < 1e-12);
        assert!((correlation(&turning, &turning, -2).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(correlation(&rising, &rising, 17), None);
        assert_eq!(correlation(&rising, &vec![Some(1.0); 40], 0), None);
    }

    #[test]
    fn few_servers_tell_nothing() {
        assert_eq!(best(5, 9, 1.5, 1), None);
    }
}
