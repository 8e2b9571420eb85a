//! A path that is watched while it runs: what bounds it is named on a real broker, and what cannot be seen is said.

use crate::program::Program;
use plumb_lab::kafka::{LabCluster, LabOptions, Tls};
use plumb_model::plan::InterBroker;
use serde_json::Value;
use std::fmt::Write as _;

/// The document of a diagnosis of such brokers under 240 KB at 20 a second, with acks=all. They have had that load before: a JVM that has
/// compiled nothing yet encrypts in its interpreter, whatever the processor has.
fn diagnosed(options: &LabOptions) -> Value {
    let lab = LabCluster::start(options).unwrap();
    let mut properties = String::new();
    for (key, value) in lab.client_properties() {
        writeln!(properties, "{key}={value}").unwrap();
    }
    let on_lab = |words: &[&str]| {
        let program = Program::new(words).args(["--rate", "20", "--size", "240KB"]);
        std::fs::write(program.directory().join("client.properties"), &properties).unwrap();
        program.args(["--bootstrap", &lab.bootstrap(), "--config", "client.properties"])
    };
    let replication = options.brokers.to_string();
    let warmed_up =
        on_lab(&["latency", "--duration", "12s", "--blocks", "1", "--replication", &replication]).run();
    assert!(matches!(warmed_up.code(), Some(0 | 1)), "{}", warmed_up.stderr);
    let mut watching = on_lab(&["diagnose", "--duration", "12s", "--probe-load", "--output", "json"]);
    for url in lab.jmx_metrics_urls().unwrap() {
        watching = watching.args(["--broker-metrics", &url]);
    }
    for pid in lab.broker_pids() {
        watching = watching.args(["--pid", &pid.to_string()]);
    }
    let ended = watching.run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    for pid in lab.broker_pids() {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        assert!(maps.contains("libjvm.so"), "the broker lives on");
    }
    serde_json::from_str(&ended.stdout).unwrap()
}

/// A broker with TLS and those JVM flags.
fn encrypting(jvm_flags: &[&str]) -> LabOptions {
    LabOptions {
        tls: Tls::Server,
        jvm_flags: jvm_flags.iter().map(|flag| (*flag).to_owned()).collect(),
        jmx: true,
        ..LabOptions::default()
    }
}

fn cause<'a>(document: &'a Value, id: &str) -> Option<&'a Value> {
    let findings = document["diagnosis"]["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["id"] == id)
}

fn share(document: &Value, class: &str) -> f64 {
    let shares = document["processes"][0]["profile"]["shares"].as_array().unwrap();
    let whole = shares.iter().find(|share| share["class"] == class && share["threads"].is_null());
    whole.and_then(|share| share["share"].as_f64()).unwrap_or(0.0)
}

#[test]
#[ignore = "two brokers under load and a calibration each, a minute and a half of both CPUs: make test-diagnose"]
fn a_broker_that_encrypts_without_aes_instructions_is_named_and_one_with_them_is_not() {
    let without = diagnosed(&encrypting(&["-XX:-UseAES"]));
    let found =
        cause(&without, "aes-not-accelerated").unwrap_or_else(|| panic!("{:#}", without["diagnosis"]));
    assert_ne!(found["confidence"], "suspected", "{found:#}");
    assert!(share(&without, "aes") > 0.15, "{:#}", without["processes"][0]["profile"]["shares"]);
    assert!(
        without["processes"][0]["groups"].as_array().unwrap().iter().any(|group| group["class"] == "network")
    );
    assert!(without["brokers"][0]["requests"]["Produce"]["stages"]["total"].is_object());

    let with = diagnosed(&encrypting(&[]));
    assert!(cause(&with, "aes-not-accelerated").is_none(), "{:#}", with["diagnosis"]);
    // Measured: 59 % of the work against 5 %, and 59 to 74 MB/s of one processor against 2.57 GB/s.
    assert!(
        share(&with, "aes") < share(&without, "aes") / 3.0,
        "{} {}",
        share(&with, "aes"),
        share(&without, "aes")
    );
    let rate = |document: &Value| document["limits"]["aes_gcm_bytes_per_s"].as_f64().unwrap();
    assert!(rate(&with) > 5.0 * rate(&without), "{} {}", rate(&with), rate(&without));
}

#[test]
#[ignore = "three brokers under load, a minute and a half of both CPUs: make test-diagnose"]
fn brokers_that_encrypt_between_themselves_without_aes_instructions_are_named_with_the_wait_for_followers() {
    let document = diagnosed(&LabOptions {
        brokers: 3,
        tls: Tls::Off,
        inter_broker: InterBroker::Tls,
        ..encrypting(&["-XX:-UseAES"])
    });
    let found =
        cause(&document, "aes-not-accelerated").unwrap_or_else(|| panic!("{:#}", document["diagnosis"]));
    assert_ne!(found["confidence"], "suspected", "{found:#}");
    assert!(found["share_of_gap"].as_f64().unwrap() > 0.0, "{found:#}");
    let remote = &document["brokers"][0]["requests"]["Produce"]["stages"]["remote"];
    assert!(remote["mean_ns"].as_f64().unwrap() > 0.0, "{remote}");
}

#[test]
fn what_cannot_be_seen_is_said_and_the_rest_goes_on() {
    let ended = Program::new(["observe", "--duration", "2s", "--output", "json", "--out", "watched"])
        .args(["--pid", "4194305", "--broker-metrics", "http://127.0.0.1:1/metrics"])
        .run();
    assert_eq!(ended.code(), Some(4), "nothing of what was named was there: {}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let unseen: Vec<&str> = document["unseen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unseen| unseen["what"].as_str().unwrap())
        .collect();
    assert!(unseen.contains(&"process 4194305"), "{unseen:?}");
    assert!(unseen.iter().any(|what| what.contains("127.0.0.1:1")), "{unseen:?}");
    assert!(document["host_window"]["counters"].is_object());

    let own = std::process::id().to_string();
    let in_part = Program::new(["observe", "--duration", "2s", "--output", "json"])
        .args(["--pid", &own, "--broker-metrics", "http://127.0.0.1:1/metrics"])
        .run();
    assert_eq!(in_part.code(), Some(0), "{}", in_part.stderr);

    let mut short = std::process::Command::new("sleep").arg("2").spawn().unwrap();
    let over = Program::new(["observe", "--duration", "5s", "--output", "json", "--no-attach"])
        .args(["--pid", &short.id().to_string()])
        .run();
    short.wait().unwrap();
    assert_eq!(over.code(), Some(4), "the only process that was named ended: {}", over.stdout);

    let judged = Program::new(["judge"]).args([ended.path("watched")]).run();
    assert_eq!(judged.code(), Some(0), "{}", judged.stderr);
    assert!(judged.stdout.contains("NOT ENOUGH EVIDENCE"), "{}", judged.stdout);
}

#[test]
fn a_page_for_which_there_is_no_directory_is_refused_before_the_window() {
    for command in ["observe", "diagnose"] {
        let ended = Program::new([command, "--duration", "1h", "--html", "missing/page.html"]).run();
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("there is no directory missing"), "{}", ended.stderr);
    }
}

#[test]
fn each_of_two_watched_processes_has_its_own_waits_in_the_kernel() {
    let mut shells: Vec<_> = (0..2)
        .map(|_| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "while :; do sleep 0.05; done"]).spawn().unwrap()
        })
        .collect();
    let mut program =
        Program::new(["observe", "--duration", "2s", "--no-attach", "--kernel", "--output", "json"]);
    for shell in &shells {
        program = program.args(["--pid", &shell.id().to_string()]);
    }
    let ended = program.run();
    for shell in &mut shells {
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    let missing = document["kernel"]["missing"].as_array();
    let is_traced =
        missing.is_some_and(|missing| missing.iter().all(|what| !what.to_string().contains("run_delay")));
    if !is_traced {
        return eprintln!("skipped: {} {}", document["kernel"]["missing"], document["unseen"]);
    }
    for (process, shell) in document["processes"].as_array().unwrap().iter().zip(&shells) {
        assert_eq!(process["pid"], shell.id());
        let waits = &process["kernel"];
        // It waits for each of its forty sleeps.
        assert!(waits["run_delay"]["count"].as_u64().unwrap() >= 20, "{waits:#}");
        assert!(!waits["off_cpu"].as_array().unwrap().is_empty(), "{waits:#}");
    }
}
