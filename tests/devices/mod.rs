//! Logs on directories and devices that the user names, with a lab of real brokers.
//!
//! What needs two file systems of different speed is ignored unless `make devices` has made them.

use crate::program::{Ended, Program};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The variable with the place where `make devices` mounted a file system whose device takes 10 MB/s and which may keep 64 MiB in memory.
const SLOW: &str = "PLUMB_TEST_SLOW_DIR";
/// The same for one that takes what the machine's disk takes, with the same limit.
const FAST: &str = "PLUMB_TEST_FAST_DIR";

/// `plumb run` on a lab with these log directories.
fn run(log_dirs: &[(&str, &Path)], more: &str, load: &str) -> Ended {
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    let dirs: String =
        log_dirs.iter().map(|(name, path)| format!("{name}: '{}', ", path.display())).collect();
    let scenario =
        format!("cluster: {{lab: {{log_dirs: {{{dirs}}}}}}}\nsettle: 0s\n{more}\nload: {{{load}}}\n");
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

fn document(ended: &Ended) -> Value {
    let document = ended.json();
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", ended.stderr);
    document
}

fn step<'a>(document: &'a Value, name: &str) -> &'a Value {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"].as_str().unwrap().contains(name)).unwrap()
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_broker_each_puts_a_steps_topic_on_its_directory_and_leaves_the_directories_as_they_were() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(one.path().join("theirs"), "kept").unwrap();
    let ended = run(
        &[("one", one.path()), ("two", two.path())],
        "blocks: 1\ntopic: {partitions: 3}",
        "rate: 200, count: 100, size: 1KiB, warm_up: 0s",
    );
    let document = document(&ended);
    let directories = document["environment"]["log_directories"].as_array().unwrap();
    for (index, name) in ["one", "two"].into_iter().enumerate() {
        let step = step(&document, name);
        assert_eq!(step["effective"]["log_dirs"], serde_json::json!({name: 3}));
        assert_eq!(step["counts"]["acked"], 100, "{}", ended.stderr);
        assert_eq!(directories[index]["name"], name);
        assert_eq!(directories[index]["brokers"], serde_json::json!([index + 1]));
        let first = &directories[index]["storage"]["layers"][0];
        assert_eq!((&first["depth"], &first["layer"]["kind"]), (&0.into(), &"file_system".into()));
        let dirtied = &step["blocks"][0]["broker_io"]["dirtied_bytes"];
        assert!(dirtied.is_u64(), "the brokers are ours, so the kernel tells: {dirtied}");
    }
    assert_eq!(names_in(one.path()), BTreeSet::from(["theirs".to_owned()]));
    assert_eq!(names_in(two.path()), BTreeSet::new());
}

#[test]
fn all_directories_together_share_the_partitions_and_it_is_said_how() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    let scenario = format!(
        "cluster: {{lab: {{log_dir_layout: together, log_dirs: {{one: '{}', two: '{}'}}}}}}\nsettle: 0s\nblocks: 1\n\
         topic: {{partitions: 6}}\nload: {{rate: 200, count: 100, size: 1KiB, warm_up: 0s}}\n",
        one.path().display(),
        two.path().display()
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let document = document(&program.run());
    let spread = &document["steps"][0]["effective"]["log_dirs"];
    assert_eq!(spread["one"].as_u64().unwrap() + spread["two"].as_u64().unwrap(), 6, "{spread}");
}

#[test]
fn a_directory_that_will_not_do_is_an_error_before_anything_is_made() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let load = "rate: 200, count: 100, size: 1KiB";
    let missing = run(&[("here", place.path()), ("gone", Path::new("/nowhere/at/all"))], "", load);
    assert_eq!(missing.code(), Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("log directory /nowhere/at/all: it is not there"), "{}", missing.stderr);
    let twice = run(&[("a", place.path()), ("b", &place.path().join("."))], "", load);
    assert_eq!(twice.code(), Some(2), "{}", twice.stderr);
    assert!(twice.stderr.contains("it is given twice"), "{}", twice.stderr);
    let unknown = run(&[("a", place.path()), ("b", other.path())], "topic: {log_dir: c}", load);
    assert_eq!(unknown.code(), Some(2), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("it must be one of a, b"), "{}", unknown.stderr);
    assert_eq!(names_in(place.path()), BTreeSet::new());
}

#[test]
fn a_lab_without_log_directories_says_what_is_behind_its_own() {
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    let scenario =
        "cluster: lab\nsettle: 0s\nblocks: 1\nload: {rate: 200, count: 100, size: 1KiB, warm_up: 0s}\n";
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let document = document(&program.run());
    let directories = &document["environment"]["log_directories"];
    assert_eq!((&directories[0]["name"], &directories[0]["path"]), (&"lab".into(), &Value::Null));
    assert_eq!(document["steps"][0]["effective"]["log_dirs"], serde_json::json!({"lab": 1}));
}

/// The two file systems that `make devices` made.
fn devices() -> (PathBuf, PathBuf) {
    let of = |name| PathBuf::from(std::env::var_os(name).expect("run by `make devices`"));
    (of(SLOW), of(FAST))
}

fn achieved(document: &Value, name: &str) -> f64 {
    step(document, name)["achieved_per_s"].as_f64().unwrap()
}

const AS_FAST_AS_POSSIBLE: &str = "rate: max, mode: produce, consumers: 0, size: 100KB, producers: 2";

#[test]
#[ignore = "needs two file systems of different speed: make devices"]
fn the_device_that_takes_more_is_faster_whichever_of_them_is_named_first() {
    let (slow, fast) = devices();
    let more = "driver: wire\nblocks: 3\ntopic: {partitions: 4}";
    let load = format!("{AS_FAST_AS_POSSIBLE}, duration: 9s, warm_up: 3s");
    for (a, b, a_is_slow) in [(&slow, &fast, true), (&fast, &slow, false)] {
        let document = document(&run(&[("a", a), ("b", b)], more, &load));
        let ratio = achieved(&document, "log_dir b") / achieved(&document, "log_dir a");
        assert_eq!(ratio > 1.0, a_is_slow, "b is {ratio} times as fast as a");
        let ratio = ratio.max(1.0 / ratio);
        assert!(ratio > 1.5, "devices that differ by more are {ratio} apart");
    }
}

#[test]
#[ignore = "needs a file system with a limit of dirty pages of its own: make devices"]
fn after_a_load_until_the_device_is_the_limit_what_is_measured_is_the_device() {
    let (slow, _) = devices();
    let more = "driver: wire\nblocks: 1\ntopic: {partitions: 4}";
    let load = format!("{AS_FAST_AS_POSSIBLE}, duration: 15s, warm_up: 5s, until_device: true");
    let document = document(&run(&[("slow", &slow)], more, &load));
    let step = &document["steps"][0];
    let until = &step["blocks"][0]["until_device"];
    assert_eq!(until["end"], "reached", "{until}");
    assert!(until["device_share"].as_f64().unwrap() >= 0.8, "{until}");
    let reasons = document["validity"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| reason["id"] != "memory-absorbed"), "{reasons:?}");
    // 10 MB/s, and what 64 MiB of memory take over 15 s.
    let mb_per_s = step["achieved_per_s"].as_f64().unwrap() / 10.0;
    assert!((3.0..25.0).contains(&mb_per_s), "{mb_per_s} MB/s from a device that takes 10");
}
