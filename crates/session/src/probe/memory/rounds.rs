//! Bandwidth in rounds: every cell once in each, so that two cells can be compared round by round.

use super::plan::{BLOCK_S, PlacedCell, Plan};
use crate::context::RunContext;
use crate::probe::rounds::{self, Experiment, Turn};
use plumb_model::probe::{MemoryKernel, Stores};
use plumb_model::random::Random;
use plumb_probe::memory::{Arrays, MemoryError, block};

/// Of the order.
const SEED: u64 = 3;

/// Every cell, and its rates so far.
pub(super) struct BandwidthRounds<'a> {
    cells: &'a [PlacedCell],
    arrays: &'a mut [Arrays],
    rounds: u32,
    /// Passes that fill a block of each cell.
    passes: Vec<u32>,
    /// Bytes per second of each cell in each round.
    rates: Vec<Vec<f64>>,
}

impl<'a> BandwidthRounds<'a> {
    pub(super) fn new(plan: &'a Plan, arrays: &'a mut [Arrays]) -> Self {
        let cells = &plan.cells[..];
        BandwidthRounds {
            cells,
            arrays,
            rounds: plan.rounds,
            passes: vec![1; cells.len()],
            rates: vec![Vec::new(); cells.len()],
        }
    }

    /// Bytes per second of each cell in each round that was finished.
    pub(super) fn rates(mut self, context: &RunContext) -> Result<Vec<Vec<f64>>, MemoryError> {
        let cases: Vec<usize> = (0..self.cells.len()).collect();
        // The first round warms up, and tells how many passes fill a block.
        let turns = rounds::order(&mut Random::new(SEED), &cases, self.rounds + 1);
        rounds::run(&mut self, &turns, context).map_err(|failed| failed.error)?;
        Ok(whole_rounds(self.rates))
    }
}

/// The rates without those of a round that was not finished.
fn whole_rounds(mut rates: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let whole = rates.iter().map(Vec::len).min().unwrap_or(0);
    rates.iter_mut().for_each(|rates| rates.truncate(whole));
    rates
}

impl Experiment for BandwidthRounds<'_> {
    type Error = MemoryError;

    fn title(&self, case: usize) -> String {
        let cell = &self.cells[case].cell;
        let kernel = match cell.kernel {
            MemoryKernel::Copy => "copy",
            MemoryKernel::Scale => "scale",
            MemoryKernel::Add => "add",
            MemoryKernel::Triad => "triad",
        };
        let stores = match cell.stores {
            Stores::Ordinary => "ordinary",
            Stores::NonTemporal => "non-temporal",
        };
        format!("bandwidth: {kernel}, {stores} stores, CPUs: {}", cell.cpus.len())
    }

    fn planned_s(&self, _case: usize) -> f64 {
        BLOCK_S
    }

    fn measure(&mut self, turn: Turn) -> Result<(), MemoryError> {
        let moved = block(self.arrays, &self.cells[turn.case].cell, self.passes[turn.case])?;
        match turn.round {
            0 => self.passes[turn.case] = moved.passes_of_a_block(),
            _ => self.rates[turn.case].push(moved.bytes_per_s()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_was_stopped_is_in_no_rate() {
        let rates = vec![vec![1.0, 2.0], vec![3.0], vec![5.0, 6.0]];
        assert_eq!(whole_rounds(rates), [[1.0], [3.0], [5.0]]);
        assert!(whole_rounds(Vec::new()).is_empty());
    }
}
