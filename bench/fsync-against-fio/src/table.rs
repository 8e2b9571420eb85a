//! The pairs as a table: medians, the ratio with its interval and what it decides, processor time.

use crate::methods::{Pair, Rival};
use crate::run::Run;
use plumb_stats::paired::{PairedRatio, paired_ratio};

const LEVEL: f64 = 0.95;
/// Within this two rates count as one (the goal of this bench).
const GOAL: f64 = 0.03;

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
        let (rate, cpu) = (paired_ratio(&rates, LEVEL), cpu.and_then(|cpu| paired_ratio(&cpu, LEVEL)));
        let (ours, theirs) =
            (median(rates.iter().map(|(_, ours)| *ours)), median(rates.iter().map(|(theirs, _)| *theirs)));
        format!(
            "{}  {ours:>9.0}  {theirs:>9.0}  {:>8.3}  {}  {:<14}  {}  {}",
            self.what,
            ours / theirs,
            interval(rate.as_ref()),
            rate.as_ref().map_or("", rate_verdict),
            interval(cpu.as_ref()),
            cpu.as_ref().map_or("", cpu_verdict),
        )
    }
}

/// Whether the rates are within the goal of each other: only what the whole interval says is decided.
fn rate_verdict(found: &PairedRatio) -> &'static str {
    match found {
        _ if found.low >= 1.0 - GOAL && found.high <= 1.0 + GOAL => "within 3 %",
        _ if found.low > 1.0 => "faster",
        _ if found.high < 1.0 - GOAL => "SLOWER",
        _ if found.low >= 1.0 - GOAL => "not slower",
        _ => "undecided",
    }
}

/// Whether a commit costs no more processor time.
fn cpu_verdict(found: &PairedRatio) -> &'static str {
    match found {
        _ if found.high <= 1.0 => "no more",
        _ if found.low > 1.0 => "MORE",
        _ => "undecided",
    }
}

pub(crate) fn text(rows: &[Row]) -> String {
    let header = format!(
        "{:<47}  {:>9}  {:>9}  {:>8}  {:<22}  {:<14}  {:<22}  {}",
        "method", "plumb /s", "other /s", "medians", "rate ratio, 95 %", "", "CPU ratio, 95 %", ""
    );
    std::iter::once(header).chain(rows.iter().map(Row::line)).collect::<Vec<_>>().join("\n")
}

fn interval(ratio: Option<&PairedRatio>) -> String {
    let text = ratio
        .map_or("-".to_owned(), |found| format!("{:.3} ({:.3}..{:.3})", found.ratio, found.low, found.high));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> PairedRatio {
        paired_ratio(pairs, LEVEL).unwrap()
    }

    #[test]
    fn only_a_whole_interval_decides() {
        assert_eq!(rate_verdict(&of(&[(100.0, 101.0), (100.0, 100.0), (100.0, 99.5)])), "within 3 %");
        assert_eq!(rate_verdict(&of(&[(100.0, 150.0), (100.0, 99.0), (100.0, 70.0)])), "undecided");
        assert_eq!(rate_verdict(&of(&[(100.0, 90.0), (100.0, 91.0), (100.0, 90.5)])), "SLOWER");
        assert_eq!(rate_verdict(&of(&[(100.0, 110.0), (100.0, 111.0), (100.0, 112.0)])), "faster");
        assert_eq!(cpu_verdict(&of(&[(10.0, 9.0), (10.0, 9.1), (10.0, 9.2)])), "no more");
        assert_eq!(cpu_verdict(&of(&[(10.0, 11.0), (10.0, 11.1), (10.0, 11.2)])), "MORE");
    }
}
