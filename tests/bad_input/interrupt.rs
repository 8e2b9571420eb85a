//! Ctrl-C at every moment of a run: it ends soon, says so, and leaves nothing on the cluster or in the process table.

use super::said;
use crate::drivers::{Driver, on_both_drivers};
use crate::kafka::{Broker, lab};
use crate::program::{Ended, Program, Running};
use plumb_lab::sink::{ApiKey, Apis, SinkBroker, SinkOptions, Stats};
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Longest that a run may take to end. Its parts: two seconds for what is under way, four for a cluster that does not answer,
/// and a fifth of a second for each further question to it.
const BOUND: Duration = Duration::from_secs(12);
const PATIENCE: Duration = Duration::from_secs(60);

/// A run of `scenario` against a sink, interrupted once `moment` has come.
fn interrupted_at(scenario: &str, moment: impl Fn(&SinkBroker)) -> Value {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let program = Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &sink.bootstrap()]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let running = program.start();
    moment(&sink);
    let ended = interrupt(running);
    let stats = sink.control().stats();
    assert!(stats.partitions.is_empty(), "topics are left: {:?}", stats.partitions);
    assert!(
        stats.groups.values().all(|group| group.members.is_empty()),
        "members are left: {:?}",
        stats.groups
    );
    interrupted(&ended)
}

fn interrupt(running: Running) -> Ended {
    running.signal(Signal::INT);
    let at = Instant::now();
    let ended = running.wait();
    assert!(at.elapsed() < BOUND, "{:?}", at.elapsed());
    assert_eq!(ended.code(), Some(130), "{}", said(&ended));
    assert!(!ended.stderr.contains("error:"), "{}", ended.stderr);
    ended
}

/// The document of a run that was interrupted: it loads, says so, and can be shown again.
fn interrupted(ended: &Ended) -> Value {
    let path = ended.path("run/run.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["run"]["state"]["kind"], "interrupted");
    assert_ne!(document["validity"]["verdict"], "valid");
    let shown = Program::new(["report"]).args([&path]).run();
    let is_invalid = document["validity"]["verdict"] == "invalid";
    assert_eq!(shown.code(), Some(i32::from(is_invalid)), "{}", shown.stderr);
    assert!(
        shown.stdout.to_lowercase().contains("interrupted") || shown.stdout.contains("stopped"),
        "{}",
        shown.stdout
    );
    document
}

/// Waits until more than so many records have arrived.
fn arrived(sink: &SinkBroker, records: u64) {
    let arrived = |stats: &Stats| stats.partitions.values().map(|partition| partition.arrived).sum::<u64>();
    sink.control().wait_until(PATIENCE, |stats| arrived(stats) > records).unwrap();
}

#[test]
fn while_the_cluster_settles() {
    let scenario = "settle: 60s\nload: {rate: 200, count: 1000}\n";
    let document = interrupted_at(scenario, |sink| arrived(sink, 100));
    assert_eq!(
        document["steps"][0]["counts"]["intended"],
        serde_json::Value::Null,
        "nothing was counted yet"
    );
}

#[test]
fn in_the_warm_up() {
    let scenario = "load: {rate: 200, count: 1000, warm_up: 60s}\n";
    let document = interrupted_at(scenario, |sink| arrived(sink, 100));
    assert_eq!(document["steps"][0]["counts"]["intended"], 0);
}

#[test]
fn in_the_measured_part_what_was_measured_is_kept_and_adds_up() {
    let scenario = "load: {rate: 200, duration: 60s, warm_up: 0s}\n";
    let document = interrupted_at(scenario, |sink| arrived(sink, 300));
    let counts = &document["steps"][0]["counts"];
    assert!((290..2_000).contains(&counts["acked"].as_u64().unwrap()), "{counts}");
    assert_eq!(counts["received"], counts["acked"]);
    assert_eq!(counts["sent"], counts["acked"]);
    assert_eq!(document["steps"][0]["accounting"]["agrees"], true);
}

#[test]
fn in_the_drain() {
    // The consumer does not see the end of the log, so the run waits for it.
    let scenario = "load: {rate: 200, count: 200, warm_up: 0s, drain: 60s}\n";
    let document = interrupted_at(scenario, |sink| {
        arrived(sink, 100);
        sink.control().stall(Apis::one(ApiKey::Fetch), PATIENCE);
        arrived(sink, 200);
    });
    let counts = &document["steps"][0]["counts"];
    assert_eq!(counts["acked"], 200);
    assert!(counts["received"].as_u64() < counts["acked"].as_u64(), "{counts}");
}

/// A run that waits for a sink which answers nothing any more.
fn waits_for_a_silent_sink(sink: &SinkBroker) -> Running {
    let program = Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &sink.bootstrap()]);
    let scenario = "load: {rate: 200, count: 200, warm_up: 0s, drain: 60s}\n";
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let running = program.start();
    arrived(sink, 100);
    sink.control().stall(Apis::one(ApiKey::Fetch), PATIENCE);
    arrived(sink, 200);
    running
}

#[test]
fn one_request_may_come_as_several_signals() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let running = waits_for_a_silent_sink(&sink);
    // As `timeout` does: to the program, and to its process group.
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    interrupted(&interrupt(running));
}

#[test]
fn asked_again_it_ends_at_once() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let mut running = waits_for_a_silent_sink(&sink);
    let pid = running.pid();
    running.wait_for("its end", |running| {
        running.signal(Signal::INT);
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z').then_some(())
    });
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{}", said(&ended));
    let document = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["run"]["state"]["kind"], "running", "it ended as at the first request");
}

/// A run whose broker is gone, or silent, since some time before it is interrupted: nobody waits for each question in turn.
fn interrupted_without_a_broker(driver: Driver, take_away: impl FnOnce(SinkBroker) -> Option<SinkBroker>) {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let program = Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &sink.bootstrap()]);
    let scenario = format!("driver: {driver}\nload: {{rate: 200, duration: 120s, warm_up: 0s}}\n");
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let running = program.start();
    arrived(&sink, 100);
    let silent = take_away(sink);
    let ended = interrupt(running);
    let document = interrupted(&ended);
    let counts = &document["steps"][0]["counts"];
    let left = counts["sent"].as_u64().unwrap() - counts["acked"].as_u64().unwrap();
    assert_eq!(counts["unknown"], left, "{counts}");
    assert!(ended.stderr.contains("is left behind"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("within 0.2 s"), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    let gone = last.starts_with("no broker of 127.0.0.1:")
        && last.contains("; once one does, it can go on: plumb run --resume ");
    assert_eq!(gone, silent.is_none(), "{last}");
}

on_both_drivers!(after_the_broker_died, after_the_broker_fell_silent);

fn after_the_broker_died(driver: Driver) {
    interrupted_without_a_broker(driver, |sink| {
        drop(sink);
        None
    });
}

fn after_the_broker_fell_silent(driver: Driver) {
    interrupted_without_a_broker(driver, |sink| {
        sink.control().stall(Apis::All, 10 * PATIENCE);
        Some(sink)
    });
}

#[test]
fn while_it_tries_to_connect() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let running = super::latency(&address).args(["--out", "run"]).start();
    let _connection = silent.accept().unwrap();
    interrupted(&interrupt(running));
}

#[test]
fn while_a_lab_starts_its_processes_and_files_are_gone() {
    let state = tempfile::tempdir().unwrap();
    let labs = state.path().join("plumb/lab");
    let mut running = Program::new(["latency", "--lab", "--rate", "100", "--count", "100", "--out", "run"])
        .env("XDG_STATE_HOME", state.path())
        .start();
    let pid = running.wait_for("a broker that starts", |running| {
        let java = children(running.pid()).into_iter().find(|pid| is_java(*pid));
        java.filter(|_| labs.exists())
    });
    let ended = interrupt(running);
    interrupted(&ended);
    assert!(!is_java(pid), "{pid} lives");
    let left: Vec<_> =
        std::fs::read_dir(&labs).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn on_a_real_broker_topic_and_group_are_gone() {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    let mut running =
        Program::new(["latency", "--rate", "200", "--duration", "60s", "--warm-up", "0s", "--out", "run"])
            .args(["--bootstrap", &bootstrap])
            .start();
    let id = running.wait_for("a topic and a group of the run", |running| {
        let document = std::fs::read_to_string(running.path("run/run.json")).ok()?;
        let id = serde_json::from_str::<Value>(&document).unwrap()["run"]["id"].as_str().unwrap().to_owned();
        (broker.left_of_run(&id).len() == 2).then_some(id)
    });
    interrupted(&interrupt(running));
    assert_eq!(broker.left_of_run(&id), Vec::<String>::new());
}

/// The processes that a process started, by whichever of its threads.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn is_java(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim() == "java"
}
