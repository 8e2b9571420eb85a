//! Rates of blocks together: all work over all the time, with an interval over blocks or, between paths, over rounds.

use crate::probe::LEVEL;
use plumb_model::observation::Interval;
use plumb_model::probe::storage::RatioToFirst;
use plumb_stats::interval::{Spread, mean_interval};
use plumb_stats::paired::{PAIRS_MIN, paired_t, smallest_detectable_difference};

/// A block's rate, and how long it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) rate: f64,
    pub(super) time_ns: u64,
}

/// A path's block in one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundBlock {
    pub(super) round: u32,
    pub(super) block: Timed,
}

/// All that was done over all the time that it took: a block that a stall made long weighs what it took. The mean of the
/// blocks' rates would hide the stall.
pub(super) fn overall(blocks: &[Timed]) -> Option<f64> {
    let time: f64 = blocks.iter().map(|block| block.time_ns as f64).sum();
    let done: f64 = blocks.iter().map(|block| block.rate * block.time_ns as f64).sum();
    (time > 0.0).then(|| done / time)
}

/// Interval around it: Student's t over the jackknife's pseudo-values, which for blocks of equal length are the blocks' rates.
pub(super) fn interval(blocks: &[Timed]) -> Option<Interval> {
    let (_, around) = pseudo_values(blocks, overall)?;
    mean_interval(&Spread { level: LEVEL, block_means_ns: &around, batches: &[] })
}

/// The ratio of one path's rate to the first one's: each is all of its work over all its time, in the rounds of both.
pub(super) fn ratio(first: &[RoundBlock], other: &[RoundBlock]) -> Option<RatioToFirst> {
    let partner = |round: u32| first.iter().find(|of| of.round == round).map(|of| of.block);
    let rounds: Vec<(Timed, Timed)> =
        other.iter().filter_map(|of| Some((partner(of.round)?, of.block))).collect();
    let log_ratio = |rounds: &[(Timed, Timed)]| {
        let (first, other): (Vec<Timed>, Vec<Timed>) = rounds.iter().copied().unzip();
        Some((overall(&other)? / overall(&first)?).ln()).filter(|log| log.is_finite())
    };
    let ratio = log_ratio(&rounds)?.exp();
    let spread = Some(rounds.len())
        .filter(|rounds| *rounds >= PAIRS_MIN)
        .and_then(|_| paired_t(&pseudo_values(&rounds, log_ratio)?.1, LEVEL));
    let detectable =
        spread.and_then(|spread| smallest_detectable_difference(rounds.len(), spread.sd, 1.0 - LEVEL));
    Some(RatioToFirst {
        ratio,
        low: spread.map(|spread| spread.low.exp()),
        high: spread.map(|spread| spread.high.exp()),
        level: LEVEL,
        smallest_detectable_ratio: detectable.map(f64::exp),
        rounds: rounds.len() as u32,
    })
}

/// An estimate, and the jackknife's pseudo-values moved so that it is their mean (Miller 1974, Biometrika 61).
fn pseudo_values<T: Copy>(blocks: &[T], estimate: impl Fn(&[T]) -> Option<f64>) -> Option<(f64, Vec<f64>)> {
    let all = estimate(blocks)?;
    let count = blocks.len() as f64;
    let without = |left_out: usize| estimate(&[&blocks[..left_out], &blocks[left_out + 1..]].concat());
    let pseudo: Vec<f64> = (0..blocks.len())
        .map(|index| Some(count * all - (count - 1.0) * without(index)?))
        .collect::<Option<_>>()?;
    let centre = pseudo.iter().sum::<f64>() / count;
    Some((all, pseudo.iter().map(|value| value - centre + all).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(commits: u64, time_ns: u64) -> Timed {
        Timed { rate: commits as f64 * 1e9 / time_ns as f64, time_ns }
    }

    /// Blocks of a second each.
    fn rounds<const N: usize>(rates: [(u32, f64); N]) -> [RoundBlock; N] {
        rates.map(|(round, rate)| RoundBlock { round, block: Timed { rate, time_ns: 1_000_000_000 } })
    }

    #[test]
    fn a_stall_counts_with_the_time_that_it_took() {
        // Four blocks of 20 commits in 0.2 s, and one of 1 commit in 2.2 s: 81 commits in 3 s.
        let mut blocks = [timed(20, 200_000_000); 5];
        blocks[4] = timed(1, 2_200_000_000);
        let rate = overall(&blocks).unwrap();
        assert!((rate - 27.0).abs() < 1e-9, "{rate}");
        let interval = interval(&blocks).unwrap();
        assert!(interval.low < 27.0 && interval.high > 100.0, "one block decides it: {interval:?}");
    }

    #[test]
    fn blocks_of_equal_length_have_the_interval_of_their_rates() {
        let rates = [90.0, 100.0, 110.0, 104.0];
        let blocks = rates.map(|rate| Timed { rate, time_ns: 200_000_000 });
        let plain = mean_interval(&Spread { level: LEVEL, block_means_ns: &rates, batches: &[] }).unwrap();
        let found = interval(&blocks).unwrap();
        assert!((found.low - plain.low).abs() < 1e-6 && (found.high - plain.high).abs() < 1e-6);
        assert_eq!(overall(&blocks), Some(101.0));
    }

    #[test]
    fn paths_are_held_against_the_first_over_the_rounds_of_both() {
        let first = rounds([(0, 100.0), (1, 200.0), (2, 400.0)]);
        let half = rounds([(2, 200.0), (0, 50.0), (1, 100.0), (3, 9.0)]);
        let found = ratio(&first, &half).unwrap();
        assert!((found.ratio - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!((found.rounds, found.low.map(|low| (low * 1e6).round())), (3, Some(500_000.0)));
    }

    #[test]
    fn two_rounds_give_a_ratio_without_an_interval_and_none_gives_nothing() {
        let found = ratio(&rounds([(0, 100.0), (1, 100.0)]), &rounds([(0, 50.0), (1, 150.0)])).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-9 && found.low.is_none() && found.high.is_none());
        assert_eq!(ratio(&[], &rounds([(0, 1.0)])), None);
    }

    #[test]
    fn a_path_that_stalled_in_one_round_is_slower_by_the_time_that_it_took() {
        let even = [timed(100, 1_000_000_000); 4];
        let mut stalled = even;
        stalled[2] = timed(1, 10_000_000_000);
        let with_rounds = |blocks: [Timed; 4]| {
            (0..).zip(blocks).map(|(round, block)| RoundBlock { round, block }).collect::<Vec<_>>()
        };
        let found = ratio(&with_rounds(even), &with_rounds(stalled)).unwrap();
        // 301 commits in 13 s against 100 a second; the rounds' geometric mean would say 0.18.
        assert!((found.ratio - 301.0 / 13.0 / 100.0).abs() < 1e-9, "{found:?}");
        assert!(
            found.low.unwrap() < found.ratio && found.high.unwrap() > 1.0,
            "one round decides it: {found:?}"
        );
    }
}
