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
/// The directory in which Debian and Ubuntu put PostgreSQL's programs.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) rate_per_s: f64,
    pub(crate) cpu: Option<Cpu>,
}

/// Processor time of a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cpu {
    pub(crate) us_per_commit: f64,
    /// Of that, what the program spends outside the kernel, where it tells.
    pub(crate) own_us: Option<f64>,
}

impl Run {
    /// Two runs of the same length as one.
    pub(crate) fn with(self, other: Run) -> Run {
        let mean = |one: f64, two: f64| (one + two) / 2.0;
        let cpu = self.cpu.zip(other.cpu).map(|(one, two)| Cpu {
            us_per_commit: mean(one.us_per_commit, two.us_per_commit),
            own_us: one.own_us.zip(two.own_us).map(|(one, two)| mean(one, two)),
        });
        Run { rate_per_s: mean(self.rate_per_s, other.rate_per_s), cpu }
    }
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
    Ok(Run { rate_per_s, cpu: cpu_ns.map(|ns| Cpu { us_per_commit: ns / 1e3, own_us: None }) })
}

pub(crate) fn fio(options: &Options, pair: &Pair, flags: &[&str]) -> Result<Run, BenchError> {
    let place = tempfile::tempdir_in(&options.path)?;
    let mut command = Command::new("fio");
    command.args(["--name=commit", "--output-format=json", "--rw=write", "--time_based", "--fallocate=none"]);
    // It would write the same stamp into every 512 bytes of a buffer, which a device that compresses (zram) finds again and
    // again: 28 % of a commit's time there instead of 11 % for bytes without likeness, as Plumb's are.
    command.args(["--scramble_buffers=0"]);
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
    let runtime_ms = figure(&job["job_runtime"])?;
    let us_per_commit = |percent: f64| percent / 100.0 * runtime_ms * 1e3 / commits;
    let (own, kernel) = (us_per_commit(figure(&job["usr_cpu"])?), us_per_commit(figure(&job["sys_cpu"])?));
    // fio counts its own thread alone, and the kernel's threads for io_uring do the work there.
    let whole = pair.method != "io_uring";
    let cpu = whole.then_some(Cpu { us_per_commit: own + kernel, own_us: Some(own) });
    Ok(Run { rate_per_s: figure(&job["write"]["iops"])?, cpu })
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
    Ok(Run { rate_per_s, cpu: None })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_are_one_and_what_one_of_them_lacks_is_absent() {
        let run =
            |rate_per_s, us: f64, own_us| Run { rate_per_s, cpu: Some(Cpu { us_per_commit: us, own_us }) };
        let both = run(100.0, 10.0, Some(4.0)).with(run(300.0, 20.0, Some(2.0)));
        assert_eq!(both, run(200.0, 15.0, Some(3.0)));
        assert_eq!(run(100.0, 10.0, None).with(run(100.0, 10.0, Some(1.0))).cpu.unwrap().own_us, None);
        assert_eq!(both.with(Run { rate_per_s: 200.0, cpu: None }).cpu, None);
    }
}
