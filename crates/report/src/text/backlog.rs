//! The time that backlogs took to drain, of setups that have latencies.

use super::Page;
use crate::backlogs;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use plumb_model::document::RunDocument;

/// Nothing where no such setup drained a backlog.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let rows = backlogs::rows(document);
    if rows.is_empty() {
        return;
    }
    page.heading(backlogs::HEADING, backlogs::MEANING);
    let columns = backlogs::COLUMNS.iter().map(|heading| Column::decimal(*heading));
    let mut table = Table::new("setup", columns.collect());
    for row in rows {
        table.push(&row.name, row.cells, Tone::Plain);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
}
