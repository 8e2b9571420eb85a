//! `plumb compare` and `plumb trial power`, from the documents that a trial against a sink broker leaves.

use crate::program::{Ended, Program};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use plumb_model::compare::CompareResult;
use plumb_model::power::PowerResult;
use plumb_model::trial::TrialResult;
use serde_json::Value;
use std::path::Path;

/// Arms that wait in the client for 30 ms and for 8 ms, in blocks of a quarter of a second.
const LINGER: &str = "\
load: {rate: 200, duration: 250ms, warm_up: 100ms}
trial: {primary: end_to_end.mean, pairs: 6}
arms:
  slow: {producer: {linger.ms: 30}}
  fast: {producer: {linger.ms: 8}}
";

/// A trial of six pairs into `run`, apart from what other trials on this host keep.
fn trial(sink: &SinkBroker, cache: &Path) -> Program {
    let program = Program::new(["trial", "run", "s.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), LINGER).unwrap();
    let program = program.args(["--bootstrap", &sink.bootstrap()]);
    program.env("XDG_CACHE_HOME", cache).env("PLUMB_STATE_DIR", cache.join("journal"))
}

fn sink() -> SinkBroker {
    SinkBroker::start(SinkOptions::default()).unwrap()
}

fn plumb(words: &[&str]) -> Ended {
    Program::new(words).run()
}

/// True if a shape's fields are exactly those of a value that it was read from.
fn is_whole<T: serde::de::DeserializeOwned + serde::Serialize>(value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&read).unwrap(), value, "a field is unknown, or was lost");
}

#[test]
fn a_trial_its_power_and_its_steps_side_by_side_all_say_what_they_rest_on() {
    let (sink, cache) = (sink(), tempfile::tempdir().unwrap());
    let ended = trial(&sink, cache.path()).run();
    is_whole::<TrialResult>(&ended.json());
    let run = ended.path("run").display().to_string();

    let side_by_side =
        plumb(&["compare", &format!("{run}#slow"), &format!("{run}#fast"), "--output", "json"]);
    assert_eq!(side_by_side.code(), Some(0), "{}", side_by_side.stderr);
    let result = side_by_side.json();
    is_whole::<CompareResult>(&result);
    let steps = &result["steps"][0];
    assert_eq!((&steps["a"], &steps["b"]), (&"slow".into(), &"fast".into()));
    let mean = &steps["metrics"][0];
    assert_eq!((&mean["name"], &mean["a_blocks"]), (&"end_to_end.mean".into(), &6.into()));
    assert!(mean["ratio"].as_f64().unwrap() < 1.0, "{mean}");
    let text = plumb(&["compare", &format!("{run}#slow"), &format!("{run}#fast")]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["What this cannot show", "The trial that would prove it", "linger.ms", "no drift between"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("better") && !text.contains("worse"), "{text}");

    let power = plumb(&["trial", "power", "--from", &run, "--detect", "5%", "--output", "json"]);
    assert_eq!(power.code(), Some(if_invalid(&ended.path("run"))), "{}", power.stderr);
    let result = power.json();
    is_whole::<PowerResult>(&result);
    let first = &result["metrics"][0];
    assert_eq!(first["name"], "end_to_end.mean");
    assert!(first["sd_log_high"].as_f64().unwrap() > first["sd_log"].as_f64().unwrap(), "{first}");
    let [margin, detect] =
        ["pairs_for_margin", "pairs_for_detect"].map(|key| first[key].as_u64().unwrap_or(u64::MAX));
    assert!(detect <= margin, "5 % takes no more pairs than 3 %: {first}");
    let text = plumb(&["trial", "power", "--from", &run]).stdout;
    assert!(text.contains("what a trial could show") && text.contains("pairs for margin"), "{text}");
}

/// The exit code of what rests on a run: 1 where a machine that others keep busy makes it unfit for use.
fn if_invalid(run: &Path) -> i32 {
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    i32::from(document["validity"]["verdict"] == "invalid")
}

/// A comparison with a run that is not fit for use says so with its exit code, too.
#[test]
fn power_from_an_invalid_run_ends_with_1() {
    let (sink, cache) = (sink(), tempfile::tempdir().unwrap());
    let ended = trial(&sink, cache.path()).run();
    let place = ended.path("run").join("run.json");
    let mut document: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
    for step in document["steps"].as_array_mut().unwrap() {
        step["latency"]["end_to_end"]["overflow"] = 1.into();
    }
    std::fs::write(&place, document.to_string()).unwrap();
    let power = plumb(&["trial", "power", "--from", &ended.path("run").display().to_string()]);
    assert_eq!(power.code(), Some(1), "{}{}", power.stdout, power.stderr);
    assert!(power.stdout.contains("what a trial could show"), "{}", power.stdout);
}

/// A load of which hardly anything is as by default.
const UNUSUAL: &str = "schedule: poisson, drain: 5s, payload: {entropy: 0.5}, keys: {uniform: {count: 9}}, \
    headers: {origin: \"a: b\"}, in_flight: 400, size: {mix: [{size: 100B, weight: 3}, {size: 1KiB, weight: 1}]}";

/// The trial that `compare` prints is one that `trial run` takes, with all that the runs were asked for.
#[test]
fn the_trial_that_would_prove_a_difference_can_be_planned_as_printed() {
    let (sink, cache) = (sink(), tempfile::tempdir().unwrap());
    let program = trial(&sink, cache.path());
    let unusual = LINGER.replace("warm_up: 100ms", &format!("warm_up: 100ms, {UNUSUAL}"));
    std::fs::write(program.directory().join("s.yaml"), unusual).unwrap();
    let ended = program.run();
    let run = ended.path("run").display().to_string();
    let result =
        plumb(&["compare", &format!("{run}#slow"), &format!("{run}#fast"), "--output", "json"]).json();
    let program = Program::new(["trial", "run", "proof.yaml", "--dry-run", "--output", "json"]);
    std::fs::write(program.directory().join("proof.yaml"), result["steps"][0]["arms"].as_str().unwrap())
        .unwrap();
    let planned = program.run();
    assert_eq!(planned.code(), Some(0), "{}", planned.stderr);
    let differences = &planned.json()["trial"]["arms"][1]["differences"];
    assert_eq!(differences["producer.linger.ms"], "8", "{differences}");
    let without_length = |plan: &Value| {
        let mut load = plan["steps"][1]["load"].clone();
        load.as_object_mut().unwrap().remove("length");
        load
    };
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("run").join("run.json")).unwrap()).unwrap();
    assert_eq!(without_length(&planned.json()), without_length(&document["plan"]));
    assert_ne!(document["plan"]["steps"][1]["load"]["keys"], "none", "the load is the unusual one");
}

#[test]
fn a_trial_that_could_show_nothing_on_its_setup_is_refused_and_goes_on_when_told_to() {
    let (sink, cache) = (sink(), tempfile::tempdir().unwrap());
    let place = cache.path().join("plumb/trial-pilots.json");
    // A trial of which a busy machine spoiled a round has too few pairs to keep anything of.
    let mut tries = (0..10).map(|_| trial(&sink, cache.path()).run());
    assert!(tries.any(|_| place.exists()), "ten trials with a spoiled round each");
    let mut kept: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
    let mut keep = |disturbed: bool| {
        kept["pilots"][0]["spreads"]["end_to_end.mean"] = serde_json::json!([2.0, 12]);
        kept["pilots"][0]["disturbed"] = disturbed.into();
        std::fs::write(&place, kept.to_string()).unwrap();
    };
    keep(true);
    let told = trial(&sink, cache.path()).args(["--dry-run"]).run();
    assert_eq!(told.code(), Some(0), "a noisy hour refuses nothing: {}", told.stderr);

    keep(false);
    let refused = trial(&sink, cache.path()).args(["--dry-run"]).run();
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
    for part in ["6 pairs cannot show what they are for", "--pairs ", "--anyway"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let told = trial(&sink, cache.path()).args(["--dry-run", "--anyway"]).run();
    assert_eq!(told.code(), Some(0), "{}", told.stderr);
}

#[test]
fn power_measures_nothing_but_the_reference() {
    let (sink, cache) = (sink(), tempfile::tempdir().unwrap());
    let program =
        Program::new(["trial", "power", "s.yaml", "--pilot", "3", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), LINGER).unwrap();
    let ended = program.args(["--bootstrap", &sink.bootstrap()]).env("XDG_CACHE_HOME", cache.path()).run();
    assert_eq!(ended.code(), Some(if_invalid(&ended.path("run"))), "{}", ended.stderr);
    assert_eq!(ended.json()["metrics"][0]["name"], "end_to_end.mean");
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("run").join("run.json")).unwrap()).unwrap();
    let steps: Vec<&str> =
        document["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(steps, ["slow", "slow, again"]);
}

#[test]
fn what_cannot_be_compared_says_what_there_is() {
    let missing = plumb(&["compare", "nowhere", "nowhere"]);
    assert_eq!(missing.code(), Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("hint:"), "{}", missing.stderr);
    let nothing = plumb(&["trial", "power"]);
    assert_eq!(nothing.code(), Some(2), "{}", nothing.stderr);
}

#[test]
fn checks_of_hosts_are_sent_to_the_command_that_holds_them_against_each_other() {
    let place = tempfile::tempdir().unwrap();
    let checked = plumb(&["check", "--only", "swappiness", "--window", "100ms", "--output", "json"]);
    let [a, b] = ["a.json", "b.json"].map(|name| place.path().join(name).display().to_string());
    for document in [&a, &b] {
        std::fs::write(document, &checked.stdout).unwrap();
    }
    let both = plumb(&["compare", &a, &b]);
    assert_eq!(both.code(), Some(2), "{}", both.stderr);
    assert!(both.stderr.contains("are checks of hosts, and not runs"), "{}", both.stderr);
    assert!(both.stderr.contains(&format!("hint: plumb check {a} {b} holds")), "{}", both.stderr);
    assert!(matches!(plumb(&["check", &a, &b]).code(), Some(0 | 1)), "what the hint names is taken");
    let one = plumb(&["compare", &a, "nowhere"]);
    assert_eq!(one.code(), Some(2), "{}", one.stderr);
    assert!(one.stderr.contains("a.json is the check of a host, and not a run"), "{}", one.stderr);
}
