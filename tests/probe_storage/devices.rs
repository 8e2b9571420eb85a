//! File systems of known kind, speed and fault on loop devices: `make probe-storage` makes them. Only what a set speed
//! dominates is held to a range.

use super::{commit, names_in, probe, rates, wait_for_blocks, warnings};
use crate::program::Ended;
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable with the place where `scripts/storage-devices` has mounted them.
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
    assert!(warnings(commit(&document, "direct", "append")).contains("direct-is-buffered"));
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
    assert!(warnings(&document["targets"][0]).contains("file-system-limits"), "{document}");
}

#[test]
#[ignore = "make probe-storage"]
fn a_device_that_is_held_back_is_not_made_faster_by_committers() {
    // Overwriting around the page cache is one write of the device for each commit, or two with a time in the journal.
    let words = "--no-streams --method direct_dsync --overwrite --committers 1,4,16 --duration 2s --rounds 5";
    let (_, document) = probed("slow", words);
    for commit in document["targets"][0]["commits"].as_array().unwrap() {
        let rate = commit["rate_per_s"].as_f64().unwrap();
        assert!((25.0..=99.0).contains(&rate), "{} committers: {rate}/s of 90/s", commit["committers"]);
        let sum = |what: &str| -> f64 {
            let blocks = commit["blocks"].as_array().unwrap();
            blocks.iter().map(|block| block[what].as_f64().unwrap()).sum()
        };
        let over = sum("commits") * 1e9 / sum("elapsed_ns");
        assert!((rate / over - 1.0).abs() < 1e-6, "{rate}/s, and {over}/s of all blocks: {commit}");
    }
    let words = "--no-streams --method fsync --committers 1,4,16 --duration 1s --rounds 5";
    let (_, document) = probed("slow", words);
    let commits = document["targets"][0]["commits"].as_array().unwrap();
    let appended = commits.iter().filter(|commit| commit["placement"] == "append");
    for commit in appended {
        // Two writes at least, of data and of the journal, unless the file system gathers syncs: then 16 files in one go.
        let writes = commit["device_writes_per_commit"].as_f64();
        let rate = commit["rate_per_s"].as_f64().unwrap();
        if let Some(writes) = writes {
            assert!(rate * writes <= 90.0 * 1.5, "{rate}/s with {writes} writes each: {commit}");
        }
        assert!(rate <= 99.0, "each has a write of its own: {commit}");
    }
}

#[test]
#[ignore = "make probe-storage"]
fn a_file_system_that_fails_under_a_mapped_file_is_an_error_and_no_signal() {
    let place = place("shut");
    let words = "--no-streams --method msync --duration 300s --rounds 1000";
    let mut running = probe(&place, words).start();
    wait_for_blocks(&mut running);
    said("xfs_io", &["-x", "-c", "shutdown", &place.display().to_string()]);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("the storage failed to"), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!((&document["complete"], rates(&document)), (&false.into(), 1), "{document}");
}

#[test]
#[ignore = "make probe-storage"]
fn a_slow_device_has_a_median_of_few_commits() {
    let words = "--no-streams --method fsync --committers 1 --duration 200ms --rounds 5";
    let (_, document) = probed("slow", words);
    assert!(commit(&document, "fsync", "append")["latency"]["p50_ns"].is_number(), "{document}");
}

#[test]
#[ignore = "make probe-storage"]
fn what_hides_a_mount_is_what_is_named() {
    let place = place("hidden");
    let (_, document) = probed("hidden/sub", "--no-streams --method fsync --committers 1 --duration 60ms");
    assert_eq!(document["targets"][0]["layers"][0]["name"], "tmpfs", "{}: {document}", place.display());
}

#[test]
#[ignore = "make probe-storage"]
fn the_slow_device_is_a_small_part_of_the_fast_one() {
    let program = probe(
        &place("ext4"),
        "--no-streams --method fsync --overwrite --committers 1 --duration 4s --rounds 8",
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

/// Output of a program that has to end well.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Takes away what lies beyond the first 8 MiB of the device under this place.
fn shrink(place: &Path) {
    let image = format!("{}.img", place.display());
    std::fs::File::options().write(true).open(&image).unwrap().set_len(8 << 20).unwrap();
    said("losetup", &["-c", said("losetup", &["-n", "-O", "NAME", "-j", &image]).trim()]);
}

#[test]
#[ignore = "make probe-storage"]
fn a_device_that_fails_meanwhile_ends_it_with_what_was_measured_before() {
    let place = place("failing");
    let words = "--no-streams --method fsync --overwrite --committers 1 --duration 300s --rounds 1000";
    let mut running = probe(&place, words).start();
    wait_for_blocks(&mut running);
    // A write on its way would make the image long again.
    running.signal(Signal::STOP);
    said("sync", &["-f", &place.display().to_string()]);
    shrink(&place);
    running.signal(Signal::CONT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    let document = ended.json();
    let why = document["ended_by"].as_str().unwrap();
    assert!(why.contains("the storage failed to") || why.contains("read-only file system"), "{why}");
    assert!(ended.stderr.contains("dmesg"), "{}", ended.stderr);
    assert_eq!((&document["complete"], rates(&document)), (&false.into(), 1), "{document}");
    assert!(names_in(&place).is_subset(&["lost+found".to_owned()].into()), "{:?}", names_in(&place));
}

#[test]
#[ignore = "make probe-storage"]
fn a_quota_that_runs_out_is_told_as_one() {
    let words = "--no-streams --method fsync --overwrite --duration 1s";
    let ended = probe(&place("quota"), words).run();
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(3), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("the disk quota is exceeded"), "{}", ended.stderr);
}
