//! `plumb probe memory`, `network` and `clock`: the whole way from flags to text and JSON, short and small.

use crate::program::{Ended, Program};
use rustix::process::Signal;
use serde_json::Value;

const MEMORY: [&str; 8] = ["probe", "memory", "--array", "1MiB", "--largest", "64KiB", "--rounds", "6"];
const NETWORK: [&str; 8] =
    ["probe", "network", "--duration", "100ms", "--streams", "1,2", "--sizes", "64B,16KiB"];
const CLOCK: [&str; 4] = ["probe", "clock", "--duration", "40ms"];

fn json(arguments: &[&str]) -> Value {
    let ended = Program::new(arguments).args(["--output", "json"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    ended.json()
}

/// Checks the part that every probe's document begins with.
fn headed(document: &Value, probe: &str) {
    let keys: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys[..6],
        ["schema_version", "probe", "plumb_version", "started_at", "elapsed_ns", "complete"]
    );
    assert_eq!((document["probe"].as_str(), document["complete"].as_bool()), (Some(probe), Some(true)));
    assert!(document["host"]["kernel_release"].is_object() && document["noise"].is_object());
}

/// A figure of blocks lies between its lowest and its highest.
fn is_figure(figure: &Value) {
    let of = |key: &str| figure[key].as_f64().unwrap_or_else(|| panic!("{key} of {figure}"));
    assert!(0.0 < of("lowest") && of("lowest") <= of("median") && of("median") <= of("highest"), "{figure}");
}

fn rows<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn memory_has_all_kernels_with_the_stores_that_this_processor_has_and_a_curve() {
    let document = json(&MEMORY);
    headed(&document, "memory");
    // A megabyte was asked for; memory is had by huge pages.
    assert_eq!(document["array_bytes"], 2 << 20);
    let one = |stores: &str| -> Vec<&str> {
        let bandwidth = rows(&document, "bandwidth").iter();
        let one =
            bandwidth.filter(|row| row["threads"] == 1 && row["cpu_node"] == 0 && row["stores"] == stores);
        one.map(|row| row["kernel"].as_str().unwrap()).collect()
    };
    assert_eq!(one("ordinary"), ["copy", "scale", "add", "triad"]);
    assert_eq!(one("non_temporal").len(), if cfg!(target_arch = "x86_64") { 4 } else { 0 });
    for row in rows(&document, "bandwidth") {
        is_figure(&row["bytes_per_s"]);
        assert_eq!(row["bytes_per_s"]["blocks"], 6);
        assert!(row["bytes_per_s"]["interval"].is_object(), "{row}");
    }
    let points = document["latency"][0]["points"].as_array().unwrap();
    let sizes: Vec<u64> =
        points.iter().map(|point| point["working_set_bytes"].as_u64().unwrap() >> 10).collect();
    assert_eq!(sizes, [4, 6, 8, 12, 16, 24, 32, 48, 64]);
    points.iter().for_each(|point| is_figure(&point["load_ns"]));
}

#[test]
fn arrays_that_fit_the_caches_are_said_first_to_be_no_measure_of_memory() {
    let ended = Program::new(MEMORY).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let known = !ended.stdout.contains("Unknown (");
    let finding = ended.stdout.find("smaller than four times the last-level caches");
    let table = ended.stdout.find("Bandwidth").unwrap();
    assert_eq!(finding.is_some(), known, "{}", ended.stdout);
    assert!(finding.is_none_or(|finding| finding < table), "{}", ended.stdout);
}

#[test]
fn loopback_tells_round_trips_writes_streams_and_connections() {
    let document = json(&NETWORK);
    headed(&document, "network");
    assert_eq!(document["loopback"], true);
    let sizes: Vec<_> =
        rows(&document, "round_trips").iter().map(|row| row["message_bytes"].as_u64()).collect();
    assert_eq!(sizes, [Some(64), Some(16_384)]);
    assert!(rows(&document, "round_trips").iter().all(|row| row["round_trip"]["samples"].as_u64() > Some(0)));
    let patterns: Vec<_> = rows(&document, "writes")
        .iter()
        .map(|row| (row["writes"].as_u64(), row["nodelay"].as_bool()))
        .collect();
    let expected =
        [(1, false), (1, true), (2, false), (2, true)].map(|(writes, off)| (Some(writes), Some(off)));
    assert_eq!(patterns, expected);
    for row in rows(&document, "throughput") {
        assert!(row["sent_bytes"].as_u64() > Some(0));
        assert_eq!(row["sent_bytes"], row["received_bytes"]);
        assert!(row["tcp"]["congestion_control"].is_string(), "{row}");
    }
    assert!(document["connections"]["rate_per_s"].as_f64() > Some(0.0));
}

#[test]
fn a_peer_is_measured_through_the_listener_that_waits_for_it_until_it_is_ended() {
    let mut listening = Program::new(["probe", "network", "--listen", "127.0.0.1:0"]).start();
    let address = listening.wait_for("an address on standard output", |running| {
        running.said().lines().find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
    });
    let document = json(&[&NETWORK[..], &[&address]].concat());
    assert_eq!((document["loopback"].as_bool(), document["peer"].as_str()), (Some(false), Some(&*address)));
    listening.signal(Signal::INT);
    let ended = listening.wait();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("measuring with 127.0.0.1"), "{}", ended.stderr);
}

#[test]
fn the_clock_is_read_by_both_ways_and_the_instruments_own_pacing_is_beside_the_timers() {
    let document = json(&CLOCK);
    headed(&document, "clock");
    let clocks = rows(&document, "clocks");
    assert_eq!(clocks[0]["clock"], "CLOCK_MONOTONIC");
    for clock in clocks {
        is_figure(&clock["read_ns"]);
        is_figure(&clock["system_call_ns"]);
    }
    let periods: Vec<_> = rows(&document, "timers").iter().map(|row| row["period_ns"].as_u64()).collect();
    let expected = [100_000, 100_000, 1_000_000, 1_000_000, 10_000_000, 10_000_000].map(Some);
    assert_eq!(periods, expected);
    let rates: Vec<_> = rows(&document, "pacing").iter().map(|row| row["rate_per_s"].as_f64()).collect();
    assert_eq!(rates, [Some(100.0), Some(1_000.0), Some(10_000.0)]);
    // 40 sends at 1,000/s are too few for p99: absent, and said so.
    assert!(document["smallest"]["schedule_p99_ns"].is_null());
    assert!(document["smallest"]["resolution_ns"].as_f64() > Some(0.0));
}

#[test]
fn what_cannot_be_is_refused_with_the_choices() {
    for (arguments, code, said) in [
        ("memory --array 1KiB", 2, "at least 4KiB"),
        ("memory --array 900000GiB", 2, "a quarter of the memory"),
        ("memory --rounds 0", 2, "1..=1000"),
        ("network --streams 65", 2, "1..=64"),
        ("network --sizes 1GiB", 2, "1B to 256KiB"),
        ("network --duration 1h", 2, "100ms to 30s"),
        ("network --listen 127.0.0.1 somewhere", 2, "cannot be used with"),
        ("network --listen 192.0.2.1:7586", 3, "cannot listen on 192.0.2.1:7586"),
        ("network 127.0.0.1:1", 4, "plumb probe network --listen ADDR"),
        ("clock --duration 0s", 2, "at least 1ms"),
    ] {
        let ended = Program::new(["probe"]).args(arguments.split_whitespace()).run();
        assert_eq!(ended.code(), Some(code), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{arguments}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{arguments}");
    }
}

/// Interrupts a probe once it has said that it begins.
fn interrupted(arguments: &[&str]) -> Ended {
    let mut running = Program::new(arguments).args(["--output", "json"]).start();
    running.wait_for("a word on standard error", |running| {
        running.complained().contains("plumb: ").then_some(())
    });
    running.signal(Signal::INT);
    running.wait()
}

#[test]
fn an_interrupted_probe_ends_with_what_it_has_and_says_that_it_is_not_all() {
    for arguments in [
        &["probe", "memory", "--rounds", "1000", "--array", "4MiB", "--largest", "64KiB"][..],
        &["probe", "network", "--duration", "30s"],
        &["probe", "clock", "--duration", "30s"],
    ] {
        let ended = interrupted(arguments);
        assert_eq!(ended.code(), Some(130), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.json()["complete"], false, "{arguments:?}");
    }
}
