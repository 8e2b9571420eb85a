//! What does a consumed message cost? Plumb, which checks every batch and every record, beside Kafka's ConsumerPerformance,
//! librdkafka's rdkafka_performance and franz-go, in turns on one broker and the same topics.
//!
//! Not a test: it ends with 0 whatever it finds. `docs/guide/benchmarks.md` says how to read it. The order of reading is
//! [`compare`], then [`topics`] and [`ratios`]; how tools are run is in the library `bench/peers`.

mod compare;
mod ratios;
mod topics;

use plumb_bench_peers::BenchError;
use plumb_bench_peers::options::{self, Wish};
use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
What a consumed message costs: Plumb beside other tools, in turns on one broker
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), BenchError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match options::parse(&words, false)? {
        Wish::Help => say(&format!("{HELP}{}", options::HELP)),
        Wish::Compare(options) => compare::run(&options),
    }
}

/// Writes a result.
fn say(text: &str) -> Result<(), BenchError> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Writes what is going on, for whoever waits.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
