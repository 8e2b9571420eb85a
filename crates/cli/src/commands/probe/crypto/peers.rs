//! Other hosts' results, from files.

use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::probe::crypto::{CryptoPeer, CryptoProbe};
use plumb_model::probe::{ProbeKind, SCHEMA_VERSION};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The beginning of any probe's document.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    probe: ProbeKind,
}

/// A document and what it is called.
pub(super) struct Other {
    name: String,
    document: CryptoProbe,
}

pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Other>, UsageError> {
    files.iter().map(|file| read_one(file)).collect()
}

fn read_one(file: &Path) -> Result<Other, UsageError> {
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
    let document = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("is no whole result of the crypto probe: {error}")))?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    Ok(Other { name, document })
}

/// Files first, then the published ones where there is something to hold against them.
pub(super) fn beside(document: &CryptoProbe, others: &[Other]) -> Vec<CryptoPeer> {
    let given =
        others.iter().map(|other| plumb_judge::crypto::beside(document, &other.document, &other.name));
    let published = plumb_judge::crypto::published(document);
    given.chain(published.into_iter().filter(|peer| !peer.ratios.is_empty())).collect()
}
