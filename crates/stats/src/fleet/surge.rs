//! The window in which the load of a whole fleet rose above its usual level: a customer failed over, a release.
//!
//! A surge may last from one interval to all that follow. Of all windows the one is taken in which the load stands out most (circular
//! binary segmentation of Olshen and others 2004, Biostatistics 5, for one rise). Its p is that of the same search in what it leaves
//! over, dealt out anew: the values themselves in another order would be of no use, as two high days of 21 stay two high days.
//! Taken from the load alone, never from the metric that is to be judged. What repeats with the day or the week is to be
//! taken off before: see [`without_season`].

use crate::median::median;
use plumb_model::random::Random;

/// Fewest intervals outside of a surge, and in all.
const OUTSIDE_MIN: usize = 4;

/// Orders drawn.
const DRAWN: u32 = 999;

/// Longest series: the work grows with the square. A longer one is the caller's to shorten.
pub const INTERVALS_MOST: usize = 400;

/// A window in which the load stood out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurgeWindow {
    /// First interval of it.
    pub from: usize,
    /// First interval after it.
    pub until: usize,
    /// Mean within less mean outside.
    pub rise: f64,
    /// Chance that a series without a surge has one that stands out as much.
    pub p: f64,
}

/// The window in which the series stands out upwards most; none for a series too short, too long or with nothing in it.
pub fn largest_rise(series: &[f64], seed: u64) -> Option<SurgeWindow> {
    let n = series.len();
    if !(2 * OUTSIDE_MIN..=INTERVALS_MOST).contains(&n) || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let best = best_window(series).filter(|best| best.statistic > 0.0)?;
    let mut random = Random::new(seed);
    let rest = best.rest(series);
    let mut extreme = 0;
    for _ in 0..DRAWN {
        let drawn: Vec<f64> = series.iter().map(|_| rest[random.below(n)]).collect();
        let statistic = best_window(&drawn).map_or(0.0, |window| window.statistic);
        extreme += u32::from(statistic >= best.statistic * (1.0 - 1e-9));
    }
    let Best { from, until, rise, .. } = best;
    Some(SurgeWindow { from, until, rise, p: f64::from(1 + extreme) / f64::from(1 + DRAWN) })
}

struct Best {
    from: usize,
    until: usize,
    rise: f64,
    /// Squares that the window explains over those that it leaves: grows with t.
    statistic: f64,
}

impl Best {
    /// The residuals of the two levels.
    fn rest(&self, series: &[f64]) -> Vec<f64> {
        let inside = self.from..self.until;
        let mean = |of: bool| {
            let values = series.iter().enumerate().filter(|(at, _)| inside.contains(at) == of);
            let (sum, n) = values.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
            sum / n
        };
        let levels = [mean(false), mean(true)];
        let level = |at: usize| levels[usize::from(inside.contains(&at))];
        series.iter().enumerate().map(|(at, value)| value - level(at)).collect()
    }
}

fn best_window(series: &[f64]) -> Option<Best> {
    let n = series.len();
    let mut sums = vec![0.0];
    for value in series {
        sums.push(sums[sums.len() - 1] + value);
    }
    let whole = sums[n];
    let all_squares = series.iter().map(|value| (value - whole / n as f64).powi(2)).sum::<f64>();
    let mut best: Option<Best> = None;
    for from in 0..n {
        for until in from + 1..=n {
            let inside = (until - from) as f64;
            let outside = (n - (until - from)) as f64;
            if outside < OUTSIDE_MIN as f64 {
                break;
            }
            let sum = sums[until] - sums[from];
            let rise = sum / inside - (whole - sum) / outside;
            let explained = rise.max(0.0).powi(2) * inside * outside / n as f64;
            let statistic = explained / (all_squares - explained).max(f64::MIN_POSITIVE);
            if best.as_ref().is_none_or(|best| statistic > best.statistic) {
                best = Some(Best { from, until, rise, statistic });
            }
        }
    }
    best
}

/// The series less what repeats every `period` intervals: the median of each place in the period. Unchanged with fewer than
/// three periods, from which a median tells nothing.
pub fn without_season(series: &[f64], period: usize) -> Vec<f64> {
    if period < 2 || series.len() < 3 * period {
        return series.to_vec();
    }
    let of_place = |place: usize| median(series.iter().skip(place).step_by(period).copied()).unwrap_or(0.0);
    let places: Vec<f64> = (0..period).map(of_place).collect();
    series.iter().enumerate().map(|(at, value)| value - places[at % period]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| 0.1 * random.normal()).collect()
    }

    #[test]
    fn a_failover_of_two_days_and_one_that_stays_are_found_where_they_are() {
        for (from, until) in [(9, 11), (14, 21)] {
            let mut series = noise(21, 4);
            series[from..until].iter_mut().for_each(|value| *value += 0.6);
            let found = largest_rise(&series, 1).unwrap();
            assert_eq!((found.from, found.until), (from, until), "{found:?}");
            assert!((found.rise - 0.6).abs() < 0.15 && found.p < 0.01, "{found:?}");
        }
    }

    #[test]
    fn a_level_load_has_no_surge_more_often_than_promised() {
        let alarms = (0..40)
            .filter(|seed| largest_rise(&noise(21, 50 + seed), *seed).is_some_and(|it| it.p < 0.05))
            .count();
        // 2 are expected of 40; 8 or more in 1 of 1,000 (binomial).
        assert!(alarms < 8, "{alarms}");
    }

    #[test]
    fn a_fall_is_no_surge() {
        let mut series = noise(21, 6);
        series[8..12].iter_mut().for_each(|value| *value -= 0.8);
        let found = largest_rise(&series, 1).unwrap();
        assert!(found.rise < 0.8 && (found.from, found.until) != (8, 12), "{found:?}");
    }

    #[test]
    fn what_repeats_every_week_is_taken_off() {
        let week = [0.0, 0.1, 0.0, 0.1, 0.0, -0.5, -0.6];
        let series: Vec<f64> = week.iter().cycle().take(28).copied().collect();
        assert!(without_season(&series, 7).iter().all(|value| value.abs() < 1e-12));
        assert_eq!(without_season(&series[..14], 7), series[..14]);
    }
}
