use crate::plan::{ClusterPlan, Length, Origin, Plan};
use crate::resolve::{ResolveError, Sources, resolve};
use crate::scenario::{
    ArmClusterWords, ArmLabWords, ArmWords, ArmsWords, ClusterWords, LabWords, LoadWords, MarginWords,
    OneOrMany, RateWords, Scalar, Scenario, SetupWords, TrialWords,
};
use crate::trial::Against;
use crate::units::Nanos;
use crate::verdict::Verdict;

fn scalar(text: &str) -> OneOrMany<Scalar> {
    OneOrMany::One(Scalar(text.into()))
}

fn linger(ms: &str) -> ArmWords {
    ArmWords { producer: [("linger.ms".to_owned(), scalar(ms))].into(), ..ArmWords::default() }
}

fn of_arms(arms: Vec<(&str, ArmWords)>) -> Scenario {
    Scenario {
        cluster: Some(ClusterWords { lab: Some(LabWords::default()), ..ClusterWords::default() }),
        load: LoadWords {
            rate: Some(OneOrMany::One(RateWords::PerSecond(100.0))),
            duration: Some(OneOrMany::One(Nanos::from_secs(20))),
            ..LoadWords::default()
        },
        arms: ArmsWords(arms.into_iter().map(|(name, arm)| (name.to_owned(), arm)).collect()),
        ..Scenario::default()
    }
}

fn two() -> Scenario {
    of_arms(vec![("default", ArmWords::default()), ("low", linger("0"))])
}

fn plan(scenario: &Scenario) -> Plan {
    resolve(scenario, &Sources::new()).unwrap()
}

fn refusal(scenario: &Scenario) -> String {
    resolve(scenario, &Sources::new()).unwrap_err().to_string()
}

#[test]
fn each_arm_is_a_step_and_the_reference_one_more() {
    let plan = plan(&two());
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["default", "low", "default, again"]);
    let trial = plan.trial.unwrap();
    assert_eq!((trial.again, trial.arms.len(), plan.blocks), (2, 2, 12));
    assert_eq!((trial.against, trial.margin, trial.restart_every), (Against::Reference, 0.03, 0));
    assert_eq!(trial.accept, [Verdict::Better, Verdict::Equivalent]);
    assert_eq!(plan.steps[0].producer, plan.steps[2].producer);
}

#[test]
fn the_length_written_is_that_of_one_block_and_its_origin_says_so() {
    let sources = Sources::from([("load.duration".into(), Origin::File { path: "a.yaml".into(), line: 3 })]);
    let plan = resolve(&two(), &sources).unwrap();
    assert_eq!(plan.steps[1].load.length, Length::Duration(Nanos::from_secs(240)));
    let origin = plan.origins["steps.1.load.length"].to_string();
    assert_eq!(origin, "12 blocks of the length written (a.yaml:3)");
}

#[test]
fn a_value_in_other_words_or_under_another_name_is_no_difference() {
    let of = |key: &str, value: &str| ArmWords {
        producer: [(key.to_owned(), OneOrMany::One(Scalar(value.to_owned())))].into(),
        ..ArmWords::default()
    };
    let scenario = of_arms(vec![
        ("default", of("linger.ms", "5")),
        ("same", of("queue.buffering.max.ms", "5.0")),
        ("other", of("queue.buffering.max.ms", "5.5")),
    ]);
    let arms = plan(&scenario).trial.unwrap().arms;
    assert_eq!(arms[1].differences, [].into());
    let other = ("producer.queue.buffering.max.ms".to_owned(), "5.5".to_owned());
    assert_eq!(arms[2].differences, [other].into());
}

#[test]
fn arms_of_one_name_are_refused_for_the_reason_that_they_are() {
    let refusal = |arms| resolve(&of_arms(arms), &Sources::new()).unwrap_err().to_string();
    let two = refusal(vec![("default", linger("5")), ("low", linger("0")), ("low", linger("0"))]);
    assert!(two.starts_with("two arms are called \"low\""), "{two}");
    let reference = refusal(vec![("default", linger("5")), ("default", linger("5"))]);
    assert!(reference.starts_with("the reference and an arm are both called \"default\""), "{reference}");
    let again = refusal(vec![("default", linger("5")), ("default, again", linger("0"))]);
    assert!(again.contains("the reference runs once more under that name"), "{again}");
}

#[test]
fn an_arms_own_lab_says_of_each_value_where_it_is_written() {
    let mut scenario = two();
    scenario.arms.0[1].1.cluster =
        Some(ArmClusterWords::Lab(ArmLabWords { heap: Some("1g".into()), ..ArmLabWords::default() }));
    let at = |line| Origin::File { path: "a.yaml".into(), line };
    let sources = Sources::from([
        ("cluster".into(), at(1)),
        (format!("arms.{}.cluster", scenario.arms.0[1].0), at(7)),
        (format!("arms.{}.cluster.heap", scenario.arms.0[1].0), at(8)),
    ]);
    let origins = resolve(&scenario, &sources).unwrap().origins;
    assert_eq!(origins["steps.1.cluster.heap"], at(8));
    assert_eq!(origins["steps.1.cluster.brokers"], Origin::Default);
    assert_eq!(origins["steps.1.cluster.jvm_flags"], Origin::Default);
    assert_eq!(origins["steps.1.cluster.kind"], at(1));
}

#[test]
fn an_arms_differences_are_what_it_has_that_the_reference_has_not() {
    let mut scenario = of_arms(vec![
        ("default", linger("5")),
        ("same", linger("5")),
        ("low", linger("0")),
        ("none", ArmWords { before: Some("true".into()), ..ArmWords::default() }),
    ]);
    scenario.arms.0[2].1.host = [("vm.swappiness".to_owned(), Scalar("1".into()))].into();
    let arms = plan(&scenario).trial.unwrap().arms;
    assert!(arms[0].differences.is_empty() && arms[1].differences.is_empty());
    let of = |arm: usize| {
        arms[arm].differences.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>()
    };
    assert_eq!(of(2), ["host.vm.swappiness: 1", "producer.linger.ms: 0"]);
    assert_eq!(of(3), ["before: true", "producer.linger.ms: (not set)"]);
}

#[test]
fn an_arm_with_brokers_of_its_own_has_a_lab_and_so_has_the_reference_once_more() {
    let mut scenario = two();
    let flags =
        ArmClusterWords::Lab(ArmLabWords { jvm_flags: vec!["-XX:-UseAES".into()], ..ArmLabWords::default() });
    scenario.arms.0[1].1.cluster = Some(flags);
    let plan = plan(&scenario);
    assert_eq!(plan.steps[0].cluster, None);
    assert_eq!(plan.steps[2].cluster.as_ref(), Some(&plan.cluster));
    let Some(ClusterPlan::Lab { jvm_flags, brokers: 1, .. }) = &plan.steps[1].cluster else {
        panic!("{:?}", plan.steps[1].cluster)
    };
    assert_eq!(jvm_flags, &["-XX:-UseAES"]);
    let trial = plan.trial.unwrap();
    // Six starts of the brokers over twelve pairs.
    assert_eq!(trial.restart_every, 2);
    assert!(
        plan.origins["trial.restart_every"].to_string().contains("6 starts"),
        "{:?}",
        plan.origins["trial.restart_every"]
    );
    assert_eq!(trial.arms[1].differences["cluster.jvm_flags"], "-XX:-UseAES");
}

#[test]
fn looking_after_every_pair_needs_a_start_of_the_brokers_for_each() {
    let mut scenario = two();
    let jvm_flags = vec!["-XX:-UseAES".to_owned()];
    scenario.arms.0[1].1.cluster =
        Some(ArmClusterWords::Lab(ArmLabWords { jvm_flags, ..ArmLabWords::default() }));
    let words =
        |restart_every| TrialWords { until_decided: Some(true), restart_every, ..TrialWords::default() };
    scenario.trial = Some(words(None));
    assert_eq!(plan(&scenario).trial.unwrap().restart_every, 1);
    for allowed in [0, 1] {
        scenario.trial = Some(words(Some(allowed)));
        assert_eq!(plan(&scenario).trial.unwrap().restart_every, allowed);
    }
    scenario.trial = Some(words(Some(2)));
    let message = refusal(&scenario);
    assert!(
        message.contains("trial.until_decided") && message.contains("the start is the unit"),
        "{message}"
    );
}

#[test]
fn an_arm_whose_lab_is_the_scenarios_needs_none_of_its_own() {
    let mut scenario = two();
    scenario.arms.0[1].1.cluster =
        Some(ArmClusterWords::Lab(ArmLabWords { tls: Some(false), ..ArmLabWords::default() }));
    let plan = plan(&scenario);
    assert!(plan.steps.iter().all(|step| step.cluster.is_none()));
}

#[test]
fn brokers_that_are_there_cannot_be_started_differently() {
    let mut scenario = two();
    let bootstrap = Some("host:9092".to_owned());
    scenario.cluster = Some(ClusterWords { bootstrap, ..ClusterWords::default() });
    scenario.arms.0[1].1.cluster = Some(ArmClusterWords::Lab(ArmLabWords::default()));
    assert!(refusal(&scenario).contains("only the brokers of a lab"), "{}", refusal(&scenario));
    scenario.arms.0[1].1.cluster = None;
    scenario.trial = Some(TrialWords { restart_every: Some(2), ..TrialWords::default() });
    assert!(refusal(&scenario).contains("restart"), "{}", refusal(&scenario));
}

#[test]
fn arms_and_setups_exclude_each_other() {
    let mut scenario = two();
    scenario.setups = vec![SetupWords::default()];
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
}

#[test]
fn one_arm_is_no_trial() {
    let scenario = of_arms(vec![("default", ArmWords::default())]);
    assert_eq!(
        refusal(&scenario),
        "arms is 1 arm; it must be at least 2, because the first is the reference of the others"
    );
}

#[test]
fn a_list_within_an_arm_is_refused_with_the_reason() {
    let mut arm = linger("0");
    arm.producer.insert("linger.ms".into(), OneOrMany::Many(["0", "5"].map(|ms| Scalar(ms.into())).into()));
    let message = refusal(&of_arms(vec![("default", ArmWords::default()), ("low", arm)]));
    assert!(
        message.starts_with("arms.low is several settings (low, linger.ms 0; low, linger.ms 5; ...)"),
        "{message}"
    );
    assert!(message.contains("give each value an arm of its own"), "{message}");
}

#[test]
fn the_99th_percentile_decides_where_blocks_are_long_enough_and_the_mean_elsewhere() {
    let primary = |scenario: &Scenario| plan(scenario).trial.unwrap().primary;
    let mut scenario = two();
    assert_eq!(primary(&scenario), "end_to_end.p99");
    scenario.load.duration = Some(OneOrMany::One(Nanos::from_secs(5)));
    assert_eq!(primary(&scenario), "end_to_end.mean");
    scenario.load.consumers = Some(OneOrMany::One(0));
    assert_eq!(primary(&scenario), "acknowledge.mean");
    scenario.load.rate = Some(OneOrMany::One(RateWords::Max));
    assert_eq!(primary(&scenario), "throughput.produced_per_s");
}

#[test]
fn a_quantile_that_no_block_has_samples_for_is_refused_with_the_number_that_would_do() {
    let mut scenario = two();
    scenario.load.duration = Some(OneOrMany::One(Nanos::from_secs(5)));
    scenario.trial = Some(TrialWords { primary: Some("end_to_end.p99".into()), ..TrialWords::default() });
    let message = refusal(&scenario);
    assert!(message.contains("blocks with 500 messages") && message.contains("at least 1000"), "{message}");
}

#[test]
fn a_metric_that_there_is_not_is_refused_with_those_that_there_are() {
    let mut scenario = two();
    scenario.trial = Some(TrialWords { primary: Some("p99".into()), ..TrialWords::default() });
    assert!(refusal(&scenario).contains("end_to_end.p99, end_to_end.p999"), "{}", refusal(&scenario));
}

#[test]
fn a_metric_that_says_nothing_of_these_loads_is_refused_with_those_that_do() {
    let refused = |scenario: &Scenario, primary: &str| {
        let trial = TrialWords { primary: Some(primary.into()), ..TrialWords::default() };
        refusal(&Scenario { trial: Some(trial), ..scenario.clone() })
    };
    let fixed = two();
    for (primary, why) in [
        ("throughput.produced_per_s", "at a fixed rate the throughput is the one asked for"),
        ("throughput.received_per_s", "at a fixed rate the throughput is the one asked for"),
        ("drain_s", "only load.mode backlog has a backlog to drain"),
    ] {
        let message = refused(&fixed, primary);
        for part in ["it must be one of end_to_end.mean, end_to_end.p50", "cpu.client_per_message", why] {
            assert!(message.contains(part), "{part}: {message}");
        }
        // 2,000 messages a block have no p99.9 either.
        assert!(!message.contains("throughput.") || message.matches("throughput.").count() == 1, "{message}");
        assert!(!message.contains("p999"), "{message}");
    }
    let mut fast = two();
    fast.load.rate = Some(OneOrMany::One(RateWords::Max));
    let message = refused(&fast, "end_to_end.mean");
    assert!(
        message.contains("one of throughput.produced_per_s, throughput.received_per_s, cpu."),
        "{message}"
    );
    fast.load.consumers = Some(OneOrMany::One(0));
    assert!(refused(&fast, "throughput.received_per_s").contains("nobody receives"));
    // One arm as fast as it can, the other at a rate: neither latency nor throughput is told of both.
    let mut mixed = two();
    mixed.arms.0[1].1.load.rate = Some(OneOrMany::One(RateWords::Max));
    let message = refusal(&mixed);
    assert!(
        message.contains("it must be one of cpu.client_per_message, cpu.broker_per_message"),
        "{message}"
    );
}

#[test]
fn each_against_each_needs_two_arms_of_equal_load() {
    let mut scenario = two();
    scenario.trial = Some(TrialWords { against: Some(Against::EachOther), ..TrialWords::default() });
    assert_eq!(plan(&scenario).trial.unwrap().against, Against::EachOther);
    scenario.arms.0[1].1.load.producers = Some(OneOrMany::One(4));
    let message = refusal(&scenario);
    assert!(
        message.contains("trial.against is each_other; it must be reference, or two of the arms"),
        "{message}"
    );
}

#[test]
fn pairs_are_fixed_or_bounded_and_never_both() {
    let mut scenario = two();
    let words = |pairs, until_decided, max_pairs| {
        Some(TrialWords { pairs, until_decided, max_pairs, ..TrialWords::default() })
    };
    scenario.trial = words(Some(8), Some(true), None);
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
    scenario.trial = words(None, None, Some(20));
    assert!(matches!(resolve(&scenario, &Sources::new()), Err(ResolveError::Conflict { .. })));
    scenario.trial = words(None, Some(true), None);
    let plan = plan(&scenario);
    assert_eq!((plan.blocks, plan.trial.unwrap().until_decided), (40, true));
}

#[test]
fn a_margin_outside_its_bounds_is_refused() {
    let mut scenario = two();
    for margin in [0.0, -0.1, 3.0, f64::NAN] {
        scenario.trial = Some(TrialWords { margin: Some(MarginWords(margin)), ..TrialWords::default() });
        assert!(refusal(&scenario).contains("trial.margin"), "{margin}");
    }
}

#[test]
fn an_arm_called_as_the_references_repetition_is_refused() {
    let scenario = of_arms(vec![("a", ArmWords::default()), ("a, again", linger("0"))]);
    assert!(refusal(&scenario).contains("call the arm differently"), "{}", refusal(&scenario));
}

#[test]
fn a_rate_that_changes_cannot_be_cut_into_pairs() {
    let mut scenario = two();
    scenario.load.rate = None;
    let steps = vec![crate::plan::RateStep { rate_per_s: 5.0, hold: Nanos::from_secs(1) }];
    scenario.load.schedule = Some(crate::plan::Schedule::Steps(steps));
    assert!(refusal(&scenario).contains("load.schedule"), "{}", refusal(&scenario));
}

#[test]
fn margins_are_read_as_people_write_them() {
    let read = |text: &str| text.parse::<MarginWords>().map(|margin| margin.0);
    assert_eq!((read("3%"), read("0.03"), read(" 2.5 % ")), (Ok(0.03), Ok(0.03), Ok(0.025)));
    assert!(read("much").is_err());
    assert!(read("-3%").unwrap_err().contains("a difference of -3 %; expected one between 0 and 100 %"));
    assert!(read("300%").unwrap_err().contains("a difference of 300 %"));
    assert!(read("3").unwrap_err().contains("3 % is written 3%"));
}
