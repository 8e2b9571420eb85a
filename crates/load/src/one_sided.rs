//! Client properties that producers alone have, or consumers alone: in the other's block they would be ignored.
//!
//! By librdkafka's names, as its CONFIGURATION.md (2.12) marks them with P and C; the wire driver has the same names. Of the client for
//! Java they are not true: its consumers have `request.timeout.ms` too.

use crate::error::LoadError;

/// The word for producers in plans and messages.
pub const PRODUCER: &str = "producer";
/// The same for consumers.
pub const CONSUMER: &str = "consumer";

/// Of producers alone.
const OF_PRODUCERS: &[&str] = &[
    "acks",
    "batch.num.messages",
    "batch.size",
    "compression.codec",
    "compression.level",
    "compression.type",
    "delivery.report.only.error",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "linger.ms",
    "message.send.max.retries",
    "message.timeout.ms",
    "partitioner",
    "produce.offset.report",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queuing.strategy",
    "request.required.acks",
    "request.timeout.ms",
    "retries",
    "sticky.partitioning.linger.ms",
    "transaction.timeout.ms",
    "transactional.id",
];

/// Of consumers alone.
const OF_CONSUMERS: &[&str] = &[
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "check.crcs",
    "consume.callback.max.messages",
    "coordinator.query.interval.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.protocol.type",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "offset.store.method",
    "offset.store.path",
    "offset.store.sync.interval.ms",
    "partition.assignment.strategy",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "session.timeout.ms",
];

/// The clients that alone have a property, [`PRODUCER`] or [`CONSUMER`]; none where both do, or where it is not known.
pub fn role_of(name: &str) -> Option<&'static str> {
    let of = [(OF_PRODUCERS, PRODUCER), (OF_CONSUMERS, CONSUMER)];
    of.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, role)| role)
}

/// All that one side alone has.
pub fn names() -> impl Iterator<Item = &'static str> {
    OF_PRODUCERS.iter().chain(OF_CONSUMERS).copied()
}

/// Refuses properties of the other clients, by their names.
pub(crate) fn check<'n>(
    role: &'static str,
    names: impl IntoIterator<Item = &'n String>,
) -> Result<(), LoadError> {
    let of_other = names.into_iter().find_map(|key| Some((key, role_of(key).filter(|of| *of != role)?)));
    match of_other {
        None => Ok(()),
        Some((key, of)) => Err(LoadError::OfOtherRole { key: key.clone(), role, of }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::plan::Properties;

    #[test]
    fn each_name_is_of_one_side_and_what_both_have_is_of_neither() {
        for name in OF_PRODUCERS {
            assert!(!OF_CONSUMERS.contains(name), "{name}");
        }
        assert_eq!(role_of("linger.ms"), Some(PRODUCER));
        assert_eq!(role_of("fetch.wait.max.ms"), Some(CONSUMER));
        for name in
            ["socket.nagle.disable", "message.max.bytes", "client.rack", "retry.backoff.ms", "lingr.ms"]
        {
            assert_eq!(role_of(name), None, "{name}");
        }
    }

    #[test]
    fn either_driver_refuses_a_property_of_the_other_side_and_says_whose_it_is() {
        type Check = fn(&plumb_model::plan::StepPlan, &Properties) -> Result<(), LoadError>;
        let with = |role: &str, key: &str| {
            let mut step = crate::wire::sample::step();
            let own = if role == PRODUCER { &mut step.producer } else { &mut step.consumer };
            own.insert(key.to_owned(), "5".to_owned());
            step
        };
        let drivers: [Check; 2] = [crate::librdkafka::clients::check, crate::wire::check];
        for check in drivers {
            for (key, of, role) in
                [("linger.ms", PRODUCER, CONSUMER), ("fetch.min.bytes", CONSUMER, PRODUCER)]
            {
                let refused = check(&with(role, key), &Properties::new());
                assert_eq!(refused, Err(LoadError::OfOtherRole { key: key.to_owned(), role, of }));
                assert_eq!(check(&with(of, key), &Properties::new()), Ok(()), "{key}");
            }
        }
    }
}
