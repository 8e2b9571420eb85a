//! The program of this workspace, run as a user runs it.

use super::{Claim, Tool};
use crate::cache::step;
use crate::error::BenchError;
use crate::job::{Job, Work};
use crate::meter::Said;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The client that moves the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Plumb's own data plane.
    Wire,
    /// The client library.
    Librdkafka,
}

impl Driver {
    /// The name of the tool with it.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Wire => "plumb wire",
            Driver::Librdkafka => "plumb librdkafka",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Driver::Wire => "wire",
            Driver::Librdkafka => "librdkafka",
        }
    }
}

/// `plumb throughput`.
pub struct Plumb {
    program: PathBuf,
    driver: Driver,
    clients: u32,
}

impl Plumb {
    /// With so many producers or consumers.
    ///
    /// # Errors
    /// When the program cannot be run or has no `throughput`.
    pub fn new(program: &Path, driver: Driver, clients: u32) -> Result<Plumb, BenchError> {
        let mut help = Command::new(program);
        help.args(["throughput", "--help"]);
        step(help, ("measuring Plumb", "give a program with --plumb, or none to build it"))?;
        Ok(Plumb { program: program.to_owned(), driver, clients })
    }
}

impl Tool for Plumb {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    fn about(&self, work: Work) -> String {
        let how = match work {
            Work::Produce(_) => "every record stamped",
            Work::Consume => "every batch's CRC and every record's stamp checked",
        };
        format!("plumb throughput --driver {}, {} client(s), {how}", self.driver.word(), self.clients)
    }

    fn command(&self, job: &Job<'_>) -> Result<Command, BenchError> {
        let mut command = Command::new(&self.program);
        command.args(["throughput", "--bootstrap", job.bootstrap, "--driver", self.driver.word()]);
        command.args(["--topic", job.topic, "--count", &job.count.to_string(), "--output", "json"]);
        // One stretch of load, as the others have it.
        command.args(["--blocks", "1", "--warm-up", "0s"]);
        let clients = self.clients.to_string();
        match job.work {
            Work::Produce(acks) => {
                command.args(["--mode", "produce", "--producers", &clients, "--acks", acks.name()]);
            }
            Work::Consume => {
                command.args(["--mode", "consume", "--consumers", &clients]);
            }
        }
        command.arg("--size").arg(format!("{}B", job.size_bytes));
        command.arg("--out").arg(job.scratch.join("run"));
        Ok(command)
    }

    /// With 1 it says that the run shows something; the messages went all the same.
    fn good_codes(&self) -> &'static [i32] {
        &[0, 1]
    }

    fn claim(&self, job: &Job<'_>, said: &Said) -> Claim {
        claim(job.work, &serde_json::from_str(&said.stdout).unwrap_or(Value::Null))
    }
}

fn claim(work: Work, document: &Value) -> Claim {
    let step = &document["steps"][0];
    let (messages, rate) = match work {
        // The broker has the probes of every partition, too; so this is the count that has them.
        Work::Produce(_) => (&step["accounting"]["acked"], "produced_per_s"),
        Work::Consume => (&step["counts"]["received"], "received_per_s"),
    };
    Claim {
        messages: messages.as_u64(),
        messages_per_s: step["throughput"][rate].as_f64(),
        cpu_s_per_million_messages: step["instrument"]["cpu_s_per_million_messages"].as_f64(),
        remark: validity(&document["validity"]),
    }
}

/// Its own verdict on the run, unless that is a plain yes.
fn validity(validity: &Value) -> Option<String> {
    let verdict = validity["verdict"].as_str().filter(|verdict| *verdict != "valid")?;
    let reasons = validity["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<&str> = reasons.iter().filter_map(|reason| reason["id"].as_str()).collect();
    Some(format!("calls its run {verdict} ({})", ids.join(", ")))
}

/// Builds the program of this workspace, optimised.
///
/// # Errors
/// What cargo says.
pub fn build() -> Result<PathBuf, BenchError> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--release", "-p", "plumb-cli", "--manifest-path", manifest]);
    step(cargo, ("building Plumb", "see scripts/bootstrap"))?;
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => PathBuf::from(target),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
    };
    Ok(target.join("release/plumb"))
}
