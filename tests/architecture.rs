//! The house as drawn: which crate may lean on which, what only the program may use, and where `unsafe` may stand.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate with those that it may lean on, also in its tests. A new crate gets a row when its place is decided.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &["model"]),
    ("wire", &[]),
    ("load", &["model", "stats", "wire"]),
    ("probe", &["model", "stats"]),
    ("observe", &["model"]),
    ("fleet", &["model"]),
    ("judge", &["model", "stats"]),
    ("lab", &["model"]),
    // Clocks of two hosts are compared where their messages are carried.
    ("link", &["model", "stats"]),
    ("report", &["model", "stats"]),
    // The names of the Java client's properties are those that the drivers translate.
    ("scenario", &["model", "stats", "load"]),
    ("tune", &["model", "observe"]),
    ("session", &["model", "stats", "load", "link", "probe", "observe", "judge", "tune", "lab"]),
    (
        "cli",
        &[
            "model", "stats", "load", "probe", "observe", "fleet", "judge", "scenario", "tune", "lab",
            "session", "report",
        ],
    ),
];

/// A bench drives what it measures from outside: it may lean on every crate, and no crate on it.
const BENCH: &str = "bench-";

/// Arguments, screens, pages served and errors without a type are the program's business.
const ONLY_IN_CLI: &[&str] = &["anyhow", "axum", "clap", "indicatif", "ratatui"];

/// The flags of other tools are known where their lines are.
const FLAGS_OF_OTHER_TOOLS: (&str, &str) = ("scenario", "clap");

/// The places in our crates where `unsafe` is allowed. Everywhere else the workspace denies it.
const UNSAFE: &[&str] = &[
    "crates/cli/src/inherited.rs",
    "crates/lab/src/kafka/launch.rs",
    "crates/link/tests/hostile_bytes.rs",
    "crates/load/src/external/process.rs",
    "crates/load/src/librdkafka/mod.rs",
    "crates/observe/src/cpu_clock.rs",
    "crates/observe/src/ethtool.rs",
    "crates/observe/src/jvm/attach.rs",
    "crates/observe/src/process/memory_nodes.rs",
    "crates/probe/src/clock/system.rs",
    "crates/probe/src/crypto/openssl/library.rs",
    "crates/probe/src/memory/mapping.rs",
    "crates/probe/src/memory/stream.rs",
    "crates/probe/src/network/socket.rs",
    "crates/probe/src/storage/fault.rs",
    "crates/probe/src/storage/file.rs",
    "crates/probe/src/storage/flush.rs",
    "crates/probe/src/storage/mapped.rs",
    "crates/probe/src/storage/ring.rs",
    "crates/wire/tests/hostile_bytes.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The workspace's crates as cargo sees them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn name(package: &Value) -> &str {
    let name = package["name"].as_str().unwrap();
    name.strip_prefix("plumb-").unwrap_or_else(|| panic!("{name} is not called plumb-..."))
}

/// The dependencies of a package of any kind: to run, to build, to be tested.
fn dependencies(package: &Value) -> BTreeSet<&str> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    dependencies.map(|dependency| dependency["name"].as_str().unwrap()).collect()
}

#[test]
fn crates_lean_only_on_those_that_the_design_allows() {
    for package in packages().iter().filter(|package| !name(package).starts_with(BENCH)) {
        let name = name(package);
        let row = ARROWS.iter().find(|(from, _)| *from == name);
        let (_, allowed) = row.unwrap_or_else(|| panic!("{name} has no row: what may it lean on?"));
        let of_ours = dependencies(package).into_iter().filter_map(|name| name.strip_prefix("plumb-"));
        for to in of_ours {
            assert!(allowed.contains(&to), "{name} -> {to} is not in the design");
        }
    }
}

#[test]
fn every_crate_of_the_design_is_there() {
    let packages = packages();
    let names: BTreeSet<&str> = packages.iter().map(name).filter(|name| !name.starts_with(BENCH)).collect();
    assert_eq!(names, ARROWS.iter().map(|(name, _)| *name).collect());
}

#[test]
fn only_the_program_parses_arguments_draws_screens_and_forgets_the_types_of_errors() {
    for package in packages().iter().filter(|package| name(package) != "cli") {
        for library in ONLY_IN_CLI.iter().filter(|library| (name(package), **library) != FLAGS_OF_OTHER_TOOLS)
        {
            assert!(!dependencies(package).contains(library), "{} uses {library}", name(package));
        }
    }
}

#[test]
fn every_crate_is_under_the_lints_of_the_workspace_and_they_deny_unsafe() {
    for package in &packages() {
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        assert_eq!(section(&manifest, "[lints]"), ["workspace = true"], "{}", name(package));
    }
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(section(&manifest, "[workspace.lints.rust]").contains(&"unsafe_code = \"deny\""));
}

/// The lines of a section of a manifest.
fn section<'a>(manifest: &'a str, header: &str) -> Vec<&'a str> {
    let after = manifest.lines().skip_while(|line| *line != header).skip(1);
    after.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty()).collect()
}

#[test]
fn unsafe_code_stands_only_where_it_is_listed_and_says_why() {
    let root = root();
    let mut found = Vec::new();
    for file in ["crates", "bench"].into_iter().flat_map(|directory| sources(&root.join(directory))) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("unsafe_code") {
            // The attribute around it: from its bracket to the end.
            let start = text[..at].rfind('#').unwrap_or(at);
            let attribute = &text[start..start + text[start..].find("]\n").unwrap_or(0)];
            assert!(attribute.contains("reason = \""), "{}: {attribute:?} has no reason", file.display());
            found.push(file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.retain(|file| file.starts_with("crates/"));
    found.sort();
    assert_eq!(found, UNSAFE);
}

/// All Rust files under a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let nested = entries.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    nested.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
