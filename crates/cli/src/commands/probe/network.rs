//! `plumb probe network`: TCP to itself or to a peer, or the peer's side of it.

use super::{end, listen};
use crate::args::probe::NetworkArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::{progress, stop};
use anyhow::Result;
use plumb_model::fault::HasFault;
use plumb_probe::network::PORT;
use plumb_session::probe::network::{NetworkSettings, probe};
use std::net::{SocketAddr, ToSocketAddrs};

pub(super) fn network(arguments: &NetworkArgs) -> Result<End> {
    if let Some(address) = &arguments.listen {
        return listen::listen(&listening(address)?);
    }
    let stop = stop::flag()?;
    let settings = NetworkSettings {
        peer: arguments.peer.as_deref().map_or(Ok(Vec::new()), resolved)?,
        streams: arguments.streams.clone(),
        message_bytes: arguments.sizes.clone(),
        duration: arguments.duration.to_duration(),
    };
    match probe(&settings, &stop, &progress::watcher()) {
        // There is nothing to show: no peer yet.
        Err(error) if error.is_stop() => Ok(End::Interrupted),
        probed => end(probed?, &arguments.result, plumb_report::probe::network::sheet, "probe network"),
    }
}

/// Addresses of `HOST[:PORT]`, one at least.
pub(super) fn resolved(peer: &str) -> Result<Vec<SocketAddr>, UsageError> {
    let wrong = |why: &str| {
        let hint = format!("HOST or HOST:PORT (port {PORT} unless given), as --listen printed it there");
        UsageError::new(format!("{peer:?} is no address: {why}"), hint)
    };
    let found = with_port(peer).map_err(wrong)?.to_socket_addrs();
    let addresses: Vec<SocketAddr> = found.map_err(|error| wrong(&error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(UsageError::new("the name has no address", "give HOST or HOST:PORT"));
    }
    Ok(addresses)
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
