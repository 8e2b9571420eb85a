//! The words of the bench.

use crate::BenchError;
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, Form};
use plumb_probe::crypto::Work;

pub(crate) const HELP: &str = "\
crypto-against-openssl [--rounds N] [--algorithm NAME]... [--bytes N]... [--only plain|masked|java]

  --rounds N        two runs of both for each size (12; fewer than 6 have no interval)
  --algorithm NAME  aes-128-gcm, aes-256-gcm, chacha20-poly1305, sha-256 [default: all]
  --bytes N         only this size; may be repeated
  --seed N          decides the order (1)
  --only PART       plain: as the host is; masked: with OPENSSL_ia32cap; java: with and without UseAES [default: all]

A round takes each size two seconds of openssl speed and two of Plumb, in turns. Rates are of processor time, as openssl speed's own are.";

/// The work to do.
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
    pub(crate) blocks_bytes: Vec<u32>,
    pub(crate) seed: u64,
    pub(crate) only: Option<String>,
}

/// Algorithms that OpenSSL has.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::Chacha20Poly1305, Algorithm::Sha256];

pub(crate) fn parse(words: &[String]) -> Result<Job, BenchError> {
    let usage = |what: String| BenchError::Usage(what);
    let mut options =
        Options { rounds: 12, algorithms: Vec::new(), blocks_bytes: Vec::new(), seed: 1, only: None };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| usage(format!("{word} needs a value")));
        match word {
            "--help" | "-h" => return Ok(Job::Help),
            "--ours" => {
                let (algorithm, block_bytes, form) = (algorithm(value()?)?, size(value()?)?, value()?);
                let form = if form == "stream" { Form::Stream } else { Form::Message };
                return Ok(Job::Ours(Ours::OpenSsl(Work::Bytes { algorithm, block_bytes, form })));
            }
            "--ours-java" => return Ok(Job::Ours(Ours::Java(words.map(str::to_owned).collect()))),
            "--rounds" => {
                let text = value()?;
                options.rounds = text.parse().map_err(|_| usage(format!("{text:?} is no count")))?;
            }
            "--algorithm" => options.algorithms.push(algorithm(value()?)?),
            "--bytes" => options.blocks_bytes.push(size(value()?)?),
            "--seed" => {
                let text = value()?;
                options.seed = text.parse().map_err(|_| usage(format!("{text:?} is no number")))?;
            }
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
    if options.blocks_bytes.is_empty() {
        options.blocks_bytes = BLOCKS_BYTES.to_vec();
    }
    Ok(Job::Bench(options))
}

fn size(text: &str) -> Result<u32, BenchError> {
    let found = text.parse().ok().filter(|bytes| BLOCKS_BYTES.contains(bytes));
    found.ok_or_else(|| BenchError::Usage(format!("{text:?} is none of {BLOCKS_BYTES:?}")))
}

fn algorithm(name: &str) -> Result<Algorithm, BenchError> {
    let found = ALGORITHMS.into_iter().find(|algorithm| algorithm.name() == name);
    found.ok_or_else(|| BenchError::Usage(format!("{name:?} is no algorithm of OpenSSL's here")))
}
