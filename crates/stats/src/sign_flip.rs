//! Paired differences under any statistic: the test that exchanges the two settings within pairs.
//!
//! For what has no ratio and no ranks worth the name, such as differences of error counts that are mostly 0. Where a coin
//! decided the order within each pair, every choice of signs was as likely as the one seen; nothing else is assumed. For
//! log ratios [`crate::signed_rank`] is the same idea on ranks, with an interval that one stall cannot move.

use crate::random::Random;

/// Most differences for which the p goes through every choice of signs.
const EXACT_P_MAX: usize = 20;

/// The same for an interval, which takes about a hundred tests.
const EXACT_INTERVAL_MAX: usize = 12;

/// Random choices of signs where there are too many for all.
const CHOICES_P: u64 = 9_999;

/// The same for an interval.
const CHOICES_INTERVAL: u64 = 1_999;

/// The chance, over the signs of the differences, of a statistic as far from 0 as the one seen. Exact up to 20 differences,
/// else (b + 1) / (m + 1) over random signs (Phipson and Smyth 2010). The statistic has to turn its sign with the
/// differences, as a mean, a median or a t does. None without differences, or where one or the statistic is not finite.
pub fn sign_flip(differences: &[f64], statistic: impl Fn(&[f64]) -> f64, seed: u64) -> Option<f64> {
    let choices = Choices::of(differences.len(), EXACT_P_MAX, CHOICES_P, seed);
    p(differences, &statistic, &choices)
}

/// All shifts of the differences that [`sign_flip`] does not reject at 1 - level, as (low, high): an interval of what the
/// statistic estimates. The statistic has to move with the differences, as a mean or a median does. None with too few
/// differences for the level, as for [`sign_flip`], and where the interval has no end.
pub fn sign_flip_interval(
    differences: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: f64,
    seed: u64,
) -> Option<(f64, f64)> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let choices = Choices::of(differences.len(), EXACT_INTERVAL_MAX, CHOICES_INTERVAL, seed);
    let rejected = |shift: f64| {
        let moved: Vec<f64> = differences.iter().map(|d| d - shift).collect();
        // Equal but for rounding counts as reached.
        p(&moved, &statistic, &choices).map(|p| p <= (1.0 - level) * (1.0 + 1e-12))
    };
    let centre = statistic(differences);
    let lowest = differences.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let beyond = (highest - lowest).max(f64::MIN_POSITIVE);
    Some((end(centre, lowest - beyond, &rejected)?, end(centre, highest + beyond, &rejected)?))
}

/// Where, between a shift that is not rejected and one that is, rejection begins; none where `far` is not rejected.
fn end(centre: f64, far: f64, rejected: &impl Fn(f64) -> Option<bool>) -> Option<f64> {
    let (mut inside, mut outside) = (centre, far);
    if !rejected(far)? {
        return None;
    }
    for _ in 0..50 {
        let middle = inside / 2.0 + outside / 2.0;
        if rejected(middle)? { outside = middle } else { inside = middle }
    }
    Some(inside)
}

fn p(differences: &[f64], statistic: &impl Fn(&[f64]) -> f64, choices: &Choices) -> Option<f64> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let seen = statistic(differences).abs();
    // Sums of the same numbers in another order differ by rounding.
    let as_far = seen * (1.0 - 1e-12);
    let mut flipped = differences.to_vec();
    let (mut far, mut all) = (0_u64, 0_u64);
    choices.each(|negative| {
        for (i, (flipped, d)) in flipped.iter_mut().zip(differences).enumerate() {
            *flipped = if negative(i) { -d } else { *d };
        }
        far += u64::from(statistic(&flipped).abs() >= as_far);
        all += 1;
    });
    seen.is_finite().then(|| match choices {
        Choices::All { .. } => far as f64 / all as f64,
        Choices::Random { .. } => (far + 1) as f64 / (all + 1) as f64,
    })
}

/// Which signs are gone through.
enum Choices {
    /// Every choice, the last sign as it is: turning all of them turns the statistic, and it is the distance that counts.
    All { free: usize },
    /// So many at random, the same ones each time.
    Random { count: u64, differences: usize, seed: u64 },
}

impl Choices {
    fn of(differences: usize, exact_max: usize, count: u64, seed: u64) -> Choices {
        if differences <= exact_max {
            Choices::All { free: differences.saturating_sub(1) }
        } else {
            Choices::Random { count, differences, seed }
        }
    }

    /// Calls with each choice: which differences are turned.
    fn each(&self, mut with: impl FnMut(&dyn Fn(usize) -> bool)) {
        match *self {
            Choices::All { free } => {
                for signs in 0..1_u64 << free {
                    with(&|i| i < free && signs >> i & 1 == 1);
                }
            }
            Choices::Random { count, differences, seed } => {
                let mut random = Random::new(seed);
                let mut bits = vec![0; differences.div_ceil(64)];
                for _ in 0..count {
                    bits.fill_with(|| random.bits());
                    with(&|i| bits[i / 64] >> (i % 64) & 1 == 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Fisher, The Design of Experiments (1935), section 21: Darwin's maize, 15 pairs of crossed and self-fertilised plants, in
    /// eighths of an inch. 863 of the 32,768 sums are as large as 314: 5.267 % on both sides.
    #[test]
    fn darwins_maize_gives_the_p_that_fisher_counted() {
        let heights = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        let p = sign_flip(&heights, mean, 0).unwrap();
        assert!((p - 2.0 * 863.0 / 32_768.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn random_signs_come_close_to_all_of_them() {
        let heights = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        let choices = Choices::Random { count: 20_000, differences: heights.len(), seed: 3 };
        let p = p(&heights, &mean, &choices).unwrap();
        assert!((p - 0.052_67).abs() < 0.005, "{p}");
        // A p from random signs is never 0: the one seen is among the choices.
        let certain = sign_flip(&[1.0; 80], mean, 1).unwrap();
        assert_eq!(certain, 1e-4);
    }

    #[test]
    fn the_interval_is_what_the_test_does_not_reject() {
        let differences = [0.3, 1.2, -0.2, 0.9, 0.4, 1.1, 0.7, 0.2];
        let (low, high) = sign_flip_interval(&differences, mean, 0.95, 0).unwrap();
        let p = |shift: f64| sign_flip(&differences.map(|d| d - shift), mean, 0).unwrap();
        assert!(low < mean(&differences) && mean(&differences) < high);
        for (inside, outside) in [(low + 1e-6, low - 1e-6), (high - 1e-6, high + 1e-6)] {
            assert!(p(inside) > 0.05 && p(outside) <= 0.05, "{low} {high}");
        }
    }

    #[test]
    fn errors_that_are_mostly_0_are_judged_by_the_pairs_that_have_some() {
        // 5 of 12 pairs differ, all in one direction: 2 of 32 choices are as far.
        let differences = [0.0, 3.0, 0.0, 1.0, 0.0, 7.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0];
        assert!((sign_flip(&differences, mean, 0).unwrap() - 2.0 / 32.0).abs() < 1e-12);
        assert_eq!(sign_flip(&[0.0; 12], mean, 0), Some(1.0));
    }

    #[test]
    fn what_cannot_be_told_is_absent() {
        assert_eq!(sign_flip(&[], mean, 0), None);
        assert_eq!(sign_flip(&[f64::NAN, 1.0], mean, 0), None);
        assert_eq!(sign_flip_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], mean, 0.95, 0), None);
        assert_eq!(sign_flip_interval(&[1.0; 8], mean, 1.0, 0), None);
        assert!(sign_flip_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], mean, 0.95, 0).is_some());
    }

    #[test]
    fn the_answer_follows_from_the_seed() {
        let differences: Vec<f64> = (0..40).map(|i| f64::from(i % 7) - 2.5).collect();
        assert_eq!(sign_flip(&differences, mean, 5), sign_flip(&differences, mean, 5));
        assert_eq!(
            sign_flip_interval(&differences, mean, 0.95, 5),
            sign_flip_interval(&differences, mean, 0.95, 5)
        );
    }
}
