//! What a search goes out from: the first setup, and of the others those that differ in settings of its space alone.

use super::*;
use crate::scenario::SearchWords;
use crate::settings_search::SettingsSearch;

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

#[test]
fn one_request_in_flight_that_keeps_the_order_stays_one() {
    let has_in_flight = |producer: &[(&str, &str)]| {
        let search = plan(&[producer]).settings_search.unwrap();
        let is_it = |name: &str| name == "producer.max.in.flight.requests.per.connection";
        let left_out = search.left_out.iter().any(|left| is_it(&left.what) && left.reason.contains("order"));
        let searched = search.dimensions.iter().any(|dimension| is_it(&dimension.setting));
        assert_ne!(left_out, searched, "{:?}", search.left_out);
        searched
    };
    assert!(!has_in_flight(&[("max.in.flight.requests.per.connection", "1")]));
    assert!(!has_in_flight(&[("max.in.flight", "1"), ("enable.idempotence", "false")]));
    assert!(has_in_flight(&[("max.in.flight", "1"), ("enable.idempotence", "true")]));
    assert!(has_in_flight(&[("max.in.flight", "1"), ("retries", "0")]));
    assert!(has_in_flight(&[("max.in.flight", "3")]));
    assert!(has_in_flight(&[]));
}

/// What a search with these settings of starts comes to on a lab, or elsewhere.
fn restart(settings: &[(&str, &str)], is_lab: bool) -> Result<SettingsSearch, String> {
    let mut scenario = base();
    scenario.load.count = None;
    if !is_lab {
        let bootstrap = Some("127.0.0.1:9092".to_owned());
        scenario.cluster = Some(ClusterWords { bootstrap, ..ClusterWords::default() });
    }
    let restart =
        settings.iter().map(|(name, value)| ((*name).to_owned(), Scalar((*value).to_owned()))).collect();
    scenario.search = Some(SearchWords { restart, ..SearchWords::default() });
    let plan = resolve(&scenario, &Sources::new()).map_err(|error| error.to_string())?;
    Ok(plan.settings_search.unwrap())
}

#[test]
fn what_needs_a_restart_is_no_dimension_and_is_kept_for_the_last_trial() {
    let search = restart(&[("queued.max.requests", "1000"), ("heap", "1g")], true).unwrap();
    assert!(search.dimensions.iter().all(|dimension| !dimension.setting.contains("queued.max.requests")));
    let changes: Vec<(&str, &str, &str)> = search
        .restart
        .iter()
        .map(|change| (change.setting.as_str(), change.from.as_str(), change.to.as_str()))
        .collect();
    assert_eq!(changes, [("heap", "512m", "1g"), ("queued.max.requests", "500", "1000")]);
}

#[test]
fn brokers_are_started_with_nothing_that_changes_a_promise_and_only_those_of_a_lab() {
    let refusal = |settings: &[(&str, &str)], is_lab| restart(settings, is_lab).unwrap_err();
    let flush = refusal(&[("log.flush.interval.messages", "1")], true);
    assert!(flush.contains("log.flush.interval.messages") && flush.contains("promise"), "{flush}");
    assert!(refusal(&[("queued.max.requests", "1000")], false).contains("only the brokers of a lab"));
    assert!(refusal(&[("queued.max.requests", "500")], true).contains("another value than 500"));
    let four: Vec<(&str, &str)> =
        crate::start_setting::START_SETTINGS[1..5].iter().map(|setting| (setting.name, "77")).collect();
    assert!(refusal(&four, true).contains("at most 3"));
}
