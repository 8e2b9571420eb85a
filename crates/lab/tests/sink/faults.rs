//! Each fault and its exact effect, as a client sees it.

use std::time::{Duration, Instant};

use plumb_lab::sink::{
    ApiKey, Apis, Control, Delay, Effect, Records, Refusal, RequestFault, ResponseError, TimestampLie,
};
use rdkafka::{error::RDKafkaErrorCode, message::Timestamp};

use super::client::{LIMIT, Sender, TOPIC, next, payloads, read_all, reader, sink};

const FIVE: [&str; 5] = ["1", "2", "3", "4", "5"];
/// A stall that only the test itself ends.
const ENDLESS: Duration = Duration::from_secs(3600);

fn refuse(control: &Control, api: ApiKey, skip: u64, count: u64, refusal: Refusal) {
    control.refuse(RequestFault { apis: Apis::one(api), skip, count, refusal });
}

#[test]
fn a_stall_at_a_record_holds_its_answer_and_the_later_ones_and_no_earlier_one() {
    let (broker, control) = sink(1);
    let consumer = reader(&broker, 1, &[]);
    control.stall_at_record(TOPIC, 4, Apis::data(), Duration::from_millis(300));
    let reports = Sender::new(&broker, &[]).send_each(&FIVE);
    let stall = control.stats().stalls[0];
    assert_eq!(stall.ends - stall.began, Duration::from_millis(300));
    assert!(reports[2].at < stall.began);
    assert!(reports[3..].iter().all(|report| report.at >= stall.ends), "{reports:?}");
    let reads: Vec<_> = FIVE.iter().map(|_| next(&consumer)).collect();
    assert_eq!(payloads(&reads), FIVE);
    assert!(reads[3].at >= stall.ends);
    assert!(stall.answers_held >= 2);
}

#[test]
fn a_stall_from_now_holds_what_arrives_in_it_and_answers_in_order() {
    let (broker, control) = sink(1);
    let sender = Sender::new(&broker, &[]);
    sender.send_each(&["before"]);
    control.stall(Apis::All, Duration::from_millis(200));
    FIVE.iter().for_each(|payload| sender.send(payload, 0));
    let reports = sender.reports();
    let stall = control.stats().stalls[0];
    assert!(reports[1..].iter().all(|report| report.at >= stall.ends));
    assert_eq!(reports[1..].iter().map(|report| report.payload.as_str()).collect::<Vec<_>>(), FIVE);
}

#[test]
fn a_stall_of_fetches_leaves_produces_alone_and_ends_when_faults_are_cleared() {
    let (broker, control) = sink(1);
    let consumer = reader(&broker, 1, &[]);
    control.stall(Apis::one(ApiKey::Fetch), ENDLESS);
    Sender::new(&broker, &[]).send_each(&FIVE);
    control.wait_until(LIMIT, |stats| stats.stalls[0].answers_held >= 1).unwrap();
    assert!(consumer.poll(Duration::from_millis(100)).is_none());
    control.clear();
    assert_eq!(next(&consumer).payload, "1");
}

#[test]
fn a_delayed_answer_is_never_early_and_delays_do_not_add_up_on_a_connection() {
    let (broker, control) = sink(1);
    let sender = Sender::new(&broker, &[]);
    sender.send_each(&["warm"]);
    control.delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(Duration::from_millis(500)));
    let before = Instant::now();
    FIVE.iter().for_each(|payload| sender.send(payload, 0));
    let reports = sender.reports();
    assert!(reports[1..].iter().all(|report| report.at >= before + Duration::from_millis(500)));
    assert!(reports[5].at < before + Duration::from_millis(5 * 500), "answered one after the other");
}

#[test]
fn a_record_with_delayed_visibility_is_acknowledged_at_once_and_read_later() {
    let (broker, control) = sink(1);
    let consumer = reader(&broker, 1, &[]);
    let sender = Sender::new(&broker, &[]);
    sender.send_each(&["warm"]);
    assert_eq!(next(&consumer).payload, "warm");
    control.delay_visibility(TOPIC, Delay::Constant(Duration::from_millis(400)));
    let before = Instant::now();
    let acknowledged = sender.send_each(&["late"])[1].at;
    let read = next(&consumer);
    assert!(read.at >= before + Duration::from_millis(400));
    assert!(acknowledged < read.at);
}

#[test]
fn dropped_records_are_acknowledged_and_missing_and_counted() {
    let (broker, control) = sink(1);
    control.drop_records(Records::every(TOPIC, 2));
    let reports = Sender::new(&broker, &[]).send_each(&FIVE);
    assert!(reports.iter().all(|report| report.outcome.is_ok()));
    assert_eq!(payloads(&read_all(&broker, 1)), ["1", "3", "5"]);
    let counts = control.stats().topic(TOPIC);
    assert_eq!((counts.arrived, counts.dropped, counts.stored, counts.log_end), (5, 2, 3, 3));
}

#[test]
fn records_of_one_batch_are_dropped_duplicated_and_swapped_one_by_one() {
    for idempotent in ["false", "true"] {
        let (broker, control) = sink(1);
        control.drop_records(Records::at(TOPIC, [1]));
        control.duplicate_records(Records::at(TOPIC, [3]));
        control.swap_records(Records::at(TOPIC, [4]));
        let properties = [
            ("batch.num.messages", "1000"),
            ("linger.ms", "200"),
            ("compression.codec", "lz4"),
            ("acks", "all"),
            ("enable.idempotence", idempotent),
        ];
        let sender = Sender::new(&broker, &properties);
        FIVE.iter().for_each(|payload| sender.send(payload, 0));
        assert!(sender.reports().iter().all(|report| report.outcome.is_ok()));
        assert_eq!(payloads(&read_all(&broker, 1)), ["2", "3", "3", "5", "4"]);
        let counts = control.stats().topic(TOPIC);
        assert_eq!((counts.batches, counts.dropped, counts.duplicated, counts.swapped), (1, 1, 1, 1));
    }
}

#[test]
fn a_swap_goes_over_batches_and_holds_the_record_until_its_successor_arrives() {
    let (broker, control) = sink(1);
    control.swap_records(Records::at(TOPIC, [2, 5]));
    let reports = Sender::new(&broker, &[]).send_each(&FIVE);
    assert!(reports.iter().map(|report| report.offset()).eq(0..5), "offsets as if in order");
    assert_eq!(payloads(&read_all(&broker, 1)), ["1", "3", "2", "4"]);
    let counts = control.stats().topic(TOPIC);
    assert_eq!((counts.swapped, counts.held, counts.stored), (2, 1, 4));
}

#[test]
fn faults_of_one_partition_leave_the_others_alone() {
    let (broker, control) = sink(2);
    control.duplicate_records(Records::every(TOPIC, 1).of_partition(1));
    let sender = Sender::new(&broker, &[]);
    (0..6).for_each(|number| sender.send("a", number % 2));
    sender.reports();
    let stats = control.stats();
    let stored = |partition| stats.partitions[&(TOPIC.to_owned(), partition)].stored;
    assert_eq!((stored(0), stored(1)), (3, 6));
}

#[test]
fn an_injected_error_reaches_the_client_by_its_name() {
    let (broker, control) = sink(1);
    let error = Refusal::Error(ResponseError::PolicyViolation, Effect::Skipped);
    refuse(&control, ApiKey::Produce, 1, 2, error);
    let reports = Sender::new(&broker, &[]).send_each(&FIVE);
    let errors: Vec<_> = reports.iter().map(|report| report.error()).collect();
    let refused = Some(RDKafkaErrorCode::PolicyViolation);
    assert_eq!(errors, [None, refused, refused, None, None]);
    assert_eq!(payloads(&read_all(&broker, 1)), ["1", "4", "5"]);
    assert_eq!(control.stats().refusals.errors, 2);
}

#[test]
fn a_failing_partition_fails_alone_and_recovers_by_a_retry() {
    let (broker, control) = sink(2);
    control.fail_partition(ApiKey::Produce, TOPIC, 1, 2, ResponseError::NotEnoughReplicas);
    let sender = Sender::new(&broker, &[("retry.backoff.ms", "1")]);
    sender.send("good", 0);
    sender.send("bad", 1);
    assert!(sender.reports().iter().all(|report| report.outcome.is_ok()));
    let stats = control.stats();
    assert_eq!((stats.refusals.errors, stats.topic(TOPIC).stored), (2, 2));
}

#[test]
fn an_error_after_the_effect_stores_twice_unless_the_producer_is_idempotent() {
    for (idempotent, stored, repeated) in [("false", 2, 0), ("true", 1, 1)] {
        let (broker, control) = sink(1);
        let error = Refusal::Error(ResponseError::RequestTimedOut, Effect::Applied);
        refuse(&control, ApiKey::Produce, 0, 1, error);
        let properties = [("enable.idempotence", idempotent), ("acks", "all"), ("retry.backoff.ms", "1")];
        let reports = Sender::new(&broker, &properties).send_each(&["once"]);
        assert!(reports[0].outcome.is_ok());
        let counts = control.stats().topic(TOPIC);
        assert_eq!((counts.stored, counts.repeated), (stored, repeated), "idempotent={idempotent}");
    }
}

#[test]
fn a_closed_connection_is_opened_again_and_only_the_effect_decides_what_is_stored() {
    for (effect, stored) in [(Effect::Skipped, 3), (Effect::Applied, 4)] {
        let (broker, control) = sink(1);
        refuse(&control, ApiKey::Produce, 1, 1, Refusal::Close(effect));
        let properties = [("retry.backoff.ms", "1"), ("reconnect.backoff.ms", "1")];
        let reports = Sender::new(&broker, &properties).send_each(&["a", "b", "c"]);
        assert!(reports.iter().all(|report| report.outcome.is_ok()));
        let stats = control.stats();
        assert_eq!((stats.topic(TOPIC).stored, stats.refusals.closes), (stored, 1), "{effect:?}");
        assert!(stats.connections.closed >= 1);
        assert_eq!(stats.connections.cut_off, 0);
    }
}

#[test]
fn an_answer_that_never_comes_leaves_an_unknown_outcome_that_only_the_log_knows() {
    for (effect, stored) in [(Effect::Skipped, 1), (Effect::Applied, 2)] {
        let (broker, control) = sink(1);
        refuse(&control, ApiKey::Produce, 0, 1, Refusal::Silence(effect));
        let sender = Sender::new(&broker, &[("message.timeout.ms", "1000"), ("retries", "0")]);
        sender.send("unknown", 0);
        sender.send("known", 0);
        let mut reports = sender.reports();
        reports.sort_by_key(|report| report.payload.clone());
        assert!(reports[0].outcome.is_ok());
        assert_eq!(reports[1].error(), Some(RDKafkaErrorCode::MessageTimedOut));
        let stats = control.stats();
        assert_eq!((stats.topic(TOPIC).stored, stats.refusals.silences), (stored, 1), "{effect:?}");
    }
}

#[test]
fn a_throttle_is_what_the_client_reports() {
    let (broker, control) = sink(1);
    control.throttle(Apis::one(ApiKey::Produce), Duration::from_millis(70));
    let sender = Sender::new(&broker, &[("statistics.interval.ms", "20")]);
    let start = Instant::now();
    while sender.throttle_ms_max() != 70 {
        assert!(start.elapsed() < LIMIT);
        sender.send_each(&["a"]);
    }
}

#[test]
fn a_lying_clock_is_wrong_in_the_log_and_in_the_answer_by_what_was_asked() {
    let (broker, control) = sink(1);
    control.configure_topic(TOPIC, "message.timestamp.type", "LogAppendTime").unwrap();
    control.lie_about_time(TOPIC, TimestampLie { stored_offset_ms: -60_000, answered_offset_ms: 5_000 });
    let report = Sender::new(&broker, &[]).send_each(&["a"]).remove(0);
    let read = read_all(&broker, 1).remove(0);
    let (Timestamp::LogAppendTime(answered), Timestamp::LogAppendTime(stored)) =
        (report.timestamp, read.timestamp)
    else {
        panic!("{report:?} {read:?}");
    };
    assert_eq!(answered - stored, 65_000);
}

#[test]
fn a_failing_coordinator_is_asked_again() {
    let (broker, control) = sink(1);
    let error = Refusal::Error(ResponseError::CoordinatorNotAvailable, Effect::Skipped);
    refuse(&control, ApiKey::FindCoordinator, 0, 1, error);
    Sender::new(&broker, &[]).send_each(&["a"]);
    let consumer = reader(&broker, 1, &[("retry.backoff.ms", "1")]);
    consumer_subscribes(&consumer);
    assert_eq!(next(&consumer).payload, "a");
    assert_eq!(control.stats().refusals.errors, 1);
}

fn consumer_subscribes(consumer: &rdkafka::consumer::BaseConsumer) {
    use rdkafka::consumer::Consumer;
    consumer.unassign().unwrap();
    consumer.subscribe(&[TOPIC]).unwrap();
}
