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
    says: Says,
}

/// What a contestant prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Nothing,
    /// The sums, which have to be everybody's.
    Sums,
    /// The whole result, whose effect has to be the one that the file was made with.
    Result,
}

/// The runs of each contestant.
pub(crate) type Runs = Vec<Vec<Spent>>;

impl Contestant {
    /// Everybody who is there.
    pub(crate) fn all(options: &Options, file: &Path) -> Result<Vec<Self>, BenchError> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = text(&std::env::current_exe()?);
        let file = text(file);
        let changed_at_s = (options.shape.changed_at_ms() / 1000).to_string();
        let trial = [
            &text(&options.plumb),
            "trial",
            "fleet",
            "--data",
            &file,
            "--metric",
            "drops",
            "--load",
            "sent",
            "--group-column",
            "group",
            "--change",
            &changed_at_s,
            "--output",
            "json",
        ];
        let mut all = vec![
            Contestant {
                name: "decoding alone",
                words: vec![own.clone(), "decode".into(), file.clone()],
                says: Says::Nothing,
            },
            Contestant {
                name: "plumb's reader",
                words: vec![own, "read".into(), file.clone()],
                says: Says::Sums,
            },
            Contestant {
                name: "plumb trial fleet",
                words: trial.map(str::to_owned).to_vec(),
                says: Says::Result,
            },
        ];
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        match &options.python {
            Some(python) => {
                for (name, script) in [("DuckDB", "with_duckdb.py"), ("pandas", "with_pandas.py")] {
                    let words = vec![text(python), text(&scripts.join(script)), file.clone()];
                    all.push(Contestant { name, words, says: Says::Sums });
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
            match contestant.says {
                Says::Nothing => continue,
                Says::Result => {
                    right_effect(contestant.name, &said)?;
                    continue;
                }
                Says::Sums => {}
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

/// Whether the interval has the effect in it that the file was made with.
fn right_effect(name: &str, said: &str) -> Result<(), BenchError> {
    let result: serde_json::Value = serde_json::from_str(said).unwrap_or_default();
    let figure = |name: &str| result[name].as_f64().unwrap_or(f64::NAN);
    let (low, high) = (figure("interval_low"), figure("interval_high"));
    if low <= data::EFFECT && data::EFFECT <= high && high / low < 1.1 {
        return Ok(());
    }
    let reason = format!(
        "the effect is {} ({low} to {high}), the file was made with {}",
        figure("effect_ratio"),
        data::EFFECT
    );
    Err(BenchError::Contestant { name: name.to_owned(), reason })
}

/// Medians of each, and how many times as long the others take as the first that says the sums.
pub(crate) fn table(contestants: &[Contestant], runs: &Runs, rows: u64) -> String {
    let mut lines = vec![format!(
        "{:18} {:>8} {:>8} {:>10} {:>12} {:>12}",
        "", "wall", "CPU", "memory", "rows/s", "wall, times"
    )];
    let reference =
        contestants.iter().position(|contestant| contestant.says == Says::Sums).unwrap_or_default();
    let wall = |runs: &[Spent]| median(runs, |run| run.wall_s);
    for (contestant, own) in contestants.iter().zip(runs) {
        lines.push(format!(
            "{:18} {:>6.2} s {:>6.2} s {:>6.0} MiB {:>9.1} M {:>12.2}",
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
