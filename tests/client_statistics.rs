//! Applications' clients on real brokers, with known truths in their load: their own statistics and the brokers' metrics say them.

use crate::kafka::Broker;
use crate::program::Program;
use plumb_lab::kafka::{LabCluster, LabOptions};
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Messages a second that the application sends.
const PER_S: u64 = 100;
const VALUE_BYTES: usize = 500;
/// The consumer takes one in so many: half of what comes.
const TAKES_EVERY: Duration = Duration::from_millis(20);
const PARTITIONS: i32 = 4;

/// Writes statistics into a file as an application may: with the prefix of a log line.
pub(crate) struct Statistics(pub(crate) File);

impl ClientContext for Statistics {
    fn stats_raw(&self, statistics: &[u8]) {
        let line = [b"2026-11-20 10:00:00 INFO [rdkafka] ", statistics, b"\n"].concat();
        (&self.0).write_all(&line).unwrap();
    }
}

impl ProducerContext for Statistics {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

impl ConsumerContext for Statistics {}

/// An application that sends and one that takes, until it is dropped.
pub(crate) struct Application {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) threads: Vec<JoinHandle<()>>,
}

impl Drop for Application {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

impl Application {
    /// A producer and a consumer that writes their statistics into one file.
    fn start(bootstrap: &str, file: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let of = |client: &str| {
            let mut config = ClientConfig::new();
            config.set("bootstrap.servers", bootstrap).set("client.id", client);
            config.set("statistics.interval.ms", "500");
            config
        };
        let statistics = || Statistics(OpenOptions::new().append(true).create(true).open(file).unwrap());
        let producer: BaseProducer<Statistics> =
            of("orders").set("linger.ms", "200").create_with_context(statistics()).unwrap();
        let consumer: BaseConsumer<Statistics> = of("billing")
            .set("group.id", "billing")
            .set("auto.offset.reset", "earliest")
            .set("auto.commit.interval.ms", "250")
            .create_with_context(statistics())
            .unwrap();
        let sends = Self::until(&stop, Duration::from_nanos(1_000_000_000 / PER_S), move || {
            let record = BaseRecord::<(), _>::to("orders").partition(0).payload(&[7_u8; VALUE_BYTES][..]);
            producer.send(record).unwrap();
            producer.poll(Duration::ZERO);
        });
        consumer.subscribe(&["orders"]).unwrap();
        let takes = Self::until(&stop, TAKES_EVERY, move || {
            let _ = consumer.poll(Duration::ZERO);
        });
        Application { stop, threads: vec![sends, takes] }
    }

    /// Does something at a steady pace.
    pub(crate) fn until(
        stop: &Arc<AtomicBool>,
        pace: Duration,
        mut act: impl FnMut() + Send + 'static,
    ) -> JoinHandle<()> {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut due = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                act();
                due += pace;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        })
    }
}

/// Until the consumer has partitions and tells that it is behind.
fn until_it_is_behind(statistics: &Path) {
    let patience = Instant::now() + Duration::from_secs(30);
    let is_behind = |text: String| {
        text.split("\"consumer_lag\":")
            .skip(1)
            .any(|lag| lag.starts_with(|digit: char| ('1'..='9').contains(&digit)))
    };
    while !std::fs::read_to_string(statistics).is_ok_and(is_behind) {
        assert!(Instant::now() < patience, "the consumer is never behind");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn number(client: &Value, field: &str) -> f64 {
    client[field].as_f64().unwrap_or_else(|| panic!("{field}: {client:#}"))
}

/// Panics where a figure is not that within so much of it.
fn near(client: &Value, field: &str, truth: f64, part: f64) {
    let figure = number(client, field);
    assert!((figure - truth).abs() <= part * truth, "{field} is {figure}, expected {truth}: {client:#}");
}

#[test]
fn a_linger_of_200_ms_and_a_consumer_at_half_the_rate_show_in_the_applications_own_statistics() {
    let lab = LabCluster::shared().unwrap();
    Broker::at(&lab.bootstrap()).create_topic("orders", PARTITIONS, &[]);
    let program = Program::new(["observe", "--duration", "8s", "--no-attach", "--output", "json"]);
    let file: PathBuf = program.directory().join("statistics.log");
    File::create(&file).unwrap();
    let application = Application::start(&lab.bootstrap(), &file);
    until_it_is_behind(&file);
    let ended = program.args(["--client-statistics", "statistics.log"]).run();
    drop(application);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let clients = document["clients"].as_array().unwrap();
    let of = |name: &str| {
        let mut of_name = clients
            .iter()
            .filter(|client| client["name"].as_str().is_some_and(|text| text.starts_with(name)));
        let client =
            of_name.next().unwrap_or_else(|| panic!("{name}: {clients:#?} {:#}", document["unseen"]));
        assert!(of_name.next().is_none(), "{clients:#?}");
        client
    };

    let producer = of("orders#producer");
    near(producer, "messages_per_s", PER_S as f64, 0.15);
    near(producer, "record_bytes_mean", VALUE_BYTES as f64, 0.01);
    // The first message of a batch waits for the whole linger, the last for nothing.
    near(producer, "queue_mean_ns", 100e6, 0.25);
    near(producer, "batch_messages_mean", 20.0, 0.3);
    near(producer, "batch_bytes_mean", 20.0 * (VALUE_BYTES as f64 + 8.0) + 61.0, 0.3);
    assert!(number(producer, "rtt_mean_ns") < 50e6, "{producer:#}");
    assert_eq!(
        producer["partition_skew"].as_f64(),
        None,
        "five batches a second are too few for four partitions"
    );
    assert_eq!(producer["throttled"].as_u64(), Some(0));

    let consumer = of("billing#consumer");
    let takes = 1.0 / TAKES_EVERY.as_secs_f64();
    near(consumer, "lag_growth_per_s", PER_S as f64 - takes, 0.3);
    near(consumer, "commits_per_s", 4.0, 0.4);
    assert!(consumer["rtt_mean_ns"].is_null(), "{consumer:#}");
    // Fetched and not taken: what it is behind, and not four times that though each partition tells the whole queue.
    near(consumer, "fetch_queue", number(consumer, "lag"), 0.35);
}

/// A program of Kafka's own, with the classes and the Java of a running broker.
pub(crate) struct KafkaProgram {
    classes: String,
}

impl KafkaProgram {
    pub(crate) fn of(lab: &LabCluster) -> Self {
        let environment = std::fs::read(format!("/proc/{}/environ", lab.broker_pids()[0])).unwrap();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let classes = environment.split('\0').find_map(|variable| variable.strip_prefix("CLASSPATH="));
        KafkaProgram { classes: classes.unwrap().to_owned() }
    }

    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new("java");
        command
            .arg("-Xmx256m")
            .args(options)
            .args(["-cp", &self.classes])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The JMX exporter, which lies beside Kafka's own classes.
    fn exporter(&self) -> PathBuf {
        let folders = self.classes.split(':').map(|entry| Path::new(entry.trim_end_matches("/*")));
        let folders = folders.flat_map(|entry| [Some(entry), entry.parent()]).flatten();
        let mut jars = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let is_it = |path: &PathBuf| path.to_string_lossy().contains("jmx_prometheus_javaagent");
        jars.find_map(|jar| Some(jar.unwrap().path()).filter(is_it)).unwrap()
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_quota_that_holds_a_client_back_is_told_by_the_client_the_broker_and_the_cluster() {
    let lab = LabCluster::start(&LabOptions { brokers: 2, jmx: true, ..LabOptions::default() }).unwrap();
    let metrics = lab.jmx_metrics_urls().unwrap();
    let kafka = KafkaProgram::of(&lab);
    let quota = [
        "--alter",
        "--entity-type",
        "clients",
        "--entity-name",
        "held",
        "--add-config",
        "producer_byte_rate=50000",
    ];
    let bootstrap = lab.bootstrap();
    let topic = ["--create", "--topic", "held", "--partitions", "2", "--replication-factor", "2"];
    let done = |tool: &str, words: &[&str]| {
        let mut command = kafka.command(&["-XX:TieredStopAtLevel=1"]);
        command.args([tool, "--bootstrap-server", &bootstrap]).args(words).status().unwrap().success()
    };
    assert!(done("kafka.admin.ConfigCommand", &quota));
    assert!(done("org.apache.kafka.tools.TopicCommand", &topic));

    let program = Program::new([
        "observe",
        "--duration",
        "8s",
        "--no-attach",
        "--output",
        "json",
        "--bootstrap",
        &bootstrap,
    ]);
    let file = program.directory().join("statistics.log");
    File::create(&file).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let producer: BaseProducer<Statistics> = ClientConfig::new()
        .set("bootstrap.servers", &bootstrap)
        .set("client.id", "held")
        .set("statistics.interval.ms", "500")
        .set("queue.buffering.max.messages", "200")
        .create_with_context(Statistics(OpenOptions::new().append(true).open(&file).unwrap()))
        .unwrap();
    // Five times what the quota lets through to each of the two brokers: what it lets through at once is gone within two seconds.
    let sends = Application::until(&stop, Duration::from_millis(2), move || {
        let _ = producer.send(BaseRecord::<(), _>::to("held").payload(&[7_u8; 1_000][..]));
        producer.poll(Duration::ZERO);
    });
    let _application = Application { stop, threads: vec![sends] };
    let pages = metrics.iter().flat_map(|url| ["--broker-metrics", url]);
    let ended = program.args(["--client-statistics", "statistics.log"]).args(pages).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        document["settings"]["quotas"],
        serde_json::json!(["client-id=held: producer_byte_rate=50000"]),
        "{:#}",
        document["unseen"]
    );
    let client = &document["clients"][0];
    assert!(number(client, "throttled") > 0.0 && number(client, "throttle_mean_ns") > 50e6, "{client:#}");
    let brokers = document["brokers"].as_array().unwrap();
    // A quota is of about ten seconds, and lets more through until they are over: the truth is what the brokers counted.
    let counted: f64 = brokers.iter().filter_map(|broker| broker["bytes_in_per_s"].as_f64()).sum();
    near(client, "bytes_per_s", counted, 0.6);
    let most =
        |field: &str| brokers.iter().filter_map(|broker| broker[field].as_f64()).fold(f64::NAN, f64::max);
    assert!(most("throttle_mean_ns") > 50e6, "{brokers:#?}");
    for broker in brokers {
        assert_eq!(broker["naming"].as_str(), Some("JMX exporter without rules"));
        for (field, least, largest) in [
            ("acceptor_blocked_share", 0.0, 0.1),
            ("memory_pool_depleted_share", 0.0, 0.0),
            ("produce_expirations_per_s", 0.0, 0.0),
            ("late_transactions", 0.0, 0.0),
            ("group_rebalances_per_s", 0.0, 0.0),
            ("follower_max_lag", 0.0, 1_000.0),
            ("under_replicated", 0.0, 0.0),
            ("cpu_ns", 1e6, 16e9),
        ] {
            let figure = number(broker, field);
            assert!((least..=largest).contains(&figure), "{field} is {figure}: {broker:#}");
        }
        assert!(
            broker["follower_lags"][0]["fetcher"]
                .as_str()
                .is_some_and(|fetcher| fetcher.starts_with("ReplicaFetcherThread"))
        );
        let processors = broker["network_processors"].as_array().unwrap();
        assert!(
            processors.iter().any(|processor| processor["connections"].as_f64() > Some(0.0)),
            "{broker:#}"
        );
    }
}

/// What asserts exact times.
mod timing {
    use super::*;

    #[test]
    fn a_java_producer_at_a_known_rate_shows_by_the_page_of_its_exporter() {
        let lab = LabCluster::shared().unwrap();
        Broker::at(&lab.bootstrap()).create_topic("java-orders", 1, &[]);
        let program = Program::new(["observe", "--duration", "8s", "--no-attach", "--output", "json"]);
        let rules = program.directory().join("rules.yaml");
        std::fs::write(&rules, "rules:\n- pattern: '.*'\n").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let kafka = KafkaProgram::of(&lab);
        let agent = format!("-javaagent:{}={port}:{}", kafka.exporter().display(), rules.display());
        let words = [
            "org.apache.kafka.tools.ProducerPerformance",
            "--topic",
            "java-orders",
            "--num-records",
            "100000",
            "--record-size",
            "500",
        ];
        let (bootstrap, rate) = (lab.bootstrap(), PER_S.to_string());
        let rest = [
            "--throughput",
            &rate,
            "--bootstrap-server",
            &bootstrap,
            "--command-property",
            "linger.ms=200",
            "client.id=java-orders",
            // What was late while the program started, and what it then sent at once, is soon forgotten.
            "metrics.sample.window.ms=2000",
        ];
        let _producer = Running(kafka.command(&[&agent]).args(words).args(rest).spawn().unwrap());
        let url = format!("http://{port}/metrics");
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut waits = None;
        // Until it sends, and its batches wait as they will.
        while !waits.is_some_and(|waits: f64| (180.0..230.0).contains(&waits)) {
            assert!(Instant::now() < deadline, "batches of the producer wait {waits:?} ms");
            std::thread::sleep(Duration::from_millis(100));
            waits = queue_time_avg(port, "java-orders");
        }
        let ended = program.args(["--client-statistics", &url]).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let producer = &document["clients"][0];
        assert_eq!(
            (producer["name"].as_str(), producer["kind"].as_str()),
            (Some("java-orders"), Some("java")),
            "{document:#}"
        );
        near(producer, "messages_per_s", PER_S as f64, 0.15);
        near(producer, "batch_messages_mean", 20.0, 0.3);
        near(producer, "record_bytes_mean", VALUE_BYTES as f64 + 8.0, 0.05);
        // A batch's own wait, of which its first message has all.
        near(producer, "queue_mean_ns", 200e6, 0.3);
        assert_eq!(producer["means_from_gauge"].as_bool(), Some(true));
        assert_eq!(
            producer["in_flight_max"].as_f64().map(|in_flight| in_flight <= 5.0),
            Some(true),
            "{producer:#}"
        );
    }

    /// How long a batch waits on average in milliseconds, by the page of a Java client's exporter.
    fn queue_time_avg(exporter: SocketAddr, client: &str) -> Option<f64> {
        let mut page = String::new();
        let mut stream = TcpStream::connect(exporter).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        stream.read_to_string(&mut page).ok()?;
        let series = format!("record_queue_time_avg{{client_id=\"{client}\"}} ");
        let (_, value) = page.split_once(&series)?;
        value.lines().next()?.trim().parse().ok()
    }
}
