//! Does Plumb measure what `openssl speed -evp` measures? Both in turns, a size at a time, each in a process of its own; the
//! same under masks that take the processor's instructions away, and a Java with and without AES.
//!
//! Not a test: it ends with 0 whatever it finds. `docs/guide/crypto.md` says how to read it. Read [`rounds`] next.

mod arguments;
mod ours;
mod rounds;
mod table;
mod theirs;

use arguments::Job;
use plumb_bench_frame::say;
use std::process::ExitCode;
use thiserror::Error;

/// The reason why there is no result.
#[derive(Debug, Error)]
enum BenchError {
    /// The words.
    #[error("{0}; --help says what there is")]
    Usage(String),
    /// A contestant said something that is no figure.
    #[error("{program} said no figure: {said}")]
    NoFigure { program: String, said: String },
    /// The library.
    #[error(transparent)]
    Crypto(#[from] plumb_probe::crypto::CryptoError),
    /// A process.
    #[error("cannot run a contestant (openssl is in the package of that name): {0}")]
    System(#[from] std::io::Error),
}

fn main() -> ExitCode {
    plumb_bench_frame::end(run())
}

fn run() -> Result<(), BenchError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match arguments::parse(&words)? {
        Job::Help => Ok(say(arguments::HELP)?),
        Job::Ours(work) => Ok(say(&ours::in_this_process(work)?)?),
        Job::Bench(options) => rounds::run(&options),
    }
}
