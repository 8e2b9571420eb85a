//! A dry run: every value with its origin.

#![allow(missing_docs)]

#[allow(dead_code)]
mod sample;

use plumb_model::trial::{Against, ArmPlan, TrialPlan};
use plumb_report::plan_text::render;
use plumb_report::text::TextStyle;

const PLAIN: TextStyle = TextStyle { color: false, width: 110 };

#[test]
fn every_value_stands_beside_its_origin_and_shared_ones_stand_once() {
    insta::assert_snapshot!(render(&sample::plan(), PLAIN));
}

#[test]
fn a_plan_of_one_step_has_no_shared_part() {
    let mut plan = sample::plan();
    plan.steps.truncate(1);
    let text = render(&plan, PLAIN);
    assert!(!text.contains("all 1 steps"), "{text}");
    assert!(text.contains("  load.rate_per_s "), "{text}");
    assert!(text.contains("  load.producers "), "{text}");
}

#[test]
fn the_origin_of_a_lab_setting_is_found_where_it_is_written() {
    let text = render(&sample::plan(), PLAIN);
    let heap = text.lines().find(|line| line.trim_start().starts_with("heap ")).expect("the heap");
    assert!(heap.ends_with("$PLUMB_LAB_HEAP"), "{heap}");
}

#[test]
fn an_arm_that_asks_for_nothing_else_is_told() {
    let mut plan = sample::plan();
    let arm = |name: &str, differences: &[(&str, &str)]| ArmPlan {
        name: name.to_owned(),
        step: 0,
        differences: differences
            .iter()
            .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
            .collect(),
        before: None,
        after: None,
        host: Default::default(),
    };
    let low = [("producer.linger.ms", "0")];
    plan.trial = Some(TrialPlan {
        arms: vec![arm("default", &[]), arm("same", &[]), arm("low", &low), arm("lower", &low)],
        again: 4,
        against: Against::Reference,
        primary: "end_to_end.p99".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: Vec::new(),
    });
    let text = render(&plan, PLAIN);
    for said in ["nothing differs from default", "producer.linger.ms: 0", "the same as low"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}
