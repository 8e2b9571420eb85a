//! The costs of the runs, and their ratios to Plumb's.

use crate::contest::{Contestant, Runs, Tool};
use crate::meter::Spent;
use plumb_stats::median::median;
use plumb_stats::paired::{Pair, PairedRatio, paired_ratio};

/// Level of every interval.
const LEVEL: f64 = 0.95;

/// A figure of a run.
type Figure = fn(&Spent) -> f64;

/// Medians of the rounds, and the most memory of all.
pub(crate) fn costs(contestants: &[Contestant], runs: &Runs, rows: u64) -> String {
    let mut lines = vec![format!("\n{:18} {:>9} {:>9} {:>10} {:>11}", "", "wall", "CPU", "memory", "rows/s")];
    for (contestant, own) in contestants.iter().zip(runs) {
        let middle = |figure: Figure| median(own.iter().map(figure)).unwrap_or(f64::NAN);
        let wall_s = middle(|run| run.wall_s);
        lines.push(format!(
            "{:18} {wall_s:>7.2} s {:>7.2} s {:>6.0} MiB {:>9.1} M",
            contestant.tool.name(),
            middle(|run| run.cpu_s),
            own.iter().map(|run| run.rss_mib).fold(0.0, f64::max),
            rows as f64 / wall_s / 1e6,
        ));
    }
    lines.push("Medians of the rounds; memory is the most of all.".to_owned());
    lines.join("\n")
}

/// Others over Plumb, round by round: those that give the sums over its reader, and over the whole trial.
pub(crate) fn ratios(contestants: &[Contestant], runs: &Runs) -> String {
    let mut lines = vec![format!("\n{:34} {:>22} {:>22} {:>22}", "", "wall", "CPU", "memory")];
    let of =
        |tool: Tool| contestants.iter().position(|contestant| contestant.tool == tool).map(|at| &runs[at]);
    for base in [Tool::Reader, Tool::Plumb] {
        for other in [Tool::DuckDb, Tool::Polars, Tool::Pandas] {
            let (Some(base_runs), Some(other_runs)) = (of(base), of(other)) else { continue };
            let figures: [Figure; 3] = [|run| run.wall_s, |run| run.cpu_s, |run| run.rss_mib];
            let cells = figures.map(|figure| {
                let pairs: Vec<Pair> = base_runs
                    .iter()
                    .zip(other_runs)
                    .map(|(base, other)| Pair { a: figure(base), b: figure(other) })
                    .collect();
                format!("{:>22}", cell(paired_ratio(&pairs, LEVEL)))
            });
            lines.push(format!("{:34} {}", format!("{} / {}", other.name(), base.name()), cells.join(" ")));
        }
    }
    lines.push("Geometric means over the rounds with 95 % intervals (paired t on logarithms); above 1 Plumb takes less.".to_owned());
    lines.join("\n")
}

fn cell(ratio: Option<PairedRatio>) -> String {
    ratio.map_or_else(
        || "too few rounds".to_owned(),
        |it| format!("{:.2} ({:.2}-{:.2})", it.ratio, it.low, it.high),
    )
}
