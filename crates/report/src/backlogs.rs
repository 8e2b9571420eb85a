//! Backlogs that were built up and drained at a rate: how long that took, beside latencies that are those of draining. Where messages went
//! as fast as possible, the table of rates has the same.

use crate::headline;
use plumb_model::document::{BlockResult, RunDocument, StepResult};
use plumb_model::figure::{ABSENT, rate, significant};
use plumb_model::plan::Mode;

/// The heading of the section.
pub(crate) const HEADING: &str = "Backlog";
/// Under the heading.
pub(crate) const MEANING: &str = "built up first, then drained while the producers go on; the latencies of such a setup have the wait in it, so they are of draining";

/// Heads of the table's columns after the setup.
pub(crate) const COLUMNS: [&str; 5] = ["backlog", "drain s", "in its blocks", "received/s", "in its blocks"];

/// A setup's row.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<String>,
}

/// The setups that drained a backlog and have latencies.
pub(crate) fn rows(document: &RunDocument) -> Vec<Row> {
    let timed = headline::timed(document).into_iter();
    let drained = timed.filter_map(|(index, step)| {
        let plan = document.plan.steps.iter().find(|plan| plan.name == step.name)?;
        let Mode::Backlog(size) = plan.load.mode else { return None };
        Some(Row { name: format!("#{} {}", index + 1, step.name), cells: cells(step, size.to_string()) })
    });
    drained.collect()
}

fn cells(step: &StepResult, size: String) -> Vec<String> {
    let throughput = &step.throughput;
    vec![
        size,
        throughput.drain_s.map_or_else(|| ABSENT.to_owned(), |s| significant(s, 3)),
        of_blocks(step, |block| block.drain_s, |s| significant(s, 3)),
        throughput.received_per_s.map_or_else(|| ABSENT.to_owned(), rate),
        of_blocks(step, |block| block.received_per_s, rate),
    ]
}

/// The least and the greatest of the blocks: `0.128 to 1.20`.
fn of_blocks(step: &StepResult, of: fn(&BlockResult) -> Option<f64>, written: fn(f64) -> String) -> String {
    let whole = || step.blocks.iter().filter(|block| !block.cut_short).filter_map(of);
    match whole().reduce(f64::min).zip(whole().reduce(f64::max)) {
        Some((least, greatest)) => format!("{} to {}", written(least), written(greatest)),
        None => ABSENT.to_owned(),
    }
}
