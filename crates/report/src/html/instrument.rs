//! The instrument's own quality, what it cost in each setup, and what the clients say of themselves.

use super::grid::Grid;
use super::walk::{self, Leaf};
use crate::ReportError;
use crate::figures::Pick;
use crate::workers;
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::figure::{ABSENT, count, percent, plain, significant, time};
use plumb_model::observation::ClientStatistics;

/// The instrument.
pub(super) struct InstrumentView {
    /// Clock and pacing, measured before the run.
    pub(super) quality: Vec<(&'static str, String)>,
    pub(super) cost: Grid,
    /// The workers; no rows where the program itself ran the clients.
    pub(super) workers: Grid,
    pub(super) statistics: Vec<Grid>,
}

/// The instrument of a run.
pub(super) fn view(document: &RunDocument) -> Result<InstrumentView, ReportError> {
    let instrument = &document.instrument;
    let late = &instrument.wake_late;
    let or_absent = |ns: Option<f64>| ns.map_or_else(|| ABSENT.to_owned(), time);
    let whole = |ns: Option<u64>| or_absent(ns.map(|ns| ns as f64));
    let steps = &document.steps;
    Ok(InstrumentView {
        quality: vec![
            ("reading the clock", or_absent(instrument.clock_read_ns)),
            ("smallest step of the clock", whole(instrument.clock_step_ns)),
            ("pacing wakes late, p50", whole(late.p50_ns)),
            ("pacing wakes late, p99", whole(late.p99_ns)),
            ("pacing wakes late, max", whole(late.max_ns)),
            ("wake-ups measured", count(late.samples)),
            (
                "spinning before a send",
                if late.samples == 0 { ABSENT.to_owned() } else { time(instrument.spin_ns as f64) },
            ),
        ],
        cost: cost(steps),
        workers: workers(document),
        statistics: [
            statistics("Producers' own statistics", steps, |step| &step.producer_statistics)?,
            statistics("Consumers' own statistics", steps, |step| &step.consumer_statistics)?,
        ]
        .into(),
    })
}

fn workers(document: &RunDocument) -> Grid {
    let heads = std::iter::once("worker").chain(workers::COLUMNS).map(str::to_owned);
    let row = |row: workers::Row| std::iter::once(row.name).chain(row.cells).collect();
    Grid {
        caption: workers::HEADING.to_owned(),
        heads: heads.collect(),
        rows: workers::rows(document).into_iter().map(row).collect(),
        notes: vec![workers::MEANING.to_owned()],
        numeric: true,
    }
}

fn cost(steps: &[StepResult]) -> Grid {
    let heads = [
        "setup",
        "CPU s",
        "CPU s per million",
        "brokers' CPU s",
        "busiest thread",
        "its share of a CPU",
        "waits for the queue",
    ];
    let number = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |value| significant(value, 3));
    let rows = steps.iter().enumerate().map(|(index, step)| {
        let instrument = &step.instrument;
        let busiest = instrument.threads.first();
        vec![
            format!("#{}", index + 1),
            number(instrument.cpu_s),
            number(instrument.cpu_s_per_million_messages),
            number(instrument.broker_cpu_s),
            busiest.map_or_else(|| ABSENT.to_owned(), |thread| thread.thread.clone()),
            busiest.map_or_else(|| ABSENT.to_owned(), |thread| percent(thread.share)),
            plain(instrument.queue_full_waits as f64),
        ]
    });
    Grid {
        caption: "What the instrument cost".to_owned(),
        heads: heads.map(str::to_owned).into(),
        rows: rows.collect(),
        notes: Vec::new(),
        numeric: true,
    }
}

/// One row a statistic, one column a setup.
fn statistics(caption: &str, steps: &[StepResult], of: Pick<ClientStatistics>) -> Result<Grid, ReportError> {
    let mut columns: Vec<Vec<Leaf>> = Vec::new();
    for step in steps {
        columns.push(walk::leaves(&serde_json::to_value(of(step))?));
    }
    let names = columns.first().map_or(&[][..], Vec::as_slice);
    let rows = names.iter().enumerate().map(|(row, leaf)| {
        let cells = columns.iter().map(|column| column[row].value.clone());
        [leaf.name.clone()].into_iter().chain(cells).collect()
    });
    Ok(Grid {
        caption: caption.to_owned(),
        heads: ["statistic".to_owned()]
            .into_iter()
            .chain((1..=steps.len()).map(|n| format!("#{n}")))
            .collect(),
        rows: rows.collect(),
        notes: Vec::new(),
        numeric: true,
    })
}
