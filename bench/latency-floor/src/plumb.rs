//! The first contestant: the program, run as a user runs it.

use crate::arguments::{CONSUMER, IDEMPOTENT, Load, PRODUCER, VALUE_BYTES, WARM_UP_S};
use crate::error::BenchError;
use crate::figures::{Figures, Run};
use crate::machine::Meter;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program of this workspace, optimised.
pub(crate) fn build() -> Result<PathBuf, BenchError> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--release", "-p", "plumb-cli", "--manifest-path", manifest]);
    let status = cargo.status()?;
    if !status.success() {
        let said = "the program could not be built".to_owned();
        return Err(BenchError::Program { program: "cargo build".into(), status, said });
    }
    // Both are of the same profile, so they are in the same directory.
    let ours = std::env::current_exe()?;
    Ok(ours.with_file_name("plumb"))
}

/// Measures end-to-end latency; the document goes below `keep`.
pub(crate) fn run(
    program: &Path,
    bootstrap: &str,
    load: &Load,
    meter: &Meter,
    keep: &Path,
) -> Result<Run, BenchError> {
    let mut command = latency(program, bootstrap, load, keep);
    for (side, properties) in [("producer", PRODUCER), ("consumer", CONSUMER)] {
        for (key, value) in properties {
            command.args(["-X", &format!("{side}.{key}={value}")]);
        }
    }
    figures(command, "end_to_end", load, meter)
}

/// Measures acknowledge latency of an idempotent producer through a driver.
pub(crate) fn acknowledge(
    (program, driver): (&Path, &str),
    bootstrap: &str,
    load: &Load,
    meter: &Meter,
    keep: &Path,
) -> Result<Run, BenchError> {
    let mut command = latency(program, bootstrap, load, keep);
    command.args(["--driver", driver]);
    for (key, value) in IDEMPOTENT {
        command.args(["-X", &format!("producer.{key}={value}")]);
    }
    figures(command, "acknowledge", load, meter)
}

fn latency(program: &Path, bootstrap: &str, load: &Load, keep: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["latency", "--output", "json", "--bootstrap", bootstrap, "--out"]).arg(keep);
    command.args([
        "--size",
        &VALUE_BYTES.to_string(),
        "--warm-up",
        &format!("{WARM_UP_S}s"),
        "--blocks",
        "1",
    ]);
    command.args(["--rate", &load.rate_per_s.to_string(), "--count", &load.count.to_string()]);
    command
}

/// Runs it and takes the figures of this latency from its document.
fn figures(command: Command, of: &str, load: &Load, meter: &Meter) -> Result<Run, BenchError> {
    let (text, spent) = meter.run(command)?;
    let document = serde_json::from_str(&text).unwrap_or(Value::Null);
    let step = &document["steps"][0];
    let missing = |expected| BenchError::Output { program: "plumb".into(), expected, got: text.clone() };
    let figures = |name: &str| {
        let us = |figure: &str| step["latency"][name][figure].as_f64().map(|ns| ns / 1e3);
        let (p50_us, p99_us, mean_us) = (us("p50_ns")?, us("p99_ns")?, us("mean_ns")?);
        Some(Figures { p50_us, p99_us, mean_us })
    };
    let cpu_s = step["instrument"]["cpu_s"].as_f64().ok_or_else(|| missing("CPU time"))?;
    Ok(Run {
        service: figures(&format!("{of}_service")).ok_or_else(|| missing("service time"))?,
        response: figures(of).ok_or_else(|| missing("latency"))?,
        measured_cpu_us: cpu_s * 1e6 / load.count as f64,
        whole_cpu_s: spent.child_cpu_s,
        foreign_share: spent.foreign_share,
    })
}
