//! The pairs as a table: medians, the ratio with its interval, processor time.

use crate::methods::{Pair, Rival};
use crate::run::Run;
use plumb_stats::paired::paired_ratio;

const LEVEL: f64 = 0.95;

/// All rounds of one pair.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    runs: Vec<(Run, Run)>,
}

impl Row {
    pub(crate) fn new(pair: &Pair) -> Self {
        let rival = match pair.rival {
            Rival::Fio(_) => "fio",
            Rival::PgTestFsync(_) => "pg_test_fsync",
        };
        let place = if pair.overwrite { "overwrite" } else { "append" };
        let what = format!("{:<15} {place:<9} {:>2} KiB  {rival:<13}", pair.method, pair.block_bytes / 1024);
        Row { what, runs: Vec::new() }
    }

    pub(crate) fn add(&mut self, ours: Run, theirs: Run) {
        self.runs.push((ours, theirs));
    }

    fn line(&self) -> String {
        let rates: Vec<(f64, f64)> =
            self.runs.iter().map(|(ours, theirs)| (theirs.rate_per_s, ours.rate_per_s)).collect();
        let cpu: Option<Vec<(f64, f64)>> = self
            .runs
            .iter()
            .map(|(ours, theirs)| Some((theirs.cpu_us_per_commit?, ours.cpu_us_per_commit?)))
            .collect();
        let cpu = cpu.unwrap_or_default();
        format!(
            "{}  {:>9.0}  {:>9.0}  {:>9}  {}  {}",
            self.what,
            median(rates.iter().map(|(_, ours)| *ours)),
            median(rates.iter().map(|(theirs, _)| *theirs)),
            format!(
                "{:.3}",
                median(rates.iter().map(|(_, ours)| *ours)) / median(rates.iter().map(|(theirs, _)| *theirs))
            ),
            interval(&rates),
            if cpu.is_empty() { "-".to_owned() } else { interval(&cpu) },
        )
    }
}

pub(crate) fn text(rows: &[Row]) -> String {
    let header = format!(
        "{:<47}  {:>9}  {:>9}  {:>9}  {:<22}  {:<22}",
        "method", "plumb /s", "other /s", "medians", "rate ratio, 95 %", "CPU ratio, 95 %"
    );
    std::iter::once(header).chain(rows.iter().map(Row::line)).collect::<Vec<_>>().join("\n")
}

fn interval(pairs: &[(f64, f64)]) -> String {
    let text = match paired_ratio(pairs, LEVEL) {
        Some(found) => format!("{:.3} ({:.3}..{:.3})", found.ratio, found.low, found.high),
        None => "too few rounds".to_owned(),
    };
    format!("{text:<22}")
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}
