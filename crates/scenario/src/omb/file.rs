//! A YAML file of one flat object, with the line of each key.

use super::fate::Place;
use crate::yaml::{Object, Value};
use crate::yaml_error;
use plumb_model::fault::UsageError;
use std::path::Path;

/// The form of the files.
const FLAT: &str =
    "a workload or driver file of the Open Messaging Benchmark is one YAML object of `key: value` lines";

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
    let tree: Object = serde_saphyr::from_str(text).map_err(|error| {
        let fault = yaml_error::fault(file, text, &error);
        // The lines of a driver file may hold a login.
        UsageError::new(fault.without_lines(), fault.hint.unwrap_or(FLAT))
    })?;
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in tree.0 {
        let place = Place { file: file.to_owned(), line: key.line };
        if let Some(first) = entries.iter().find(|entry| entry.key == key.name) {
            let (name, first, again) = (key.name, first.place.line, key.line);
            let message = format!("{file}: {name} stands in line {first} and in line {again}");
            return Err(UsageError::new(message, FLAT));
        }
        entries.push(Entry { place, key: key.name, value });
    }
    Ok(entries)
}
