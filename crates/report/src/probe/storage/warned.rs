//! What speaks against figures: findings that make the exit code 1, and what else has to be known.

use crate::number;
use crate::sheet::Section;
use plumb_model::probe::storage::{StorageProbe, StorageTarget, StorageWarning};

/// What makes figures of a path other than what their names promise.
pub(super) fn findings(document: &StorageProbe) -> Vec<String> {
    let of = |target: &StorageTarget| {
        let grave = said(target).into_iter().filter(|said| said.warning.id.contradicts_durability());
        grave.map(|said| format!("{}: {}.", target.path, sentence(&said))).collect::<Vec<_>>()
    };
    document.targets.iter().flat_map(of).collect()
}

/// What else has to be known of them.
pub(super) fn warnings(target: &StorageTarget) -> Option<Section> {
    let light = said(target).into_iter().filter(|said| !said.warning.id.contradicts_durability());
    let light: Vec<String> = light.map(|said| sentence(&said)).collect();
    (!light.is_empty()).then(|| Section::sentences("Before you use these figures", "", light))
}

/// A kind of warning, with the evidence of the first way that it is said of.
struct Said<'a> {
    warning: &'a StorageWarning,
    /// How many other ways it is said of.
    others: usize,
}

/// Each kind of warning once.
fn said(target: &StorageTarget) -> Vec<Said<'_>> {
    let of_commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    let mut first: Vec<Said<'_>> = Vec::new();
    for warning in target.warnings.iter().chain(of_commits) {
        match first.iter_mut().find(|known| known.warning.id == warning.id) {
            None => first.push(Said { warning, others: 0 }),
            Some(known) => known.others += usize::from(known.warning.text != warning.text),
        }
    }
    first
}

fn sentence(Said { warning, others }: &Said<'_>) -> String {
    match others {
        0 => warning.text.clone(),
        others => format!("{} (and so of {} more)", warning.text, number::counted(*others, "way")),
    }
}
