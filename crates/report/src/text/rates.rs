//! Steps that went as fast as possible: the table of their rates, the lines over clients, and searches for a goal.

use super::Page;
use crate::paint::Tone;
use crate::rates::{self, Row};
use crate::sheet::table::{Column, Table};
use crate::{ledger, searches};
use plumb_model::document::RunDocument;
use plumb_model::figure::{ABSENT, counted, interval, milliseconds, rate, ratio_digits};
use plumb_model::sweep::SweepResult;

/// Rates, lines and searches; nothing of what the run does not have.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let rows = rates::rows(document);
    if !rows.is_empty() {
        write_rates(page, &rows);
        if let Some(published) = rates::published(document).filter(|_| document.sweeps.is_empty()) {
            page.prose("  ", &published, Tone::Dim);
        }
    }
    if !document.sweeps.is_empty() {
        write_lines(page, &document.sweeps);
        if let Some(published) = rates::published(document) {
            page.prose("  ", &published, Tone::Dim);
        }
    }
    for (index, step) in document.steps.iter().enumerate() {
        if let Some(search) = &step.search {
            page.heading(&format!("#{} {}", index + 1, searches::heading(search)), "");
            page.prose("  ", &searches::outcome(search), Tone::Strong);
            write_tries(page, search);
        }
    }
}

fn write_rates(page: &mut Page, rows: &[Row]) {
    page.heading("Throughput", rates::MEANING);
    let shown = rates::columns(rows);
    let mut columns = Vec::new();
    for column in &shown {
        let heading = column.heading;
        columns.push(if column.numeric { Column::decimal(heading) } else { Column::text(heading) });
        if column.has_interval() {
            columns.push(Column::text(""));
        }
    }
    columns.push(Column::decimal("blocks"));
    let mut table = Table::new("setup", columns);
    for row in rows {
        let tone = if ledger::discrepancies(row.step).is_empty() { Tone::Plain } else { Tone::Warning };
        let mut cells = Vec::new();
        for column in &shown {
            cells.push(rates::cell(column, row));
            if column.has_interval() {
                cells.push(column.interval_of(row).unwrap_or_default());
            }
        }
        cells.push(row.whole_blocks().to_string());
        table.push(&format!("#{} {}", row.index + 1, row.step.name), cells, tone);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for note in rates::notes(rows, &shown) {
        page.prose("  ", &note, Tone::Dim);
    }
}

fn write_lines(page: &mut Page, lines: &[SweepResult]) {
    let clients = rates::clients(&lines[0]);
    page.heading(
        &format!("Rate against {clients}"),
        "where more stop helping, where the rate falls and where it begins to vary, each with its interval",
    );
    let columns = ["best/s", "MB/s", "with"].map(Column::decimal).into_iter();
    let places = ["knee", "falls from", "varies from"].map(Column::text);
    let ratio = [Column::decimal("× first"), Column::text("")];
    let mut table = Table::new("  line", columns.chain(places).chain(ratio).collect());
    for line in lines {
        table.push(&format!("  {}", rates::line_name(line)), line_cells(line), Tone::Plain);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for note in line_notes(lines) {
        page.prose("  ", &note, Tone::Dim);
    }
}

fn line_cells(line: &SweepResult) -> Vec<String> {
    let top = line.points.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s));
    let absent = || ABSENT.to_owned();
    let (ratio, span) = match &line.against_first {
        Some(found) => (ratio_digits(found.ratio), interval(found.ratio_low, found.ratio_high, ratio_digits)),
        None => (String::new(), String::new()),
    };
    vec![
        top.map_or_else(absent, |top| rate(top.per_s)),
        top.map_or_else(absent, |top| rates::megabytes(top.per_s * top.value_bytes_mean)),
        top.map_or_else(absent, |top| top.clients.to_string()),
        line.knee.as_ref().map_or_else(|| rates::no_knee(line).to_owned(), rates::sweep_place),
        line.fall.as_ref().map_or_else(absent, rates::sweep_place),
        line.variability.as_ref().map_or_else(absent, |onset| {
            rates::place(onset.clients, onset.clients_low, Some(onset.clients_high))
        }),
        ratio,
        span,
    ]
}

/// Notes on the lines' columns, and on the ratio.
fn line_notes(lines: &[SweepResult]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(margin) = lines.iter().find_map(|line| line.knee).map(|knee| knee.margin) {
        notes.push(format!(
            "knee: from there on more {} add less than {}; - means not seen",
            rates::clients(&lines[0]),
            plumb_model::figure::percent(margin)
        ));
    }
    for line in lines {
        let Some(ratio) = &line.against_first else { continue };
        if !ratio.durability_differences.is_empty() {
            notes.push(format!(
                "{} and {} differ in durability, so in what they guarantee: {}",
                line.line,
                ratio.first,
                ratio.durability_differences.join("; ")
            ));
        }
        notes.push(format!(
            "{} over {}: ×{} at single points, mean over {} and {}",
            line.line,
            ratio.first,
            interval(ratio.ratio_least, ratio.ratio_most, ratio_digits),
            counted(ratio.points as usize, "point"),
            counted(ratio.blocks as usize, "round"),
        ));
    }
    notes
}

fn write_tries(page: &mut Page, search: &plumb_model::search::SearchResult) {
    let columns =
        [Column::decimal("asked/s"), Column::decimal("reached/s"), Column::decimal("ms"), Column::text("")];
    let mut table = Table::new("  tried rate", columns.into());
    for tried in &search.tries {
        table.push(
            &format!("  {}", searches::purpose(tried.purpose)),
            vec![
                rate(tried.rate_per_s),
                tried.achieved_per_s.map_or_else(|| ABSENT.to_owned(), rate),
                tried.quantile_ns.map_or_else(|| ABSENT.to_owned(), |ns| milliseconds(ns as f64)),
                searches::tried(tried),
            ],
            Tone::Plain,
        );
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
}
