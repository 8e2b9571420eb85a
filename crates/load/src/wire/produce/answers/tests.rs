//! Tests of a batch's fate by its answer, or without one: of each message it is known whether it is surely in the log, surely
//! not, or neither.

use super::super::ProducerParts;
use super::*;
use crate::job::MessageContents;
use crate::keys::KeySource;
use crate::observation::Measure;
use crate::pace::Pace;
use crate::payload::PayloadSource;
use crate::produce::Outstanding;
use crate::random::Random;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::Stamp;
use crate::wire::cluster::ClusterView;
use crate::wire::link::{Link, Written};
use crate::wire::sample;
use crate::wire::settings::{self, ProducerSettings};
use crate::wire::slot::Content;
use plumb_wire::produce::PARTITION_HEAD_BYTES;
use std::sync::atomic::AtomicBool;

const RUN: u64 = 7;
/// The partition of every batch, and how many messages each has.
const PARTITION: usize = 1;
const MESSAGES: u64 = 3;
/// The time at which the messages of a batch were enqueued, and that of its answer.
const ENQUEUED_NS: u64 = 1_000;
const NOW_NS: u64 = 9_000;

const TOO_LARGE: ErrorCode = ErrorCode(10);
const LEADER_NOT_AVAILABLE: ErrorCode = ErrorCode(5);

/// A producer without a connection, in the measured part.
fn with(change: impl FnOnce(&mut ProducerSettings), test: impl FnOnce(&mut Producer<'_, '_>)) {
    let step = sample::step();
    let mut settings = settings::producer(&step).unwrap().client;
    change(&mut settings);
    let stop = AtomicBool::new(false);
    let shared = Shared::new(RUN, &step.load, &stop, &[0, 0], false);
    shared.begin(0);
    shared.measure_from(0);
    let view = ClusterView::nowhere("topic", 2);
    let outstanding = Outstanding::default();
    let (out, _parcels) = std::sync::mpsc::channel();
    let seconds = |measure| Seconds::new(measure, shared.clock_start(), out.clone());
    let keys = KeySource::new(step.load.keys, Random::new(1));
    let payloads = PayloadSource::new(&step.load, Random::new(1)).unwrap();
    let parts = ProducerParts {
        shared: &shared,
        settings: &settings,
        view: &view,
        topic: "topic",
        index: 0,
        outstanding: &outstanding,
        pace: Pace::new(0, 100.0),
    };
    let content = Content::new(&step.load, MessageContents { keys, payloads }, 10);
    let (slips, acks) = (seconds(Measure::Slip), seconds(Measure::Acknowledge));
    let mut producer = Producer::new(parts, content, slips, acks).unwrap();
    producer.links.push(Link::new(0));
    test(&mut producer);
}

fn as_set(_: &mut ProducerSettings) {}

/// A batch that was handed over and is in no request.
fn batch(producer: &mut Producer<'_, '_>, part: Part) -> Slot {
    let content = &mut producer.content;
    let mut slot = Slot::new(10_000, content);
    slot.begin(content, PARTITION, part);
    for sequence in 0..MESSAGES {
        let at = slot.add(content).unwrap();
        let (intended_ns, sent_ns) = (ENQUEUED_NS - 500, ENQUEUED_NS);
        slot.stamp(at, &Stamp { run: RUN, producer: 0, part, sequence, intended_ns, sent_ns }, content);
    }
    slot.opened_ns = ENQUEUED_NS;
    producer.outstanding.hand_over(MESSAGES);
    slot
}

fn written(first_byte_ns: u64, last_byte_ns: u64) -> Option<Written> {
    Some(Written { first_byte_ns, last_byte_ns })
}

/// The same, under way: begun to be written, or not.
fn under_way(producer: &mut Producer<'_, '_>, part: Part, written: Option<Written>) {
    let slot = batch(producer, part);
    producer.partitions[PARTITION].in_flight += 1;
    producer.links[0].put_under_way(vec![Batch { head: [0; PARTITION_HEAD_BYTES], slot }], written);
}

fn answer(producer: &mut Producer<'_, '_>, part: Part, code: ErrorCode) {
    let slot = batch(producer, part);
    producer.take_answer(slot, BatchAnswer { code, offset: 40 }, NOW_NS);
}

/// Messages of a producer; what is none of these has an unknown outcome.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    acknowledged: u64,
    failed: u64,
    under_way: u64,
}

fn fates(producer: &Producer<'_, '_>) -> Fates {
    let reported = &producer.reported;
    Fates {
        acknowledged: reported.acked_all,
        failed: reported.failed_all,
        under_way: producer.outstanding.count(),
    }
}

/// Batches that wait to be sent again.
fn again(producer: &mut Producer<'_, '_>) -> Vec<Slot> {
    std::iter::from_fn(|| producer.partitions[PARTITION].take_ready(u64::MAX, 0)).collect()
}

#[test]
fn messages_that_were_acknowledged_count_once_each_at_their_offsets() {
    with(as_set, |producer| {
        answer(producer, Part::Measured, ErrorCode::NONE);
        assert_eq!(fates(producer), Fates { acknowledged: 3, ..Fates::default() });
        assert_eq!((producer.shared.acknowledged(), producer.spare.len()), (3, 1));
        producer.reported.acked.end_run();
        assert_eq!(producer.reported.acked.set().len(), 3);
        assert_eq!((producer.reported.acked_bytes, producer.reported.last_ack_ns), (300, Some(NOW_NS)));
        let held = producer.reported.offsets.held_against(&[0, 40], &[0, 43]);
        assert_eq!((held.missing, held.surplus), (0, 0));
        let second = producer.acks.at(NOW_NS, false);
        assert_eq!((second.acked, second.response.samples(), second.service.samples()), (3, 3, 3));
        assert_eq!(
            (second.response.exact().max_ns, second.service.exact().max_ns),
            (Some(8_500), Some(8_000))
        );
    });
}

#[test]
fn messages_of_the_warm_up_and_probes_are_acknowledged_and_not_measured() {
    with(as_set, |producer| {
        answer(producer, Part::WarmUp, ErrorCode::NONE);
        assert_eq!(producer.acks.at(NOW_NS, true).acked, 3);
        assert!(producer.shared.first_unready(false).is_some());
        answer(producer, Part::Probe, ErrorCode::NONE);
        assert_eq!(fates(producer), Fates { acknowledged: 6, ..Fates::default() });
        producer.reported.acked.end_run();
        assert_eq!(producer.reported.acked.set().len(), 0);
        assert_eq!((producer.reported.acked_bytes, producer.reported.last_ack_ns), (0, None));
        producer.shared.probe_acknowledged(0);
        assert_eq!(producer.shared.first_unready(false), None, "the probe's partition works");
    });
}

#[test]
fn a_batch_that_the_broker_had_already_is_acknowledged_at_an_offset_that_nobody_knows() {
    with(as_set, |producer| {
        answer(producer, Part::Measured, ErrorCode::DUPLICATE_SEQUENCE_NUMBER);
        assert_eq!(fates(producer), Fates { acknowledged: 3, ..Fates::default() });
        let held = producer.reported.offsets.held_against(&[0, 0], &[0, 3]);
        assert_eq!((held.missing, held.surplus), (0, 0), "wherever they are, they are three");
    });
}

#[test]
fn what_is_refused_for_good_failed_and_of_the_warm_up_it_is_not_measured() {
    with(as_set, |producer| {
        answer(producer, Part::Measured, TOO_LARGE);
        answer(producer, Part::WarmUp, TOO_LARGE);
        assert_eq!((fates(producer), producer.reported.failed), (Fates { failed: 6, ..Fates::default() }, 3));
        assert!(again(producer).is_empty() && !producer.view.is_wanted());
        assert_eq!(producer.spare.len(), 2);
    });
}

#[test]
fn a_probe_that_is_refused_for_good_is_told_with_the_brokers_word() {
    with(as_set, |producer| {
        answer(producer, Part::Probe, TOO_LARGE);
        let (code, text) = producer.shared.probe_error().unwrap();
        assert!(text.contains(&code) && code.contains("TOO_LARGE"), "{code} {text}");
        assert_eq!(fates(producer), Fates::default());
    });
}

#[test]
fn what_may_be_in_the_log_all_the_same_is_unknown_and_not_failed() {
    let never_again = |settings: &mut ProducerSettings| settings.retries = 0;
    for code in [6, 7, 20] {
        with(never_again, |producer| {
            answer(producer, Part::Measured, ErrorCode(code));
            assert_eq!((fates(producer), producer.reported.failed), (Fates::default(), 0), "{code}");
        });
    }
    with(never_again, |producer| {
        answer(producer, Part::Measured, LEADER_NOT_AVAILABLE);
        assert_eq!((fates(producer), producer.reported.failed), (Fates { failed: 3, ..Fates::default() }, 3));
    });
}

#[test]
fn a_batch_that_may_be_in_the_log_stays_unknown_when_it_is_refused_later() {
    with(as_set, |producer| {
        answer(producer, Part::Measured, ErrorCode(7));
        let slot = again(producer).pop().unwrap();
        producer.take_answer(slot, BatchAnswer { code: TOO_LARGE, offset: -1 }, NOW_NS);
        assert_eq!((fates(producer), producer.reported.failed), (Fates::default(), 0));
    });
}

#[test]
fn a_batch_is_sent_again_after_the_pause_as_often_as_it_may_be() {
    let once = |settings: &mut ProducerSettings| (settings.retries, settings.retry_backoff_ns) = (1, 250);
    with(once, |producer| {
        answer(producer, Part::Measured, LEADER_NOT_AVAILABLE);
        assert_eq!((fates(producer), producer.waiting), (Fates { under_way: 3, ..Fates::default() }, 1));
        assert_eq!(producer.reported.statistics.grown.retries, 3);
        assert!(producer.view.is_wanted(), "another may lead it now");
        assert!(producer.partitions[PARTITION].take_ready(NOW_NS + 249, 0).is_none());
        let slot = producer.partitions[PARTITION].take_ready(NOW_NS + 250, 0).unwrap();
        producer.take_answer(slot, BatchAnswer { code: LEADER_NOT_AVAILABLE, offset: -1 }, NOW_NS);
        assert_eq!((fates(producer), producer.reported.failed), (Fates { failed: 3, ..Fates::default() }, 3));
        assert_eq!(producer.reported.statistics.grown.retries, 3);
    });
}

#[test]
fn a_batch_older_than_messages_may_be_is_not_sent_again_and_a_probe_is() {
    let oldest = |age_ns| move |settings: &mut ProducerSettings| settings.message_timeout_ns = age_ns;
    with(oldest(NOW_NS - ENQUEUED_NS), |producer| {
        answer(producer, Part::Measured, LEADER_NOT_AVAILABLE);
        assert_eq!(again(producer).len(), 1);
    });
    with(oldest(NOW_NS - ENQUEUED_NS - 1), |producer| {
        answer(producer, Part::Measured, LEADER_NOT_AVAILABLE);
        assert_eq!((fates(producer), again(producer).len()), (Fates { failed: 3, ..Fates::default() }, 0));
        answer(producer, Part::Probe, LEADER_NOT_AVAILABLE);
        assert_eq!(again(producer).len(), 1);
    });
}

#[test]
fn a_probe_is_sent_again_however_often_it_was() {
    with(
        |settings| settings.retries = 0,
        |producer| {
            answer(producer, Part::Probe, LEADER_NOT_AVAILABLE);
            let slot = again(producer).pop().unwrap();
            producer.take_answer(slot, BatchAnswer { code: LEADER_NOT_AVAILABLE, offset: -1 }, NOW_NS);
            assert_eq!((again(producer).len(), producer.shared.probe_error()), (1, None));
        },
    );
}

#[test]
fn a_number_out_of_order_waits_for_the_batch_before_it_and_fails_where_there_is_none() {
    with(as_set, |producer| {
        answer(producer, Part::Measured, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!((fates(producer), again(producer).len()), (Fates { failed: 3, ..Fates::default() }, 0));
        let mut before = batch(producer, Part::Measured);
        before.opened_ns = ENQUEUED_NS - 1;
        producer.partitions[PARTITION].push_ready(before);
        answer(producer, Part::Measured, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        let opened: Vec<u64> = again(producer).iter().map(|slot| slot.opened_ns).collect();
        assert_eq!(opened, [ENQUEUED_NS - 1, ENQUEUED_NS]);
    });
}

#[test]
fn a_partition_that_the_answer_leaves_out_was_not_dealt_with() {
    with(as_set, |producer| {
        for (answered, acknowledged) in [(0, 0), (1, 3)] {
            under_way(producer, Part::Measured, written(2_000, 3_000));
            let request = producer.links[0].take_oldest().unwrap();
            producer.answers = vec![(answered, ErrorCode::NONE, 40)];
            producer.take_answers(0, request, NOW_NS);
            assert_eq!(producer.partitions[PARTITION].in_flight, 0);
            assert_eq!(producer.reported.acked_all, acknowledged);
        }
        assert_eq!(fates(producer), Fates { acknowledged: 3, failed: 3, ..Fates::default() });
    });
}

#[test]
fn what_was_written_without_acknowledgements_is_acknowledged_by_its_last_byte() {
    with(as_set, |producer| {
        under_way(producer, Part::Measured, written(2_000, 3_000));
        let request = producer.links[0].take_oldest().unwrap();
        producer.acknowledged_by_writing(0, request);
        assert_eq!(fates(producer), Fates { acknowledged: 3, ..Fates::default() });
        assert_eq!(producer.reported.last_ack_ns, Some(3_000));
        assert_eq!(producer.partitions[PARTITION].in_flight, 0);
        let told = producer.reported.statistics.summary();
        assert_eq!((told.outbuf_mean_ns, told.rtt_samples), (Some(1_000.0), 0));
    });
}

#[test]
fn a_throttled_client_is_quiet_for_so_long_and_says_so_of_the_measured_part_alone() {
    with(as_set, |producer| {
        producer.be_quiet(0, 0, NOW_NS);
        assert_eq!(producer.links[0].quiet_until_ns, 0);
        producer.be_quiet(0, 30, NOW_NS);
        producer.be_quiet(0, 20, NOW_NS);
        assert_eq!(producer.links[0].quiet_until_ns, NOW_NS + 20_000_000);
        producer.shared.measured_part_ends(NOW_NS - 1);
        producer.be_quiet(0, 90, NOW_NS);
        assert_eq!(producer.links[0].quiet_until_ns, NOW_NS + 90_000_000);
        let told = producer.reported.statistics.summary();
        assert_eq!((told.throttled_responses, told.throttle_max_ns), (2, Some(30_000_000)));
    });
}

#[test]
fn where_a_connection_breaks_what_was_begun_may_be_in_the_log_and_the_rest_is_not() {
    let never_again = |settings: &mut ProducerSettings| settings.retries = 0;
    let closed = WireError::Closed { broker: "broker 0".into(), during: Stage::Streaming };
    with(never_again, |producer| {
        under_way(producer, Part::Measured, written(2_000, 3_000));
        under_way(producer, Part::Measured, None);
        producer.link_failed(0, &closed);
        // The second was not begun: to send it is no second attempt.
        assert_eq!(
            (fates(producer), producer.reported.failed),
            (Fates { under_way: 3, ..Fates::default() }, 0)
        );
        let slots = again(producer);
        assert_eq!((slots.len(), slots[0].possibly_stored, slots[0].failures), (1, false, 0));
        assert_eq!(producer.partitions[PARTITION].in_flight, 0);
        assert!(producer.view.is_wanted());
        let grown = producer.reported.statistics.grown;
        assert_eq!((grown.disconnects, grown.timeouts), (1, 0));
    });
    with(as_set, |producer| {
        under_way(producer, Part::Measured, written(2_000, 3_000));
        producer.link_failed(0, &closed);
        assert!(again(producer).pop().unwrap().possibly_stored);
    });
}

#[test]
fn without_acknowledgements_nothing_that_was_begun_is_sent_twice_but_a_probe() {
    with(
        |settings| settings.acks = 0,
        |producer| {
            let closed = WireError::Closed { broker: "broker 0".into(), during: Stage::Streaming };
            under_way(producer, Part::Measured, written(2_000, 0));
            producer.link_failed(0, &closed);
            assert_eq!((fates(producer), again(producer).len()), (Fates::default(), 0));
            under_way(producer, Part::Measured, None);
            under_way(producer, Part::Probe, written(2_000, 0));
            producer.link_failed(0, &closed);
            assert_eq!(again(producer).len(), 2);
        },
    );
}

#[test]
fn a_connection_that_does_not_answer_in_time_is_closed_and_its_requests_timed_out() {
    let second = |settings: &mut ProducerSettings| settings.request_timeout_ns = 1_000_000_000;
    with(second, |producer| {
        under_way(producer, Part::Measured, written(2_000, 3_000));
        producer.give_up_the_old(3_000 + 2_000_000_000);
        assert_eq!(producer.reported.statistics.grown.timeouts, 0);
        producer.give_up_the_old(3_001 + 2_000_000_000);
        assert_eq!(producer.reported.statistics.grown.timeouts, 0, "it was looked at just now");
        producer.give_up_the_old(3_001 + 2_100_000_000);
        assert_eq!(producer.reported.statistics.grown.timeouts, 1);
        assert_eq!((producer.links[0].in_flight(), again(producer).len()), (0, 1));
    });
}

#[test]
fn batches_that_wait_for_longer_than_messages_may_fail_by_their_age() {
    with(
        |settings| settings.message_timeout_ns = 5_000,
        |producer| {
            for opened_ns in [ENQUEUED_NS, ENQUEUED_NS + 1] {
                let mut slot = batch(producer, Part::Measured);
                slot.opened_ns = opened_ns;
                producer.partitions[PARTITION].push_ready(slot);
                producer.waiting += 1;
            }
            producer.give_up_the_old(ENQUEUED_NS + 5_001);
            assert_eq!(
                (fates(producer), producer.waiting),
                (Fates { failed: 3, under_way: 3, ..Fates::default() }, 1)
            );
            assert_eq!(producer.reported.failed, 3);
        },
    );
}

#[test]
fn a_message_that_is_sent_again_and_again_has_the_times_of_the_request_that_was_acknowledged() {
    with(as_set, |producer| {
        for first_byte_ns in [2_000, 3_000, 4_000] {
            under_way(producer, Part::Measured, Some(Written { first_byte_ns, last_byte_ns: 4_500 }));
            let request = producer.links[0].take_oldest().unwrap();
            let code = if first_byte_ns == 4_000 { ErrorCode::NONE } else { LEADER_NOT_AVAILABLE };
            producer.answers = vec![(PARTITION as i32, code, 40)];
            producer.take_answers(0, request, NOW_NS);
        }
        let told = producer.reported.statistics.summary();
        assert_eq!((told.queue_mean_ns, told.queue_samples), (Some(3_000.0), MESSAGES));
        assert_eq!((told.rtt_samples, told.retries), (MESSAGES, 2 * MESSAGES));
    });
}

#[test]
fn the_times_of_a_request_are_those_of_its_measured_messages() {
    with(as_set, |producer| {
        under_way(producer, Part::WarmUp, written(2_000, 3_000));
        under_way(producer, Part::Measured, written(4_000, 7_000));
        producer.answers = vec![(PARTITION as i32, ErrorCode::NONE, 40)];
        for _ in 0..2 {
            let request = producer.links[0].take_oldest().unwrap();
            producer.note_times(&request, Some(NOW_NS));
        }
        let told = producer.reported.statistics.summary();
        assert_eq!((told.queue_mean_ns, told.queue_samples), (Some(3_000.0), 3));
        assert_eq!((told.outbuf_mean_ns, told.rtt_mean_ns), (Some(3_000.0), Some(2_000.0)));
        assert_eq!((told.rtt_min_ns, told.batches, told.batch_messages_mean), (Some(2_000), 1, Some(3.0)));
    });
}
