//! The figures of steps that went as fast as possible: which columns there are and how a cell reads. No latency is among
//! them. MB are 10^6 bytes everywhere, and GB 10^9; sizes are as the user wrote them.

use crate::headline;
use plumb_model::document::{BlockResult, ReferenceRatio, ReferenceTable, RunDocument, StepResult};
use plumb_model::figure::{ABSENT, count, milliseconds, rate, significant};
use plumb_model::observation::Interval;
use plumb_model::plan::{Mode, SizePlan, StepPlan};
use plumb_model::sweep::{NoKnee, SweepOver, SweepPlace, SweepRate, SweepResult};

/// The meaning of these figures, to stand beside their heading.
pub(crate) const MEANING: &str = "as fast as possible: no latency is given; MB are 10^6 bytes of values";

/// One column.
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    /// The long form of the heading.
    pub(crate) meaning: &'static str,
    pub(crate) numeric: bool,
    cell: fn(&Row) -> Option<String>,
    interval: Option<fn(&Row) -> Option<String>>,
}

/// A step with its plan.
pub(crate) struct Row<'d> {
    /// Its place in the document.
    pub(crate) index: usize,
    pub(crate) step: &'d StepResult,
    plan: &'d StepPlan,
}

const COLUMNS: [Column; 14] = [
    text("driver", "the client", |row| Some(row.plan.driver_name())),
    text("size", "of a value", size),
    number("prod.", "producers", |row| row.produces().then(|| count(row.plan.load.producers.into()))),
    number("cons.", "consumers", |row| row.receives().then(|| count(row.plan.load.consumers.into()))),
    Column {
        interval: Some(|row| {
            let throughput = &row.step.throughput;
            spread(throughput.produced_per_s, throughput.produced_interval, row.step, |block| {
                block.achieved_per_s
            })
        }),
        ..number("produced/s", "messages acknowledged per second", |row| {
            row.step.throughput.produced_per_s.map(rate)
        })
    },
    number("MB/s", "10^6 bytes of values acknowledged per second", |row| {
        row.step.throughput.produced_bytes_per_s.map(megabytes)
    }),
    number("wire MB/s", "10^6 bytes of compressed batches acknowledged per second", |row| {
        let compressed = row.step.effective.codec().and(row.step.throughput.produced_wire_bytes_per_s);
        compressed.map(megabytes)
    }),
    Column {
        interval: Some(|row| {
            let throughput = &row.step.throughput;
            spread(throughput.received_per_s, throughput.received_interval, row.step, |block| {
                block.received_per_s
            })
        }),
        ..number("received/s", "messages received per second", |row| {
            row.step.throughput.received_per_s.map(rate)
        })
    },
    number("MB/s", "10^6 bytes of values received per second", |row| {
        row.step.throughput.received_bytes_per_s.map(megabytes)
    }),
    number("drain s", "seconds to receive the backlog", |row| {
        row.step.throughput.drain_s.map(|s| significant(s, 3))
    }),
    number("queue ms", "mean wait in the client's queue", |row| {
        row.step.producer_statistics.queue_mean_ns.filter(|_| row.produces()).map(milliseconds)
    }),
    number("CPU s/M", "the generator's CPU seconds per million messages", |row| {
        row.step.instrument.cpu_s_per_million_messages.map(|s| significant(s, 3))
    }),
    number("CPU s/GB", "the generator's CPU seconds per 10^9 bytes of values", |row| {
        row.step.instrument.cpu_s_per_gb.map(|s| significant(s, 3))
    }),
    number("broker CPU s", "CPU seconds of the brokers over the measured part", |row| {
        row.step.instrument.broker_cpu_s.map(|s| significant(s, 3))
    }),
];

const fn number(heading: &'static str, meaning: &'static str, cell: fn(&Row) -> Option<String>) -> Column {
    Column { heading, meaning, numeric: true, cell, interval: None }
}

const fn text(heading: &'static str, meaning: &'static str, cell: fn(&Row) -> Option<String>) -> Column {
    Column { heading, meaning, numeric: false, cell, interval: None }
}

impl Column {
    /// True if the figure may have an interval beside it.
    pub(crate) fn has_interval(&self) -> bool {
        self.interval.is_some()
    }

    /// The interval of a row's figure.
    pub(crate) fn interval_of(&self, row: &Row) -> Option<String> {
        self.interval.and_then(|interval| interval(row))
    }
}

impl Row<'_> {
    pub(crate) fn produces(&self) -> bool {
        self.plan.load.mode != Mode::Consume
    }

    pub(crate) fn receives(&self) -> bool {
        self.plan.load.mode != Mode::Produce && self.plan.load.consumers > 0
    }

    pub(crate) fn mode(&self) -> Mode {
        self.plan.load.mode
    }

    /// True if its purpose is to receive messages that were there before.
    pub(crate) fn is_for_receiving(&self) -> bool {
        matches!(self.plan.load.mode, Mode::Consume | Mode::Backlog(_))
    }

    /// Seconds from a block's first intended send to the end of its load; absent where that was not planned, or was not reached.
    pub(crate) fn planned_end_s(&self, block: u32, planned_blocks: u32) -> Option<f64> {
        let load = &self.plan.load;
        let ended = self.step.blocks.iter().any(|result| result.block == block && !result.cut_short);
        let planned_s = load.planned_s().filter(|_| ended && !self.is_for_receiving())?;
        Some(load.warm_up.as_secs_f64() + planned_s / f64::from(planned_blocks.max(1)))
    }

    /// Blocks that ran to their end.
    pub(crate) fn whole_blocks(&self) -> usize {
        self.step.blocks.iter().filter(|block| !block.cut_short).count()
    }
}

/// The steps that went as fast as possible.
pub(crate) fn rows(document: &RunDocument) -> Vec<Row<'_>> {
    let saturating =
        document.steps.iter().enumerate().filter(|(_, step)| headline::saturates(document, step));
    let planned = saturating.filter_map(|(index, step)| {
        let plan = document.plan.steps.iter().find(|plan| plan.name == step.name)?;
        Some(Row { index, step, plan })
    });
    planned.collect()
}

/// The columns that tell something: some row has a figure, and a word is not the same in all of several rows.
pub(crate) fn columns(rows: &[Row]) -> Vec<&'static Column> {
    let telling = |column: &&Column| match column.numeric {
        true => rows.iter().any(|row| (column.cell)(row).is_some()),
        false => rows.len() == 1 || shared(column, rows).is_none(),
    };
    COLUMNS.iter().filter(telling).collect()
}

/// A column's word that all rows share.
fn shared(column: &Column, rows: &[Row]) -> Option<String> {
    let first = (column.cell)(rows.first()?)?;
    rows.iter().all(|row| (column.cell)(row).as_ref() == Some(&first)).then_some(first)
}

/// The notes under the table: words that all rows share, and the meaning of intervals and short headings.
pub(crate) fn notes(rows: &[Row], shown: &[&Column]) -> Vec<String> {
    let words = COLUMNS.iter().filter(|column| !column.numeric && rows.len() > 1);
    let all: Vec<String> =
        words.filter_map(|column| Some(format!("{} {}", column.heading, shared(column, rows)?))).collect();
    let all = (!all.is_empty()).then(|| format!("all setups: {}", all.join(", ")));
    let short =
        shown.iter().filter(|column| column.heading.starts_with("CPU") || column.heading.starts_with("wire"));
    let short: Vec<String> = short.map(|column| format!("{}: {}", column.heading, column.meaning)).collect();
    let short = (!short.is_empty()).then(|| short.join("; "));
    all.into_iter().chain(interval_note(rows)).chain(short).collect()
}

/// A cell: the figure, or [`ABSENT`].
pub(crate) fn cell(column: &Column, row: &Row) -> String {
    (column.cell)(row).unwrap_or_else(|| ABSENT.to_owned())
}

/// Size of the values: as planned, and of records that were there their mean as read.
fn size(row: &Row) -> Option<String> {
    match &row.plan.load.size {
        _ if row.plan.reads_as_it_is() => {
            let any = row.step.counts.received > 0;
            any.then(|| format!("mean {} B", rate(row.step.value_bytes_mean)))
        }
        SizePlan::Fixed(size) => Some(size.to_string()),
        SizePlan::Mix(_) => Some(format!("mix, {} B", rate(row.plan.load.size.mean()))),
    }
}

/// Bytes per second in MB, three digits.
pub(crate) fn megabytes(bytes_per_s: f64) -> String {
    plumb_model::figure::megabytes(bytes_per_s)
}

/// Half of an interval as a share of its figure: `±1.2 %`. From the whole figure on it would bound nothing from below: then the least
/// and the greatest of the blocks, `blocks 2,000 to 80,000`.
fn spread(
    figure: Option<f64>,
    interval: Option<Interval>,
    step: &StepResult,
    of_block: fn(&BlockResult) -> Option<f64>,
) -> Option<String> {
    let (figure, interval) = (figure.filter(|figure| *figure > 0.0)?, interval?);
    let share = (interval.high - interval.low) / 2.0 / figure;
    if share >= 1.0 {
        let whole = || step.blocks.iter().filter(|block| !block.cut_short).filter_map(of_block);
        let (least, greatest) = whole().reduce(f64::min).zip(whole().reduce(f64::max))?;
        return Some(format!("blocks {}", plumb_model::figure::interval(least, greatest, rate)));
    }
    Some(format!("±{}", plumb_model::figure::percent(share)))
}

/// The meaning of the intervals; none where there is none.
fn interval_note(rows: &[Row]) -> Option<String> {
    let intervals = rows
        .iter()
        .flat_map(|row| [row.step.throughput.produced_interval, row.step.throughput.received_interval]);
    let level = intervals.flatten().next()?.level;
    Some(format!(
        "{} interval of a rate: Student's t over its blocks, each with fresh clients",
        plumb_model::figure::percent(level)
    ))
}

/// The name of the clients of a line.
pub(crate) fn clients(line: &SweepResult) -> &'static str {
    match line.over {
        SweepOver::Producers => "producers",
        SweepOver::Consumers => "consumers",
    }
}

/// The name of the rate of a line.
pub(crate) fn rate_name(line: &SweepResult) -> &'static str {
    match line.rate {
        SweepRate::Produced => "acknowledged",
        SweepRate::Received => "received",
    }
}

/// A place with its interval: `8 (7 to 9)`, `8 (7 or more)`.
pub(crate) fn place(clients: u32, low: u32, high: Option<u32>) -> String {
    match high {
        Some(high) if low == clients && high == clients => clients.to_string(),
        Some(high) => format!("{clients} ({low} to {high})"),
        None => format!("{clients} ({low} or more)"),
    }
}

/// The same of a knee or a fall.
pub(crate) fn sweep_place(found: &SweepPlace) -> String {
    place(found.clients, found.clients_low, found.clients_high)
}

/// The published ratios beside this run's, with their source and what to know before comparing; none where none were published.
pub(crate) fn published(document: &RunDocument) -> Option<String> {
    published_of(document.reference.as_ref())
}

fn published_of(table: Option<&ReferenceTable>) -> Option<String> {
    let table = table.filter(|table| !table.ratios.is_empty())?;
    let ratio = |ratio: &ReferenceRatio| {
        // As published: another zero would claim a precision that nobody gave.
        let (least, most) = (ratio.least.to_string(), ratio.most.to_string());
        let times = if least == most { least } else { format!("{least} to {most}") };
        format!("{} over {}: {times} times", ratio.name, ratio.over)
    };
    let ratios: Vec<String> = table.ratios.iter().map(ratio).collect();
    Some(format!("published: {} ({}, {}). {}", ratios.join("; "), table.title, table.source, table.caveat))
}

/// A line's name; a run of one line needs none.
pub(crate) fn line_name(line: &SweepResult) -> String {
    if line.line.is_empty() { format!("all {}", clients(line)) } else { line.line.clone() }
}

/// The reason why a line has no knee.
pub(crate) fn no_knee(line: &SweepResult) -> &'static str {
    match line.no_knee {
        Some(NoKnee::StillRises) => "still rises",
        Some(NoKnee::Unclear) => "cannot be told",
        Some(NoKnee::TooFew) | None => "too few points or blocks",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::observation::IntervalMethod;

    #[test]
    fn published_ratios_stand_with_their_source_and_what_to_know() {
        let ratio = |least, most| ReferenceRatio { name: "pmem".into(), over: "sata".into(), least, most };
        let table = |ratios| ReferenceTable {
            title: "T".into(),
            source: "S".into(),
            caveat: "C.".into(),
            rows: Vec::new(),
            ratios,
        };
        let shown = |ratios| published_of(Some(&table(ratios)));
        assert_eq!(shown(Vec::new()), None);
        let text = shown(vec![ratio(5.0, 5.0), ratio(12.0, 15.0)]).unwrap();
        assert_eq!(text, "published: pmem over sata: 5 times; pmem over sata: 12 to 15 times (T, S). C.");
    }

    #[test]
    fn where_blocks_differ_by_as_much_as_the_rate_their_range_stands_for_the_interval() {
        let block = |rate| BlockResult { achieved_per_s: Some(rate), ..BlockResult::default() };
        let step =
            StepResult { blocks: [2_000.0, 33_000.0, 80_000.0].map(block).into(), ..StepResult::default() };
        let interval = |low, high| Some(Interval { low, high, level: 0.95, method: IntervalMethod::Blocks });
        let told = |interval| spread(Some(38_000.0), interval, &step, |block| block.achieved_per_s);
        assert_eq!(told(interval(-59_000.0, 136_000.0)).unwrap(), "blocks 2,000 to 80,000");
        assert_eq!(told(interval(37_620.0, 38_380.0)).unwrap(), "±1 %");
    }
}
