//! `plumb probe`: one file a resource.

mod facts;

use super::End;
use crate::args::probe::{ProbeArgs, ProbeCommand};
use anyhow::Result;

pub(super) fn probe(arguments: &ProbeArgs) -> Result<End> {
    match &arguments.command {
        ProbeCommand::Facts(arguments) => facts::facts(arguments),
    }
}
