//! The contestants, their order, and the results of their runs.

use crate::meter::{self, Spent};
use crate::{BenchError, Options, data, say};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// A program that can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// The file decoded and forgotten.
    Decode,
    /// The sums by server and day, by Plumb's reader.
    Reader,
    /// The whole trial.
    Plumb,
    DuckDb,
    Polars,
    Pandas,
}

impl Tool {
    const ALL: [Tool; 6] =
        [Tool::Decode, Tool::Reader, Tool::Plumb, Tool::DuckDb, Tool::Polars, Tool::Pandas];

    /// The one of `--tools`.
    pub(crate) fn named(word: &str) -> Option<Tool> {
        let words = ["decode", "reader", "plumb", "duckdb", "polars", "pandas"];
        words.iter().position(|known| *known == word).map(|place| Tool::ALL[place])
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Decode => "decoding alone",
            Tool::Reader => "plumb's reader",
            Tool::Plumb => "plumb trial fleet",
            Tool::DuckDb => "DuckDB",
            Tool::Polars => "Polars",
            Tool::Pandas => "pandas",
        }
    }

    /// Its script, where it is one of Python's.
    fn script(self) -> Option<&'static str> {
        match self {
            Tool::DuckDb => Some("with_duckdb.py"),
            Tool::Polars => Some("with_polars.py"),
            Tool::Pandas => Some("with_pandas.py"),
            Tool::Decode | Tool::Reader | Tool::Plumb => None,
        }
    }

    fn says(self) -> Says {
        match self {
            Tool::Decode => Says::Nothing,
            Tool::Plumb => Says::Result,
            Tool::Reader | Tool::DuckDb | Tool::Polars | Tool::Pandas => Says::Sums,
        }
    }
}

/// A program that reads the file.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) tool: Tool,
    words: Vec<String>,
}

/// The output of a contestant.
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
    /// Everybody who is wanted; of those that nobody named, who is there.
    pub(crate) fn all(options: &Options, file: &Path) -> Result<Vec<Self>, BenchError> {
        let mut all = Vec::new();
        for tool in options.tools.as_deref().unwrap_or(&Tool::ALL) {
            match words(*tool, options, file)? {
                Some(words) => all.push(Contestant { tool: *tool, words }),
                None if options.tools.is_some() => {
                    let reason = "it is not there: scripts/bootstrap-fleet-scale installs it".to_owned();
                    return Err(BenchError::Contestant { name: tool.name().to_owned(), reason });
                }
                None => {
                    say(&format!("{} is left out: scripts/bootstrap-fleet-scale installs it", tool.name()))?
                }
            }
        }
        Ok(all)
    }
}

/// The command; none without Python.
fn words(tool: Tool, options: &Options, file: &Path) -> Result<Option<Vec<String>>, BenchError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let own = text(&std::env::current_exe()?);
    let file = text(file);
    let changed_at_s = (options.shape.changed_at_ms() / 1000).to_string();
    Ok(match tool {
        Tool::Decode => Some(vec![own, "decode".to_owned(), file]),
        Tool::Reader => Some(vec![own, "read".to_owned(), file]),
        Tool::Plumb => {
            let plumb = text(&options.plumb);
            let what = ["--metric", "drops", "--load", "sent", "--group-column", "group", "--change"];
            let head = [&plumb, "trial", "fleet", "--data", &file].into_iter().chain(what);
            Some(head.chain([changed_at_s.as_str(), "--output", "json"]).map(str::to_owned).collect())
        }
        Tool::DuckDb | Tool::Polars | Tool::Pandas => {
            let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
            let script = tool.script().map(|script| text(&scripts.join(script)));
            options.python.as_deref().zip(script).map(|(python, script)| vec![text(python), script, file])
        }
    })
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
            let name = contestant.tool.name();
            let (said, spent) = meter::run(name, command.args(&contestant.words[1..]))?;
            writeln!(
                std::io::stderr(),
                "round {} of {}: {name} {:.1} s, CPU {:.1} s, {:.0} MiB",
                round + 1,
                options.rounds,
                spent.wall_s,
                spent.cpu_s,
                spent.rss_mib
            )?;
            runs[place].push(spent);
            match contestant.tool.says() {
                Says::Nothing => continue,
                Says::Result => {
                    right_effect(name, &said)?;
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
                    return Err(BenchError::Contestant { name: name.to_owned(), reason });
                }
            }
        }
    }
    if let Some(agreed) = agreed {
        say(&format!("all agree: {agreed}"))?;
    }
    Ok(runs)
}

/// Checks that the interval has the effect in it that the file was made with.
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
