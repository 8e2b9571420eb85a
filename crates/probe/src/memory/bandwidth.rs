//! Bandwidth: cells (which processors, which memory, which kernel, which stores) in rounds of random order.
//!
//! A round measures every cell once, so that two cells can be compared round by round. A block lasts from the first thread's
//! start to the last thread's end and is long enough that neither matters.

use super::mapping::{Mapping, MemoryError};
use super::stream::{PART_DOUBLES, Part, pass};
use crate::cpus::stay_on;
use plumb_model::probe::{MemoryKernel, Pages, Stores};
use plumb_model::random::Random;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A block lasts at least so long: a hundred times what starting threads takes.
const BLOCK: Duration = Duration::from_millis(30);

/// STREAM's three arrays on one memory node.
#[derive(Debug)]
pub struct Arrays {
    a: Mapping,
    b: Mapping,
    c: Mapping,
}

/// One way to move memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// A thread on each.
    pub cpus: Vec<u32>,
    /// Which of the arrays, by position.
    pub arrays: usize,
    /// What is done.
    pub kernel: MemoryKernel,
    /// How results are stored.
    pub stores: Stores,
}

impl Arrays {
    /// Three arrays of so many bytes each, all zeros, on the node if one is named.
    pub fn new(bytes: u64, node: Option<u32>) -> Result<Self, MemoryError> {
        let array = || Mapping::new(bytes, Pages::Huge, node);
        Ok(Arrays { a: array()?, b: array()?, c: array()? })
    }

    /// Part of them that lies on huge pages, 0 to 1.
    pub fn huge_share(&self) -> Option<f64> {
        let shares = [&self.a, &self.b, &self.c].map(Mapping::huge_share);
        let sum: Option<f64> = shares.into_iter().sum();
        sum.map(|sum| sum / 3.0)
    }

    /// A part for each of `n` threads; the last has what is left over.
    fn parts(&mut self, n: usize) -> Vec<Part<'_>> {
        let (mut a, mut b, mut c) = (self.a.doubles(), self.b.doubles(), self.c.doubles());
        let each = (a.len() / n / PART_DOUBLES * PART_DOUBLES).max(PART_DOUBLES);
        let mut parts = Vec::with_capacity(n);
        for left in (0..n).rev() {
            let length = if left == 0 { a.len() } else { each.min(a.len()) };
            let (part_a, rest_a) = a.split_at_mut(length);
            let (part_b, rest_b) = b.split_at_mut(length);
            let (part_c, rest_c) = c.split_at_mut(length);
            parts.push(Part { a: part_a, b: part_b, c: part_c });
            (a, b, c) = (rest_a, rest_b, rest_c);
        }
        parts
    }
}

/// Bytes per second of each cell in each round that was finished. `tell` hears the number of blocks so far.
pub fn bandwidth(
    arrays: &mut [Arrays],
    cells: &[Cell],
    rounds: u32,
    stop: &AtomicBool,
    mut tell: impl FnMut(usize),
) -> Result<Vec<Vec<f64>>, MemoryError> {
    let mut rates = vec![Vec::new(); cells.len()];
    let mut passes = vec![1u32; cells.len()];
    let mut order: Vec<usize> = (0..cells.len()).collect();
    let mut random = Random::new(3);
    let mut blocks = 0;
    // The first round warms up, and tells how many passes fill a block.
    for round in 0..=rounds {
        random.shuffle(&mut order);
        let mut these = vec![0.0; cells.len()];
        for index in &order {
            if stop.load(Relaxed) {
                return Ok(rates);
            }
            let cell = &cells[*index];
            let (bytes, elapsed) = block(&mut arrays[cell.arrays], cell, passes[*index])?;
            these[*index] = bytes as f64 / elapsed.as_secs_f64();
            if round == 0 {
                passes[*index] = (BLOCK.as_secs_f64() / elapsed.as_secs_f64()).ceil().clamp(1.0, 1e6) as u32;
            }
            blocks += 1;
            tell(blocks);
        }
        if round > 0 {
            rates.iter_mut().zip(these).for_each(|(rates, rate)| rates.push(rate));
        }
    }
    Ok(rates)
}

/// Bytes that were moved, and the time from the first thread's start to the last one's end.
fn block(arrays: &mut Arrays, cell: &Cell, passes: u32) -> Result<(u64, Duration), MemoryError> {
    let parts = arrays.parts(cell.cpus.len());
    let elements: u64 = parts.iter().map(|part| part.a.len() as u64).sum();
    let together = Barrier::new(parts.len());
    let run = |cpu: u32, mut part: Part| {
        let placed = stay_on(cpu);
        together.wait();
        let start = Instant::now();
        for _ in 0..passes {
            pass(&mut part, cell.kernel, cell.stores);
        }
        let end = Instant::now();
        placed.map(|()| (start, end)).map_err(|source| MemoryError::Pin { cpu, source })
    };
    let times = std::thread::scope(|scope| {
        let threads: Vec<_> =
            cell.cpus.iter().zip(parts).map(|(cpu, part)| scope.spawn(move || run(*cpu, part))).collect();
        // A thread that panics is a bug, and goes on as one.
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let start = times.iter().map(|(start, _)| *start).min();
    let end = times.iter().map(|(_, end)| *end).max();
    let elapsed = start.zip(end).map_or(Duration::ZERO, |(start, end)| end.duration_since(start));
    let bytes = elements * cell.kernel.bytes_per_element() * u64::from(passes);
    Ok((bytes, elapsed.max(Duration::from_nanos(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::allowed;

    fn cell(cpus: Vec<u32>, kernel: MemoryKernel) -> Cell {
        Cell { cpus, arrays: 0, kernel, stores: Stores::Ordinary }
    }

    #[test]
    fn parts_cover_the_arrays_once_and_begin_at_lines() {
        let mut arrays = Arrays::new(2 << 20, None).unwrap();
        let whole = arrays.a.doubles().len();
        for n in [1, 2, 3, 7, 64] {
            let parts = arrays.parts(n);
            assert_eq!(parts.len(), n);
            assert_eq!(parts.iter().map(|part| part.a.len()).sum::<usize>(), whole);
            let lines = parts.iter().all(|part| (part.a.as_ptr() as usize).is_multiple_of(64));
            assert!(
                lines
                    && parts.iter().all(|part| part.a.len() == part.b.len() && part.b.len() == part.c.len())
            );
        }
    }

    #[test]
    fn bytes_are_counted_as_stream_counts_them() {
        let cpus = allowed().unwrap();
        let mut arrays = Arrays::new(2 << 20, None).unwrap();
        for (kernel, bytes) in [(MemoryKernel::Copy, 3 * (4 << 20)), (MemoryKernel::Triad, 3 * (6 << 20))] {
            let (moved, _) = block(&mut arrays, &cell(cpus.clone(), kernel), 3).unwrap();
            assert_eq!(moved, bytes, "{kernel:?}");
        }
    }

    #[test]
    fn every_cell_has_a_rate_of_every_round_and_a_stop_leaves_whole_rounds() {
        let cpus = allowed().unwrap();
        let mut arrays = [Arrays::new(2 << 20, None).unwrap()];
        let cells = [cell(vec![cpus[0]], MemoryKernel::Copy), cell(cpus, MemoryKernel::Add)];
        let stop = AtomicBool::new(false);
        // Two cells, a warm-up and two rounds: the fifth block is the first of the second round.
        let tell = |blocks| stop.store(blocks == 5, Relaxed);
        let rates = bandwidth(&mut arrays, &cells, 3, &stop, tell).unwrap();
        assert!(rates.iter().all(|rates| rates.len() == 1 && rates[0] > 0.0), "{rates:?}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_and_no_rate() {
        let mut arrays = Arrays::new(2 << 20, None).unwrap();
        let error = block(&mut arrays, &cell(vec![1_000], MemoryKernel::Copy), 1).unwrap_err();
        assert!(matches!(error, MemoryError::Pin { cpu: 1_000, .. }), "{error:?}");
    }
}
