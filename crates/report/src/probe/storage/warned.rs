//! The reasons against figures: findings that make the exit code 1, and what else has to be known.

use crate::findings::{explain, without_stop};
use crate::sheet::Section;
use plumb_model::figure;
use plumb_model::finding::{Finding, Severity};
use plumb_model::probe::storage::{StorageProbe, StorageTarget};

/// The findings by which figures of a path are not what their names promise.
pub(super) fn findings(document: &StorageProbe) -> Vec<String> {
    let of = |target: &StorageTarget| {
        let grave = said(target).into_iter().filter(|said| said.first.severity > Severity::Note);
        grave.map(|said| format!("{}: {}", target.path, said.line())).collect::<Vec<_>>()
    };
    document.targets.iter().flat_map(of).collect()
}

/// The section of other notes on them.
pub(super) fn notes(target: &StorageTarget) -> Option<Section> {
    let light = said(target).into_iter().filter(|said| said.first.severity == Severity::Note);
    let light: Vec<String> = light.map(|said| said.line()).collect();
    (!light.is_empty()).then(|| Section::sentences("Before you use these figures", "", light))
}

/// A finding about ways to commit, with the evidence of the first of them.
struct Said<'t> {
    first: &'t Finding,
    /// The number of other ways that it is said of with other evidence.
    others: usize,
}

impl Said<'_> {
    fn line(&self) -> String {
        let claim = without_stop(&self.first.claim);
        let more = match self.others {
            0 => String::new(),
            others => format!(" (and so of {} more)", figure::counted(others, "way")),
        };
        format!("{claim}{more} {}", explain(&self.first.id))
    }
}

/// Each kind of finding once.
fn said(target: &StorageTarget) -> Vec<Said<'_>> {
    let of_commits = target.commits.iter().flat_map(|commit| &commit.findings);
    let mut all: Vec<Said<'_>> = Vec::new();
    for finding in target.findings.iter().chain(of_commits) {
        match all.iter_mut().find(|said| said.first.id == finding.id) {
            None => all.push(Said { first: finding, others: 0 }),
            Some(said) => said.others += usize::from(said.first.claim != finding.claim),
        }
    }
    all
}
