//! A YAML file of one flat object, with the line of each key.

use super::fate::Place;
use crate::yaml::{Object, Value};
use plumb_model::fault::UsageError;
use std::path::Path;

/// One key of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) value: Value,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, UsageError> {
    let name = path.display().to_string();
    let text = fs_err::read_to_string(path).map_err(|error| {
        UsageError::new(
            error.to_string(),
            "plumb import omb WORKLOAD.yaml --driver DRIVER.yaml takes two files",
        )
    })?;
    parse(&name, &text)
}

/// Reads a file's text.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Entry>, UsageError> {
    let not_flat = |what: &str| {
        UsageError::new(
            format!("{file}: {what}"),
            "a workload or driver file of the Open Messaging Benchmark is one YAML object of `key: value` lines",
        )
    };
    let tree: Object = serde_saphyr::from_str(text).map_err(|error| not_flat(&first_line(&error)))?;
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in tree.0 {
        let place = Place { file: file.to_owned(), line: key.line };
        if let Some(first) = entries.iter().find(|entry| entry.key == key.name) {
            return Err(not_flat(&format!(
                "{} stands in line {} and in line {}",
                key.name, first.place.line, key.line
            )));
        }
        entries.push(Entry { place, key: key.name, value });
    }
    Ok(entries)
}

/// The parser's message without its picture of the file.
fn first_line(error: &serde_saphyr::Error) -> String {
    let message = error.to_string();
    message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
