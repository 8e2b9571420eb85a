//! The workers of a run, a row each.

use super::Page;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use crate::workers;
use plumb_model::document::RunDocument;

/// Nothing where the program itself ran the clients.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let rows = workers::rows(document);
    if rows.is_empty() {
        return;
    }
    page.heading(workers::HEADING, workers::MEANING);
    let mut table = Table::new("worker", workers::COLUMNS.map(Column::decimal).into());
    for row in rows {
        table.push(&row.name, row.cells, if row.behind { Tone::Warning } else { Tone::Plain });
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
}
