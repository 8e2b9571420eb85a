//! Client properties of a step, and those that are not the user's to set.

use super::trail::Trail;
use super::{ResolveError, sweep};
use crate::plan::Properties;
use crate::property::usual_name;
use crate::scenario::{OneOrMany, Scalar};
use std::collections::BTreeMap;

/// Properties that Plumb must set itself, with the place where the user sets them instead.
const RESERVED: &[(&str, &str)] = &[
    ("bootstrap.servers", "it belongs to the cluster: use cluster.bootstrap or --bootstrap"),
    ("metadata.broker.list", "it belongs to the cluster: use cluster.bootstrap or --bootstrap"),
    ("group.id", "each run uses a group of its own, so that it starts at the log's end and disturbs nobody"),
    ("statistics.interval.ms", "stages are computed from windows whose length Plumb sets"),
];

/// Acknowledgements that a broker takes.
const ACKS: &[&str] = &["0", "1", "-1", "all"];

/// The properties of a step's producers or consumers.
pub(super) fn properties(
    role: &'static str,
    words: &BTreeMap<String, OneOrMany<Scalar>>,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<Properties, ResolveError> {
    let mut properties = Properties::new();
    for (key, value) in words {
        let words_path = format!("{role}.{key}");
        let connection = key.starts_with("sasl.") || key.starts_with("ssl.") || key == "security.protocol";
        let reserved = RESERVED.iter().find(|(name, _)| name == key).map(|(_, reason)| *reason);
        let usual = usual_name(key);
        // With both names, which one counts would be chance.
        let twice = usual != key && words.contains_key(usual);
        let reserved = reserved.or(twice.then_some("its other name is set too: set one of the two"));
        let reason = reserved.or(connection.then_some(
            "it belongs to the cluster: put it into the client properties file (cluster.config or --config)",
        ));
        if let Some(reason) = reason {
            return Err(ResolveError::Reserved {
                place: trail.place(variant, &words_path),
                path: words_path,
                reason,
            });
        }
        let value = value.values()[0].0.clone();
        if usual == "acks" && !ACKS.contains(&value.trim()) {
            return Err(ResolveError::OutOfBounds {
                place: trail.place(variant, &words_path),
                path: words_path,
                got: format!("{value:?}"),
                expected: "0, 1 or all".into(),
                reason: "brokers refuse every other number of acknowledgements",
            });
        }
        let value = trail.step(format!("{at}.{words_path}"), &words_path, variant, Some(value), String::new);
        properties.insert(key.clone(), value);
    }
    Ok(properties)
}
