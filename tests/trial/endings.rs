//! A trial that ends early: what was measured is judged over whole pairs, and it goes on where it stopped.

use super::{LINGER, blocks, document, resume, sink, trial};
use crate::program::Running;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

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
    let resumed = resume(&run).run();
    let result = resumed.json();
    let counted = result["pairs"].as_u64().unwrap() + result["excluded"].as_array().unwrap().len() as u64;
    assert_eq!(counted, 3, "{}", resumed.stderr);
    let document = document(&run);
    only_whole_rounds_were_kept(&document);
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
    let kept = kept(&run);
    let in_all = |round: &Value| {
        let has = |step| blocks(&kept, step).iter().any(|block| block["block"] == *round);
        ["slow", "fast", "slow, again"].into_iter().all(has)
    };
    let of_fast = blocks(&kept, "fast").iter().filter(|block| in_all(&block["block"]));
    let before: Vec<Value> = of_fast.cloned().collect();
    let resumed = resume(&run).run();
    let document = document(&run);
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", resumed.stderr);
    only_whole_rounds_were_kept(&document);
    let after = blocks(&document, "fast");
    assert_eq!(after.len(), 3);
    assert!(!before.is_empty() && after.starts_with(&before));
}

/// A round of three blocks that was not whole is measured anew, so that blocks of one round are neighbours in time.
fn only_whole_rounds_were_kept(document: &Value) {
    let kept = document["run"]["resumed"][0]["blocks_kept"].as_u64().unwrap();
    assert!(kept > 0 && kept.is_multiple_of(3), "{kept} blocks were kept");
}

/// The state of each step that was kept when the run was killed, as the steps of a document. A kill between putting the state before aside
/// and writing the one after leaves the former alone.
fn kept(run: &std::path::Path) -> Value {
    let names =
        std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let stems: BTreeSet<String> =
        names.filter_map(|name| Some(name.split_once(".state")?.0.to_owned())).collect();
    let read = |stem: &String| -> Value {
        let [last, before] = ["state", "state-before"].map(|end| run.join(format!("{stem}.{end}.json")));
        let path = if last.exists() { last } else { before };
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        kept["result"].clone()
    };
    let stems = stems.iter().filter(|stem| !stem.starts_with('.'));
    serde_json::json!({ "steps": stems.map(read).collect::<Vec<_>>() })
}
