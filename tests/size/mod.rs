//! `plumb size`: a load and a machine in, counts and findings out. No broker is needed.

use crate::program::{Ended, Program};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

fn size(arguments: &str) -> Ended {
    Program::new(["size"]).args(arguments.split_whitespace()).run()
}

/// The bound of a name in a reading.
fn bound<'a>(reading: &'a Value, name: &str) -> &'a Value {
    let bounds = reading["capacity"]["bounds"].as_array().unwrap();
    bounds.iter().find(|bound| bound["name"] == name).unwrap()
}

#[test]
fn figures_of_one_load_that_disagree_are_a_finding_and_both_are_worked_out() {
    let ended = size("--messages 1.6M/s --size 240KB --bytes 800GB/s --machine m5.24xlarge --output json");
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let sizing = ended.json();
    let finding = sizing["contradictions"][0].as_str().unwrap();
    assert!(finding.contains("384 GB/s") && finding.contains("800 GB/s"), "{finding}");
    let readings = sizing["readings"].as_array().unwrap();
    let loads: Vec<f64> =
        readings.iter().map(|reading| reading["ingress"]["peak_bytes_per_s"].as_f64().unwrap()).collect();
    assert_eq!(loads, [384e9, 800e9]);
    // 384 GB/s x 3 / 1000 MB/s, and 6.5 of it at half of that.
    assert_eq!(readings[0]["capacity"]["physics"]["brokers"], 1_152);
    assert_eq!(readings[0]["capacity"]["plan"]["brokers"], 4_992);
}

#[test]
fn figures_of_one_load_that_agree_are_one_reading_and_no_finding() {
    let ended = size("--messages 1.6M/s --size 240KB --bytes 384GB/s --machine m5.24xlarge --output json");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.json()["readings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_bound_says_what_it_is_worked_out_from_or_which_flag_is_missing() {
    let ended = size("--bytes 1GB/s --disk 500MiB/s --output json");
    let sizing = ended.json();
    let reading = &sizing["readings"][0];
    let disk = bound(reading, "disk");
    assert_eq!((&disk["standing"], &disk["inputs"][0]["shown"]), (&"known".into(), &"500MiB/s".into()));
    assert_eq!(disk["physics"]["count"], 6);
    let nic = bound(reading, "nic_out");
    assert_eq!((&nic["standing"], &nic["missing"][0]), (&"unknown".into(), &"--nic".into()));
    let tls = bound(reading, "tls");
    assert_eq!(tls["standing"], "not_asked");
    let unknown = reading["capacity"]["physics"]["unknown_bounds"].as_array().unwrap();
    assert!(unknown.contains(&"nic_out".into()));
}

#[test]
fn without_any_rate_the_count_does_not_pass_for_an_answer() {
    let ended = size("--bytes 800GB/s");
    assert_eq!(ended.code(), Some(0));
    assert!(ended.stdout.contains(">= 3"), "{}", ended.stdout);
    assert!(ended.stdout.contains("no rate of a device, network or CPU is known"), "{}", ended.stdout);
}

#[test]
fn fewer_brokers_than_physics_asks_for_are_a_finding() {
    let ended = size("--bytes 1GB/s --disk 500MiB/s --brokers 5");
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("5 brokers cannot carry it: disk asks for 6"), "{}", ended.stdout);
}

#[test]
fn the_answer_stands_last_on_the_screen() {
    let ended = size("--bytes 1GB/s --disk 500MiB/s --peak 2");
    let headings: Vec<&str> = ended
        .stdout
        .lines()
        .filter(|line| line.starts_with("Brokers") || line.starts_with("Advice"))
        .collect();
    assert_eq!(headings.last().map(|line| line.trim()), Some("Brokers"), "{}", ended.stdout);
    let last: Vec<&str> = ended.stdout.lines().rev().take(12).collect();
    assert!(last.iter().any(|line| line.starts_with("physics")), "{}", ended.stdout);
}

#[test]
fn a_need_beyond_counting_is_refused_and_not_cut_off() {
    let ended = size("--bytes 1EB/s --retention 1000d --machine m5.8xlarge --storage 1KB");
    assert_eq!(ended.code(), Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("at most 1e15"), "{}", ended.stderr);
}

#[test]
fn assumptions_are_shown_with_whose_they_are_until_somebody_says_better() {
    let load = "--bytes 100MB/s --flush before-ack --fsync 2ms --batch 16KiB --output json";
    let assumed = |sizing: &Value| sizing["assumptions"].to_string();
    let ended = size(load);
    assert!(assumed(&ended.json()).contains("fsync-queues"));
    let ended = size(&format!("{load} --assume fsync-queues=8"));
    assert!(!assumed(&ended.json()).contains("fsync-queues"));
    // 300 MB/s in 8 queues of 8.192 MB/s.
    assert_eq!(bound(&ended.json()["readings"][0], "fsync")["physics"]["count"], 5);
}

#[test]
fn what_cannot_be_ends_as_a_usage_error_that_says_what_can() {
    for (arguments, said) in [
        ("", "expected messages/s and their size, or bytes/s"),
        ("--messages 5/s", "messages/s without their size"),
        ("--bytes 10Gb/s", "bits are written out"),
        ("--bytes 0B/s", "more than 0"),
        ("--bytes 1GB/s --peak 0.5", "1 or more"),
        ("--bytes 1GB/s --groups nan", "0 to 1e6"),
        ("--bytes 1GB/s --zones 1", "--reserve broker"),
        ("--bytes 1GB/s --utilisation 2", "at most 1"),
        ("--bytes 1GB/s --machine m9", "m5.large"),
        ("--bytes 1GB/s --assume speed=9", "fsync-queues"),
        ("--bytes 1GB/s --assume fetchers=0", "above 0"),
        ("--bytes 1GB/s --step a", "--from"),
        ("--bytes 1GB/s --from nowhere", "run.json"),
        ("--bytes 1GB/s --output csv", "possible values"),
    ] {
        let ended = size(arguments);
        assert_eq!(ended.code(), Some(2), "{arguments}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{arguments}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{arguments}");
    }
}

#[test]
fn the_table_of_machines_shows_each_with_its_source() {
    let ended = size("--machine list");
    assert_eq!(ended.code(), Some(0));
    for part in ["m5.large", "express.m7g.16xlarge", "d6ad2e4", "250 MiB/s"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let listed = size("--machine list --output json").json();
    assert_eq!(listed.as_array().unwrap().len(), 22);
    // What MSK calls it is the same machine.
    assert_eq!(size("--bytes 1GB/s --machine kafka.m5.large").code(), Some(0));
}

#[test]
fn a_run_gives_its_brokers_load_and_says_which_step_and_how_valid() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    sink.control().create_topic("events", 1, &HashMap::new()).unwrap();
    let measured = Program::new(["latency", "--topic", "events", "--bootstrap", &sink.bootstrap()])
        .args(["--rate", "1000", "--count", "1000", "--size", "100B", "--warm-up", "0s"])
        .args(["--output", "json", "--out", "run"])
        .run();
    let document = measured.json();
    let run = measured.path("run");
    let asked = ["--bytes", "100MB/s", "--output", "json", "--from"].map(OsStr::new);
    let sized = Program::new(["size"]).args(asked).args([&run]).run();
    let sizing = sized.json();
    let proven = &sizing["machine"]["proven_ingress_bytes_per_s"];
    let step = &document["steps"][0];
    let rate = step["achieved_per_s"].as_f64().unwrap() * step["value_bytes_mean"].as_f64().unwrap();
    assert!((proven["value"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9, "{proven}");
    let source = proven["source"]["detail"].as_str().unwrap();
    assert!(source.contains(step["name"].as_str().unwrap()), "{source}");
    assert!(source.contains(document["validity"]["verdict"].as_str().unwrap()), "{source}");
}

/// Every command of the guide's page is run; each line that the page shows of its output must be in it.
#[test]
fn the_guide_shows_what_the_program_prints() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/size.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let mut lines = block.lines();
        let command = lines.next().unwrap().strip_prefix("$ plumb size ").unwrap();
        // What needs a run of the reader's own is not repeated here.
        if command.contains("--from") {
            continue;
        }
        commands += 1;
        let ended = size(command);
        assert!(matches!(ended.code(), Some(0 | 1)), "{command}: {}", ended.stderr);
        for line in lines.filter(|line| !line.is_empty() && *line != "...") {
            assert!(
                ended.stdout.lines().any(|printed| printed == line),
                "{command}: no {line:?} in\n{}",
                ended.stdout
            );
        }
    }
    assert!(commands >= 4, "{commands}");
}
