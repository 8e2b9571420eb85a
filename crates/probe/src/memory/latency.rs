//! The time of a load by size of the working set.

use super::chase::{LINE_BYTES, tie, walk};
use super::mapping::{Mapping, MemoryError};
use crate::cpus::stay_on;
use plumb_model::probe::Pages;
use plumb_model::random::Random;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Blocks of each working set.
const BLOCKS: u32 = 11;
/// A block lasts about so long.
const BLOCK_NS: f64 = 2e6;
/// Loads that tell how many fill a block.
const TRIAL_LOADS: u64 = 10_000;
/// Loads before the first block: once around, or so many, after which what is going to be in a cache is there.
const WARM_LOADS_MAX: u64 = 1_000_000;
/// The smallest working set.
const SMALLEST_BYTES: u64 = 4 << 10;

/// The processor that loads, and the node that it loads from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyCase {
    /// The processor.
    pub cpu: u32,
    /// Node of the memory, if it is to be of one.
    pub node: Option<u32>,
    /// Pages that are asked for.
    pub pages: Pages,
    /// Working sets.
    pub sizes: Vec<u64>,
}

/// The measurements of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads {
    /// Part of the memory that lies on huge pages, 0 to 1.
    pub huge_share: Option<f64>,
    /// Each working set that was measured, ascending, with the time of a load in each block.
    pub points: Vec<(u64, Vec<f64>)>,
}

/// 4 KiB, 6 KiB, 8 KiB, 12 KiB ... up to `largest`.
pub fn working_sets(largest: u64) -> Vec<u64> {
    let doubled = std::iter::successors(Some(SMALLEST_BYTES), |size| size.checked_mul(2));
    let sizes = doubled.flat_map(|size| [size, size + size / 2]);
    sizes.take_while(|size| *size <= largest).collect()
}

impl LatencyCase {
    /// Measures all working sets in random order, on a thread of its own.
    pub fn measure(&self, stop: &AtomicBool) -> Result<Loads, MemoryError> {
        // A thread that panics is a bug, and goes on as one.
        std::thread::scope(|scope| scope.spawn(|| self.run(stop)).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn run(&self, stop: &AtomicBool) -> Result<Loads, MemoryError> {
        stay_on(self.cpu).map_err(|source| MemoryError::Pin { cpu: self.cpu, source })?;
        let largest = self.sizes.iter().copied().max().unwrap_or(SMALLEST_BYTES);
        let mut memory = Mapping::new(largest, self.pages, self.node)?;
        let mut random = Random::new(4);
        let mut order = self.sizes.clone();
        random.shuffle(&mut order);
        let mut points = Vec::with_capacity(order.len());
        for size in order {
            if stop.load(Relaxed) {
                break;
            }
            let words = &mut memory.as_words()[..(size / size_of::<u64>() as u64) as usize];
            tie(words, &mut random);
            points.push((size, blocks(words)));
        }
        points.sort_by_key(|(size, _)| *size);
        Ok(Loads { huge_share: memory.huge_share(), points })
    }
}

/// Time of a load in each block, one after the other on the same walk.
fn blocks(words: &[u64]) -> Vec<f64> {
    let lines = size_of_val(words) as u64 / LINE_BYTES;
    let mut at = walk(words, 0, lines.min(WARM_LOADS_MAX));
    let mut timed = |loads: u64| {
        let start = Instant::now();
        at = std::hint::black_box(walk(words, at, loads));
        start.elapsed().as_nanos() as f64 / loads as f64
    };
    let trial_ns = timed(TRIAL_LOADS).max(0.1);
    let loads = (BLOCK_NS / trial_ns).max(1.0) as u64;
    (0..BLOCKS).map(|_| timed(loads)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::allowed;

    #[test]
    fn working_sets_rise_by_half_an_octave_and_end_where_told() {
        assert_eq!(working_sets(16 << 10), [4 << 10, 6 << 10, 8 << 10, 12 << 10, 16 << 10]);
        assert_eq!(working_sets(0), [] as [u64; 0]);
    }

    #[test]
    fn every_working_set_is_measured_in_blocks() {
        let case = LatencyCase {
            cpu: allowed().unwrap()[0],
            node: None,
            pages: Pages::Base,
            sizes: working_sets(12 << 10),
        };
        let loads = case.measure(&AtomicBool::new(false)).unwrap();
        assert_eq!(loads.points.iter().map(|(size, _)| *size).collect::<Vec<_>>(), case.sizes);
        assert!(loads.points.iter().all(|(_, blocks)| blocks.len() == BLOCKS as usize));
    }
}
