//! What speaks against figures: findings that make the exit code 1, and what else has to be known.

use crate::number;
use crate::probe::sentences;
use crate::size_text::Section;
use plumb_model::probe::storage::{StorageProbe, StorageTarget, StorageWarning};

/// What makes figures of a path other than what their names promise.
pub(super) fn findings(document: &StorageProbe) -> Vec<String> {
    let of = |target: &StorageTarget| {
        let grave = said(target).into_iter().filter(|(warning, _)| warning.id.contradicts_durability());
        grave.map(|said| format!("{}: {}.", target.path, sentence(&said))).collect::<Vec<_>>()
    };
    document.targets.iter().flat_map(of).collect()
}

/// What else has to be known of them.
pub(super) fn warnings(target: &StorageTarget) -> Option<Section> {
    let light = said(target).into_iter().filter(|(warning, _)| !warning.id.contradicts_durability());
    let light: Vec<String> = light.map(|said| sentence(&said)).collect();
    (!light.is_empty()).then(|| sentences("Before you use these figures", "", light))
}

/// Each kind of warning once, with the evidence of the first way that it is said of and the number of others.
fn said(target: &StorageTarget) -> Vec<(&StorageWarning, usize)> {
    let of_commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    let mut first: Vec<(&StorageWarning, usize)> = Vec::new();
    for warning in target.warnings.iter().chain(of_commits) {
        match first.iter_mut().find(|(known, _)| known.id == warning.id) {
            None => first.push((warning, 0)),
            Some((known, others)) => *others += usize::from(known.text != warning.text),
        }
    }
    first
}

fn sentence((warning, others): &(&StorageWarning, usize)) -> String {
    match others {
        0 => warning.text.clone(),
        others => format!("{} (and so of {} more)", warning.text, number::counted(*others, "way")),
    }
}
