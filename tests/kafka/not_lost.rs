//! Records that consumers are not given and that are not lost: those that retention deleted before they were read, and what others'
//! transactions leave in the logs.

use super::{document, lab, steps};
use crate::drivers::{Driver, on_both_drivers};
use crate::kafka::Broker;
use crate::program::Program;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;
use std::time::Duration;

on_both_drivers!(
    records_that_were_deleted_before_they_were_read_are_not_lost,
    a_backlog_that_is_deleted_before_it_is_drained_is_drained_all_the_same_and_told,
    an_open_transaction_of_others_is_told_and_is_no_saturation,
    a_topic_that_transactions_wrote_is_read_to_its_end,
);

const PATIENCE: Duration = Duration::from_secs(30);

/// A producer whose transaction has begun.
fn in_transaction(id: &str) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", lab().plaintext_bootstrap()).set("transactional.id", id);
    let producer: BaseProducer = config.create().unwrap();
    producer.init_transactions(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    producer
}

fn write(producer: &BaseProducer, topic: &str, records: u64) {
    for _ in 0..records {
        producer.send(BaseRecord::<(), str>::to(topic).partition(0).payload("of others")).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn has_reason(document: &Value, id: &str) -> bool {
    document["validity"]["reasons"].as_array().unwrap().iter().any(|reason| reason["id"] == id)
}

fn records_that_were_deleted_before_they_were_read_are_not_lost(driver: Driver) {
    // The topic is filled first and read then. A broker of its own, which looks for what is too old at once and not after minutes.
    let scenario = format!(
        "driver: {driver}\nblocks: 1\nsettle: 0s\n\
         cluster: {{lab: {{broker_properties: {{log.retention.check.interval.ms: 100, log.initial.task.delay.ms: 100}}}}}}\n\
         topic: {{configs: {{retention.ms: 5000, segment.ms: 200}}}}\n\
         load: {{mode: consume, duration: 9s, size: 100B, in_flight: 4, drain: 3s}}\n\
         setups: [{{producer: {{linger.ms: 5}}}}]\n"
    );
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let ended = program.run();
    let document = document(&ended);
    let counts = &steps(&document)[0]["counts"];
    let (removed, received) = (number(&counts["removed"]), number(&counts["received"]));
    assert!(removed > 0 && received > 0, "{counts}");
    assert_eq!((number(&counts["acked"]), &counts["lost"]), (removed + received, &0.into()), "{counts}");
    assert_eq!(steps(&document)[0]["accounting"]["agrees"], true);
    assert!(number(&steps(&document)[0]["accounting"]["deleted"]) >= removed);
    assert!(has_reason(&document, "removed-before-read") && !has_reason(&document, "messages-lost"));
}

fn a_backlog_that_is_deleted_before_it_is_drained_is_drained_all_the_same_and_told(driver: Driver) {
    // Built for twelve seconds, of which the first are too old when consumers begin.
    let scenario = format!(
        "driver: {driver}\nblocks: 1\nsettle: 0s\n\
         cluster: {{lab: {{broker_properties: {{log.retention.check.interval.ms: 100, log.initial.task.delay.ms: 100}}}}}}\n\
         topic: {{configs: {{retention.ms: 6000, segment.ms: 200}}}}\n\
         load: {{rate: 1000, mode: {{backlog: 1200000}}, duration: 3s, warm_up: 0s, size: 100B, drain: 5s}}\n"
    );
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let document = program.run().json();
    let step = &steps(&document)[0];
    assert!(number(&step["counts"]["removed"]) > 1_000, "{}", step["counts"]);
    assert_eq!(step["counts"]["lost"], 0, "{}", step["counts"]);
    assert!(step["throughput"]["drain_s"].as_f64().is_some(), "{}", step["throughput"]);
    assert!(has_reason(&document, "removed-before-read"), "{}", document["validity"]);
    // A busy machine may send too slowly; that a backlog grows by plan is never held against the path.
    assert!(
        !document["validity"].to_string().contains("acknowledged and not yet received"),
        "{}",
        document["validity"]
    );
}

fn an_open_transaction_of_others_is_told_and_is_no_saturation(driver: Driver) {
    let bootstrap = lab().plaintext_bootstrap();
    let topic = &format!("open-transaction-{driver}");
    Broker::at(&bootstrap).create_topic(topic, 1, &[]);
    let arguments = ["latency", "--rate", "200", "--duration", "12s", "--warm-up", "0s", "--blocks", "1"];
    let places = ["--bootstrap", &bootstrap, "--driver", driver, "--topic", topic, "--out", "run"];
    let mut running = Program::new(arguments).args(places).args(["--output", "json"]).start();
    let other = in_transaction(topic);
    running.wait_for("a measured second", |running| {
        let log = running.path("run/01-as-asked.acknowledge.hlog");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        log.lines().any(|line| line.starts_with(|first: char| first.is_ascii_digit())).then_some(())
    });
    write(&other, topic, 1);
    let document = running.wait().json();
    other.abort_transaction(PATIENCE).unwrap();
    let step = &steps(&document)[0];
    assert!(number(&step["accounting"]["held_back"]) > 0, "{}", step["accounting"]);
    assert_eq!(step["counts"]["lost"], 0, "{}", step["counts"]);
    for id in ["saturated", "counts-do-not-add-up", "replication-behind"] {
        assert!(!has_reason(&document, id), "{id}: {}", document["validity"]);
    }
    // The wire driver reads all records.
    assert_eq!(has_reason(&document, "open-transaction"), driver == "librdkafka", "{}", document["validity"]);
}

#[test]
fn a_block_whose_first_record_an_open_transaction_holds_back_ends_with_an_error_that_says_so() {
    let bootstrap = lab().plaintext_bootstrap();
    let topic = "open-transaction-before";
    Broker::at(&bootstrap).create_topic(topic, 1, &[]);
    let other = in_transaction(topic);
    write(&other, topic, 1);
    let arguments = ["latency", "--rate", "200", "--count", "50", "--blocks", "1", "--driver", "librdkafka"];
    let ended = Program::new(arguments).args(["--bootstrap", &bootstrap, "--topic", topic]).run();
    other.abort_transaction(PATIENCE).unwrap();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let told = "an open transaction of another producer holds ";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

fn a_topic_that_transactions_wrote_is_read_to_its_end(driver: Driver) {
    let bootstrap = lab().plaintext_bootstrap();
    let topic = &format!("transactions-{driver}");
    Broker::at(&bootstrap).create_topic(topic, 1, &[]);
    let producer = in_transaction(topic);
    write(&producer, topic, 5);
    producer.commit_transaction(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    write(&producer, topic, 3);
    producer.abort_transaction(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    write(&producer, topic, 7);
    producer.commit_transaction(PATIENCE).unwrap();

    let arguments = ["throughput", "--mode", "consume", "--output", "json", "--topic", topic];
    let document =
        document(&Program::new(arguments).args(["--driver", driver, "--bootstrap", &bootstrap]).run());
    let step = &steps(&document)[0];
    // librdkafka gives committed records alone, unless it is told otherwise.
    let (given, gaps) = if driver == "wire" { (15, 3) } else { (12, 6) };
    let blocks = step["blocks"].as_array().unwrap().len() as u64;
    assert_eq!(number(&step["counts"]["received"]), given * blocks, "{}", step["counts"]);
    assert_eq!(number(&step["accounting"]["gaps"]), gaps * blocks, "{}", step["accounting"]);
    assert_eq!(step["accounting"]["agrees"], true, "{}", step["accounting"]);
    assert!(!has_reason(&document, "counts-do-not-add-up"), "{}", document["validity"]);
}
