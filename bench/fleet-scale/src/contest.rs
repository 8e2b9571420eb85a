//! Who runs, in which order, and what the runs give.

use crate::meter::{self, Spent};
use crate::{BenchError, Options, data, say};
use std::path::Path;
use std::process::Command;

/// A program that reads the file.
#[derive(Debug)]
pub(crate) struct Contestant {
    name: &'static str,
    words: Vec<String>,
    /// Whether it says the sums, which have to be everybody's.
    sums: bool,
}

/// The runs of each contestant.
pub(crate) type Runs = Vec<Vec<Spent>>;

impl Contestant {
    /// Everybody who is there.
    pub(crate) fn all(options: &Options, file: &Path) -> Result<Vec<Self>, BenchError> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = text(&std::env::current_exe()?);
        let file = text(file);
        let mut all = vec![
            Contestant {
                name: "decoding alone",
                words: vec![own.clone(), "decode".into(), file.clone()],
                sums: false,
            },
            Contestant { name: "plumb's reader", words: vec![own, "read".into(), file.clone()], sums: true },
        ];
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        match &options.python {
            Some(python) => {
                for (name, script) in [("DuckDB", "with_duckdb.py"), ("pandas", "with_pandas.py")] {
                    let words = vec![text(python), text(&scripts.join(script)), file.clone()];
                    all.push(Contestant { name, words, sums: true });
                }
            }
            None => say("DuckDB and pandas are left out: scripts/bootstrap-fleet-scale installs them")?,
        }
        Ok(all)
    }
}

/// Runs everybody in every round.
pub(crate) fn rounds(contestants: &[Contestant], options: &Options) -> Result<Runs, BenchError> {
    let mut runs: Runs = vec![Vec::new(); contestants.len()];
    let mut agreed: Option<String> = None;
    for round in 0..options.rounds {
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        order.sort_by_key(|place| data::mixed(options.seed ^ (u64::from(round) << 32) ^ *place as u64));
        for place in order {
            let contestant = &contestants[place];
            let mut command = Command::new(&contestant.words[0]);
            let (said, spent) = meter::run(contestant.name, command.args(&contestant.words[1..]))?;
            runs[place].push(spent);
            if !contestant.sums {
                continue;
            }
            let said = said.trim().to_owned();
            match &agreed {
                None => agreed = Some(said),
                Some(agreed) if *agreed == said => {}
                Some(agreed) => {
                    let reason = format!("it says {said:?}, others {agreed:?}");
                    return Err(BenchError::Contestant { name: contestant.name.to_owned(), reason });
                }
            }
        }
    }
    say(&format!("all agree: {}", agreed.unwrap_or_default()))?;
    Ok(runs)
}

/// Medians of each, and how many times as long the others take as the first that says the sums.
pub(crate) fn table(contestants: &[Contestant], runs: &Runs, rows: u64) -> String {
    let mut lines = vec![format!(
        "{:16} {:>8} {:>8} {:>10} {:>12} {:>12}",
        "", "wall", "CPU", "memory", "rows/s", "wall, times"
    )];
    let reference = contestants.iter().position(|contestant| contestant.sums).unwrap_or_default();
    let wall = |runs: &[Spent]| median(runs, |run| run.wall_s);
    for (contestant, own) in contestants.iter().zip(runs) {
        lines.push(format!(
            "{:16} {:>6.2} s {:>6.2} s {:>6.0} MiB {:>9.1} M {:>12.2}",
            contestant.name,
            wall(own),
            median(own, |run| run.cpu_s),
            own.iter().map(|run| run.rss_mib).fold(0.0, f64::max),
            rows as f64 / wall(own) / 1e6,
            wall(own) / wall(&runs[reference]),
        ));
    }
    lines.push("Medians of the rounds; memory is the most of all. The file is in the page cache.".to_owned());
    lines.join("\n")
}

fn median(runs: &[Spent], figure: impl Fn(&Spent) -> f64) -> f64 {
    let mut figures: Vec<f64> = runs.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[count / 2],
        count => (figures[count / 2 - 1] + figures[count / 2]) / 2.0,
    }
}
