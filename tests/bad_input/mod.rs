//! Mistakes of the user, the machine or the cluster: a clear error, the right exit code, nothing left behind.
//!
//! Each message is kept as a snapshot, because its words are what the user has. Each says whose fault it is, what was expected,
//! what was there, and what to do next.

mod addresses;
mod directories;
mod dry_run;
mod flags;
mod interrupt;
mod login;
mod properties_files;
mod scenarios;
mod standard_output;
mod topics;

use crate::program::{Ended, Program};

/// A short measurement against these brokers.
fn latency(bootstrap: &str) -> Program {
    Program::new(["latency", "--rate", "100", "--count", "20", "--warm-up", "0s", "--bootstrap", bootstrap])
}

/// The same with a client properties file of this content.
fn latency_with(bootstrap: &str, properties: &str) -> Program {
    let program = latency(bootstrap).args(["--config", "client.properties"]);
    std::fs::write(program.directory().join("client.properties"), properties).unwrap();
    program
}

/// The end of a refused program and its words, without what differs from run to run. It printed no result and left
/// no run behind.
fn complaint(ended: &Ended) -> String {
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    assert!(!ended.path("runs").exists() && !ended.path("run").exists(), "a directory is left");
    said(ended)
}

fn said(ended: &Ended) -> String {
    format!("exit {}\n{}", ended.code().unwrap(), ended.stderr)
}

/// A snapshot of a message in which ports, times and temporary paths do not matter.
macro_rules! assert_says {
    ($message:expr, @$expected:literal) => {
        insta::with_settings!({filters => vec![
            (r"(127\.0\.0\.1|localhost|#\[::1\]):\d{4,5}", "$1:[port]"),
            (r"mean [\d.]+ ms, p50 [\d.]+ ms", "mean [n] ms, p50 [n] ms"),
            (r"expected one of [a-z_, ]+", "expected one of [keys]"),
            (r"within \d+ s", "within [n] s"),
            (r"about \d+ s", "about [n] s"),
            (r"/tmp/\.tmp\w+", "[directory]"),
            (r"plumb-[0-9a-f]{16}-", "plumb-[id]-"),
        ]}, { insta::assert_snapshot!($message, @$expected) })
    };
}
use assert_says;
