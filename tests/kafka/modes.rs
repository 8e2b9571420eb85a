//! Saturating loads, filled topics and backlogs on a real broker: the counts are the log's growth.

use super::{document, run_scenario, steps};
use crate::drivers::{Driver, on_both_drivers};
use serde_json::Value;

on_both_drivers!(every_mode_counts_what_the_log_has, large_and_mixed_sizes_saturate_without_loss);

/// Sent, acknowledged, in the log (with a probe for each partition) and, where somebody consumes, received: the same.
fn assert_counted(step: &Value, partitions: u64) {
    let count = |name: &str| step["counts"][name].as_u64().unwrap();
    let said = format!("{}: {} {}", step["name"], step["counts"], step["accounting"]);
    let sent = count("sent");
    assert!(sent > 0, "{said}");
    assert_eq!((count("intended"), count("acked")), (sent, sent), "{said}");
    assert_eq!((count("failed"), count("unknown"), count("lost")), (0, 0, 0), "{said}");
    assert_eq!((count("duplicated"), count("reordered")), (0, 0), "{said}");
    if count("received") > 0 || step["name"] != "produce" {
        assert_eq!(count("received"), sent, "{said}");
    }
    assert_eq!(step["accounting"]["agrees"], true, "{said}");
    let delta = step["accounting"]["offset_delta"].as_u64().unwrap();
    // A backlog's warm-up is in the log as well.
    let more = delta - partitions - sent;
    assert!(more == 0 || step["name"] == "backlog", "{said}");
}

fn every_mode_counts_what_the_log_has(driver: Driver) {
    let ended = run_scenario(
        driver,
        "\
topic: {partitions: 3}
load: {size: 200B, warm_up: 0s}
blocks: 1
setups:
  - {name: by count, load: {rate: max, count: 20000, producers: 2, consumers: 2}}
  - {name: by time, load: {rate: max, duration: 1s}}
  - {name: produce, load: {rate: max, count: 20000, mode: produce, consumers: 0}}
  - {name: consume, load: {count: 20000, mode: consume}}
  - {name: backlog, load: {rate: 2000, duration: 1s, mode: {backlog: 200KiB}}}
",
    );
    let document = document(&ended);
    let steps = steps(&document);
    assert_eq!(steps.len(), 5);
    steps.iter().for_each(|step| assert_counted(step, 3));
    for counted in [0, 2, 3] {
        assert_eq!(steps[counted]["counts"]["intended"], 20_000);
    }
    assert!(steps[4]["throughput"]["drain_s"].as_f64().unwrap() > 0.0);
}

fn large_and_mixed_sizes_saturate_without_loss(driver: Driver) {
    let ended = run_scenario(
        driver,
        "\
load: {rate: max, warm_up: 0s}
blocks: 1
setups:
  - {name: large, load: {size: 240KiB, count: 200}}
  - {name: mixed, load: {size: {mix: [{size: 100B, weight: 5}, {size: 20KiB, weight: 1}]}, count: 2000}, producer: {compression.type: lz4}}
  - {name: small, load: {size: 10B, count: 5000, keys: {uniform: {count: 100}}}, producer: {acks: 1}}
",
    );
    let document = document(&ended);
    steps(&document).iter().for_each(|step| assert_counted(step, 1));
}
