//! A finished run judged anew, by the rules of this version, whatever was said of it when it was measured.
//!
//! Judgement is a pure function of the document: a rule that was wrong and is mended does not go on speaking out of old runs.
//! `run.json` is not touched. A run that has not ended keeps what was said when it was last written: its figures are under way.

use crate::printer;
use plumb_judge::judge;
use plumb_model::document::{RunDocument, RunState};
use plumb_report::rejudged::changes;
use plumb_session::run_dir::{RunDirError, read_document};
use std::path::Path;

/// Reads a run and judges it. A verdict that is now another one is told on standard error.
pub(crate) fn read(path: &Path) -> Result<RunDocument, RunDirError> {
    let before = read_document(path)?;
    if before.run.state == RunState::Running {
        return Ok(before);
    }
    let mut document = before.clone();
    judge(&before).put_into(&mut document);
    for change in changes(&before, &document) {
        let version = &document.run.plumb_version;
        printer::note(&format!("plumb: judged anew, {change}, as plumb {version} said when it measured it"));
    }
    Ok(document)
}
