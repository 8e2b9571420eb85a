//! `plumb probe facts`: what this host says of itself.

use crate::args::probe::FactsArgs;
use crate::commands::End;
use crate::printer;
use anyhow::Result;
use plumb_observe::{HostRoot, SystemCommands, host_facts};

pub(super) fn facts(_arguments: &FactsArgs) -> Result<End> {
    let facts = host_facts(&HostRoot::default(), &SystemCommands::default());
    printer::out(&format!("{}\n", serde_json::to_string_pretty(&facts)?));
    Ok(End::Done)
}
