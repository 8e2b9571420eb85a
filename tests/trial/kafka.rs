//! Trials on real brokers with truths that are known from elsewhere. Minutes each, on a machine that does nothing else.

use crate::program::{Ended, Program};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3_600);

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).canonicalize().unwrap()
}

fn trial(scenario: &Path, flags: &[&str]) -> Ended {
    let program = Program::new(["trial".as_ref(), "run".as_ref(), scenario.as_os_str()]);
    program.args(["--output", "json", "--out", "run"]).args(flags).alone().within(PATIENCE).run()
}

/// The same of a scenario in words.
fn trial_of(words: &str, flags: &[&str]) -> Ended {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.yaml");
    std::fs::write(&path, words).unwrap();
    trial(&path, flags)
}

fn metric<'a>(result: &'a Value, name: &str, arm: &str) -> &'a Value {
    let rows = result["metrics"].as_array().unwrap().iter();
    let mut rows = rows.filter(|row| row["name"] == name && row["arm"] == arm);
    rows.next().unwrap_or_else(|| panic!("{name} of {arm}: {result}"))
}

fn median_ms(row: &Value, of: &str) -> f64 {
    row[of].as_f64().unwrap_or_else(|| panic!("{of}: {row}")) / 1e6
}

#[test]
#[ignore = "minutes: `make trials`"]
fn equal_arms_of_the_default_profile_are_not_called_different() {
    let words = "\
cluster: lab
load: {rate: 100, duration: 3s, warm_up: 500ms}
trial: {primary: end_to_end.mean, pairs: 8}
arms: {default: {}, same: {}}
";
    let ended = trial_of(words, &[]);
    let result = ended.json();
    let verdict = &result["verdicts"][0]["verdict"];
    assert!(verdict == "undecided" || verdict == "equivalent", "{result}");
    assert!(result["noise_floor_ratio"].as_f64().unwrap() >= 1.0, "{result}");
}

#[test]
#[ignore = "minutes: `make trials`"]
fn five_milliseconds_of_linger_are_found_with_their_size() {
    let ended = trial(&scenario("linger-trial.yaml"), &["--quick"]);
    let result = ended.json();
    assert_eq!(result["verdicts"][0]["verdict"], "better", "{result}");
    let mean = metric(&result, "end_to_end.mean", "low");
    // At 100 messages a second no batch gets a second message within 5 ms: each waits all of them.
    let saved = median_ms(mean, "against_median") - median_ms(mean, "arm_median");
    assert!((4.0..6.5).contains(&saved), "{saved} ms: {mean}");
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}

#[test]
#[ignore = "minutes: `make trials`"]
fn the_eight_published_setups_get_a_verdict_for_each_pair_of_equal_rate() {
    let ended = trial(&scenario("event-hubs-trial.yaml"), &[]);
    let result = ended.json();
    let verdicts = result["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 12, "six pairs at each of two rates: {result}");
    let of = |arm: &str, against: &str| {
        let found = verdicts.iter().find(|row| row["arm"] == arm && row["against"] == against);
        found.unwrap_or_else(|| panic!("{arm} against {against}"))["verdict"].as_str().unwrap().to_owned()
    };
    let same = of("optimised - optimised, row 3", "optimised - optimised");
    assert!(same == "equivalent" || same == "undecided", "the same settings twice: {same}");
    // The default lingers for 5 ms, which is most of a latency without a network in between.
    assert_eq!(of("default - fetch 100 ms", "optimised - optimised"), "worse");
}

#[test]
#[ignore = "minutes: `make trials`"]
fn a_broker_without_aes_instructions_is_worse_in_processor_time_and_in_acknowledgements() {
    let ended = trial(&scenario("broker-without-aes.yaml"), &[]);
    let result = ended.json();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert_eq!(result["verdicts"][0]["verdict"], "worse", "{result}");
    for name in ["acknowledge.mean", "cpu.broker_per_message"] {
        assert_eq!(metric(&result, name, "without aes")["verdict"], "worse", "{name}: {result}");
    }
    let flags = &result["arms"][1]["effective_differences"]["cluster.jvm_flags"];
    assert!(flags.as_str().unwrap().contains("-XX:-UseAES"), "{flags}");
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("run/run.json")).unwrap()).unwrap();
    let starts = document["steps"][1]["blocks"].as_array().unwrap().iter();
    let last = starts.filter_map(|block| block["broker_start"].as_u64()).max();
    assert_eq!(last, Some(5), "six starts");
}

#[test]
#[ignore = "minutes: `make trials`"]
fn a_trial_until_decided_stops_before_its_most_pairs() {
    let words = "\
cluster: lab
load: {rate: 200, duration: 1s, warm_up: 300ms}
trial: {primary: end_to_end.mean}
arms: {default: {}, low: {producer: {linger.ms: 0}}}
";
    let ended = trial_of(words, &["--until-decided", "--max-pairs", "40"]);
    let result = ended.json();
    assert_eq!(result["verdicts"][0]["verdict"], "better", "{result}");
    assert!(result["pairs"].as_u64().unwrap() < 40, "{result}");
    assert_eq!(metric(&result, "end_to_end.mean", "low")["method"], "sign_e_process");
    assert!(ended.stderr.contains("plumb: decided after"), "{}", ended.stderr);
}
