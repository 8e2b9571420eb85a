//! `plumb report`: a finished run again, from its document alone.

use super::{End, show};
use crate::args::ReportArgs;
use crate::{printer, run_dir};
use anyhow::{Context, Result};
use plumb_model::finding::ValidityVerdict;

pub(super) fn report(arguments: &ReportArgs) -> Result<End> {
    let document = run_dir::read_document(&arguments.run)?;
    if let Some(path) = &arguments.html {
        let page = plumb_report::html::render(&document)?;
        fs_err::write(path, page).context("cannot write the page")?;
        printer::note(&format!("report: {}", path.display()));
    }
    show(&document, arguments.output)?;
    // Looking at a run that was stopped is no interruption.
    Ok(if document.validity.verdict == ValidityVerdict::Invalid { End::Found } else { End::Done })
}
