//! Rounds: in each, every figure of every engine has one sample, all in random order. A neighbour who comes and goes then
//! disturbs all alike, and is seen in the intervals.

use super::engines::Engines;
use crate::args::probe::CryptoArgs;
use crate::progress::steps::Steps;
use anyhow::Result;
use plumb_model::probe::crypto::{CryptoPlan, EngineName};
use plumb_probe::crypto::{CryptoError, Sample, Work};
use plumb_stats::random::Random;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Samples of each figure: a median needs 20, and one that is stopped half-way still has them.
const ROUNDS: u32 = 40;
/// Shorter than this, the looks at the clock would be in the figure.
const SAMPLE_MIN: Duration = Duration::from_micros(200);
/// Time for a Java's just-in-time compiler, as a share of the measured time: 5 s of 25 s, where 4 s were seen to be enough
/// and 2 s were not.
const WARM_UP_SHARE: f64 = 0.2;
/// However short the measured time is: a Java measured cold is another Java.
const WARM_UP_LEAST: Duration = Duration::from_secs(5);
/// What a sample takes beside its time: the lead and, on several threads, starting them.
const SAMPLE_OVERHEAD: f64 = 0.2;

/// How it is measured.
pub(super) struct Rounds {
    duration: Duration,
    seed: u64,
    cores: u32,
    sample: std::cell::Cell<Duration>,
}

/// One figure to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    /// Index of the engine.
    pub(super) engine: usize,
    pub(super) work: Work,
    pub(super) threads: u32,
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) samples: BTreeMap<Cell, Vec<Sample>>,
    /// Engines that broke off, and why.
    pub(super) broken: BTreeMap<usize, String>,
}

impl Rounds {
    pub(super) fn new(arguments: &CryptoArgs) -> Self {
        Rounds {
            duration: arguments.duration.to_duration(),
            seed: arguments.seed,
            cores: available_parallelism().map_or(1, |cores| cores.get() as u32),
            sample: std::cell::Cell::new(SAMPLE_MIN),
        }
    }

    /// Seconds that it takes if those engines are here.
    pub(super) fn estimate_s(&self, wanted: &[EngineName]) -> f64 {
        let warms_up = wanted.is_empty() || wanted.contains(&EngineName::Jvm);
        let warm_up = if warms_up { self.warm_up() } else { Duration::ZERO };
        self.duration.as_secs_f64() * (1.0 + SAMPLE_OVERHEAD) + warm_up.as_secs_f64()
    }

    fn warm_up(&self) -> Duration {
        self.duration.mul_f64(WARM_UP_SHARE).max(WARM_UP_LEAST)
    }

    pub(super) fn plan(&self) -> CryptoPlan {
        CryptoPlan {
            rounds: ROUNDS,
            sample_ns: self.sample.get().as_nanos() as u64,
            seed: self.seed,
            cores: self.cores,
        }
    }

    pub(super) fn measure(
        &self,
        engines: &mut Engines,
        steps: &Steps,
        stop: &AtomicBool,
    ) -> Result<Measured> {
        let mut measured = Measured::default();
        for engine in &mut engines.here {
            steps.now("warming up");
            engine.warm_up(self.warm_up(), stop)?;
        }
        let mut cells = self.cells(engines);
        let samples = (cells.len() as u32 * ROUNDS).max(1);
        let time = (self.duration / samples).max(SAMPLE_MIN);
        self.sample.set(time);
        let mut random = Random::new(self.seed);
        let began = Instant::now();
        for round in 0..ROUNDS {
            steps.now(&format!("round {}/{ROUNDS} of {} figures", round + 1, cells.len()));
            if round > 0 {
                let round_s = began.elapsed().as_secs_f64() / f64::from(round);
                steps.rest(round_s * f64::from(ROUNDS - round));
            }
            random.shuffle(&mut cells);
            for cell in &cells {
                if stop.load(Relaxed) {
                    return Ok(measured);
                }
                if measured.broken.contains_key(&cell.engine) {
                    continue;
                }
                match engines.here[cell.engine].sample(cell.work, cell.threads, time) {
                    Ok(sample) => measured.samples.entry(*cell).or_default().push(sample),
                    // It was being waited for when the user said stop.
                    Err(CryptoError::JavaEnded { .. }) if stop.load(Relaxed) => return Ok(measured),
                    // A Java that was killed leaves what it measured; a library that refuses what it did before is a fault.
                    Err(error @ CryptoError::JavaEnded { .. }) => {
                        measured.broken.insert(cell.engine, error.to_string());
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(measured)
    }

    /// Every figure: all work on one core, bytes in the engine's first form on all cores too.
    fn cells(&self, engines: &Engines) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (engine, library) in engines.here.iter().enumerate() {
            for work in library.work() {
                cells.push(Cell { engine, work, threads: 1 });
                if self.cores > 1 && matches!(work, Work::Bytes { .. }) {
                    cells.push(Cell { engine, work, threads: self.cores });
                }
            }
            cells.extend(library.other_forms().into_iter().map(|work| Cell { engine, work, threads: 1 }));
        }
        cells
    }
}
