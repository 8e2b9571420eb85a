//! A trial that ends early: what was measured is judged over whole pairs, and it goes on where it stopped.

use super::{LINGER, blocks, document, sink, trial};
use crate::program::{Program, Running};
use rustix::process::Signal;
use serde_json::Value;

/// Blocks that are done, by the messages on standard error.
fn done(running: &Running) -> usize {
    running.complained().lines().filter(|line| line.starts_with("plumb: pair ")).count()
}

#[test]
fn a_trial_stopped_in_its_second_round_tells_the_first_and_goes_on() {
    let sink = sink();
    let mut running = trial(&sink, LINGER).start();
    running.wait_for("a block of the second round", |running| (done(running) >= 4).then_some(()));
    running.signal(Signal::INT);
    let stopped = running.wait();
    assert_eq!(stopped.code(), Some(130), "{}", stopped.stderr);
    let result = stopped.json();
    let counted = result["pairs"].as_u64().unwrap() + result["excluded"].as_array().unwrap().len() as u64;
    assert!((1..3).contains(&counted), "only whole rounds count: {result}");
    assert_eq!(result["pairs_planned"], 3);
    assert!(stopped.stderr.contains("plumb trial run --resume run"), "{}", stopped.stderr);
    assert_eq!(document(&stopped.path("run"))["run"]["state"]["kind"], "interrupted");

    let run = stopped.path("run");
    let resumed = Program::new(["trial".as_ref(), "run".as_ref(), "--resume".as_ref(), run.as_os_str()])
        .args(["--output", "json"])
        .run();
    let result = resumed.json();
    let counted = result["pairs"].as_u64().unwrap() + result["excluded"].as_array().unwrap().len() as u64;
    assert_eq!(counted, 3, "{}", resumed.stderr);
    let document = document(&run);
    assert_eq!(document["run"]["state"]["kind"], "complete");
    let mut positions: Vec<u64> = ["slow", "fast", "slow, again"]
        .into_iter()
        .flat_map(|step| blocks(&document, step))
        .map(|block| block["position"].as_u64().unwrap())
        .collect();
    positions.sort_unstable();
    assert_eq!(positions, (0..9).collect::<Vec<_>>(), "nothing is run twice, nothing is missing");
}

#[test]
fn a_trial_killed_half_way_keeps_what_was_done_to_the_last_digit() {
    let sink = sink();
    let mut running = trial(&sink, LINGER).start();
    running.wait_for("half of the blocks", |running| (done(running) >= 5).then_some(()));
    running.signal(Signal::KILL);
    let killed = running.wait();
    let run = killed.path("run");
    let before: Vec<Value> = blocks(&kept(&run), "fast").to_vec();
    let resumed = Program::new(["trial".as_ref(), "run".as_ref(), "--resume".as_ref(), run.as_os_str()])
        .args(["--output", "json"])
        .run();
    let document = document(&run);
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", resumed.stderr);
    let after = blocks(&document, "fast");
    assert_eq!(after.len(), 3);
    assert!(!before.is_empty() && after.starts_with(&before));
}

/// What was kept of each step when the run was killed, as the steps of a document.
fn kept(run: &std::path::Path) -> Value {
    let entries = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let states = entries.filter(|path| path.to_string_lossy().ends_with(".state.json"));
    let read = |path: std::path::PathBuf| -> Value {
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        kept["result"].clone()
    };
    serde_json::json!({ "steps": states.map(read).collect::<Vec<_>>() })
}
