//! Tests of outcomes that several threads made.

use super::*;
use crate::client_outcome::{ClientOutcome, merge};
use crate::consume::Received;
use crate::produce::{Outstanding, Reported, Sent};
use crate::wire::sample;
use plumb_model::plan::LoadPlan;
use plumb_model::units::Bytes;
use std::sync::atomic::AtomicBool;

const SECOND_NS: u64 = 1_000_000_000;
/// The begin of the blocks, and of their measured parts.
const BEGUN_NS: u64 = 5 * SECOND_NS;
const MEASURED_FROM_NS: u64 = 7 * SECOND_NS;

/// The outcomes of one producer and some consumers of a block of one partition.
struct Threads {
    load: LoadPlan,
    ends: LogEnds,
    sent: Vec<Sent>,
    reported: Vec<Reported>,
    received: Vec<Received>,
    as_it_is: bool,
}

/// Ten measured messages that were sent, acknowledged, stored from offset 1 on and received.
fn all_well() -> Threads {
    let sent = Sent {
        intended: 10,
        measured: 10,
        all: 10,
        first_due_ns: Some(MEASURED_FROM_NS),
        last_due_ns: Some(MEASURED_FROM_NS + 90_000_000),
        ..Sent::default()
    };
    let mut reported = Reported {
        acked_all: 11,
        acked_bytes: 1_000,
        last_ack_ns: Some(MEASURED_FROM_NS),
        ..Reported::default()
    };
    reported.offsets.note(0, 0, 1, false);
    acknowledge(&mut reported, 0..10);
    Threads {
        load: sample::step().load,
        ends: asked(&[0], &[11]),
        sent: vec![sent],
        reported: vec![reported],
        received: vec![receive(0..10)],
        as_it_is: false,
    }
}

/// Measured messages with these sequences are acknowledged, each at the offset behind its sequence.
fn acknowledge(reported: &mut Reported, sequences: std::ops::Range<u64>) {
    for sequence in sequences {
        reported.acked.note(sequence);
        reported.offsets.note(0, sequence.cast_signed() + 1, 1, true);
    }
    reported.acked.end_run();
}

/// A consumer that received these from the first producer.
fn receive(sequences: std::ops::Range<u64>) -> Received {
    let mut received = Received::new(1);
    received.offsets.note(0, 0);
    for sequence in sequences {
        received.arrivals.note(0, 0, sequence);
        received.offsets.note(0, sequence.cast_signed() + 1);
        received.records += 1;
        received.bytes += 100;
    }
    received
}

impl Threads {
    fn outcome(self) -> BlockOutcome {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(7, &self.load, &stop, &self.ends.readable_from, self.as_it_is);
        shared.begin(BEGUN_NS);
        shared.measure_from(MEASURED_FROM_NS);
        for (partition, end) in self.ends.readable_to.iter().flatten().enumerate() {
            shared.reached(i32::try_from(partition).unwrap(), *end);
        }
        let producers =
            self.sent.into_iter().zip(self.reported).enumerate().map(|(index, (sent, reported))| {
                ClientOutcome::of_producer(index, &Outstanding::default(), sent, reported)
            });
        let consumers =
            self.received.into_iter().map(|received| ClientOutcome::of_consumer(&shared, received));
        outcome(
            &shared,
            &self.ends,
            merge(producers.chain(consumers).collect()),
            self.ends.readable_from.len(),
        )
    }
}

#[test]
fn what_was_sent_acknowledged_and_received_adds_up() {
    let outcome = all_well().outcome();
    let counts =
        Counts { intended: 10, sent: 10, acked: 10, received: 10, removed: Some(0), ..Counts::default() };
    assert_eq!(outcome.counts, counts);
    assert_eq!((outcome.accounting.acked, outcome.accounting.unknown), (11, 0));
    assert_eq!((outcome.accounting.agrees, outcome.accounting.missing), (Some(true), Some(0)));
    assert_eq!((outcome.accounting.surplus, outcome.accounting.gaps), (Some(0), Some(0)));
    assert_eq!((outcome.acked_bytes, outcome.received_bytes, outcome.received_messages), (1_000, 1_000, 10));
    assert_eq!(outcome.partition_records, Some(vec![11]));
    assert_eq!(outcome.measured_after_ns, Some(2 * SECOND_NS));
    assert!(!outcome.stopped);
}

#[test]
fn a_message_without_a_report_is_unknown_and_one_that_failed_is_not() {
    let mut threads = all_well();
    let mut reported = Reported { acked_all: 7, failed: 1, failed_all: 2, ..Reported::default() };
    acknowledge(&mut reported, 0..6);
    // One of the failed was of the warm-up.
    threads.sent[0].all = 11;
    threads.reported = vec![reported];
    let outcome = threads.outcome();
    let counts = &outcome.counts;
    assert_eq!((counts.sent, counts.acked, counts.failed, counts.unknown), (10, 6, 1, 3));
    assert_eq!(
        (outcome.accounting.acked, outcome.accounting.unknown),
        (7, 3),
        "with the probe, 12 were sent"
    );
}

#[test]
fn acknowledged_messages_that_never_came_are_lost_where_somebody_receives() {
    let received = |consumers| {
        let mut threads = all_well();
        threads.load.consumers = consumers;
        threads.received = (0..consumers).map(|_| receive(0..8)).collect();
        threads.outcome().counts
    };
    assert_eq!((received(1).lost, received(1).received), (2, 8));
    assert_eq!((received(0).lost, received(0).received), (0, 0));
}

#[test]
fn messages_that_followers_have_not_copied_are_not_lost() {
    let mut threads = all_well();
    threads.received = vec![receive(0..7)];
    threads.ends.readable_to = Some(vec![9]);
    threads.ends.leaders_to = Some(LeaderEnds { appended: vec![11], replicated: vec![9], stable: None });
    let outcome = threads.outcome();
    assert_eq!((outcome.counts.lost, outcome.accounting.unreplicated), (1, Some(2)));
}

#[test]
fn several_consumers_see_the_same_rebalances_and_each_its_own_records() {
    let mut threads = all_well();
    threads.load.consumers = 2;
    let [mut one, mut other] = [receive(0..6), receive(4..10)];
    (one.rebalances, other.rebalances) = (2, 3);
    (one.foreign, other.foreign) = (4, 5);
    (one.corrupt, other.corrupt) = (1, 2);
    (one.last_ns, other.last_ns) = (Some(MEASURED_FROM_NS + 190_000_000), Some(MEASURED_FROM_NS + 70));
    (one.catch_up_at_most_sum_ns, other.catch_up_at_most_sum_ns) = (300.0, 700.0);
    one.errors.note("consume", "A", "a");
    other.errors.note_times("consume", "A", "a", 4);
    threads.received = vec![one, other];
    let outcome = threads.outcome();
    assert_eq!(outcome.consumer_statistics.rebalances, 3);
    assert_eq!((outcome.accounting.foreign, outcome.accounting.corrupt), (9, 3));
    assert_eq!((outcome.counts.received, outcome.counts.duplicated), (10, 2));
    assert_eq!((outcome.received_messages, outcome.received_bytes), (12, 1_200), "repeats included");
    assert_eq!(outcome.receiving_ns, Some(190_000_000));
    assert_eq!(outcome.catch_up_at_most_ns, Some(100.0));
    let [error] = &outcome.errors[..] else { panic!("{:?}", outcome.errors) };
    assert_eq!((error.code.as_str(), error.count), ("A", 5));
}

#[test]
fn several_producers_add_up() {
    let mut threads = all_well();
    let mut sent = Sent { intended: 6, measured: 5, all: 8, queue_full_waits: 2, ..Sent::default() };
    sent.first_due_ns = Some(MEASURED_FROM_NS - 10);
    threads.sent[0].queue_full_waits = 3;
    threads.sent.push(sent);
    let mut reported = Reported { acked_all: 3, acked_bytes: 50, failed: 1, ..Reported::default() };
    reported.failed_all = 1;
    reported.statistics.take_throttle(40);
    threads.reported[0].statistics.take_throttle(90);
    threads.reported.push(reported);
    let outcome = threads.outcome();
    assert_eq!((outcome.counts.intended, outcome.counts.sent), (16, 15));
    assert_eq!((outcome.counts.failed, outcome.counts.unknown), (1, 4));
    assert_eq!((outcome.accounting.acked, outcome.accounting.unknown), (14, 4), "of 19 with the probe");
    assert_eq!((outcome.acked_bytes, outcome.queue_full_waits), (1_050, 5));
    let told = &outcome.producer_statistics;
    assert_eq!((told.throttled_responses, told.throttle_max_ns), (2, Some(90_000_000)));
}

#[test]
fn the_measured_part_is_as_long_as_its_schedule_and_longer_where_acknowledgements_come_later() {
    // Ten messages at a hundred a second.
    let measured = |last_ack_after_ns: u64| {
        let mut threads = all_well();
        threads.reported[0].last_ack_ns = Some(MEASURED_FROM_NS + last_ack_after_ns);
        let outcome = threads.outcome();
        (outcome.measured_ns, outcome.acknowledged_within_ns)
    };
    assert_eq!(measured(95_000_000), (100_000_000, Some(95_000_000)));
    assert_eq!(measured(350_000_000), (350_000_000, Some(350_000_000)));
    let mut fills = all_well();
    fills.load.mode = Mode::Consume;
    let outcome = fills.outcome();
    assert_eq!((outcome.measured_ns, outcome.planned_ns), (0, 100_000_000), "filling is not measured");
    assert_eq!(outcome.acknowledged_within_ns, None);
}

#[test]
fn receiving_lasts_as_long_as_the_schedule_and_longer_where_messages_come_later() {
    // Ten messages at a hundred a second; all may come at once, after a stall.
    let receiving = |mode, last_after_ns: u64| {
        let mut threads = all_well();
        threads.load.mode = mode;
        threads.received[0].last_ns = Some(MEASURED_FROM_NS + last_after_ns);
        threads.outcome().receiving_ns
    };
    assert_eq!([Mode::Mixed, Mode::Produce].map(|mode| receiving(mode, 95_000_000)), [Some(100_000_000); 2]);
    assert_eq!(receiving(Mode::Mixed, 350_000_000), Some(350_000_000));
    // From the release of consumers that had to wait.
    assert_eq!(receiving(Mode::Consume, 100), Some(100));
    assert_eq!(receiving(Mode::Backlog(Bytes(1)), 100), Some(100));
    assert_eq!(all_well().outcome().receiving_ns, None, "nothing came");
}

#[test]
fn a_topic_that_is_read_as_it_is_is_held_against_the_length_of_its_log() {
    let read = |records| {
        let mut threads = all_well();
        (threads.as_it_is, threads.sent, threads.reported) = (true, Vec::new(), Vec::new());
        threads.received[0].records = records;
        threads.received[0].foreign = 4;
        let outcome = threads.outcome();
        (outcome.counts.received, outcome.accounting.agrees, outcome.accounting.acked)
    };
    assert_eq!(read(11), (11, Some(true), 0));
    assert_eq!(read(10), (10, Some(false), 0));
}
