//! As fast as possible: what is in the document, and what is not.

use super::{keeping_sink, sink, throughput};
use crate::program::Program;
use plumb_lab::sink::ApiKey;
use serde_json::Value;
use std::collections::HashMap;

#[test]
fn a_saturating_run_has_rates_with_intervals_and_no_latency() {
    let sink = sink();
    for driver in ["librdkafka", "wire"] {
        let flags = format!("--driver {driver} --size 1KB --blocks 3 --duration 900ms");
        let document = throughput(&sink, &flags).run().json();
        assert_eq!(document["run"]["state"]["kind"], "complete");
        let step = &document["steps"][0];
        let counts = &step["counts"];
        let intended = counts["intended"].as_u64().unwrap();
        assert!(intended > 0);
        assert_eq!((counts["acked"].as_u64(), counts["unknown"].as_u64()), (Some(intended), Some(0)));
        assert_eq!(step["accounting"]["agrees"], true, "{driver}: {}", step["accounting"]);
        let throughput = &step["throughput"];
        let rate = throughput["produced_per_s"].as_f64().unwrap();
        let bytes_per_message = throughput["produced_bytes_per_s"].as_f64().unwrap() / rate;
        assert!((bytes_per_message - 1_000.0).abs() < 1e-6, "{bytes_per_message}");
        assert!(throughput["produced_interval"]["low"].as_f64().unwrap() < rate);
        assert_eq!((&throughput["received_per_s"], &throughput["drain_s"]), (&Value::Null, &Value::Null));
        for latency in ["end_to_end", "acknowledge", "end_to_end_service"] {
            assert_eq!(step["latency"][latency]["samples"], 0, "{driver} {latency}");
            assert_eq!(step["latency"][latency]["mean_ns"], Value::Null, "{driver} {latency}");
        }
        // How long its own queue is: what other tools' lines have.
        assert_eq!(step["latency"]["acknowledge_service"]["samples"], intended, "{driver}");
        assert_eq!(step["asked_per_s"], Value::Null);
        let instrument = &step["instrument"];
        assert!(instrument["cpu_s_per_gb"].as_f64().unwrap() > 0.0, "{instrument}");
        // The sink is a thread of this test.
        assert!(instrument["broker_cpu_s"].as_f64().unwrap() > 0.0, "{instrument}");
        assert!(document["environment"]["client"].as_str().unwrap().contains(driver), "{driver}");
    }
}

#[test]
fn batches_of_several_partitions_share_a_request_where_they_are_small() {
    let sink = sink();
    let topic = "small-batches";
    sink.control().create_topic(topic, 8, &HashMap::new()).unwrap();
    let bootstrap = sink.bootstrap();
    let program = Program::new(["throughput", "--bootstrap", &bootstrap, "--topic", topic]);
    let cache = program.directory().join("cache");
    let document = program
        .env("XDG_CACHE_HOME", cache)
        .args("--size 1KB --blocks 1 --count 6400 --warm-up 0s -X batch.size=16384 --output json".split(' '))
        .run()
        .json();
    assert_eq!(document["steps"][0]["counts"]["acked"], 6_400);
    let stats = sink.control().stats();
    let (requests, batches) = (stats.count(ApiKey::Produce), stats.topic(topic).batches);
    // A record goes round every partition first, and the last request may be short.
    assert!(batches >= 400 && requests * 4 < batches, "{batches} batches in {requests} requests");
}

#[test]
fn a_condition_on_a_rate_is_held_against_the_rate_of_the_run() {
    let sink = sink();
    let ended = throughput(&sink, "--size 1KB --blocks 1 --count 2000")
        .args(["--fail-if", "achieved/s<100M", "--fail-if", "received/s<1"])
        .run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let rate = ended.json()["steps"][0]["throughput"]["produced_per_s"].as_f64().unwrap();
    let failed = format!("fail-if achieved/s<100M: FAILED: as asked: {}", plumb_model::figure::per_s(rate));
    assert!(ended.stderr.contains(&failed), "{failed}\n{}", ended.stderr);
    assert!(ended.stderr.contains("NOT KNOWN, which fails: as asked: nobody receives"), "{}", ended.stderr);
}

#[test]
fn consumers_alone_have_a_rate_of_their_own_and_producers_none() {
    let flags = "--driver librdkafka --size 1KB --mode consume --blocks 1 --count 20000";
    let sink = keeping_sink();
    let document = throughput(&sink, flags).run().json();
    let step = &document["steps"][0];
    assert_eq!(step["counts"]["received"], 20_000);
    assert_eq!(step["throughput"]["produced_per_s"], Value::Null);
    assert!(step["throughput"]["received_per_s"].as_f64().unwrap() > 0.0);
    assert!(step["instrument"]["cpu_s_per_million_messages"].as_f64().unwrap() > 0.0);
}

#[test]
fn every_block_has_a_topic_of_its_own_that_goes_with_it() {
    let sink = sink();
    let flags = "--driver librdkafka --size 1KB --producers 1,2 --blocks 2 --count 2000";
    let ended = throughput(&sink, flags).run();
    let document = ended.json();
    let run = document["run"]["id"].as_str().unwrap();
    assert_eq!(document["plan"]["blocks"], 2);
    let partitions = sink.control().stats().partitions;
    let left: Vec<String> =
        partitions.into_keys().map(|(topic, _)| topic).filter(|topic| topic.contains(run)).collect();
    assert_eq!(left, Vec::<String>::new());
}
