//! The files that an experiment hands over, read and carried out by those whom they are for: Kafka's own tools and librdkafka.

use crate::kafka::{Broker, lab};
use crate::program::Program;
use plumb_model::document::RunDocument;
use plumb_model::trial::Good;
use plumb_model::winner::Winner;
use plumb_report::install::{InstallFile, installs};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Two setups that were really run; which of them is ahead is not what these tests are about.
const SCENARIO: &str = "
load: {rate: 200, count: 20, warm_up: 0s}
blocks: 1
setups:
  - {name: slow, producer: {linger.ms: 30, acks: all}}
  - name: fast
    producer: {linger.ms: 0, acks: all, socket.nagle.disable: true, queue.buffering.max.kbytes: 4096}
    consumer: {fetch.wait.max.ms: 10}
    topic: {configs: {segment.bytes: 2097152, retention.ms: 3600000}}
";

fn written(to: &Path) -> Vec<InstallFile> {
    let program =
        Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &lab().plaintext_bootstrap()]);
    std::fs::write(program.directory().join("s.yaml"), SCENARIO).unwrap();
    let ended = program.run();
    let document = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let mut document: RunDocument = serde_json::from_str(&document).unwrap();
    document.winners = vec![Winner {
        step: "fast".to_owned(),
        against: "slow".to_owned(),
        metric: "end_to_end.mean".to_owned(),
        good: Good::Lower,
        ratio: 0.5,
        ratio_low: None,
        ratio_high: None,
        level: 0.95,
        beats_all: true,
        also_better: Vec::new(),
        weaker: Vec::new(),
    }];
    let files = installs(&document).remove(0).files;
    for file in &files {
        let path = to.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &file.text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    files
}

/// Java of the broker that runs, and its class path.
fn java_of_broker() -> (String, String) {
    let pid = lab().broker_pids()[0];
    let words = |name: &str| -> Vec<String> {
        let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap();
        bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    };
    let environment = words("environ");
    let class_path = environment.iter().find_map(|word| word.strip_prefix("CLASSPATH=")).unwrap();
    (words("cmdline").remove(0), class_path.to_owned())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_topic_is_given_the_settings_and_gets_back_what_it_had() {
    let place = tempfile::tempdir().unwrap();
    written(place.path());
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    let topic = "install-apply-and-undo";
    broker.create_topic(topic, 1, &[("retention.ms", "7200000"), ("max.message.bytes", "2000000")]);
    let before = broker.topic_configs(topic);
    let (java, class_path) = java_of_broker();
    let tool = place.path().join("kafka-configs.sh");
    let words = format!("#!/bin/sh\nexec '{java}' -cp '{class_path}' kafka.admin.ConfigCommand \"$@\"\n");
    std::fs::write(&tool, words).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let script = |name: &str| {
        let mut command = Command::new(place.path().join("topic").join(name));
        let ended =
            command.args([&bootstrap, topic]).current_dir(place.path()).env("PATH", &path).output().unwrap();
        assert!(ended.status.success(), "{name}: {}", said(&ended));
    };
    script("apply.sh");
    let applied = broker.topic_configs(topic);
    let of = |key: &str| applied.get(key).cloned().flatten();
    assert_eq!(of("segment.bytes").as_deref(), Some("2097152"));
    assert_eq!(of("retention.ms").as_deref(), Some("3600000"));
    assert_eq!(of("max.message.bytes").as_deref(), Some("2000000"), "what is none of its business stays");
    script("undo.sh");
    assert_eq!(broker.topic_configs(topic), before);
}

#[test]
fn both_clients_take_their_files() {
    let place = tempfile::tempdir().unwrap();
    let files = written(place.path());
    let bootstrap = lab().plaintext_bootstrap();
    let topic = "install-clients";
    Broker::at(&bootstrap).create_topic(topic, 1, &[]);
    let (java, class_path) = java_of_broker();
    let produced = Command::new(&java)
        .args(["-cp", &class_path, "org.apache.kafka.tools.ProducerPerformance", "--topic", topic])
        .args(["--num-records", "10", "--record-size", "10", "--throughput", "-1"])
        .args(["--producer-props", &format!("bootstrap.servers={bootstrap}"), "--producer.config"])
        .arg(place.path().join("java/producer.properties"))
        .output()
        .unwrap();
    assert!(produced.status.success(), "{}", said(&produced));
    assert!(said(&produced).contains("10 records sent"), "{}", said(&produced));
    let of = |path: &str| &files.iter().find(|file| file.path == path).unwrap().text;
    for line in ["linger.ms=0", "buffer.memory=4194304", "# socket.nagle.disable=true has no counterpart"] {
        assert!(of("java/producer.properties").contains(line), "{line}");
    }
    assert!(of("java/consumer.properties").contains("fetch.max.wait.ms=10"));
    // librdkafka itself: a plan with these properties is refused where it does not take them.
    let flags = |path: &str| -> Vec<String> {
        let lines = of(path).lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(|line| ["-X".to_owned(), line.to_owned()]).collect()
    };
    let ended = Program::new(["latency", "--bootstrap", &bootstrap, "--rate", "100", "--dry-run"])
        .args(["--driver", "librdkafka"])
        .args(flags("librdkafka/producer.properties"))
        .args(flags("librdkafka/consumer.properties"))
        .run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}
