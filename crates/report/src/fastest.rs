//! The setup that is faster than all others of equal load, by the run's own comparisons.

use plumb_model::document::RunDocument;

/// The meaning of the mark.
pub(crate) const MEANING: &str =
    "fastest: a lower mean than each other setup of equal load, by more than the noise";

/// True if the step is the fastest of its load. No step of an invalid run is.
pub(crate) fn is(document: &RunDocument, step: &str) -> bool {
    let mut winners = document.winners.iter();
    document.trial.is_none()
        && winners.any(|winner| winner.step == step && winner.beats_all && winner.metric.ends_with(".mean"))
}
