//! Seeded randomness for schedules, keys and payloads.
//!
//! SplitMix64 (Steele, Lea, Flood 2014): small, fast, good enough to draw load from, and the same on every machine.
//! Not for cryptography.

/// A stream of random numbers that its seed determines.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A stream from a seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// A stream of its own for one part of a run, from the run's seed and the part's number.
    pub fn for_part(seed: u64, part: u64) -> Self {
        let mut parts = Random::new(seed ^ part.wrapping_mul(0xA24B_AED4_963E_E407));
        Random::new(parts.number())
    }

    /// 64 random bits.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in [0, n); 0 for n = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(n)) >> 64) as u64
    }

    /// Fills with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.number().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    }

    /// A random order of 0..n (Fisher and Yates).
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_the_published_ones() {
        // Vigna's splitmix64.c with state 1234567, as quoted in many implementations' tests.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.number(), 6_457_827_717_110_365_317);
        assert_eq!(random.number(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn an_order_holds_every_index_once_and_depends_on_the_seed() {
        let mut order = Random::new(7).order(50);
        assert_ne!(order, Random::new(8).order(50));
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
