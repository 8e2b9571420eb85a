//! What a search goes out from: the first setup, and of the others those that differ in settings of its space alone.

use super::*;
use crate::scenario::SearchWords;

/// Setups of these producer properties, each a list of names and values.
fn plan(setups: &[&[(&str, &str)]]) -> Plan {
    let setup = |producer: &&[(&str, &str)]| SetupWords {
        producer: producer
            .iter()
            .map(|(name, value)| ((*name).to_owned(), OneOrMany::One(Scalar((*value).to_owned()))))
            .collect(),
        ..SetupWords::default()
    };
    let mut scenario = base();
    scenario.load.count = None;
    scenario.search = Some(SearchWords::default());
    scenario.setups = setups.iter().map(setup).collect();
    resolve(&scenario, &Sources::new()).unwrap()
}

#[test]
fn another_setup_is_tried_first_where_it_differs_in_settings_of_the_space_alone() {
    let plan = plan(&[&[("acks", "all")], &[("acks", "all"), ("linger.ms", "0")], &[("acks", "0")]]);
    let search = plan.settings_search.unwrap();
    assert_eq!(plan.steps.len(), 1);
    let zero = [("producer.linger.ms".to_owned(), "0".to_owned())].into();
    assert_eq!(search.presets.last().unwrap().settings, zero);
    let left: Vec<&str> = search
        .left_out
        .iter()
        .filter(|left| left.what.starts_with("setup"))
        .map(|left| left.reason.as_str())
        .collect();
    assert_eq!(left, ["it differs in producer.acks, which no search changes"]);
}

#[test]
fn a_default_that_a_setup_writes_is_no_difference() {
    // Random bytes do not compress, so that the compression is not searched here.
    let plan = plan(&[
        &[],
        &[
            ("acks", "-1"),
            ("enable.idempotence", "false"),
            ("compression.type", "none"),
            ("linger.ms", "0.2"),
        ],
    ]);
    let search = plan.settings_search.unwrap();
    let preset = search.presets.last().unwrap();
    assert_eq!(preset.settings, [("producer.linger.ms".to_owned(), "0.2".to_owned())].into());
    assert!(search.left_out.iter().all(|left| !left.what.starts_with("setup")), "{:?}", search.left_out);
}
