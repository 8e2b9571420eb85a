//! The latency table with the published rows, what does not add up, and the latencies beside the main one.

use super::{Figures, Page};
use crate::absence::{self, Footnotes};
use crate::figures::{COLUMNS, Figure, MAX, MEAN, P99, Pick, interval_ms, interval_notes};
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use crate::{fastest, figures, headline, ledger, pairing};
use plumb_model::document::{ReferenceRow, RunDocument, StepResult};
use plumb_model::figure::{ABSENT, count, milliseconds, percent, plain, rate, significant};
use plumb_model::observation::Distribution;

/// One row a setup: quantiles, maximum, mean and the rate; published rows under ours.
pub(super) fn write_headline(page: &mut Page, document: &RunDocument, figures: Figures) {
    let headline = headline::of(document);
    let reference = document.reference.as_ref().filter(|table| headline.end_to_end && !table.rows.is_empty());
    page.heading(&format!("{} in ms", headline.heading), headline.meaning);
    let mut columns = Vec::new();
    let shown: Vec<&Figure> =
        COLUMNS.iter().filter(|figure| figure.always || figures == Figures::All).collect();
    let level = percent(document.plan.level);
    for figure in &shown {
        columns.push(Column::decimal(figure.heading));
        if figure.has_interval() {
            columns.push(Column::words(level.clone()));
        }
    }
    columns.extend([Column::decimal("asked/s"), Column::decimal("achieved/s")]);
    let mut table = Table::new("setup", columns);
    let mut notes = Footnotes::default();
    let timed = headline::timed(document);
    for (index, step) in timed.iter().copied() {
        let tone = if ledger::discrepancies(step).is_empty() { Tone::Plain } else { Tone::Warning };
        let (name, tone) = match fastest::is(document, &step.name) {
            true if tone == Tone::Plain => (format!("{} (fastest)", setup_name(index, step)), Tone::Good),
            true => (format!("{} (fastest)", setup_name(index, step)), tone),
            false => (setup_name(index, step), tone),
        };
        let latency = (headline.of_step)(step);
        table.push(&name, measured_cells(&shown, index + 1, step, latency, &mut notes), tone);
        for row in pairing::published(reference, step) {
            table.push("", published_cells(&shown, row), Tone::Dim);
        }
    }
    if let Some(reference) = reference {
        for row in pairing::unpaired(reference, &document.steps) {
            table.push(&format!("   {}", row.name), published_cells(&shown, row), Tone::Dim);
        }
    }
    write_table(page, &table, &notes);
    if timed.iter().any(|(_, step)| fastest::is(document, &step.name)) {
        page.prose("  ", fastest::MEANING, Tone::Dim);
    }
    for note in interval_notes(timed.iter().copied(), headline.of_step) {
        page.prose("  ", &note, Tone::Dim);
    }
    if let Some(reference) = reference {
        let source = format!("published: {}, {}. {}", reference.title, reference.source, reference.caveat);
        page.prose("  ", &source, Tone::Dim);
        if figures == Figures::Headline {
            page.prose("  ", "minimum and p75 too: plumb report RUN --all-figures", Tone::Dim);
        }
    }
}

fn measured_cells(
    shown: &[&Figure],
    setup: usize,
    step: &StepResult,
    latency: &Distribution,
    notes: &mut Footnotes,
) -> Vec<String> {
    let mut cells = Vec::new();
    for figure in shown {
        let value = figure.of(latency);
        let interval = match (&value, figure.interval(latency)) {
            (Ok(ns), Some(interval)) => interval_ms(*ns, interval),
            (Ok(_), None) if figure.has_interval() => {
                notes.add(&format!("interval of {}", figure.heading), setup, absence::INTERVAL.to_owned());
                ABSENT.to_owned()
            }
            _ => String::new(),
        };
        cells.push(or_absent(value.map(milliseconds), figure.heading, setup, notes));
        if figure.has_interval() {
            cells.push(interval);
        }
    }
    cells.push(figures::asked(step));
    let achieved = step.achieved_per_s.map(rate).ok_or_else(|| "nothing was acknowledged".to_owned());
    cells.push(or_absent(achieved, "achieved/s", setup, notes));
    cells
}

fn published_cells(shown: &[&Figure], row: &ReferenceRow) -> Vec<String> {
    let mut cells = Vec::new();
    for figure in shown {
        cells.push(figure.published_ms.map_or_else(String::new, |of| significant(of(row), 3)));
        if figure.has_interval() {
            cells.push(String::new());
        }
    }
    cells.extend([plain(row.rate_per_s), "published".to_owned()]);
    cells
}

/// Counts: one line when all is well, one for each thing that is not.
pub(super) fn write_ledger(page: &mut Page, document: &RunDocument) {
    let steps = &document.steps;
    page.heading("Messages", "");
    let (mut clean, mut not_begun) = (Vec::new(), Vec::new());
    for (index, step) in steps.iter().enumerate() {
        if ledger::counted(step).is_none() && step.errors.is_empty() {
            not_begun.push(index + 1);
            continue;
        }
        if ledger::own_discrepancies(step).is_empty() {
            clean.push(index + 1);
        }
        for what in ledger::discrepancies(step) {
            page.prose(&format!("  !! #{}: ", index + 1), &what, Tone::Bad);
        }
        for error in &step.errors {
            let text =
                format!("{} {} errors {}: {}", count(error.count), error.origin, error.code, error.message);
            page.prose(&format!("  !! #{}: ", index + 1), &text, Tone::Bad);
        }
    }
    if !not_begun.is_empty() {
        let text = format!(
            "{}: nothing was counted, as no block of it was measured.",
            absence::setup_list(&not_begun)
        );
        page.prose("  ", &text, Tone::Dim);
    }
    if clean.is_empty() {
        return;
    }
    let total: u64 = clean.iter().map(|setup| moved(&steps[setup - 1])).sum();
    let asked: Vec<Option<bool>> =
        clean.iter().map(|setup| ledger::broker_agrees(&steps[setup - 1])).collect();
    let broker = match asked.iter().filter(|agrees| agrees.is_some()).count() {
        n if n == asked.len() => "the broker's offsets agree",
        0 => "the broker's offsets could not be asked",
        _ => "the broker's offsets agree where they could be asked",
    };
    let text = format!(
        "{}: {} {}; {broker}.",
        absence::setup_list(&clean),
        count(total),
        ledger::balance(document, clean.iter().map(|setup| &steps[setup - 1]))
    );
    page.prose("  ", &text, Tone::Plain);
}

/// Messages that a step was to move: without a rate nothing says how many, so what it did move counts.
fn moved(step: &StepResult) -> u64 {
    match step.counts.intended {
        0 => step.counts.sent.max(step.counts.received),
        intended => intended,
    }
}

/// Acknowledge latency, service times and slip, compactly.
pub(super) fn write_others(page: &mut Page, document: &RunDocument) {
    let steps = headline::timed(document);
    page.heading(
        "Other latencies in ms",
        "service time counts from the actual send; slip is actual minus intended send",
    );
    let columns: [(&str, Pick<Distribution>, Part); 8] = [
        ("ack mean", |step| &step.latency.acknowledge, Part::Mean),
        ("p99", |step| &step.latency.acknowledge, Part::P99),
        ("ack service", |step| &step.latency.acknowledge_service, Part::Mean),
        ("p99", |step| &step.latency.acknowledge_service, Part::P99),
        ("e2e service", |step| &step.latency.end_to_end_service, Part::Mean),
        ("p99", |step| &step.latency.end_to_end_service, Part::P99),
        ("slip p99", |step| &step.slip, Part::P99),
        ("max", |step| &step.slip, Part::Max),
    ];
    let mut table = Table::new("", columns.iter().map(|(heading, ..)| Column::decimal(*heading)).collect());
    let mut notes = Footnotes::default();
    for (index, step) in steps.iter().copied() {
        let cells = columns.iter().map(|(heading, distribution, part)| {
            let value = part.of(distribution(step)).map(milliseconds);
            or_absent(value, heading, index + 1, &mut notes)
        });
        table.push(&format!("#{}", index + 1), cells.collect(), Tone::Plain);
    }
    write_table(page, &table, &notes);
    let unconfirmed: Vec<usize> = steps
        .iter()
        .filter(|(_, step)| step.durability.acks.as_deref() == Some("0"))
        .map(|(index, _)| index + 1)
        .collect();
    if !unconfirmed.is_empty() {
        let text = format!(
            "{}: with acks=0 nothing confirms a write; \"ack\" is the hand-over to the socket.",
            absence::setup_list(&unconfirmed)
        );
        page.prose("  ", &text, Tone::Dim);
    }
}

#[derive(Clone, Copy)]
enum Part {
    Mean,
    P99,
    Max,
}

impl Part {
    fn of(self, distribution: &Distribution) -> Result<f64, String> {
        match self {
            Part::Mean => MEAN.of(distribution),
            Part::P99 => P99.of(distribution),
            Part::Max => MAX.of(distribution),
        }
    }
}

/// `#1 name`.
fn setup_name(index: usize, step: &StepResult) -> String {
    format!("#{} {}", index + 1, step.name)
}

fn or_absent(cell: Result<String, String>, column: &str, setup: usize, notes: &mut Footnotes) -> String {
    cell.unwrap_or_else(|reason| {
        notes.add(column, setup, reason);
        ABSENT.to_owned()
    })
}

fn write_table(page: &mut Page, table: &Table, notes: &Footnotes) {
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for note in notes.sentences() {
        page.prose("  - ", &note, Tone::Dim);
    }
}
