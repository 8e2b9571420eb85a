//! `plumb probe clock`: what clocks and timers of this host can tell, and what that means for latencies.

use super::end;
use crate::args::probe::ClockArgs;
use crate::commands::End;
use crate::{progress, stop};
use anyhow::Result;

pub(super) fn clock(arguments: &ClockArgs) -> Result<End> {
    let each = arguments.duration.to_duration();
    let probed = plumb_session::probe::clock::probe(each, &stop::flag()?, &progress::watcher());
    end(probed, &arguments.result, plumb_report::probe::clock::sheet, "probe clock")
}
