//! Groups drawn at random and balanced: as many test as control servers of each kind.
//!
//! What a group was drawn from can be held against it later: where the draw is random, a difference before the change is
//! chance, and its size is known. The seed makes the same groups again.

use plumb_model::random::Random;
use std::collections::BTreeMap;

/// Servers in each group below which they are matched in pairs: with few, chance alone leaves groups unlike.
const PAIRS_BELOW: usize = 10;

/// A server that may be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The traits that it shares with others, such as site and hardware.
    pub kind: String,
    /// The metric before, where it is known: servers of a kind are parted in three by it, or paired by it.
    pub baseline: Option<f64>,
}

/// The groups, as places of the candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Gets the change.
    pub test: Vec<usize>,
    /// Keeps what it has. With [`Drawn::paired`] each is the pair of the test server in the same place.
    pub control: Vec<usize>,
    /// True if they were matched.
    pub paired: bool,
}

/// The most servers that each group can have: half of each kind.
pub fn most(candidates: &[Candidate]) -> usize {
    kinds(candidates).values().map(|places| places.len() / 2).sum()
}

/// `servers` for each group, the kinds in proportion; none when there are not so many ([`most`]) or none is asked for.
pub fn draw(candidates: &[Candidate], servers: usize, seed: u64) -> Option<Drawn> {
    if servers == 0 || servers > most(candidates) {
        return None;
    }
    let mut random = Random::new(seed);
    let paired = servers < PAIRS_BELOW;
    let mut pairs = Vec::new();
    for places in kinds(candidates).values() {
        pairs.push(paired_up(candidates, places, &mut random));
    }
    let wanted = in_proportion(&pairs.iter().map(Vec::len).collect::<Vec<_>>(), servers, &mut random);
    let (mut test, mut control) = (Vec::new(), Vec::new());
    for (mut pairs, wanted) in pairs.into_iter().zip(wanted) {
        random.shuffle(&mut pairs);
        let mut taken = spread_over(pairs, wanted, candidates);
        for MatchedPair { one, other } in taken.drain(..) {
            let swap = random.below(2) == 1;
            test.push(if swap { other } else { one });
            control.push(if swap { one } else { other });
        }
    }
    Some(Drawn { test, control, paired })
}

fn kinds(candidates: &[Candidate]) -> BTreeMap<&str, Vec<usize>> {
    let mut kinds = BTreeMap::<&str, Vec<usize>>::new();
    for (place, candidate) in candidates.iter().enumerate() {
        kinds.entry(&candidate.kind).or_default().push(place);
    }
    kinds
}

/// Two servers of a kind, as places of the candidates.
#[derive(Clone, Copy)]
struct MatchedPair {
    one: usize,
    other: usize,
}

/// Neighbours by baseline, or by chance where there is none; one may be left over.
fn paired_up(candidates: &[Candidate], places: &[usize], random: &mut Random) -> Vec<MatchedPair> {
    let mut places = places.to_vec();
    random.shuffle(&mut places);
    let baseline = |place: &usize| candidates[*place].baseline.unwrap_or(f64::INFINITY);
    places.sort_by(|a, b| baseline(a).total_cmp(&baseline(b)));
    // Which one is left over must not always be the one with the most.
    let skip = if places.len() % 2 == 1 { 2 * random.below(places.len() / 2 + 1) } else { places.len() };
    let kept: Vec<usize> =
        places.iter().enumerate().filter(|(at, _)| *at != skip).map(|(_, place)| *place).collect();
    kept.chunks_exact(2).map(|pair| MatchedPair { one: pair[0], other: pair[1] }).collect()
}

/// `wanted` pairs, evenly over the range of baselines: of so many thirds one from each, as far as it goes.
fn spread_over(mut pairs: Vec<MatchedPair>, wanted: usize, candidates: &[Candidate]) -> Vec<MatchedPair> {
    let baseline = |pair: &MatchedPair| candidates[pair.one].baseline;
    if pairs.iter().all(|pair| baseline(pair).is_none()) {
        pairs.truncate(wanted);
        return pairs;
    }
    let mut ranked: Vec<usize> = (0..pairs.len()).collect();
    let value = |at: &usize| baseline(&pairs[*at]).unwrap_or(f64::INFINITY);
    ranked.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let mut third = vec![0; pairs.len()];
    ranked.iter().enumerate().for_each(|(rank, at)| third[*at] = rank * 3 / pairs.len());
    let mut taken = [0; 3];
    // The pairs are in random order: the first of each third are a random choice of it.
    let mut order: Vec<(usize, usize)> = (0..pairs.len())
        .map(|at| {
            taken[third[at]] += 1;
            (taken[third[at]], at)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().take(wanted).map(|(_, at)| pairs[at]).collect()
}

/// Largest remainders (Hamilton), equal ones by chance; never more than there are.
fn in_proportion(there: &[usize], wanted: usize, random: &mut Random) -> Vec<usize> {
    let all: usize = there.iter().sum();
    let share = |there: usize| wanted as f64 * there as f64 / all as f64;
    let mut counts: Vec<usize> = there.iter().map(|&there| share(there) as usize).collect();
    let mut order: Vec<usize> = (0..there.len()).collect();
    random.shuffle(&mut order);
    order.sort_by(|a, b| share(there[*b]).fract().total_cmp(&share(there[*a]).fract()));
    let mut left = wanted - counts.iter().sum::<usize>();
    for place in order.iter().cycle().take(2 * there.len()) {
        if left > 0 && counts[*place] < there[*place] {
            counts[*place] += 1;
            left -= 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fleet(sizes: &[(&str, usize)], baselines: bool) -> Vec<Candidate> {
        let kinds = sizes.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        let candidate = |(place, kind): (usize, &str)| Candidate {
            kind: kind.to_owned(),
            baseline: baselines.then_some((place * 7919 % 101) as f64),
        };
        kinds.enumerate().map(candidate).collect()
    }

    fn of_kind(candidates: &[Candidate], places: &[usize], kind: &str) -> usize {
        places.iter().filter(|&&place| candidates[place].kind == kind).count()
    }

    #[test]
    fn each_kind_is_in_both_groups_in_equal_number_and_in_proportion() {
        let candidates = fleet(&[("fra", 600), ("ams", 300), ("waw", 100)], false);
        let drawn = draw(&candidates, 100, 1).unwrap();
        for (kind, expected) in [("fra", 60), ("ams", 30), ("waw", 10)] {
            assert_eq!(of_kind(&candidates, &drawn.test, kind), expected);
            assert_eq!(of_kind(&candidates, &drawn.control, kind), expected);
        }
        assert!(!drawn.paired);
    }

    #[test]
    fn thirds_by_the_metric_before_are_in_both_groups_alike() {
        let candidates = fleet(&[("fra", 300)], true);
        let drawn = draw(&candidates, 30, 5).unwrap();
        let sum =
            |places: &[usize]| places.iter().filter_map(|&at| candidates[at].baseline).sum::<f64>() / 30.0;
        let thirds = |places: &[usize]| {
            let low = places.iter().filter(|&&at| candidates[at].baseline < Some(33.0)).count();
            (8..=12).contains(&low)
        };
        assert!(thirds(&drawn.test) && thirds(&drawn.control));
        assert!((sum(&drawn.test) - sum(&drawn.control)).abs() < 1.5);
    }

    #[test]
    fn few_servers_are_matched_in_pairs_of_one_kind() {
        let candidates = fleet(&[("fra", 40), ("ams", 41)], true);
        let drawn = draw(&candidates, 6, 2).unwrap();
        assert!(drawn.paired);
        for (test, control) in drawn.test.iter().zip(&drawn.control) {
            assert_eq!(candidates[*test].kind, candidates[*control].kind);
            let apart = candidates[*test].baseline.unwrap() - candidates[*control].baseline.unwrap();
            assert!(apart.abs() <= 6.0, "{apart}");
        }
    }

    #[test]
    fn every_server_comes_into_either_group_by_some_seed() {
        let candidates = fleet(&[("a", 5), ("b", 4)], true);
        let (mut in_test, mut in_control) = (vec![false; 9], vec![false; 9]);
        for seed in 0..200 {
            let drawn = draw(&candidates, 2, seed).unwrap();
            drawn.test.iter().for_each(|&place| in_test[place] = true);
            drawn.control.iter().for_each(|&place| in_control[place] = true);
        }
        assert!(in_test.iter().chain(&in_control).all(|seen| *seen), "{in_test:?} {in_control:?}");
    }

    proptest! {
        #[test]
        fn groups_have_the_size_asked_for_and_no_server_twice(
            sizes in proptest::collection::vec(0usize..30, 1..6), servers in 0usize..60, seed: u64, baselines: bool,
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let sizes: Vec<(&str, usize)> = names.into_iter().zip(sizes).collect();
            let candidates = fleet(&sizes, baselines);
            let drawn = draw(&candidates, servers, seed);
            prop_assert_eq!(drawn.is_some(), servers > 0 && servers <= most(&candidates));
            if let Some(drawn) = drawn {
                prop_assert_eq!((drawn.test.len(), drawn.control.len()), (servers, servers));
                let all: std::collections::BTreeSet<usize> = drawn.test.iter().chain(&drawn.control).copied().collect();
                prop_assert_eq!(all.len(), 2 * servers);
                for (kind, _) in &sizes {
                    prop_assert_eq!(of_kind(&candidates, &drawn.test, kind), of_kind(&candidates, &drawn.control, kind));
                }
            }
        }
    }
}
