mod loads;
mod searches;

use super::*;
use crate::plan::{Keys, Length, LogDirLayout, SizePlan, TopicPlan};
use crate::scenario::{
    ClusterWords, LabWords, LoadWords, LogDirsWords, OneOrMany, RateWords, Scalar, SizeWords,
};
use crate::units::Bytes;

fn base() -> Scenario {
    Scenario {
        cluster: Some(ClusterWords { lab: Some(LabWords::default()), ..ClusterWords::default() }),
        load: LoadWords {
            rate: Some(OneOrMany::One(RateWords::PerSecond(100.0))),
            count: Some(OneOrMany::One(1_000)),
            ..LoadWords::default()
        },
        ..Scenario::default()
    }
}

fn line(line: u32) -> Origin {
    Origin::File { path: "a.yaml".into(), line }
}

#[test]
fn lists_become_one_step_for_each_combination_in_the_order_written() {
    let mut scenario = base();
    scenario.load.rate = Some(OneOrMany::Many([100.0, 300.0].map(RateWords::PerSecond).into()));
    scenario.setups = vec![SetupWords {
        name: Some("low".into()),
        producer: [("linger.ms".into(), OneOrMany::Many(vec![Scalar("0".into()), Scalar("5".into())]))]
            .into(),
        ..SetupWords::default()
    }];
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "low, rate 100, linger.ms 0",
            "low, rate 100, linger.ms 5",
            "low, rate 300, linger.ms 0",
            "low, rate 300, linger.ms 5"
        ]
    );
    assert_eq!(plan.steps[3].load.rate_per_s, Some(300.0));
    assert_eq!(plan.steps[3].producer["linger.ms"], "5");
}

#[test]
fn a_setups_own_value_wins_and_keeps_its_own_origin() {
    let mut scenario = base();
    scenario.setups = vec![
        SetupWords { name: Some("a".into()), ..SetupWords::default() },
        SetupWords {
            name: Some("b".into()),
            load: LoadWords {
                rate: Some(OneOrMany::One(RateWords::PerSecond(300.0))),
                ..LoadWords::default()
            },
            ..SetupWords::default()
        },
    ];
    let sources = Sources::from([("load.rate".into(), line(3)), ("setups.1.load.rate".into(), line(9))]);
    let plan = resolve(&scenario, &sources).unwrap();
    assert_eq!(plan.origins["steps.0.load.rate_per_s"], line(3));
    assert_eq!(plan.origins["steps.1.load.rate_per_s"], line(9));
    assert_eq!(plan.origins["steps.1.load.warm_up"], Origin::Default);
    assert_eq!(plan.steps[1].load.rate_per_s, Some(300.0));
}

#[test]
fn several_steps_run_in_several_blocks_and_one_in_one() {
    let mut scenario = base();
    assert_eq!(resolve(&scenario, &Sources::new()).unwrap().blocks, 1);
    scenario.load.size = Some(OneOrMany::Many(
        ["1KiB", "10KiB"].map(|size| SizeWords(SizePlan::Fixed(size.parse().unwrap()))).into(),
    ));
    assert_eq!(resolve(&scenario, &Sources::new()).unwrap().blocks, 5);
}

#[test]
fn a_changing_rate_is_not_cut_into_blocks() {
    let mut scenario = base();
    scenario.load.producers = Some(OneOrMany::Many(vec![1, 2]));
    scenario.load.schedule =
        Some(Schedule::Ramp { from_per_s: 1.0, to_per_s: 9.0, over: Nanos::from_secs(10) });
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
    scenario.load.rate = None;
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    assert_eq!(
        (plan.blocks, plan.steps[0].load.rate_per_s),
        (1, Some(1_000.0 / (10.0 + 950.0 / 9.0))),
        "a thousand messages: ten seconds of the ramp, and the rest at its end"
    );
}

#[test]
fn a_setup_with_rates_of_its_own_does_not_take_the_rate_of_the_others() {
    let mut scenario = base();
    let ramp = Schedule::Ramp { from_per_s: 1.0, to_per_s: 9.0, over: Nanos::from_secs(10) };
    let load = LoadWords { schedule: Some(ramp), ..LoadWords::default() };
    scenario.setups = vec![SetupWords::default(), SetupWords { load, ..SetupWords::default() }];
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    assert_eq!(
        plan.steps.iter().map(|step| step.load.rate_per_s).collect::<Vec<_>>(),
        [Some(100.0), Some(1_000.0 / (10.0 + 950.0 / 9.0))]
    );
}

#[test]
fn headers_leave_room_for_the_stamp() {
    let mut scenario = base();
    scenario.load.headers = Some([("plumb".to_owned(), "x".to_owned())].into());
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Reserved { .. })));
    let many = (0..11).map(|n| (format!("h{n}"), String::new())).collect();
    scenario.load.headers = Some(many);
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::OutOfBounds { .. })));
}

#[test]
fn setups_without_a_name_are_numbered() {
    let mut scenario = base();
    scenario.load.rate = Some(OneOrMany::Many([100.0, 300.0].map(RateWords::PerSecond).into()));
    scenario.setups = vec![SetupWords::default(), SetupWords::default()];
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    assert_eq!(plan.steps[2].name, "setup 2, rate 100");
}

#[test]
fn a_negative_rate_is_refused_with_its_place_and_bounds() {
    let mut scenario = base();
    scenario.load.rate = Some(OneOrMany::One(RateWords::PerSecond(-5.0)));
    let sources = Sources::from([("load.rate".into(), line(7))]);
    let message = resolve(&scenario, &sources).unwrap_err().to_string();
    assert!(
        message.starts_with("a.yaml:7: load.rate is -5; it must be between 0.01 and 10000000"),
        "{message}"
    );
}

#[test]
fn not_a_number_is_out_of_bounds() {
    let mut scenario = base();
    scenario.load.rate = Some(OneOrMany::One(RateWords::PerSecond(f64::NAN)));
    assert!(resolve(&scenario, &Sources::new()).is_err());
}

#[test]
fn a_named_topic_is_never_altered() {
    let mut scenario = base();
    scenario.topic.name = Some("orders".into());
    assert_eq!(
        resolve(&scenario, &Sources::new()).unwrap().steps[0].topic,
        TopicPlan::Existing { name: "orders".into() }
    );
    scenario.topic.partitions = Some(OneOrMany::One(3));
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
}

#[test]
fn connection_properties_of_a_setup_are_refused_with_the_right_place() {
    let mut scenario = base();
    let secret = [("sasl.password".into(), OneOrMany::One(Scalar("hunter2".into())))].into();
    scenario.setups = vec![SetupWords { name: Some("a".into()), producer: secret, ..SetupWords::default() }];
    let message = resolve(&scenario, &Sources::new()).unwrap_err().to_string();
    assert!(message.contains("client properties file") && !message.contains("hunter2"), "{message}");
}

#[test]
fn two_setups_of_one_name_are_refused() {
    let mut scenario = base();
    scenario.setups = vec![
        SetupWords { name: Some("same".into()), ..SetupWords::default() },
        SetupWords { name: Some("same".into()), ..SetupWords::default() },
    ];
    let sources = [("setups.0.name".to_owned(), line(3)), ("setups.1.name".to_owned(), line(7))].into();
    let same = ResolveError::SameName { place: "a.yaml:7: ".into(), name: "same".into() };
    assert_eq!(resolve(&scenario, &sources), Err(same));
}

#[test]
fn count_and_duration_exclude_each_other_but_a_setup_may_choose_the_other_one() {
    let mut scenario = base();
    scenario.load.duration = Some(OneOrMany::One(Nanos::from_secs(5)));
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
    scenario.load.duration = None;
    scenario.setups = vec![SetupWords {
        load: LoadWords { duration: Some(OneOrMany::One(Nanos::from_secs(5))), ..LoadWords::default() },
        ..SetupWords::default()
    }];
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    assert_eq!(plan.steps[0].load.length, Length::Duration(Nanos::from_secs(5)));
}

/// Two directories, and a topic that is told to lie on one called so.
fn on_log_dir(name: &str) -> Scenario {
    let mut scenario = base();
    let log_dirs = ["sata", "nvme"].map(|name| (name.to_owned(), format!("/mnt/{name}")));
    let log_dirs = LogDirsWords(log_dirs.into());
    let lab = LabWords { log_dirs, ..LabWords::default() };
    scenario.cluster = Some(ClusterWords { lab: Some(lab), ..ClusterWords::default() });
    scenario.topic.log_dir = Some(OneOrMany::One(Scalar(name.into())));
    scenario
}

#[test]
fn a_topic_on_a_log_directory_that_the_lab_does_not_have_is_refused_with_the_names() {
    resolve(&on_log_dir("nvme"), &Sources::new()).unwrap();
    let error = resolve(&on_log_dir("nmve"), &Sources::new()).unwrap_err().to_string();
    assert_eq!(
        error,
        "topic.log_dir is nmve; it must be one of sata, nvme, because it is one of the names in cluster.lab.log_dirs"
    );
}

#[test]
fn log_directories_are_tried_in_the_order_written_so_that_the_first_is_the_reference() {
    let mut scenario = on_log_dir("sata");
    scenario.topic.log_dir = None;
    let plan = resolve(&scenario, &Sources::new()).unwrap();
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["log_dir sata", "log_dir nvme"]);
    assert_eq!(plan.origins["steps.0.topic.log_dir"].to_string(), "each of the lab's log directories");
}

/// Three directories that brokers have together, so many of them used.
fn together(used: OneOrMany<u32>) -> Scenario {
    let mut scenario = base();
    let log_dirs = ["a", "b", "c"].map(|name| (name.to_owned(), format!("/mnt/{name}")));
    let lab = LabWords {
        log_dirs: LogDirsWords(log_dirs.into()),
        log_dir_layout: Some(LogDirLayout::Together),
        log_dirs_used: Some(used),
        ..LabWords::default()
    };
    scenario.cluster = Some(ClusterWords { lab: Some(lab), ..ClusterWords::default() });
    scenario
}

#[test]
fn the_number_of_log_directories_of_a_broker_is_swept_over_each_on_a_lab_of_its_own() {
    let mut scenario = together(OneOrMany::Many(vec![1, 2, 3]));
    scenario.load.producers = Some(OneOrMany::Many(vec![1, 4]));
    let flag = Origin::Flag { flag: "--log-dirs-together".into() };
    let sources: Sources = [("cluster.lab.log_dirs_used".to_owned(), flag.clone())].into();
    let plan = resolve(&scenario, &sources).unwrap();
    let used = |cluster: &ClusterPlan| match cluster {
        ClusterPlan::Lab { brokers, log_dirs, .. } => {
            assert_eq!(*brokers, 1);
            log_dirs.iter().map(|dir| dir.name.clone()).collect::<String>()
        }
        ClusterPlan::Brokers { .. } => panic!(),
    };
    let paths = plan.paths();
    assert_eq!(plan.steps[0].name, "log_dirs_used 1, producers 1");
    assert_eq!(paths.of_step, [0, 0, 1, 1, 2, 2], "steps that differ in their clients share a lab");
    assert_eq!(paths.all.iter().map(|path| used(path)).collect::<Vec<_>>(), ["a", "ab", "abc"]);
    assert_eq!(plan.labs().len(), 3);
    assert_eq!(plan.steps[4].cluster, None, "the lab of most directories is the plan's own");
    assert_eq!(plan.origins["steps.0.cluster.log_dirs"], flag);
}

#[test]
fn directories_beyond_the_largest_number_used_are_left_out() {
    let plan = resolve(&together(OneOrMany::One(2)), &Sources::new()).unwrap();
    assert_eq!((plan.steps.len(), plan.labs().len()), (1, 1));
    let ClusterPlan::Lab { log_dirs, .. } = plan.cluster else { panic!() };
    assert_eq!(log_dirs.len(), 2);
}

#[test]
fn so_many_log_directories_are_used_as_there_are_and_only_together() {
    for wrong in [0, 4] {
        let error = resolve(&together(OneOrMany::Many(vec![1, wrong])), &Sources::new()).unwrap_err();
        let expected = format!(
            "cluster.lab.log_dirs_used is {wrong}; it must be 1 to 3, because so many directories are named in cluster.lab.log_dirs"
        );
        assert_eq!(error.to_string(), expected);
    }
    let mut each = together(OneOrMany::One(1));
    each.cluster.as_mut().and_then(|cluster| cluster.lab.as_mut()).unwrap().log_dir_layout = None;
    let error = resolve(&each, &Sources::new()).unwrap_err().to_string();
    assert!(error.contains("log_dir_layout: together"), "{error}");
}

#[test]
fn a_second_replica_would_lie_on_another_device_and_is_refused() {
    let mut scenario = on_log_dir("nvme");
    scenario.topic.replication = Some(OneOrMany::One(2));
    let error = resolve(&scenario, &Sources::new()).unwrap_err().to_string();
    assert!(error.contains("a second replica would lie on another"), "{error}");
}

#[test]
fn a_property_is_set_by_one_of_its_names_only() {
    let property = |name: &str, value: &str| (name.to_owned(), OneOrMany::One(Scalar(value.to_owned())));
    let mut scenario = base();
    scenario.setups =
        vec![SetupWords { producer: [property("linger.ms", "3")].into(), ..SetupWords::default() }];
    assert!(resolve(&scenario, &Sources::new()).is_ok());
    let (name, value) = property("queue.buffering.max.ms", "40");
    scenario.setups[0].producer.insert(name, value);
    let error = resolve(&scenario, &Sources::new()).unwrap_err();
    assert!(
        matches!(&error, ResolveError::Reserved { path, .. } if path == "producer.queue.buffering.max.ms")
    );
}

/// The base with configs of its topic.
fn with_configs(configs: &[(&str, &str)]) -> Scenario {
    let mut scenario = base();
    for (key, value) in configs {
        let value = OneOrMany::One(Scalar((*value).to_owned()));
        scenario.topic.configs.insert((*key).to_owned(), value);
    }
    scenario
}

#[test]
fn a_topic_that_would_take_none_of_the_records_is_refused() {
    let refusal = |scenario: &Scenario| resolve(scenario, &Sources::new()).unwrap_err().to_string();
    let mut compacted = with_configs(&[("cleanup.policy", "compact,delete")]);
    assert!(refusal(&compacted).contains("only records that have a key"), "{}", refusal(&compacted));
    compacted.load.keys = Some(Keys::RoundRobin { count: 10 });
    resolve(&compacted, &Sources::new()).unwrap();
    let mut narrow = with_configs(&[("max.message.bytes", "500")]);
    narrow.load.size = Some(OneOrMany::One(SizeWords(SizePlan::Fixed(Bytes(1_000)))));
    assert!(refusal(&narrow).contains("more than 1000, the largest value"), "{}", refusal(&narrow));
    narrow.setups = vec![SetupWords {
        producer: [("compression.codec".into(), OneOrMany::One(Scalar("lz4".into())))].into(),
        ..SetupWords::default()
    }];
    resolve(&narrow, &Sources::new()).unwrap();
}
