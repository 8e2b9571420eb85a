//! The faults of trials: arms that something makes unequal, a setting that is not in effect, a run unfit for use, a trial that ended early. Each is said.

use super::trials::{caveat, primary, result, trial_of, verdict};
use crate::judge;
use plumb_model::document::{AfterWarmUp, Effective, RunState, StepResult};
use plumb_model::plan::{ClientProgram, Driver, ExternalPlan, JavaClient, Properties};
use plumb_model::verdict::Verdict;

#[test]
fn unequal_guarantees_are_said_before_anything_else() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[1].durability.acks = Some("0".to_owned());
    document.steps[1].effective.producer.insert("security.protocol".to_owned(), "plaintext".to_owned());
    document.steps[0].effective.producer.insert("security.protocol".to_owned(), "ssl".to_owned());
    let result = result(&document);
    assert_eq!(
        result.unequal_guarantees,
        [
            "\"default\" and \"low\" differ in durability and security, so in what they promise (acks: 1 / 0; producer \
             security.protocol: ssl / plaintext)"
        ]
    );
    assert!(
        result.summary[0].starts_with("\"default\" and \"low\" differ in durability"),
        "{:?}",
        result.summary
    );
    assert_eq!(result.arms[1].effective_differences["producer.security.protocol"], "plaintext");
}

#[test]
fn what_was_asked_for_and_is_not_in_effect_is_said() {
    let mut document = trial_of(&[("low", 1.0)], 12, 1);
    let value = document.steps[0].effective.producer.clone();
    document.steps[1].effective.producer = value;
    let result = result(&document);
    assert!(caveat(&result, "it is not in effect").is_some(), "{:?}", result.findings);
    assert!(result.arms[1].effective_differences.is_empty());
    document.steps[1].effective = Effective::default();
    assert!(
        caveat(&judge(&document).trial.unwrap(), "not in effect").is_none(),
        "what is not known is no finding"
    );
}

#[test]
fn of_another_client_differs_what_both_have_in_another_sense_and_what_somebody_wrote() {
    let mut document = trial_of(&[("java", 1.0)], 12, 1);
    let properties = |of: &[(&str, &str)]| -> Properties {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let java = ClientProgram::Java(JavaClient::default());
    let plan = &mut document.plan.steps[1];
    plan.driver = Driver::External;
    plan.external = Some(ExternalPlan { producer: java, consumer: ClientProgram::Librdkafka });
    plan.producer = properties(&[("buffer.memory", "1048576")]);
    document.steps[0].effective.producer = properties(&[
        ("queue.buffering.max.ms", "5"),
        ("request.required.acks", "-1"),
        ("security.protocol", "plaintext"),
        ("queue.buffering.backpressure.threshold", "1"),
    ]);
    document.steps[1].effective.producer = properties(&[
        ("linger.ms", "0"),
        ("acks", "all"),
        ("security.protocol", "PLAINTEXT"),
        ("metadata.recovery.strategy", "rebootstrap"),
        ("buffer.memory", "1048576"),
    ]);
    let differences = &result(&document).arms[1].effective_differences;
    let told: Vec<String> = differences.iter().map(|(path, value)| format!("{path}: {value}")).collect();
    assert_eq!(
        told,
        [
            "driver: {\"producer\":\"java\",\"consumer\":\"librdkafka\"}",
            "producer.buffer.memory: 1048576",
            "producer.linger.ms: 0"
        ]
    );
}

#[test]
fn a_value_in_other_words_or_under_another_name_is_in_effect() {
    for (asked, read_back) in [
        (("producer.socket.nagle.disable", "1"), ("socket.nagle.disable", "true")),
        (("producer.max.in.flight", "5.0"), ("max.in.flight.requests.per.connection", "5")),
    ] {
        let mut document = trial_of(&[("low", 1.0)], 12, 1);
        for step in &mut document.steps {
            step.effective.producer.insert(read_back.0.to_owned(), read_back.1.to_owned());
        }
        let trial = document.plan.trial.as_mut().unwrap();
        trial.arms[1].differences = [(asked.0.to_owned(), asked.1.to_owned())].into();
        let all = result(&document);
        assert!(caveat(&all, "not in effect").is_none(), "{:?}", all.findings);
        let trial = document.plan.trial.as_mut().unwrap();
        trial.arms[1].differences = [(asked.0.to_owned(), "0".to_owned())].into();
        assert!(caveat(&result(&document), "not in effect").is_some(), "{asked:?}");
    }
}

#[test]
fn a_generator_that_was_the_bound_proves_nothing_of_the_arms() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[1].slip.mean_ns = Some(9e8);
    let result = result(&document);
    assert_eq!(verdict(&result), Verdict::Undecided);
    assert!(result.verdicts[0].vetoes[0].contains("not fit for use"), "{:?}", result.verdicts);
}

#[test]
fn whatever_makes_the_run_unfit_for_use_vetoes() {
    let mut failed = trial_of(&[("low", 0.25)], 12, 1);
    failed.run.state = RunState::Failed { error: "the brokers are gone".to_owned() };
    let mut outgrown = trial_of(&[("low", 0.25)], 12, 1);
    outgrown.steps[0].latency.end_to_end.overflow = 1;
    for document in [failed, outgrown] {
        let result = result(&document);
        assert_eq!(primary(&result).verdict, Verdict::Better);
        assert_eq!(verdict(&result), Verdict::Undecided);
        assert!(result.verdicts[0].vetoes[0].contains("not fit for use"), "{:?}", result.verdicts);
        assert_eq!(result.noise_floor_ratio, None, "{:?}", result.findings);
    }
}

/// The harm that an arm does to itself flatters it: it can be worse and not better, and as an opponent be beaten and not beat.
fn speaks_against_itself_alone(harm: impl Fn(&mut StepResult)) {
    let verdict_of = |factor: f64, harmed: usize| {
        let mut document = trial_of(&[("other", factor)], 12, 1);
        harm(&mut document.steps[harmed]);
        let result = result(&document);
        assert_eq!(result.verdicts[0].vetoes.is_empty(), verdict(&result) != Verdict::Undecided);
        verdict(&result)
    };
    let (arm, reference) = (1, 0);
    assert_eq!(verdict_of(2.0, arm), Verdict::Worse);
    assert_eq!(verdict_of(0.5, arm), Verdict::Undecided);
    assert_eq!(verdict_of(0.5, reference), Verdict::Better);
    assert_eq!(verdict_of(2.0, reference), Verdict::Undecided);
}

/// Messages that fail have no latency, so the arm's is flattered.
#[test]
fn failed_messages_take_nothing_from_a_verdict_against_their_own_arm() {
    speaks_against_itself_alone(|step| {
        let (counts, latency) = (&mut step.counts, &mut step.latency.acknowledge);
        counts.failed = counts.sent / 10;
        counts.acked -= counts.failed;
        latency.samples -= counts.failed;
    });
}

/// Its latency grows with the block, so the ratio is at least what it would be.
#[test]
fn an_arm_that_does_not_keep_up_stays_worse_and_cannot_be_better() {
    speaks_against_itself_alone(|step| {
        let achieved_per_s = step.asked_per_s.map(|asked| 0.8 * asked);
        step.achieved_per_s = achieved_per_s;
        step.blocks.iter_mut().for_each(|block| block.achieved_per_s = achieved_per_s);
    });
}

#[test]
fn a_ratio_with_an_arm_that_does_not_keep_up_is_said_to_have_no_fixed_size() {
    for (factor, late, said) in [
        (2.0, 1, "\"other\" did not keep up with the load"),
        (0.5, 0, "\"default\" did not keep up with the load"),
    ] {
        let mut document = trial_of(&[("other", factor)], 12, 1);
        assert!(caveat(&result(&document), "no fixed size").is_none());
        let step = &mut document.steps[late];
        step.achieved_per_s = step.asked_per_s.map(|asked| 0.8 * asked);
        let achieved_per_s = step.achieved_per_s;
        step.blocks.iter_mut().for_each(|block| block.achieved_per_s = achieved_per_s);
        let result = result(&document);
        let caveat = caveat(&result, "the ratio has no fixed size");
        assert!(caveat.is_some_and(|caveat| caveat.starts_with(said)), "{said}: {:?}", result.findings);
    }
}

#[test]
fn a_fault_of_the_references_repetition_leaves_the_noise_floor_unknown_and_the_arm_its_verdict() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    document.steps[2].slip.mean_ns = Some(9e8);
    let result = result(&document);
    assert_eq!((result.noise_floor_ratio, verdict(&result)), (None, Verdict::Better));
    let said = caveat(&result, "How much equal arms differ here is not known");
    assert!(said.is_some_and(|said| said.contains("default, again")), "{:?}", result.findings);
}

#[test]
fn a_trial_that_its_user_stopped_says_what_that_does_to_its_intervals() {
    let mut document = trial_of(&[("low", 0.25)], 8, 1);
    document.plan.blocks = 12;
    document.run.state = RunState::Interrupted;
    let result = result(&document);
    let said = caveat(&result, "The trial was stopped: 8 of 12 planned pairs were run");
    assert!(said.is_some_and(|said| said.contains("--until-decided")), "{:?}", result.findings);
}

#[test]
fn what_still_holds_a_warm_up_that_was_cut_is_said() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    assert!(caveat(&result(&document), "cut as warm-up").is_none());
    for block in &mut document.steps[1].blocks[..2] {
        block.after_warm_up = Some(AfterWarmUp::default());
    }
    let result = result(&document);
    let said = caveat(&result, "cut as warm-up").unwrap();
    assert!(said.starts_with("The beginning of 2 of 36 blocks was cut as warm-up"), "{said}");
}

#[test]
fn arms_on_different_brokers_of_one_lab_are_told_with_which_is_the_controller() {
    let mut document = trial_of(&[("nvme", 0.25)], 12, 1);
    let brokers = [("1", "broker,controller"), ("2", "broker"), ("1", "broker,controller")];
    for (step, (node, roles)) in document.steps.iter_mut().zip(brokers) {
        step.effective.broker.insert("node.id".to_owned(), node.to_owned());
        step.effective.broker.insert("process.roles".to_owned(), roles.to_owned());
    }
    let said = caveat(&result(&document), "different brokers").cloned().unwrap();
    let words = "\"default\" and \"nvme\" are on different brokers (that of \"default\" is the cluster's controller, too): ";
    assert!(said.starts_with(words), "{said}");
    document.plan.steps[1].cluster = Some(document.plan.cluster.clone());
    assert!(
        caveat(&result(&document), "different brokers").is_none(),
        "labs of their own are meant to differ"
    );
    document.plan.steps[1].cluster = None;
    document.steps[1].effective.broker.insert("node.id".to_owned(), "1".to_owned());
    assert!(caveat(&result(&document), "different brokers").is_none());
}
