//! Produce, fetch, topics and settings, without faults.

use std::{collections::HashMap, time::Duration};

use plumb_lab::sink::{ApiKey, Keep, SinkBroker, SinkOptions};
use rdkafka::{
    admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer},
    error::RDKafkaErrorCode,
    message::Timestamp,
    producer::Producer,
};

use super::client::{LIMIT, Sender, TOPIC, config, next, payloads, read_all, reader, sink};

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("record {number}")).collect()
}

#[test]
fn what_is_produced_with_each_acks_is_consumed_in_order() {
    for (acks, idempotent) in [("0", "false"), ("1", "false"), ("all", "false"), ("all", "true")] {
        let (broker, control) = sink(1);
        let properties = [
            ("acks", acks),
            ("enable.idempotence", idempotent),
            ("batch.num.messages", "10000"),
            ("linger.ms", "1"),
        ];
        let sender = Sender::new(&broker, &properties);
        let sent = numbered(1_000);
        for payload in &sent {
            sender.send(payload, 0);
        }
        assert!(sender.reports().iter().all(|report| report.outcome.is_ok()), "acks={acks}");
        control.wait_until(LIMIT, |stats| stats.topic(TOPIC).log_end == 1_000).unwrap();
        let reads = read_all(&broker, 1);
        assert_eq!(payloads(&reads), sent, "acks={acks}");
        assert!(reads.iter().map(|read| read.offset).eq(0..1_000));
    }
}

#[test]
fn every_compression_goes_through_unchanged() {
    for codec in ["gzip", "snappy", "lz4", "zstd"] {
        let (broker, _) = sink(1);
        let properties = [("compression.codec", codec), ("batch.num.messages", "1000"), ("linger.ms", "5")];
        let Ok(producer) = config(&broker, &properties).create::<rdkafka::producer::BaseProducer>() else {
            continue; // A codec that this build of the client lacks.
        };
        drop(producer);
        let sender = Sender::new(&broker, &properties);
        let sent = numbered(200);
        sent.iter().for_each(|payload| sender.send(payload, 0));
        sender.reports();
        assert_eq!(payloads(&read_all(&broker, 1)), sent, "{codec}");
    }
}

#[test]
fn each_partition_has_offsets_of_its_own() {
    let (broker, control) = sink(3);
    let sender = Sender::new(&broker, &[]);
    for number in 0..30 {
        sender.send(&format!("{number}"), number % 3);
    }
    assert!(sender.reports().iter().all(|report| report.outcome.is_ok()));
    let reads = read_all(&broker, 3);
    for partition in 0..3 {
        let offsets = reads.iter().filter(|read| read.partition == partition).map(|read| read.offset);
        assert!(offsets.eq(0..10));
    }
    let stats = control.stats();
    assert_eq!(stats.topic(TOPIC).arrived, 30);
    assert_eq!(stats.partitions[&(TOPIC.to_owned(), 2)].log_end, 10);
}

#[test]
fn a_fetch_that_waits_is_answered_when_a_record_arrives_and_not_when_its_wait_ends() {
    let (broker, control) = sink(1);
    let consumer = reader(&broker, 1, &[("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "70000")]);
    let sender = Sender::new(&broker, &[]);
    sender.send_each(&["first"]);
    assert_eq!(next(&consumer).payload, "first");
    control.wait_until(LIMIT, |stats| stats.count(ApiKey::Fetch) >= 2).unwrap();
    sender.send_each(&["second"]);
    assert_eq!(next(&consumer).payload, "second");
}

#[test]
fn a_fetch_waits_for_as_many_bytes_as_it_asks_for() {
    let (broker, control) = sink(1);
    let properties =
        [("fetch.min.bytes", "100000"), ("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "70000")];
    let consumer = reader(&broker, 1, &properties);
    let sender = Sender::new(&broker, &[]);
    let _ = consumer.poll(Duration::ZERO);
    control.wait_until(LIMIT, |stats| stats.count(ApiKey::Fetch) >= 1).unwrap();
    sender.send_each(&["small"]);
    let big = "x".repeat(100_000);
    let report = sender.send_each(&[&big]).pop().unwrap();
    let small = next(&consumer);
    assert_eq!((small.payload.as_str(), next(&consumer).payload.len()), ("small", 100_000));
    assert_eq!(report.offset(), 1);
    // One answer with both records, and the fetch that waits now. An early answer would have made it three.
    assert!(control.stats().count(ApiKey::Fetch) <= 2);
}

#[test]
fn topics_are_created_enlarged_described_and_deleted_by_a_client() {
    let broker = SinkBroker::start(SinkOptions::default()).unwrap();
    let admin: AdminClient<DefaultClientContext> = config(&broker, &[]).create().unwrap();
    let options = AdminOptions::new().request_timeout(Some(LIMIT));
    let create = |topic: NewTopic<'_>| block(admin.create_topics([&topic], &options)).unwrap().remove(0);
    let made = NewTopic::new("made", 4, TopicReplication::Fixed(1)).set("retention.ms", "5000");
    assert_eq!(create(made), Ok("made".to_owned()));
    let again = NewTopic::new("made", 4, TopicReplication::Fixed(1));
    assert_eq!(create(again), Err(("made".to_owned(), RDKafkaErrorCode::TopicAlreadyExists)));
    let odd = NewTopic::new("odd", 1, TopicReplication::Fixed(1)).set("retention", "5000");
    assert_eq!(create(odd), Err(("odd".to_owned(), RDKafkaErrorCode::InvalidConfig)));
    let enlarged = block(admin.create_partitions([&NewPartitions::new("made", 6)], &options)).unwrap();
    assert_eq!(enlarged, [Ok("made".to_owned())]);

    let consumer: BaseConsumer = config(&broker, &[]).create().unwrap();
    let metadata = consumer.fetch_metadata(Some("made"), LIMIT).unwrap();
    assert_eq!(metadata.topics()[0].partitions().len(), 6);

    let resource = ResourceSpecifier::Topic("made");
    let described = block(admin.describe_configs([&resource], &options)).unwrap().remove(0).unwrap();
    let value = |name| described.get(name).and_then(|entry| entry.value.clone());
    assert_eq!(value("retention.ms").as_deref(), Some("5000"));
    assert_eq!(value("message.timestamp.type").as_deref(), Some("CreateTime"));

    let deleted = block(admin.delete_topics(&["made"], &options)).unwrap();
    assert_eq!(deleted, [Ok("made".to_owned())]);
}

fn block<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_missing_topic_appears_only_where_the_sink_makes_topics_by_itself() {
    for auto_create in [true, false] {
        let broker = SinkBroker::start(SinkOptions { auto_create, ..SinkOptions::default() }).unwrap();
        let properties = [("message.timeout.ms", "3000"), ("topic.metadata.propagation.max.ms", "0")];
        let report = Sender::new(&broker, &properties).send_each(&["a"]).remove(0);
        assert_eq!(report.outcome.is_ok(), auto_create, "{report:?}");
    }
}

#[test]
fn a_broker_clock_is_stored_and_answered_where_the_topic_says_so() {
    let (broker, control) = sink(1);
    control.configure_topic(TOPIC, "message.timestamp.type", "LogAppendTime").unwrap();
    let report = Sender::new(&broker, &[]).send_each(&["a"]).pop().unwrap();
    let read = read_all(&broker, 1).pop().unwrap();
    assert!(matches!(read.timestamp, Timestamp::LogAppendTime(_)));
    assert_eq!(report.timestamp, read.timestamp);
}

#[test]
fn a_sink_that_keeps_nothing_counts_everything() {
    let broker = SinkBroker::start(SinkOptions { keep: Keep::Nothing, ..SinkOptions::default() }).unwrap();
    let sender = Sender::new(&broker, &[]);
    (0..100).for_each(|_| sender.send("a", -1));
    assert_eq!(sender.reports().last().unwrap().offset(), 99);
    let counts = broker.control().stats().topic(TOPIC);
    assert_eq!((counts.arrived, counts.log_end, counts.kept_bytes), (100, 100, 0));
    let (low, high) = sender.producer.client().fetch_watermarks(TOPIC, 0, LIMIT).unwrap();
    assert_eq!((low, high), (100, 100));
}

#[test]
fn a_message_over_the_limit_is_refused_by_its_name() {
    let (broker, control) = sink(1);
    control.configure_topic(TOPIC, "max.message.bytes", "2000").unwrap();
    let reports = Sender::new(&broker, &[]).send_each(&[&"x".repeat(3_000), "small"]);
    assert_eq!(reports[0].error(), Some(RDKafkaErrorCode::MessageSizeTooLarge));
    assert_eq!(reports[1].offset(), 0);
}

#[test]
fn requests_client_ids_and_connections_are_counted() {
    let (broker, control) = sink(1);
    let sender = Sender::new(&broker, &[("client.id", "counted")]);
    sender.send_each(&["a", "b"]);
    let stats = control.stats();
    assert_eq!(stats.count(ApiKey::Produce), 2);
    assert!(stats.requests[&ApiKey::Produce].bytes > 100);
    assert!(stats.client_ids.contains("counted"));
    drop(sender);
    let stats =
        control.wait_until(LIMIT, |stats| stats.connections.closed == stats.connections.opened).unwrap();
    assert_eq!(stats.connections.cut_off, 0);
}

#[test]
fn a_dropped_sink_is_gone_while_clients_hang_on_it() {
    let (broker, control) = sink(1);
    let _consumer = reader(&broker, 1, &[("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "70000")]);
    control.wait_until(LIMIT, |stats| stats.count(ApiKey::Fetch) >= 1).unwrap();
    let address = broker.bootstrap();
    drop(broker);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn a_topic_with_settings_needs_sound_ones() {
    let (_broker, control) = sink(1);
    let settings = HashMap::from([("max.message.bytes".to_owned(), "many".to_owned())]);
    let error = control.create_topic("other", 1, &settings).unwrap_err().to_string();
    assert!(error.contains("topic other"), "{error}");
    assert!(control.create_topic("bad name", 1, &HashMap::new()).is_err());
    assert!(control.create_topic("too-many", 1_000_000, &HashMap::new()).is_err());
}
