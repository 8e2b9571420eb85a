//! The third contestant: Kafka's own EndToEndLatency, from the jars that the broker runs on; and a bare loop around its Java client.
//!
//! EndToEndLatency sends one message, waits for it, and sends the next, so it holds no rate; its percentiles are whole milliseconds, and
//! the first message, slow as a cold JVM is, is in its average. That average is the only figure of it that says anything here.

use crate::arguments::{Load, VALUE_BYTES};
use crate::bare::samples_of;
use crate::error::BenchError;
use crate::figures::Run;
use crate::machine::Meter;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

const MAIN: &str = "org.apache.kafka.tools.EndToEndLatency";

/// Its output.
#[derive(Debug, Clone)]
pub(crate) struct Printed {
    pub(crate) mean_us: f64,
    pub(crate) percentiles: String,
}

/// Runs it with the Java and the class path of the broker that has this process id.
pub(crate) fn run(
    broker_pid: i32,
    bootstrap: &str,
    topic: &str,
    count: u64,
    meter: &Meter,
) -> Result<Printed, BenchError> {
    let mut command = Command::new(fs_err::read_link(format!("/proc/{broker_pid}/exe"))?);
    command.env("CLASSPATH", class_path(broker_pid)?);
    command.args(["-Xmx256m", MAIN, "--bootstrap-server", bootstrap, "--topic", topic]);
    command.args(["--num-records", &count.to_string(), "--producer-acks", "all"]);
    command.args(["--record-size", &VALUE_BYTES.to_string()]);
    let (text, _) = meter.run(command)?;
    let behind = |mark: &str| text.lines().find_map(|line| line.trim().strip_prefix(mark));
    let mean = behind("Avg latency: ").and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let missing = || BenchError::Output { program: MAIN.into(), expected: "average", got: text.clone() };
    let percentiles = behind("Percentiles: ").unwrap_or("none").to_owned();
    Ok(Printed { mean_us: mean.ok_or_else(missing)? * 1e3, percentiles })
}

/// The bare loop around the Java client, which Java compiles as it starts it.
const ACKNOWLEDGE: &str = include_str!("Acknowledge.java");

/// Runs that loop; its source and samples go below `keep`.
pub(crate) fn acknowledge(
    broker_pid: i32,
    (bootstrap, topic): (&str, &str),
    load: &Load,
    meter: &Meter,
    keep: &Path,
) -> Result<Run, BenchError> {
    fs_err::create_dir_all(keep)?;
    let source = keep.join("Acknowledge.java");
    fs_err::write(&source, ACKNOWLEDGE)?;
    let mut command = Command::new(fs_err::read_link(format!("/proc/{broker_pid}/exe"))?);
    command.env("CLASSPATH", class_path(broker_pid)?).arg("-Xmx256m").arg(&source).args([bootstrap, topic]);
    command.args([load.rate_per_s, load.warm_up_count, load.count].map(|number| number.to_string()));
    let (text, spent) = meter.run(command)?;
    fs_err::write(keep.join("samples"), &text)?;
    samples_of("Acknowledge.java", &text, load, spent)
}

/// The lab gives its brokers their class path in the environment.
fn class_path(broker_pid: i32) -> Result<OsString, BenchError> {
    let path = format!("/proc/{broker_pid}/environ");
    let environment = fs_err::read(&path)?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"CLASSPATH="));
    let missing = || BenchError::Proc { path: path.into(), expected: "CLASSPATH" };
    Ok(OsString::from_vec(value.ok_or_else(missing)?.to_vec()))
}
