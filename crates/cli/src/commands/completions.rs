//! `plumb completions`: what a shell needs to complete the command line. `plumb man`: its manual pages.

use super::End;
use crate::args::{CompletionsArgs, ManArgs, command};
use crate::printer;
use anyhow::{Context, Result};

const NAME: &str = "plumb";

pub(super) fn completions(arguments: &CompletionsArgs) -> Result<End> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), NAME, &mut script);
    printer::out(&String::from_utf8(script).context("the completions are no text")?);
    Ok(End::Done)
}

pub(super) fn man(arguments: &ManArgs) -> Result<End> {
    fs_err::create_dir_all(&arguments.directory)?;
    // Built first: a page is then called after the whole path to its command, and has what all commands have.
    let mut whole = command();
    whole.build();
    clap_mangen::generate_to(whole, &arguments.directory)
        .with_context(|| format!("cannot write the pages into {}", arguments.directory.display()))?;
    printer::remark(&format!("written: {}", arguments.directory.join("plumb.1").display()));
    Ok(End::Done)
}
