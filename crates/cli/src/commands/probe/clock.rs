//! `plumb probe clock`: what clocks and timers of this host can tell, or how far another host's clock is from this one's.

use super::{end, network};
use crate::args::probe::ClockArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::{progress, stop};
use anyhow::Result;
use plumb_model::fault::HasFault;
use plumb_model::units::Nanos;
use plumb_session::probe::clock_offset::{self, ClockOffsetSettings};

/// Time of each timer and schedule, and of the exchanges with a peer, unless another is said.
const EACH: Nanos = Nanos::from_millis(1_200);
const EXCHANGES: Nanos = Nanos::from_secs(10);
/// The listener serves no connection for longer than a quarter of an hour.
const EXCHANGES_MAX: Nanos = Nanos::from_secs(600);

pub(super) fn clock(arguments: &ClockArgs) -> Result<End> {
    if let Some(peer) = &arguments.peer {
        return against(peer, arguments);
    }
    let each = arguments.duration.unwrap_or(EACH).to_duration();
    let probed = plumb_session::probe::clock::probe(each, &stop::flag()?, &progress::watcher());
    end(probed, &arguments.result, plumb_report::probe::clock::sheet, "probe clock")
}

fn against(peer: &str, arguments: &ClockArgs) -> Result<End> {
    let duration = arguments.duration.unwrap_or(EXCHANGES);
    if duration > EXCHANGES_MAX {
        return Err(UsageError::new(
            "--duration: readings are exchanged with a peer for 10m at most",
            "the listener serves no connection for longer; ten seconds bound the difference nearly as well as ten minutes",
        )
        .into());
    }
    let stop = stop::flag()?;
    let settings = ClockOffsetSettings { peer: network::resolved(peer)?, duration: duration.to_duration() };
    match clock_offset::probe(&settings, &stop, &progress::watcher()) {
        // There is nothing to show: nothing was exchanged yet.
        Err(error) if error.is_stop() => Ok(End::Interrupted),
        probed => end(probed?, &arguments.result, plumb_report::probe::clock_offset::sheet, "probe clock"),
    }
}
