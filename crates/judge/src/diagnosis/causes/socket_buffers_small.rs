//! Socket buffers are smaller than what the way holds, so that a connection waits for the round trip.

use super::super::case::{Case, NETWORK_NS_MAX};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, known, least, most, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "socket-buffers-small",
        summary: "Socket buffers are smaller than what the way holds, so that a connection waits for the round trip.",
        page: include_str!("../../../../../docs/findings/socket-buffers-small.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "rate times round trip is the size of the buffer that was read back",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "let the system size the socket buffers (-1)",
            setting: None,
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[],
    rivals: &["packet-loss", "nagle-delayed-ack", "network-saturated"],
    advice: &[
        "Set send.buffer.bytes and receive.buffer.bytes of clients and socket.send.buffer.bytes and socket.receive.buffer.bytes of brokers to -1, or to 1 MiB and more.",
        "Raise the largest values of net.ipv4.tcp_rmem and tcp_wmem to twice rate times round trip.",
    ],
    check,
};

/// Rate times round trip over the buffer from which the buffer bounds the rate (the research on Kafka over long ways names 0.8).
const USE_MIN: f64 = 0.8;
/// More than this is not on the way in a buffer: the kernel gives twice what is set, and what is above waits elsewhere (tcp(7)).
const USE_MAX: f64 = 2.5;
/// Below this the buffer has room to spare (ours).
const USE_EMPTY: f64 = 0.2;
/// Of the time in which connections have something to send, the share for which their send buffer is full from which it is the bound (ours).
const LIMITED_MIN: f64 = 0.2;
/// A way must be at least this long for buffers to bound it (ours).
const RTT_NS_MIN: f64 = 5e6;
/// Zero windows over segments from which receivers are full (ours).
const ZERO_WINDOWS_MIN: f64 = 0.01;

fn check(case: &Case) -> Option<Claim> {
    let stages = [Stage::ClientSend, Stage::Unexplained, Stage::ClientQueue];
    if !case.any_matters(&stages[..2]) && !case.queue_matters() {
        return None;
    }
    let brokers = case.taking_brokers();
    let rtt_ns = least(case.producers().map(|client| client.rtt_min_ns));
    let on_the_way = most(
        case.producers()
            .map(|client| Some(known(client.bytes_per_s)? / brokers * known(client.rtt_min_ns)? / 1e9)),
    );
    let keys = ["send.buffer.bytes", "socket.send.buffer.bytes"];
    let at_client = case.producer_number(&keys).filter(|bytes| *bytes > 0.0);
    let at_broker = case.broker_number("socket.receive.buffer.bytes").filter(|bytes| *bytes > 0.0);
    let buffer = least([at_client, at_broker].into_iter());
    let used = ratio(on_the_way, buffer);
    // Behind the requests of a full connection the shortest round trip is a wait as well, and says nothing of the way.
    let is_way = |rtt_ns: f64| (RTT_NS_MIN..NETWORK_NS_MAX).contains(&rtt_ns);
    let is_bound = |used: Option<f64>| used.is_some_and(|used| (USE_MIN..=USE_MAX).contains(&used));
    let long = rtt_ns.is_some_and(is_way) && !case.connection_is_full();
    let tcp = case.host().map(|host| &host.tcp);
    // Requests of many windows take many round trips: the kernel knows that of the way.
    let receiver = tcp.and_then(|tcp| tcp.longest_receiver).filter(|one| is_way(one.round_trip_ns));
    let received = receiver.map(|one| one.bytes_per_s * one.round_trip_ns / 1e9);
    let received_use = ratio(received, at_broker);
    let bounds = long && is_bound(used) || is_bound(received_use);
    // Where the kernel counted it for the connections of this host, nothing has to be worked out.
    let limited = tcp.and_then(|tcp| tcp.send_buffer_limited_share);
    let is_limited = limited.is_some_and(|share| share >= LIMITED_MIN);
    let zero = tcp.and_then(|tcp| ratio(count(tcp.zero_windows), count(tcp.sent_segments)));
    let full = zero.is_some_and(|zero| zero >= ZERO_WINDOWS_MIN);
    let lost = case.retransmitted().is_some_and(|lost| lost >= 0.01);
    // A receiver whose application is slow closes its window too: where the buffer is known to be almost empty, it is not too small.
    let empty = used.is_some_and(|used| used < USE_EMPTY);
    if !bounds && !is_limited && (!full || empty || used.is_some_and(|used| used > USE_MAX)) {
        return None;
    }
    Some(
        Claim::new(
            (bounds || is_limited) && !lost,
            case.share(&stages),
            match (bounds || is_limited, limited.filter(|_| is_limited)) {
                (_, Some(share)) => format!("Connections of this host that had something to send waited {} of the time for room in their send buffer", percent(share)),
                (true, None) => "Socket buffers are smaller than what is on the way at this rate".to_owned(),
                (false, None) => format!("Receivers closed their window in {} of the segments: a buffer is too small, or who reads it is slow", percent(zero.unwrap_or(0.0))),
            },
        )
        .seen("bytes on the way: rate of a connection times round trip", on_the_way, short, "")
        .seen("socket buffer", buffer, short, "more than twice that")
        .seen("use of the buffer", used, percent, "below 80 %")
        .seen("shortest round trip", rtt_ns, time, "")
        .seen("round trip of the way, by the kernel", receiver.map(|one| one.round_trip_ns), time, "")
        .seen("bytes on the way to a broker of this host", received, short, "")
        .seen("use of the broker's receive buffer", received_use, percent, "below 80 %")
        .seen("time in which a full send buffer held connections back", limited, percent, "below 20 %")
        .seen("zero windows, of the segments", zero, percent, "below 1 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.rtt_min_ns = Some(50e6);
        client.bytes_per_s = Some(3.9e6);
        client.batch_bytes_mean = Some(65_000.0);
        client.settings.insert("send.buffer.bytes".into(), "65536".into());
    });
    wait(path, |waits| (waits.unexplained, waits.client_send) = (70.0, 30.0));
}
