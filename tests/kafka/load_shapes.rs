//! Loads of every shape arrive as they were asked for: looked at in the log itself.

use super::{assert_nothing_missing, document, lab, run_scenario, steps};
use crate::drivers::{Driver, on_both_drivers};
use crate::kafka::Broker;
use crate::kafka::broker::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

on_both_drivers!(
    keys_in_turn_lie_equally_often_in_the_log,
    zipf_keys_have_a_hot_one,
    headers_and_the_content_of_a_payload_file_arrive_with_the_stamp_in_a_header,
    sizes_of_a_mix_lie_in_the_log_by_their_weights,
    two_producers_and_two_consumers_share_three_partitions,
    every_compression_reaches_the_log_and_comes_back_whole,
    every_acknowledgement_level_and_idempotence_keep_all_messages,
    irregular_schedules_keep_their_mean_rate_and_lose_nothing,
);

/// A run of one step on a topic of its own.
struct Shaped {
    broker: Broker,
    topic: String,
    partitions: i32,
    step: Value,
}

impl Shaped {
    /// Runs a load, and whatever `also` says in the scenario.
    fn run(driver: Driver, (name, partitions): (&str, i32), load: &str, also: &str) -> Self {
        let broker = Broker::at(&lab().plaintext_bootstrap());
        let topic = format!("{name}-{driver}");
        broker.create_topic(&topic, partitions, &[]);
        let scenario = format!("topic: {{name: {topic}}}\nload: {{warm_up: 0s, {load}}}\n{also}");
        let ended = run_scenario(driver, &scenario);
        let document = document(&ended);
        let step = steps(&document)[0].clone();
        assert_nothing_missing(&step);
        Shaped { broker, topic, partitions, step }
    }

    fn records(&self) -> Vec<Record> {
        self.broker.records(&self.topic, self.partitions)
    }

    /// The messages with keys; the probes, one for each partition, have one of their own.
    fn keyed(&self) -> Vec<(Vec<u8>, i32)> {
        let keyed = self.records().into_iter().filter_map(|record| Some((record.key?, record.partition)));
        let (probes, messages): (Vec<_>, Vec<_>) = keyed.partition(|(key, _)| key == b"probe-key");
        assert_eq!(i32::try_from(probes.len()), Ok(self.partitions));
        messages
    }

    /// The number of records of each key in the log, largest first.
    fn key_counts(&self) -> Vec<usize> {
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for (key, _) in self.keyed() {
            *counts.entry(key).or_default() += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }
}

fn keys_in_turn_lie_equally_often_in_the_log(driver: Driver) {
    let load = "rate: 1000, count: 300, size: 100B, keys: {round_robin: {count: 10}}";
    let run = Shaped::run(driver, ("keys-in-turn", 3), load, "");
    assert_eq!(run.key_counts(), [30; 10]);
}

#[test]
fn a_key_goes_to_the_same_partition_with_either_driver_and_by_either_hash() {
    const PARTITIONS: i32 = 7;
    let load = "rate: 1000, count: 400, size: 100B, keys: {round_robin: {count: 100}}";
    let mut by_hash = Vec::new();
    for (topic, also) in
        [("hash-crc32", ""), ("hash-murmur2", "setups:\n  - producer: {partitioner: murmur2}\n")]
    {
        let places = |driver| -> BTreeMap<Vec<u8>, i32> {
            let keyed = Shaped::run(driver, (topic, PARTITIONS), load, also).keyed();
            let places: BTreeMap<_, _> = keyed.iter().cloned().collect();
            assert!(keyed.iter().all(|(key, partition)| places[key] == *partition), "one place for a key");
            assert_eq!(places.len(), 100);
            places
        };
        let places = [places("librdkafka"), places("wire")];
        assert_eq!(places[0], places[1], "{topic}");
        by_hash.push(places);
    }
    assert_ne!(by_hash[0], by_hash[1], "two hashes");
}

fn zipf_keys_have_a_hot_one(driver: Driver) {
    let load = "rate: 1000, count: 600, size: 100B, keys: {zipf: {count: 50, exponent: 1.0}}";
    let counts = Shaped::run(driver, ("keys-zipf", 1), load, "").key_counts();
    // Key k has the share 1/k over the sum of 1/1..1/50, which is 4.499: 133 of 600 for the first, half of it next.
    assert!((100..=170).contains(&counts[0]), "{counts:?}");
    assert!((40..=95).contains(&counts[1]), "{counts:?}");
}

fn headers_and_the_content_of_a_payload_file_arrive_with_the_stamp_in_a_header(driver: Driver) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("order.json");
    std::fs::write(&file, r#"{"order": 4711, "city": "Utrecht"}"#).unwrap();
    let load = format!(
        "rate: 1000, count: 300, size: 34B, payload: {{file: '{}'}}, headers: {{tenant: blue}}",
        file.display()
    );
    let records = Shaped::run(driver, ("payload-file", 1), &load, "").records();
    assert_eq!(records.len(), 301);
    // The first is the probe.
    for record in &records[1..] {
        assert_eq!(record.value, std::fs::read(&file).unwrap());
        assert_eq!(record.headers["tenant"], b"blue");
        assert_eq!(record.headers.len(), 2, "{:?}", record.headers);
    }
}

fn sizes_of_a_mix_lie_in_the_log_by_their_weights(driver: Driver) {
    let load = "rate: 1000, count: 500, size: {mix: [{size: 200B, weight: 9}, {size: 5KiB, weight: 1}]}";
    let run = Shaped::run(driver, ("size-mix", 1), load, "");
    let sizes: Vec<usize> = run.records().iter().map(|record| record.value.len()).collect();
    let large = sizes.iter().filter(|size| **size == 5 << 10).count();
    assert_eq!(large + sizes.iter().filter(|size| **size == 200).count(), sizes.len());
    // Binomial(500, 0.1): 50 with a standard deviation of 6.7.
    assert!((23..=77).contains(&large), "{large}");
    assert_eq!(run.step["value_bytes_mean"], 692.0);
}

fn two_producers_and_two_consumers_share_three_partitions(driver: Driver) {
    let load = "rate: 600, count: 900, producers: 2, consumers: 2, keys: {uniform: {count: 30}}";
    let run = Shaped::run(driver, ("shared-out", 3), load, "");
    assert_eq!(run.step["effective"]["partitions"], 3);
    for partition in 0..3 {
        let (low, high) = run.broker.offsets(&run.topic, partition);
        assert!(high - low > 100, "partition {partition}: {low} to {high}");
    }
}

fn every_compression_reaches_the_log_and_comes_back_whole(driver: Driver) {
    let broker = Broker::at(&lab().plaintext_bootstrap());
    let mut scenario =
        "load: {rate: 500, count: 200, warm_up: 0s, payload: {entropy: 0.1}}\nblocks: 1\nsetups:\n"
            .to_owned();
    // The numbers that batches carry (Kafka's record batch format, attributes bits 0-2).
    let codecs = [("none", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];
    for (codec, _) in codecs {
        broker.create_topic(&format!("packed-{codec}-{driver}"), 1, &[]);
        scenario += &format!(
            "  - {{name: {codec}, topic: {{name: packed-{codec}-{driver}}}, producer: {{compression.type: {codec}}}}}\n"
        );
    }
    let ended = run_scenario(driver, &scenario);
    let document = document(&ended);
    for (step, (codec, number)) in steps(&document).iter().zip(codecs) {
        assert_nothing_missing(step);
        assert_eq!(codecs_in_log(&format!("packed-{codec}-{driver}")), BTreeSet::from([number]), "{codec}");
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

fn every_acknowledgement_level_and_idempotence_keep_all_messages(driver: Driver) {
    let ended = run_scenario(
        driver,
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

fn irregular_schedules_keep_their_mean_rate_and_lose_nothing(driver: Driver) {
    let ended = run_scenario(
        driver,
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
