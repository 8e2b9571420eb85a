//! A producer that remembers what it was told, and readers that stop at the end of the log.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use plumb_lab::sink::{Control, SinkBroker, SinkOptions};
use rdkafka::{
    ClientConfig, ClientContext, Message, Offset, Statistics, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::{KafkaError, RDKafkaErrorCode},
    message::{BorrowedMessage, DeliveryResult, Timestamp},
    producer::{BaseProducer, BaseRecord, Producer, ProducerContext},
    util::Timeout,
};

/// Long enough for a busy machine; nothing waits for it unless something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
pub(crate) const TOPIC: &str = "events";

/// A sink with a topic of so many partitions.
pub(crate) fn sink(partitions: i32) -> (SinkBroker, Control) {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let control = sink.control();
    control.create_topic(TOPIC, partitions, &HashMap::new()).unwrap();
    (sink, control)
}

pub(crate) fn config(sink: &SinkBroker, properties: &[(&str, &str)]) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", sink.bootstrap());
    for (name, value) in properties {
        config.set(*name, *value);
    }
    config
}

/// One delivery report.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) payload: String,
    pub(crate) outcome: Result<(i32, i64), KafkaError>,
    pub(crate) timestamp: Timestamp,
    pub(crate) at: Instant,
}

impl Report {
    pub(crate) fn offset(&self) -> i64 {
        self.outcome.as_ref().unwrap().1
    }

    pub(crate) fn error(&self) -> Option<RDKafkaErrorCode> {
        self.outcome.as_ref().err().and_then(KafkaError::rdkafka_error_code)
    }
}

#[derive(Default)]
pub(crate) struct Reports {
    reports: Mutex<Vec<Report>>,
    throttle_ms_max: AtomicI64,
}

impl ClientContext for Reports {
    fn stats(&self, statistics: Statistics) {
        let throttles = statistics.brokers.values().filter_map(|broker| broker.throttle.as_ref());
        let max = throttles.map(|throttle| throttle.max).max().unwrap_or(0);
        self.throttle_ms_max.fetch_max(max, Ordering::Relaxed);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let report = |message: &BorrowedMessage<'_>, outcome| Report {
            payload: text(message),
            outcome,
            timestamp: message.timestamp(),
            at: Instant::now(),
        };
        let report = match result {
            Ok(message) => report(message, Ok((message.partition(), message.offset()))),
            Err((error, message)) => report(message, Err(error.clone())),
        };
        self.reports.lock().unwrap().push(report);
    }
}

pub(crate) struct Sender {
    pub(crate) producer: BaseProducer<Reports>,
    sent: AtomicUsize,
}

impl Sender {
    /// One record in a batch and one batch in flight, unless said otherwise: every record is a request of its own.
    pub(crate) fn new(sink: &SinkBroker, properties: &[(&str, &str)]) -> Self {
        let mut config = config(sink, &[("linger.ms", "0"), ("batch.num.messages", "1"), ("acks", "1")]);
        for (name, value) in properties {
            config.set(*name, *value);
        }
        Self { producer: config.create_with_context(Reports::default()).unwrap(), sent: AtomicUsize::new(0) }
    }

    /// The longest throttle that the client has reported in its statistics.
    pub(crate) fn throttle_ms_max(&self) -> i64 {
        self.producer.context().throttle_ms_max.load(Ordering::Relaxed)
    }

    /// Sends without waiting.
    pub(crate) fn send(&self, payload: &str, partition: i32) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let record = BaseRecord::<(), str>::to(TOPIC).payload(payload).partition(partition);
        self.producer.send(record).map_err(|(error, _)| error).unwrap();
    }

    /// Waits until everything sent so far has its report, and gives the reports in their order.
    pub(crate) fn reports(&self) -> Vec<Report> {
        self.producer.flush(LIMIT).unwrap();
        let start = Instant::now();
        while self.producer.context().reports.lock().unwrap().len() < self.sent.load(Ordering::Relaxed) {
            assert!(start.elapsed() < LIMIT, "delivery reports are missing");
            self.producer.poll(Duration::from_millis(10));
        }
        self.producer.context().reports.lock().unwrap().clone()
    }

    /// Sends one after the other to partition 0, each after the report of the one before.
    pub(crate) fn send_each(&self, payloads: &[&str]) -> Vec<Report> {
        for payload in payloads {
            self.send(payload, 0);
            self.reports();
        }
        self.reports()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) payload: String,
    pub(crate) timestamp: Timestamp,
    pub(crate) at: Instant,
}

pub(crate) fn reader(sink: &SinkBroker, partitions: i32, properties: &[(&str, &str)]) -> BaseConsumer {
    let mut config = config(sink, &[("group.id", "readers"), ("enable.partition.eof", "true")]);
    config
        .set("enable.auto.commit", "false")
        .set("fetch.wait.max.ms", "50")
        .set("auto.offset.reset", "earliest");
    for (name, value) in properties {
        config.set(*name, *value);
    }
    let consumer: BaseConsumer = config.create().unwrap();
    let mut from = TopicPartitionList::new();
    for partition in 0..partitions {
        // Not `Beginning`: the client would wait for half a second before it asks where that is.
        from.add_partition_offset(TOPIC, partition, Offset::Offset(0)).unwrap();
    }
    consumer.assign(&from).unwrap();
    consumer
}

/// Everything from the beginning to the end of each partition.
pub(crate) fn read_all(sink: &SinkBroker, partitions: i32) -> Vec<Read> {
    let consumer = reader(sink, partitions, &[]);
    let (start, mut reads, mut ended) = (Instant::now(), Vec::new(), 0);
    while ended < partitions {
        assert!(start.elapsed() < LIMIT, "no end after {} records", reads.len());
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => reads.push(read(&message)),
            Some(Err(KafkaError::PartitionEOF(_))) => ended += 1,
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
    reads
}

pub(crate) fn payloads(reads: &[Read]) -> Vec<&str> {
    reads.iter().map(|read| read.payload.as_str()).collect()
}

/// The next record, whatever else happens meanwhile.
pub(crate) fn next(consumer: &BaseConsumer) -> Read {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LIMIT, "no record");
        if let Some(Ok(message)) = consumer.poll(Timeout::After(Duration::from_millis(100))) {
            return read(&message);
        }
    }
}

fn read(message: &BorrowedMessage<'_>) -> Read {
    Read {
        partition: message.partition(),
        offset: message.offset(),
        payload: text(message),
        timestamp: message.timestamp(),
        at: Instant::now(),
    }
}

fn text(message: &BorrowedMessage<'_>) -> String {
    String::from_utf8(message.payload().unwrap_or_default().to_vec()).unwrap()
}
