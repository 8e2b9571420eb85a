//! The length of a block's warm-up, which is left out: caches fill, a JIT compiles, congestion windows open.
//!
//! Two questions, each with its own means. Where to cut: the marginal standard error rule takes values away from the front
//! as long as that makes the mean of the rest surer (MSER; White 1997, Simulation 69). It sees the end of a slow approach,
//! which a step fitted to it would miss. Whether to cut at all, as the rule finds something in pure noise too: what it would
//! cut has to be farther from the second half of the block than in series rebuilt from that half's own noise.

use crate::autocorrelation::{redrawn, unbiased};
use crate::median::median;
use crate::random::Random;
use crate::steady::{POINTS_MIN, largest_change};

/// A beginning, or a change, with a p above this is noise.
const ALPHA: f64 = 0.05;

/// Rebuilt series.
const REBUILDS: u32 = 399;

/// The beginning of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// Leading values to leave out; 0 when nothing speaks for a warm-up. At most half.
    pub cut: usize,
    /// True if the rest holds its level ([`crate::steady`]), or is too short to tell.
    pub settled: bool,
}

/// The warm-up in a block's means, one a second or any other interval. None with fewer than 12 values, or one that is not
/// above 0: it cannot be told then.
///
/// Works on logarithms, and what is farther than 5 standard deviations from the second half counts as 5: so one stall, early
/// in a block but no part of a warm-up, stays in.
pub fn warm_up(means: &[f64], seed: u64) -> Option<WarmUp> {
    if means.len() < POINTS_MIN || means.iter().any(|mean| !(*mean > 0.0 && mean.is_finite())) {
        return None;
    }
    let logs: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
    let clipped = clipped(&logs);
    let cut = surest_cut(&clipped);
    let cut = if stands_out(&clipped, cut, seed) { cut } else { 0 };
    let settled = largest_change(&logs[cut..], seed).is_none_or(|change| change.p > ALPHA);
    Some(WarmUp { cut, settled })
}

/// Values no farther from the second half's median than 5 of its standard deviations, as its median deviation tells them.
fn clipped(values: &[f64]) -> Vec<f64> {
    let half = &values[values.len() / 2..];
    let Some(middle) = median(half.iter().copied()) else { return Vec::new() };
    let deviation = median(half.iter().map(|x| (x - middle).abs())).unwrap_or(0.0);
    // 1.4826: the standard deviation of normal noise over its median deviation.
    let reach = if deviation > 0.0 { 5.0 * 1.4826 * deviation } else { f64::INFINITY };
    values.iter().map(|x| x.clamp(middle - reach, middle + reach)).collect()
}

/// The number of leading values, at most half, without which the squared standard error of the mean is least:
/// sum (x - mean)^2 / m^2 over the m that are left.
fn surest_cut(values: &[f64]) -> usize {
    let (mut size, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut surest = (0, f64::INFINITY);
    // From the end, so that each value is looked at once (Welford 1962).
    for (cut, x) in values.iter().enumerate().rev() {
        size += 1.0;
        let distance = x - mean;
        mean += distance / size;
        squares += distance * (x - mean);
        if cut <= values.len() / 2 && squares / (size * size) <= surest.1 {
            surest = (cut, squares / (size * size));
        }
    }
    surest.0
}

/// True if the part to cut is farther from the second half than noise alone would have it, cut by the same rule.
fn stands_out(values: &[f64], cut: usize, seed: u64) -> bool {
    let n = values.len();
    let noise = Noise::fit(&values[n / 2..]);
    let distance = distance(values, cut);
    let mut random = Random::new(seed);
    let as_far = (0..REBUILDS).filter(|_| {
        let rebuilt = noise.series(n, &mut random);
        self::distance(&rebuilt, surest_cut(&rebuilt)) >= distance
    });
    f64::from(as_far.count() as u32 + 1) / f64::from(REBUILDS + 1) <= ALPHA
}

/// The distance of the mean of the part to cut from that of the second half, weighted by length: a longer beginning is the surer
/// one.
fn distance(values: &[f64], cut: usize) -> f64 {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    if cut == 0 {
        return 0.0;
    }
    (mean(&values[..cut]) - mean(&values[values.len() / 2..])).abs() * (cut as f64).sqrt()
}

/// AR(1) noise as fitted to values that hold their level.
struct Noise {
    phi: f64,
    innovations: Vec<f64>,
}

impl Noise {
    fn fit(values: &[f64]) -> Noise {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let rest: Vec<f64> = values.iter().map(|x| x - mean).collect();
        let squares: f64 = rest.iter().map(|x| x * x).sum();
        let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let raw = if squares > 0.0 { products / squares } else { 0.0 };
        let phi = unbiased(raw, 1.0, n).max(0.0);
        // Fitting the mean and the correlation makes what is left smaller than the noise.
        let lost = (n / (n - 2.0)).sqrt();
        let innovations = rest.windows(2).map(|pair| (pair[1] - phi * pair[0]) * lost).collect();
        Noise { phi, innovations }
    }

    fn series(&self, n: usize, random: &mut Random) -> Vec<f64> {
        redrawn(self.phi, &self.innovations, n, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Latency of each second: 10 % of lingering noise around 5 ms, times what the warm-up makes of it.
    fn block(n: usize, phi: f64, warm_up: impl Fn(usize) -> f64, random: &mut Random) -> Vec<f64> {
        let mut noise = random.normal();
        let seconds = (0..n).map(|second| {
            noise = phi * noise + (1.0 - phi * phi).sqrt() * random.normal();
            5e6 * (0.1 * noise).exp() * warm_up(second)
        });
        seconds.collect()
    }

    /// The effect of the warm-up on many blocks of 30 seconds.
    #[derive(Debug)]
    struct Seen {
        /// Share of blocks that are cut at all.
        cut_share: f64,
        /// Seconds cut, in the mean.
        cut_seconds: f64,
        /// The distance of the mean of the rest from the true level, as a logarithm.
        bias: f64,
    }

    fn simulate(blocks: u32, phi: f64, shape: impl Fn(usize) -> f64 + Copy) -> Seen {
        let mut random = Random::new(31);
        let (mut cut_blocks, mut cut_seconds, mut bias) = (0, 0, 0.0);
        for seed in 0..blocks {
            let means = block(30, phi, shape, &mut random);
            let cut = warm_up(&means, u64::from(seed)).unwrap().cut;
            cut_blocks += u32::from(cut > 0);
            cut_seconds += cut;
            let logs = means[cut..].iter().map(|mean| (mean / 5e6).ln());
            bias += logs.sum::<f64>() / (means.len() - cut) as f64;
        }
        let blocks = f64::from(blocks);
        let cut_share = f64::from(cut_blocks) / blocks;
        Seen { cut_share, cut_seconds: cut_seconds as f64 / blocks, bias: bias / blocks }
    }

    fn slow_start(second: usize) -> f64 {
        if second < 5 { 1.5 } else { 1.0 }
    }

    fn approach(second: usize) -> f64 {
        1.0 + 2.0 * (-(second as f64) / 4.0).exp()
    }

    fn late_change(second: usize) -> f64 {
        if second > 22 { 1.5 } else { 1.0 }
    }

    fn stall(second: usize) -> f64 {
        if second == 10 { 4.0 } else { 1.0 }
    }

    fn check(blocks: u32) {
        // Without a warm-up little is cut, and what is cut moves nothing.
        for (phi, share_max) in [(0.0, 0.10), (0.5, 0.20)] {
            let seen = simulate(blocks, phi, |_| 1.0);
            assert!(seen.cut_share <= share_max && seen.cut_seconds <= 1.5, "phi {phi}: {seen:?}");
            assert!(seen.bias.abs() <= 0.01, "phi {phi}: {seen:?}");
        }
        // Left in, these would move the mean by 7 % and by 18 %.
        let seen = simulate(blocks, 0.0, slow_start);
        assert!(seen.cut_share >= 0.9 && (5.0..=8.0).contains(&seen.cut_seconds), "{seen:?}");
        assert!(seen.bias <= 0.01, "{seen:?}");
        for phi in [0.0, 0.5] {
            let seen = simulate(blocks, phi, approach);
            assert!(seen.cut_share >= 0.9 && seen.bias <= 0.04, "phi {phi}: {seen:?}");
            // Neither a change near the end nor a single stall is a warm-up.
            assert!(simulate(blocks, phi, late_change).cut_share <= 0.05);
            assert!(simulate(blocks, phi, stall).cut_share <= 0.25);
        }
    }

    #[test]
    fn what_a_block_begins_with_is_cut_and_noise_is_not() {
        check(60);
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn warm_ups_are_cut_as_stated_in_long_simulations() {
        check(2_000);
    }

    #[test]
    fn the_surest_cut_of_a_step_without_noise_is_the_step() {
        let values: Vec<f64> = (0..40).map(|i| if i < 7 { 3.0 } else { 1.0 }).collect();
        assert_eq!(surest_cut(&values), 7);
        assert_eq!(surest_cut(&[1.0; 20]), 0);
        assert_eq!(warm_up(&[5.0; 20], 1), Some(WarmUp { cut: 0, settled: true }));
    }

    #[test]
    fn never_more_than_half_is_cut_and_a_block_that_never_settles_says_so() {
        let mut random = Random::new(6);
        let rising = block(60, 0.0, |second| (second as f64 / 20.0).exp(), &mut random);
        let seen = warm_up(&rising, 1).unwrap();
        assert!(seen.cut <= 30 && !seen.settled, "{seen:?}");
    }

    #[test]
    fn what_is_too_short_or_no_time_gives_nothing() {
        assert_eq!(warm_up(&[1.0; 11], 0), None);
        assert_eq!(warm_up(&[0.0; 20], 0), None);
        assert_eq!(warm_up(&[f64::NAN; 20], 0), None);
    }

    #[test]
    fn the_answer_follows_from_the_seed() {
        let means = block(30, 0.5, slow_start, &mut Random::new(2));
        assert_eq!(warm_up(&means, 4), warm_up(&means, 4));
    }
}
