//! The output and the document of a trial: rounds in random order, blocks of equal length, a verdict with its figures.

use super::{LINGER, apart, blocks, document, sink, trial};
use crate::program::Program;
use serde_json::Value;
use std::collections::BTreeSet;

/// Milliseconds that the two arms are apart: what one of them waits.
const LINGER_MS: f64 = 30.0;

#[test]
fn arms_run_in_rounds_of_equal_blocks_with_the_reference_twice() {
    let sink = sink();
    // Each round's order is drawn alone: three alike would be no fault, and this seed does not draw them.
    let ended = trial(&sink, LINGER).args(["--seed", "1"]).run();
    let document = document(&ended.path("run"));
    let mut order: Vec<(u64, u64, String)> = Vec::new();
    for step in ["slow", "fast", "slow, again"] {
        let blocks = blocks(&document, step);
        assert_eq!(blocks.len(), 3, "{}", ended.stderr);
        for block in blocks {
            assert_eq!(block["counts"]["intended"], 100, "half a second of 200 a second");
            assert_eq!(block["counts"]["received"], 100);
            assert!(block["client_cpu_s"].as_f64().unwrap() > 0.0);
            assert_eq!((&block["broker_start"], &block["warm_up_cut_s"]), (&0.into(), &0.0.into()));
            let round = block["block"].as_u64().unwrap();
            order.push((block["position"].as_u64().unwrap(), round, step.to_owned()));
        }
    }
    order.sort();
    let rounds: Vec<u64> = order.iter().map(|(_, round, _)| *round).collect();
    assert_eq!(rounds, [0, 0, 0, 1, 1, 1, 2, 2, 2], "rounds are neighbours in time");
    let orders: BTreeSet<Vec<&str>> =
        order.chunks(3).map(|round| round.iter().map(|(.., step)| step.as_str()).collect()).collect();
    assert!(orders.len() > 1, "the same order in every round: {orders:?}");
}

#[test]
fn what_one_arm_waits_in_the_client_is_the_difference_that_is_found() {
    let sink = sink();
    let ended = trial(&sink, LINGER).run();
    let result = ended.json();
    let excluded = result["excluded"].as_array().unwrap().len() as u64;
    let pairs = result["pairs"].as_u64().unwrap();
    assert_eq!(pairs + excluded, 3, "{result}");
    // The quietest block of each: what a busy machine adds is no part of what is looked for.
    let least = |step: &str| -> f64 {
        let document = document(&ended.path("run"));
        let means =
            blocks(&document, step).iter().map(|block| block["end_to_end"]["mean_ns"].as_f64().unwrap());
        means.fold(f64::MAX, f64::min) / 1e6
    };
    // A message waits between nothing and all of the time that its batch is filled: half of it in the mean at this rate,
    // where five or six messages share a batch.
    let (slow, fast) = (least("slow"), least("fast"));
    assert!(slow - fast > LINGER_MS * 0.3 && slow - fast < LINGER_MS * 1.5, "{slow} against {fast}");

    let primary = &result["metrics"][0];
    assert_eq!((&primary["name"], &primary["role"]), (&"end_to_end.mean".into(), &"primary".into()));
    assert_eq!((&primary["arm"], &primary["against"]), (&"fast".into(), &"slow".into()));
    // A machine that others keep busy meanwhile excludes pairs by rule, and then nothing is shown.
    if pairs == 3 {
        let ratio = primary["estimate_ratio"].as_f64().unwrap();
        assert!(ratio < 0.8, "{primary}");
        assert!(primary["interval_low"].as_f64().unwrap() <= ratio, "{primary}");
        assert!(ratio <= primary["interval_high"].as_f64().unwrap(), "{primary}");
        assert_eq!(primary["values"].as_array().unwrap().len(), 3);
    } else {
        assert_eq!(primary["verdict"], "undecided", "{result}");
    }
    let accepted = result["verdicts"][0]["verdict"] == "better";
    let invalid = document(&ended.path("run"))["validity"]["verdict"] == "invalid";
    assert_eq!(ended.code(), Some(i32::from(!accepted || invalid)), "{result}");
}

#[test]
fn what_is_accepted_decides_the_exit_code() {
    let sink = sink();
    let scenario =
        LINGER.replace("slow:", "x:").replace("fast:", "y:").replace("linger.ms: 30", "linger.ms: 0");
    let ended = trial(&sink, &scenario).args(["--accept", "better,equivalent,undecided,worse"]).run();
    let document = document(&ended.path("run"));
    let invalid = document["validity"]["verdict"] == "invalid";
    assert_eq!(ended.code(), Some(i32::from(invalid)), "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(document["plan"]["trial"]["accept"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_to_fail_alone_decides_the_exit_code_where_it_is_said() {
    let sink = sink();
    for what in ["worse", "undecided", "invalid", "worse,undecided,invalid"] {
        let ended = trial(&sink, LINGER).args(["--fail-on", what]).run();
        let found = ended.json()["verdicts"][0]["verdict"].as_str().unwrap().to_owned();
        let validity = document(&ended.path("run"))["validity"]["verdict"].as_str().unwrap().to_owned();
        let fails = what.split(',').any(|word| word == found || word == validity);
        assert_eq!(ended.code(), Some(i32::from(fails)), "{what}: {found}, {validity}\n{}", ended.stderr);
    }
}

#[test]
fn two_settings_are_held_against_each_other_from_flags_alone() {
    let sink = sink();
    let flags = [
        "trial",
        "latency",
        "--rate",
        "200",
        "--duration",
        "500ms",
        "--warm-up",
        "100ms",
        "-X",
        "linger.ms=30",
    ];
    let program =
        Program::new(flags).args(["--vs", "linger.ms=0", "--pairs", "3", "--level", "0.75", "--out", "run"]);
    let directory = program.directory().to_owned();
    let ended = apart(program, &directory)
        .args(["--primary", "end_to_end.mean", "--output", "json", "--bootstrap", &sink.bootstrap()])
        .run();
    let result = ended.json();
    let arms: Vec<&str> =
        result["arms"].as_array().unwrap().iter().map(|arm| arm["name"].as_str().unwrap()).collect();
    assert_eq!(arms, ["linger.ms=30", "linger.ms=0"], "{}", ended.stderr);
    assert_eq!(result["arms"][1]["differences"]["producer.linger.ms"], "0");
    assert_eq!(blocks(&document(&ended.path("run")), "linger.ms=30, again").len(), 3);
}

#[test]
fn the_result_has_the_fields_that_programs_rely_on() {
    let sink = sink();
    let result = trial(&sink, LINGER).run().json();
    let has = |value: &Value, keys: &[&str]| {
        for key in keys {
            assert!(value.get(*key).is_some(), "{key} in {value}");
        }
    };
    has(
        &result,
        &["arms", "pairs", "metrics", "noise_floor_ratio", "seed", "verdicts", "summary", "findings"],
    );
    let metric = [
        "name",
        "unit",
        "estimate_ratio",
        "interval_low",
        "interval_high",
        "level",
        "verdict",
        "smallest_detectable_ratio",
        "p",
    ];
    result["metrics"].as_array().unwrap().iter().for_each(|row| has(row, &metric));
    assert_eq!(result["arms"][1]["differences"]["producer.linger.ms"], "0");
    assert_eq!(result["arms"][1]["effective_differences"]["producer.linger.ms"], "0");
}

#[test]
fn a_report_judges_the_trial_anew_and_tells_a_verdict_that_was_another() {
    let sink = sink();
    let ended = trial(&sink, LINGER).run();
    let run = ended.path("run");
    let mut stored = document(&run);
    let now = stored["trial"]["verdicts"][0]["verdict"].as_str().unwrap().to_owned();
    let then = if now == "worse" { "better" } else { "worse" };
    stored["trial"]["verdicts"][0]["verdict"] = then.into();
    std::fs::write(run.join("run.json"), stored.to_string()).unwrap();
    let shown = Program::new(["report".as_ref(), run.as_os_str()]).args(["--output", "json"]).run();
    assert_eq!(shown.json()["trial"]["verdicts"][0]["verdict"], now.as_str());
    let told = format!("judged anew, \"fast\" against \"slow\" is {now}, not {then}");
    assert!(shown.stderr.contains(&told), "{}", shown.stderr);
    assert_eq!(document(&run)["trial"]["verdicts"][0]["verdict"], then, "the run's own document stays");
}

#[test]
fn a_dry_run_prints_the_pairs_and_where_each_arm_is_written() {
    let program = crate::program::Program::new(["trial", "run", "s.yaml", "--dry-run"]);
    std::fs::write(program.directory().join("s.yaml"), format!("cluster: lab\n{LINGER}")).unwrap();
    let ended = program.run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    for said in ["slow, again", "end_to_end.mean", "12 blocks of the length written (s.yaml:2)", "s.yaml:6"] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
}

#[test]
fn each_trial_has_an_order_of_its_own_unless_it_is_told_which() {
    let seed = |flags: &[&str]| {
        let dry = ["trial", "run", "s.yaml", "--dry-run", "--output", "json"];
        let program = crate::program::Program::new(dry).args(flags);
        std::fs::write(program.directory().join("s.yaml"), format!("cluster: lab\n{LINGER}")).unwrap();
        let plan = program.run().json();
        (plan["seed"].as_u64().unwrap(), plan["origins"]["seed"].to_string())
    };
    let (drawn, origin) = seed(&[]);
    assert!(origin.contains("drawn for this trial"), "{origin}");
    // 32 bits each: that three are alike does not happen by chance.
    assert!([seed(&[]).0, seed(&[]).0].iter().any(|other| *other != drawn));
    let (told, origin) = seed(&["--seed", "42"]);
    assert_eq!(told, 42);
    assert!(origin.contains("--seed"), "{origin}");
}

#[test]
fn a_trial_from_flags_holds_its_users_conditions_and_tells_continuous_integration() {
    let sink = sink();
    let program =
        Program::new(["trial", "latency", "--rate", "100", "--vs", "linger.ms=5", "--count", "100"]);
    let directory = program.directory().to_owned();
    let ended = apart(program, &directory)
        .args(["--pairs", "6", "--warm-up", "200ms", "--out", "run", "--bootstrap", &sink.bootstrap()])
        .args(["--fail-on", "worse", "--fail-if", "p50>1us", "--junit", "plumb.xml"])
        .run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("fail-if p50>1us: FAILED"), "{}", ended.stderr);
    let xml = std::fs::read_to_string(ended.path("plumb.xml")).unwrap();
    assert!(xml.contains("<failure message=\"it fails on p50&#62;1us, and "), "{xml}");
    assert!(xml.contains("linger.ms=5\" name=\"trial\">"), "{xml}");
}
