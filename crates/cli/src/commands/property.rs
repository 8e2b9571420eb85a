//! Client properties given as flags: `-X KEY=VALUE`, each to the client that it belongs to, or to both.

use crate::errors::UsageError;
use plumb_load::one_sided::{CONSUMER, PRODUCER, role_of};
use plumb_model::plan::Origin;
use plumb_model::resolve::Sources;
use plumb_model::scenario::{OneOrMany, Scalar, SetupWords};

/// Properties that librdkafka takes from either client, and that are of use to producers alone.
const OF_USE_TO_PRODUCERS: &[&str] = &["max.in.flight.requests.per.connection", "max.in.flight"];
/// How names of consumers' properties begin, also of those that librdkafka does not have.
const CONSUMER_ONLY_STARTS: &[&str] = &[
    "fetch.",
    "auto.",
    "enable.auto.",
    "queued.",
    "session.",
    "max.poll.",
    "group.",
    "heartbeat.",
    "isolation.",
    "check.crcs",
    "partition.assignment.",
    "enable.partition.eof",
    "max.partition.fetch",
];

/// Puts a property of -X to the client that it belongs to, or to both.
pub(super) fn place(property: &str, setup: &mut SetupWords, sources: &mut Sources) -> Result<(), UsageError> {
    place_at(FlagPlace { path: "setups.0", flag: "-X" }, property, setup, sources)
}

/// The place of a flag's property.
pub(super) struct FlagPlace<'a> {
    /// The setup or arm in the scenario, such as `setups.0`.
    pub(super) path: &'a str,
    /// The flag that says it.
    pub(super) flag: &'a str,
}

/// The same of a property that another flag says, of what stands at this path.
pub(super) fn place_at(
    FlagPlace { path, flag }: FlagPlace<'_>,
    property: &str,
    setup: &mut SetupWords,
    sources: &mut Sources,
) -> Result<(), UsageError> {
    let Some((key, value)) = property.split_once('=') else {
        let hint = format!(
            "write it as {flag} KEY=VALUE, such as {flag} linger.ms=0 or {flag} consumer.fetch.wait.max.ms=10"
        );
        return Err(UsageError::new(format!("{flag} {property:?} has no value"), hint));
    };
    let (producer, consumer, key) = match (key.strip_prefix("producer."), key.strip_prefix("consumer.")) {
        (Some(key), _) => (true, false, key),
        (_, Some(key)) => (false, true, key),
        _ => {
            let of = role_of(key);
            let producer_only = of == Some(PRODUCER) || OF_USE_TO_PRODUCERS.contains(&key);
            let consumer_only =
                of == Some(CONSUMER) || CONSUMER_ONLY_STARTS.iter().any(|start| key.starts_with(start));
            (!consumer_only, !producer_only, key)
        }
    };
    for (wanted, role, properties) in
        [(producer, "producer", &mut setup.producer), (consumer, "consumer", &mut setup.consumer)]
    {
        if wanted {
            let (place, origin) = (format!("{path}.{role}.{key}"), Origin::Flag { flag: flag.to_owned() });
            if sources.get(&place) == Some(&origin) {
                let hint = format!(
                    "leave one of them out, or say whose each is: {flag} producer.{key}=..., {flag} consumer.{key}=..."
                );
                return Err(UsageError::new(format!("{flag}: {key} is given twice for the {role}"), hint));
            }
            properties.insert(key.to_owned(), OneOrMany::One(Scalar(value.to_owned())));
            sources.insert(place, origin);
        }
    }
    Ok(())
}

/// Puts the acknowledgements of --acks to the producer, of which no -X may say them too.
pub(super) fn place_acks(
    acks: &OneOrMany<Scalar>,
    setup: &mut SetupWords,
    sources: &mut Sources,
) -> Result<(), UsageError> {
    if setup.producer.insert("acks".to_owned(), acks.clone()).is_some() {
        return Err(UsageError::new("acks is given twice, by -X and by --acks", "leave one of them out"));
    }
    sources.insert("setups.0.producer.acks".to_owned(), Origin::Flag { flag: "--acks".to_owned() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_property_goes_to_the_client_that_it_belongs_to() {
        let mut setup = SetupWords::default();
        let mut sources = Sources::new();
        for property in
            ["linger.ms=0", "fetch.wait.max.ms=10", "socket.nagle.disable=true", "consumer.client.rack=a"]
        {
            place(property, &mut setup, &mut sources).unwrap();
        }
        let keys = |map: &BTreeMap<String, OneOrMany<Scalar>>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&setup.producer), ["linger.ms", "socket.nagle.disable"]);
        assert_eq!(keys(&setup.consumer), ["client.rack", "fetch.wait.max.ms", "socket.nagle.disable"]);
        assert!(place("linger.ms", &mut setup, &mut sources).is_err());
        let mut setup = SetupWords::default();
        for one_sided in
            ["queue.buffering.backpressure.threshold=2", "max.in.flight=3", "offset.store.method=broker"]
        {
            place(one_sided, &mut setup, &mut sources).unwrap();
        }
        assert_eq!(keys(&setup.producer), ["max.in.flight", "queue.buffering.backpressure.threshold"]);
        assert_eq!(keys(&setup.consumer), ["offset.store.method"]);
    }

    #[test]
    fn a_property_that_is_given_twice_for_a_client_is_refused() {
        let refusal = |properties: &[&str]| {
            let (mut setup, mut sources) = (SetupWords::default(), Sources::new());
            let placed = properties.iter().try_for_each(|property| place(property, &mut setup, &mut sources));
            placed.err().map(|error| error.to_string())
        };
        let twice = refusal(&["linger.ms=5", "linger.ms=6"]).unwrap();
        assert!(twice.contains("linger.ms is given twice for the producer"), "{twice}");
        let twice = refusal(&["client.rack=a", "consumer.client.rack=b"]).unwrap();
        assert!(twice.contains("client.rack is given twice for the consumer"), "{twice}");
        assert_eq!(refusal(&["producer.client.rack=a", "consumer.client.rack=b"]), None);
    }

    #[test]
    fn acknowledgements_are_said_by_one_flag() {
        let (mut setup, mut sources) = (SetupWords::default(), Sources::new());
        let all = OneOrMany::One(Scalar("all".to_owned()));
        assert!(place_acks(&all, &mut setup, &mut sources).is_ok());
        assert!(place_acks(&all, &mut setup, &mut sources).is_err());
    }
}
