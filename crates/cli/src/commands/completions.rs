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
    let mut whole = command().disable_help_subcommand(true);
    whole.build();
    clap_mangen::generate_to(whole, &arguments.directory)
        .with_context(|| format!("cannot write the pages into {}", arguments.directory.display()))?;
    printer::remark(&format!("written: {}", arguments.directory.join("plumb.1").display()));
    Ok(End::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn every_command_has_a_manual_page_of_its_own_with_its_examples() {
        let directory = tempfile::tempdir().unwrap();
        man(&ManArgs { directory: directory.path().join("man1") }).unwrap();
        let page = |name: &str| std::fs::read_to_string(directory.path().join("man1").join(name)).unwrap();
        assert!(page("plumb.1").contains("plumb demo"));
        assert!(page("plumb-trial-run.1").contains("until\\-decided"));
        assert!(page("plumb-lab-up.1").contains("plumb lab up"));
        let pages = std::fs::read_dir(directory.path().join("man1")).unwrap();
        let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| !name.contains("help")));
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), NAME, &mut script);
            let script = String::from_utf8(script).unwrap();
            for of in command().get_subcommands() {
                assert!(script.contains(of.get_name()), "{shell} does not know {}", of.get_name());
            }
        }
    }
}
