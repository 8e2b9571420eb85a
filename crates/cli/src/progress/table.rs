//! The settings of a run with what is known of each so far: the lines of the live view.

use plumb_model::document::{BlockResult, StepResult};
use plumb_model::figure::{bytes_per_s, messages_per_s};
use plumb_model::plan::{Plan, StepPlan};
use std::collections::BTreeMap;

/// A line of the table.
#[derive(Debug, Clone, Default)]
struct Row {
    name: String,
    /// Absent where what is read is others': the first block tells it.
    value_bytes_mean: Option<f64>,
    /// Blocks done.
    done: u32,
    /// Messages per second of the last block, and of the second before now while one runs.
    latest_per_s: Option<f64>,
}

/// All lines, and which one is under way.
#[derive(Debug, Clone)]
pub(super) struct Table {
    rows: Vec<Row>,
    blocks: u32,
    current: Option<usize>,
    /// Messages in each second of the block under way that is not over.
    seconds: BTreeMap<u32, u64>,
}

impl Table {
    /// `blocks`: of each step.
    pub(super) fn new(plan: &Plan, steps: &[StepResult]) -> Self {
        let row = |(step, result): (&StepPlan, &StepResult)| Row {
            name: step.name.clone(),
            value_bytes_mean: match result.blocks.is_empty() {
                true => value_bytes_planned(step),
                false => Some(result.value_bytes_mean),
            },
            done: u32::try_from(result.blocks.len()).unwrap_or(u32::MAX),
            latest_per_s: result.blocks.last().and_then(rate),
        };
        Table {
            rows: plan.steps.iter().zip(steps).map(row).collect(),
            blocks: plan.blocks,
            current: None,
            seconds: BTreeMap::new(),
        }
    }

    pub(super) fn begin(&mut self, step: usize) {
        self.current = Some(step);
        self.seconds.clear();
    }

    /// Messages that went through in a second of the block under way. True when the table shows something new.
    pub(super) fn second(&mut self, second: u32, messages: u64) -> bool {
        *self.seconds.entry(second).or_default() += messages;
        // Parts of a second come from several threads; it is over when the one after the next has begun.
        let Some(over) = self.seconds.keys().next_back().and_then(|last| last.checked_sub(2)) else {
            return false;
        };
        let Some(total) = self.seconds.get(&over).copied() else { return false };
        self.seconds.retain(|second, _| *second > over);
        if let Some(row) = self.current.and_then(|at| self.rows.get_mut(at)) {
            row.latest_per_s = Some(total as f64);
        }
        true
    }

    pub(super) fn end(&mut self, step: usize, block: &BlockResult) {
        self.current = None;
        if let Some(row) = self.rows.get_mut(step).filter(|_| block.lost_worker.is_none()) {
            row.done += 1;
            row.latest_per_s = rate(block);
        }
    }

    /// The lines, at most so many, those around the one under way.
    pub(super) fn lines(&self, most: usize) -> Vec<String> {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let at = self.current.unwrap_or(0);
        let first = at.saturating_sub(most / 2).min(self.rows.len().saturating_sub(most));
        let line = |(index, row): (usize, &Row)| {
            let mark = if self.current == Some(index) { '>' } else { ' ' };
            let figures =
                row.latest_per_s.map(|rate| figures(rate, row.value_bytes_mean)).unwrap_or_default();
            format!("{mark} {:width$}  {}/{}  {figures}", row.name, row.done, self.blocks)
        };
        self.rows.iter().enumerate().skip(first).take(most).map(line).collect()
    }
}

/// The rate of a block in messages per second: of receiving where nobody produced.
pub(super) fn rate(block: &BlockResult) -> Option<f64> {
    block.achieved_per_s.or(block.received_per_s)
}

/// Mean size of a value as far as it is known beforehand: not of records that others wrote.
pub(super) fn value_bytes_planned(step: &StepPlan) -> Option<f64> {
    let of_others = step.reads_as_it_is();
    (!of_others).then(|| step.load.size.mean())
}

/// A rate for people, in messages and in bytes where their size is known.
pub(super) fn figures(per_s: f64, value_bytes_mean: Option<f64>) -> String {
    let bytes = value_bytes_mean.map_or(String::new(), |bytes| format!(", {}", bytes_per_s(per_s * bytes)));
    messages_per_s(per_s) + &bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> Table {
        let row =
            |n: usize| Row { name: format!("producers {n}"), value_bytes_mean: Some(1e3), ..Row::default() };
        Table { rows: (1..=rows).map(row).collect(), blocks: 5, current: None, seconds: BTreeMap::new() }
    }

    #[test]
    fn a_second_is_shown_when_all_its_parts_can_have_come() {
        let mut table = table(1);
        table.begin(0);
        assert!(!table.second(0, 700_000));
        assert!(!table.second(1, 9));
        assert!(!table.second(0, 534_567));
        assert!(table.second(2, 9));
        assert_eq!(table.lines(1), ["> producers 1  0/5  1,234,567 messages/s, 1.23 GB/s"]);
    }

    #[test]
    fn a_rate_below_one_is_no_zero() {
        assert_eq!(figures(0.5, Some(100.0)), "0.5 messages/s, 50 B/s");
    }

    #[test]
    fn a_long_table_shows_what_is_around_the_step_under_way() {
        let mut table = table(30);
        table.begin(19);
        let lines = table.lines(5);
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().any(|line| line.starts_with("> producers 20")), "{lines:?}");
        table.begin(29);
        assert!(table.lines(5)[4].starts_with("> producers 30"));
    }
}
