//! The times at which a run went on, in sentences: after a stop, or after a worker that was lost.

use crate::wording::{instant, short_name};
use plumb_model::document::{LostBlock, Resumption, RunDocument};
use plumb_model::figure::{count, counted};
use plumb_model::observation::Counts;

/// A sentence for each time; none for a run in one go.
pub(crate) fn sentences(document: &RunDocument) -> Vec<String> {
    let went_on = document.run.resumed.iter().map(|resumption| sentence(document, resumption));
    went_on.chain(document.run.lost_block.iter().map(|lost| ended_words(document, lost))).collect()
}

/// The run ended with a worker.
fn ended_words(document: &RunDocument, lost: &LostBlock) -> String {
    format!("{}, and the run ended: that block counts nowhere{}.", loss(document, lost), known(lost))
}

fn sentence(document: &RunDocument, resumption: &Resumption) -> String {
    let at = instant(&resumption.at);
    let kept = counted(resumption.blocks_kept, "block");
    let mut text = match &resumption.lost_block {
        None => format!("It went on at {at} after it had been stopped or killed, with {kept} done by then."),
        Some(lost) => lost_words(document, lost, &at),
    };
    if !resumption.changes.is_empty() {
        text.push_str(&format!(" Changed since before: {}.", resumption.changes.join("; ")));
    }
    text
}

fn lost_words(document: &RunDocument, lost: &LostBlock, at: &str) -> String {
    let (loss, known) = (loss(document, lost), known(lost));
    format!("{loss}. The run went on at {at}: that block is measured anew and counts nowhere{known}.")
}

/// `Worker load-1 was lost in block 2 (it said nothing for 3 s)`.
fn loss(document: &RunDocument, LostBlock { worker, reason, step, block, .. }: &LostBlock) -> String {
    let place = step.as_ref().zip(*block).map(|(step, block)| {
        let step = if document.steps.len() > 1 {
            format!(" of {}", short_name(document, step))
        } else {
            String::new()
        };
        format!(" in block {}{step}", block + 1)
    });
    format!("Worker {worker} was lost{} ({reason})", place.unwrap_or_default())
}

/// What is known of a lost block, to end a sentence.
fn known(lost: &LostBlock) -> String {
    let words = |counts: &Counts| {
        let (sent, acked) = (counted(counts.sent, "message"), count(counts.acked));
        let others = match counts.sent > counts.acked {
            true => ", and of the others that is not known",
            false => "",
        };
        format!(
            "; of it at least {sent} were sent: the {acked} that were acknowledged are in its topic with those of its warm-up{others}"
        )
    };
    lost.counts.as_ref().map(words).unwrap_or_default()
}
