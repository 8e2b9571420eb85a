//! Whether brokers differ from one start to the next: then the start is the unit, not the pair.
//!
//! A JVM that compiles, allocates and places its memory anew at each start keeps what it got until the next; pairs on one
//! start share it, and many of them say much of that start and little of the setting (Kalibera and Jones, ISMM 2013:
//! repeat at the level that varies).

use super::pairs::{Estimate, Levels};
use plumb_model::trial::TrialMethod;
use plumb_stats::paired::{POWER, paired_t};
use plumb_stats::power::detectable_ratio;
use std::collections::BTreeMap;

/// Above this share of the variance the start is the unit (ours).
pub(super) const SHARE_MAX: f64 = 0.25;

/// Share of the variance of log ratios that is between starts: analysis of variance with a random effect, by moments.
/// None with fewer than two starts, or no start with two pairs.
pub(super) fn between_share(logs: &[f64], starts: &[u32]) -> Option<f64> {
    let groups = groups(logs, starts);
    let (k, n) = (groups.len() as f64, logs.len() as f64);
    if groups.len() < 2 || logs.len() <= groups.len() || logs.len() != starts.len() {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let all = mean(logs);
    let within: f64 =
        groups.values().map(|group| group.iter().map(|d| (d - mean(group)).powi(2)).sum::<f64>()).sum();
    let between: f64 = groups.values().map(|group| group.len() as f64 * (mean(group) - all).powi(2)).sum();
    let within = within / (n - k);
    let squares: f64 = groups.values().map(|group| (group.len() as f64).powi(2)).sum();
    let each = (n - squares / n) / (k - 1.0);
    let variance = ((between / (k - 1.0) - within) / each).max(0.0);
    (variance + within > 0.0).then(|| variance / (variance + within))
}

/// The estimate over the means of the starts: Student's t, as two or three of them have no ranks to speak of.
pub(super) fn estimate(logs: &[f64], starts: &[u32], levels: Levels) -> Option<Estimate> {
    let groups = groups(logs, starts);
    let means: Vec<f64> =
        groups.values().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
    let found = paired_t(&means, levels.interval)?;
    let equivalence = paired_t(&means, levels.equivalence)?;
    Some(Estimate {
        method: TrialMethod::Starts,
        ratio: found.mean.exp(),
        interval: Some((found.low.exp(), found.high.exp())),
        equivalence: Some((equivalence.low.exp(), equivalence.high.exp())),
        p: found.p,
        detectable: detectable_ratio(found.sd, means.len(), levels.interval, POWER),
    })
}

fn groups(logs: &[f64], starts: &[u32]) -> BTreeMap<u32, Vec<f64>> {
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (log, start) in logs.iter().zip(starts) {
        groups.entry(*start).or_default().push(*log);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: groups (1, 3) and (5, 7): mean squares 16 between and 2 within, 2 each: variance 7 between, 2 within.
    #[test]
    fn the_share_is_that_of_an_analysis_of_variance() {
        let share = between_share(&[1.0, 3.0, 5.0, 7.0], &[0, 0, 1, 1]).unwrap();
        assert!((share - 7.0 / 9.0).abs() < 1e-12, "{share}");
    }

    #[test]
    fn equal_starts_have_no_share_and_one_start_says_nothing() {
        assert_eq!(between_share(&[1.0, 3.0, 1.0, 3.0], &[0, 0, 1, 1]), Some(0.0));
        assert_eq!(between_share(&[1.0, 3.0], &[0, 0]), None);
        assert_eq!(between_share(&[1.0, 3.0], &[0, 1]), None);
    }
}
