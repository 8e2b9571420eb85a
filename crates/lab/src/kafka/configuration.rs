//! The settings of each broker: its properties and its JVM flags, as data. Pure; writing and starting is done elsewhere.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use plumb_model::plan::LogDirLayout;
use serde::{Deserialize, Serialize};

use super::options::LabOptions;
use super::security::{self, REPLICATION, SECURED, Security};

/// One broker of a lab: its addresses and its directories.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BrokerPlan {
    pub(super) id: u32,
    /// Working directory: settings and logs.
    pub(super) directory: PathBuf,
    /// Log directories, one or more.
    pub(super) data: Vec<PathBuf>,
    pub(super) plaintext: SocketAddr,
    /// Absent when this broker is no controller.
    pub(super) controller: Option<SocketAddr>,
    /// Absent without TLS and SASL.
    pub(super) secured: Option<SocketAddr>,
    /// Absent where brokers replicate in the clear, over the plaintext listener.
    #[serde(default)]
    pub(super) replication: Option<SocketAddr>,
}

impl BrokerPlan {
    pub(super) fn console(&self) -> PathBuf {
        self.directory.join("console.log")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }
}

/// The number of brokers that are controllers too: a quorum of two would only add a second way to fail.
pub(super) fn controllers(brokers: u32) -> u32 {
    if brokers < 3 { 1 } else { 3 }
}

/// Log4j 2 settings: everything from INFO into one file in the broker's working directory.
pub(super) const LOG4J2: &str = "\
status=warn
appender.file.type=File
appender.file.name=file
appender.file.fileName=server.log
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d{ISO8601} %-5p [%t] %c{1}: %m%n
rootLogger.level=info
rootLogger.appenderRef.file.ref=file
";

/// The broker's `server.properties`: what the lab computes, then what the user wants instead or in addition.
pub(super) fn broker_properties(
    plan: &BrokerPlan,
    all: &[BrokerPlan],
    options: &LabOptions,
    security: Option<&Security>,
) -> Vec<(String, String)> {
    let mut listeners = vec![format!("PLAINTEXT://{}", plan.plaintext)];
    listeners.extend(plan.secured.map(|address| format!("{SECURED}://{address}")));
    listeners.extend(plan.replication.map(|address| format!("{REPLICATION}://{address}")));
    let inter_broker = if plan.replication.is_some() { REPLICATION } else { "PLAINTEXT" };
    let advertised = listeners.join(",");
    listeners.extend(plan.controller.map(|address| format!("CONTROLLER://{address}")));
    let voters: Vec<_> = all.iter().filter_map(|b| Some(format!("{}@{}", b.id, b.controller?))).collect();
    let data: Vec<_> = plan.data.iter().map(|dir| dir.display().to_string()).collect();
    // Brokers on devices of their own are there to be compared: one's internal topics must not wait for another's.
    let apart = options.log_dir_layout == LogDirLayout::BrokerEach && !options.log_dirs.is_empty();
    let replicas = if apart { 1 } else { options.brokers.min(3) }.to_string();

    let mut properties: Vec<(String, String)> = [
        ("process.roles", if plan.controller.is_some() { "broker,controller" } else { "broker" }),
        ("node.id", &plan.id.to_string()),
        ("controller.quorum.voters", &voters.join(",")),
        ("controller.listener.names", "CONTROLLER"),
        ("listeners", &listeners.join(",")),
        ("advertised.listeners", &advertised),
        ("listener.security.protocol.map", &security::protocol_map(options)),
        ("inter.broker.listener.name", inter_broker),
        ("log.dirs", &data.join(",")),
        // The controller's log is flushed again and again; on a device under test it would be part of what is measured.
        ("metadata.log.dir", &plan.directory.join("metadata").display().to_string()),
        // A mistyped topic shall be an error, not a new topic.
        ("auto.create.topics.enable", "false"),
        // The internal topics want three brokers unless told otherwise.
        ("offsets.topic.replication.factor", &replicas),
        ("transaction.state.log.replication.factor", &replicas),
        ("transaction.state.log.min.isr", "1"),
        ("share.coordinator.state.topic.replication.factor", &replicas),
        ("share.coordinator.state.topic.min.isr", "1"),
        // A lone consumer need not wait 3 s for others to join.
        ("group.initial.rebalance.delay.ms", "0"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    if apart {
        // A thread that touches a mapped index waits in the kernel for a slow device, and the whole JVM with it at its
        // next safepoint. After 9 s the controller would take the broker for dead, and its topics with it.
        properties.push(("broker.session.timeout.ms".to_owned(), "120000".to_owned()));
    }
    properties.extend(security.map(Security::broker_properties).unwrap_or_default());
    for (key, value) in &options.broker_properties {
        match properties.iter_mut().find(|(known, _)| known == key) {
            Some((_, present)) => present.clone_from(value),
            None => properties.push((key.clone(), value.clone())),
        }
    }
    properties
}

/// The flags of a broker's JVM: those of Kafka's own start script, and the user's after them so that theirs hold.
pub(super) fn jvm_flags(plan: &BrokerPlan, options: &LabOptions) -> Vec<String> {
    let mut flags = vec![format!("-Xmx{}m", options.heap_mib), format!("-Xms{}m", options.heap_mib)];
    // A JVM does not start with two collectors; and G1's settings would be lost on another one.
    let collector_given =
        options.jvm_flags.iter().any(|flag| flag.starts_with("-XX:+Use") && flag.ends_with("GC"));
    if !collector_given {
        flags.extend(
            ["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]
                .map(Into::into),
        );
    }
    flags.extend(
        [
            "-XX:+ExplicitGCInvokesConcurrent",
            // Metrics are attached to the running broker; Java 21 and later warn of it otherwise (JEP 451).
            "-XX:+EnableDynamicAgentLoading",
            "-Djava.awt.headless=true",
            "-Dlog4j2.configurationFile=log4j2.properties",
        ]
        .map(Into::into),
    );
    // Compression libraries unpack themselves there, and a broker that is killed does not remove them.
    flags.push(format!("-Djava.io.tmpdir={}", plan.directory.display()));
    flags.extend(options.jvm_flags.iter().cloned());
    flags
}

/// The text of a Java properties file.
pub(super) fn properties_text(properties: &[(String, String)]) -> String {
    properties.iter().fold(String::new(), |mut text, (key, value)| {
        let _ = writeln!(text, "{}={}", key.replace('\\', "\\\\"), value.replace('\\', "\\\\"));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(id: u32, controller: bool) -> BrokerPlan {
        let address =
            |port: u32| SocketAddr::from(([127, 0, 0, 1], u16::try_from(1000 * id + port).unwrap()));
        BrokerPlan {
            id,
            directory: "/lab/broker".into(),
            data: vec!["/a".into(), "/b".into()],
            plaintext: address(1),
            controller: controller.then(|| address(2)),
            secured: None,
            replication: None,
        }
    }

    fn value<'a>(properties: &'a [(String, String)], key: &str) -> &'a str {
        let mut found = properties.iter().filter(|(known, _)| known == key);
        let (_, value) = found.next().unwrap();
        assert!(found.next().is_none(), "{key} is there twice");
        value
    }

    #[test]
    fn a_broker_that_is_no_controller_still_knows_the_voters() {
        let all = [plan(1, true), plan(2, false)];
        let properties =
            broker_properties(&all[1], &all, &LabOptions { brokers: 2, ..LabOptions::default() }, None);
        assert_eq!(value(&properties, "process.roles"), "broker");
        assert_eq!(value(&properties, "controller.quorum.voters"), "1@127.0.0.1:1002");
        assert_eq!(value(&properties, "listeners"), "PLAINTEXT://127.0.0.1:2001");
        assert_eq!(value(&properties, "log.dirs"), "/a,/b");
    }

    #[test]
    fn a_broker_on_a_device_of_its_own_waits_for_no_other_and_is_not_taken_for_dead_when_it_waits() {
        let options = LabOptions {
            brokers: 2,
            log_dirs: vec!["/a".into(), "/b".into()],
            log_dir_layout: LogDirLayout::BrokerEach,
            ..LabOptions::default()
        };
        let all = [plan(1, true), plan(2, false)];
        let properties = broker_properties(&all[1], &all, &options, None);
        assert_eq!(value(&properties, "offsets.topic.replication.factor"), "1");
        assert_eq!(value(&properties, "broker.session.timeout.ms"), "120000");
        assert_eq!(value(&properties, "metadata.log.dir"), "/lab/broker/metadata");
    }

    #[test]
    fn a_property_of_the_user_takes_the_place_of_the_labs() {
        let options = LabOptions {
            broker_properties: vec![
                ("auto.create.topics.enable".into(), "true".into()),
                ("num.io.threads".into(), "3".into()),
            ],
            ..LabOptions::default()
        };
        let all = [plan(1, true)];
        let properties = broker_properties(&all[0], &all, &options, None);
        assert_eq!(value(&properties, "auto.create.topics.enable"), "true");
        assert_eq!(value(&properties, "num.io.threads"), "3");
    }

    #[test]
    fn a_collector_of_the_user_takes_the_place_of_g1() {
        let options = LabOptions { jvm_flags: vec!["-XX:+UseSerialGC".into()], ..LabOptions::default() };
        let flags = jvm_flags(&plan(1, true), &options);
        assert!(!flags.iter().any(|flag| flag.contains("G1")));
        assert_eq!(flags.last().unwrap(), "-XX:+UseSerialGC");
    }

    #[test]
    fn a_backslash_survives_the_properties_file() {
        assert_eq!(properties_text(&[("k".into(), r"a\b".into())]), "k=a\\\\b\n");
    }
}
