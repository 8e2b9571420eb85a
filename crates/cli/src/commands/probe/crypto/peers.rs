//! Other hosts' results, from files.

use crate::errors::UsageError;
use plumb_model::probe::crypto::{CryptoProbe, Throughput};
use plumb_model::probe::{ProbeKind, SCHEMA_VERSION};
use plumb_session::probe::crypto::NamedProbe;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// More than all processors of any host together do (ours: a thousand of them at 1 TB/s, many times what a core's memory moves).
const BYTES_PER_S_MAX: f64 = 1e15;
/// More signatures and handshakes than one core has instructions.
const PER_S_MAX: f64 = 1e10;

/// The beginning of any probe's document.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    probe: ProbeKind,
}

pub(super) fn read(files: &[PathBuf]) -> Result<Vec<NamedProbe>, UsageError> {
    files.iter().map(|file| read_one(file)).collect()
}

fn read_one(file: &Path) -> Result<NamedProbe, UsageError> {
    const HINT: &str = "make it on the other host with `plumb probe crypto --output json > FILE`";
    let wrong = |what: String| UsageError::new(format!("--compare {}: {what}", file.display()), HINT);
    let text = fs_err::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let head: Head =
        serde_json::from_str(&text).map_err(|error| wrong(format!("is no result of a probe: {error}")))?;
    if head.probe != ProbeKind::Crypto {
        let probe = serde_json::to_value(head.probe).unwrap_or_default();
        return Err(wrong(format!("is of the probe {probe}, not of crypto")));
    }
    if head.schema_version > SCHEMA_VERSION {
        return Err(wrong(format!(
            "has schema version {}, this plumb reads up to {SCHEMA_VERSION}",
            head.schema_version
        )));
    }
    let document: CryptoProbe = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("is no whole result of the crypto probe: {error}")))?;
    if let Some(figure) = impossible(&document) {
        return Err(wrong(format!("has a figure that no host has: {figure}")));
    }
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    Ok(NamedProbe { name, document })
}

/// The first figure that is no rate of any host.
fn impossible(document: &CryptoProbe) -> Option<String> {
    let bytes = document.engines.iter().flat_map(|engine| &engine.rows).find_map(|row| {
        let other = row.other_form.as_ref().map(|other| &other.one_core);
        let one = std::iter::once(&row.one_core).chain(other).flat_map(figures);
        // Of all CPUs a short sample may have got none.
        let all = row.all_cores.iter().flat_map(figures).filter(|figure| *figure != 0.0);
        let figure = one.chain(all).find(|figure| !is_rate(*figure, BYTES_PER_S_MAX))?;
        Some(format!("{} at {} B, {figure:e} bytes/s", row.algorithm.title(), row.block_bytes))
    });
    bytes.or_else(|| {
        document.engines.iter().flat_map(|engine| &engine.operations).find_map(|row| {
            let ends = row.interval.iter().flat_map(|interval| [interval.low, interval.high]);
            let figure = row.per_s.into_iter().chain(ends).find(|figure| !is_rate(*figure, PER_S_MAX))?;
            Some(format!("{}, {figure:e} a second", row.operation.title()))
        })
    })
}

fn figures(rate: &Throughput) -> impl Iterator<Item = f64> {
    let ends = rate.interval.iter().flat_map(|interval| [interval.low, interval.high]);
    [rate.bytes_per_s, rate.min_bytes_per_s, rate.max_bytes_per_s].into_iter().flatten().chain(ends)
}

fn is_rate(figure: f64, most: f64) -> bool {
    figure > 0.0 && figure <= most
}
