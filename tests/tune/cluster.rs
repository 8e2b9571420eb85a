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

/// Arms of a trial that differ in a broker's setting: it is in force in its arm's blocks alone, and gone after a kill in the middle and after
/// the end.
#[test]
fn a_running_brokers_setting_is_an_arm_of_a_trial_and_is_taken_away_however_that_ends() {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    broker.create_topic("arms", 1, &[]);
    let setting = format!("broker:{}:num.io.threads", broker.replicas("arms")[0].leader);
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("cluster.yaml", &format!("{setting}: 9\n"));
    write(
        "arms.yaml",
        &format!(
            "cluster: {{bootstrap: \"{bootstrap}\"}}\nload: {{rate: 50, duration: 300ms, warm_up: 100ms}}\ntrial: {{pairs: 6}}\narms:\n  as it is: {{}}\n  threads: {{host: {{\"{setting}\": 9}}}}\n"
        ),
    );
    let before = || {
        let planned = plan(directory.path(), &bootstrap);
        assert_eq!(planned.code(), Some(0), "{}", planned.stderr);
        let planned = planned.json();
        planned["changes"][0]["before"].as_str().unwrap_or("none planned").to_owned()
    };
    let trial = |arguments: &[&str]| {
        let program = Program::new(["trial", "run"])
            .args(arguments)
            .env("PLUMB_STATE_DIR", directory.path().join("state"));
        program.under(&["sh", "-c", "cd \"$0\" && exec \"$@\"", directory.path().to_str().unwrap()])
    };
    let mut killed = trial(&["arms.yaml", "--out", "arms"]).start();
    killed.wait_for("a change that was made", |_| {
        let journals = std::fs::read_dir(directory.path().join("state/journal")).ok()?;
        let text = journals.flatten().map(|file| std::fs::read_to_string(file.path()).unwrap_or_default());
        text.into_iter().any(|text| text.contains("\"done\"")).then_some(())
    });
    killed.signal(rustix::process::Signal::KILL);
    killed.wait();
    // The value that is asked for is there, so nothing is to be planned.
    assert_eq!(before(), "none planned");
    let reverted = tune(directory.path(), &["revert"]);
    assert_eq!(reverted.code(), Some(0), "{}{}", reverted.stdout, reverted.stderr);
    assert_eq!(before(), "(default)", "{}", reverted.stdout);

    let ended = trial(&["--resume", "arms"]).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(before(), "(default)", "{}", ended.stderr);
    let text = std::fs::read_to_string(directory.path().join("arms/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let read =
        |step: usize| document["steps"][step]["effective"]["host"][&setting].as_str().unwrap().to_owned();
    assert_eq!([read(0), read(1)], ["(default)", "9"]);
}

#[test]
fn a_brokers_setting_that_it_refuses_ends_a_trial_before_its_first_block() {
    let bootstrap = lab().plaintext_bootstrap();
    let directory = tempfile::tempdir().unwrap();
    for (setting, says) in [
        ("broker:1:no.such.key: 1", "it has no such key"),
        ("broker:99:num.io.threads: 9", "broker:99:num.io.threads"),
        ("broker:1:log.retention.ms: 1", "how long data is kept"),
    ] {
        let text = format!(
            "cluster: {{bootstrap: \"{bootstrap}\"}}\nload: {{rate: 50, duration: 300ms}}\ntrial: {{pairs: 6}}\narms:\n  as it is: {{}}\n  other: {{host: {{{}}}}}\n",
            setting.replace(": ", "\": ").replacen("broker", "\"broker", 1)
        );
        std::fs::write(directory.path().join("arms.yaml"), text).unwrap();
        let program = Program::new(["trial", "run", "arms.yaml", "--out", "refused"])
            .env("PLUMB_STATE_DIR", directory.path().join("state"));
        let ended = program
            .under(&["sh", "-c", "cd \"$0\" && exec \"$@\"", directory.path().to_str().unwrap()])
            .run();
        assert_eq!(ended.code(), Some(3), "{setting}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{setting}: {}", ended.stderr);
        assert!(!directory.path().join("refused/run.json").exists(), "{setting}");
    }
}
