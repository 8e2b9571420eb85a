//! The fate of each key of a driver file.

use super::draft::{Draft, Setting, quoted};
use super::fate::{Fates, Place};
use super::file::Entry;
use super::workload::unknown;
use crate::java_client::{self, Generation, Role, Translation, is_connection, is_secret, producer_defaults};
use crate::yaml::Value;
use plumb_load::librdkafka::java;
use plumb_model::fault::UsageError;

const KNOWN: &[&str] = &[
    "name",
    "driverClass",
    "replicationFactor",
    "reset",
    "topicConfig",
    "commonConfig",
    "producerConfig",
    "consumerConfig",
];

/// Transactions, by the names of the forks that have them.
const TRANSACTIONS: &[&str] =
    &["useTransactions", "batchSize", "maxConcurrentTransactions", "requestsPerTransaction"];

/// Drivers whose clients are Kafka's.
const KAFKA_DRIVERS: &[&str] = &["KafkaBenchmarkDriver", "RedpandaBenchmarkDriver", "KopBenchmarkDriver"];

/// Of the Java producer alone, in text that is for both.
const PRODUCER_ONLY: &[&str] = &[
    "acks",
    "linger.ms",
    "batch.size",
    "compression.type",
    "retries",
    "delivery.timeout.ms",
    "enable.idempotence",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "buffer.memory",
];
/// The same of the Java consumer: how its names begin.
const CONSUMER_ONLY_STARTS: &[&str] = &[
    "fetch.",
    "auto.",
    "enable.auto.",
    "session.",
    "heartbeat.",
    "max.poll.",
    "max.partition.",
    "isolation.",
    "check.crcs",
    "group.",
    "partition.assignment.",
];

/// The cluster and its client properties file, as the user names them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach<'a> {
    pub(super) bootstrap: Option<&'a str>,
    pub(super) config: Option<&'a str>,
}

/// One property of the text in the driver file.
#[derive(Debug, Clone)]
struct Property {
    place: Place,
    block: String,
    name: String,
    value: String,
}

impl Property {
    fn key(&self) -> String {
        format!("{} {}", self.block, self.name)
    }
}

/// Translates a driver into the draft. Gives what belongs into the client properties file: lines of it.
pub(super) fn translate(
    entries: &[Entry],
    reach: Reach<'_>,
    draft: &mut Draft,
    fates: &mut Fates,
) -> Result<Vec<String>, UsageError> {
    let existing_topic = draft.topic.iter().any(|setting| setting.key == "name");
    let mut driver = Driver {
        reach,
        existing_topic,
        draft,
        fates,
        connection: Vec::new(),
        bootstrap: false,
        listed: false,
    };
    for entry in entries {
        driver.key(entry);
    }
    driver.close(entries)
}

struct Driver<'a> {
    reach: Reach<'a>,
    existing_topic: bool,
    draft: &'a mut Draft,
    fates: &'a mut Fates,
    connection: Vec<Property>,
    /// True if an address is known.
    bootstrap: bool,
    /// True if the keys of a driver file were listed.
    listed: bool,
}

impl Driver<'_> {
    fn key(&mut self, entry: &Entry) {
        let Entry { place, key, value } = entry;
        match key.as_str() {
            _ if *value == Value::Nothing => {
                self.fates.without_meaning(place, key, "nothing is written there")
            }
            "name" => {
                self.draft.setup = value.to_string();
                self.fates.taken(place, key, format!("setups[0].name: {}", quoted(&self.draft.setup)));
            }
            "driverClass" => self.class(place, key, &value.to_string()),
            "replicationFactor" => self.replication(place, key, value),
            "reset" if *value == Value::Scalar("false".to_owned()) => {
                self.fates.without_meaning(place, key, "topics that a run did not make are never deleted");
            }
            "reset" => {
                let reason = "the benchmark deletes topics that are on the cluster before it begins; Plumb deletes what its run \
                              made and nothing else, so delete those yourself if they are in the way";
                self.fates.without_meaning(place, key, reason);
            }
            "topicConfig" => {
                for property in self.properties(entry) {
                    self.topic_config(&property);
                }
            }
            "commonConfig" => {
                for property in self.properties(entry) {
                    self.property(&property, &[Role::Producer, Role::Consumer]);
                }
            }
            "producerConfig" => {
                for property in self.properties(entry) {
                    self.property(&property, &[Role::Producer]);
                }
            }
            "consumerConfig" => {
                for property in self.properties(entry) {
                    self.property(&property, &[Role::Consumer]);
                }
            }
            "kafkaConfig" => {
                for property in self.properties(entry) {
                    self.property(&property, &[Role::Producer, Role::Consumer]);
                }
            }
            "producerType" | "consumerType" => self.client_type(place, key, &value.to_string()),
            "pulsarConfig" => {
                self.fates.without_meaning(place, key, "it is for clients of Pulsar, and these are Kafka's");
            }
            "skipCreateTopic" if *value == Value::Scalar("false".to_owned()) => {
                self.fates.without_meaning(place, key, "topics are made, as by default");
            }
            "skipCreateTopic" => {
                let reason = "name the topic that is there with existingTopicList in the workload";
                self.fates.refused(place, key, reason);
            }
            "topicPrefix" => {
                let reason = "Plumb names its topics itself: where something on the path acts by their names, name a topic that \
                              is there with existingTopicList in the workload; else take this key out";
                self.fates.refused(place, key, reason);
            }
            "useTransactions" if *value == Value::Scalar("false".to_owned()) => {
                self.fates.without_meaning(place, key, "producers here send none");
            }
            _ if TRANSACTIONS.contains(&key.as_str()) => {
                let reason = "producers here send no transactions: without this key the load is another, so take it out only \
                              if that is what you want";
                self.fates.refused(place, key, reason);
            }
            _ => {
                let reason = unknown("a driver file for Kafka", KNOWN, &mut self.listed);
                self.fates.refused(place, key, reason);
            }
        }
    }

    fn class(&mut self, place: &Place, key: &str, class: &str) {
        let simple = class.rsplit('.').next().unwrap_or_default();
        if KAFKA_DRIVERS.contains(&simple) {
            self.fates.taken(place, key, "the Kafka protocol");
        } else {
            let reason =
                format!("{class} does not speak the Kafka protocol; known are {}", KAFKA_DRIVERS.join(", "));
            self.fates.refused(place, key, reason);
        }
    }

    /// KoP's driver has clients of either system.
    fn client_type(&mut self, place: &Place, key: &str, kind: &str) {
        if kind.eq_ignore_ascii_case("kafka") {
            self.fates.taken(place, key, "the Kafka protocol");
        } else {
            let reason =
                format!("a client of {kind} does not speak the Kafka protocol, and no flag makes it so");
            self.fates.refused(place, key, reason);
        }
    }

    fn replication(&mut self, place: &Place, key: &str, value: &Value) {
        if self.existing_topic {
            self.fates.without_meaning(place, key, "an existing topic is used as it is");
            return;
        }
        match value.to_string().parse::<u32>() {
            Ok(replicas) if replicas > 0 => {
                self.fates.taken(place, key, format!("topic.replication: {replicas}"));
                let comment = format!("{}, {key}", place.short());
                self.draft.topic.push(Setting::from_key(
                    "replication",
                    replicas.to_string(),
                    place,
                    &comment,
                ));
            }
            _ => self.fates.refused(place, key, format!("{value} is no number of replicas")),
        }
    }

    /// The properties in a block of text.
    fn properties(&mut self, entry: &Entry) -> Vec<Property> {
        let Value::Scalar(text) = &entry.value else {
            let reason = "it is text with a line for each property (`topicConfig: |`)";
            self.fates.refused(&entry.place, &entry.key, reason);
            return Vec::new();
        };
        let mut properties = Vec::new();
        for java::Entry { line, key, value, has_value } in java::entries(text) {
            // A block's text begins in the line after its key.
            let place = Place { file: entry.place.file.clone(), line: entry.place.line + line };
            let property = Property { place, block: entry.key.clone(), name: key, value };
            match has_value {
                true => properties.push(property),
                false => {
                    let reason = "it has no value: write `name=value`";
                    self.fates.refused(&property.place, &property.key(), reason);
                }
            }
        }
        properties
    }

    fn topic_config(&mut self, property: &Property) {
        let Property { place, name, value, .. } = property;
        if self.existing_topic {
            self.fates.without_meaning(place, &property.key(), "an existing topic is used as it is");
            return;
        }
        let value = quoted(value);
        self.fates.taken(place, &property.key(), format!("topic.configs.{name}: {value}"));
        let comment = place.short();
        self.draft.topic_configs.push(Setting::from_key(name, value, place, &comment));
    }

    fn property(&mut self, property: &Property, roles: &[Role]) {
        let Property { place, name, value, .. } = property;
        let key = property.key();
        let replaced = match name.as_str() {
            "bootstrap.servers" => self.reach.bootstrap.is_some(),
            name if is_connection(name) => self.reach.config.is_some(),
            name => name.starts_with("client."),
        };
        if is_placeholder(value) && !replaced {
            let reason = "`${...}` is filled in by the benchmark's deployment, not by a client: write what it stands for, and what is \
                          secret or says how to connect into a client properties file (--config)";
            self.fates.refused(place, &key, reason);
        } else if name == "bootstrap.servers" {
            self.bootstrap_servers(property);
        } else if is_connection(name) {
            self.connection.push(property.clone());
        } else if is_secret(name) {
            let reason = "it may hold a secret, which must not get into a scenario or a report; what says how to connect \
                          begins with sasl., ssl. or is security.protocol";
            self.fates.refused(place, &key, reason);
        } else if name.starts_with("client.") && value.contains('{') {
            self.fates.without_meaning(
                place,
                &key,
                "there is no zone of a worker to put in; clients are called plumb",
            );
        } else {
            let both = roles.len() > 1;
            for role in roles {
                let of_the_other = match role {
                    Role::Producer => CONSUMER_ONLY_STARTS.iter().any(|start| name.starts_with(start)),
                    Role::Consumer => PRODUCER_ONLY.contains(&name.as_str()),
                };
                if !(both && of_the_other) {
                    self.role_property(property, *role);
                }
            }
        }
    }

    fn bootstrap_servers(&mut self, property: &Property) {
        let Property { place, value, .. } = property;
        let key = property.key();
        if self.reach.bootstrap.is_some() {
            self.fates.without_meaning(place, &key, "--bootstrap takes its place");
        } else if self.bootstrap {
            self.fates.refused(place, &key, "there is an address above already, and a run has one cluster");
        } else {
            let value = quoted(value);
            self.fates.taken(place, &key, format!("cluster.bootstrap: {value}"));
            let comment = place.short();
            self.draft.cluster.push(Setting::from_key("bootstrap", value, place, &comment));
            self.bootstrap = true;
        }
    }

    fn role_property(&mut self, property: &Property, role: Role) {
        let Property { place, name, value, .. } = property;
        let (word, settings) = match role {
            Role::Producer => ("producer", &mut self.draft.producer),
            Role::Consumer => ("consumer", &mut self.draft.consumer),
        };
        let key = property.key();
        let mut put = |name: &str, value: &str| {
            let value = quoted(value);
            let comment = place.short();
            // As in the benchmark, what is said for one side alone counts.
            settings.retain(|setting| setting.key != name);
            settings.push(Setting::from_key(name, value.clone(), place, &comment));
            format!("{word} {name}: {value}")
        };
        match java_client::translate(role, name, value) {
            Translation::Same if name == "enable.auto.commit" && value == "false" => {
                let to = put(name, value);
                let note = "the benchmark then commits by itself after what it polls; Plumb does not commit";
                self.fates.translated(place, &key, to, note);
            }
            Translation::Same => {
                let to = put(name, value);
                self.fates.taken(place, &key, to);
            }
            Translation::Renamed { name, value, note } => {
                let to = put(name, &value);
                self.fates.translated(place, &key, to, note);
            }
            Translation::WithoutMeaning(reason) => self.fates.without_meaning(place, &key, reason),
            Translation::Refused(reason) => self.fates.refused(place, &key, reason),
        }
    }

    /// Adds the settings that no single key decides, and returns the lines of the connection.
    fn close(mut self, entries: &[Entry]) -> Result<Vec<String>, UsageError> {
        let file = entries.first().map_or("the driver file", |entry| entry.place.file.as_str());
        match self.reach.bootstrap {
            Some(bootstrap) => {
                self.draft.cluster.insert(0, Setting::added("bootstrap", quoted(bootstrap), "--bootstrap"));
            }
            None if !self.bootstrap => {
                return Err(UsageError::new(
                    format!("{file}: bootstrap.servers is missing"),
                    "say where the cluster is with --bootstrap HOST:PORT,...",
                ));
            }
            None => {}
        }
        if !entries.iter().any(|entry| entry.key == "driverClass") {
            return Err(UsageError::new(
                format!("{file}: driverClass is missing"),
                "is it a driver file of the Open Messaging Benchmark?",
            ));
        }
        if self.draft.setup.is_empty() {
            self.draft.setup = "Kafka".to_owned();
        }
        self.defaults();
        Ok(self.connection_lines())
    }

    /// Writes out the defaults of the Java client that librdkafka does not have, so that the load is the same.
    fn defaults(&mut self) {
        let written = self.draft.producer.clone();
        let given = |name: &str| {
            let setting = written.iter().find(|setting| setting.key == name);
            setting.map(|setting| setting.value.as_str())
        };
        for (name, value) in producer_defaults(Generation::Three, given) {
            self.draft.producer.push(Setting::added(name, value, "the Java client's default (3.x)"));
        }
    }

    /// The lines of the connection, for a file of its own, because it may hold secrets.
    fn connection_lines(&mut self) -> Vec<String> {
        let plain =
            |property: &Property| property.name == "security.protocol" && property.value == "PLAINTEXT";
        if self.connection.iter().all(plain) {
            for property in &self.connection {
                self.fates.taken(&property.place, &property.key(), "the default");
            }
            if let Some(config) = self.reach.config {
                self.draft.cluster.push(Setting::added("config", quoted(config), "--client-config"));
            }
            return Vec::new();
        }
        let Some(config) = self.reach.config else {
            for (at, property) in self.connection.iter().enumerate() {
                let reason = match at {
                    0 => {
                        "it says how to connect, which a scenario does not hold because of secrets: name a client properties \
                         file to write it to with --client-config FILE"
                    }
                    _ => "it says how to connect: --client-config FILE",
                };
                self.fates.refused(&property.place, &property.key(), reason);
            }
            return Vec::new();
        };
        let mut lines: Vec<(String, String)> = Vec::new();
        for property in &self.connection {
            let line = (property.name.clone(), escaped(&property.value));
            match lines.iter().find(|(name, _)| *name == line.0) {
                Some(known) if *known != line => {
                    let reason = "producer and consumer have one client properties file, and it stands elsewhere with \
                                  another value";
                    self.fates.refused(&property.place, &property.key(), reason);
                }
                Some(_) => {}
                None => lines.push(line),
            }
            let to = format!("{} in {config}", property.name);
            self.fates.taken(&property.place, &property.key(), to);
        }
        let comment = "how to connect; not for a repository";
        self.draft.cluster.push(Setting::added("config", quoted(config), comment));
        lines.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

/// A value as properties text has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// True if a value has a part that somebody was to fill in.
fn is_placeholder(value: &str) -> bool {
    value.split_once("${").is_some_and(|(_, rest)| rest.contains('}'))
}
