//! `--dry-run`: what it refuses is what the run refuses, and every value says where it comes from.

use super::{complaint, latency};
use crate::program::{Ended, Program};

fn planned(scenario: &str, flags: &[&str]) -> Ended {
    let program = Program::new(["run", "s.yaml", "--dry-run"]).args(flags);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    std::fs::write(program.directory().join("client.properties"), "").unwrap();
    std::fs::create_dir(program.directory().join("there")).unwrap();
    program.run()
}

const LOAD: &str = "load: {rate: 100, count: 50}\n";

#[test]
fn a_lab_that_could_not_be_started_is_refused() {
    for (lab, said) in [
        ("log_dirs: {sata: there, pmem: missing}", "log directory missing: it is not there"),
        ("broker_properties: {log.dirs: /tmp/x}", "log.dirs is set by the lab and cannot be given"),
        ("jvm_flags: [Xmx1g]", "one that begins with -"),
        ("heap: lots", "is not a heap size"),
        ("brokers: 99", "it must be between 1 and 15"),
    ] {
        let refused = complaint(&planned(&format!("cluster: {{lab: {{{lab}}}}}\n{LOAD}"), &[]));
        assert!(refused.contains(said) && !refused.starts_with("exit 5"), "{lab}: {refused}");
    }
}

#[test]
fn the_lab_of_an_arm_that_could_not_be_started_is_refused() {
    let arms = "arms: {default: {}, low: {cluster: {broker_properties: {listeners: x}}}}";
    let program = Program::new(["trial", "run", "s.yaml", "--dry-run"]);
    std::fs::write(program.directory().join("s.yaml"), format!("cluster: lab\n{LOAD}{arms}")).unwrap();
    let refused = complaint(&program.run());
    assert!(refused.contains("listeners is set by the lab"), "{refused}");
}

#[test]
fn places_for_results_that_will_not_do_are_refused() {
    let scenario = format!("cluster: lab\n{LOAD}");
    let taken = complaint(&planned(&scenario, &["--out", "s.yaml"]));
    assert!(taken.contains("s.yaml exists already"), "{taken}");
    let nowhere = complaint(&planned(&scenario, &["--junit", "nowhere/j.xml"]));
    assert!(nowhere.contains("cannot write the JUnit file"), "{nowhere}");
    let ended = planned(&scenario, &["--junit", "j.xml"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(!ended.path("j.xml").exists(), "a dry run makes nothing");
}

#[test]
fn a_number_with_something_behind_it_is_refused_by_both_drivers() {
    for driver in ["librdkafka", "wire"] {
        let program = latency("127.0.0.1:1").args(["--dry-run", "--driver", driver, "-X", "linger.ms=3ms"]);
        let refused = complaint(&program.run());
        assert!(
            refused.starts_with("exit 2\nerror: client property linger.ms = \"3ms\" is refused"),
            "{refused}"
        );
    }
}

#[test]
fn every_value_of_a_cluster_says_where_it_is_written() {
    let scenario = "\
cluster:
  lab:
    log_dirs: {sata: there}
    broker_properties: {num.io.threads: 4}
    jvm_flags: [-XX:+UseZGC]
load: {rate: 100, count: 50}
";
    let origin = |ended: &Ended, value: &str| {
        let line = ended.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{value} ")));
        line.and_then(|line| line.split("  ").last()).unwrap_or_default().trim().to_owned()
    };
    let of_file = planned(scenario, &[]);
    assert_eq!(of_file.code(), Some(0), "{}", of_file.stderr);
    for (value, expected) in [
        ("kind", "s.yaml:2"),
        ("broker_properties.num.io.threads", "s.yaml:4"),
        ("jvm_flags", "s.yaml:5"),
        ("log_dirs", "s.yaml:3"),
        ("heap", "default"),
    ] {
        assert_eq!(origin(&of_file, value), expected, "{value}: {}", of_file.stdout);
    }
    let of_flags = planned(scenario, &["--bootstrap", "127.0.0.1:1", "--config", "client.properties"]);
    assert_eq!(of_flags.code(), Some(0), "{}", of_flags.stderr);
    for (value, expected) in [("kind", "--bootstrap"), ("bootstrap", "--bootstrap"), ("config", "--config")] {
        assert_eq!(origin(&of_flags, value), expected, "{value}: {}", of_flags.stdout);
    }
    for ended in [of_file, of_flags] {
        assert!(!ended.stdout.contains("not recorded"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("cluster  "), "{}", ended.stdout);
    }
}

#[test]
fn a_load_without_a_known_number_of_messages_is_not_told_to_have_none() {
    let ended = planned("cluster: lab\nload: {rate: max, duration: 10s}\n", &[]);
    let first = ended.stdout.lines().next().unwrap();
    assert!(first.ends_with("1 setup in 1 block, as many messages as go through"), "{first}");
    assert_eq!(ended.stderr.matches("It would take about").count(), 1, "{}", ended.stderr);
}
