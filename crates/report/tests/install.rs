//! The files that an experiment hands over.

#![allow(missing_docs)]

#[allow(dead_code)]
mod sample;

use plumb_model::document::{ConfigKeyFate, KeyFate, RunDocument};
use plumb_model::plan::TopicPlan;
use plumb_model::trial::{Against, ArmPlan, TrialPlan};
use plumb_model::verdict::Verdict;
use plumb_report::install::{InstallFile, installs};
use plumb_report::text::{Figures, TextStyle};
use std::collections::BTreeMap;
use std::process::Command;

/// The first setup ahead of the second, by settings of both clients, the topic, the brokers and the host.
fn document() -> RunDocument {
    let mut document = sample::full();
    document.winners = vec![sample::winner(&document)];
    let topic = |value: &str| TopicPlan::Own {
        partitions: 1,
        replication: 1,
        configs: BTreeMap::from([("segment.bytes".to_owned(), value.to_owned())]),
        log_dir: None,
    };
    document.plan.steps[0].topic = topic("1048576");
    document.plan.steps[1].topic = topic("1073741824");
    let host = |of: [&str; 2]| {
        let names = ["net.ipv4.tcp_slow_start_after_idle", "/sys/kernel/mm/transparent_hugepage/enabled"];
        names
            .into_iter()
            .zip(of)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let arm = |step: usize, host: BTreeMap<String, String>| ArmPlan {
        name: document.plan.steps[step].name.clone(),
        step,
        differences: BTreeMap::new(),
        before: None,
        after: None,
        host,
    };
    document.steps[0].effective.host = host(["0", "never"]);
    document.steps[1].effective.host = host(["1", "madvise"]);
    document.plan.trial = Some(TrialPlan {
        arms: vec![arm(1, BTreeMap::new()), arm(0, host(["0", "never"]))],
        again: 2,
        against: Against::Reference,
        primary: "end_to_end.mean".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: vec![Verdict::Better],
    });
    document.environment.config_keys =
        vec![ConfigKeyFate { key: "sasl.password".to_owned(), line: 3, fate: KeyFate::Passed }];
    document
}

fn shown(files: &[InstallFile]) -> String {
    files
        .iter()
        .map(|file| {
            format!("=== {}{}\n{}\n", file.path, if file.executable { " (script)" } else { "" }, file.text)
        })
        .collect()
}

#[test]
fn the_files_of_a_winner() {
    let document = document();
    let installs = installs(&document);
    assert_eq!(installs.len(), 1);
    insta::assert_snapshot!("install_files", shown(&installs[0].files));
}

#[test]
fn what_promises_less_is_not_handed_over_and_the_report_says_so() {
    let mut document = document();
    document.winners[0].weaker = vec!["acks: all / 1".to_owned()];
    assert_eq!(installs(&document), []);
    let style = TextStyle { color: false, width: 100 };
    let text = plumb_report::text::render(&document, style, Figures::Headline);
    assert!(text.contains("Not to be installed as it is: it promises less than"), "{text}");
    assert!(text.contains("(acks: all / 1)"), "{text}");
}

#[test]
fn where_nothing_won_there_is_nothing_to_install() {
    let mut document = document();
    document.winners.clear();
    assert_eq!(installs(&document), []);
    let text =
        plumb_report::text::render(&document, TextStyle { color: false, width: 100 }, Figures::Headline);
    assert!(!text.contains("To install"), "{text}");
}

#[test]
fn secrets_and_line_breaks_end_in_no_file() {
    let mut document = document();
    let producer = &mut document.plan.steps[0].producer;
    producer.insert("sasl.password".to_owned(), "[redacted]".to_owned());
    producer.insert("client.id".to_owned(), "a\nacks=0".to_owned());
    let installs = installs(&document);
    for file in &installs[0].files {
        assert!(
            !file.text.contains("[redacted]\n") || file.path == "README.md",
            "{}: {}",
            file.path,
            file.text
        );
        let own = file.text.lines().filter(|line| line.starts_with("acks="));
        assert_eq!(own.count(), 0, "{}: {}", file.path, file.text);
    }
}

#[test]
fn every_script_is_one_that_bash_reads() {
    let document = document();
    for file in
        installs(&document).into_iter().flat_map(|install| install.files).filter(|file| file.executable)
    {
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), &file.text).unwrap();
        let read = Command::new("bash").arg("-n").arg(place.path()).output().unwrap();
        assert!(read.status.success(), "{}: {}", file.path, String::from_utf8_lossy(&read.stderr));
        let called = Command::new("bash").arg(place.path()).output().unwrap();
        assert_eq!(called.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&called.stderr).contains("Usage: "), "{}", file.path);
    }
}
