//! The estimate over starts of the brokers: where pairs share starts, the start is the unit, not the pair.
//!
//! A JVM that compiles, allocates and places its memory anew at each start keeps it until the next; pairs on one start share it,
//! and many of them say much of that start and little of the setting (Kalibera and Jones, ISMM 2013: repeat at the level that
//! varies). The plan chooses the unit, never the data: a few starts know their own spread so badly that a choice by it finds
//! differences between equal arms in up to 10 % of trials instead of 5 %.

use super::estimate::{Estimate, Levels};
use plumb_model::trial::TrialMethod;
use plumb_stats::ends::Ends;
use plumb_stats::paired::paired_t;
use std::collections::BTreeMap;

/// Mean of each start's pairs, in the order of the starts.
pub(super) fn means(each: &[f64], starts: &[u32]) -> Vec<f64> {
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (pair, start) in each.iter().zip(starts) {
        groups.entry(*start).or_default().push(*pair);
    }
    groups.values().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect()
}

/// The estimate over the means of the starts: Student's t, as so few have no ranks to speak of.
pub(super) fn estimate(means: &[f64], levels: Levels) -> Option<Estimate> {
    let found = paired_t(means, levels.interval)?;
    let equivalence = paired_t(means, levels.equivalence)?;
    Some(Estimate {
        method: TrialMethod::Starts,
        ratio: found.mean.exp(),
        interval: Some(Ends { low: found.low, high: found.high }.exp()),
        equivalence: Some(Ends { low: equivalence.low, high: equivalence.high }.exp()),
        p: found.p,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_stats::random::Random;
    use plumb_stats::signed_rank::signed_rank;

    #[test]
    fn a_start_is_the_mean_of_its_pairs() {
        assert_eq!(means(&[1.0, 3.0, 5.0, 6.0], &[0, 0, 1, 2]), [2.0, 5.0, 6.0]);
    }

    /// Shares of trials of equal arms that are told apart over 6 starts of 2 pairs: by starts, and by ranks of the pairs.
    fn false_alarms(between: f64, trials: u64) -> (f64, f64) {
        let mut random = Random::new(17);
        let each_start: Vec<u32> = (0..12).map(|pair| pair / 2).collect();
        let levels = Levels { interval: 0.95, equivalence: 0.9 };
        let (mut by_start, mut by_pair) = (0, 0);
        for _ in 0..trials {
            let of_start: Vec<f64> = (0..6).map(|_| between.sqrt() * random.normal()).collect();
            let logs: Vec<f64> = each_start
                .iter()
                .map(|start| of_start[*start as usize] + (1.0 - between).sqrt() * random.normal())
                .collect();
            let found = estimate(&means(&logs, &each_start), levels).unwrap();
            assert_eq!(found.p <= 0.05, found.interval.unwrap().excludes(1.0));
            by_start += u64::from(found.p <= 0.05);
            by_pair += u64::from(signed_rank(&logs).unwrap().p_two_sided <= 0.05);
        }
        (by_start as f64 / trials as f64, by_pair as f64 / trials as f64)
    }

    #[test]
    fn equal_arms_are_told_apart_as_seldom_as_promised_however_much_starts_differ() {
        for between in [0.0, 0.3, 0.7] {
            let (by_start, by_pair) = false_alarms(between, 3_000);
            assert!((0.035..=0.065).contains(&by_start), "share {between}: {by_start}");
            assert_eq!(by_pair > 0.065, between > 0.0, "share {between}: {by_pair} over pairs");
        }
    }
}
