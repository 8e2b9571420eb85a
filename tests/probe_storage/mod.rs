//! `plumb probe storage`: a directory in, what it does and what speaks against it out, and nothing left behind.
//!
//! Rates are this machine's and are not asserted. File systems of known kind and speed are in `devices.rs`.

mod bad_input;
mod devices;
mod endings;

use crate::program::{Ended, Program, Running};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// A short probe of a directory.
fn probe(path: &Path, words: &str) -> Program {
    let program = Program::new(["probe", "storage", "--output", "json"]).args(words.split_whitespace());
    program.args([path])
}

fn commit<'a>(document: &'a Value, method: &str, placement: &str) -> &'a Value {
    let commits = document["targets"][0]["commits"].as_array().unwrap();
    commits.iter().find(|commit| commit["method"] == method && commit["placement"] == placement).unwrap()
}

fn warnings(of: &Value) -> BTreeSet<String> {
    let warnings = of["findings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["id"].as_str().unwrap().to_owned()).collect()
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Waits until a probe has done a few blocks.
fn wait_for_blocks(running: &mut Running) {
    // Each block has a thread of its own: the fifth one means that four blocks are done.
    let committers = RefCell::new(BTreeSet::new());
    running.wait_for("a few blocks", |running| {
        let threads = std::fs::read_dir(format!("/proc/{}/task", running.pid())).ok()?;
        let mut seen = committers.borrow_mut();
        seen.extend(threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok()));
        // The program's own thread, and five committers.
        (seen.len() >= 6).then_some(())
    });
}

/// Ways to commit that have a rate, of all paths.
fn rates(document: &Value) -> usize {
    let targets = document["targets"].as_array().unwrap();
    let commits = targets.iter().flat_map(|target| target["commits"].as_array().unwrap());
    commits.filter(|commit| commit["rate_per_s"].is_number()).count()
}

fn measured(ended: &Ended) -> Value {
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    ended.json()
}

const SHORT: &str = "--duration 60ms --rounds 3 --committers 1";

#[test]
fn the_document_keeps_its_contract_with_programs() {
    let place = tempfile::tempdir().unwrap();
    let document = measured(&probe(place.path(), SHORT).args(["--method", "fsync,sync_file_range"]).run());
    assert_eq!((&document["schema_version"], &document["probe"]), (&1.into(), &"storage".into()));
    assert_eq!(document["complete"], true);
    assert!(document["host"]["kernel_release"]["value"].is_string());
    let target = &document["targets"][0];
    assert_eq!(target["path"], place.path().to_str().unwrap());
    let layer = &target["layers"][0];
    assert_eq!((&layer["kind"], &layer["depth"]), (&"file_system".into(), &0.into()));
    assert!(layer["name"].is_string() && layer["detail"].is_string());
    let fsync = commit(&document, "fsync", "append");
    let keys: BTreeSet<&str> = fsync.as_object().unwrap().keys().map(String::as_str).collect();
    for key in ["method", "block_bytes", "committers", "rate_per_s", "latency", "durable", "findings"] {
        assert!(keys.contains(key), "{keys:?} lack {key}");
    }
    assert_eq!((&fsync["block_bytes"], &fsync["committers"]), (&4096.into(), &1.into()));
    assert!(fsync["rate_per_s"].as_f64().unwrap() > 0.0);
    let latency = &fsync["latency"];
    let (mean, max) = (latency["mean_ns"].as_f64().unwrap(), latency["max_ns"].as_f64().unwrap());
    assert!(0.0 < mean && mean <= max, "{latency}");
    let samples = latency["samples"].as_u64().unwrap();
    assert_eq!(latency["p99_ns"].is_null(), samples < 1_000, "a p99 needs a thousand samples: {latency}");
    assert_eq!(latency["p50_ns"].is_null(), samples < 20, "{latency}");
    let counted: u64 =
        fsync["blocks"].as_array().unwrap().iter().map(|block| block["commits"].as_u64().unwrap()).sum();
    assert_eq!(counted, samples);
    for block in fsync["blocks"].as_array().unwrap() {
        let rate = block["commits"].as_f64().unwrap() * 1e9 / block["elapsed_ns"].as_f64().unwrap();
        assert!((block["rate_per_s"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9, "{block}");
    }
    assert_eq!(fsync["blocks"].as_array().unwrap().len(), 3);
    assert!(names_in(place.path()).is_empty());
}

#[test]
fn what_makes_no_promise_is_never_called_durable() {
    let place = tempfile::tempdir().unwrap();
    let document =
        measured(&probe(place.path(), SHORT).args(["--no-streams", "--method", "sync_file_range"]).run());
    let commit = commit(&document, "sync_file_range", "append");
    assert_eq!(commit["durable"], false);
    assert!(warnings(commit).contains("not-durable-by-design"), "{commit}");
}

#[test]
fn memory_is_found_out_and_its_figures_are_a_finding() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let place = tempfile::tempdir_in(memory).unwrap();
    let ended = probe(place.path(), SHORT).args(["--no-streams", "--method", "fsync"]).run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["targets"][0]["layers"][0]["name"], "tmpfs");
    let commit = commit(&document, "fsync", "append");
    assert_eq!(commit["durable"], false);
    assert!(warnings(commit).contains("memory"), "{commit}");
    assert!(commit["device_writes_per_commit"].is_null(), "there is no device");
}

#[test]
fn people_are_told_first_why_the_exit_code_is_1() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let place = tempfile::tempdir_in(memory).unwrap();
    let program = Program::new(["probe", "storage", "--no-streams", "--method", "fsync"]);
    let ended = program.args(SHORT.split_whitespace()).args([place.path()]).run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let finding = ended.stdout.find(&format!("FINDING  {}", place.path().display()));
    assert!(finding.unwrap() < ended.stdout.find("Commits").unwrap(), "{}", ended.stdout);
}

#[test]
fn a_file_without_room_for_a_commit_is_refused_with_what_to_give() {
    let place = tempfile::tempdir().unwrap();
    let ended = probe(place.path(), "--file 4KiB --block 8KiB").run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no room for a commit") && ended.stderr.contains("--file"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_way_that_a_file_system_refuses_has_no_rate_and_says_why() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let place = tempfile::tempdir_in(memory).unwrap();
    let document = probe(place.path(), SHORT).args(["--no-streams", "--method", "map_sync"]).run().json();
    let commit = commit(&document, "map_sync", "overwrite");
    assert!(commit["rate_per_s"].is_null() && commit["durable"].is_null(), "{commit}");
    assert!(commit["latency"]["mean_ns"].is_null());
    assert!(commit["unavailable"].as_str().unwrap().contains("MAP_SYNC"), "{commit}");
}

#[test]
fn the_same_directory_twice_is_compared_with_itself_round_by_round() {
    let place = tempfile::tempdir().unwrap();
    let program = probe(place.path(), SHORT).args(["--no-streams", "--method", "fdatasync", "--overwrite"]);
    let document = measured(&program.args([place.path()]).run());
    assert!(document["targets"][0]["commits"][0]["ratio_to_first"].is_null());
    let ratio = &document["targets"][1]["commits"][0]["ratio_to_first"];
    assert_eq!(ratio["rounds"], 3);
    let figure = |name: &str| ratio[name].as_f64().unwrap();
    assert!(figure("low") <= figure("ratio") && figure("ratio") <= figure("high"), "{ratio}");
    assert!(figure("smallest_detectable_ratio") >= 1.0, "{ratio}");
}

#[test]
fn people_see_the_tree_the_commits_and_published_devices_with_their_source() {
    let place = tempfile::tempdir().unwrap();
    let program = Program::new(["probe", "storage", "--no-streams", "--method", "fsync"]);
    let ended = program.args(SHORT.split_whitespace()).args([place.path()]).run();
    for words in ["commits/s", "fsync", "Published", "Optane P4800X", "blog", "Conditions"] {
        assert!(ended.stdout.contains(words), "{words} is missing:\n{}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ended.stdout);
}

#[test]
fn streams_name_the_page_cache() {
    let place = tempfile::tempdir().unwrap();
    let document = measured(&probe(place.path(), SHORT).args(["--method", "fsync"]).run());
    let streams = document["targets"][0]["sequential"].as_array().unwrap();
    assert_eq!(streams.len(), 4);
    for stream in streams {
        let buffered_write = stream["direction"] == "write" && stream["page_cache"] == "buffered";
        assert_eq!(stream["accepted_bytes_per_s"].is_number(), buffered_write, "{stream}");
        assert!(stream["bytes_per_s"].is_number() || stream["unavailable"].is_string(), "{stream}");
    }
}
