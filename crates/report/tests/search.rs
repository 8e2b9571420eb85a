//! The answer of a search as people read it: what was refused, and what is worth a restart.

#![allow(missing_docs)]

use plumb_model::compare::searches::SearchesCompared;
use plumb_model::search_report::SearchReport;
use plumb_report::search::{sheet, side_by_side};
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

/// A block as programs get it.
fn block(settings: &Value, p99_ns: f64) -> Value {
    json!({"settings": settings, "purpose": "race", "started_at": "", "objective": p99_ns, "goal_ratio": null, "feasible": null,
           "aborted": false, "failed": null, "measured_s": 20.0, "achieved_per_s": 300.0, "p50_ns": 1e6, "p99_ns": p99_ns,
           "cpu_per_message_us": 100.0})
}

#[test]
fn what_is_proven_is_drawn_filled_where_its_own_blocks_came_to_and_the_legend_says_so_only_then() {
    let blocks = json!([
        block(&json!({}), 9e6),
        block(&json!({"producer.linger.ms": "0", "producer.batch.size": "1"}), 4e6)
    ]);
    let mut report = answer("blocks", blocks);
    let page = |report: &SearchReport| plumb_report::sheet::page::render(&sheet(report), "search").unwrap();
    let without = page(&report);
    assert!(!without.contains("class=\"proven\"") && !without.contains("Filled:"), "{without}");
    report.outcome = serde_json::from_value(json!("better")).unwrap();
    report.proposed = serde_json::from_value(
        json!([{"setting": "producer.linger.ms", "from": "5", "from_is_written": false, "to": "0",
        "effect": null, "interval_low": null, "interval_high": null, "verdict": "whole"}]),
    )
    .unwrap();
    report.proof = serde_json::from_value(json!({"estimate_ratio": 0.5, "interval_low": 0.4, "interval_high": 0.6, "level": 0.95,
        "verdict": "better", "vetoes": [], "reason": null, "before": 9e6, "after": 4e6, "unit": "ns", "pairs": 12, "starts": 12,
        "guards": [], "goal_held": null, "unequal_guarantees": [], "guarantees": {},
        "figures": {"p50_ns": 1e6, "p99_ns": 5e6, "cpu_per_message_us": 90.0}}))
    .unwrap();
    let with = page(&report);
    assert_eq!(with.matches("circle class=\"proven\"").count(), 1, "{with}");
    assert!(with.contains("proven, the median of its blocks: producer.linger.ms 0"), "{with}");
    assert!(with.contains("Filled: proven by blocks that chose nothing."), "{with}");
}

#[test]
fn settings_that_changed_together_stand_with_the_reason_why_they_cannot_be_told_apart() {
    let row = |setting: &str, is_told: bool, together: Value| {
        let mut row = json!({"setting": setting, "share": 0.4, "low": 0.2, "high": 0.6, "is_told": is_told});
        if !together.is_null() {
            row["together"] = together;
        }
        row
    };
    let with = |name: &str, blocks: &str| json!({"with": [name], "blocks": blocks});
    let rows = json!([
        row("producer.linger.ms", true, Value::Null),
        row("producer.batch.size", false, with("consumer.fetch.wait.max.ms", "every")),
        row("consumer.fetch.wait.max.ms", false, with("producer.batch.size", "every")),
        row("topic.segment.bytes", false, Value::Null),
    ]);
    insta::assert_snapshot!(render(&answer("importance", rows)));
}

#[test]
fn two_searches_stand_side_by_side_with_their_proofs_and_what_differs_in_their_questions() {
    let side = |place: &str, outcome: &str, proof: Value| {
        json!({
            "place": place, "name": "orders", "started_at": "2026-01-02T03:04:05Z", "metric": "end_to_end.p99",
            "outcome": outcome, "summary": "", "blocks": 40, "proof": proof
        })
    };
    let proof = json!({
        "estimate_ratio": 0.42, "interval_low": 0.39, "interval_high": 0.46, "level": 0.95, "verdict": "better", "pairs": 12
    });
    let step = |from: &str, to: &str, proven: bool| json!({"from": from, "to": to, "proven": proven});
    let compared: SearchesCompared = serde_json::from_value(json!({
        "schema_version": 1, "a": side("before", "better", proof), "b": side("after", "to_prove", Value::Null),
        "differences": [{"what": "rate", "a": "300 messages/s", "b": "500 messages/s"}],
        "settings": [
            {"setting": "consumer.fetch.min.bytes", "a": null, "b": step("1", "1024", false)},
            {"setting": "producer.linger.ms", "a": step("5", "0", true), "b": step("5", "1", false)}
        ],
        "cannot_show": [
            "The searches differ in rate: their ratios are no answers to the same question.",
            "Which proposal is better is told by a trial that has both as arms."
        ]
    }))
    .expect("two searches");
    let text = plumb_report::sheet::text::render(
        &side_by_side::sheet(&compared),
        TextStyle { color: false, width: 160 },
    );
    insta::assert_snapshot!(text);
}
