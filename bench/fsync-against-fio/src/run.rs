//! One run of one program: its rate, and its processor time for a commit where it tells.

use crate::methods::{Pair, Rival};
use crate::{BenchError, Options};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// As plumb's: a preallocated file, and the most that a growing one takes.
const OVERWRITTEN: &str = "16m";
const APPENDED: &str = "512m";
/// Where Debian and Ubuntu put PostgreSQL's programs.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) rate_per_s: f64,
    pub(crate) cpu_us_per_commit: Option<f64>,
}

pub(crate) fn plumb(options: &Options, pair: &Pair) -> Result<Run, BenchError> {
    let program = options.plumb.display().to_string();
    let mut command = Command::new(&options.plumb);
    command.args([
        "probe",
        "storage",
        "--output",
        "json",
        "--no-streams",
        "--rounds",
        "1",
        "--committers",
        "1",
    ]);
    command.args(["--method", pair.method, "--queue-depth", "1", "--block", &pair.block_bytes.to_string()]);
    command.args(["--duration", &format!("{}ms", (options.seconds * 1e3) as u64)]).arg(&options.path);
    if pair.overwrite {
        command.arg("--overwrite");
    }
    if let Rival::PgTestFsync(_) = pair.rival {
        // It writes the same block over and over.
        command.args(["--file", &pair.block_bytes.to_string()]);
    }
    let document = document(&program, &mut command)?;
    let place = if pair.overwrite { "overwrite" } else { "append" };
    let commits = document["targets"][0]["commits"].as_array().cloned().unwrap_or_default();
    let found = commits.iter().find(|commit| commit["placement"] == place);
    let rate_per_s = found.and_then(|commit| commit["rate_per_s"].as_f64());
    let rate_per_s = rate_per_s.ok_or_else(|| unexpected(&program, "no rate"))?;
    let cpu_ns = found.and_then(|commit| commit["cpu_ns_per_commit"].as_f64());
    Ok(Run { rate_per_s, cpu_us_per_commit: cpu_ns.map(|ns| ns / 1e3) })
}

pub(crate) fn fio(options: &Options, pair: &Pair, flags: &[&str]) -> Result<Run, BenchError> {
    let place = tempfile::tempdir_in(&options.path)?;
    let mut command = Command::new("fio");
    command.args(["--name=commit", "--output-format=json", "--rw=write", "--time_based", "--fallocate=none"]);
    command.args(["--unlink=1", "--randrepeat=0", "--thread", "--ramp_time=50ms"]).args(flags);
    command.arg(format!("--bs={}", pair.block_bytes));
    command.arg(format!("--runtime={}ms", (options.seconds * 1e3) as u64));
    if pair.overwrite {
        command.args(["--overwrite=1", &format!("--size={OVERWRITTEN}")]);
    } else {
        command.args(["--create_on_open=1", &format!("--size={APPENDED}")]);
    }
    command.arg(format!("--directory={}", place.path().display()));
    let document = document("fio", &mut command)?;
    let job = &document["jobs"][0];
    let figure = |value: &Value| value.as_f64().ok_or_else(|| unexpected("fio", "a figure is missing"));
    let commits = figure(&job["write"]["total_ios"])?;
    let busy_share = (figure(&job["usr_cpu"])? + figure(&job["sys_cpu"])?) / 100.0;
    // fio counts its own thread alone, and the kernel's threads for io_uring do the work there.
    let whole = pair.method != "io_uring";
    let cpu_us = busy_share * figure(&job["job_runtime"])? * 1e3 / commits;
    Ok(Run { rate_per_s: figure(&job["write"]["iops"])?, cpu_us_per_commit: Some(cpu_us).filter(|_| whole) })
}

/// Runs until the wanted line of the first section, one write for each sync, has come. It measures whole seconds only.
pub(crate) fn pg_test_fsync(options: &Options, line: &str) -> Result<Run, BenchError> {
    let place = tempfile::tempdir_in(&options.path)?;
    let program = newest_pg_test_fsync()?;
    let name = program.display().to_string();
    let mut child = Command::new(&program)
        .args(["-s", "1", "-f"])
        .arg(place.path().join("file"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| unexpected(&name, &error.to_string()))?;
    let output = child.stdout.take().ok_or_else(|| unexpected(&name, "no output"))?;
    let mut rate_per_s = None;
    for said in BufReader::new(output).lines() {
        let said = said?;
        if let Some(rest) = said.trim_start().strip_prefix(line) {
            rate_per_s = rest.split_whitespace().next().and_then(|word| word.parse().ok());
            break;
        }
    }
    child.kill()?;
    child.wait()?;
    let rate_per_s = rate_per_s.ok_or_else(|| unexpected(&name, "the line did not come"))?;
    Ok(Run { rate_per_s, cpu_us_per_commit: None })
}

fn newest_pg_test_fsync() -> Result<PathBuf, BenchError> {
    let versions =
        std::fs::read_dir(POSTGRESQL).map_err(|error| unexpected(POSTGRESQL, &error.to_string()))?;
    let programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin/pg_test_fsync")));
    let newest = programs.filter(|program| program.exists()).max();
    newest.ok_or_else(|| {
        unexpected(POSTGRESQL, "no pg_test_fsync: install postgresql (scripts/bootstrap-storage)")
    })
}

fn document(program: &str, command: &mut Command) -> Result<Value, BenchError> {
    let output =
        command.stderr(Stdio::null()).output().map_err(|error| unexpected(program, &error.to_string()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| unexpected(program, &format!("no JSON; it ended with {}", output.status)))
}

fn unexpected(program: &str, reason: &str) -> BenchError {
    BenchError::Program { program: program.to_owned(), reason: reason.to_owned() }
}
