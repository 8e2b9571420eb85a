//! The words of the bench.

use crate::BenchError;
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, Form};
use plumb_probe::crypto::Work;

pub(crate) const HELP: &str = "\
crypto-against-openssl [--rounds N] [--algorithm NAME]... [--only plain|masked|java]

  --rounds N        turns of each size (7; fewer than 6 have no interval)
  --algorithm NAME  aes-128-gcm, aes-256-gcm, chacha20-poly1305, sha-256 [default: all]
  --only PART       plain: as the host is; masked: with OPENSSL_ia32cap; java: with and without UseAES [default: all]

Each turn takes a second of openssl speed and a second of Plumb.";

/// What is to be done.
pub(crate) enum Job {
    Help,
    /// One figure, in a process of its own, so that a mask in its environment counts.
    Ours(Ours),
    Bench(Options),
}

/// A figure of ours.
#[derive(Debug, Clone)]
pub(crate) enum Ours {
    OpenSsl(Work),
    /// AES-256-GCM at 16 KiB, with such options.
    Java(Vec<String>),
}

pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) only: Option<String>,
}

/// Algorithms that OpenSSL has.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::Chacha20Poly1305, Algorithm::Sha256];

pub(crate) fn parse(words: &[String]) -> Result<Job, BenchError> {
    let usage = |what: String| BenchError::Usage(what);
    let mut options = Options { rounds: 7, algorithms: Vec::new(), only: None };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| usage(format!("{word} needs a value")));
        match word {
            "--help" | "-h" => return Ok(Job::Help),
            "--ours" => {
                let (algorithm, bytes, form) = (algorithm(value()?)?, value()?, value()?);
                let form = if form == "stream" { Form::Stream } else { Form::Message };
                let block_bytes = bytes.parse().ok().filter(|bytes| BLOCKS_BYTES.contains(bytes));
                let block_bytes = block_bytes.ok_or_else(|| usage(format!("{bytes:?} is no size")))?;
                return Ok(Job::Ours(Ours::OpenSsl(Work::Bytes { algorithm, block_bytes, form })));
            }
            "--ours-java" => return Ok(Job::Ours(Ours::Java(words.map(str::to_owned).collect()))),
            "--rounds" => {
                let text = value()?;
                options.rounds = text.parse().map_err(|_| usage(format!("{text:?} is no count")))?;
            }
            "--algorithm" => options.algorithms.push(algorithm(value()?)?),
            "--only" => {
                let part = value()?;
                if !["plain", "masked", "java"].contains(&part) {
                    return Err(usage(format!("{part:?} is none of plain, masked, java")));
                }
                options.only = Some(part.to_owned());
            }
            other => return Err(usage(format!("{other:?} is not known"))),
        }
    }
    if options.algorithms.is_empty() {
        options.algorithms = ALGORITHMS.to_vec();
    }
    Ok(Job::Bench(options))
}

fn algorithm(name: &str) -> Result<Algorithm, BenchError> {
    let found = ALGORITHMS.into_iter().find(|algorithm| algorithm.name() == name);
    found.ok_or_else(|| BenchError::Usage(format!("{name:?} is no algorithm of OpenSSL's here")))
}
