//! A linger that costs most of the latency is found, and its gain is proven: neighbours would have the proof's pairs left out as disturbed.

use crate::program::Program;
use crate::search::{LINGERS, search, sink};

#[test]
fn the_proof_is_of_blocks_of_its_own_and_what_is_installed_is_what_was_proven() {
    let sink = sink();
    let ended = search(&sink, LINGERS).args(["--pairs", "10", "--output", "json"]).run();
    let report = ended.json();
    assert_eq!(ended.code(), Some(0), "{report} {}", ended.stderr);
    assert_eq!(report["outcome"], "better", "{report}");
    let proof = &report["proof"];
    assert_eq!(proof["verdict"], "better");
    assert!(proof["interval_high"].as_f64().unwrap() < 0.7, "{proof}");
    assert_eq!(proof["unequal_guarantees"].as_array().unwrap().len(), 0);
    assert_eq!(report["other_rates"].as_array().unwrap().len(), 2);
    assert!(ended.path("found/proof/install").is_dir());
    let shown = Program::new(["report".as_ref(), ended.path("found").as_os_str()]).run();
    assert!(shown.stdout.contains("To change"), "{}", shown.stdout);
}
