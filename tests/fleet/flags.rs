//! Flags of `plumb trial fleet` that cannot mean what they say: refused, with what to say instead. And files that say it in other signs.

use super::simulated::Fleet;
use super::{COLUMNS, trial};
use crate::program::{Ended, Program};
use std::path::Path;

/// Checks that a refusal, with exit code 2 and a hint, says all of this.
fn refused(ended: &Ended, said: &[&str]) {
    assert_eq!(ended.code(), Some(2), "{}{}", ended.stdout, ended.stderr);
    for words in said.iter().chain(&["\nhint: "]) {
        assert!(ended.stderr.contains(words), "no {words:?} in {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
}

fn assigned(inventory: &Path, servers: &str, more: &[&str]) -> Ended {
    Program::new(
        ["trial", "fleet", "--assign", servers, "--inventory"]
            .map(AsRef::as_ref)
            .into_iter()
            .chain([inventory.as_os_str()]),
    )
    .args(more)
    .run()
}

#[test]
fn the_metric_is_no_load_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet::default().write(directory.path());
    let mut same = COLUMNS;
    same[3] = "drops:increments";
    refused(&trial(&file, &same), &["--load \"drops\" is the metric itself", "packets or requests"]);
    let ended = Program::new([
        "trial",
        "fleet",
        "--prometheus",
        "http://127.0.0.1:9",
        "--metric",
        "drops{job=\"a\"}",
        "--load",
        "drops{ job=\"a\" }",
        "--from",
        "2026-01-01",
        "--until",
        "2026-01-20",
        "--group-label",
        "role",
        "--change",
        "2026-01-15",
    ])
    .run();
    refused(&ended, &["is the metric itself"]);
}

#[test]
fn a_fleet_smaller_than_its_figures_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet { servers: 6, ..Fleet::default() }.write(directory.path());
    let arguments = |size| [&COLUMNS, ["--fleet-size", size].as_slice()].concat();
    refused(
        &trial(&file, &arguments("11")),
        &["given as 11 servers, and 12 of it have figures", "--fleet-size"],
    );
    assert!(matches!(trial(&file, &arguments("12")).code(), Some(0 | 1)));
}

#[test]
fn a_wrong_step_is_named_with_what_it_leaves_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet { servers: 6, ..Fleet::default() }.write(directory.path());
    // There is a sample every six hours.
    let ended = trial(&file, &[&COLUMNS, ["--step", "1h"].as_slice()].concat());
    refused(
        &ended,
        &[
            "no interval in which both groups have values",
            ": they have no value",
            "with --step 1h, 240 intervals",
            "hint: is --step the time between two samples of a server?",
        ],
    );
}

#[test]
fn files_of_groups_and_servers_may_have_semicolons_as_data_may() {
    let directory = tempfile::tempdir().unwrap();
    let file = Fleet { servers: 6, drops_after: 0.05, ..Fleet::default() }.write(directory.path());
    let write = |name: &str, text: String| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let rows: String = (0..12).map(|at| format!("edge-{at:02};{}\n", ["test", "control"][at % 2])).collect();
    let groups = write("groups.csv", format!("server;group\n{rows}"));
    let arguments = ["--metric", "drops", "--change", "2026-01-15", "--groups"];
    let ended = trial(&file, &[&arguments, [groups.to_str().unwrap()].as_slice()].concat());
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let without = write("without.csv", format!("host;group\n{rows}"));
    let ended = trial(&file, &[&arguments, [without.to_str().unwrap()].as_slice()].concat());
    refused(
        &ended,
        &["no column \"server\" for the server; it has \"host\", \"group\"", "hint: a groups file has"],
    );
    let rows: String = (0..12).map(|at| format!("edge-{at:02}\t{}\n", ["fra", "ams"][at / 6])).collect();
    let inventory = write("inventory.csv", format!("server\tsite\n{rows}"));
    let ended = assigned(&inventory, "6", &["--seed", "1"]);
    assert_eq!((ended.code(), ended.stdout.lines().count()), (Some(0), 13), "{}", ended.stderr);
    assert_eq!(
        ended.stdout.lines().filter(|line| line.contains(",test,fra,")).count(),
        3,
        "{}",
        ended.stdout
    );
}

#[test]
fn groups_are_not_drawn_for_a_question_nor_where_they_could_never_answer_one() {
    let directory = tempfile::tempdir().unwrap();
    let inventory = directory.path().join("inventory.csv");
    let rows: String = (0..20).map(|at| format!("edge-{at:02}\n")).collect();
    std::fs::write(&inventory, format!("server\n{rows}")).unwrap();
    for flag in [
        ["--strata", "site"],
        ["--level", "0.9"],
        ["--margin", "5%"],
        ["--accept", "worse"],
        ["--good", "higher"],
        ["--surge", "2026-01-01/"],
        ["--fleet-size", "100"],
    ] {
        let ended = assigned(&inventory, "8", &flag);
        assert_eq!(ended.code(), Some(2), "{flag:?}: {}", ended.stdout);
        assert!(ended.stderr.contains("--assign") && ended.stderr.contains(flag[0]), "{}", ended.stderr);
    }
    refused(
        &assigned(&inventory, "3", &[]),
        &["3 for each group can never show a difference", "it takes 4 for each group"],
    );
    let five = assigned(&inventory, "5", &[]);
    assert_eq!(five.code(), Some(0));
    let said = five.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Pair by pair 5 for each group can never show a difference"), "{said}");
    assert!(!assigned(&inventory, "6", &[]).stderr.contains("can never"));
    let json = assigned(&inventory, "5", &["--output", "json"]).json();
    assert!(json["weakness"].as_str().unwrap().contains("it takes 6"), "{json}");
}
