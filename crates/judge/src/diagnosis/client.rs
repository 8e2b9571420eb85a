//! What a watched client tells of itself.

use super::measure::{number, ratio};
use plumb_model::observed::{ClientKind, ClientWindow};

/// Requests a second of a producer: its bytes over those of a batch, or its messages over those of a batch.
pub(super) fn requests_per_s(client: &ClientWindow) -> Option<f64> {
    ratio(client.bytes_per_s, client.batch_bytes_mean)
        .or_else(|| ratio(client.messages_per_s, client.batch_messages_mean))
}

/// The first of these settings that a client told.
pub(super) fn setting<'a>(client: &'a ClientWindow, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| client.settings.get(*key)).map(String::as_str)
}

/// The limit of requests in flight to one broker: as told, or the default of the Java client (5).
pub(super) fn in_flight_limit(client: &ClientWindow) -> Option<f64> {
    let told = setting(client, &["max.in.flight.requests.per.connection", "max.in.flight"]).and_then(number);
    told.or((client.kind == ClientKind::Java).then_some(5.0))
}
