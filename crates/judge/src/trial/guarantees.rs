//! The differences of arms in durability of a write and security of the path. They are told before any figure.

mod devices;

use super::{Arm, Trial};
use crate::durability::{self, Unlike};
use devices::ArmLogs;
use plumb_model::document::{Effective, RunDocument};
use plumb_model::plan::Properties;
use std::fmt;

type Of = fn(&Effective) -> &Properties;

/// Settings of clients that make the path safer or less safe.
const CLIENT: &[&str] = &[
    "security.protocol",
    "sasl.mechanism",
    "enable.ssl.certificate.verification",
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.curves.list",
    "ssl.sigalgs.list",
];

/// Settings of brokers: of security, and of durability beyond the topic's.
const BROKER: &[&str] = &[
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "sasl.enabled.mechanisms",
    "security.inter.broker.protocol",
    "listener.security.protocol.map",
    "unclean.leader.election.enable",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
];

/// Settings of a topic, beyond those of the durability fingerprint.
const TOPIC: &[&str] = &["unclean.leader.election.enable"];

const PLACES: [(&str, Of, &[&str]); 4] = [
    ("producer", |effective| &effective.producer, CLIENT),
    ("consumer", |effective| &effective.consumer, CLIENT),
    ("broker", |effective| &effective.broker, BROKER),
    ("topic", |effective| &effective.topic, TOPIC),
];

/// For each arm that does not promise what the reference does: how.
pub(super) fn differences(trial: &Trial) -> Vec<String> {
    let Some((reference, arms)) = trial.arms.split_first() else { return Vec::new() };
    arms.iter().filter_map(|arm| unequal(trial.document, reference, arm)).collect()
}

fn unequal(document: &RunDocument, reference: &Arm, arm: &Arm) -> Option<String> {
    let (a, b) = (reference.setup.result, arm.setup.result);
    // Steps of which no block has run yet have told nothing.
    if a.blocks.is_empty() || b.blocks.is_empty() {
        return None;
    }
    let Unlike { known: mut durability, mut half_told } = durability::unlike(&a.durability, &b.durability);
    let of_devices = devices::unlike(
        document,
        ArmLogs { arm: reference.name, log_dirs: &a.effective.log_dirs },
        ArmLogs { arm: arm.name, log_dirs: &b.effective.log_dirs },
    );
    durability.extend(of_devices.known);
    half_told.extend(of_devices.half_told);
    let settings = settings(&a.effective, &b.effective);
    let mut security: Vec<String> = settings.iter().map(Differing::to_string).collect();
    let protocol = |arm: &Arm| arm.setup.result.cluster.as_ref()?.security_protocol.clone();
    if let (Some(a), Some(b)) = (protocol(reference), protocol(arm))
        && a != b
        && !security.iter().any(|known| known.contains("security.protocol"))
    {
        security.push(format!("security.protocol: {a} / {b}"));
    }
    let what = match (durability.is_empty(), security.is_empty()) {
        (true, true) => return not_told(reference, arm, &half_told),
        (false, true) => "durability",
        (true, false) => "security",
        (false, false) => "durability and security",
    };
    // What one of them does not tell is named beside what is known.
    let all: Vec<String> = durability.into_iter().chain(security).chain(half_told).collect();
    Some(format!(
        "\"{}\" and \"{}\" differ in {what}, so in what they promise ({})",
        reference.name,
        arm.name,
        all.join("; ")
    ))
}

/// Two arms of which one does not tell what the other does, as where its brokers ended: nothing says that they differ.
fn not_told(reference: &Arm, arm: &Arm, half_told: &[String]) -> Option<String> {
    (!half_told.is_empty()).then(|| {
        format!(
            "it is not known whether \"{}\" and \"{}\" promise the same, as one of them does not tell all of it ({})",
            reference.name,
            arm.name,
            half_told.join("; ")
        )
    })
}

/// A setting of security or durability that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Differing {
    /// Its owner: `producer`, `broker` ...
    pub(crate) role: &'static str,
    pub(crate) key: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
}

impl fmt::Display for Differing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differing { role, key, a, b } = self;
        write!(f, "{role} {key}: {a} / {b}")
    }
}

/// How a client connects.
const PROTOCOL: &str = "security.protocol";

/// Settings of security and durability that differ, beyond the durability fingerprint.
pub(crate) fn settings(a: &Effective, b: &Effective) -> Vec<Differing> {
    let mut found: Vec<Differing> = Vec::new();
    for (role, of, keys) in PLACES {
        let (a, b) = (of(a), of(b));
        if a.is_empty() || b.is_empty() {
            continue;
        }
        // A client that does not tell how it connects does not say that it does so in another way.
        let is_told = |key: &str| key != PROTOCOL || (value(a, key).is_some() && value(b, key).is_some());
        let differs = |key: &str| is_told(key) && has_effect(key, a, b) && value(a, key) != value(b, key);
        for &key in keys.iter().filter(|key| differs(key)) {
            let shown = |properties| value(properties, key).unwrap_or_else(|| "none".to_owned());
            let differing = Differing { role, key, a: shown(a), b: shown(b) };
            // Producer and consumer mostly share their security.
            if !found.iter().any(|it| (it.key, &it.a, &it.b) == (key, &differing.a, &differing.b)) {
                found.push(differing);
            }
        }
    }
    found
}

/// A setting as every client means it: clients write one value in two ways, and leave out what they always do.
fn value(properties: &Properties, key: &str) -> Option<String> {
    let written = |key: &str| properties.get(key).filter(|value| !value.is_empty()).cloned();
    match key {
        "security.protocol" => written(key).map(|protocol| protocol.to_lowercase()),
        // librdkafka's own name.
        "sasl.mechanism" => written(key).or_else(|| written("sasl.mechanisms")),
        // Of the client for Java it cannot be switched off.
        "enable.ssl.certificate.verification" => Some(written(key).unwrap_or_else(|| "true".to_owned())),
        _ => written(key),
    }
}

/// False for what neither side's protocol uses: clients have it, with defaults of their own.
fn has_effect(key: &str, a: &Properties, b: &Properties) -> bool {
    let layer = match key {
        key if key.starts_with("sasl.mechanism") => "sasl",
        key if key.starts_with("ssl.") || key.starts_with("enable.ssl.") => "ssl",
        _ => return true,
    };
    let protocols: Vec<String> =
        [a, b].iter().filter_map(|properties| value(properties, "security.protocol")).collect();
    protocols.is_empty() || protocols.iter().any(|protocol| protocol.contains(layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(a: &[(&str, &str)], b: &[(&str, &str)]) -> Vec<String> {
        let of = |pairs: &[(&str, &str)]| Effective {
            producer: pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            ..Effective::default()
        };
        settings(&of(a), &of(b)).iter().map(Differing::to_string).collect()
    }

    #[test]
    fn two_clients_that_write_one_security_in_two_ways_promise_the_same() {
        let librdkafka = [
            ("security.protocol", "plaintext"),
            ("enable.ssl.certificate.verification", "true"),
            ("ssl.cipher.suites", ""),
            ("sasl.mechanisms", "GSSAPI"),
        ];
        assert_eq!(differing(&[("security.protocol", "PLAINTEXT"), ("acks", "all")], &librdkafka), [""; 0]);
        let java = [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN")];
        let same = [
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanisms", "PLAIN"),
            ("enable.ssl.certificate.verification", "true"),
        ];
        assert_eq!(differing(&java, &same), [""; 0]);
    }

    #[test]
    fn what_one_of_two_clients_does_not_check_or_encrypt_is_told() {
        let java = [("security.protocol", "SSL")];
        let unchecked = [("security.protocol", "ssl"), ("enable.ssl.certificate.verification", "false")];
        assert_eq!(
            differing(&java, &unchecked),
            ["producer enable.ssl.certificate.verification: true / false"]
        );
        assert_eq!(
            differing(&java, &[("security.protocol", "plaintext")]),
            ["producer security.protocol: ssl / plaintext"]
        );
    }
}
