//! The removal of a lab: its processes and its files. Who may remove which lab is decided in `labs`.

use std::path::Path;

use fs_err as fs;

use super::broker;
use super::error::Result;
use super::identity::ProcessScope;
use super::log_dirs;
use super::manifest::Manifest;

/// Ends what runs of a lab and removes what it has on disk.
pub(super) fn clear(directory: &Path, manifest: &Manifest, here: &ProcessScope) -> Result<()> {
    broker::end(&manifest.processes(here));
    for data in &manifest.data_elsewhere {
        log_dirs::remove(data, &manifest.id)?;
    }
    Ok(fs::remove_dir_all(directory)?)
}
