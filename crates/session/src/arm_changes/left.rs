//! What a trial that was killed left changed, found by its directory and put right.

use super::hook::Secrets;
use crate::client_config;
use crate::cluster_settings;
use crate::error::Result;
use crate::run_dir;
use crate::watcher::{Event, Watcher};
use plumb_model::change::{Change, way_back};
use plumb_model::fault::chain;
use plumb_model::setting_name::ClusterName;
use plumb_tune::host::Host;
use plumb_tune::journal::{self, Cause, Journal, JournalOwner, JournalState, Places};
use std::path::Path;
use std::sync::Arc;

/// The place of a journal of commands alone, where the user may write nowhere else: the run's directory.
pub(super) fn beside(directory: &Path) -> Places {
    Places { own: directory.to_owned(), others: Vec::new() }
}

/// A journal of a run, and where it is.
pub(super) struct Found {
    places: Places,
    state: JournalState,
}

/// The journals of a run that have something to undo.
pub(super) fn of(directory: &Path) -> Vec<Found> {
    let Ok(directory) = fs_err::canonicalize(directory) else { return Vec::new() };
    let host = Host::default();
    let mut found = Vec::new();
    for places in [Places::here(), beside(&directory)] {
        for state in journal::all(&places).into_iter().filter_map(Result::ok) {
            let is_its = matches!(&state.opened.owner, JournalOwner::Trial { run, .. } if *run == directory);
            if is_its && state.is_left(&host) {
                found.push(Found { places: places.clone(), state });
            }
        }
    }
    found
}

/// Undoes what a trial that was killed left changed on this host, whatever else keeps it from going on. Its directory is
/// locked meanwhile: one that still runs is left alone.
pub(crate) fn put_right(directory: &Path, watcher: &Arc<dyn Watcher>) -> Result<()> {
    let _lock = run_dir::lock(directory)?;
    for Found { places, state } in of(directory) {
        let plan = run_dir::read_document(directory)?.plan;
        let config = client_config::read(client_config::path(&plan));
        let secrets = config.map_or(Secrets::Unknown, |config| Secrets::of(&config.properties));
        let what = summary(&state);
        watcher.event(&Event::Note(&format!("undoing what the part that was killed left: {what}")));
        let host = host_of(&state, client_config::path(&plan), &**watcher);
        let mut journal = Journal::reopen(&places, &state.opened.id)?;
        super::undo(&host, &mut journal, Cause::ApplierEnded, &secrets, &**watcher)?;
        journal.forget();
    }
    Ok(())
}

/// This host, with the cluster whose settings are to be undone. What is this host's is undone also where no broker takes a connection.
fn host_of(state: &JournalState, config: Option<&str>, watcher: &dyn Watcher) -> Host {
    let host = Host::default();
    if state.outstanding().all(|step| ClusterName::new(&step.change.target.key).is_none()) {
        return host;
    }
    let JournalOwner::Trial { bootstrap: Some(bootstrap), .. } = &state.opened.owner else {
        return host.with_cluster(cluster_settings::ended_lab());
    };
    match cluster_settings::cluster_settings(bootstrap, config) {
        Ok(cluster) => host.with_cluster(cluster),
        Err(error) => {
            watcher.event(&Event::Note(&format!("warning: {}", chain(&error).join(": "))));
            host
        }
    }
}

/// What is to be undone, in words.
fn summary(state: &JournalState) -> String {
    let changes: Vec<Change> = state.outstanding().map(|step| step.change.clone()).collect();
    let settings = way_back(&changes).into_iter().map(|to| format!("{} back to {}", to.key, to.value));
    let after = state.command.iter().map(|command| format!("the command after a block of {}", command.arm));
    after.chain(settings).collect::<Vec<_>>().join(", ")
}
