//! A run that is killed leaves what it had measured.

use super::{Document, Path, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use rustix::process::Signal;
use serde_json::Value;

on_both_drivers!(a_run_killed_while_it_measures_leaves_a_document_that_loads_with_the_figures_so_far,);

#[test]
fn a_run_killed_before_it_measures_has_no_counts_and_no_zeros_for_them() {
    let path = Path::new("wire");
    let mut running = path.latency(RATE_PER_S, 60 * RATE_PER_S).start();
    running.wait_for("the document", |running| running.path("run/run.json").exists().then_some(()));
    running.signal(Signal::KILL);
    let killed = running.wait();
    let text = std::fs::read_to_string(killed.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(document["steps"][0]["counts"].is_null(), "{}", document["steps"][0]["counts"]);
    let run = killed.path("run");
    let report = Program::new(["report".as_ref(), run.as_os_str()]).args(["--output", "json"]).run();
    assert!(Document::of(&report).at("/steps/0/counts").is_null());
}

const RATE_PER_S: u32 = 500;
/// A second is closed three seconds after its end, and the document is written every three seconds.
const BEHIND_S_MAX: u64 = 8;

fn a_run_killed_while_it_measures_leaves_a_document_that_loads_with_the_figures_so_far(driver: Driver) {
    let path = Path::new(driver);
    let mut running = path.latency(RATE_PER_S, 60 * RATE_PER_S).start();
    running.wait_for("the first seconds in the document", |running| {
        let text = std::fs::read_to_string(running.path("run/run.json")).ok()?;
        let document: Value = serde_json::from_str(&text).expect("whole at any moment");
        (!document["steps"][0]["series"].as_array()?.is_empty()).then_some(())
    });
    running.signal(Signal::KILL);
    let killed = running.wait();
    assert_eq!(killed.code(), None);
    let arrived = path.control.stats().topic(TOPIC).arrived;

    let run = killed.path("run");
    let report = Program::new(["report".as_ref(), run.as_os_str()]).args(["--output", "json"]).run();
    let document = Document::of(&report);
    assert_eq!(document.at("/run/state/kind"), "running");
    assert!(document.at("/run/finished_at").is_null());
    assert!(document.has_reason("unfinished-run"), "{:?}", document.reasons());
    assert_ne!(document.verdict(), "valid");
    let samples = document.at("/steps/0/latency/end_to_end/samples").as_u64().unwrap();
    assert!(samples > 0);
    let count = |name: &str| document.at(&format!("/steps/0/counts/{name}")).as_u64().unwrap();
    assert!(count("acked") > 0 && count("received") == samples, "{}", document.at("/steps/0/counts"));
    assert_eq!(count("sent"), count("acked") + count("failed") + count("unknown"));
    let behind = arrived - samples;
    assert!(behind <= BEHIND_S_MAX * u64::from(RATE_PER_S), "{behind} messages behind");
    let text = Program::new(["report".as_ref(), run.as_os_str()]).run();
    assert!(text.stdout.contains("killed"), "{}", text.stdout);
}
