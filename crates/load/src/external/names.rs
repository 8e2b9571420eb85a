//! Properties as the client for Java calls them: those of the connection translated, those of a step only checked.

use crate::error::LoadError;
use crate::one_sided;
use plumb_model::plan::Properties;

/// Properties that librdkafka has and the client for Java has under another name, or not at all: what to write instead.
const OF_LIBRDKAFKA: &[(&str, &str)] = &[
    ("fetch.wait.max.ms", "the client for Java calls it fetch.max.wait.ms"),
    ("socket.nagle.disable", "the client for Java always disables it"),
    ("queue.buffering.max.ms", "the client for Java calls it linger.ms"),
    ("queue.buffering.max.kbytes", "the client for Java has buffer.memory, in bytes"),
    ("queue.buffering.max.messages", "the client for Java has buffer.memory, in bytes"),
    ("batch.num.messages", "the client for Java has batch.size, in bytes"),
    ("message.max.bytes", "the client for Java calls it max.request.size"),
    ("message.timeout.ms", "the client for Java calls it delivery.timeout.ms"),
    ("message.send.max.retries", "the client for Java calls it retries"),
    ("request.required.acks", "the client for Java calls it acks"),
    ("compression.codec", "the client for Java calls it compression.type"),
    ("max.in.flight", "the client for Java calls it max.in.flight.requests.per.connection"),
    ("fetch.message.max.bytes", "the client for Java calls it max.partition.fetch.bytes"),
    (
        "sticky.partitioning.linger.ms",
        "the client for Java sends a batch of records without a key to one partition",
    ),
];

/// Of producers alone in librdkafka, and of both in the client for Java.
const OF_BOTH: &str = "request.timeout.ms";

/// Refuses properties that the client for Java would ignore: librdkafka's, and those of the other side. `role`: whose they are.
pub(super) fn check(role: &'static str, properties: &Properties) -> Result<(), LoadError> {
    one_sided::check(role, properties.keys().filter(|name| *name != OF_BOTH))?;
    for (key, value) in properties {
        if let Some((_, instead)) = OF_LIBRDKAFKA.iter().find(|(name, _)| name == key) {
            return Err(LoadError::property(key, value, *instead));
        }
    }
    Ok(())
}

/// The properties of a connection, which are librdkafka's, for the client for Java.
pub(super) fn connection_for_java(properties: &Properties) -> Result<Properties, LoadError> {
    let mut java = Properties::new();
    let mut set = |name: &str, value: &str| java.insert(name.to_owned(), value.to_owned());
    for (key, value) in properties {
        match key.as_str() {
            "sasl.username" | "sasl.password" => {}
            "metadata.broker.list" => _ = set("bootstrap.servers", value),
            "sasl.mechanisms" => _ = set("sasl.mechanism", value),
            "ssl.ca.location" => {
                set("ssl.truststore.type", "PEM");
                set("ssl.truststore.location", value);
            }
            "ssl.ca.pem" => {
                set("ssl.truststore.type", "PEM");
                set("ssl.truststore.certificates", value);
            }
            "ssl.certificate.pem" => {
                set("ssl.keystore.type", "PEM");
                set("ssl.keystore.certificate.chain", value);
            }
            "ssl.key.pem" => _ = set("ssl.keystore.key", value),
            "ssl.keystore.location" => {
                set("ssl.keystore.type", "PKCS12");
                set("ssl.keystore.location", value);
            }
            "ssl.endpoint.identification.algorithm" if value == "none" => _ = set(key, ""),
            "ssl.certificate.location" | "ssl.key.location" => {
                return Err(LoadError::property(
                    key,
                    value,
                    "the client for Java takes both in one key store: write ssl.keystore.location with a PKCS#12 file",
                ));
            }
            _ => _ = set(key, value),
        }
    }
    if let (Some(user), Some(password)) = (properties.get("sasl.username"), properties.get("sasl.password")) {
        let mechanism = ["sasl.mechanism", "sasl.mechanisms"].iter().find_map(|key| properties.get(*key));
        let module = match mechanism.map(String::as_str) {
            Some(mechanism) if mechanism.starts_with("SCRAM") => "scram.ScramLoginModule",
            _ => "plain.PlainLoginModule",
        };
        let login = format!(
            "org.apache.kafka.common.security.{module} required username=\"{}\" password=\"{}\";",
            quoted(user),
            quoted(password)
        );
        java.insert("sasl.jaas.config".to_owned(), login);
    }
    Ok(java)
}

/// A value within the quotes of a JAAS line.
fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_login_and_a_certificate_authority_are_given_to_java_as_it_takes_them() {
        let librdkafka = properties(&[
            ("bootstrap.servers", "b:9092"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
            ("sasl.username", "ann"),
            ("sasl.password", "a\"b\\"),
            ("ssl.ca.location", "/ca.pem"),
        ]);
        let java = connection_for_java(&librdkafka).unwrap();
        assert_eq!(
            java["sasl.jaas.config"],
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"ann\" password=\"a\\\"b\\\\\";"
        );
        assert_eq!(
            (java["ssl.truststore.type"].as_str(), java["ssl.truststore.location"].as_str()),
            ("PEM", "/ca.pem")
        );
        assert!(!java.contains_key("sasl.password") && java["bootstrap.servers"] == "b:9092");
    }

    #[test]
    fn a_property_of_librdkafka_alone_is_refused_with_the_name_that_java_has_for_it() {
        let error = check("consumer", &properties(&[("fetch.wait.max.ms", "10")])).unwrap_err();
        assert!(error.to_string().contains("fetch.max.wait.ms"), "{error}");
        assert!(check("producer", &properties(&[("linger.ms", "0"), ("acks", "all")])).is_ok());
    }

    #[test]
    fn a_property_of_the_other_side_is_refused_for_java_too_but_for_what_both_have_there() {
        let misplaced = check("consumer", &properties(&[("linger.ms", "0")])).unwrap_err();
        assert!(misplaced.to_string().contains("consumers ignore it"), "{misplaced}");
        assert!(check("consumer", &properties(&[("request.timeout.ms", "9000")])).is_ok());
    }

    #[test]
    fn a_key_in_a_file_of_its_own_is_refused_for_java() {
        let error = connection_for_java(&properties(&[("ssl.key.location", "/key.pem")])).unwrap_err();
        assert!(error.to_string().contains("PKCS#12"), "{error}");
    }
}
