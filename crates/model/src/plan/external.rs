//! Clients of a step that are programs of their own: what an application uses, in a process beside Plumb.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The clients of a step of which at least one side is a program of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalPlan {
    /// The producers.
    pub producer: ClientProgram,
    /// The consumers.
    pub consumer: ClientProgram,
}

/// The client on one side of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientProgram {
    /// The C client library in Plumb's own process.
    Librdkafka,
    /// Apache Kafka's client for Java, a JVM of its own for each client and block.
    Java(JavaClient),
    /// A program that speaks the protocol of external drivers: the program and its arguments. It gets properties under the names that
    /// the user wrote, and those of the connection under librdkafka's.
    Command(Vec<String>),
}

/// A client for Java.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JavaClient {
    /// The class path with kafka-clients and what else the client needs, as `java -cp` takes it; none: the jars of Plumb's labs.
    #[serde(default)]
    pub classpath: Option<String>,
    /// Flags for its JVM.
    #[serde(default)]
    pub jvm_flags: Vec<String>,
}

impl ExternalPlan {
    /// The clients by name: `java`, or `java and librdkafka` of a producer and a consumer that differ.
    pub fn name(&self) -> String {
        match self.producer == self.consumer {
            true => self.producer.name(),
            false => format!("{} and {}", self.producer.name(), self.consumer.name()),
        }
    }

    /// The clients as a scenario's `driver` has them, in one line of YAML.
    pub fn words(&self) -> String {
        let value = match self.producer == self.consumer {
            true => self.producer.words(),
            false => json!({ "producer": self.producer.words(), "consumer": self.consumer.words() }),
        };
        // JSON is YAML; a name needs no quotes.
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }
}

impl ClientProgram {
    fn words(&self) -> Value {
        match self {
            ClientProgram::Librdkafka => json!("librdkafka"),
            ClientProgram::Java(java) if *java == JavaClient::default() => json!("java"),
            ClientProgram::Java(java) => json!({ "java": java }),
            ClientProgram::Command(words) => json!({ "command": words }),
        }
    }

    /// `librdkafka`, `java`, or the command's words.
    pub fn name(&self) -> String {
        match self {
            ClientProgram::Librdkafka => "librdkafka".to_owned(),
            ClientProgram::Java(JavaClient { classpath: None, .. }) => "java".to_owned(),
            ClientProgram::Java(JavaClient { classpath: Some(path), .. }) => format!("java {path}"),
            ClientProgram::Command(words) => words.join(" "),
        }
    }

    /// True if it is a process of its own.
    pub fn is_external(&self) -> bool {
        !matches!(self, ClientProgram::Librdkafka)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::DriverWords;

    #[test]
    fn what_is_written_of_a_driver_reads_back_as_the_driver() {
        let java = JavaClient { classpath: Some("a b/*:c".to_owned()), jvm_flags: vec!["-Xmx1g".to_owned()] };
        let command = ClientProgram::Command(vec!["./my \"driver\"".to_owned(), "a: b".to_owned()]);
        let sides = [
            ClientProgram::Java(java),
            command,
            ClientProgram::Java(JavaClient::default()),
            ClientProgram::Librdkafka,
        ];
        for (producer, consumer) in
            sides.iter().flat_map(|side| sides.iter().map(move |other| (side.clone(), other.clone())))
        {
            let plan = ExternalPlan { producer, consumer };
            let words = plan.words();
            let json = if words.starts_with('{') { words } else { format!("{words:?}") };
            let read: DriverWords = serde_json::from_str(&json).unwrap();
            assert_eq!(read, plan.clone().into(), "{}", plan.words());
        }
    }
}
