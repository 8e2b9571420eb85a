//! Does `plumb probe storage` say what fio and pg_test_fsync say? The same directory, size and method, in turns.
//!
//! Not a test: it ends with 0 whatever it finds. In each round each method has four short runs, ours, theirs, theirs, ours, or
//! the other way round as drawn: what drifts evenly falls on both alike. The ratio over rounds with its interval by ranks is the
//! result: a stall in one of them moves it by one rank, however long it was. `docs/guide/storage.md` says how to read it. Read
//! [`methods`] first: which flags of fio are which method.

mod methods;
mod run;
mod table;

use methods::{Pair, Rival, pairs};
use plumb_bench_frame::{say, tell};
use plumb_stats::random::Random;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Row;
use thiserror::Error;

const HELP: &str = "\
Plumb's commit rates beside those of fio and pg_test_fsync

  --path DIR      where to write [default: .]
  --device KIND   what is behind it: disk; memory, which answers at once; set-speed, which lets so many requests
                  through a second. Decides what the result is to be read as [default: disk]
  --rounds N      in each, both run each method twice; an interval needs 6 [default: 12]
  --seconds S     measured time of each run [default: 0.5]
  --seed N        decides the order [default: 1]
  --method A,B    only these methods
  --only WHICH    append, overwrite: only files that grow, or only those that are there
  --plumb FILE    the program to measure [default: target/release/plumb]";

/// The reason why there is no result.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// A word that is none of ours.
    #[error("{0}; see --help")]
    Usage(String),
    /// A program could not be run or said something unexpected.
    #[error("{program}: {reason}")]
    Program { program: String, reason: String },
    /// Files.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The path to compare on, and the length of the comparison.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) path: PathBuf,
    device: Device,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    seed: u64,
    methods: Vec<String>,
    only_overwrite: Option<bool>,
    pub(crate) plumb: PathBuf,
}

/// The kind of device behind the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    Disk,
    Memory,
    SetSpeed,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help") {
        return plumb_bench_frame::end(say(HELP));
    }
    plumb_bench_frame::end(options(&words).and_then(|options| bench(&options)))
}

fn options(words: &[String]) -> Result<Options, BenchError> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mut options = Options {
        path: PathBuf::from("."),
        device: Device::Disk,
        rounds: 12,
        seconds: 0.5,
        seed: 1,
        methods: Vec::new(),
        only_overwrite: None,
        plumb: target.join("release/plumb"),
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else { return Err(BenchError::Usage(format!("{} needs a value", pair[0]))) };
        let wrong = || BenchError::Usage(format!("{name} {value} is no value for it"));
        match name.as_str() {
            "--path" => options.path = PathBuf::from(value),
            "--device" => {
                options.device = match value.as_str() {
                    "disk" => Device::Disk,
                    "memory" => Device::Memory,
                    "set-speed" => Device::SetSpeed,
                    _ => return Err(wrong()),
                }
            }
            "--rounds" => options.rounds = value.parse().map_err(|_| wrong())?,
            "--seconds" => options.seconds = value.parse().map_err(|_| wrong())?,
            "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
            "--method" => options.methods = value.split(',').map(str::to_owned).collect(),
            "--only" => {
                options.only_overwrite = Some(match value.as_str() {
                    "append" => false,
                    "overwrite" => true,
                    _ => return Err(wrong()),
                });
            }
            "--plumb" => options.plumb = PathBuf::from(value),
            _ => return Err(BenchError::Usage(format!("{name} is no option"))),
        }
    }
    Ok(options)
}

fn bench(options: &Options) -> Result<(), BenchError> {
    let mut pairs = pairs();
    let asked =
        |name: &str| options.methods.is_empty() || options.methods.iter().any(|method| method == name);
    let placed = |overwrite: bool| options.only_overwrite.is_none_or(|only| only == overwrite);
    pairs.retain(|pair| asked(pair.method) && placed(pair.overwrite));
    let mut rows: Vec<Row> = pairs.iter().map(Row::new).collect();
    let mut random = Random::new(options.seed);
    say(&format!(
        "{} pairs, {} rounds of two runs of {} s each, in {}",
        pairs.len(),
        options.rounds,
        options.seconds,
        options.path.display()
    ))?;
    for round in 1..=options.rounds {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            turn(options, &pairs[index], &mut rows[index], random.below(2) == 0)?;
        }
        tell(&format!("round {round}/{} done", options.rounds));
    }
    Ok(say(&table::text(&rows, options.device))?)
}

/// Four runs, the same program first and last.
fn turn(options: &Options, pair: &Pair, row: &mut Row, ours_first: bool) -> Result<(), BenchError> {
    let ours = || run::plumb(options, pair);
    let theirs = || match pair.rival {
        Rival::Fio(flags) => run::fio(options, pair, flags),
        Rival::PgTestFsync(name) => run::pg_test_fsync(options, name),
    };
    let (ours, theirs) = if ours_first {
        let first = ours()?;
        let theirs = theirs()?.with(theirs()?);
        (first.with(ours()?), theirs)
    } else {
        let first = theirs()?;
        let ours = ours()?.with(ours()?);
        (ours, first.with(theirs()?))
    };
    row.add(ours, theirs);
    Ok(())
}
