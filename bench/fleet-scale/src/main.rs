//! The time and the memory that Plumb needs for a big fleet, beside DuckDB, Polars and pandas, which work out the same sums.
//!
//! Not a test: it ends with 0 whatever it finds. The file is made once and kept. Every round runs each contestant once, in
//! an order drawn anew; all of them have to come to the same sums. Read `data.rs` for what is in the file, `contest.rs` for
//! who runs, `table.rs` for how they are held against each other.

mod contest;
mod data;
mod job;
mod meter;
mod table;

use contest::{Contestant, Tool};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use thiserror::Error;

const HELP: &str = "\
A big fleet from one Parquet file: Plumb beside DuckDB, Polars and pandas

  --servers N     servers in the file [default: 20000]
  --days N        days in the file [default: 14]
  --order WORD    rows by time or by server [default: time]
  --rounds N      each tool runs once a round [default: 3]
  --tools WORDS   some of decode,reader,plumb,duckdb,polars,pandas [default: all; plumb is the whole trial, reader its sums alone]
  --seed N        decides the order of the runs [default: 1]
  --cache DIR     where the file is kept [default: ~/.cache/plumb/fleet-scale]
  --python FILE   a Python with duckdb, polars, pandas and pyarrow [default: that of scripts/bootstrap-fleet-scale, if there]
  --plumb FILE    the program to measure [default: target/release/plumb]";

/// The reason why there is no result.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// A word that is none of ours.
    #[error("{0}; see --help")]
    Usage(String),
    /// A contestant failed, or came to other sums.
    #[error("{name}: {reason}")]
    Contestant { name: String, reason: String },
    /// The file could not be made or read.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Plumb's own error on the file.
    #[error(transparent)]
    Fleet(#[from] plumb_fleet::FleetInputError),
    /// Files and programs.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The file to make, and the contestants to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    shape: data::Shape,
    rounds: u32,
    seed: u64,
    cache: PathBuf,
    /// The contestants that the user named; all that there are, if none.
    tools: Option<Vec<Tool>>,
    python: Option<PathBuf>,
    plumb: PathBuf,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match &words[..] {
        [word] if word == "--help" => say(HELP),
        // The contestants that are this program itself.
        [word, file] if word == "read" => job::read(file.as_ref()).and_then(|sums| say(&sums)),
        [word, file] if word == "decode" => job::decode(file.as_ref()).and_then(|sums| say(&sums)),
        _ => options(&words).and_then(|options| bench(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(match error {
                BenchError::Usage(_) => 2,
                _ => 3,
            })
        }
    }
}

fn say(text: &str) -> Result<(), BenchError> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn options(words: &[String]) -> Result<Options, BenchError> {
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let home = home.unwrap_or_else(std::env::temp_dir).join("plumb/fleet-scale");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mut options = Options {
        shape: data::Shape { servers: 20_000, days: 14, by_server: false },
        rounds: 3,
        seed: 1,
        tools: None,
        python: Some(home.join("python/bin/python")).filter(|python| python.exists()),
        cache: home,
        plumb: target.join("release/plumb"),
    };
    for pair in words.chunks(2) {
        let [flag, value] = pair else { return Err(BenchError::Usage(format!("{} needs a value", pair[0]))) };
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| BenchError::Usage(format!("{flag} takes a number, not {value:?}")))
        };
        match flag.as_str() {
            "--servers" => options.shape.servers = number()?.max(2),
            "--days" => options.shape.days = number()?.clamp(2, 365),
            "--order" if value == "time" => options.shape.by_server = false,
            "--order" if value == "server" => options.shape.by_server = true,
            "--rounds" => options.rounds = number()?,
            "--seed" => options.seed = u64::from(number()?),
            "--tools" => {
                let tools = value.split(',').map(|word| {
                    Tool::named(word).ok_or_else(|| {
                        BenchError::Usage(format!(
                            "--tools takes decode, reader, plumb, duckdb and pandas, not {word:?}"
                        ))
                    })
                });
                options.tools = Some(tools.collect::<Result<_, _>>()?);
            }
            "--cache" => options.cache = value.into(),
            "--python" => options.python = Some(value.into()),
            "--plumb" => options.plumb = value.into(),
            _ => return Err(BenchError::Usage(format!("{flag} {value} is not known"))),
        }
    }
    Ok(options)
}

fn bench(options: &Options) -> Result<(), BenchError> {
    let file = data::ready(options.shape, &options.cache)?;
    let rows = options.shape.rows();
    let bytes = fs_err::metadata(&file)?.len();
    say(&format!(
        "{}: {rows} rows, {:.0} MB; {} rounds on {} processors, the file in the page cache",
        file.display(),
        bytes as f64 / 1e6,
        options.rounds,
        std::thread::available_parallelism().map_or(1, usize::from),
    ))?;
    let contestants = Contestant::all(options, &file)?;
    let runs = contest::rounds(&contestants, options)?;
    say(&table::costs(&contestants, &runs, rows))?;
    say(&table::ratios(&contestants, &runs))
}
