//! `plumb lab`: brokers that stay until they are taken down.

use crate::program::{Ended, Program};
use serde_json::Value;
use std::fs::File;
use std::path::Path;

fn lab(state: &Path, arguments: &[&str]) -> Ended {
    let ended =
        Program::new(["lab"]).args(arguments).args(["--output", "json"]).env("XDG_STATE_HOME", state).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    ended
}

#[test]
fn a_lab_comes_up_is_used_with_the_file_that_it_names_and_goes_down_without_a_trace() {
    let state = tempfile::tempdir().unwrap();
    let up = lab(state.path(), &["up", "--sasl", "scram"]).json();
    let pid = up[0]["brokers"][0]["pid"].as_u64().unwrap();
    let take_down = TakeDown(state.path());
    assert_ne!(std::fs::read(format!("/proc/{pid}/cmdline")).unwrap(), b"");
    assert_eq!(lab(state.path(), &["status"]).json()[0]["id"], up[0]["id"]);

    let (bootstrap, config) =
        (up[0]["bootstrap"].as_str().unwrap(), up[0]["client_properties_file"].as_str().unwrap());
    let arguments = ["latency", "--rate", "200", "--count", "50", "--warm-up", "0s", "--output", "json"];
    let run = Program::new(arguments).args(["--bootstrap", bootstrap, "--config", config]).run();
    super::assert_nothing_missing(&super::steps(&super::document(&run))[0]);

    let refused = Program::new(["lab", "down", "lab-none"]).env("XDG_STATE_HOME", state.path()).run();
    let id = up[0]["id"].as_str().unwrap();
    assert_eq!(refused.code(), Some(2));
    assert!(
        refused.stderr.contains(&format!("there is no lab lab-none that stays; there is {id}")),
        "{}",
        refused.stderr
    );
    assert_eq!(lab(state.path(), &["down", id]).json()[0]["id"], up[0]["id"]);
    drop(take_down);
    // Its entry may stay until whoever inherited it looks at its exit code; a process that has ended has no arguments.
    assert_eq!(std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default(), b"");
    assert!(!Path::new(up[0]["directory"].as_str().unwrap()).exists());
    assert_eq!(lab(state.path(), &["status"]).json(), Value::Array(Vec::new()));
}

#[test]
fn a_lab_leaves_the_open_files_of_who_started_it_alone() {
    let state = tempfile::tempdir().unwrap();
    let lock = state.path().join("lock");
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    let up = Program::new(["lab", "up"]).inheriting(held).env("XDG_STATE_HOME", state.path()).run();
    let take_down = TakeDown(state.path());
    assert_eq!(up.code(), Some(0), "{}", up.stderr);
    assert_eq!(lab(state.path(), &["status"]).json().as_array().unwrap().len(), 1);
    // Whoever held it has gone; only a broker could hold it now.
    File::open(&lock).unwrap().try_lock().unwrap();
    drop(take_down);
}

#[test]
fn a_sink_counts_what_it_dropped_and_who_measures_against_it_loses_as_much() {
    let words = ["lab", "sink", "--topic", "t", "--drop-every", "50", "--output", "json"];
    let mut sink = Program::new(words).start();
    let bootstrap = sink.wait_for("the sink's address", |sink| {
        sink.complained().lines().find_map(|line| Some(line.split_once("bootstrap ")?.1.to_owned()))
    });
    let arguments =
        ["latency", "--topic", "t", "--rate", "500", "--count", "120", "--warm-up", "0s", "--blocks", "1"];
    let run = Program::new(arguments).args(["--bootstrap", &bootstrap, "--output", "json"]).run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    assert_eq!(run.json()["outcome"], "invalid");
    sink.signal(rustix::process::Signal::INT);
    let ended = sink.wait();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let partition = &ended.json()["partitions"][0];
    assert_eq!(partition["dropped"], 2, "{partition}");
    assert_eq!(run.json()["steps"][0]["counts"]["lost"], partition["dropped"]);
}

#[test]
fn a_port_that_is_taken_is_no_sink() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = Program::new(["lab", "sink", "--port", &port]).run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", ended.stderr);
}

/// A test that fails half way leaves no broker.
struct TakeDown<'a>(&'a Path);

impl Drop for TakeDown<'_> {
    fn drop(&mut self) {
        let _ = Program::new(["lab", "down"]).env("XDG_STATE_HOME", self.0).run();
    }
}
