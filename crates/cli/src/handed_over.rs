//! The files that a finished run hands over beside its document: its page, and files to install where a setting came out ahead.

use crate::result_dir::PAGE;
use crate::{install_dir, printer};
use anyhow::Result;
use plumb_session::Finished;
use std::path::PathBuf;

/// The place of a run that is handed over.
#[derive(Debug)]
pub(crate) struct HandedOver {
    page: PathBuf,
    /// Directories of what there is to install, one for each winner.
    installs: Vec<PathBuf>,
    /// The command with which the run goes on, and its conditions, where it was stopped before its end.
    way_on: Option<String>,
}

/// Writes it into the run's directory.
pub(crate) fn write(finished: &Finished) -> Result<HandedOver> {
    let page = write_page(finished)?;
    let installs = match finished.way_on {
        None => install_dir::write(&finished.dir.path().join(install_dir::NAME), &finished.document)?,
        Some(_) => Vec::new(),
    };
    Ok(HandedOver { page, installs, way_on: finished.way_on.clone() })
}

/// The page alone.
pub(crate) fn write_page(finished: &Finished) -> Result<PathBuf> {
    Ok(finished.dir.write_made(PAGE, &plumb_report::html::render(&finished.document)?)?)
}

impl HandedOver {
    /// Says where it is, and how to go on: last, because whoever stopped a run looks at the last lines.
    pub(crate) fn say(&self) {
        printer::remark(&format!("report: {}", self.page.display()));
        for place in &self.installs {
            printer::note(&format!("to install: {}", place.join("README.md").display()));
        }
        if let Some(command) = &self.way_on {
            printer::note(command);
        }
    }
}
