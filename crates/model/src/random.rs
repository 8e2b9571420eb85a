//! A small seeded generator, so that an order, a load and a permutation test are the same on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): fast, and good enough to draw load from. Not for secrets.

/// SplitMix64: a stream of random numbers that its seed determines.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose whole sequence follows from the seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// A stream of its own for one part of a run, from the run's seed and the part's number.
    pub fn for_part(seed: u64, part: u64) -> Self {
        let mut parts = Random::new(seed ^ part.wrapping_mul(0xa24b_aed4_963e_e407));
        Random::new(parts.bits())
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly distributed in 0..1, 0 included and 1 not: 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly distributed in 0..bound. 0 when the bound is 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias of a multiplied 64-bit draw is below bound/2^64: nothing that a test of any size could see.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Fills with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let bits = self.bits().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    }

    /// Puts a slice into a random order (Fisher and Yates), every order equally likely.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// A random order of 0..n.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
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

    #[test]
    fn an_order_holds_every_index_once_and_depends_on_the_seed() {
        let mut order = Random::new(7).order(50);
        assert_ne!(order, Random::new(8).order(50));
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
