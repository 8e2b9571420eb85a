//! `rdkafka_performance`, from the same source of librdkafka that Plumb's own driver is built from.

use super::{Claim, Tool, number_behind};
use crate::cache::{Cache, Product, command, step};
use crate::error::BenchError;
use crate::job::{Job, Work};
use crate::meter::Said;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate that carries the source. Its version, librdkafka's behind the plus, is the pin: Cargo.lock holds it.
const CRATE: &str = "rdkafka-sys";

/// The parts that the comparison needs of it: nothing but plain sockets. The rest would only ask for more packages.
const CONFIGURE: &[&str] =
    &["--disable-ssl", "--disable-gssapi", "--disable-curl", "--disable-zstd", "--enable-static"];

const NEEDS: (&str, &str) = ("building librdkafka", "apt-get install gcc g++ make");

/// librdkafka's own load tool.
pub struct RdkafkaPerformance {
    program: PathBuf,
    version: String,
    variant: Variant,
}

/// The settings with which it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Producing with the library's own linger, since the tool's would be a second; consuming as it comes.
    AsIs,
    /// Consuming in batches of a thousand.
    Batches,
    /// The same, and the checksum of every batch is checked.
    CheckedBatches,
}

impl Variant {
    /// The name of the tool with them.
    pub fn name(self) -> &'static str {
        match self {
            Variant::AsIs => "rdkafka_performance",
            Variant::Batches => "rdkafka_performance -B 1000",
            Variant::CheckedBatches => "rdkafka_performance -B 1000, CRCs checked",
        }
    }

    fn consumer_flags(self) -> &'static [&'static str] {
        match self {
            Variant::AsIs => &[],
            Variant::Batches => &["-B", "1000"],
            Variant::CheckedBatches => &["-B", "1000", "-X", "check.crcs=true"],
        }
    }
}

impl RdkafkaPerformance {
    /// Builds it when it is not in the cache: about a minute of two CPUs.
    ///
    /// # Errors
    /// What the build says.
    pub fn new(cache: &Cache, variant: Variant) -> Result<RdkafkaPerformance, BenchError> {
        let (version, source) = source()?;
        let product =
            Product { name: &format!("librdkafka-{version}"), program: "examples/rdkafka_performance" };
        let program = cache.program(&product, |staging| build(&source, staging))?;
        Ok(RdkafkaPerformance { program, version, variant })
    }
}

impl Tool for RdkafkaPerformance {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn about(&self, work: Work) -> String {
        let how = match work {
            Work::Produce(_) => "linger.ms=5, the payload is not copied".to_owned(),
            Work::Consume => format!("in a group {}", self.variant.consumer_flags().join(" ")),
        };
        format!("librdkafka {}, {}", self.version, how.trim())
    }

    fn command(&self, job: &Job<'_>) -> Result<Command, BenchError> {
        let mut command = Command::new(&self.program);
        match job.work {
            Work::Produce(acks) => {
                let acks = if acks.name() == "all" { "-1" } else { acks.name() };
                command.args(["-P", "-s", &job.size_bytes.to_string(), "-a", acks, "-X", "linger.ms=5"]);
            }
            Work::Consume => {
                command.args(["-G", &job.group()]).args(self.variant.consumer_flags());
            }
        }
        command.args(["-t", job.topic, "-b", job.bootstrap, "-c", &job.count.to_string()]);
        command.args(["-X", "log_level=3"]);
        Ok(command)
    }

    fn claim(&self, job: &Job<'_>, said: &Said) -> Claim {
        claim(job.work, &said.stdout)
    }
}

fn claim(work: Work, text: &str) -> Claim {
    let mark = match work {
        Work::Produce(_) => " messages produced",
        Work::Consume => "consumed in ",
    };
    let Some(line) = text.lines().rev().find(|line| line.contains(mark)) else { return Claim::default() };
    let before = match work {
        Work::Produce(_) => "bytes), ",
        Work::Consume => "% ",
    };
    Claim {
        messages: number_behind(line, before).map(|number| number as u64),
        messages_per_s: number_behind(line, "ms: "),
        ..Claim::default()
    }
}

/// The version of librdkafka and where cargo keeps its source.
fn source() -> Result<(String, PathBuf), BenchError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--locked", "--format-version", "1"]).current_dir(workspace);
    let text = step(metadata, ("finding librdkafka's source", "see scripts/bootstrap"))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = packages.iter().find(|package| package["name"] == CRATE);
    let found = package.and_then(|package| {
        let version = package["version"].as_str()?.split_once('+')?.1.to_owned();
        Some((version, Path::new(package["manifest_path"].as_str()?).with_file_name("librdkafka")))
    });
    found.ok_or_else(|| BenchError::Absent { path: "Cargo.lock".into(), expected: "rdkafka-sys" })
}

/// In a copy, because the build writes beside the source. Its own `configure` is used, since with CMake 2.12.1 needs
/// libcurl's headers even where it is told to do without.
fn build(source: &Path, staging: &Path) -> Result<(), BenchError> {
    let from = source.join(".");
    step(command("cp", ["-a".as_ref(), from.as_os_str(), staging.as_os_str()], staging), NEEDS)?;
    step(command("./configure", CONFIGURE, staging), NEEDS)?;
    let jobs = format!("-j{}", crate::machine::cpus());
    step(command("make", ["-C", "src", &jobs, "librdkafka.a"], staging), NEEDS)?;
    step(command("make", ["-C", "examples", "rdkafka_performance"], staging), NEEDS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Acks;

    #[test]
    fn the_claim_is_what_was_delivered_not_what_was_produced() {
        let text = "% Sending 10 messages of size 100 bytes\n\
                    % 1000000 messages produced (100000000 bytes), 999999 delivered (offset 0, 1 failed) in 350ms: \
                    2857142 msgs/s and 285.71 MB/s, 0 produce failures, 0 in queue, no compression\n";
        let claim = claim(Work::Produce(Acks::All), text);
        assert_eq!((claim.messages, claim.messages_per_s), (Some(999_999), Some(2_857_142.0)));
    }

    #[test]
    fn a_consumers_claim_is_read_too() {
        let text = "% 200000 messages (20000000 bytes) consumed in 121ms: 1644000 msgs/s (164.40 MB/s)\n\
                    % Average application fetch latency: 0us\n";
        let claim = claim(Work::Consume, text);
        assert_eq!((claim.messages, claim.messages_per_s), (Some(200_000), Some(1_644_000.0)));
    }

    #[test]
    fn silence_is_no_claim() {
        assert_eq!(claim(Work::Consume, ""), Claim::default());
    }
}
