//! franz-go, driven by a loop of ours in `bench/peers/franz`.
//!
//! Its own bench is a module of its own that is not published in versions, so no module proxy serves it. The library is. The
//! loop does what that bench does with `-static-record`: the same options, one value for all records, a counter.

use super::{Claim, Tool};
use crate::cache::{Cache, Product, command, step};
use crate::error::BenchError;
use crate::job::{Job, Work};
use crate::meter::Said;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name.
pub const NAME: &str = "franz-go, loop of ours";

/// The loop's sources; `go.sum` pins every module by its digest.
const SOURCES: &[(&str, &str)] = &[
    ("go.mod", include_str!("../../franz/go.mod")),
    ("go.sum", include_str!("../../franz/go.sum")),
    ("main.go", include_str!("../../franz/main.go")),
];

const NEEDS: (&str, &str) = ("building franz-go", "install Go 1.26 or newer");

/// The loop, built.
pub struct Franz {
    program: PathBuf,
}

impl Franz {
    /// Builds it when it is not in the cache; Go fetches the modules.
    ///
    /// # Errors
    /// What Go says.
    pub fn new(cache: &Cache) -> Result<Franz, BenchError> {
        let name = format!("franz-go-{}-{:08x}", version(), digest());
        let product = Product { name: &name, program: "franz-loop" };
        Ok(Franz { program: cache.program(&product, build)? })
    }
}

impl Tool for Franz {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self, work: Work) -> String {
        let how = match work {
            Work::Produce(_) => "with the options of its bench and one static record",
            Work::Consume => "without a group, library defaults",
        };
        format!("franz-go {} in a loop of ours {how}; its own bench is not published as a module", version())
    }

    fn command(&self, job: &Job<'_>) -> Result<Command, BenchError> {
        let mut command = Command::new(&self.program);
        command.args(["-brokers", job.bootstrap, "-topic", job.topic, "-count", &job.count.to_string()]);
        match job.work {
            Work::Produce(acks) => {
                command.args(["-size", &job.size_bytes.to_string(), "-acks", acks.name()]);
            }
            Work::Consume => {
                command.arg("-consume");
            }
        }
        Ok(command)
    }

    fn claim(&self, _: &Job<'_>, said: &Said) -> Claim {
        let mut words = said.stdout.split_whitespace();
        let messages: Option<u64> = words.next().and_then(|word| word.parse().ok());
        let seconds: Option<f64> = words.next().and_then(|word| word.parse().ok());
        let messages_per_s = messages.zip(seconds).map(|(messages, seconds)| messages as f64 / seconds);
        Claim { messages, messages_per_s, ..Claim::default() }
    }
}

fn build(staging: &Path) -> Result<(), BenchError> {
    for (name, text) in SOURCES {
        fs_err::write(staging.join(name), text)?;
    }
    step(command("go", ["build", "-mod=readonly", "-o", "franz-loop", "."], staging), NEEDS).map(drop)
}

/// The library's version, from `go.mod`.
fn version() -> &'static str {
    let line = SOURCES[0].1.lines().find_map(|line| line.split_once("github.com/twmb/franz-go v"));
    line.map_or("unknown", |(_, version)| version)
}

/// Of the sources, so that a changed loop is built anew (FNV-1a).
fn digest() -> u32 {
    let bytes = SOURCES.iter().flat_map(|(_, text)| text.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_module_file() {
        assert_eq!(version().split('.').count(), 3, "{}", version());
    }
}
