//! `plumb trial run`: from arms to a verdict, against a sink broker in this process, and the long ones on real brokers.

mod bad_input;
mod endings;
mod hooks;
mod kafka;
mod log_dirs;
mod result;

use crate::program::Program;
use plumb_lab::sink::{SinkBroker, SinkOptions};
use serde_json::Value;
use std::path::Path;

/// A sink from which records can be fetched.
fn sink() -> SinkBroker {
    SinkBroker::start(SinkOptions::default()).unwrap()
}

/// Arms that wait in the client for 30 ms and not at all, in blocks of half a second.
const LINGER: &str = "\
load: {rate: 200, duration: 500ms, warm_up: 100ms}
trial: {primary: end_to_end.mean}
arms:
  slow: {producer: {linger.ms: 30}}
  fast: {producer: {linger.ms: 0}}
";

/// `plumb trial run` of this scenario against a sink, as JSON into `run`. Three pairs are the fewest at a level of 0.75.
fn trial(sink: &SinkBroker, scenario: &str) -> Program {
    let program = Program::new(["trial", "run", "s.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let directory = program.directory().to_owned();
    apart(program, &directory).args(["--bootstrap", &sink.bootstrap(), "--level", "0.75", "--pairs", "3"])
}

/// Commands and settings of a trial in `directory` are no business of another test's, nor is what it showed of equal arms.
fn apart(program: Program, directory: &Path) -> Program {
    program.env("PLUMB_STATE_DIR", directory.join("journal")).env("XDG_CACHE_HOME", directory.join("cache"))
}

/// True if a journal of the trial in `directory` tells of a command that is still to be run, or of a change that is not put back.
fn is_left(directory: &Path) -> bool {
    let Ok(journals) = std::fs::read_dir(directory.join("journal/journal")) else { return false };
    let text =
        |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(entry.unwrap().path()).unwrap();
    let count = |text: &str, record: &str| text.matches(&format!("\"record\":\"{record}\"")).count();
    journals.map(text).any(|text| {
        count(&text, "command_begun") > count(&text, "command_done")
            || count(&text, "begun") > count(&text, "restored")
    })
}

/// The trial of `run` goes on where it stopped, as JSON.
fn resume(run: &Path) -> Program {
    let program = Program::new(["trial".as_ref(), "run".as_ref(), "--resume".as_ref(), run.as_os_str()]);
    apart(program, run.parent().unwrap()).args(["--output", "json"])
}

fn document(run: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).unwrap()).unwrap()
}

/// The blocks of each step, by its name.
fn blocks<'a>(document: &'a Value, step: &str) -> &'a [Value] {
    let steps = document["steps"].as_array().unwrap();
    let step = steps.iter().find(|of| of["name"] == step).unwrap_or_else(|| panic!("{step}"));
    step["blocks"].as_array().unwrap()
}
