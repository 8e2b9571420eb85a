//! `plumb probe network`: TCP to itself or to a peer, or the peer's side of it.

mod listen;
mod rounds;

use super::window::Window;
use crate::args::probe::{NetworkArgs, ProbeOutput};
use crate::commands::End;
use crate::errors::UsageError;
use crate::printer;
use crate::progress::steps::Steps;
use crate::stop;
use anyhow::Result;
use plumb_model::probe::{NetworkProbe, ProbeKind};
use plumb_probe::network::{Limits, Listener, NetworkError, PORT, Peer};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(super) fn network(arguments: &NetworkArgs) -> Result<End> {
    if let Some(address) = &arguments.listen {
        return listen::listen(&listening(address)?);
    }
    let stop = stop::flag()?;
    let outcome = match &arguments.peer {
        Some(peer) => measure(arguments, &resolved(peer)?, false, &stop),
        None => on_loopback(arguments, &stop),
    };
    let (document, error) = match outcome {
        // There is nothing to show: no peer yet.
        Err(error) if matches!(error.downcast_ref(), Some(NetworkError::Stopped)) => {
            return Ok(End::Interrupted);
        }
        outcome => outcome?,
    };
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::network::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    // What was measured is worth having all the same.
    if let Some(error) = error {
        return Err(error.into());
    }
    let lost = document.throughput.iter().any(|rate| rate.sent_bytes != rate.received_bytes);
    Ok(match () {
        () if lost => End::Found,
        () if !document.conditions.complete => End::Interrupted,
        () => End::Done,
    })
}

/// The listener is a thread of this process.
fn on_loopback(arguments: &NetworkArgs, stop: &AtomicBool) -> Result<Outcome> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(any_port, Limits::default())?;
    let address = listener.address();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| listener.serve(&done, |_| {}));
        let outcome = measure(arguments, &[address], true, stop);
        done.store(true, Relaxed);
        outcome
    })
}

/// The document, and the error that ended it before its time.
type Outcome = (NetworkProbe, Option<NetworkError>);

fn measure(
    arguments: &NetworkArgs,
    addresses: &[SocketAddr],
    loopback: bool,
    stop: &AtomicBool,
) -> Result<Outcome> {
    let peer = first_that_answers(addresses, stop)?;
    let progress = Steps::begin("probing the network", rounds::estimate_s(arguments));
    let window = Window::open();
    let (measured, error) = rounds::measure(arguments, &peer, &progress, stop);
    drop(progress);
    let error = match error {
        // There is nothing to show.
        Some(error) if measured.is_empty() => return Err(error.into()),
        error => error,
    };
    let document = NetworkProbe {
        conditions: window.close_after(
            ProbeKind::Network,
            !stop.load(Relaxed),
            error.as_ref().map(|error| error as _),
        ),
        plan: rounds::plan(arguments),
        peer: peer.address().to_string(),
        loopback,
        round_trips: measured.round_trips,
        writes: measured.writes,
        throughput: measured.throughput,
        connections: measured.connections,
    };
    Ok((document, error))
}

fn first_that_answers<'a>(addresses: &[SocketAddr], stop: &'a AtomicBool) -> Result<Peer<'a>> {
    let mut last = None;
    for address in addresses {
        match Peer::new(*address, stop) {
            Ok(peer) => return Ok(peer),
            Err(NetworkError::Stopped) => return Err(NetworkError::Stopped.into()),
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
    with_port(peer)
        .map_err(wrong)?
        .to_socket_addrs()
        .map(Iterator::collect)
        .map_err(|error| wrong(&error.to_string()))
}

/// The address to listen on.
fn listening(address: &str) -> Result<SocketAddr, UsageError> {
    let hint = "--listen takes an address of this host, such as 0.0.0.0 or 192.0.2.7:7586";
    let wrong = |why: &str| UsageError::new(format!("cannot listen on {address:?}: {why}"), hint);
    let mut addresses =
        with_port(address).map_err(wrong)?.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    addresses.next().ok_or_else(|| wrong("it has no address"))
}

fn with_port(address: &str) -> Result<String, &'static str> {
    let bare_v6 = address.matches(':').count() > 1 && !address.starts_with('[');
    match address.rsplit_once(':') {
        _ if bare_v6 => Ok(format!("[{address}]:{PORT}")),
        // The colons of an address in brackets are its own.
        Some((_, port)) if !port.contains(']') => match port.parse::<u16>() {
            Ok(_) => Ok(address.to_owned()),
            Err(_) if port.is_empty() => Err("there is no port after the colon"),
            Err(_) if port.bytes().all(|byte| byte.is_ascii_digit()) => Err("ports end at 65535"),
            Err(_) => Err("what is after the colon is no port"),
        },
        _ => Ok(format!("{address}:{PORT}")),
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
            assert_eq!(with_port(said).as_deref(), Ok(meant));
        }
    }

    #[test]
    fn a_port_that_is_none_is_said_to_be_none() {
        for (said, why) in [
            ("127.0.0.1:99999", "ports end at 65535"),
            ("[::1]:65536", "ports end at 65535"),
            ("host:", "no port after the colon"),
            ("host:http", "no port"),
        ] {
            let (peer, listen) = (resolved(said).unwrap_err(), listening(said).unwrap_err());
            for error in [peer, listen] {
                assert!(error.message.ends_with(with_port(said).unwrap_err()), "{}", error.message);
                assert!(error.message.contains(why) && error.hint.is_some(), "{}", error.message);
            }
        }
    }
}
