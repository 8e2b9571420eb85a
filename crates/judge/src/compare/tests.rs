use super::{CompareError, Side, apart_s, compare, seconds};
use crate::healthy::{DEFAULT, LOW, healthy};
use plumb_model::compare::CompareSays;
use plumb_model::document::RunDocument;
use plumb_model::plan::{ClusterPlan, Length, LogDirPlan, Payload, Schedule, TopicPlan};
use plumb_model::trial::{Against, ArmPlan, TrialPlan};
use plumb_model::units::Nanos;

fn side<'a>(document: &'a RunDocument, step: Option<&'a str>) -> Side<'a> {
    Side { document, step }
}

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

/// A trial of these arms, whose reference is run again as the step after them.
fn trial_plan(arms: Vec<ArmPlan>) -> TrialPlan {
    TrialPlan {
        again: arms.len(),
        arms,
        against: Against::Reference,
        primary: "end_to_end.mean".to_owned(),
        margin: 0.03,
        until_decided: false,
        restart_every: 0,
        accept: Vec::new(),
    }
}

#[test]
fn runs_that_differ_by_more_than_their_blocks_are_said_to_and_no_more() {
    let result = compare(side(&healthy(), None), side(&later(3.0), None)).unwrap();
    let names: Vec<&str> = result.steps.iter().map(|step| step.a.as_str()).collect();
    assert_eq!(names, [LOW, DEFAULT]);
    let mean = result.steps[0].metrics.iter().find(|metric| metric.name == "end_to_end.mean").unwrap();
    assert_eq!(mean.says, CompareSays::DiffersMoreThanBlocks);
    assert!((mean.ratio.unwrap() / 3.0 - 1.0).abs() < 1e-9, "{mean:?}");
    assert!(mean.p.is_some_and(|p| p < 0.05), "{mean:?}");
    let same = &result.steps[1].metrics[0];
    assert_eq!(same.says, CompareSays::CannotTell);
    assert_eq!(result.apart_s, Some(86_400));
    assert!(result.cannot_show[1].contains("not \"no change\""));
}

#[test]
fn a_difference_that_the_workers_clocks_could_make_is_not_told_from_blocks() {
    let mean = |share: f64| {
        let mut b = later(3.0);
        for block in &mut b.steps[0].blocks {
            let mean_ns = block.end_to_end.mean_ns.unwrap();
            block.end_to_end.clock_error_ns = Some((mean_ns * share) as u64);
        }
        let result = compare(side(&healthy(), None), side(&b, None)).unwrap();
        result.steps[0].metrics.iter().find(|metric| metric.name == "end_to_end.mean").unwrap().clone()
    };
    // A third of the longer one is all of the shorter one: two thirds are what they differ by.
    let (within, beyond) = (mean(0.75), mean(0.1));
    assert_eq!((within.says, within.p), (CompareSays::CannotTell, None));
    assert!(within.within_low.unwrap() < 1.0 && within.within_high.unwrap() > 3.0, "{within:?}");
    assert_eq!(beyond.says, CompareSays::DiffersMoreThanBlocks);
    assert!(beyond.p.is_some() && beyond.within_low.unwrap() < 2.9, "{beyond:?}");
    assert_eq!(mean(2.0).says, CompareSays::CannotTell, "an error beyond the latency itself");
}

#[test]
fn three_blocks_against_three_cannot_tell_whatever_they_are() {
    let (mut a, mut b) = (healthy(), later(100.0));
    a.steps[0].blocks.truncate(3);
    b.steps[0].blocks.truncate(3);
    let result = compare(side(&a, None), side(&b, None)).unwrap();
    let mean = &result.steps[0].metrics[0];
    assert_eq!((mean.says, mean.within_low, mean.p), (CompareSays::CannotTell, None, None));
    assert!((mean.ratio.unwrap() / 100.0 - 1.0).abs() < 1e-9);
}

#[test]
fn a_step_is_named_by_the_number_that_reports_print_unless_that_is_a_step_s_name() {
    let document = healthy();
    let result = compare(side(&document, Some("1")), side(&document, Some("2"))).unwrap();
    assert_eq!((result.steps[0].a.as_str(), result.steps[0].b.as_str()), (LOW, DEFAULT));
    let mut renamed = healthy();
    renamed.steps[1].name = "1".to_owned();
    let result = compare(side(&renamed, Some("1")), side(&renamed, Some(LOW))).unwrap();
    assert_eq!(result.steps[0].a, "1");
    for wrong in ["0", "3", "#1", "-1"] {
        let error =
            compare(side(&document, Some(wrong)), side(&document, Some(LOW))).unwrap_err().to_string();
        assert!(error.contains(&format!("it has #1 {LOW:?}, #2 ")), "{wrong}: {error}");
    }
}

#[test]
fn how_long_each_was_measured_is_told() {
    let mut b = later(1.0);
    b.plan.steps[0].load.length = Length::Duration(Nanos::from_secs(7));
    let result = compare(side(&healthy(), None), side(&b, None)).unwrap();
    assert_eq!(result.steps[0].b_length, Some(Length::Duration(Nanos::from_secs(7))));
    assert_ne!(result.steps[0].a_length, result.steps[0].b_length);
    assert_eq!(result.steps[1].a_length, result.steps[1].b_length);
}

#[test]
fn unequal_guarantees_settings_and_conditions_are_named() {
    let mut b = later(1.0);
    b.steps[0].durability.acks = Some("0".to_owned());
    b.environment.cluster.version = Some("Apache Kafka 4.1.0".to_owned());
    let result = compare(side(&healthy(), None), side(&b, None)).unwrap();
    assert_eq!(result.steps[0].unequal_guarantees, ["acks: 1 / 0"]);
    assert_eq!(result.steps[0].guarantees_not_known, Vec::<String>::new());
    assert_eq!(result.conditions, ["version of the brokers: not known / Apache Kafka 4.1.0"]);
}

#[test]
fn a_guarantee_that_only_one_of_them_tells_is_not_known_and_no_difference() {
    let mut b = later(1.0);
    b.steps[0].durability.replication = None;
    let mut a = healthy();
    a.steps[0].durability.replication = Some(3);
    let steps = compare(side(&a, None), side(&b, None)).unwrap().steps.remove(0);
    assert_eq!(steps.unequal_guarantees, Vec::<String>::new());
    assert_eq!(steps.guarantees_not_known, ["replication: 3 / not known"]);
}

#[test]
fn a_step_that_is_named_stands_beside_any_other_and_the_trial_that_would_prove_it_is_given() {
    let document = healthy();
    let result = compare(side(&document, Some(DEFAULT)), side(&document, Some(LOW))).unwrap();
    assert_eq!((result.steps[0].a.as_str(), result.steps[0].b.as_str()), (DEFAULT, LOW));
    assert_eq!(result.steps[0].settings, ["producer.queue.buffering.max.ms: 5 / 0"]);
    let arms = result.steps[0].arms.as_ref().unwrap();
    // Arms do not inherit from each other: each has all of its own.
    let each =
        ["before:\n    producer: {\"linger.ms\": \"5\"}", "after:\n    producer: {\"linger.ms\": \"0\"}"];
    assert!(each.iter().all(|arm| arms.contains(arm)), "{arms}");
    let error = compare(side(&document, Some("nothing")), side(&document, None)).unwrap_err();
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
    let arms = compare(side(&a, Some(LOW)), side(&b, Some(LOW))).unwrap().steps[0].arms.clone().unwrap();
    assert!(arms.contains("    cluster: {heap: \"1g\", jvm_flags: [\"-XX:-UseAES\"]}\n"), "{arms}");
    assert!(arms.contains("jvm_flags: []}"), "{arms}");
    if let ClusterPlan::Lab { brokers, .. } = &mut b.plan.cluster {
        *brokers = 3;
    }
    let steps = compare(side(&a, Some(LOW)), side(&b, Some(LOW))).unwrap().steps;
    assert_eq!(steps[0].arms, None);
    assert!(steps[0].no_arms.as_ref().unwrap().contains("not as many brokers"), "{:?}", steps[0].no_arms);
}

#[test]
fn another_load_is_named_and_each_arm_of_the_trial_has_its_own() {
    let (a, mut b) = (healthy(), later(1.0));
    b.plan.steps[0].load.length = Length::Count(77);
    let steps = compare(side(&a, Some(LOW)), side(&b, Some(LOW))).unwrap().steps;
    assert!(steps[0].same_load, "for however long");
    assert!(steps[0].no_arms.as_ref().unwrap().contains("differ in nothing"), "{:?}", steps[0].no_arms);
    let load = &mut b.plan.steps[0].load;
    (load.payload, load.in_flight) = (Payload::Entropy(0.0), Some(5));
    let steps = compare(side(&a, Some(LOW)), side(&b, Some(LOW))).unwrap().steps;
    assert!(!steps[0].same_load);
    assert_eq!(
        steps[0].settings,
        ["load.in_flight: (not set) / 5", "load.payload: {\"entropy\":1.0} / {\"entropy\":0.0}"]
    );
    let arms = steps[0].arms.as_ref().unwrap();
    let own = "    load: {payload: {\"entropy\":0.0}, in_flight: 5}\n";
    assert!(arms.find(own) > arms.find("  after:"), "{arms}");
    assert_eq!(arms.matches("    load:").count(), 1, "{arms}");
}

#[test]
fn what_was_done_around_the_blocks_and_where_the_logs_were_is_part_of_the_trial() {
    let mut document = healthy();
    let arm = |name: &str, step: usize, before: Option<&str>| ArmPlan {
        name: name.to_owned(),
        step,
        differences: [].into(),
        before: before.map(str::to_owned),
        after: None,
        host: before.map(|_| ("vm.swappiness".to_owned(), "1".to_owned())).into_iter().collect(),
    };
    document.plan.trial =
        Some(trial_plan(vec![arm(LOW, 0, None), arm(DEFAULT, 1, Some("echo \"a\"\ntrue"))]));
    if let ClusterPlan::Lab { log_dirs, .. } = &mut document.plan.cluster {
        log_dirs.push(LogDirPlan { name: "nvme".to_owned(), path: "/mnt/a".to_owned() });
    }
    if let TopicPlan::Own { log_dir, .. } = &mut document.plan.steps[1].topic {
        *log_dir = Some("nvme".to_owned());
    }
    let steps = compare(side(&document, Some(LOW)), side(&document, Some(DEFAULT))).unwrap().steps;
    let arms = steps[0].arms.as_ref().unwrap();
    for part in [
        "log_dirs: {\"nvme\": \"/mnt/a\"}",
        "    before: \"echo \\\"a\\\"\\ntrue\"\n",
        "    host: {\"vm.swappiness\": \"1\"}\n",
        "log_dir: \"nvme\"}",
    ] {
        assert!(arms.contains(part), "{part}: {arms}");
    }
}

#[test]
fn where_no_trial_can_hold_two_steps_the_reason_is_said() {
    let why = |change: &dyn Fn(&mut RunDocument)| {
        let mut b = later(1.0);
        change(&mut b);
        compare(side(&healthy(), Some(LOW)), side(&b, Some(LOW))).unwrap().steps[0].no_arms.clone().unwrap()
    };
    assert!(why(&|b| b.plan.steps.clear()).contains("not in their documents"));
    let ramp = Schedule::Ramp { from_per_s: 1.0, to_per_s: 9.0, over: Nanos::from_secs(1) };
    assert!(why(&|b| b.plan.steps[0].load.schedule = ramp.clone()).contains("no rate that changes"));
    let dir = || LogDirPlan { name: "nvme".to_owned(), path: "/mnt/a".to_owned() };
    let with_dir = |b: &mut RunDocument| {
        if let ClusterPlan::Lab { log_dirs, .. } = &mut b.plan.cluster {
            log_dirs.push(dir());
        }
    };
    assert!(why(&with_dir).contains("other log directories"));
}

#[test]
fn runs_without_a_step_of_the_same_name_say_what_they_have() {
    let mut other = healthy();
    other.steps.iter_mut().for_each(|step| step.name.push('x'));
    assert!(matches!(
        compare(side(&healthy(), None), side(&other, None)),
        Err(CompareError::NothingInCommon { .. })
    ));
}

#[test]
fn times_are_seconds_since_1970() {
    // date -u -d 2026-11-20T15:04:05Z +%s
    assert_eq!(seconds("2026-11-20T15:04:05Z"), Some(1_795_187_045));
    assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(apart_s("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z"), Some(2 * 86_400));
    assert_eq!(seconds("yesterday"), None);
}

#[test]
fn a_run_is_not_held_against_itself_and_two_steps_of_a_trial_point_to_its_verdict() {
    let mut run = healthy();
    for step in [None, Some(LOW)] {
        let error = compare(side(&run, step), side(&run, step)).unwrap_err();
        assert_eq!(error, CompareError::Itself { run: run.run.id.clone() });
    }
    let said =
        |run: &RunDocument| compare(side(run, Some(LOW)), side(run, Some(DEFAULT))).unwrap().cannot_show;
    assert!(said(&run)[0].contains("between the two steps"), "{:?}", said(&run));
    assert!(said(&run)[2].starts_with("As much as the run itself"), "{:?}", said(&run));
    run.plan.trial = Some(trial_plan(Vec::new()));
    assert!(said(&run)[2].starts_with("As much as the trial"), "{:?}", said(&run));
}
