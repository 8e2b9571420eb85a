//! The settings that the experiment hands over: the winner's, or the reason why nothing is to be installed.

use super::Page;
use crate::install::{Handed, gain, settings};
use crate::paint::Tone;
use plumb_model::document::RunDocument;

/// Says nothing where nothing won: the comparisons tell why.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    if document.winners.is_empty() {
        return;
    }
    page.heading("To install", "what came out ahead, as the verdict carries it");
    for winner in &document.winners {
        let head = format!("{}: {}", winner.step, gain(winner));
        page.prose("  ", &head, Tone::Plain);
        let Some(handed) = Handed::of(document, winner) else {
            let weaker = format!(
                "Not to be installed as it is: it promises less than \"{}\" ({}).",
                winner.against,
                winner.weaker.join("; ")
            );
            page.prose("    ", &weaker, Tone::Warning);
            continue;
        };
        for change in settings(&handed) {
            let value = |value: &Option<String>, none: &str| value.clone().unwrap_or_else(|| none.to_owned());
            let (was, now) = (value(&change.before, "not set"), value(&change.after, "leave it out"));
            let owner = change.target.owner.word();
            page.prose(
                "    ",
                format!("{owner} {}: {was} -> {now}", change.target.key).trim_start(),
                Tone::Plain,
            );
        }
    }
}
