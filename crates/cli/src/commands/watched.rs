//! The common part of `observe`, `diagnose` and `judge`: flags as settings, and a watched path shown and kept.

use super::End;
use crate::args::observe::WatchArgs;
use crate::args::result::ResultArgs;
use crate::errors::UsageError;
use crate::result_dir::{self, OF_PROFILES, ResultKind, Shown};
use anyhow::Result;
use plumb_model::observed::ObservedPath;
use plumb_session::observe::ObserveSettings;
use std::time::Duration;

/// Shortest window (ours): readings of states and metrics of less say nothing.
const SHORTEST: Duration = Duration::from_secs(2);

pub(super) fn settings(watch: &WatchArgs, result: &ResultArgs) -> Result<ObserveSettings> {
    result_dir::check_places(result, &OF_PROFILES)?;
    let duration = watch.duration.to_duration();
    if duration < SHORTEST {
        let message = format!("--duration is {}, expected at least 2s", watch.duration);
        return Err(UsageError::new(message, "rates and shares of less than 2 s say nothing").into());
    }
    Ok(ObserveSettings {
        duration,
        broker_metrics: watch.broker_metrics.clone(),
        client_statistics: watch.client_statistics.clone(),
        client_properties: watch.client_properties.clone(),
        pids: watch.pid.clone(),
        bootstrap: watch.bootstrap.clone(),
        config: watch.config.clone(),
        attach: !watch.no_attach,
        kernel: watch.kernel,
        calibrate: false,
        measure_limits: watch.measure_limits,
        profiles: result.out.clone(),
    })
}

/// Shows and keeps a path that was watched just now: where nothing of what was named could be seen, that is the end.
pub(super) fn show_watched(path: &ObservedPath, watch: &WatchArgs, result: &ResultArgs) -> Result<End> {
    let is_named = watch.bootstrap.is_some()
        || !watch.broker_metrics.is_empty()
        || !watch.client_statistics.is_empty()
        || !watch.pid.is_empty();
    let is_seen = !path.brokers.is_empty()
        || !path.clients.is_empty()
        || path.processes.iter().any(|process| !process.ended)
        || !path.settings.brokers.is_empty();
    match show(path, result)? {
        End::Done if is_named && !is_seen => Ok(End::Unseen),
        end => Ok(end),
    }
}

/// Shows a watched path and keeps it.
pub(super) fn show(path: &ObservedPath, result: &ResultArgs) -> Result<End> {
    let shown = Shown::path(path)?;
    result_dir::show(&shown, ResultKind::Path, result)?;
    Ok(match () {
        () if shown.found => End::Found,
        () if !path.complete => End::Interrupted,
        () => End::Done,
    })
}
