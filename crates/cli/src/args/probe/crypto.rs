//! The words of `plumb probe crypto`.

use crate::args::result::ResultArgs;
use clap::{Args, ValueEnum};
use plumb_model::probe::crypto::EngineName;
use plumb_model::units::Nanos;
use std::path::PathBuf;

/// `plumb probe crypto`
#[derive(Debug, Args)]
pub(crate) struct CryptoArgs {
    /// Library to measure; may be repeated [default: all that are here]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) engine: Vec<EngineWord>,
    /// Another host's result (--output json) to hold this one against; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Vec<PathBuf>,
    /// Measured time, all engines together; a Java warms up before
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = duration)]
    pub(crate) duration: Nanos,
    /// Where the random order starts
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// A library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// The OpenSSL that is installed here (EVP)
    Openssl,
    /// Plumb's own: rustls with ring, crc32c
    Own,
    /// The Java that runs, or would run, the broker
    Jvm,
}

impl EngineWord {
    /// Its name in documents.
    pub(crate) fn name(self) -> EngineName {
        match self {
            EngineWord::Openssl => EngineName::Openssl,
            EngineWord::Own => EngineName::Own,
            EngineWord::Jvm => EngineName::Jvm,
        }
    }
}

fn duration(text: &str) -> Result<Nanos, String> {
    let time = crate::args::parse_nanos(text)?;
    if time.0 > 0 { Ok(time) } else { Err("expected more than 0".to_owned()) }
}
