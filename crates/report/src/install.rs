//! The files that a finished experiment hands over: the winner's settings as files to install, each with its way back.
//!
//! Nothing here is better because it looks so: a setting is handed over only where the experiment's own verdict carries it
//! ([`Winner`]) and where it promises no less than what it was held against. What one setting of several brought by
//! itself was not measured, so that all are handed over together.
//!
//! `settings` says what the winner has that the other has not; `client`, `topic`, `brokers`, `host` and `directory` make
//! files of it, `readme` explains them; `plan` does the same for a plan of `plumb tune`. Nothing is ever carried out by Plumb: scripts say what they would do, and do it when
//! told to.

mod brokers;
mod client;
mod directory;
mod host;
mod java;
pub mod plan;
mod readme;
mod settings;
mod topic;

pub(crate) use readme::gain;
pub(crate) use settings::settings;

use plumb_model::document::{RunDocument, StepResult};
use plumb_model::plan::StepPlan;
use plumb_model::winner::Winner;

/// One file to install, or about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallFile {
    /// Below the directory of the winner.
    pub path: String,
    /// Its content.
    pub text: String,
    /// True if it is a script.
    pub executable: bool,
}

impl InstallFile {
    fn plain(path: &str, text: String) -> Self {
        InstallFile { path: path.to_owned(), text, executable: false }
    }

    fn script(path: &str, text: String) -> Self {
        InstallFile { path: path.to_owned(), text, executable: true }
    }
}

/// A winner with its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Install<'d> {
    /// The winner.
    pub winner: &'d Winner,
    /// Files in the order of reading.
    pub files: Vec<InstallFile>,
}

/// A step of a document: what it was to be, and what it was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'d> {
    pub(crate) plan: &'d StepPlan,
    pub(crate) result: &'d StepResult,
}

/// A winner that may be installed, and what it was held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handed<'d> {
    pub(crate) document: &'d RunDocument,
    pub(crate) winner: &'d Winner,
    pub(crate) won: Step<'d>,
    pub(crate) against: Step<'d>,
}

impl<'d> Handed<'d> {
    /// None where the winner promises less, or where the document lacks one of the two.
    pub(crate) fn of(document: &'d RunDocument, winner: &'d Winner) -> Option<Self> {
        let step = |name: &str| {
            let plan = document.plan.steps.iter().find(|step| step.name == name)?;
            let result = document.steps.iter().find(|step| step.name == name)?;
            Some(Step { plan, result })
        };
        let handed = Handed { document, winner, won: step(&winner.step)?, against: step(&winner.against)? };
        winner.weaker.is_empty().then_some(handed)
    }
}

/// The files for every winner that promises no less than what it was held against.
pub fn installs(document: &RunDocument) -> Vec<Install<'_>> {
    let handed = document.winners.iter().filter_map(|winner| Handed::of(document, winner));
    handed.filter_map(install).collect()
}

fn install(handed: Handed<'_>) -> Option<Install<'_>> {
    let settings = settings(&handed);
    if settings.is_empty() {
        return None;
    }
    let mut files = client::files(&handed, &settings);
    files.extend(topic::files(&handed, &settings));
    files.extend(brokers::files(&settings));
    files.extend(host::files(&settings));
    files.extend(directory::files(&handed, &settings));
    files.insert(0, InstallFile::plain("README.md", readme::text(&handed, &settings, &files)));
    Some(Install { winner: handed.winner, files })
}

/// A comment of a properties file or of a script, a line each.
fn comment(text: &str) -> String {
    // What others named may have line breaks, and these would end the comment.
    text.lines().map(|line| format!("# {}\n", crate::paint::printable(line))).collect()
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
