//! `plumb probe storage`: what is behind directories, how fast they commit and stream, and what makes these figures doubtful.

use super::end;
use crate::args::probe::{Counts, StorageArgs};
use crate::commands::End;
use crate::{progress, stop};
use anyhow::Result;
use plumb_session::probe::storage::{StorageSettings, probe};

pub(super) fn storage(arguments: &StorageArgs) -> Result<End> {
    let probed = probe(&settings(arguments), &stop::flag()?, &progress::watcher())?;
    end(probed, &arguments.result, plumb_report::probe::storage::sheet, "probe storage")
}

fn settings(arguments: &StorageArgs) -> StorageSettings {
    let all = |counts: &[Counts]| counts.iter().flat_map(|counts| counts.0.clone()).collect();
    StorageSettings {
        paths: arguments.paths.clone(),
        methods: arguments.method.iter().flat_map(|methods| methods.0.clone()).collect(),
        overwrite: arguments.overwrite,
        blocks: arguments.block.clone(),
        committers: all(&arguments.committers),
        queue_depths: all(&arguments.queue_depth),
        file: arguments.file,
        streams: !arguments.no_streams,
        duration: arguments.duration,
        rounds: arguments.rounds,
        seed: arguments.seed,
    }
}
