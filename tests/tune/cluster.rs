//! Settings of a real cluster: changed by the admin protocol with the same journal, and taken away again where they were never set.

use crate::kafka::{Broker, lab};
use crate::program::{Ended, Program};
use serde_json::Value;
use std::path::Path;

/// The program in a directory of its own or of an earlier one, with its journals there.
fn tune(directory: &Path, arguments: &[&str]) -> Ended {
    let script = "cd \"$0\" && exec \"$@\"";
    let program = Program::new(["tune"]).args(arguments).env("PLUMB_STATE_DIR", directory.join("state"));
    program.under(&["sh", "-c", script, directory.to_str().unwrap()]).run()
}

/// A plan of `cluster.yaml` alone, as JSON.
fn plan(directory: &Path, bootstrap: &str) -> Ended {
    let profile = ["--profile", "cluster.yaml", "--only", "profile"];
    tune(directory, &[&["plan"], &profile[..], &["--bootstrap", bootstrap, "--output", "json"]].concat())
}

#[test]
fn a_brokers_and_a_topics_settings_are_changed_and_taken_away_again() {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    broker.create_topic("tuned", 1, &[("segment.ms", "3600000")]);
    let id = broker.replicas("tuned")[0].leader;
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write(
        "cluster.yaml",
        &format!(
            "broker:{id}:background.threads: 12\ntopic:tuned:flush.messages: 100000\ntopic:tuned:segment.ms: 7200000\n"
        ),
    );
    let planned = plan(directory.path(), &bootstrap);
    assert_eq!(planned.code(), Some(0), "{}", planned.stderr);
    write("plan.json", &planned.stdout);
    let before = |planned: &Value, name: &str| {
        let changes = planned["changes"].as_array().unwrap();
        let change = changes.iter().find(|change| change["target"]["key"] == name).unwrap();
        change["before"].as_str().unwrap().to_owned()
    };
    let flush = |broker: &Broker| broker.topic_configs("tuned").get("flush.messages").cloned().flatten();
    let usual = flush(&broker);
    assert_eq!(before(&planned.json(), "topic:tuned:flush.messages"), "(default)");
    assert_eq!(before(&planned.json(), "topic:tuned:segment.ms"), "3600000");

    let applied = tune(directory.path(), &["apply", "plan.json", "--output", "json"]);
    assert_eq!(applied.code(), Some(0), "{}", applied.stderr);
    assert_eq!(applied.json()["changes"].as_array().unwrap().len(), 3);
    assert_eq!(flush(&broker).as_deref(), Some("100000"));
    assert_eq!(broker.topic_configs("tuned")["segment.ms"].as_deref(), Some("7200000"));

    let reverted = tune(directory.path(), &["revert"]);
    assert_eq!(reverted.code(), Some(0), "{}{}", reverted.stdout, reverted.stderr);
    assert_eq!(flush(&broker), usual);
    assert_eq!(broker.topic_configs("tuned")["segment.ms"].as_deref(), Some("3600000"));
    let again = plan(directory.path(), &bootstrap);
    assert_eq!(before(&again.json(), &format!("broker:{id}:background.threads")), "(default)");
    assert_eq!(before(&again.json(), "topic:tuned:flush.messages"), "(default)");
}

#[test]
fn what_a_cluster_refuses_is_told_in_its_words_and_nothing_is_changed() {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    broker.create_topic("refused", 1, &[]);
    let directory = tempfile::tempdir().unwrap();
    for (line, words, code) in [
        ("topic:refused:flush.messages: nonsense", "Not a number", 3),
        ("topic:refused:no.such.key: 1", "it has no such key", 3),
        ("topic:refused:retention.ms: 1", "how long data is kept", 3),
    ] {
        std::fs::write(directory.path().join("cluster.yaml"), format!("{line}\n")).unwrap();
        let planned = plan(directory.path(), &bootstrap);
        let ended = match planned.code() {
            Some(0) => {
                std::fs::write(directory.path().join("plan.json"), &planned.stdout).unwrap();
                tune(directory.path(), &["apply", "plan.json"])
            }
            _ => planned,
        };
        assert_eq!(ended.code(), Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{line}: {}", ended.stderr);
    }
    assert!(!broker.topic_configs("refused").contains_key("retention.ms"));
}
