//! `plumb observe`: what a running path says of itself over a window, kept as a document that any machine can judge.

use super::End;
use super::watched::{settings, show_watched};
use crate::args::observe::ObserveArgs;
use crate::{progress, stop};
use anyhow::Result;

pub(super) fn observe(arguments: &ObserveArgs) -> Result<End> {
    let settings = settings(&arguments.watch, &arguments.result)?;
    let path = plumb_session::observe::observe(&settings, &stop::flag()?, &progress::watcher())?;
    show_watched(&path, &arguments.watch, &arguments.result)
}
