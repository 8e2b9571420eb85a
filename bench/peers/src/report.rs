//! The report on the rounds of one cell: a row for each tool, ratios, and what does not agree. Pure.

use crate::contest::Cell;
use crate::job::{Acks, Work};
use crate::run::Run;
use crate::table::{Table, figure, maybe, percent};
use crate::verdict::{Goal, Ratio};
use plumb_stats::median::median;
use plumb_stats::paired::Pair;
use serde::Serialize;
use std::collections::BTreeMap;

/// A tool's own rate or CPU time is named beside ours when it is off by more than this. Ours.
const WORTH_SAYING: f64 = 0.1;

/// A tool over all rounds: medians, each of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The tool.
    pub tool: &'static str,
    /// Runs behind the medians.
    pub rounds: usize,
    /// Messages a second.
    pub messages_per_s: Option<f64>,
    /// Megabytes (10^6 bytes) of values a second.
    pub mb_per_s: Option<f64>,
    /// CPU seconds of the client's whole process.
    pub client_cpu_s_per_million_messages: Option<f64>,
    /// The same for 10^9 bytes of values.
    pub client_cpu_s_per_gb: Option<f64>,
    /// CPU seconds of the client without what it needs to start and end, where that was measured.
    pub moving_cpu_s_per_million_messages: Option<f64>,
    /// CPU seconds of the part that the tool itself takes for measured.
    pub claimed_cpu_s_per_million_messages: Option<f64>,
    /// Messages a second that the tool claims.
    pub claimed_messages_per_s: Option<f64>,
    /// CPU seconds of the broker.
    pub broker_cpu_s_per_million_messages: Option<f64>,
    /// The same for 10^9 bytes of values.
    pub broker_cpu_s_per_gb: Option<f64>,
    /// Share of the machine that others used.
    pub foreign_share: Option<f64>,
}

/// A cell over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellReport {
    /// In words.
    pub cell: String,
    /// Each value.
    pub size_bytes: usize,
    /// Of producers.
    pub acks: Option<Acks>,
    /// Its tools, in the order in which they were given.
    pub tools: Vec<Row>,
    /// The comparisons.
    pub ratios: Vec<Ratio>,
    /// The things that a reader has to know besides.
    pub notes: Vec<String>,
}

/// A figure of a run that tools are compared by.
pub type Figure = fn(&Run) -> Option<f64>;

/// Client CPU time for a message.
pub const CLIENT_CPU: Figure = |run| Some(run.client_cpu_s_per_million());
/// The same without what the tool needs to start and end.
pub const MOVING_CPU: Figure = Run::moving_cpu_s_per_million;
/// Messages a second.
pub const RATE: Figure = |run| run.messages_per_s;

/// The runs of one cell.
pub struct CellRuns<'a> {
    cell: Cell,
    runs: Vec<&'a Run>,
}

impl<'a> CellRuns<'a> {
    /// Those of `runs` that are of this cell.
    pub fn of(cell: Cell, runs: &'a [Run]) -> CellRuns<'a> {
        let acks = match cell.work {
            Work::Produce(acks) => Some(acks),
            Work::Consume => None,
        };
        let ours = |run: &&Run| run.size_bytes == cell.size_bytes && run.acks == acks;
        CellRuns { cell, runs: runs.iter().filter(ours).collect() }
    }

    /// The cell.
    pub fn cell(&self) -> Cell {
        self.cell
    }

    /// The report, with the ratios that the bench is about.
    pub fn report(&self, tools: &[&'static str], ratios: Vec<Ratio>) -> CellReport {
        let acks = match self.cell.work {
            Work::Produce(acks) => Some(acks),
            Work::Consume => None,
        };
        let rows: Vec<Row> = tools.iter().map(|tool| self.row(tool)).filter(|row| row.rounds > 0).collect();
        let mut notes: Vec<String> = rows.iter().flat_map(claims).collect();
        notes.extend(self.runs.iter().filter_map(|run| miscount(run)));
        notes.extend(self.remarks());
        let (cell, size_bytes) = (self.cell.words(), self.cell.size_bytes);
        CellReport { cell, size_bytes, acks, tools: rows, ratios, notes }
    }

    /// Median of a tool's figure.
    pub fn median(&self, tool: &str, figure: Figure) -> Option<f64> {
        median(self.of_tool(tool).filter_map(figure))
    }

    /// Of these tools the one whose figure is best: lowest, or highest.
    pub fn best<'t>(&self, tools: &[&'t str], figure: Figure, lowest: bool) -> Option<&'t str> {
        let sign = if lowest { 1.0 } else { -1.0 };
        let with = |tool: &&'t str| Some((*tool, sign * self.median(tool, figure)?));
        let known = tools.iter().filter_map(with);
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(tool, _)| tool)
    }

    /// b : a over the rounds in which both ran.
    pub fn ratio(&self, name: &str, (b, a): (&str, &str), figure: Figure, goal: Option<Goal>) -> Ratio {
        let value = |tool: &str, round: usize| {
            let mut runs = self.of_tool(tool).filter(|run| run.round == round);
            figure(runs.next()?)
        };
        let rounds = self.runs.iter().map(|run| run.round).max().unwrap_or(0);
        let pairs: Vec<_> = (1..=rounds)
            .filter_map(|round| value(a, round).zip(value(b, round)))
            .map(|(a, b)| Pair { a, b })
            .collect();
        Ratio::of(format!("{name}, {b} : {a}"), &pairs, goal)
    }

    fn of_tool(&self, tool: &str) -> impl Iterator<Item = &Run> {
        self.runs.iter().copied().filter(move |run| run.tool == tool)
    }

    /// The remarks of tools on their runs, each once with the number of runs.
    fn remarks(&self) -> Vec<String> {
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for run in &self.runs {
            if let Some(remark) = &run.claim.remark {
                *seen.entry((run.tool, remark)).or_default() += 1;
            }
        }
        let note = |((tool, remark), runs): ((&str, &str), usize)| format!("{tool} {remark}, {runs} run(s)");
        seen.into_iter().map(note).collect()
    }

    fn row(&self, tool: &'static str) -> Row {
        let gb_per_million = self.cell.size_bytes as f64 / 1e3;
        let client = self.median(tool, CLIENT_CPU);
        let broker = self.median(tool, |run| Some(run.broker_cpu_s_per_million()));
        let rate = self.median(tool, RATE);
        Row {
            tool,
            rounds: self.of_tool(tool).count(),
            messages_per_s: rate,
            mb_per_s: rate.map(|rate| rate * self.cell.size_bytes as f64 / 1e6),
            client_cpu_s_per_million_messages: client,
            client_cpu_s_per_gb: client.map(|s| s / gb_per_million),
            moving_cpu_s_per_million_messages: self.median(tool, MOVING_CPU),
            claimed_cpu_s_per_million_messages: self.median(tool, |run| run.claim.cpu_s_per_million_messages),
            claimed_messages_per_s: self.median(tool, |run| run.claim.messages_per_s),
            broker_cpu_s_per_million_messages: broker,
            broker_cpu_s_per_gb: broker.map(|s| s / gb_per_million),
            foreign_share: self.median(tool, |run| Some(run.foreign_share)),
        }
    }
}

/// The differences between a tool's own figures and ours.
fn claims(row: &Row) -> Vec<String> {
    let differs = |ours: Option<f64>, theirs: Option<f64>| {
        let (ours, theirs) = ours.zip(theirs)?;
        ((theirs / ours - 1.0).abs() > WORTH_SAYING).then_some(theirs)
    };
    let cpu = differs(row.client_cpu_s_per_million_messages, row.claimed_cpu_s_per_million_messages);
    let rate = differs(row.messages_per_s, row.claimed_messages_per_s);
    let cpu = cpu.map(|s| {
        format!("{} counts {} CPU s for a million messages: its measured part alone", row.tool, figure(s))
    });
    let rate = rate.map(|rate| format!("{} says {} msgs/s of itself", row.tool, figure(rate)));
    cpu.into_iter().chain(rate).collect()
}

/// A tool that claims another number of messages than the broker has.
fn miscount(run: &Run) -> Option<String> {
    let claimed = run.claim.messages.filter(|claimed| *claimed != run.messages)?;
    let (tool, round, has) = (run.tool, run.round, run.messages);
    Some(format!("{tool}, round {round}: claims {claimed} messages, the broker has {has}"))
}

impl CellReport {
    /// For the terminal.
    pub fn text(&self) -> String {
        let mut table = Table::new(&[
            &self.cell,
            "msgs/s",
            "MB/s",
            "client cpu-s/M",
            "/GB",
            "less start-up",
            "broker cpu-s/M",
            "/GB",
            "others",
            "rounds",
        ]);
        for row in &self.tools {
            table.row(vec![
                row.tool.to_owned(),
                maybe(row.messages_per_s),
                maybe(row.mb_per_s),
                maybe(row.client_cpu_s_per_million_messages),
                maybe(row.client_cpu_s_per_gb),
                maybe(row.moving_cpu_s_per_million_messages),
                maybe(row.broker_cpu_s_per_million_messages),
                maybe(row.broker_cpu_s_per_gb),
                percent(row.foreign_share),
                row.rounds.to_string(),
            ]);
        }
        let mut text = table.text();
        if !self.ratios.is_empty() {
            let mut table = Table::new(&["", "ratio", "95 % interval", "goal", ""]);
            for ratio in &self.ratios {
                let interval = ratio.low.zip(ratio.high);
                let interval =
                    interval.map_or("too few rounds".to_owned(), |(l, h)| format!("{l:.3}-{h:.3}"));
                table.row(vec![
                    ratio.what.clone(),
                    ratio.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
                    interval,
                    ratio.goal.map(Goal::words).unwrap_or_default(),
                    ratio.verdict.map(|verdict| verdict.words().to_owned()).unwrap_or_default(),
                ]);
            }
            text += "\n";
            text += &table.text();
        }
        for note in &self.notes {
            text += &format!("note: {note}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Claim;

    const CELL: Cell = Cell { size_bytes: 1000, work: Work::Produce(Acks::All) };

    fn run(tool: &'static str, round: usize, cpu_s: f64, rate: f64) -> Run {
        Run {
            tool,
            round,
            size_bytes: 1000,
            acks: Some(Acks::All),
            asked: 1_000_000,
            messages: 1_000_000,
            messages_per_s: Some(rate),
            claim: Claim { messages: Some(1_000_000), messages_per_s: Some(rate), ..Claim::default() },
            wall_s: 4.0,
            client_cpu_s: cpu_s,
            start_up_cpu_s: Some(0.1),
            broker_cpu_s: 1.5,
            foreign_share: 0.02,
        }
    }

    fn three(tool: &'static str, cpu_s: f64, rate: f64) -> Vec<Run> {
        (1..=3).map(|round| run(tool, round, cpu_s * (0.9 + 0.1 * round as f64), rate)).collect()
    }

    #[test]
    fn ratios_pair_the_rounds_in_which_both_ran() {
        let mut runs = three("a", 1.0, 100.0);
        runs.extend(three("b", 0.5, 300.0));
        runs.retain(|run| !(run.tool == "b" && run.round == 2));
        let cell = CellRuns::of(CELL, &runs);
        assert_eq!(cell.ratio("CPU", ("b", "a"), CLIENT_CPU, None).rounds, 2);
        runs.push(run("b", 2, 0.55, 300.0));
        let ratio = CellRuns::of(CELL, &runs).ratio("CPU", ("b", "a"), CLIENT_CPU, Some(Goal::AtMost(0.6)));
        assert!((ratio.ratio.unwrap() - 0.5).abs() < 1e-9, "{ratio:?}");
        assert_eq!(ratio.what, "CPU, b : a");
    }

    #[test]
    fn the_best_is_the_cheapest_or_the_fastest_of_those_that_ran() {
        let runs: Vec<Run> = three("a", 1.0, 300.0).into_iter().chain(three("b", 0.5, 100.0)).collect();
        let cell = CellRuns::of(CELL, &runs);
        assert_eq!(cell.best(&["a", "b", "absent"], CLIENT_CPU, true), Some("b"));
        assert_eq!(cell.best(&["a", "b", "absent"], RATE, false), Some("a"));
        assert_eq!(cell.best(&["absent"], RATE, false), None);
    }

    #[test]
    fn runs_of_another_size_or_other_acks_are_not_of_the_cell() {
        let runs = three("a", 1.0, 100.0);
        for other in [Cell { size_bytes: 100, ..CELL }, Cell { work: Work::Produce(Acks::One), ..CELL }] {
            assert!(CellRuns::of(other, &runs).report(&["a"], Vec::new()).tools.is_empty());
        }
    }

    #[test]
    fn what_a_tool_says_of_itself_is_named_where_it_is_not_what_was_seen() {
        let mut runs = three("a", 1.0, 100.0);
        for run in &mut runs {
            run.claim = Claim {
                messages: Some(999_999),
                messages_per_s: Some(130.0),
                cpu_s_per_million_messages: Some(0.4),
                remark: Some("is unsure".to_owned()),
            };
        }
        let text = CellRuns::of(CELL, &runs).report(&["a"], Vec::new()).text();
        assert!(text.contains("note: a counts 0.400 CPU s for a million messages"), "{text}");
        assert!(text.contains("note: a says 130 msgs/s of itself"), "{text}");
        assert!(text.contains("note: a is unsure, 3 run(s)"), "{text}");
        assert_eq!(text.matches("claims 999999 messages, the broker has 1000000").count(), 3, "{text}");
    }
}
