//! `plumb probe facts`: what this host says of itself.

use super::keep_and_show;
use crate::args::probe::FactsArgs;
use crate::commands::End;
use crate::result_dir::Shown;
use anyhow::Result;
use plumb_report::probe::facts::sheet;

pub(super) fn facts(arguments: &FactsArgs) -> Result<End> {
    let document = plumb_session::probe::facts::probe();
    let shown = Shown::sheet(&document, &sheet(&document, arguments.sources), "probe facts")?;
    keep_and_show(&shown, &arguments.result)?;
    Ok(End::Done)
}
