//! `plumb report`: a finished run again, from its document alone.

use super::{End, end_of, show};
use crate::args::ReportArgs;
use crate::{printer, run_dir};
use anyhow::{Context, Result};

pub(super) fn report(arguments: &ReportArgs) -> Result<End> {
    let document = run_dir::read_document(&arguments.run)?;
    if let Some(path) = &arguments.html {
        let page = plumb_report::html::render(&document)?;
        fs_err::write(path, page).context("cannot write the page")?;
        printer::note(&format!("report: {}", path.display()));
    }
    show(&document, arguments.output)?;
    Ok(end_of(&document))
}
