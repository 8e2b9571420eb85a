//! A run that ended early goes on: nothing is run twice, nothing is missing, and what was done stays as it was.

use super::{keeping_sink, sink, throughput};
use crate::program::Program;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const POINTS: usize = 20;
const SWEEP: &str = "--driver librdkafka --size 100B --producers 1..20 --blocks 1 --count 4000";

/// The steps that were done when the run ended, as they were kept.
fn done_steps(run: &Path) -> BTreeMap<String, Value> {
    let mut done = BTreeMap::new();
    for entry in std::fs::read_dir(run).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".state.json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let kept: Value = serde_json::from_str(&text).unwrap();
            done.insert(kept["result"]["name"].as_str().unwrap().to_owned(), kept["result"].clone());
        }
    }
    done
}

fn go_on(run: &Path) -> Program {
    Program::new(["throughput".as_ref(), "--resume".as_ref(), run.as_os_str()]).args(["--output", "json"])
}

#[test]
fn a_sweep_of_twenty_points_killed_half_way_goes_on_with_the_rest() {
    let sink = sink();
    let mut running = throughput(&sink, SWEEP).start();
    running.wait_for("half of the points", |running| {
        let run = running.path("run");
        (run.is_dir() && done_steps_so_far(&run) >= POINTS / 2).then_some(())
    });
    running.signal(Signal::KILL);
    let killed = running.wait();
    let run = killed.path("run");
    let done = done_steps(&run);
    assert!(done.len() >= POINTS / 2 && done.len() < POINTS, "{}", done.len());

    // Whether the kill came while there was a topic is chance; one is there for certain.
    let begun: Value = serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
    let left = format!("plumb-{}-left", begun["run"]["id"].as_str().unwrap());
    sink.control().create_topic(&left, 1, &Default::default()).unwrap();
    sink.control().create_topic("plumb-of-another-run-1", 1, &Default::default()).unwrap();

    let resumed = go_on(&run).run();
    let document = resumed.json();
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", resumed.stderr);
    let deleted = format!("topic {left} was left by the part that was killed: deleted");
    assert!(resumed.stderr.contains(&deleted), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains("of-another-run"), "{}", resumed.stderr);
    let parts = document["run"]["resumed"].as_array().unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0]["blocks_kept"], done.len());
    assert_eq!(parts[0]["changes"], serde_json::json!([]));

    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), POINTS);
    let mut positions = Vec::new();
    for step in steps {
        let blocks = step["blocks"].as_array().unwrap();
        assert_eq!(blocks.len(), 1, "{}", step["name"]);
        assert_eq!(step["counts"]["acked"], 4_000, "{}", step["name"]);
        positions.push(blocks[0]["position"].as_u64().unwrap());
        if let Some(before) = done.get(step["name"].as_str().unwrap()) {
            assert_eq!(step, before);
        }
    }
    positions.sort_unstable();
    assert_eq!(positions, (0..POINTS as u64).collect::<Vec<_>>());
    assert!(done_steps(&run).is_empty(), "what a complete run needs to go on is gone");
    let again = go_on(&run).run();
    assert_eq!(again.code(), Some(2));
    assert!(again.stderr.contains("complete"), "{}", again.stderr);
}

/// While a file is being replaced, only its name is looked at.
fn done_steps_so_far(run: &Path) -> usize {
    let entries = std::fs::read_dir(run).unwrap();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".state.json") && !name.starts_with('.')).count()
}

#[test]
fn a_latency_run_stopped_in_its_second_block_keeps_the_first_to_the_last_digit() {
    let sink = keeping_sink();
    let bootstrap = sink.bootstrap();
    let flags = ["run", "s.yaml", "--output", "json", "--out", "run"];
    let program = Program::new(flags);
    let scenario = format!(
        "cluster: {{bootstrap: \"{bootstrap}\"}}\nblocks: 3\ntwin: 0\nload: {{rate: 500, duration: 4500ms, warm_up: 100ms}}\n"
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let mut running = program.start();
    running.wait_for("the first block", |running| {
        let run = running.path("run");
        (run.is_dir() && done_steps_so_far(&run) == 1).then_some(())
    });
    running.signal(Signal::INT);
    let stopped = running.wait();
    assert!(stopped.stderr.contains("--resume"), "{}", stopped.stderr);
    let run = stopped.path("run");
    let first = done_steps(&run).into_values().next().unwrap();
    let logged = |log: &str| std::fs::read_to_string(run.join(log)).unwrap();
    let log = first["histogram_logs"]["end_to_end"].as_str().unwrap().to_owned();

    let resumed =
        Program::new(["run".as_ref(), "--resume".as_ref(), run.as_os_str()]).args(["--output", "json"]).run();
    let document = resumed.json();
    let step = &document["steps"][0];
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", resumed.stderr);
    assert_eq!(step["blocks"].as_array().unwrap().len(), 3);
    assert_eq!(step["blocks"][0], first["blocks"][0]);
    assert_eq!(step["counts"]["received"], 2_250);
    assert_eq!(step["latency"]["end_to_end"]["samples"], 2_250);
    // The logs hold the messages of the blocks that count, and no others.
    assert_eq!(samples_of(&logged(&log)), 2_250);
}

/// Samples in a histogram log.
fn samples_of(log: &str) -> u64 {
    use base64::Engine;
    use hdrhistogram::serialization::Deserializer;
    let mut reader = Deserializer::new();
    let histograms =
        log.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(',').nth(3));
    let mut samples = 0;
    for encoded in histograms {
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        samples += reader.deserialize::<u64, _>(&mut bytes.as_slice()).unwrap().len();
    }
    samples
}

#[test]
fn a_run_of_another_host_or_another_version_does_not_go_on_here() {
    let sink = sink();
    let ended = throughput(&sink, "--driver librdkafka --size 100B --blocks 1 --count 100").run();
    let run = ended.path("run");
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    let changed = |pointer: &str, value: Value| {
        let mut document: Value = serde_json::from_str(&text).unwrap();
        document["run"]["state"] = serde_json::json!({ "kind": "running" });
        *document.pointer_mut(pointer).unwrap() = value;
        std::fs::write(run.join("run.json"), document.to_string()).unwrap();
        let refused = go_on(&run).run();
        assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
        refused.stderr
    };
    let host = changed("/environment/host/logical_cpus/value", 4_321.into());
    assert!(host.contains("another host") && host.contains("4321"), "{host}");
    let version = changed("/run/plumb_version", "0.0.1".into());
    assert!(version.contains("begun by plumb 0.0.1"), "{version}");
}
