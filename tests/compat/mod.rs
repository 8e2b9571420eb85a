//! Other tools' files, flags and formats, by the program's binary: against a sink broker, or against nothing at all.

mod import_omb;
mod perf_test;
mod report_omb;

use crate::program::{Ended, Program};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use std::collections::HashMap;

const TOPIC: &str = "events";

/// A sink broker with one topic.
fn sink() -> SinkBroker {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    sink.control().create_topic(TOPIC, 2, &HashMap::new()).unwrap();
    sink
}

/// A run that was carried out: on a busy machine its figures may not be fit for use, which the exit code then says.
fn carried_out(ended: &Ended) {
    assert!(matches!(ended.code(), Some(0 | 1)), "{:?}\n{}\n{}", ended.code(), ended.stdout, ended.stderr);
}

/// A mistake of the user, told with a hint.
fn refused(program: Program) -> String {
    let ended = program.run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("error: ") && ended.stderr.contains("hint: "), "{}", ended.stderr);
    assert!(!ended.path("runs").exists(), "nothing is left behind");
    ended.stderr.clone()
}
