//! The brokers' own metrics, a row a setup, where the topic is replicated.

use super::Page;
use crate::brokers;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use plumb_model::document::StepResult;

/// Nothing where no follower fetched.
pub(super) fn write(page: &mut Page, steps: &[StepResult]) {
    let rows = brokers::rows(steps);
    if !brokers::replicated(&rows) {
        return;
    }
    page.heading(brokers::HEADING, brokers::MEANING);
    let mut table = Table::new("setup", brokers::COLUMNS.map(Column::decimal).into());
    for row in &rows {
        table.push(&format!("#{} {}", row.index + 1, row.step.name), row.cells(), Tone::Plain);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for note in brokers::notes(&rows) {
        page.prose("  - ", &note, Tone::Dim);
    }
}
