//! Hardware that this host does not have, in virtual machines: what the program says of it.
//!
//! Ignored unless `make test-hardware` has made the machines' kernel and tools. Asserted is what the program says;
//! of rates only those that a set delay dominates, in wide ranges.

mod caches;
mod chains;
mod disks;
mod guest;
mod hosts;
mod memory;
mod processors;
mod tuning;

use serde_json::Value;

/// The target of a storage probe's document with this path.
fn target<'a>(document: &'a Value, path: &str) -> &'a Value {
    let targets = document["targets"].as_array().unwrap();
    targets.iter().find(|target| target["path"] == path).unwrap_or_else(|| panic!("no {path}: {document}"))
}

/// Kinds of the layers behind it, from the file system down.
fn kinds(target: &Value) -> Vec<&str> {
    target["layers"].as_array().unwrap().iter().map(|layer| layer["kind"].as_str().unwrap()).collect()
}

/// The words on the layers, a line each.
fn details(target: &Value) -> String {
    let layers = target["layers"].as_array().unwrap();
    let line = |layer: &Value| format!("{} {} {}\n", layer["kind"], layer["name"], layer["detail"]);
    layers.iter().map(line).collect()
}

/// The result of a way to commit.
fn commit<'a>(target: &'a Value, method: &str) -> &'a Value {
    let commits = target["commits"].as_array().unwrap();
    let found = commits.iter().find(|commit| commit["method"] == method);
    found.unwrap_or_else(|| panic!("no {method}: {commits:?}"))
}

/// Ids of the warnings of something that has them.
fn warnings(of: &Value) -> Vec<&str> {
    of["findings"].as_array().unwrap().iter().map(|warning| warning["id"].as_str().unwrap()).collect()
}
