//! `plumb probe network`: TCP to itself or to a peer, or the peer's side of it.

mod listen;

use super::{distribution, window::Window};
use crate::args::probe::{NetworkArgs, ProbeOutput};
use crate::commands::End;
use crate::errors::UsageError;
use crate::printer;
use crate::progress::steps::Steps;
use crate::stop;
use anyhow::{Context, Result};
use plumb_model::probe::{
    ConnectionRate, NetworkProbe, ProbeKind, RoundTrips, StreamRate, TcpState, WritePattern,
};
use plumb_probe::network::{Connected, Flow, Limits, Listener, PORT, Peer, StreamCase, TcpInfo, WriteCase};
use plumb_stats::figure::consecutive;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of a write of a stream: larger ones change nothing, smaller ones measure system calls.
const WRITE_BYTES: u32 = 256 << 10;
/// The request whose writes are varied: smaller than any segment.
const REQUEST_BYTES: u32 = 100;

pub(super) fn network(arguments: &NetworkArgs) -> Result<End> {
    if let Some(address) = &arguments.listen {
        return listen::listen(&listening(address)?);
    }
    let stop = stop::flag()?;
    let document = match &arguments.peer {
        Some(peer) => measure(arguments, &resolved(peer)?, false, &stop)?,
        None => on_loopback(arguments, &stop)?,
    };
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::network::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    let lost = document.throughput.iter().any(|rate| rate.sent_bytes != rate.received_bytes);
    Ok(match () {
        () if lost => End::Found,
        () if !document.conditions.complete => End::Interrupted,
        () => End::Done,
    })
}

/// The listener is a thread of this process.
fn on_loopback(arguments: &NetworkArgs, stop: &AtomicBool) -> Result<NetworkProbe> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(any_port, Limits::default()).context("cannot listen on loopback")?;
    let address = listener.address().context("cannot listen on loopback")?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| listener.serve(&done, |_| {}));
        let document = measure(arguments, &[address], true, stop);
        done.store(true, Relaxed);
        document
    })
}

fn measure(
    arguments: &NetworkArgs,
    addresses: &[SocketAddr],
    loopback: bool,
    stop: &AtomicBool,
) -> Result<NetworkProbe> {
    let each = arguments.duration.to_duration();
    // Four ways to write, and the connections.
    let turns = arguments.sizes.len() + arguments.streams.len() + 5;
    let peer = first_that_answers(addresses)?;
    let progress = Steps::begin("probing the network", turns as f64 * each.as_secs_f64());
    let window = Window::open();
    let mut round_trips = Vec::new();
    for message_bytes in &arguments.sizes {
        if stop.load(Relaxed) {
            break;
        }
        progress.now(&format!("round trips of {message_bytes} bytes"));
        let case = WriteCase { message_bytes: *message_bytes, two_writes: false, nodelay: true };
        let times_ns = peer.exchanges(case, each, stop)?;
        round_trips.push(RoundTrips { message_bytes: *message_bytes, round_trip: distribution(times_ns) });
    }
    let writes = write_patterns(&peer, each, &progress, stop)?;
    let mut throughput = Vec::new();
    for streams in &arguments.streams {
        if stop.load(Relaxed) {
            break;
        }
        progress.now(&format!("{streams} streams"));
        let case = StreamCase { streams: *streams, write_bytes: WRITE_BYTES };
        throughput.push(stream_rate(case, peer.flow(case, each, stop)?));
    }
    let mut connections = None;
    if !stop.load(Relaxed) {
        progress.now("new connections");
        connections = connection_rate(peer.connections(each, stop)?);
    }
    drop(progress);
    Ok(NetworkProbe {
        conditions: window.close(ProbeKind::Network, !stop.load(Relaxed)),
        peer: peer.address().to_string(),
        loopback,
        round_trips,
        writes,
        throughput,
        connections,
    })
}

/// One write and two, with Nagle's algorithm and without.
fn write_patterns(
    peer: &Peer,
    each: Duration,
    progress: &Steps,
    stop: &AtomicBool,
) -> Result<Vec<WritePattern>> {
    let mut patterns = Vec::new();
    for (two_writes, nodelay) in [(false, false), (false, true), (true, false), (true, true)] {
        if stop.load(Relaxed) {
            break;
        }
        progress.now(if two_writes { "two writes" } else { "one write" });
        let times_ns =
            peer.exchanges(WriteCase { message_bytes: REQUEST_BYTES, two_writes, nodelay }, each, stop)?;
        let writes = if two_writes { 2 } else { 1 };
        patterns.push(WritePattern { writes, nodelay, round_trip: distribution(times_ns) });
    }
    Ok(patterns)
}

fn stream_rate(case: StreamCase, flow: Flow) -> StreamRate {
    StreamRate {
        streams: case.streams,
        write_bytes: case.write_bytes,
        bytes_per_s: consecutive(&flow.bytes_per_s),
        sent_bytes: flow.sent_bytes,
        received_bytes: flow.received_bytes,
        tcp: TcpState { congestion_control: flow.congestion_control.clone(), ..tcp_state(&flow.tcp) },
    }
}

/// All streams together; absent as soon as one does not tell.
fn tcp_state(streams: &[TcpInfo]) -> TcpState {
    let Some(first) = streams.first() else { return TcpState::default() };
    let sum = |field: fn(&TcpInfo) -> Option<u64>| streams.iter().map(field).sum::<Option<u64>>();
    let busy_ns = sum(|stream| stream.busy_ns).filter(|busy| *busy > 0);
    let share = |part_ns: Option<u64>| Some(part_ns? as f64 / busy_ns? as f64);
    TcpState {
        retransmitted_segments: sum(|stream| stream.retransmitted_segments.map(u64::from)),
        retransmitted_bytes: sum(|stream| stream.retransmitted_bytes),
        rtt_ns: sum(|stream| stream.rtt_ns).map(|sum| sum / streams.len() as u64),
        min_rtt_ns: streams.iter().filter_map(|stream| stream.min_rtt_ns).min(),
        congestion_window_segments: sum(|stream| stream.congestion_window_segments.map(u64::from)),
        segment_bytes: first.segment_bytes,
        receiver_limited_share: share(sum(|stream| stream.receiver_limited_ns)),
        send_buffer_limited_share: share(sum(|stream| stream.send_buffer_limited_ns)),
        congestion_control: None,
    }
}

fn connection_rate(seen: Connected) -> Option<ConnectionRate> {
    let number = seen.connect_ns.len();
    (number > 0 && !seen.elapsed.is_zero()).then(|| ConnectionRate {
        rate_per_s: number as f64 / seen.elapsed.as_secs_f64(),
        connect: distribution(seen.connect_ns),
        first_answer: distribution(seen.first_answer_ns),
    })
}

fn first_that_answers(addresses: &[SocketAddr]) -> Result<Peer> {
    let mut last = None;
    for address in addresses {
        match Peer::new(*address) {
            Ok(peer) => return Ok(peer),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(error.into()),
        None => Err(UsageError::new("the name has no address", "give HOST or HOST:PORT").into()),
    }
}

/// Addresses of `HOST[:PORT]`.
fn resolved(peer: &str) -> Result<Vec<SocketAddr>, UsageError> {
    let wrong = |why: &str| {
        let hint = format!("HOST or HOST:PORT (port {PORT} unless given), as --listen printed it there");
        UsageError::new(format!("{peer:?} is no address: {why}"), hint)
    };
    with_port(peer).to_socket_addrs().map(Iterator::collect).map_err(|error| wrong(&error.to_string()))
}

/// The address to listen on.
fn listening(address: &str) -> Result<SocketAddr, UsageError> {
    let hint = "--listen takes an address of this host, such as 0.0.0.0 or 192.0.2.7:7586";
    let wrong = |why: &str| UsageError::new(format!("cannot listen on {address:?}: {why}"), hint);
    let mut addresses = with_port(address).to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    addresses.next().ok_or_else(|| wrong("it has no address"))
}

fn with_port(address: &str) -> String {
    let bare_v6 = address.matches(':').count() > 1 && !address.starts_with('[');
    match address.rsplit_once(':') {
        _ if bare_v6 => format!("[{address}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => address.to_owned(),
        _ => format!("{address}:{PORT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_gets_the_probes_own() {
        for (said, meant) in [
            ("host", "host:7586"),
            ("host:9", "host:9"),
            ("10.0.0.1", "10.0.0.1:7586"),
            ("::1", "[::1]:7586"),
            ("[::1]", "[::1]:7586"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(with_port(said), meant);
        }
    }

    #[test]
    fn a_stream_that_does_not_tell_makes_the_sum_absent() {
        let tells = TcpInfo {
            retransmitted_bytes: Some(5),
            rtt_ns: Some(10),
            min_rtt_ns: Some(7),
            ..TcpInfo::default()
        };
        let silent = TcpInfo { rtt_ns: Some(30), ..TcpInfo::default() };
        let state = tcp_state(&[tells, silent]);
        assert_eq!((state.retransmitted_bytes, state.rtt_ns, state.min_rtt_ns), (None, Some(20), Some(7)));
        assert_eq!(tcp_state(&[tells, tells]).retransmitted_bytes, Some(10));
    }
}
