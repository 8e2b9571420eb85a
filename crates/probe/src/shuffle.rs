//! Random orders: blocks of what is compared are taken in one, so that nothing that changes with time favours a side.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), seeded, so that a run can be told again. Not for secrets.

/// A source of random orders.
#[derive(Debug, Clone)]
pub(crate) struct Shuffle {
    state: u64,
}

impl Shuffle {
    /// The whole sequence follows from the seed.
    pub(crate) fn new(seed: u64) -> Self {
        Shuffle { state: seed }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly distributed in 0..bound; 0 when the bound is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Every order equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_comes_about_equally_often() {
        let mut random = Shuffle::new(7);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut values = [0, 1, 2];
            random.shuffle(&mut values);
            *seen.entry(values).or_insert(0u32) += 1;
        }
        // Six orders, 1,000 each, standard deviation 29.
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|n| (850..1_150).contains(n)), "{seen:?}");
    }
}
