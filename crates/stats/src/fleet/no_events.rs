//! A bound for the ratio where one group has no event left, or had none before.
//!
//! There is no ratio then: its logarithm is infinite. What can be told is how many events were to be expected had the change done
//! nothing, by what the other group did, and how many there can be, at the most, where none are seen (Poisson's law). Events come in clusters, so
//! they count as fewer: by how much is what the other group's servers differ by beyond Poisson's law (quasi-Poisson), taken high.

use super::design::Groups;
use super::totals::Counted;
use crate::ends::Ends;
use crate::law::{chi_squared_quantile, normal_quantile};
use std::collections::BTreeMap;

/// Share of the cases in which clusters are even larger than taken.
const CLUSTERS_LARGER: f64 = 0.05;

/// Most servers with an event of a group that has hardly any.
const SERVERS_MOST: usize = 1;

/// Counts and intervals of a group on one side of the change.
#[derive(Debug, Clone, Copy, Default)]
struct SideCounts {
    events: f64,
    intervals: f64,
}

/// The interval of the logarithm of the ratio at a confidence level, one of whose ends is infinite. None where all groups have events on
/// both sides, where more than one has none, and where the other group's do not say what was to be expected.
pub fn bound(groups: &Groups, counted: &[Counted], level: f64) -> Option<Ends> {
    let mut strata = BTreeMap::<u32, [[SideCounts; 2]; 2]>::new();
    let mut servers = [[0; 2]; 2];
    for ((test, stratum), counted) in groups.test.iter().zip(groups.stratum).zip(counted) {
        let group = usize::from(*test);
        let sides = [(counted.before, counted.intervals_before), (counted.after, counted.intervals_after)];
        for (side, (events, intervals)) in sides.into_iter().enumerate() {
            let cell = &mut strata.entry(*stratum).or_default()[group][side];
            cell.events += events;
            cell.intervals += intervals;
            servers[group][side] += usize::from(events > 0.0);
        }
    }
    let rare: Vec<(usize, usize)> = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .into_iter()
        .filter(|(group, side)| servers[*group][*side] <= SERVERS_MOST)
        .collect();
    let &[(group, side)] = rare.as_slice() else { return None };
    let clusters = clusters(groups, counted, &strata, group == 0)?;
    let (mut expected, mut seen, mut rest) = (0.0, 0.0, [0.0; 3]);
    for cells in strata.values() {
        let [own, other] = [cells[group], cells[1 - group]];
        let rate = |cell: SideCounts| cell.events / cell.intervals;
        seen += own[side].events;
        let of_stratum =
            rate(own[1 - side]) * rate(other[side]) / rate(other[1 - side]) * own[side].intervals;
        if of_stratum.is_finite() {
            expected += of_stratum;
            let events = [own[1 - side].events, other[side].events, other[1 - side].events];
            rest.iter_mut().zip(events).for_each(|(sum, events)| *sum += events);
        }
    }
    // What was to be expected is as unsure as the three counts that it is made of.
    let unsure = (clusters * rest.iter().map(|events| 1.0 / events).sum::<f64>()).sqrt();
    let at_least = expected * (-normal_quantile(0.5 + level / 2.0)? * unsure).exp();
    let most = clusters * chi_squared_quantile(0.5 + level / 2.0, 2.0 * (seen / clusters + 1.0))? / 2.0;
    let log_bound = (most / at_least).ln();
    // Fewer than expected after the change in the test group, or before it in the control group, is a ratio below 1.
    log_bound.is_finite().then(|| match group == side {
        true => Ends { low: f64::NEG_INFINITY, high: log_bound },
        false => Ends { low: -log_bound, high: f64::INFINITY },
    })
}

/// The overdispersion of a group: the variance of the split of a server's events between before and after, over that of Poisson's
/// law, at least 1; an upper limit that all but few such groups stay below. None with fewer than two servers of a stratum.
fn clusters(
    groups: &Groups,
    counted: &[Counted],
    strata: &BTreeMap<u32, [[SideCounts; 2]; 2]>,
    test: bool,
) -> Option<f64> {
    let (mut sum, mut freedom) = (0.0, -(strata.len() as f64));
    for ((_, stratum), counted) in
        groups.test.iter().zip(groups.stratum).zip(counted).filter(|((of, _), _)| **of == test)
    {
        let [before, after] = strata[stratum][usize::from(test)];
        let share = after.events / (before.events + after.events);
        let all = counted.before + counted.after;
        if all > 0.0 && share > 0.0 && share < 1.0 {
            sum += (counted.after - all * share).powi(2) / (all * share * (1.0 - share));
        }
        freedom += 1.0;
    }
    (freedom > 0.0).then_some(())?;
    Some((sum / chi_squared_quantile(CLUSTERS_LARGER, freedom)?).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::random::Random;

    /// Servers with `rate` events an interval, in clusters of `size`, 14 intervals before and 7 after.
    fn counted(n: usize, rates: [f64; 2], size: f64, random: &mut Random) -> Vec<Counted> {
        let events = |rate: f64, intervals: f64, random: &mut Random| {
            let (mut waited, mut clusters) = (0.0, -1.0);
            while waited < rate * intervals / size {
                waited -= (1.0 - random.unit()).ln();
                clusters += 1.0;
            }
            f64::max(clusters, 0.0) * size
        };
        (0..n)
            .map(|_| Counted {
                before: events(rates[0], 14.0, random),
                after: events(rates[1], 7.0, random),
                intervals_before: 14.0,
                intervals_after: 7.0,
            })
            .collect()
    }

    fn bound_of_groups(test: Vec<Counted>, control: Vec<Counted>) -> Option<Ends> {
        let is_test: Vec<bool> = (0..test.len() + control.len()).map(|place| place < test.len()).collect();
        let stratum = vec![0; is_test.len()];
        let groups = Groups { test: &is_test, stratum: &stratum, load: None };
        bound(&groups, &[test, control].concat(), 0.95)
    }

    #[test]
    fn a_change_that_takes_all_of_a_hundred_a_day_leaves_a_ratio_far_below_one() {
        let mut random = Random::new(1);
        let Ends { low, high } = bound_of_groups(
            counted(6, [112.0, 0.0], 4.0, &mut random),
            counted(6, [112.0, 112.0], 4.0, &mut random),
        )
        .unwrap();
        assert!(low == f64::NEG_INFINITY && (0.001..0.02).contains(&high.exp()), "{high}");
        let Ends { low, high } = bound_of_groups(
            counted(6, [0.0, 112.0], 4.0, &mut random),
            counted(6, [112.0, 112.0], 4.0, &mut random),
        )
        .unwrap();
        assert!(high == f64::INFINITY && (50.0..1000.0).contains(&low.exp()), "{low}");
        let Ends { low, high } = bound_of_groups(
            counted(6, [112.0, 112.0], 4.0, &mut random),
            counted(6, [112.0, 0.0], 4.0, &mut random),
        )
        .unwrap();
        assert!(high == f64::INFINITY && low.exp() > 50.0, "{low}");
    }

    /// The change leaves a ratio of which no event at all is seen about as often as not: the bound is below it in at most 2.5 % of fleets.
    #[test]
    fn a_ratio_that_lets_no_event_be_seen_is_hardly_ever_beyond_the_bound() {
        let mut random = Random::new(3);
        for (size, truth) in [(1.0, 0.01), (5.0, 0.05)] {
            let (mut wrong, mut told) = (0, 0);
            for _ in 0..600 {
                let test = counted(8, [2.0, 2.0 * truth], size, &mut random);
                let Some(Ends { low, high }) =
                    bound_of_groups(test, counted(8, [2.0, 2.0], size, &mut random))
                else {
                    continue;
                };
                told += 1;
                wrong += u32::from(high < f64::ln(truth));
                assert_eq!(low, f64::NEG_INFINITY);
            }
            // Of 600 fleets 15 at the most are promised.
            assert!(told > 300 && wrong <= 15, "{size}: {wrong} of {told}");
        }
    }

    #[test]
    fn groups_that_all_have_events_or_that_nothing_is_to_be_expected_of_have_no_bound() {
        let mut random = Random::new(2);
        let mut bound_of_rates = |test, control| {
            bound_of_groups(counted(6, test, 1.0, &mut random), counted(6, control, 1.0, &mut random))
        };
        assert_eq!(bound_of_rates([9.0, 9.0], [9.0, 9.0]), None);
        assert_eq!(bound_of_rates([0.0, 9.0], [0.0, 0.0]), None);
        assert_eq!(bound_of_rates([0.0, 0.0], [9.0, 9.0]), None);
    }
}
