//! Files of the Open Messaging Benchmark, from the files to a scenario that runs.

use super::refused;
use crate::program::Program;
use serde_json::Value;

const WORKLOAD: &str = "name: orders\ntopics: 1\npartitionsPerTopic: 2\nmessageSize: 200\nuseRandomizedPayloads: true\n\
                        randomBytesRatio: 1.0\nrandomizedPayloadPoolSize: 100\nsubscriptionsPerTopic: 1\n\
                        consumerPerSubscription: 1\nproducersPerTopic: 1\nproducerRate: 500\nconsumerBacklogSizeGB: 0\n\
                        testDurationMinutes: 1\nwarmupDurationMinutes: 1\n";
const DRIVER: &str = "name: Kafka\ndriverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver\n\
                      replicationFactor: 1\ncommonConfig: |\n  bootstrap.servers=127.0.0.1:1\nproducerConfig: |\n  acks=1\n";
const SECURITY: &str = "  security.protocol=SASL_PLAINTEXT\n  sasl.mechanism=PLAIN\n  sasl.jaas.config=org.apache.kafka.\
                        common.security.plain.PlainLoginModule required username=\"ann\" password=\"hunter2\";\n";

fn import(workload: &str, driver: &str, more: &[&str]) -> Program {
    let program = Program::new(["import", "omb", "w.yaml", "--driver", "d.yaml"]).args(more);
    std::fs::write(program.directory().join("w.yaml"), workload).unwrap();
    std::fs::write(program.directory().join("d.yaml"), driver).unwrap();
    program
}

#[test]
fn an_imported_scenario_is_one_that_runs() {
    let imported = import(WORKLOAD, DRIVER, &[]).run();
    assert_eq!(imported.code(), Some(0), "{}", imported.stderr);
    assert!(
        imported.stderr.contains("w.yaml:11: producerRate: taken as load.rate: 500"),
        "{}",
        imported.stderr
    );
    let planned = Program::new(["run", "s.yaml", "--dry-run", "--output", "json"]);
    std::fs::write(planned.directory().join("s.yaml"), &imported.stdout).unwrap();
    let planned = planned.run();
    assert_eq!(planned.code(), Some(0), "{}\n{}", planned.stderr, imported.stdout);
    let kept = planned.json();
    let at_once = import(WORKLOAD, DRIVER, &["--run", "--dry-run", "--output", "json"]).run().json();
    let bare = |mut plan: Value| {
        plan["origins"] = Value::Null;
        plan
    };
    assert_eq!(at_once["origins"]["steps.0.load.rate_per_s"]["path"], "w.yaml");
    assert_eq!(at_once["origins"]["steps.0.load.rate_per_s"]["line"], 11);
    assert_eq!(bare(kept), bare(at_once), "kept or run at once, it is the same plan");
}

#[test]
fn the_table_of_keys_is_there_for_programs() {
    let table = import(WORKLOAD, DRIVER, &["--output", "json"]).run().json();
    let keys = table["keys"].as_array().unwrap();
    let rate = keys.iter().find(|key| key["key"] == "producerRate").unwrap();
    assert_eq!(
        (&rate["file"], &rate["line"], &rate["fate"]),
        (&"w.yaml".into(), &11.into(), &"taken".into())
    );
    assert!(table["scenario"].as_str().unwrap().contains("rate: 500"));
}

#[test]
fn a_secret_goes_to_the_file_that_the_user_names_and_nowhere_else() {
    let driver = DRIVER.replace("producerConfig", &format!("{SECURITY}producerConfig"));
    let told = refused(import(WORKLOAD, &driver, &[]));
    assert!(told.contains("--client-config") && !told.contains("hunter2"), "{told}");
    let imported = import(WORKLOAD, &driver, &["--client-config", "c.properties"]).run();
    assert_eq!(imported.code(), Some(0), "{}", imported.stderr);
    assert!(
        !imported.stdout.contains("hunter2") && !imported.stderr.contains("hunter2"),
        "{}",
        imported.stderr
    );
    let config = imported.path("c.properties");
    assert!(std::fs::read_to_string(&config).unwrap().contains("hunter2"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&config).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "nobody else reads it");
    let there = import(WORKLOAD, &driver, &["--client-config", "c.properties"]);
    std::fs::write(there.directory().join("c.properties"), "security.protocol=SSL\n").unwrap();
    assert!(refused(there).contains("overwrites none"));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let told = refused(import(&format!("{WORKLOAD}producerRat: 1\n"), DRIVER, &[]));
    assert!(told.contains("error: w.yaml:15: producerRat: unknown key"), "{told}");
    let told = refused(import(&format!("{WORKLOAD}producerRat: 1\n"), &format!("{DRIVER}zone: a\n"), &[]));
    assert!(
        told.contains("2 things stand in the way:") && told.contains("d.yaml:8: zone: unknown key"),
        "{told}"
    );
    let told = refused(import(&WORKLOAD.replace("warmupDurationMinutes: 1\n", ""), DRIVER, &[]));
    assert!(told.contains("--dialect upstream"), "{told}");
    let told = refused(import(&WORKLOAD.replace("Rate: 500", "Rate: 0"), DRIVER, &[]));
    assert!(told.contains("--goal p99=20ms"), "{told}");
    let told = refused(import(WORKLOAD, &DRIVER.replace("acks=1", "lingr.ms=1"), &[]));
    assert!(
        told.contains("d.yaml:7: producerConfig lingr.ms: refused: the client does not take it: "),
        "{told}"
    );
    assert!(!told.contains("lingr.ms: taken"), "{told}");
    let told = refused(import(&format!("{WORKLOAD}topics: 1\n"), DRIVER, &[]));
    assert!(told.contains("error: w.yaml:15:1: `topics` is written twice"), "{told}");
    assert!(refused(import(WORKLOAD, DRIVER, &["--output", "csv"])).contains("--run"));
    assert!(
        refused(Program::new(["import", "omb", "none.yaml", "--driver", "d.yaml"])).contains("none.yaml")
    );
}
