//! The program's memory does not grow with the length of a run: what it keeps are counts, not messages.
//!
//! Takes minutes, so it is ignored: `make long-run` runs it and shows the figures.

use super::{Document, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::{Program, Running};
use plumb_lab::sink::{Keep, SinkBroker, SinkOptions};
use rustix::process::Signal;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The variable with the length of each run, in seconds.
const SECONDS: &str = "PLUMB_LONG_RUN_S";
const DEFAULT_S: u64 = 180;
/// Until buffers, histograms and sockets have their size.
const SETTLED: Duration = Duration::from_secs(45);
const LOOK: Duration = Duration::from_secs(1);
/// Most that the rest of a run may add: rows of the series and what the allocator keeps, not messages. The smallest of these
/// runs moves a hundred times as much.
const GROWTH_KIB_MAX: u64 = 8 * 1024;

on_both_drivers!(
    #[ignore = "takes minutes: make long-run"]
    memory_of_a_long_saturating_run_is_flat,
    #[ignore = "takes minutes: make long-run"]
    memory_of_a_long_run_that_verifies_every_message_is_flat,
);

fn resident_kib(running: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Runs a load for as long as asked and looks at the program's memory all the time.
fn is_flat(driver: Driver, name: &str, load: &str) {
    let length_s = std::env::var(SECONDS).map_or(DEFAULT_S, |text| text.parse().unwrap());
    let sink =
        SinkBroker::start(SinkOptions { keep: Keep::Last(256 << 20), ..SinkOptions::default() }).unwrap();
    sink.control().create_topic(TOPIC, 4, &HashMap::new()).unwrap();
    let scenario = format!(
        "driver: {driver}\ntopic: {{name: {TOPIC}}}\nblocks: 1\nload: {{duration: 24h, warm_up: 0s, {load}}}\n"
    );
    let program = Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &sink.bootstrap()]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let running = program.start();
    let begun = Instant::now();
    let mut looks = Vec::new();
    while begun.elapsed() < Duration::from_secs(length_s) {
        std::thread::sleep(LOOK);
        if begun.elapsed() > SETTLED {
            looks.push(resident_kib(&running));
        }
    }
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    let text = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document = Document(serde_json::from_str(&text).unwrap());
    let (acked, lost) = (document.count("acked"), document.count("lost"));
    // The middle of each tenth: a moment's peak is no growth.
    let tenths = looks.chunks(looks.len().div_ceil(10)).map(|tenth| {
        let mut tenth = tenth.to_vec();
        tenth.sort_unstable();
        tenth[tenth.len() / 2]
    });
    let tenths: Vec<u64> = tenths.collect();
    #[expect(clippy::print_stderr, reason = "the figures are what this is run for")]
    {
        eprintln!("{name}, {driver}: {acked} messages in {length_s} s; resident KiB by tenths: {tenths:?}");
    }
    assert_eq!(lost, 0);
    let growth = tenths[tenths.len() - 1].saturating_sub(tenths[0]);
    assert!(growth <= GROWTH_KIB_MAX, "{growth} KiB more: {tenths:?}");
}

fn memory_of_a_long_saturating_run_is_flat(driver: Driver) {
    is_flat(driver, "saturating", "rate: max, mode: produce, consumers: 0, size: 200B, producers: 2");
}

fn memory_of_a_long_run_that_verifies_every_message_is_flat(driver: Driver) {
    is_flat(driver, "verified", "rate: 20000, size: 200B, producers: 2, consumers: 2");
}
