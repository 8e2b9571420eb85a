//! The rules hold what they say on loads whose waits are known.

use super::*;
use crate::best::Physics;
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{ClusterWords, LoadWords, Scenario, SearchWords, SetupWords};
use plumb_model::scenario::{OneOrMany, RateWords, Scalar};
use plumb_model::units::Nanos;

/// A search from a linger of 100 ms at 300 messages per second of 1 KiB.
fn plan(goal: Option<&str>) -> Plan {
    let setup = SetupWords {
        producer: [("linger.ms".to_owned(), OneOrMany::One(Scalar("100".to_owned())))].into(),
        ..SetupWords::default()
    };
    let load = LoadWords {
        rate: Some(OneOrMany::One(RateWords::PerSecond(300.0))),
        duration: Some(OneOrMany::One(Nanos::from_secs(20))),
        ..LoadWords::default()
    };
    let search = SearchWords { goal: goal.map(|goal| goal.parse().unwrap()), ..SearchWords::default() };
    let cluster =
        Some(ClusterWords { bootstrap: Some("127.0.0.1:9092".to_owned()), ..ClusterWords::default() });
    let scenario =
        Scenario { cluster, setups: vec![setup], load, search: Some(search), ..Scenario::default() };
    resolve(&scenario, &Sources::new()).unwrap()
}

fn settings(pairs: &[(&str, &str)]) -> Properties {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn is_possible(plan: &Plan, path: PathFacts, changed: &[(&str, &str)]) -> bool {
    let result = SettingsSearchResult { path: Some(path), ..SettingsSearchResult::default() };
    let course = Course::of(plan, &result).unwrap();
    course.physics().is_possible(&Point(course.search.point(&settings(changed))))
}

#[test]
fn a_linger_beyond_the_goal_is_ruled_out_and_one_that_a_full_batch_ends_is_not() {
    let plan = plan(Some("p99=20ms"));
    let path = PathFacts { round_trip_ns: Some(1_000_000), objective: Some(1e8) };
    assert!(!is_possible(&plan, path, &[("producer.linger.ms", "100")]));
    assert!(is_possible(&plan, path, &[("producer.linger.ms", "16")]));
    // 4 records of 1 KiB fill it, and come in 13 ms at 300 per second.
    assert!(is_possible(&plan, path, &[("producer.linger.ms", "100"), ("producer.batch.size", "4096")]));
}

#[test]
fn a_fetch_that_waits_beyond_the_goal_is_ruled_out() {
    let plan = plan(Some("p99=20ms"));
    let path = PathFacts { round_trip_ns: None, objective: None };
    let low = ("producer.linger.ms", "0");
    let fetch =
        |bytes, wait| [low, ("consumer.fetch.min.bytes", bytes), ("consumer.fetch.wait.max.ms", wait)];
    assert!(!is_possible(&plan, path, &fetch("65536", "500")));
    assert!(is_possible(&plan, path, &fetch("65536", "10")));
    assert!(is_possible(&plan, path, &fetch("1", "500")));
}

#[test]
fn without_a_goal_a_wait_is_too_long_beyond_the_latency_that_there_is() {
    let plan = plan(None);
    let path = PathFacts { round_trip_ns: None, objective: Some(30e6) };
    assert!(!is_possible(&plan, path, &[("producer.linger.ms", "63")]));
    assert!(is_possible(&plan, path, &[("producer.linger.ms", "25")]));
}

#[test]
fn laws_count_a_linger_as_a_wait_in_the_objectives_unit_and_its_requests_by_the_load() {
    use crate::best::Part;
    let plan = plan(Some("p99=20ms"));
    let result = SettingsSearchResult::default();
    let course = Course::of(&plan, &result).unwrap();
    let physics = course.physics();
    let at = |linger: &str| Point(course.search.point(&settings(&[("producer.linger.ms", linger)])));
    // 99 of 100 messages wait no longer than 99 % of 10 ms, which is half of the goal.
    let [Part::Known(wait), Part::Queue(_)] = physics.goal(&at("10"))[..] else { panic!() };
    assert!((wait - 0.495).abs() < 1e-9, "{wait}");
    let requests = |linger: &str| match physics.objective(&at(linger))[..] {
        [Part::Proportional(requests), Part::Proportional(_)] => requests,
        _ => panic!(),
    };
    // Nothing gathers without a linger: a request for each message.
    assert!((requests("0") - 1.0).abs() < 1e-9 && requests("100") < requests("10"));
}

#[test]
fn the_space_has_no_setting_without_effect_on_the_path() {
    let plan = plan(None);
    let search = plan.settings_search.as_ref().unwrap();
    let is_there = |name: &str| search.dimensions.iter().any(|dimension| dimension.setting == name);
    assert!(is_there("producer.linger.ms") && is_there("consumer.fetch.min.bytes"));
    assert!(!is_there("producer.compression.type"), "random bytes do not compress");
    assert_eq!(search.current("producer.linger.ms"), Some("100"));
    assert_eq!(search.metric, "end_to_end.p99");
    assert_eq!(plan.steps[0].load.planned_s(), Some(800.0));
}

#[test]
fn blocks_that_another_one_beats_in_everything_are_not_of_the_front() {
    let block = |linger: &str, p99_ms: f64, cpu_us: f64| SearchBlock {
        settings: [("producer.linger.ms".to_owned(), linger.to_owned())].into(),
        purpose: BestPurpose::Explore,
        started_at: String::new(),
        objective: Some(p99_ms),
        goal_ratio: None,
        feasible: None,
        aborted: false,
        failed: None,
        refused: None,
        measured_s: 20.0,
        achieved_per_s: Some(300.0),
        p50_ns: None,
        p99_ns: Some(p99_ms * 1e6),
        cpu_per_message_us: Some(cpu_us),
    };
    let aborted = SearchBlock { aborted: true, ..block("e", 0.1, 0.1) };
    assert_eq!(
        front(&[
            block("a", 1.0, 9.0),
            block("b", 2.0, 5.0),
            block("c", 2.5, 6.0),
            block("d", 9.0, 1.0),
            aborted
        ]),
        [0, 1, 3]
    );
    // The lucky one of three equal settings is no better than the others.
    let alike = [block("a", 1.0, 5.0), block("b", 3.0, 4.0), block("b", 0.5, 0.5), block("b", 4.0, 6.0)];
    assert_eq!(front(&alike), [0, 1]);
}

#[test]
fn a_finding_advises_a_start_of_a_labs_brokers_unless_they_have_it_or_are_no_lab() {
    let mut plan = plan(None);
    let advising = |id: &str| Finding::new(id, plumb_model::finding::Severity::Note, String::new());
    let all =
        [advising("request-queue-full"), advising("few-replica-fetchers"), advising("request-queue-full")];
    assert_eq!(advised_restart(&plan, &all), [], "brokers that are there are not started");
    let lab = |properties: &[(&str, &str)]| plumb_model::plan::ClusterPlan::Lab {
        brokers: 1,
        tls: false,
        inter_broker: plumb_model::plan::InterBroker::default(),
        broker_properties: settings(properties),
        jvm_flags: Vec::new(),
        heap: "512m".to_owned(),
        log_dirs: Vec::new(),
        log_dir_layout: plumb_model::plan::LogDirLayout::default(),
    };
    plan.cluster = lab(&[("queued.max.requests", "8")]);
    let advised = advised_restart(&plan, &all);
    let told: Vec<(&str, &str, &str)> = advised
        .iter()
        .map(|change| (change.setting.as_str(), change.from.as_str(), change.to.as_str()))
        .collect();
    assert_eq!(told, [("queued.max.requests", "8", "500"), ("num.replica.fetchers", "1", "4")]);
    // The default is what is advised, and what there is.
    plan.cluster = lab(&[]);
    assert_eq!(advised_restart(&plan, &all).len(), 1);
    // What the scenario names comes first, and is not tried at two values.
    let mut search = plan.settings_search.clone().unwrap();
    let named =
        StartChange { setting: "num.replica.fetchers".to_owned(), to: "2".to_owned(), ..advised[1].clone() };
    search.restart = vec![named.clone()];
    let result = SettingsSearchResult { advised_restart: advised.clone(), ..SettingsSearchResult::default() };
    assert_eq!(restarts(&search, &result), [named, advised[0].clone()]);
}
