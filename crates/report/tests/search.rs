//! The answer of a search as people read it: what was refused, and what is worth a restart.

#![allow(missing_docs)]

use plumb_model::search_report::SearchReport;
use plumb_report::search::sheet;
use plumb_report::text::TextStyle;
use serde_json::{Value, json};

/// An answer as programs get it.
fn answer(part: &str, rows: Value) -> SearchReport {
    let mut report = json!({
        "schema_version": 1, "name": "search", "started_at": "2026-01-02T03:04:05Z", "seed": 1,
        "objective": "latency", "metric": "end_to_end.p99", "goal": null, "promise": "acks=all",
        "other_promises": [], "outcome": "as_good", "ending": "as_good",
        "summary": ["Your settings are as good as any of those found in 20 blocks."],
        "proposed": [], "candidates": [], "proof": null, "highest_rates": [], "other_rates": [],
        "restart": [], "envelope": [{"what": "rate", "value": "300 messages/s"}], "blocks": [], "front": [], "aborted": 0,
        "failed": 3, "refused": [], "ruled_out": [], "smallest_gain_ratio": 0.9, "spread_log": 0.1,
        "importance": [], "space": [], "left_out": [], "runs": ["search"]
    });
    report[part] = rows;
    serde_json::from_value(report).expect("the answer of a search")
}

fn render(report: &SearchReport) -> String {
    plumb_report::sheet::text::render(&sheet(report), TextStyle { color: false, width: 160 })
}

#[test]
fn what_was_refused_stands_with_whose_words_it_was_and_a_guess_is_said_to_be_one() {
    let refused = |settings: Value, beyond: bool, grounds: &str, by: &str, words: &str, blocks: usize| json!({"settings": settings, "beyond": beyond, "grounds": grounds, "by": by, "words": words, "blocks": blocks});
    let rows = json!([
        refused(
            json!({"producer.batch.size": "131072"}),
            true,
            "only",
            "broker",
            "Message size too large (MSG_SIZE_TOO_LARGE)",
            2
        ),
        refused(
            json!({"topic.segment.bytes": "134217728"}),
            true,
            "repeated",
            "broker",
            "not here (POLICY_VIOLATION)",
            2
        ),
        refused(
            json!({"consumer.fetch.min.bytes": "1024", "producer.linger.ms": "0"}),
            false,
            "together",
            "client",
            "no",
            1
        ),
    ]);
    insta::assert_snapshot!(render(&answer("refused", rows)));
}

#[test]
fn starts_of_the_brokers_stand_by_themselves() {
    let start = |setting: &str, ratio: f64, verdict: &str, reasons: &[&str]| {
        json!({"setting": setting, "from": "500", "to": "1000", "advised_by": null, "against": "as it is", "estimate_ratio": ratio,
               "interval_low": ratio * 0.9, "interval_high": ratio * 1.1, "level": 0.95, "verdict": verdict, "reasons": reasons,
               "pairs": 12, "starts": 12})
    };
    let rows = json!([
        start("queued.max.requests", 0.8, "better", &[]),
        start("socket.send.buffer.bytes", 0.97, "undecided", &["the interval includes no difference"]),
    ]);
    insta::assert_snapshot!(render(&answer("restart", rows)));
}
