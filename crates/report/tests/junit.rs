//! The JUnit file: a case for the verdict and one for each condition, and nothing from outside becomes markup.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)]
mod sample;

use plumb_model::condition::{Answer, ConditionResult};
use plumb_model::finding::ValidityVerdict;
use plumb_model::verdict::Verdict;
use plumb_report::junit::ArmCase;

fn result(condition: &str, answer: Answer) -> ConditionResult {
    let value = (!matches!(answer, Answer::NotKnown(_))).then(|| "45.3 ms".to_owned());
    ConditionResult { condition: condition.to_owned(), setup: "a & b".to_owned(), value, answer }
}

#[test]
fn met_conditions_are_failures_and_absent_figures_errors() {
    let mut document = sample::full();
    let conditions = [
        result("p99>20ms", Answer::Met),
        result("p99>90ms", Answer::NotMet),
        result("p99.9>90ms", Answer::NotKnown("it needs 10000 samples, and has 800".to_owned())),
    ];
    let xml = plumb_report::junit::render(&document, &conditions, &[]).unwrap();
    assert!(xml.contains(r#"tests="4" failures="1" errors="1""#), "{xml}");
    assert!(
        xml.contains("<failure message=\"it fails on p99&#62;20ms, and 45.3 ms was measured\"/>"),
        "{xml}"
    );
    assert!(
        xml.contains("classname=\"event-hubs-latency.a &#38; b\" name=\"p99&#62;90ms\"><system-out>45.3 ms"),
        "{xml}"
    );
    assert!(xml.contains("<error message=\"not known: it needs 10000 samples, and has 800\"/>"), "{xml}");
    document.validity.verdict = ValidityVerdict::Invalid;
    let xml = plumb_report::junit::render(&document, &[], &[]).unwrap();
    assert!(xml.contains(r#"tests="1" failures="1" errors="0""#), "{xml}");
}

#[test]
fn a_run_that_is_not_whole_is_an_error_and_hostile_names_stay_text() {
    let xml = plumb_report::junit::render(&sample::killed(), &[], &[]).unwrap();
    assert!(xml.contains("<error message=\"the run is not whole"), "{xml}");
    let xml = plumb_report::junit::render(&sample::hostile(), &[], &[]).unwrap();
    assert!(!xml.contains("<script>") && !xml.contains('\u{1b}'), "{xml}");
}

#[test]
fn an_arm_whose_verdict_is_to_fail_is_a_failure_and_every_other_passes() {
    let arm = |arm: &str, verdict, fails| ArmCase {
        arm: arm.to_owned(),
        against: "default".to_owned(),
        verdict,
        fails,
    };
    let arms = [arm("slow", Verdict::Worse, true), arm("fast", Verdict::Better, false)];
    let xml = plumb_report::junit::render(&sample::full(), &[], &arms).unwrap();
    assert!(xml.contains(r#"tests="3" failures="1" errors="0""#), "{xml}");
    assert!(
        xml.contains("classname=\"event-hubs-latency.slow\" name=\"trial\"><failure message=\"worse, held against default\"/>"),
        "{xml}"
    );
    assert!(xml.contains("name=\"trial\"><system-out>better, held against default<"), "{xml}");
}
