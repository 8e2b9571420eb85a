//! Causes that are there: faults of applications, one after another on one real broker, each of which `plumb diagnose` has to name first.
//!
//! A part of the matrix of known faults (`bench/diagnose-matrix`, an hour) that is quick and needs nothing but a broker. The faults are those of
//! its catalogue with the same figures; what a fault did is asserted there.

use crate::client_statistics::{Application, KafkaProgram, Statistics};
use crate::kafka::Broker;
use crate::program::Program;
use plumb_lab::kafka::{LabCluster, LabOptions};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord};
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Settings of a client.
type Settings = &'static [(&'static str, &'static str)];

/// A path with one thing wrong, or with none.
struct Case {
    /// The cause; none where the path is healthy.
    cause: Option<&'static str>,
    producer: Settings,
    per_s: u64,
    bytes: usize,
    consumer: Option<Reader>,
}

/// A consumer, and what its application does with each message.
struct Reader {
    settings: Settings,
    works: Duration,
}

const READS: Reader = Reader { settings: &[], works: Duration::ZERO };

const HEALTHY: Case = Case {
    cause: None,
    producer: &[("linger.ms", "5"), ("acks", "all")],
    per_s: 1_000,
    bytes: 1_000,
    consumer: Some(READS),
};

const FAULTS: [Case; 4] = [
    Case {
        cause: Some("linger-too-long"),
        producer: &[("linger.ms", "200"), ("acks", "1")],
        per_s: 500,
        bytes: 200,
        consumer: None,
    },
    Case {
        cause: Some("fetch-wait"),
        producer: &[("linger.ms", "2"), ("acks", "1")],
        per_s: 200,
        bytes: 500,
        consumer: Some(Reader {
            settings: &[("fetch.min.bytes", "1000000"), ("fetch.wait.max.ms", "500")],
            ..READS
        }),
    },
    Case {
        cause: Some("consumer-slow"),
        producer: &[("linger.ms", "2"), ("acks", "1")],
        per_s: 400,
        bytes: 500,
        consumer: Some(Reader { works: Duration::from_millis(5), ..READS }),
    },
    Case {
        cause: Some(QUOTA),
        producer: &[("linger.ms", "5"), ("acks", "1")],
        per_s: 400,
        bytes: 1_000,
        consumer: None,
    },
];

/// The fault for which a client has a quota.
const QUOTA: &str = "quota-throttling";
/// Statistics of a client, two a second, before the window: by then a group has its partitions, and what a quota lets through at once is gone.
const WARM_UP: usize = 8;
/// Longest wait for those statistics.
const PATIENCE: Duration = Duration::from_secs(30);

impl Case {
    fn name(&self) -> &'static str {
        self.cause.unwrap_or("healthy")
    }

    /// Its clients' settings by what they are called, beside those that every client has.
    fn clients(&self) -> Vec<(String, Settings)> {
        let producer = (format!("{}-producer", self.name()), self.producer);
        let consumer =
            self.consumer.as_ref().map(|reader| (format!("{}-consumer", self.name()), reader.settings));
        std::iter::once(producer).chain(consumer).collect()
    }

    /// Sends and reads on a topic of its own, with statistics and settings in this directory.
    fn start(&self, bootstrap: &str, directory: &Path) -> Application {
        let topic = self.name();
        Broker::at(bootstrap).create_topic(topic, 1, &[]);
        let mut configs = Vec::new();
        for (name, settings) in self.clients() {
            let lines: String = settings.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
            std::fs::write(directory.join(format!("{name}.properties")), lines).unwrap();
            let mut config = ClientConfig::new();
            config.set("bootstrap.servers", bootstrap).set("client.id", &name);
            config.set("group.id", topic).set("auto.offset.reset", "earliest");
            config.set("statistics.interval.ms", "500");
            for (key, value) in settings {
                config.set(*key, *value);
            }
            configs.push(config);
        }
        let statistics = || {
            let file = OpenOptions::new().append(true).create(true).open(directory.join("statistics.log"));
            Statistics(file.unwrap())
        };
        let stop = Arc::new(AtomicBool::new(false));
        let producer: BaseProducer<Statistics> = configs[0].create_with_context(statistics()).unwrap();
        let value = vec![7_u8; self.bytes];
        let pace = Duration::from_nanos(1_000_000_000 / self.per_s);
        let mut threads = vec![Application::until(&stop, pace, move || {
            let _ = producer.send(BaseRecord::<(), _>::to(topic).payload(&value));
            producer.poll(Duration::ZERO);
        })];
        if let Some(reader) = &self.consumer {
            let (consumer, works): (BaseConsumer<Statistics>, _) =
                (configs[1].create_with_context(statistics()).unwrap(), reader.works);
            consumer.subscribe(&[topic]).unwrap();
            threads.push(Application::until(&stop, Duration::ZERO, move || {
                if consumer.poll(Duration::from_millis(20)).is_some() {
                    std::thread::sleep(works);
                }
            }));
        }
        Application { stop, threads }
    }

    fn warm_up(&self, statistics: &Path) {
        let deadline = Instant::now() + PATIENCE;
        let has_begun = |name: &String| {
            let text = std::fs::read_to_string(statistics).unwrap_or_default();
            text.matches(&format!("\"client_id\": \"{name}\"")).count() >= WARM_UP
        };
        while !self.clients().iter().all(|(name, _)| has_begun(name)) {
            assert!(Instant::now() < deadline, "{} tells nothing of itself", self.name());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Holds the client of a fault to a quarter of what it sends.
fn limit(lab: &LabCluster) {
    let client = format!("{QUOTA}-producer");
    let words = ["--alter", "--entity-type", "clients", "--entity-name", &client];
    let mut command = KafkaProgram::of(lab).command(&["-XX:TieredStopAtLevel=1"]);
    command.args(["kafka.admin.ConfigCommand", "--bootstrap-server", &lab.bootstrap()]).args(words);
    let done = command.args(["--add-config", "producer_byte_rate=100000"]).status();
    assert!(done.unwrap().success());
}

/// What is found in a path that is watched while it has this fault.
fn diagnosed(lab: &LabCluster, case: &Case) -> Value {
    let program = Program::new(["diagnose", "--duration", "4s", "--no-attach", "--output", "json"]);
    let application = case.start(&lab.bootstrap(), program.directory());
    case.warm_up(&program.directory().join("statistics.log"));
    let properties = case.clients().into_iter().map(|(name, _)| format!("{name}={name}.properties"));
    let ended = program
        .args(["--bootstrap", &lab.bootstrap(), "--broker-metrics", &lab.jmx_metrics_urls().unwrap()[0]])
        .args(["--pid", &lab.broker_pids()[0].to_string(), "--client-statistics", "statistics.log"])
        .args(properties.flat_map(|properties| ["--client-properties".to_owned(), properties]))
        .run();
    drop(application);
    assert!(matches!(ended.code(), Some(0 | 1)), "{}: {}", case.name(), ended.stderr);
    ended.json()
}

/// The causes that are named with confidence, but for other programs: where there are any, that is true and no fault of this path.
fn sure(document: &Value) -> impl Iterator<Item = &str> {
    let findings = document["diagnosis"]["findings"].as_array().unwrap().iter();
    let sure = findings.filter(|finding| finding["confidence"] != "suspected");
    sure.map(|finding| finding["id"].as_str().unwrap())
        .filter(|id| !["noisy-neighbour", "processors-saturated"].contains(id))
}

/// What asserts that a machine is busy with nothing else.
mod timing {
    use super::*;

    #[test]
    fn the_cause_that_is_there_is_named_first_and_of_a_healthy_path_none() {
        let lab = LabCluster::start(&LabOptions { jmx: true, ..LabOptions::default() }).unwrap();
        limit(&lab);
        for case in std::iter::once(&HEALTHY).chain(&FAULTS) {
            let document = diagnosed(&lab, case);
            let first = sure(&document).next();
            assert_eq!(first, case.cause, "{}: {:#}", case.name(), document["diagnosis"]);
        }
    }
}
