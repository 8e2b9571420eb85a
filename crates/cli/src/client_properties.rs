//! Properties of the clients that people set by name: the known names that an unknown one is compared with.

/// Names that both clients have and that measurements are about; librdkafka has more.
const OF_BOTH: &[&str] = &[
    "allow.auto.create.topics",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "max.in.flight.requests.per.connection",
    "message.copy.max.bytes",
    "message.max.bytes",
    "metadata.max.age.ms",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "statistics.interval.ms",
];

/// The names of both clients, and of producers or consumers alone.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    OF_BOTH.iter().copied().chain(plumb_load::one_sided::names())
}
