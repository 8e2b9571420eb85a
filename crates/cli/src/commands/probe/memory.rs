//! `plumb probe memory`: bandwidth and latency of memory, by node and by working set.

use super::end;
use crate::args::probe::MemoryArgs;
use crate::commands::End;
use crate::{progress, stop};
use anyhow::Result;
use plumb_session::probe::memory::{MemorySettings, probe};

pub(super) fn memory(arguments: &MemoryArgs) -> Result<End> {
    let settings =
        MemorySettings { array: arguments.array, largest: arguments.largest, rounds: arguments.rounds };
    let probed = probe(&settings, &stop::flag()?, &progress::watcher())?;
    end(probed, &arguments.result, plumb_report::probe::memory::sheet, "probe memory")
}
