//! Several clusters in one scenario: each setup or arm has its own, with its own login, in interleaved blocks.

use crate::program::{Ended, Program};
use plumb_lab::sink::{ApiKey, Apis, Delay, SinkBroker, SinkOptions};
use serde_json::Value;
use std::time::Duration;

/// Far more than a path on this machine needs.
const FAR_MS: f64 = 100.0;

/// A cluster here, and one that answers [`FAR_MS`] later.
fn near_and_far() -> [SinkBroker; 2] {
    let [near, far] = [(); 2].map(|()| SinkBroker::start(SinkOptions::default()).unwrap());
    let later = Delay::Constant(Duration::from_millis(FAR_MS as u64));
    far.control().delay_answers(Apis::one(ApiKey::Produce), later);
    [near, far]
}

fn clusters([near, far]: &[SinkBroker; 2]) -> String {
    format!(
        "clusters:\n  near: {{bootstrap: \"{}\"}}\n  far: {{bootstrap: \"{}\"}}\n",
        near.bootstrap(),
        far.bootstrap()
    )
}

/// A command on this scenario, in a directory of its own.
fn run(command: &[&str], scenario: &str) -> Ended {
    let program = Program::new(command).args(["s.yaml", "--out", "run", "--output", "json"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let directory = program.directory().to_owned();
    program
        .env("PLUMB_STATE_DIR", directory.join("journal"))
        .env("XDG_CACHE_HOME", directory.join("cache"))
        .run()
}

/// The shortest time to an acknowledgement: neighbours of a test make none shorter.
fn acknowledged_ms(document: &Value, step: usize) -> f64 {
    document["steps"][step]["latency"]["acknowledge"]["min_ns"].as_f64().unwrap() / 1e6
}

#[test]
fn each_setup_runs_on_its_own_cluster_in_blocks_that_take_turns() {
    let both = near_and_far();
    let setups = "blocks: 2\nload: {rate: 50, count: 40, warm_up: 100ms}\nsetups:\n- {name: a, cluster: near}\n- {name: b, cluster: far}\n";
    let ended = run(&["run"], &(clusters(&both) + setups));
    // A host that is busy with other tests may make the figures unfit for use; where they come from is told all the same.
    assert!(matches!(ended.code(), Some(0 | 1)), "{} {}", ended.stdout, ended.stderr);
    let document = ended.json();
    let [near, far] = [0, 1].map(|step| acknowledged_ms(&document, step));
    assert!(near < FAR_MS && far >= FAR_MS, "{near} {far}");
    let brokers = |of: &Value| of["brokers"].as_array().unwrap().len();
    assert_eq!(brokers(&document["environment"]["cluster"]), 1);
    assert_eq!(brokers(&document["steps"][1]["cluster"]), 1);
    assert!(document["steps"][0]["cluster"].is_null());
    let plan = &document["plan"];
    assert_eq!(plan["cluster"]["bootstrap"], both[0].bootstrap(), "{plan}");
    assert_eq!(plan["steps"][1]["cluster"]["bootstrap"], both[1].bootstrap());
}

#[test]
fn arms_on_two_clusters_are_a_trial_whose_difference_is_said_to_be_the_clusters() {
    let both = near_and_far();
    let arms = "load: {rate: 50, duration: 400ms, warm_up: 100ms}\nlevel: 0.75\ntrial: {primary: acknowledge.p50, pairs: 3}\narms:\n  here: {cluster: near}\n  there: {cluster: far}\n";
    let ended = run(&["trial", "run"], &(clusters(&both) + arms));
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    let text = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let trial = &document["trial"];
    let [near, far] = [0, 1].map(|step| acknowledged_ms(&document, step));
    assert!(near < FAR_MS && far >= FAR_MS, "{near} {far}");
    assert!(trial.to_string().contains("is on its own cluster"), "{trial}");
}

#[test]
fn a_cluster_that_is_not_named_or_not_there_is_said_with_its_place() {
    let both = near_and_far();
    let named = clusters(&both);
    let load = "load: {rate: 50, count: 40}\n";
    for (scenario, says) in [
        (
            format!("{named}{load}setups:\n- {{name: a, cluster: nea}}\n- {{name: b, cluster: far}}\n"),
            "s.yaml:6",
        ),
        (
            format!("{named}{load}setups:\n- {{name: a, cluster: near}}\n- {{name: b}}\n"),
            "one of `clusters`: far, near",
        ),
        (format!("{named}{load}"), "one of `clusters`: far, near"),
        (
            format!("cluster: lab\n{named}{load}setups:\n- {{name: a, cluster: near}}\n"),
            "each its own by name",
        ),
        (format!("cluster: lab\n{load}setups:\n- {{name: a, cluster: near}}\n"), "there are none"),
        (
            format!(
                "{}{load}setups:\n- {{name: a, cluster: near}}\n- {{name: b, cluster: far}}\n",
                named.replace("  far: {", "  far: {config: gone.properties, ")
            ),
            "cannot read the client properties file",
        ),
    ] {
        let ended = run(&["run"], &scenario);
        assert_eq!(ended.code(), Some(2), "{scenario}: {} {}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{scenario}: {}", ended.stderr);
        assert!(!ended.path("run").exists(), "{scenario}");
    }
}

#[test]
fn a_brokers_setting_is_refused_where_it_could_be_put_back_on_another_cluster() {
    let both = near_and_far();
    let arms = "load: {rate: 50, duration: 400ms}\ntrial: {pairs: 6}\narms:\n  here: {cluster: near}\n  there: {cluster: far, host: {\"broker:1:num.io.threads\": 9}}\n";
    let ended = run(&["trial", "run"], &(clusters(&both) + arms));
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("the run is on several clusters"), "{}", ended.stderr);
    assert!(!ended.path("run").exists());
}
