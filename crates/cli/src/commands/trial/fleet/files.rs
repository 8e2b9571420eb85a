//! What `--out` gets: the page and the result. Nothing is overwritten.

use crate::errors::UsageError;
use anyhow::{Context, Result};
use plumb_model::fleet::FleetResult;
use std::path::{Path, PathBuf};

/// The page's name in the directory.
const PAGE: &str = "report.html";
/// The result's.
const RESULT: &str = "fleet.json";
/// That of groups that were drawn.
pub(super) const GROUPS: &str = "groups.csv";

/// Before anything is read: an hour's work must not end at this.
pub(super) fn refuse_to_overwrite(directory: &Path) -> Result<(), UsageError> {
    let there =
        [PAGE, RESULT, GROUPS].into_iter().map(|name| directory.join(name)).find(|path| path.exists());
    match there {
        None => Ok(()),
        Some(path) => {
            let message = format!("{} exists already", path.display());
            Err(UsageError::new(message, "name another directory with --out"))
        }
    }
}

/// Writes both; the page's path.
pub(super) fn write(directory: &Path, result: &FleetResult) -> Result<PathBuf> {
    fs_err::create_dir_all(directory).context("cannot make the directory of --out")?;
    let page = directory.join(PAGE);
    fs_err::write(&page, plumb_report::fleet::page::render(result)?)?;
    fs_err::write(directory.join(RESULT), format!("{}\n", serde_json::to_string_pretty(result)?))?;
    Ok(page)
}
