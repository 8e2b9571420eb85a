//! TCP to a listener of ours: in a thread of this process on loopback, or on another host.

mod rounds;

use super::rounds::{FailedTurn, planned_s, run};
use super::{Probed, window::Window};
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
use plumb_model::fault::HasFault;
use plumb_model::plan::Properties;
use plumb_model::probe::{NetworkProbe, ProbeKind};
use plumb_probe::network::{Limits, Listener, NetworkError, Peer};
use rounds::NetworkRounds;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The settings of a network probe, with its peer.
#[derive(Debug, Clone)]
pub struct NetworkSettings {
    /// Addresses of the listener, of which the first that answers is taken. Empty: one in this process, on loopback.
    pub peer: Vec<SocketAddr>,
    /// Numbers of parallel streams.
    pub streams: Vec<u32>,
    /// Sizes of the messages that go there and back.
    pub message_bytes: Vec<u32>,
    /// Measured time of each size, way to write and number of streams, all rounds together.
    pub duration: Duration,
}

/// Probes the network.
///
/// # Errors
/// When nothing could be measured; the error of a user who stopped it before is a stop.
pub fn probe(
    settings: &NetworkSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Probed<NetworkProbe>> {
    let context = RunContext::new(Properties::new(), stop, watcher);
    match settings.peer.split_last() {
        Some((last, before)) => measure(settings, &first_that_answers(before, *last, stop)?, &context),
        None => on_loopback(settings, &context),
    }
}

/// The listener is a thread of this process.
fn on_loopback(settings: &NetworkSettings, context: &RunContext) -> Result<Probed<NetworkProbe>> {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(any_port, Limits::default())?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| listener.serve(&done, |_| {}));
        let outcome = Peer::new(listener.address(), &context.stop)
            .map_err(Into::into)
            .and_then(|peer| measure(settings, &peer, context));
        done.store(true, Relaxed);
        outcome
    })
}

fn measure(settings: &NetworkSettings, peer: &Peer, context: &RunContext) -> Result<Probed<NetworkProbe>> {
    let mut rounds = NetworkRounds::new(settings, peer);
    let turns = rounds.turns();
    let estimate_s = planned_s(&rounds, &turns);
    context.tell(&Event::ProbeBegins { what: "probing the network", estimate_s });
    let window = Window::open();
    let failed = run(&mut rounds, &turns, context).err();
    context.tell(&Event::Ends);
    let measured = rounds.measured();
    let error = match failed {
        // There is nothing to show.
        Some(FailedTurn { error, .. }) if measured.is_empty() => return Err(error.into()),
        failed => failed.map(|failed| failed.error),
    };
    let ended_by = error.as_ref().map(|error| error as _);
    let document = NetworkProbe {
        conditions: window.close_after(ProbeKind::Network, !context.is_stopped(), ended_by),
        plan: rounds::plan(settings),
        peer: peer.address().to_string(),
        loopback: settings.peer.is_empty(),
        round_trips: measured.round_trips,
        writes: measured.writes,
        throughput: measured.throughput,
        connections: measured.connections,
    };
    Ok(Probed {
        complete: document.conditions.complete,
        found: document.throughput.iter().any(|rate| rate.sent_bytes != rate.received_bytes),
        error: error.map(Into::into),
        document,
    })
}

/// The first of the addresses that answers; the error of the last one where none does.
pub(super) fn first_that_answers<'a>(
    addresses: &[SocketAddr],
    last: SocketAddr,
    stop: &'a AtomicBool,
) -> Result<Peer<'a>, NetworkError> {
    for address in addresses {
        match Peer::new(*address, stop) {
            Err(error) if !error.is_stop() => {}
            other => return other,
        }
    }
    Peer::new(last, stop)
}
