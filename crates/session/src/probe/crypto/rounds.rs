//! The rounds of a crypto probe: in each round, every figure of every library has one sample.

use super::CryptoSettings;
use super::engines::Engines;
use crate::context::RunContext;
use crate::probe::rounds::{self, Experiment, Turn};
use plumb_model::probe::crypto::{CryptoPlan, EngineName};
use plumb_model::random::Random;
use plumb_probe::crypto::{CryptoError, Sample, Work};
use std::collections::BTreeMap;
use std::thread::available_parallelism;
use std::time::Duration;

/// Samples of each figure: a median needs 20, and one that is stopped half-way still has them.
const ROUNDS: u32 = 40;
/// Shorter than this, the looks at the clock would be in the figure.
const SAMPLE_MIN: Duration = Duration::from_micros(200);
/// Time for a Java's just-in-time compiler, as a share of the measured time: 5 s of 25 s, where 4 s were seen to be enough
/// and 2 s were not.
const WARM_UP_SHARE: f64 = 0.2;
/// However short the measured time is: a Java measured cold is another Java.
pub(crate) const WARM_UP_LEAST: Duration = Duration::from_secs(5);
/// The share of a sample's time that it takes beside it: the lead and, on several threads, starting them.
const SAMPLE_OVERHEAD: f64 = 0.2;

/// One figure to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// Index of the engine.
    pub(super) engine: usize,
    pub(super) work: Work,
    pub(super) threads: u32,
}

/// Every figure of every library that is here, and its samples so far.
pub(super) struct CryptoRounds<'a> {
    pub(super) engines: Engines,
    /// Engines that broke off, and why.
    pub(super) broken: BTreeMap<usize, String>,
    cells: Vec<Cell>,
    samples: Vec<Vec<Sample>>,
    cores: u32,
    /// Time of each sample.
    sample: Duration,
    context: &'a RunContext,
}

/// Seconds that it takes if the libraries that are wanted are here.
pub(super) fn estimate_s(settings: &CryptoSettings) -> f64 {
    let warms_up = settings.engines.is_empty() || settings.engines.contains(&EngineName::Jvm);
    let warm_up = if warms_up { warm_up(settings) } else { Duration::ZERO };
    settings.duration.as_secs_f64() * (1.0 + SAMPLE_OVERHEAD) + warm_up.as_secs_f64()
}

fn warm_up(settings: &CryptoSettings) -> Duration {
    settings.duration.mul_f64(WARM_UP_SHARE).max(WARM_UP_LEAST)
}

impl<'a> CryptoRounds<'a> {
    /// Warms the libraries up.
    pub(super) fn new(
        settings: &CryptoSettings,
        mut engines: Engines,
        context: &'a RunContext,
    ) -> Result<Self, CryptoError> {
        for engine in &mut engines.here {
            context.phase("warming up");
            engine.warm_up(warm_up(settings), &context.stop)?;
        }
        let cores = available_parallelism().map_or(1, |cores| cores.get() as u32);
        let cells = cells(&engines, cores);
        let samples = (cells.len() as u32 * ROUNDS).max(1);
        Ok(CryptoRounds {
            engines,
            broken: BTreeMap::new(),
            samples: vec![Vec::new(); cells.len()],
            cells,
            cores,
            sample: (settings.duration / samples).max(SAMPLE_MIN),
            context,
        })
    }

    pub(super) fn turns(&self, seed: u64) -> Vec<Turn> {
        let cases: Vec<usize> = (0..self.cells.len()).collect();
        rounds::order(&mut Random::new(seed), &cases, ROUNDS)
    }

    pub(super) fn plan(&self, seed: u64) -> CryptoPlan {
        CryptoPlan { rounds: ROUNDS, sample_ns: self.sample.as_nanos() as u64, seed, cores: self.cores }
    }

    /// Every figure with its samples.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&Cell, &[Sample])> {
        self.cells.iter().zip(self.samples.iter().map(Vec::as_slice))
    }
}

impl Experiment for CryptoRounds<'_> {
    type Error = CryptoError;

    fn title(&self, case: usize) -> String {
        let Cell { engine, work, threads } = self.cells[case];
        let what = match work {
            Work::Bytes { algorithm, block_bytes, .. } => format!("{} of {block_bytes} B", algorithm.title()),
            Work::Operation(operation) => operation.title().to_owned(),
        };
        let cpus = if threads == 1 { "one CPU".to_owned() } else { format!("{threads} CPUs") };
        format!("{}: {what}, {cpus}", self.engines.here[engine].describe().name)
    }

    fn planned_s(&self, _case: usize) -> f64 {
        self.sample.as_secs_f64() * (1.0 + SAMPLE_OVERHEAD)
    }

    fn measure(&mut self, turn: Turn) -> Result<(), CryptoError> {
        let Cell { engine, work, threads } = self.cells[turn.case];
        if self.broken.contains_key(&engine) {
            return Ok(());
        }
        match self.engines.here[engine].sample(work, threads, self.sample) {
            Ok(sample) => self.samples[turn.case].push(sample),
            // It was being waited for when the user said stop.
            Err(CryptoError::JavaEnded { .. }) if self.context.is_stopped() => {}
            // A Java that was killed leaves what it measured; a library that refuses what it did before is a fault.
            Err(error @ CryptoError::JavaEnded { .. }) => {
                self.broken.insert(engine, error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Every figure: all work on one core, bytes in the engine's first form on all cores too.
fn cells(engines: &Engines, cores: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (engine, library) in engines.here.iter().enumerate() {
        for work in library.work() {
            cells.push(Cell { engine, work, threads: 1 });
            if cores > 1 && matches!(work, Work::Bytes { .. }) {
                cells.push(Cell { engine, work, threads: cores });
            }
        }
        cells.extend(library.other_forms().into_iter().map(|work| Cell { engine, work, threads: 1 }));
    }
    cells
}
