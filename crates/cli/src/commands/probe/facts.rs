//! `plumb probe facts`: what this host says of itself.

use crate::args::probe::FactsArgs;
use crate::commands::End;
use crate::result_dir::{self, ResultKind, Shown};
use anyhow::Result;
use plumb_report::probe::facts::sheet;

pub(super) fn facts(arguments: &FactsArgs) -> Result<End> {
    let document = plumb_session::probe::facts::probe();
    let shown = Shown::sheet(&document, &sheet(&document, arguments.sources), "probe facts")?;
    result_dir::show(&shown, ResultKind::Probe, &arguments.result)?;
    Ok(End::Done)
}
