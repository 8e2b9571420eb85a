//! `plumb probe`: one file a resource.

mod facts;
mod storage;

use super::End;
use crate::args::probe::{ProbeArgs, ProbeCommand};
use anyhow::Result;

pub(super) fn probe(arguments: &ProbeArgs) -> Result<End> {
    match &arguments.command {
        ProbeCommand::Storage(arguments) => storage::storage(arguments),
        ProbeCommand::Facts(arguments) => facts::facts(arguments),
    }
}
