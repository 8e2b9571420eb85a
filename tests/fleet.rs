//! `plumb trial fleet`: figures of a fleet whose truth is known in, a verdict out. No broker is needed; `fleet/prometheus.rs` has
//! metrics servers on this machine, `fleet/bad_input.rs` what is wrong with files.

mod bad_input;
mod encrypted;
mod flags;
mod prometheus;
#[path = "../crates/fleet/tests/prometheus/recorded.rs"]
mod recorded;
#[path = "../crates/fleet/tests/prometheus/scripted.rs"]
mod scripted;
mod simulated;

use crate::program::{Ended, Program};
use serde::Deserialize;
use serde_json::Value;
use simulated::Fleet;
use std::path::Path;

const COLUMNS: [&str; 8] =
    ["--metric", "drops", "--load", "packets", "--group-column", "group", "--change", "2026-01-15"];

fn trial(file: &Path, arguments: &[&str]) -> Ended {
    Program::new(["trial", "fleet", "--data"].map(AsRef::as_ref).into_iter().chain([file.as_os_str()]))
        .args(arguments)
        .run()
}

/// The result of a fleet as JSON, and the exit code.
fn judged(fleet: &Fleet, more: &[&str]) -> (Value, i32) {
    let directory = tempfile::tempdir().unwrap();
    let file = fleet.write(directory.path());
    let ended = trial(&file, &[&COLUMNS, ["--output", "json"].as_slice(), more].concat());
    (ended.json(), ended.code().unwrap())
}

fn outcome<'r>(result: &'r Value, check: &str) -> &'r str {
    let checks = result["checks"].as_array().unwrap();
    checks.iter().find(|it| it["id"] == check).unwrap()["outcome"].as_str().unwrap()
}

#[test]
fn about_95_percent_fewer_drops_are_better_with_the_size_that_was_put_in() {
    let (result, code) = judged(&Fleet { drops_after: 0.05, ..Fleet::default() }, &[]);
    assert_eq!((result["verdict"].as_str(), code), (Some("better"), 0), "{result:#}");
    let (low, high) = (result["interval_low"].as_f64().unwrap(), result["interval_high"].as_f64().unwrap());
    assert!(low <= 0.05 && 0.05 <= high && high / low < 1.5, "{low} to {high}");
    assert!(result["p"].as_f64().unwrap() < 0.001);
    assert_eq!((&result["intervals_before"], &result["intervals_after"]), (&14.into(), &7.into()));
    assert_eq!(outcome(&result, "pre-trend"), "passed");
    let (_, worse) = judged(&Fleet { drops_after: 0.05, ..Fleet::default() }, &["--good", "higher"]);
    let (_, accepted) =
        judged(&Fleet { drops_after: 0.05, ..Fleet::default() }, &["--good", "higher", "--accept", "worse"]);
    assert_eq!((worse, accepted), (1, 0));
}

#[test]
fn a_surge_with_the_change_deceives_the_naive_and_not_the_verdict() {
    let (result, code) = judged(&Fleet { load_after: 1.6, ..Fleet::default() }, &[]);
    assert_ne!(result["verdict"], "better", "{result:#}");
    assert_ne!(result["verdict"], "worse", "{result:#}");
    assert_eq!(code, i32::from(result["verdict"] == "undecided"));
    let naive = result["naive"].as_array().unwrap();
    let before_after = naive.iter().find(|it| it["name"] == "test group, after over before").unwrap();
    assert!(before_after["interval_low"].as_f64().unwrap() > 1.1, "{before_after}");
    assert!(!before_after["why_not"].as_str().unwrap().is_empty());
    let surge = &result["surge"];
    assert_eq!((surge["from"].as_str(), surge["until"].as_str()), (Some("2026-01-15T00:00:00Z"), None));
    assert!((surge["load_ratio"]["control"].as_f64().unwrap() / 1.6 - 1.0).abs() < 0.15, "{surge}");
}

#[test]
fn three_servers_for_each_group_are_told_that_four_could_show_something() {
    let (result, code) = judged(&Fleet { servers: 3, drops_after: 0.05, ..Fleet::default() }, &[]);
    assert_eq!((result["verdict"].as_str(), code), (Some("undecided"), 1));
    assert!(result["reason"].as_str().unwrap().contains("It takes 4 in each group"), "{}", result["reason"]);
}

#[test]
fn the_text_says_it_in_three_sentences_and_the_page_stands_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet { drops_after: 0.05, ..Fleet::default() }.write(directory.path());
    let out = directory.path().join("out");
    let arguments = [&COLUMNS, ["--out", out.to_str().unwrap()].as_slice()].concat();
    let ended = trial(&file, &arguments);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with("drops: the change at 2026-01-15T00:00:00Z is BETTER\n"),
        "{}",
        ended.stdout
    );
    let last = ended.stdout.split("\n\n").last().unwrap();
    assert!(last.starts_with("In short\n- Better: "), "the answer is last: {last}");
    for part in ["In short", "Checks", "Not to be relied on", "Over time", "Roll-out"] {
        assert!(ended.stdout.contains(&format!("\n{part}")), "{part}: {}", ended.stdout);
    }
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<polyline") && page.contains("class=\"change\""));
    for outside in ["http://", "https://", "<script", "<link", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
    let kept: Value = serde_json::from_slice(&std::fs::read(out.join("fleet.json")).unwrap()).unwrap();
    assert_eq!(kept["verdict"], "better");
    let again = trial(&file, &arguments);
    assert_eq!(again.code(), Some(2), "nothing is overwritten");
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

/// The fields that programs rely on; whatever else there is, is in the schema.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Contract {
    schema_version: u32,
    plumb_version: String,
    metric: String,
    metric_kind: String,
    load: Option<String>,
    good: String,
    changed_at: String,
    intervals_before: u32,
    intervals_after: u32,
    interval_s: u64,
    seed: u64,
    servers: Groups<u32>,
    strata: u32,
    unit: String,
    units: Groups<u32>,
    effect_ratio: Option<f64>,
    of_shares: bool,
    interval_low: Option<f64>,
    interval_high: Option<f64>,
    level: f64,
    p: Option<f64>,
    margin: f64,
    by_intervals: Option<Value>,
    outcome: Option<String>,
    verdict: String,
    reason: Option<String>,
    smallest_detectable_ratio: Option<f64>,
    needed: Vec<Value>,
    load_elasticity: Option<f64>,
    load_elasticity_low: Option<f64>,
    load_elasticity_high: Option<f64>,
    checks: Vec<Check>,
    naive: Vec<Naive>,
    surge: Option<Surge>,
    days: Vec<Value>,
    rollout: Vec<Value>,
    exclusions: Vec<Value>,
    summary: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Groups<T> {
    control: T,
    test: T,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Finding {
    id: String,
    severity: String,
    confidence: Option<String>,
    stage: Option<String>,
    step: Option<String>,
    claim: String,
    evidence: Vec<Value>,
    advice: Vec<String>,
    flip: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Check {
    id: String,
    outcome: String,
    statement: String,
    p: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Naive {
    name: String,
    estimate_ratio: Option<f64>,
    interval_low: Option<f64>,
    interval_high: Option<f64>,
    p: Option<f64>,
    why_not: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the shape is what is tested")]
struct Surge {
    from: String,
    until: Option<String>,
    has_change_in_it: bool,
    load_ratio: Groups<f64>,
    metric_ratio: Groups<f64>,
    ratio_of_ratios: Option<f64>,
    interval_low: Option<f64>,
    interval_high: Option<f64>,
    p: Option<f64>,
}

#[test]
fn the_result_has_the_published_fields_and_no_others() {
    for servers in [3, 12] {
        let (result, _) = judged(&Fleet { servers, load_after: 1.6, ..Fleet::default() }, &[]);
        let contract: Contract = serde_json::from_value(result.clone()).unwrap();
        assert!(contract.summary.len() <= 3 && contract.checks.len() == 15 && contract.naive.len() == 5);
        let schemas = plumb_cli::schema::schemas();
        let (_, schema) = schemas.iter().find(|(name, _)| *name == "fleet-result.schema.json").unwrap();
        let schema: Value = serde_json::from_str(schema).unwrap();
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&result)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn what_cannot_be_compared_is_an_error_with_a_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet::default().write(directory.path());
    let failed = |arguments: &[&str], said: &str| {
        let ended = trial(&file, arguments);
        assert_eq!(ended.code(), Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(said) && ended.stderr.contains("hint: "),
            "{arguments:?}: {}",
            ended.stderr
        );
    };
    let with = |flag: &'static str, value: &'static str| [&COLUMNS, [flag, value].as_slice()].concat();
    failed(&with("--time-zone", "Mars/Olympus"), "--time-zone \"Mars/Olympus\" is not known");
    failed(&with("--strata", "site"), "--strata site: no server's site is known");
    failed(&with("--surge", "2026-01-16"), "has no end");
    failed(
        &with("--surge", "2026-03-01/2026-03-02"),
        "they begin from 2026-01-01T00:00:00Z to 2026-01-21T00:00:00Z",
    );
    failed(&with("--control", "old"), "no server is in the group \"old\"");
    let mut late = COLUMNS;
    late[7] = "2027-01-01";
    failed(&late, "is after the change");
    failed(&["--metric", "drops", "--change", "2026-01-15"], "nothing says which server is in which group");
    let mut other = COLUMNS;
    other[1] = "loss";
    failed(&other, "no column \"loss\"");
}

#[test]
fn groups_are_drawn_kept_with_their_seed_and_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let inventory = directory.path().join("inventory.csv");
    let rows = (0..90)
        .map(|at| format!("edge-{at:02},{},{}\n", ["fra", "ams", "waw"][at % 3], ["old", "new"][at / 45]));
    std::fs::write(&inventory, format!("server,site,hardware\n{}", rows.collect::<String>())).unwrap();
    let draw = |seed: &str| {
        let ended = Program::new(
            ["trial", "fleet", "--assign", "18", "--inventory"]
                .map(AsRef::as_ref)
                .into_iter()
                .chain([inventory.as_os_str()]),
        )
        .args(["--seed", seed])
        .run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        (ended.stdout, ended.stderr)
    };
    let (groups, balance) = draw("42");
    assert_eq!(groups.lines().count(), 37, "{groups}");
    assert!(groups.starts_with("server,group,site,hardware,pair,seed\n"));
    assert!(groups.lines().skip(1).all(|line| line.ends_with(",42")));
    for kind in [",fra,old", ",ams,new"] {
        for group in [",control", ",test"] {
            let count = groups.lines().filter(|line| line.contains(&format!("{group}{kind}"))).count();
            assert_eq!(count, 3, "{group}{kind}: {groups}");
        }
    }
    assert!(balance.contains("seed 42 draws the same again"), "{balance}");
    assert_eq!(groups, draw("42").0);
    assert_ne!(groups, draw("43").0);
    let many = Program::new(
        ["trial", "fleet", "--assign", "46", "--inventory"]
            .map(AsRef::as_ref)
            .into_iter()
            .chain([inventory.as_os_str()]),
    )
    .run();
    assert_eq!(many.code(), Some(2));
    assert!(many.stderr.contains("make at most 42"), "{}", many.stderr);

    let fleet = Fleet { drops_after: 0.05, servers: 45, ..Fleet::default() };
    let file = fleet.write(directory.path());
    let names = directory.path().join("groups.csv");
    std::fs::write(&names, &groups).unwrap();
    let ended = trial(
        &file,
        &[
            "--metric",
            "drops",
            "--load",
            "packets",
            "--change",
            "2026-01-15",
            "--groups",
            names.to_str().unwrap(),
            "--output",
            "json",
            "--strata",
            "site,hardware",
        ],
    );
    let result = ended.json();
    assert_eq!(result["servers"], serde_json::json!({"control": 18, "test": 18}), "{result:#}");
    // The groups that were drawn have nothing to do with those that have the change: half of each has it.
    assert_ne!(result["verdict"], "better", "{result:#}");
}

/// Every command of the guide's page is run, as a reader would, on the files that it names; each line that the page shows of its
/// output must be in it.
#[test]
fn the_guide_shows_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/guide/fleet.md")).unwrap();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let mut lines = block.split("```").next().unwrap().lines();
        let mut command = lines.next().unwrap().to_owned();
        while command.ends_with('\\') {
            command.pop();
            command.push_str(lines.next().unwrap());
        }
        let words = command.strip_prefix("$ plumb ").unwrap().split_whitespace();
        let place = |word: &str| match word.starts_with("docs/") {
            true => root.join(word).into_os_string(),
            false => word.into(),
        };
        let ended = Program::new(words.map(place)).run();
        commands += 1;
        assert!(matches!(ended.code(), Some(0 | 1)), "{command}: {}", ended.stderr);
        for line in lines.filter(|line| !line.is_empty() && *line != "...") {
            let printed = ended.stdout.lines().chain(ended.stderr.lines()).any(|printed| printed == line);
            assert!(printed, "{command}: no {line:?} in\n{}{}", ended.stdout, ended.stderr);
        }
    }
    assert!(commands >= 2, "{commands}");
}

#[test]
fn a_level_that_no_figure_carries_and_a_step_of_nothing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet::default().write(directory.path());
    for (flag, value, said) in [
        ("--level", "95", "at most 0.999"),
        ("--level", "0.9999999", "at most 0.999"),
        ("--step", "0s", "a time above 0"),
    ] {
        let ended = trial(&file, &[&COLUMNS, [flag, value].as_slice()].concat());
        assert_eq!(ended.code(), Some(2), "{flag} {value}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{flag} {value}: {}", ended.stderr);
    }
}
