use super::{CompareError, apart_s, compare, seconds};
use crate::healthy::{DEFAULT, LOW, healthy};
use plumb_model::compare::CompareSays;
use plumb_model::document::RunDocument;
use plumb_model::plan::ClusterPlan;

/// The healthy run again, a day later, its first step's latencies so many times as long.
fn later(factor: f64) -> RunDocument {
    let mut document = healthy();
    document.run.id = "00000000000000bb".to_owned();
    document.run.started_at = "2026-01-02T00:00:00Z".to_owned();
    for block in &mut document.steps[0].blocks {
        block.end_to_end.mean_ns = block.end_to_end.mean_ns.map(|mean| mean * factor);
    }
    document
}

#[test]
fn runs_that_differ_by_more_than_their_blocks_are_said_to_and_no_more() {
    let result = compare((&healthy(), None), (&later(3.0), None)).unwrap();
    let names: Vec<&str> = result.steps.iter().map(|step| step.a.as_str()).collect();
    assert_eq!(names, [LOW, DEFAULT]);
    let mean = result.steps[0].metrics.iter().find(|metric| metric.name == "end_to_end.mean").unwrap();
    assert_eq!(mean.says, CompareSays::DiffersMoreThanBlocks);
    assert!((mean.ratio.unwrap() / 3.0 - 1.0).abs() < 1e-9, "{mean:?}");
    let same = &result.steps[1].metrics[0];
    assert_eq!(same.says, CompareSays::CannotTell);
    assert_eq!(result.apart_s, Some(86_400));
    assert!(result.cannot_show[1].contains("not \"no change\""));
}

#[test]
fn three_blocks_against_three_cannot_tell_whatever_they_are() {
    let (mut a, mut b) = (healthy(), later(100.0));
    a.steps[0].blocks.truncate(3);
    b.steps[0].blocks.truncate(3);
    let result = compare((&a, None), (&b, None)).unwrap();
    let mean = &result.steps[0].metrics[0];
    assert_eq!((mean.says, mean.within_low), (CompareSays::CannotTell, None));
    assert!((mean.ratio.unwrap() / 100.0 - 1.0).abs() < 1e-9);
}

#[test]
fn unequal_guarantees_settings_and_conditions_are_named() {
    let mut b = later(1.0);
    b.steps[0].durability.acks = Some("0".to_owned());
    b.environment.cluster.version = Some("Apache Kafka 4.1.0".to_owned());
    let result = compare((&healthy(), None), (&b, None)).unwrap();
    assert_eq!(result.steps[0].unequal_guarantees, ["acks: 1 / 0"]);
    assert_eq!(result.conditions, ["version of the brokers: not known / Apache Kafka 4.1.0"]);
}

#[test]
fn a_step_that_is_named_stands_beside_any_other_and_the_trial_that_would_prove_it_is_given() {
    let document = healthy();
    let result = compare((&document, Some(DEFAULT)), (&document, Some(LOW))).unwrap();
    assert_eq!((result.steps[0].a.as_str(), result.steps[0].b.as_str()), (DEFAULT, LOW));
    assert_eq!(result.steps[0].settings, ["producer.queue.buffering.max.ms: 5 / 0"]);
    let arms = result.steps[0].arms.as_ref().unwrap();
    // Arms do not inherit from each other: each has all of its own.
    let each =
        ["before:\n    producer: {\"linger.ms\": \"5\"}", "after:\n    producer: {\"linger.ms\": \"0\"}"];
    assert!(each.iter().all(|arm| arms.contains(arm)), "{arms}");
    let error = compare((&document, Some("nothing")), (&document, None)).unwrap_err();
    assert!(matches!(error, CompareError::NoSuchStep { .. }), "{error}");
}

/// Both sides set what the other does not, so each arm carries its own part over what they share.
#[test]
fn labs_that_differ_become_arms_over_what_they_share() {
    let (a, mut b) = (healthy(), later(1.0));
    if let ClusterPlan::Lab { jvm_flags, heap, .. } = &mut b.plan.cluster {
        jvm_flags.push("-XX:-UseAES".to_owned());
        *heap = "1g".to_owned();
    }
    let arms = compare((&a, Some(LOW)), (&b, Some(LOW))).unwrap().steps[0].arms.clone().unwrap();
    assert!(arms.contains("    cluster: {heap: \"1g\", jvm_flags: [\"-XX:-UseAES\"]}\n"), "{arms}");
    assert!(arms.contains("jvm_flags: []}"), "{arms}");
    if let ClusterPlan::Lab { brokers, .. } = &mut b.plan.cluster {
        *brokers = 3;
    }
    assert_eq!(compare((&a, Some(LOW)), (&b, Some(LOW))).unwrap().steps[0].arms, None);
}

#[test]
fn runs_without_a_step_of_the_same_name_say_what_they_have() {
    let mut other = healthy();
    other.steps.iter_mut().for_each(|step| step.name.push('x'));
    assert!(matches!(compare((&healthy(), None), (&other, None)), Err(CompareError::NothingInCommon { .. })));
}

#[test]
fn times_are_seconds_since_1970() {
    // date -u -d 2026-11-20T15:04:05Z +%s
    assert_eq!(seconds("2026-11-20T15:04:05Z"), Some(1_795_187_045));
    assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(apart_s("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z"), Some(2 * 86_400));
    assert_eq!(seconds("yesterday"), None);
}
