//! Arms that lie on log directories of their own, on real brokers: where they lie, and what their devices promise.
//!
//! Devices whose write caches differ are made by `make devices`; two directories of one file system promise the same.

use super::document;
use crate::program::{Ended, Program};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A short trial of an arm on each of two log directories.
fn trial((a, path_a): (&str, &Path), (b, path_b): (&str, &Path)) -> Ended {
    let scenario = format!(
        "cluster: {{lab: {{log_dirs: {{{a}: '{}', {b}: '{}'}}}}}}\nsettle: 0s\n\
         load: {{rate: 200, duration: 500ms, warm_up: 100ms}}\ntrial: {{primary: acknowledge.mean}}\n\
         arms:\n  on {a}: {{topic: {{log_dir: {a}}}}}\n  on {b}: {{topic: {{log_dir: {b}}}}}\n",
        path_a.display(),
        path_b.display()
    );
    let program = Program::new(["trial", "run", "s.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.args(["--level", "0.75", "--pairs", "3"]).run()
}

#[test]
fn an_arm_lies_on_its_log_directory_and_two_of_one_device_promise_the_same() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ended = trial(("one", one.path()), ("two", two.path()));
    let result = ended.json();
    assert_eq!(result["unequal_guarantees"], json!([]), "{}", ended.stderr);
    let document = document(&ended.path("run"));
    for (step, name) in [(0, "one"), (1, "two"), (2, "one")] {
        assert_eq!(document["steps"][step]["effective"]["log_dirs"], json!({name: 1}));
    }
    let flags = document["steps"][0]["effective"]["jvm_flags"].as_array().unwrap();
    assert!(flags.contains(&"-Xmx512m".into()), "{flags:?}");
    let paths = |flag: &&serde_json::Value| flag.as_str().unwrap().contains('/');
    assert_eq!(flags.iter().find(paths), None, "no path of this machine is a setting");
}

#[test]
#[ignore = "needs devices with different write caches: make devices"]
fn arms_on_devices_with_different_write_caches_are_told_so_before_anything_else() {
    let of = |name| PathBuf::from(std::env::var_os(name).expect("run by `make devices`"));
    let (back, through) = (of("PLUMB_TEST_FAST_DIR"), of("PLUMB_TEST_WRITE_THROUGH_DIR"));
    let ended = trial(("back", &back), ("through", &through));
    let result = ended.json();
    let unequal = result["unequal_guarantees"][0].as_str().unwrap_or_else(|| panic!("{result}"));
    let begins = "\"on back\" and \"on through\" differ in durability, so in what they promise (write cache of the log's \
                  devices: write back (loop";
    assert!(unequal.starts_with(begins), "{unequal}");
    assert!(unequal.contains("/ write through (loop"), "{unequal}");
    assert!(result["summary"][0].as_str().unwrap().starts_with(unequal), "{}", result["summary"]);
}
