//! Blocks of a trial on a disturbed host, made up so that the truth is known: to prove the procedures on.
//!
//! A host's disturbance drifts (AR(1) from block to block) and now and then bursts and fades. All messages of a block share
//! it; beside that each has noise of its own. That is what a noisy neighbour looks like from a client, and what makes
//! messages of one block alike.

use crate::random::Random;

/// Messages in a block.
const MESSAGES: usize = 200;

/// Share of a block's drift that is left in the next.
const PHI: f64 = 0.9;

/// Standard deviation of what is new in each block's drift.
const DRIFT_SD: f64 = 0.15;

/// Chance of a burst, its mean size, and what is left of it in the next block.
const BURST: (f64, f64, f64) = (0.05, 0.8, 0.5);

/// Standard deviation of each message's own noise.
const MESSAGE_SD: f64 = 0.6;

/// The order in which blocks of the two settings ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// All blocks of A, then all of B.
    BeforeAfter,
    /// A coin for each pair of neighbours.
    RandomPairs,
}

/// A trial of A against B.
pub(crate) struct Trial {
    /// Logarithms of latencies of each pair of blocks: (A, B). Before and after have no pairs; their order is that of time.
    pub(crate) pairs: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Trial {
    /// A trial of so many pairs of blocks in which B's latency is A's times exp(`effect`).
    pub(crate) fn new(order: Order, pairs: usize, effect: f64, random: &mut Random) -> Trial {
        Trial::on(blocks(2 * pairs, random), order, effect, random)
    }

    /// The same on a host that is as it is: these blocks, one after the other, half of them of each setting.
    pub(crate) fn on(mut blocks: Vec<Vec<f64>>, order: Order, effect: f64, random: &mut Random) -> Trial {
        let later = match order {
            Order::BeforeAfter => blocks.split_off(blocks.len() / 2),
            Order::RandomPairs => {
                let mut coin = || random.bits() & 1 == 1;
                let (mut ones, mut others) = (Vec::new(), Vec::new());
                for pair in blocks.chunks_exact_mut(2) {
                    let (one, other) = if coin() { (1, 0) } else { (0, 1) };
                    ones.push(std::mem::take(&mut pair[one]));
                    others.push(std::mem::take(&mut pair[other]));
                }
                blocks = ones;
                others
            }
        };
        let shifted = later.into_iter().map(|block| block.into_iter().map(|log| log + effect).collect());
        Trial { pairs: blocks.into_iter().zip(shifted).collect() }
    }

    /// log p99 of B less that of A, of each pair: what a trial analyses.
    pub(crate) fn differences(&self) -> Vec<f64> {
        self.pairs.iter().map(|(a, b)| p99(b) - p99(a)).collect()
    }

    /// log p99 of each block of A, and of each of B.
    pub(crate) fn block_p99s(&self) -> (Vec<f64>, Vec<f64>) {
        self.pairs.iter().map(|(a, b)| (p99(a), p99(b))).unzip()
    }

    /// All messages of A, and all of B: what is not to be analysed.
    pub(crate) fn pooled(&self) -> (Vec<f64>, Vec<f64>) {
        let a = self.pairs.iter().flat_map(|(a, _)| a.iter().copied());
        let b = self.pairs.iter().flat_map(|(_, b)| b.iter().copied());
        (a.collect(), b.collect())
    }
}

/// Blocks one after the other, as the host disturbs them.
pub(crate) fn blocks(count: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut drift = DRIFT_SD / (1.0 - PHI * PHI).sqrt() * random.normal();
    let mut burst = 0.0;
    let (chance, size, left) = BURST;
    let blocks = (0..count).map(|_| {
        drift = PHI * drift + DRIFT_SD * random.normal();
        burst *= left;
        if random.unit() < chance {
            burst += -size * (1.0 - random.unit()).ln();
        }
        let level = drift + burst;
        (0..MESSAGES).map(|_| level + MESSAGE_SD * random.normal()).collect()
    });
    blocks.collect()
}

fn p99(logs: &[f64]) -> f64 {
    let rank = (logs.len() as f64 * 0.99).ceil() as usize - 1;
    let mut logs = logs.to_vec();
    *logs.select_nth_unstable_by(rank, f64::total_cmp).1
}
