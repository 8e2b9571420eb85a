//! The stages of the mean time along the path, one line a setup.

use super::Page;
use crate::absence::Footnotes;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use crate::wording;
use plumb_model::document::StepResult;
use plumb_model::figure::{ABSENT, interval, milliseconds, plus_minus};
use plumb_model::observation::{Stage, StageName};

/// Slip, produce, publish, commit, catch-up, fetch and the unexplained rest. Nothing when no step has stages.
pub(super) fn write(page: &mut Page, steps: &[StepResult]) {
    if steps.iter().all(|step| step.stages.is_empty()) {
        return;
    }
    page.heading(
        "Stages, mean in ms",
        "with their error bands; a..b alone: only bounds are known; the figures add up to the end-to-end mean",
    );
    let headings = wording::STAGES.map(wording::stage);
    let columns = headings.iter().map(|heading| Column::decimal(*heading)).collect();
    let mut table = Table::new("", columns);
    let mut notes = Footnotes::default();
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| !step.stages.is_empty()) {
        let mut cells = Vec::new();
        for (name, heading) in wording::STAGES.iter().zip(headings) {
            let stage = step.stages.iter().find(|stage| stage.stage == *name);
            match stage.map(|stage| (stage, stage.mean_ns)) {
                Some((stage, Some(mean))) => {
                    cells.push(format!("{}{}", milliseconds(mean), band(stage, mean)));
                    // What more is known of a remainder stands behind what it is.
                    if stage.stage == StageName::Unexplained
                        && let Some((_, more)) = stage.source.split_once("; ")
                    {
                        notes.add(heading, index + 1, more.to_owned());
                    }
                }
                Some((Stage { low_ns: Some(low), high_ns: Some(high), .. }, None)) => {
                    cells.push(interval(*low, *high, milliseconds));
                }
                absent => {
                    let reason =
                        absent.map_or_else(|| "not recorded by this run".into(), |(s, _)| s.source.clone());
                    notes.add(heading, index + 1, reason);
                    cells.push(ABSENT.to_owned());
                }
            }
        }
        table.push(&format!("#{}", index + 1), cells, Tone::Plain);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for note in notes.sentences() {
        page.prose("  - ", &note, Tone::Dim);
    }
}

/// The band behind a mean: `±` where it is about even, else its ends; empty without one.
fn band(stage: &Stage, mean_ns: f64) -> String {
    let (Some(low), Some(high)) = (stage.low_ns, stage.high_ns) else { return String::new() };
    let (below, above) = (mean_ns - low, high - mean_ns);
    if below.max(above) <= 0.0 {
        String::new()
    } else if below.max(above) <= 2.0 * below.min(above) {
        format!(" {}", plus_minus(below.max(above) / 1e6))
    } else {
        format!(" ({})", interval(low, high, milliseconds))
    }
}
