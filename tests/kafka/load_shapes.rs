//! Loads of every shape arrive as they were asked for: looked at in the log itself.

use super::{assert_nothing_missing, document, lab, run_scenario, steps};
use crate::kafka::Broker;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Runs a scenario of one step on a topic of the test's own, and gives its step.
fn on_topic(topic: &str, partitions: i32, load: &str) -> (Broker, Value) {
    let broker = Broker::at(&lab().plaintext_bootstrap());
    broker.create_topic(topic, partitions, &[]);
    let ended = run_scenario(&format!("topic: {{name: {topic}}}\nload: {{warm_up: 0s, {load}}}\n"));
    let document = document(&ended);
    assert_nothing_missing(&steps(&document)[0]);
    (broker, steps(&document)[0].clone())
}

/// How often each key lies in the log, most often first. The probes, one for each partition, have none.
fn keys(broker: &Broker, topic: &str, partitions: i32) -> Vec<usize> {
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let records = broker.records(topic, partitions);
    let (probes, messages): (Vec<_>, Vec<_>) =
        records.into_iter().filter_map(|record| record.key).partition(|key| key == b"probe-key");
    assert_eq!(i32::try_from(probes.len()), Ok(partitions));
    for key in messages {
        *counts.entry(key).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn keys_in_turn_lie_equally_often_in_the_log() {
    let load = "rate: 1000, count: 300, size: 100B, keys: {round_robin: {count: 10}}";
    let (broker, _) = on_topic("keys-in-turn", 3, load);
    let counts = keys(&broker, "keys-in-turn", 3);
    assert_eq!(counts, [30; 10]);
}

#[test]
fn zipf_keys_have_a_hot_one() {
    let load = "rate: 1000, count: 600, size: 100B, keys: {zipf: {count: 50, exponent: 1.0}}";
    let (broker, _) = on_topic("keys-zipf", 1, load);
    let counts = keys(&broker, "keys-zipf", 1);
    // Key k has the share 1/k over the sum of 1/1..1/50, which is 4.499: 133 of 600 for the first, half of it next.
    assert!((100..=170).contains(&counts[0]), "{counts:?}");
    assert!((40..=95).contains(&counts[1]), "{counts:?}");
}

#[test]
fn headers_and_the_content_of_a_payload_file_arrive_with_the_stamp_in_a_header() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("order.json");
    std::fs::write(&file, r#"{"order": 4711, "city": "Utrecht"}"#).unwrap();
    let load = format!(
        "rate: 1000, count: 300, size: 34B, payload: {{file: '{}'}}, headers: {{tenant: blue}}",
        file.display()
    );
    let (broker, _) = on_topic("payload-file", 1, &load);
    let records = broker.records("payload-file", 1);
    assert_eq!(records.len(), 301);
    // The first is the probe.
    for record in &records[1..] {
        assert_eq!(record.value, std::fs::read(&file).unwrap());
        assert_eq!(record.headers["tenant"], b"blue");
        assert_eq!(record.headers.len(), 2, "{:?}", record.headers);
    }
}

#[test]
fn sizes_of_a_mix_lie_in_the_log_by_their_weights() {
    let load = "rate: 1000, count: 500, size: {mix: [{size: 200B, weight: 9}, {size: 5KiB, weight: 1}]}";
    let (broker, step) = on_topic("size-mix", 1, load);
    let sizes: Vec<usize> = broker.records("size-mix", 1).iter().map(|record| record.value.len()).collect();
    let large = sizes.iter().filter(|size| **size == 5 << 10).count();
    assert_eq!(large + sizes.iter().filter(|size| **size == 200).count(), sizes.len());
    // Binomial(500, 0.1): 50 with a standard deviation of 6.7.
    assert!((23..=77).contains(&large), "{large}");
    assert_eq!(step["value_bytes_mean"], 692.0);
}

#[test]
fn two_producers_and_two_consumers_share_three_partitions() {
    let (broker, step) = on_topic(
        "shared-out",
        3,
        "rate: 600, count: 900, producers: 2, consumers: 2, keys: {uniform: {count: 30}}",
    );
    assert_eq!(step["effective"]["partitions"], 3);
    for partition in 0..3 {
        let (low, high) = broker.offsets("shared-out", partition);
        assert!(high - low > 100, "partition {partition}: {low} to {high}");
    }
}

#[test]
fn every_compression_reaches_the_log_and_comes_back_whole() {
    let broker = Broker::at(&lab().plaintext_bootstrap());
    let mut scenario =
        "load: {rate: 500, count: 200, warm_up: 0s, payload: {entropy: 0.1}}\nblocks: 1\nsetups:\n"
            .to_owned();
    // The numbers that batches carry (Kafka's record batch format, attributes bits 0-2).
    let codecs = [("none", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];
    for (codec, _) in codecs {
        broker.create_topic(&format!("packed-{codec}"), 1, &[]);
        scenario += &format!(
            "  - {{name: {codec}, topic: {{name: packed-{codec}}}, producer: {{compression.type: {codec}}}}}\n"
        );
    }
    let ended = run_scenario(&scenario);
    let document = document(&ended);
    for (step, (codec, number)) in steps(&document).iter().zip(codecs) {
        assert_nothing_missing(step);
        assert_eq!(codecs_in_log(&format!("packed-{codec}")), BTreeSet::from([number]), "{codec}");
    }
}

/// The codecs of all batches in the log of a topic's first partition.
fn codecs_in_log(topic: &str) -> BTreeSet<u8> {
    let log = find(lab().directory(), &format!("{topic}-0")).expect(topic).join("00000000000000000000.log");
    let bytes = std::fs::read(log).unwrap();
    let mut codecs = BTreeSet::new();
    let mut at = 0;
    // Batch: base offset (8 bytes), length (4), leader epoch (4), magic (1), CRC (4), attributes (2), ...
    while at + 23 <= bytes.len() {
        let length = u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        if length == 0 {
            break;
        }
        codecs.insert(bytes[at + 22] & 0b111);
        at += 12 + length;
    }
    codecs
}

fn find(directory: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let directories: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    let here = directories.iter().find(|path| path.file_name().is_some_and(|found| found == name));
    here.cloned().or_else(|| directories.iter().find_map(|path| find(path, name)))
}

#[test]
fn every_acknowledgement_level_and_idempotence_keep_all_messages() {
    let ended = run_scenario(
        "\
load: {rate: 500, count: 300, warm_up: 0s}
blocks: 1
setups:
  - {name: none, producer: {acks: 0}}
  - {name: leader, producer: {acks: 1}}
  - {name: all, producer: {acks: all}}
  - {name: idempotent, producer: {enable.idempotence: true}}
",
    );
    let document = document(&ended);
    steps(&document).iter().for_each(assert_nothing_missing);
    let acks: Vec<&Value> = steps(&document).iter().map(|step| &step["durability"]["acks"]).collect();
    assert_eq!(acks, ["0", "1", "all", "all"]);
    assert_eq!(steps(&document)[3]["durability"]["idempotence"], true);
    let validity = document["validity"]["reasons"].to_string() + &document["findings"].to_string();
    assert!(validity.contains("unequal-durability"), "{validity}");
}

#[test]
fn irregular_schedules_keep_their_mean_rate_and_lose_nothing() {
    let ended = run_scenario(
        "\
load: {rate: 500, count: 1000, warm_up: 0s}
blocks: 1
setups:
  - {name: poisson, load: {schedule: poisson}}
  - {name: burst, load: {schedule: {burst: {messages: 50}}}}
",
    );
    let document = document(&ended);
    for step in steps(&document) {
        assert_nothing_missing(step);
        let asked = step["asked_per_s"].as_f64().unwrap();
        assert!((420.0..=580.0).contains(&asked), "{}: {asked}", step["name"]);
    }
}
