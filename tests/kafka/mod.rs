//! The program against real Apache Kafka.
//!
//! One broker for all tests of this binary, with a plaintext listener and one that asks for TLS and a login: a start
//! takes two seconds. Each test has its own topics; what it asserts about leftovers, it asserts about its own run.

mod broker;
mod existing_topic;
mod lab_command;
mod lab_ends;
mod load_shapes;
mod modes;
mod not_lost;
pub(crate) mod secured;
mod stages;

pub(crate) use broker::{Broker, Record, Replicas};

use crate::drivers::Driver;
use crate::program::{Ended, Program};
use plumb_lab::kafka::{LabCluster, LabOptions, Labs, ScramUser, Tls};
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

pub(crate) const USER: &str = "ann";
pub(crate) const PASSWORD: &str = "correct-horse-battery-staple";

/// The broker of this binary. It ends with the process; what it leaves on disk, the next start clears.
pub(crate) fn lab() -> &'static LabCluster {
    static LAB: OnceLock<LabCluster> = OnceLock::new();
    LAB.get_or_init(|| {
        let options = LabOptions {
            tls: Tls::Server,
            sasl: vec![ScramUser::new(USER, PASSWORD)],
            // As most clusters have it, and a lab does not: what asks for a topic may make it.
            broker_properties: vec![("auto.create.topics.enable".into(), "true".into())],
            ..LabOptions::default()
        };
        Labs::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab")).start(&options).unwrap()
    })
}

/// `plumb run` of this scenario with a driver against the plaintext listener, as far as it may succeed.
pub(crate) fn run_scenario(driver: Driver, scenario: &str) -> Ended {
    let bootstrap = lab().plaintext_bootstrap();
    let program =
        Program::new(["run", "s.yaml", "--output", "json", "--out", "run", "--bootstrap", &bootstrap]);
    let scenario = format!("driver: {driver}\n{scenario}");
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

/// The document of a run that was carried out to its end. On a busy machine its figures may not be fit for use, which
/// the exit code then says; what these tests assert does not depend on that.
pub(crate) fn document(ended: &Ended) -> Value {
    let document = ended.json();
    assert_eq!(document["run"]["state"]["kind"], "complete", "{}", ended.stderr);
    let is_invalid = document["validity"]["verdict"] == "invalid";
    assert_eq!(ended.code(), Some(i32::from(is_invalid)), "{}\n{}", ended.stderr, document["validity"]);
    document
}

pub(crate) fn steps(document: &Value) -> &[Value] {
    document["steps"].as_array().unwrap()
}

/// Every message was sent, acknowledged, stored and received once, and the broker's offsets agree.
pub(crate) fn assert_nothing_missing(step: &Value) {
    let counts = &step["counts"];
    let intended = counts["intended"].as_u64().unwrap();
    assert!(intended > 0);
    let expected = serde_json::json!({
        "intended": intended, "sent": intended, "acked": intended, "failed": 0, "unknown": 0,
        "received": intended, "lost": 0, "removed": 0, "duplicated": 0, "reordered": counts["reordered"],
    });
    assert_eq!(*counts, expected, "{}", step["name"]);
    assert_eq!(step["accounting"]["agrees"], true, "{}: {}", step["name"], step["accounting"]);
    assert_eq!(step["latency"]["end_to_end"]["samples"], intended, "{}", step["name"]);
}
