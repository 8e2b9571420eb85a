//! `plumb throughput`: sweeps, going on after a kill, and the search for a goal, against a sink broker.

mod goal;
mod resume;
mod saturating;

use crate::program::Program;
use plumb_lab::sink::{Keep, SinkBroker, SinkOptions};

/// `plumb throughput` against a sink, without warm-up, as JSON into `run`.
fn throughput(sink: &SinkBroker, flags: &str) -> Program {
    let bootstrap = sink.bootstrap();
    let program = Program::new(["throughput", "--bootstrap", &bootstrap, "--warm-up", "0s"]);
    // What a machine's generator can do is kept in the user's cache; a test has one of its own.
    let cache = program.directory().join("cache");
    program
        .env("XDG_CACHE_HOME", cache)
        .args(["--partitions", "2", "--output", "json", "--out", "run"])
        .args(flags.split(' '))
}

/// A sink that forgets what it is sent.
fn sink() -> SinkBroker {
    SinkBroker::start(SinkOptions { keep: Keep::Nothing, ..SinkOptions::default() }).unwrap()
}

/// A sink from which records can be fetched.
fn keeping_sink() -> SinkBroker {
    SinkBroker::start(SinkOptions::default()).unwrap()
}
