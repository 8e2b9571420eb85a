//! File systems of known kind, speed and fault on loop devices: `make probe-storage` makes them. Only what a set speed
//! dominates is held to a range.

use super::{commit, probe, warnings};
use crate::program::Ended;
use serde_json::Value;
use std::path::PathBuf;

/// Where `scripts/storage-devices` has mounted them.
const PLACE: &str = "PLUMB_TEST_STORAGE_DIR";

fn place(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(PLACE).unwrap_or_else(|| panic!("{PLACE} is not set: make probe-storage")))
        .join(name)
}

fn probed(name: &str, words: &str) -> (Ended, Value) {
    let ended = probe(&place(name), words).alone().run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    let document = ended.json();
    (ended, document)
}

fn kinds(document: &Value) -> Vec<String> {
    let layers = document["targets"][0]["layers"].as_array().unwrap();
    layers
        .iter()
        .map(|layer| format!("{} {}", layer["kind"].as_str().unwrap(), layer["name"].as_str().unwrap()))
        .collect()
}

#[test]
#[ignore = "make probe-storage"]
fn every_file_system_on_a_loop_device_is_named_down_to_the_disk() {
    for name in ["ext4", "xfs", "btrfs"] {
        let (_, document) =
            probed(name, "--no-streams --method fsync --committers 1 --duration 300ms --rounds 3");
        let kinds = kinds(&document);
        assert_eq!(kinds[0], format!("file_system {name}"), "{kinds:?}");
        assert!(kinds[1].starts_with("loop loop"), "{kinds:?}");
        assert!(kinds[2].starts_with("file_system "), "the file's own: {kinds:?}");
        assert_eq!(commit(&document, "fsync", "append")["durable"], true, "{document}");
    }
}

#[test]
#[ignore = "make probe-storage"]
fn a_journal_of_all_data_takes_direct_writes_through_the_page_cache() {
    let (_, document) =
        probed("journal", "--no-streams --method direct --committers 1 --duration 300ms --rounds 3");
    assert!(warnings(commit(&document, "direct", "append")).contains("direct_is_buffered"));
}

#[test]
#[ignore = "make probe-storage"]
fn a_device_of_90_writes_a_second_is_seen_and_so_is_the_file_system_before_it() {
    let words = "--no-streams --method fsync,direct_dsync --committers 1 --duration 5s --rounds 5";
    let (_, document) = probed("slow", words);
    let appended = commit(&document, "fsync", "append")["rate_per_s"].as_f64().unwrap();
    let overwritten = commit(&document, "direct_dsync", "overwrite")["rate_per_s"].as_f64().unwrap();
    // Appending takes three writes or more, overwriting one; the kernel lets them through in slices of 100 ms.
    assert!((5.0..=30.0).contains(&appended), "{appended}");
    assert!(appended < overwritten && overwritten <= 95.0, "{appended}, {overwritten}");
    assert!(warnings(&document["targets"][0]).contains("file_system_limits"), "{document}");
}

#[test]
#[ignore = "make probe-storage"]
fn the_slow_device_is_a_small_part_of_the_fast_one() {
    let program = probe(
        &place("ext4"),
        "--no-streams --method fsync --overwrite --committers 1 --duration 3s --rounds 3",
    );
    let document = program.args([place("slow")]).alone().run().json();
    let ratio = &document["targets"][1]["commits"][0]["ratio_to_first"];
    assert!(ratio["high"].as_f64().unwrap() < 0.3, "{ratio}");
}

#[test]
#[ignore = "make probe-storage"]
fn a_device_that_fails_is_told_with_the_next_step() {
    let ended = probe(&place("broken"), "--no-streams --method fsync --overwrite --duration 1s").run();
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(3), ""), "{}", ended.stderr);
    let failed =
        ended.stderr.contains("the storage failed to") || ended.stderr.contains("read-only file system");
    assert!(failed && ended.stderr.contains("dmesg"), "{}", ended.stderr);
}

#[test]
#[ignore = "make probe-storage"]
fn a_quota_that_runs_out_is_told_as_one() {
    let words = "--no-streams --method fsync --overwrite --duration 1s";
    let ended = probe(&place("quota"), words).run();
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(3), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("the disk quota is exceeded"), "{}", ended.stderr);
}
