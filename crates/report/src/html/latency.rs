//! The latency table with the published rows, the latencies beside it, the blocks behind it, and the message counts.

use super::Key;
use super::grid::Grid;
use crate::absence::{self, Footnotes};
use crate::figures::{COLUMNS, Figure, MAX, MEAN, P99, Pick, interval_ms, interval_notes};
use crate::headline::{self, Headline};
use crate::{fastest, figures, ledger, pairing};
use plumb_model::document::{ReferenceRow, RunDocument, StepResult};
use plumb_model::figure::{ABSENT, count, milliseconds, percent, plain, rate, significant};
use plumb_model::observation::Distribution;

/// The main table.
pub(super) struct LatencyTable {
    pub(super) heading: &'static str,
    pub(super) meaning: &'static str,
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<LatencyRow>,
    /// Published rows of setups that this run does not have.
    pub(super) unpaired: Vec<PublishedRow>,
    pub(super) notes: Vec<String>,
    pub(super) reference: Option<ReferenceNote>,
}

/// A column.
pub(super) struct Head {
    pub(super) heading: &'static str,
    /// The level of the interval under each figure, `95 %`; empty where figures have none.
    pub(super) interval: String,
    /// True if it is shown only where all figures are asked for.
    pub(super) further: bool,
}

/// One setup.
pub(super) struct LatencyRow {
    pub(super) key: Key,
    pub(super) cells: Vec<Cell>,
    pub(super) asked: String,
    pub(super) achieved: String,
    pub(super) published: Vec<PublishedRow>,
    /// True if its counts do not add up.
    pub(super) doubtful: bool,
    /// True if it is faster than each other setup of equal load.
    pub(super) fastest: bool,
}

/// A figure, with its interval where it has one, and the reason where it is absent.
pub(super) struct Cell {
    /// True if it is shown only where all figures are asked for.
    pub(super) further: bool,
    pub(super) figure: String,
    pub(super) interval: String,
    pub(super) reason: String,
}

/// One published row.
pub(super) struct PublishedRow {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
    pub(super) rate: String,
}

/// The meaning of the published rows.
pub(super) struct ReferenceNote {
    pub(super) title: String,
    pub(super) source: String,
    pub(super) caveat: String,
}

/// The main table: end-to-end latency, or what the run is for.
pub(super) fn headline(document: &RunDocument) -> LatencyTable {
    let headline = headline::of(document);
    let mut notes = Footnotes::default();
    let reference = document.reference.as_ref().filter(|table| headline.end_to_end && !table.rows.is_empty());
    let timed = headline::timed(document);
    let rows = timed.iter().copied().map(|(index, step)| LatencyRow {
        key: Key::new(index, step),
        cells: COLUMNS
            .iter()
            .map(|figure| cell(figure, index + 1, (headline.of_step)(step), &mut notes))
            .collect(),
        asked: figures::asked(step),
        achieved: step.achieved_per_s.map_or_else(|| ABSENT.to_owned(), rate),
        published: pairing::published(reference, step).into_iter().map(published).collect(),
        doubtful: !ledger::discrepancies(step).is_empty() || !step.errors.is_empty(),
        fastest: fastest::is(document, &step.name),
    });
    LatencyTable {
        heading: headline.heading,
        meaning: headline.meaning,
        heads: COLUMNS.iter().map(|figure| head(figure, document.plan.level)).collect(),
        rows: rows.collect(),
        unpaired: reference.map_or_else(Vec::new, |table| {
            pairing::unpaired(table, &document.steps).into_iter().map(published).collect()
        }),
        notes: notes
            .sentences()
            .into_iter()
            .chain(
                timed
                    .iter()
                    .any(|(_, step)| fastest::is(document, &step.name))
                    .then(|| fastest::MEANING.to_owned()),
            )
            .chain(interval_notes(timed.iter().copied(), headline.of_step))
            .collect(),
        reference: reference.map(|table| ReferenceNote {
            title: table.title.clone(),
            source: table.source.clone(),
            caveat: table.caveat.clone(),
        }),
    }
}

fn head(figure: &Figure, level: f64) -> Head {
    let interval = if figure.has_interval() { percent(level) } else { String::new() };
    Head { heading: figure.heading, interval, further: !figure.always }
}

fn cell(figure: &Figure, setup: usize, latency: &Distribution, notes: &mut Footnotes) -> Cell {
    match figure.of(latency) {
        Ok(ns) => Cell {
            further: !figure.always,
            figure: milliseconds(ns),
            interval: figure.interval(latency).map(|interval| interval_ms(ns, interval)).unwrap_or_default(),
            reason: String::new(),
        },
        Err(reason) => {
            notes.add(figure.heading, setup, reason.clone());
            Cell { further: !figure.always, figure: ABSENT.to_owned(), interval: String::new(), reason }
        }
    }
}

fn published(row: &ReferenceRow) -> PublishedRow {
    let cell = |figure: &Figure| Cell {
        further: !figure.always,
        figure: figure.published_ms.map_or_else(String::new, |of| significant(of(row), 3)),
        interval: String::new(),
        reason: String::new(),
    };
    PublishedRow {
        name: row.name.clone(),
        cells: COLUMNS.iter().map(cell).collect(),
        rate: plain(row.rate_per_s),
    }
}

/// Acknowledge latency, service times and slip.
pub(super) fn others(document: &RunDocument) -> Grid {
    let distributions: [(&str, Pick<Distribution>); 4] = [
        ("ack", |step| &step.latency.acknowledge),
        ("ack service", |step| &step.latency.acknowledge_service),
        ("e2e service", |step| &step.latency.end_to_end_service),
        ("slip", |step| &step.slip),
    ];
    let parts = [&MEAN, &P99, &MAX];
    let mut notes = Footnotes::default();
    let mut grid =
        Grid { caption: "Other latencies in milliseconds".to_owned(), numeric: true, ..Default::default() };
    grid.heads.push("setup".to_owned());
    for (name, _) in distributions {
        grid.heads.extend(parts.iter().map(|part| format!("{name} {}", part.heading)));
    }
    for (index, step) in headline::timed(document) {
        let mut row = vec![format!("#{}", index + 1)];
        for (name, distribution) in distributions {
            for part in parts {
                row.push(part.of(distribution(step)).map(milliseconds).unwrap_or_else(|reason| {
                    notes.add(&format!("{name} {}", part.heading), index + 1, reason);
                    ABSENT.to_owned()
                }));
            }
        }
        grid.rows.push(row);
    }
    grid.notes = notes.sentences();
    grid
}

/// The setups whose acknowledgements confirm nothing.
pub(super) fn unconfirmed(steps: &[StepResult]) -> Option<String> {
    let setups: Vec<usize> =
        (1..=steps.len()).filter(|setup| steps[setup - 1].durability.acks.as_deref() == Some("0")).collect();
    (!setups.is_empty()).then(|| absence::setup_list(&setups))
}

/// Every block of every step, in the order in which they ran.
pub(super) fn blocks(document: &RunDocument, headline: Headline) -> Grid {
    let steps = &document.steps;
    let mut found: Vec<_> = steps
        .iter()
        .enumerate()
        .flat_map(|(index, step)| step.blocks.iter().map(move |block| (index + 1, block)))
        .collect();
    found.sort_by_key(|(_, block)| block.position);
    let ms = |ns: Option<f64>| ns.map_or_else(|| ABSENT.to_owned(), milliseconds);
    let timed = !headline::timed(document).is_empty();
    let received = found.iter().any(|(_, block)| block.received_per_s.is_some());
    let per_s = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), rate);
    let rows = found.into_iter().map(|(setup, block)| {
        let mut row = vec![
            format!("{}", block.position + 1),
            format!("#{setup}"),
            format!("{}", block.block + 1),
            block.started_at.clone(),
            count(block.counts.sent),
            per_s(block.achieved_per_s),
        ];
        if received {
            row.push(per_s(block.received_per_s));
        }
        if timed {
            let latency = (headline.of_block)(block);
            let whole = [latency.p50_ns, latency.p99_ns, latency.max_ns].map(|ns| ns.map(|ns| ns as f64));
            row.push(ms(latency.mean_ns));
            row.extend(whole.map(ms));
        }
        row
    });
    let heads = ["order", "setup", "round", "started", "sent", "achieved/s"].into_iter();
    let heads = heads.chain(received.then_some("received/s"));
    let heads = heads.chain(["mean", "p50", "p99", "max"].into_iter().filter(|_| timed));
    Grid {
        caption: match timed {
            true => format!("Blocks in the order in which they ran; {} in milliseconds", headline.heading),
            false => "Blocks in the order in which they ran".to_owned(),
        },
        heads: heads.map(str::to_owned).collect(),
        rows: rows.collect(),
        notes: Vec::new(),
        numeric: true,
    }
}

/// The message counts and what does not add up.
pub(super) struct LedgerView {
    pub(super) grid: Grid,
    /// Setup number, and what is wrong with it.
    pub(super) wrong: Vec<(usize, String)>,
    /// The sentence about all steps' own messages; absent where not all of these are accounted for.
    pub(super) balance: Option<String>,
}

/// The message counts of every step.
pub(super) fn ledger(document: &RunDocument) -> LedgerView {
    let steps = &document.steps;
    let heads = [
        "setup",
        "intended",
        "sent",
        "acked",
        "failed",
        "unknown",
        "received",
        "lost",
        "duplicated",
        "reordered",
        "broker's offsets",
    ];
    let begun = steps.iter().filter(|step| ledger::counted(step).is_some());
    let rows = steps.iter().enumerate().map(|(index, step)| {
        let mut row = vec![format!("#{}", index + 1)];
        let Some(counts) = ledger::counted(step) else {
            row.resize(heads.len(), ABSENT.to_owned());
            return row;
        };
        row.extend(
            [
                counts.intended,
                counts.sent,
                counts.acked,
                counts.failed,
                counts.unknown,
                counts.received,
                counts.lost,
                counts.duplicated,
                counts.reordered,
            ]
            .map(count),
        );
        row.push(match ledger::broker_agrees(step) {
            Some(true) => "agree".to_owned(),
            Some(false) => "disagree".to_owned(),
            None => "not asked".to_owned(),
        });
        row
    });
    let mut wrong = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        wrong.extend(ledger::discrepancies(step).into_iter().map(|what| (index + 1, what)));
        wrong.extend(step.errors.iter().map(|error| {
            let text =
                format!("{} {} errors {}: {}", count(error.count), error.origin, error.code, error.message);
            (index + 1, text)
        }));
    }
    LedgerView {
        grid: Grid {
            caption: "Messages of the measured part".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: rows.collect(),
            notes: Vec::new(),
            numeric: true,
        },
        wrong,
        balance: match begun.clone().count() {
            0 => Some("Nothing was counted: no block was measured.".to_owned()),
            _ if !begun.clone().all(|step| ledger::own_discrepancies(step).is_empty()) => None,
            n if n == steps.len() => Some(format!("In every setup {}.", ledger::balance(document, begun))),
            _ => Some(format!("In every setup that was begun {}.", ledger::balance(document, begun))),
        },
    }
}
