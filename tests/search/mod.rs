//! `plumb search`: from what a user has to what is proven better, against a sink broker in this process; the long ones on real brokers.

mod endings;
mod kafka;
mod refused;

use crate::program::Program;
use plumb_judge::settings_search::{Course, Next};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use plumb_model::document::RunDocument;
use plumb_model::settings_search::SettingsSearchResult;
use serde_json::Value;
use std::path::Path;

/// What waits in the client for 30 ms, in blocks of 300 ms.
pub(crate) const LINGERS: &str = "\
load: {rate: 200, warm_up: 100ms}
search: {budget: 14, block: 300ms, settings: [producer.linger.ms]}
setups:
- producer: {linger.ms: 30}
";

pub(crate) fn sink() -> SinkBroker {
    SinkBroker::start(SinkOptions::default()).unwrap()
}

/// `plumb search` of this scenario against a sink, into `found`.
pub(crate) fn search(sink: &SinkBroker, scenario: &str) -> Program {
    let program = Program::new(["search", "s.yaml", "--seed", "7", "--out", "found"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let directory = program.directory().to_owned();
    apart(program, &directory).args(["--bootstrap", &sink.bootstrap()])
}

/// The state of a search in `directory` is no business of another test's.
fn apart(program: Program, directory: &Path) -> Program {
    program.env("PLUMB_STATE_DIR", directory.join("journal")).env("XDG_CACHE_HOME", directory.join("cache"))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn document(run: &Path) -> RunDocument {
    serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).unwrap()).unwrap()
}

/// Each block is the one that the blocks before it lead to: whoever goes on from any of them tries the same.
fn assert_replays(document: &RunDocument) {
    let whole = document.settings_search.as_ref().unwrap();
    for done in 0..whole.blocks.len() {
        let blocks = whole.blocks[..done].to_vec();
        // What the first block told is known once it is over.
        let told =
            |of: &SettingsSearchResult| if done > 0 { of.clone() } else { SettingsSearchResult::default() };
        let before = SettingsSearchResult { blocks, ending: None, winner: None, ..told(whole) };
        let next = Course::of(&document.plan, &before).unwrap().next();
        let Next::Try(next) = next else { panic!("block {done}: {next:?}") };
        assert_eq!(
            (&next.settings, next.purpose),
            (&whole.blocks[done].settings, whole.blocks[done].purpose),
            "{done}"
        );
    }
}

#[test]
fn a_dry_run_for_programs_has_the_plan_of_the_search_for_each_promise() {
    let setups = LINGERS.replace("30}\n", "30}\n- producer: {linger.ms: 30, acks: 1}\n");
    let setups = setups.replace("search: {", "search: {allow: [durability], ");
    for (scenario, promises) in [(LINGERS, 1), (&setups, 2)] {
        let ended = search(&sink(), scenario).args(["--dry-run", "--output", "json"]).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let searches = ended.json()["searches"].clone();
        assert_eq!(searches.as_array().map(Vec::len), Some(promises), "{searches:#}");
        let dimension = &searches[0]["settings_search"]["dimensions"][0];
        assert_eq!(dimension["setting"], "producer.linger.ms", "{dimension:#}");
        assert!(!ended.path("found").exists());
    }
}

#[test]
fn a_linger_that_costs_latency_is_found_and_the_scenario_of_its_proof_runs_another_day() {
    let sink = sink();
    let ended = search(&sink, LINGERS).args(["--trial-only"]).run();
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let report = json(&ended.path("found/search.json"));
    assert_eq!(report["outcome"], "to_prove", "{report}");
    assert_eq!(report["objective"], "latency");
    assert_eq!(report["proposed"].as_array().unwrap().len(), 0, "nothing is proven yet: {report}");
    let changes = report["candidates"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{report}");
    assert_eq!(changes[0]["setting"], "producer.linger.ms");
    assert_eq!(changes[0]["from"], "30");
    assert!(changes[0]["to"].as_str().unwrap().parse::<f64>().unwrap() < 10.0, "{report}");
    // What was printed is a scenario with what is proposed as an arm.
    std::fs::write(ended.path("trial.yaml"), &ended.stdout).unwrap();
    let dry = Program::new([
        "trial".as_ref(),
        "run".as_ref(),
        ended.path("trial.yaml").as_os_str(),
        "--dry-run".as_ref(),
    ])
    .run();
    assert_eq!(dry.code(), Some(0), "{} {}", dry.stdout, dry.stderr);
    assert!(dry.stdout.contains("proposed"), "{}", dry.stdout);
    assert_replays(&document(&ended.path("found/search")));
}
