//! `plumb probe facts`: what this host says of itself.

use super::print;
use crate::args::probe::FactsArgs;
use crate::commands::End;
use anyhow::Result;

pub(super) fn facts(arguments: &FactsArgs) -> Result<End> {
    let document = plumb_session::probe::facts::probe();
    print(&document, arguments.output, |document, style| {
        plumb_report::probe::facts::render(document, arguments.sources, style)
    })?;
    Ok(End::Done)
}
