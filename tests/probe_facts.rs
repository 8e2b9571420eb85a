//! `plumb probe facts`: what this host says of itself. No broker is needed.

use crate::program::Program;

#[test]
fn the_facts_of_this_host_are_a_document_in_which_each_has_a_source_or_a_reason() {
    let ended = Program::new(["probe", "facts", "--output", "json"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!((document["schema_version"].as_u64(), document["probe"].as_str()), (Some(1), Some("facts")));
    let host = document["host"].as_object().unwrap();
    assert!(host["logical_cpus"]["value"].as_u64() > Some(0));
    for (name, fact) in host {
        let known =
            fact["source"].as_str().is_some_and(|source| !source.is_empty()) && !fact["value"].is_null();
        let unknown = fact["reason"].as_str().is_some_and(|reason| !reason.is_empty());
        assert!(known != unknown, "{name}: {fact}");
    }
}

#[test]
fn sources_are_shown_only_when_asked_for() {
    let run = |arguments: &[&str]| {
        let ended = Program::new(["probe", "facts"]).args(arguments).run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        ended.stdout
    };
    let (plain, sourced) = (run(&[]), run(&["--sources"]));
    assert!(plain.contains("\nProcessors\n") && plain.contains("\nLimits\n"), "{plain}");
    assert!(!plain.contains("from /proc/meminfo"), "{plain}");
    assert!(sourced.contains("from /proc/meminfo"), "{sourced}");
}
