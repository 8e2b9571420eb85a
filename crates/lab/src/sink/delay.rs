//! The time for which an answer or a record is held back: a distribution, and the seeded draws from it.

use std::time::Duration;

/// A distribution of delays. The same seed gives the same delays in the same order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// No delay at all.
    None,
    /// Always the same.
    Constant(Duration),
    /// Anything between two bounds, equally likely.
    Uniform {
        /// The least delay.
        min: Duration,
        /// The greatest delay; not below `min`.
        max: Duration,
        /// The seed of the draws.
        seed: u64,
    },
    /// Anything between two bounds, each order of magnitude as likely as another.
    LogUniform {
        /// The least delay; above 0.
        min: Duration,
        /// The greatest delay; not below `min`.
        max: Duration,
        /// The seed of the draws.
        seed: u64,
    },
    /// Memoryless, as in a queueing model.
    Exponential {
        /// The mean delay.
        mean: Duration,
        /// The seed of the draws.
        seed: u64,
    },
}

/// Draws one delay after the other.
#[derive(Debug)]
pub(super) struct Draws {
    delay: Delay,
    state: u64,
}

impl Draws {
    pub(super) fn new(delay: Delay) -> Self {
        let state = match delay {
            Delay::None | Delay::Constant(_) => 0,
            Delay::Uniform { seed, .. }
            | Delay::LogUniform { seed, .. }
            | Delay::Exponential { seed, .. } => seed,
        };
        Self { delay, state }
    }

    pub(super) fn draw(&mut self) -> Duration {
        match self.delay {
            Delay::None => Duration::ZERO,
            Delay::Constant(delay) => delay,
            Delay::Uniform { min, max, .. } => min + max.saturating_sub(min).mul_f64(self.fraction()),
            Delay::LogUniform { min, max, .. } => {
                min.mul_f64((max.as_secs_f64() / min.as_secs_f64()).powf(self.fraction()))
            }
            // 1 - u lies in (0, 1], so the logarithm is finite: at most 37 means.
            Delay::Exponential { mean, .. } => mean.mul_f64(-(1.0 - self.fraction()).ln()),
        }
    }

    /// A random number in [0, 1), by SplitMix64 (Steele, Lea and Flood, 2014).
    fn fraction(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drawn_ms(delay: Delay) -> Vec<f64> {
        let mut draws = Draws::new(delay);
        (0..10_000).map(|_| draws.draw().as_secs_f64() * 1e3).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn uniform_delays_stay_within_their_bounds_and_average_to_the_middle() {
        let drawn = drawn_ms(Delay::Uniform { min: MS, max: 3 * MS, seed: 7 });
        assert!(drawn.iter().all(|delay| (1.0..3.0).contains(delay)));
        assert!((mean(&drawn) - 2.0).abs() < 0.02, "{}", mean(&drawn));
    }

    #[test]
    fn log_uniform_delays_stay_within_their_bounds_and_each_order_of_magnitude_has_as_many() {
        let drawn = drawn_ms(Delay::LogUniform { min: MS / 10, max: 10 * MS, seed: 7 });
        assert!(drawn.iter().all(|delay| (0.099..10.001).contains(delay)));
        let below = drawn.iter().filter(|delay| **delay < 1.0).count();
        assert!((4_800..5_200).contains(&below), "{below}");
    }

    #[test]
    fn exponential_delays_have_the_mean_and_the_median_of_the_distribution() {
        let mut drawn = drawn_ms(Delay::Exponential { mean: 4 * MS, seed: 7 });
        assert!((mean(&drawn) - 4.0).abs() < 0.12, "{}", mean(&drawn));
        drawn.sort_by(f64::total_cmp);
        assert!((drawn[5_000] - 4.0 * 2_f64.ln()).abs() < 0.12, "{}", drawn[5_000]);
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        let delay = |seed| Delay::Exponential { mean: MS, seed };
        assert_eq!(drawn_ms(delay(1)), drawn_ms(delay(1)));
        assert_ne!(drawn_ms(delay(1)), drawn_ms(delay(2)));
    }
}
