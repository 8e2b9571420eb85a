//! A small seeded generator, so that a permutation test gives the same answer on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Not for secrets, and not for load: payloads and schedules have
//! their own.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose whole sequence follows from the seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly distributed in 0..1, 0 included and 1 not.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly distributed in 0..bound. 0 when the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias of a multiplied 64-bit draw is below bound/2^64: nothing that a test of this size could see.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts a slice into a random order (Fisher and Yates), every order equally likely.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference program (splitmix64.c, Vigna 2015) for seed 1234567, as Rosetta Code lists them.
    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn normal_draws_have_mean_0_and_variance_1() {
        let mut random = Random::new(7);
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 19_999.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.04, "{variance}");
    }

    #[test]
    fn a_shuffle_keeps_every_value_and_reaches_every_place() {
        let mut random = Random::new(1);
        let mut seen_first = [false; 5];
        for _ in 0..200 {
            let mut values = [0, 1, 2, 3, 4];
            random.shuffle(&mut values);
            seen_first[values[0]] = true;
            values.sort_unstable();
            assert_eq!(values, [0, 1, 2, 3, 4]);
        }
        assert_eq!(seen_first, [true; 5]);
    }
}
