//! The table of rates of steps that went as fast as possible, and a bar for each, or for each line of a sweep.

use super::Key;
use super::scale::percent;
use crate::ledger;
use crate::rates::{self, MEANING, Row};
use plumb_model::document::RunDocument;
use plumb_model::figure;
use plumb_model::finding::Comparison;
use plumb_model::observation::Interval;
use plumb_model::sweep::SweepResult;

/// The table.
pub(super) struct RateTable {
    pub(super) meaning: &'static str,
    /// Heading, and what it is short for.
    pub(super) heads: Vec<(&'static str, &'static str)>,
    pub(super) rows: Vec<RateRow>,
    pub(super) notes: Vec<String>,
    /// So many rows that they are folded away.
    pub(super) folded: bool,
}

/// One setup.
pub(super) struct RateRow {
    pub(super) key: Key,
    pub(super) cells: Vec<Cell>,
    pub(super) blocks: usize,
    /// True if its counts do not add up.
    pub(super) doubtful: bool,
}

/// A figure, with its interval where it has one.
pub(super) struct Cell {
    pub(super) figure: String,
    pub(super) interval: String,
}

/// Rows beyond which a table is folded, where a chart shows the same.
const ROWS_OPEN: usize = 16;

/// None where every step has a rate of its own.
pub(super) fn table(document: &RunDocument) -> Option<RateTable> {
    let rows = rates::rows(document);
    let shown = rates::columns(&rows);
    (!rows.is_empty()).then(|| RateTable {
        meaning: MEANING,
        heads: shown.iter().map(|column| (column.heading, column.meaning)).collect(),
        notes: rates::notes(&rows, &shown).into_iter().chain(rates::published(document)).collect(),
        folded: !document.sweeps.is_empty() && rows.len() > ROWS_OPEN,
        rows: rows
            .iter()
            .map(|row| RateRow {
                key: Key::new(row.index, row.step),
                cells: shown
                    .iter()
                    .map(|column| Cell {
                        figure: rates::cell(column, row),
                        interval: column.interval_of(row).unwrap_or_default(),
                    })
                    .collect(),
                blocks: row.whole_blocks(),
                doubtful: !ledger::discrepancies(row.step).is_empty() || !row.step.errors.is_empty(),
            })
            .collect(),
    })
}

/// Bars of MB/s, all on one scale from nothing.
pub(super) struct Bars {
    pub(super) bars: Vec<Bar>,
    pub(super) ticks: Vec<(String, String)>,
    /// The meaning of a bar.
    pub(super) meaning: &'static str,
    /// True if they are lines, which have letters.
    pub(super) of_lines: bool,
}

/// One setup or line.
pub(super) struct Bar {
    pub(super) key: Key,
    pub(super) width: String,
    /// The band in which its end may truly lie.
    pub(super) band: Option<(String, String)>,
    pub(super) figure: String,
    /// The ratio to the first, with its interval; empty for the first.
    pub(super) ratio: String,
}

struct Amount {
    key: Key,
    bytes_per_s: f64,
    value_bytes: f64,
    interval: Option<Interval>,
    ratio: String,
}

/// None where there is nothing to hold against each other.
pub(super) fn bars(document: &RunDocument) -> Option<Bars> {
    let (amounts, meaning) = if document.sweeps.is_empty() {
        (setups(document), "the setups' rates in MB/s; times the first setup of equal load")
    } else {
        (
            lines(&document.sweeps),
            "the best point of each line in MB/s; times the first line, over all points",
        )
    };
    let high = |amount: &Amount| {
        amount.interval.map_or(0.0, |it| it.high * amount.value_bytes).max(amount.bytes_per_s)
    };
    let most = amounts.iter().map(high).fold(0.0, f64::max);
    if amounts.len() < 2 || most <= 0.0 {
        return None;
    }
    let bar = |amount: Amount| Bar {
        width: percent(amount.bytes_per_s / most),
        band: amount.interval.map(|it| {
            let end = |rate: f64| percent((rate * amount.value_bytes / most).clamp(0.0, 1.0));
            (end(it.low), end(it.high))
        }),
        figure: figure::bytes_per_s(amount.bytes_per_s),
        ratio: amount.ratio,
        key: amount.key,
    };
    let ticks = super::scale::linear_ticks(most / 1e6, 5.0);
    Some(Bars {
        ticks: ticks.into_iter().map(|tick| (percent(tick * 1e6 / most), figure::plain(tick))).collect(),
        bars: amounts.into_iter().map(bar).collect(),
        meaning,
        of_lines: !document.sweeps.is_empty(),
    })
}

fn setups(document: &RunDocument) -> Vec<Amount> {
    let rows = rates::rows(document);
    let amount = |row: &Row| {
        let throughput = &row.step.throughput;
        let value_bytes = row.step.value_bytes_mean;
        let produced = throughput.produced_bytes_per_s.map(|bytes| (bytes, throughput.produced_interval));
        let received = throughput.received_bytes_per_s.map(|bytes| (bytes, throughput.received_interval));
        let (bytes_per_s, interval) = if row.is_for_receiving() { received } else { produced }?;
        let ratio = document.comparisons.iter().find(|pair| pair.b == row.step.name).map(written);
        Some(Amount {
            key: Key::new(row.index, row.step),
            bytes_per_s,
            value_bytes,
            interval,
            ratio: ratio.unwrap_or_default(),
        })
    };
    rows.iter().filter_map(amount).collect()
}

fn written(pair: &Comparison) -> String {
    match (pair.ratio, pair.ratio_low, pair.ratio_high) {
        (Some(ratio), Some(low), Some(high)) => times(ratio, low, high),
        _ => String::new(),
    }
}

fn times(ratio: f64, low: f64, high: f64) -> String {
    format!("{} ({})", figure::ratio(ratio), figure::interval(low, high, figure::ratio_digits))
}

fn lines(sweeps: &[SweepResult]) -> Vec<Amount> {
    let amount = |(index, line): (usize, &SweepResult)| {
        let top = line.points.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
        let found = line.against_first.as_ref();
        Some(Amount {
            key: Key::named(
                index,
                &format!("{}, {} {}", rates::line_name(line), top.clients, rates::clients(line)),
            ),
            bytes_per_s: top.per_s * top.value_bytes_mean,
            value_bytes: top.value_bytes_mean,
            interval: top.interval,
            ratio: found.map(|it| times(it.ratio, it.ratio_low, it.ratio_high)).unwrap_or_default(),
        })
    };
    sweeps.iter().enumerate().filter_map(amount).collect()
}

/// A rate with its unit, for those who cannot see the chart.
pub(super) fn messages(per_s: f64) -> String {
    figure::messages_per_s(per_s)
}
