//! Bandwidth: blocks of cells (which processors, which memory, which kernel, which stores).
//!
//! A block lasts from the first thread's start to the last thread's end and is long enough that neither matters. Not here: the
//! rounds in which cells take turns, which are the session's.

use super::mapping::{Mapping, MemoryError};
use super::stream::{PART_DOUBLES, Part, pass};
use crate::cpus::stay_on;
use plumb_model::probe::{MemoryKernel, Pages, Stores};
use std::sync::Barrier;
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

/// A kind of memory traffic to measure: arrays, kernel, stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// A thread on each.
    pub cpus: Vec<u32>,
    /// The position of its arrays.
    pub arrays: usize,
    /// The kernel that runs.
    pub kernel: MemoryKernel,
    /// The kind of stores.
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

/// The bytes that a block moved, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// As STREAM counts them: read and written, without what a store reads before.
    pub bytes: u64,
    /// The time from the first thread's start to the last one's end; above zero.
    pub elapsed: Duration,
}

impl Moved {
    /// The rate.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64()
    }

    /// Passes that fill a block, if this was one pass.
    #[must_use]
    pub fn passes_of_a_block(&self) -> u32 {
        (BLOCK.as_secs_f64() / self.elapsed.as_secs_f64()).ceil().clamp(1.0, 1e6) as u32
    }
}

/// Makes so many passes of a cell over its arrays, of which there are `arrays`.
///
/// # Errors
/// When a thread cannot be kept on its processor.
pub fn block(arrays: &mut [Arrays], cell: &Cell, passes: u32) -> Result<Moved, MemoryError> {
    passes_over(&mut arrays[cell.arrays], cell, passes)
}

fn passes_over(arrays: &mut Arrays, cell: &Cell, passes: u32) -> Result<Moved, MemoryError> {
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
    Ok(Moved { bytes, elapsed: elapsed.max(Duration::from_nanos(1)) })
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
            let moved = passes_over(&mut arrays, &cell(cpus.clone(), kernel), 3).unwrap();
            assert_eq!(moved.bytes, bytes, "{kernel:?}");
        }
    }

    #[test]
    fn a_block_has_as_many_passes_as_fill_its_time() {
        let took = |elapsed| Moved { bytes: 6, elapsed };
        assert_eq!(took(Duration::from_millis(4)).passes_of_a_block(), 8);
        assert_eq!(took(Duration::from_secs(2)).passes_of_a_block(), 1);
        assert!((took(Duration::from_millis(2)).bytes_per_s() - 3_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_and_no_rate() {
        let mut arrays = [Arrays::new(2 << 20, None).unwrap()];
        let error = block(&mut arrays, &cell(vec![1_000], MemoryKernel::Copy), 1).unwrap_err();
        assert!(matches!(error, MemoryError::Pin { cpu: 1_000, .. }), "{error:?}");
    }
}
