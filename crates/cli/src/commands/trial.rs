//! `plumb trial`: one file for each way to prove a change.

mod fleet;
mod latency;
mod pilots;
mod power;
mod run;
mod seed;

pub(super) use run::{planned, show};
pub(super) use seed::draw as draw_seed;

use super::End;
use crate::args::trial::{TrialArgs, TrialCommand};
use anyhow::Result;

pub(super) fn trial(arguments: &TrialArgs) -> Result<End> {
    match &arguments.command {
        TrialCommand::Run(arguments) => run::run(arguments),
        TrialCommand::Latency(arguments) => latency::latency(arguments),
        TrialCommand::Power(arguments) => power::power(arguments),
        TrialCommand::Fleet(arguments) => fleet::fleet(arguments),
    }
}
