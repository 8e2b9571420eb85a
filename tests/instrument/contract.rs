//! The promises of `--output json` to other programs, written down by hand: not by the types that print it.

use super::{Document, Path};
use crate::drivers::{Driver, on_both_drivers};
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both_drivers!(
    the_document_has_the_promised_fields_and_types,
    an_absent_figure_is_null_and_neither_zero_nor_missing,
    the_document_fits_the_published_schema_and_a_damaged_one_does_not,
);

const COUNTS: [&str; 10] = [
    "intended",
    "sent",
    "acked",
    "failed",
    "unknown",
    "received",
    "lost",
    "removed",
    "duplicated",
    "reordered",
];
const LATENCIES: [&str; 4] = ["end_to_end", "acknowledge", "end_to_end_service", "acknowledge_service"];
const QUANTILES: [&str; 5] = ["p50_ns", "p75_ns", "p95_ns", "p99_ns", "p999_ns"];
const STAGES: [&str; 7] = ["slip", "produce", "publish", "commit", "catch_up", "fetch", "unexplained"];

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn schema() -> Value {
    let schemas = plumb_cli::schema::schemas();
    let (_, text) = schemas.iter().find(|(name, _)| *name == "run-document.schema.json").unwrap();
    serde_json::from_str(text).unwrap()
}

fn document(driver: Driver) -> Value {
    let path = Path::new(driver);
    Document::of(&path.latency(1_000, 1_000).run()).0
}

fn the_document_has_the_promised_fields_and_types(driver: Driver) {
    let document = document(driver);
    assert_eq!(document["schema_version"], 1);
    assert!(["valid", "suspect", "invalid"].contains(&document["validity"]["verdict"].as_str().unwrap()));
    for reason in document["validity"]["reasons"].as_array().unwrap() {
        assert!(reason["id"].is_string(), "{reason:#}");
    }
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1);
    let step = &steps[0];
    assert!(step["name"].is_string());
    assert_eq!(step["asked_per_s"], 1_000.0);
    assert!(step["achieved_per_s"].is_f64());
    assert_eq!(keys(&step["counts"]), BTreeSet::from(COUNTS));
    assert!(COUNTS.iter().all(|name| step["counts"][name].is_u64()));
    assert_eq!(keys(&step["latency"]), BTreeSet::from(LATENCIES));
    for latency in LATENCIES.map(|name| &step["latency"][name]) {
        assert_eq!(latency["samples"], 1_000);
        assert!(latency["min_ns"].is_u64() && latency["max_ns"].is_u64());
        assert!(latency["mean_ns"].is_f64());
        let quantiles = QUANTILES[..4].iter().map(|name| latency[name].as_u64().unwrap());
        assert!(quantiles.is_sorted(), "{latency:#}");
    }
    let stages = step["stages"].as_array().unwrap().iter();
    let names: BTreeSet<&str> = stages.map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(STAGES));
}

fn an_absent_figure_is_null_and_neither_zero_nor_missing(driver: Driver) {
    let document = document(driver);
    for latency in LATENCIES {
        // 1,000 samples are a tenth of what a 99.9th percentile needs.
        let latency = document["steps"][0]["latency"][latency].as_object().unwrap();
        assert_eq!(latency.get("p999_ns"), Some(&Value::Null));
    }
    let stages = document["steps"][0]["stages"].as_array().unwrap();
    for stage in stages {
        let (mean, fidelity) = (stage.get("mean_ns").unwrap(), stage.get("fidelity").unwrap());
        assert_eq!(mean.is_null(), fidelity.is_null(), "{stage:#}");
    }
    let unknown = stages.iter().filter(|stage| stage["mean_ns"].is_null()).count();
    assert!(unknown > 0, "a broker without metrics cannot tell all stages");
}

fn the_document_fits_the_published_schema_and_a_damaged_one_does_not(driver: Driver) {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let document = document(driver);
    let errors: Vec<String> = schema.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let damages: [(&str, Value); 4] = [
        ("/steps/0/counts/lost", json!(-1)),
        ("/steps/0/latency/end_to_end/p50_ns", json!("1 ms")),
        ("/validity/verdict", json!("fine")),
        ("/steps/0/counts", json!({})),
    ];
    for (place, damage) in damages {
        let mut damaged = document.clone();
        *damaged.pointer_mut(place).unwrap() = damage;
        assert!(!schema.is_valid(&damaged), "{place}");
    }
}
