//! The times at which a run went on, in sentences: after a stop, or after a worker that was lost.

use crate::wording::{instant, short_name};
use plumb_model::document::{LostBlock, Resumption, RunDocument};
use plumb_model::figure::{count, counted};

/// A sentence for each time; none for a run in one go.
pub(crate) fn sentences(document: &RunDocument) -> Vec<String> {
    document.run.resumed.iter().map(|resumption| sentence(document, resumption)).collect()
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
    let LostBlock { worker, reason, step, block, counts } = lost;
    let place = step.as_ref().zip(*block).map(|(step, block)| {
        let step = if document.steps.len() > 1 {
            format!(" of {}", short_name(document, step))
        } else {
            String::new()
        };
        format!(" in block {}{step}", block + 1)
    });
    let sent = counts.as_ref().map(|counts| {
        let (sent, acked) = (counted(counts.sent, "message"), counts.acked);
        format!(", though {sent} of it were sent and {} acknowledged by what is known", count(acked))
    });
    format!(
        "Worker {worker} was lost{} ({reason}). It came back, and the run went on at {at}: that block is measured anew and counts nowhere{}.",
        place.unwrap_or_default(),
        sent.unwrap_or_default()
    )
}
