//! Clients whose truth is known, sent as a worker would send them and put together.

use super::*;
use crate::observation::{Measure, SecondPart};
use crate::unread::{LogRead, unread};
use plumb_model::observation::ErrorCount;
use plumb_stats::histogram::Histogram;
use std::ops::Range;

fn over_a_link<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// All together, as they came over a link.
fn merged(clients: &[ClientOutcome]) -> Merged {
    merge(clients.iter().map(over_a_link).collect())
}

/// A producer that sent so many measured messages and five of the warm-up, and was told where those with these sequences are: each in
/// partition `id`, behind the warm-up.
fn producer(id: u16, measured: u64, acked: Range<u64>) -> ProducerOutcome {
    let sent = Sent { intended: measured + 1, measured, all: measured + 5, ..Sent::default() };
    let count = acked.end - acked.start;
    let mut reported = Reported { acked_all: count + 5, acked_bytes: count * 100, ..Reported::default() };
    reported.offsets.note(i32::from(id), 0, 5, false);
    for sequence in acked {
        reported.acked.note(sequence);
        reported.offsets.note(i32::from(id), 5 + sequence.cast_signed(), 1, true);
    }
    ProducerOutcome { id, sent, reported }
}

/// A consumer that was given these sequences of producers, each producer's from a partition of its own.
fn consumer(given: &[(u16, Range<u64>)]) -> Received {
    let mut received = Received::new(3);
    received.positions = vec![0; 3];
    for (id, sequences) in given {
        for sequence in sequences.clone() {
            let offset = 5 + sequence.cast_signed();
            received.arrivals.note(*id, i32::from(*id), sequence);
            received.offsets.note(i32::from(*id), offset);
            received.positions[usize::from(*id)] = offset + 1;
            received.records += 1;
            received.bytes += 100;
        }
    }
    received
}

fn producing(producer: ProducerOutcome) -> ClientOutcome {
    ClientOutcome::Producer(Box::new(producer))
}

fn consuming(received: Received) -> ClientOutcome {
    ClientOutcome::Consumer(Box::new(received))
}

#[test]
fn sums_are_those_of_all_clients_in_whatever_order_they_come() {
    let clients = || {
        let (mut one, mut other) = (producer(0, 40, 0..40), producer(1, 60, 0..60));
        (one.sent.queue_full_waits, other.sent.queue_full_waits) = (3, 4);
        (one.sent.first_due_ns, other.sent.first_due_ns) = (Some(70), Some(50));
        (one.sent.last_due_ns, other.sent.last_due_ns) = (Some(700), Some(500));
        (one.reported.last_ack_ns, other.reported.last_ack_ns) = (Some(710), None);
        let (mut left, mut right) = (consumer(&[(0, 0..40)]), consumer(&[(1, 0..60)]));
        left.last_ns = Some(800);
        right.last_ns = Some(900);
        (left.foreign, right.foreign) = (1, 2);
        (left.corrupt, right.corrupt) = (4, 8);
        (left.rebalances, right.rebalances) = (2, 3);
        (left.catch_up_at_most_sum_ns, right.catch_up_at_most_sum_ns) = (0.25, 1e9);
        vec![producing(one), producing(other), consuming(left), consuming(right)]
    };
    let mut turned = clients();
    turned.reverse();
    for all in [merged(&clients()), merged(&turned)] {
        let counts = Counts { intended: 102, sent: 100, acked: 100, received: 100, ..Counts::default() };
        assert_eq!(all.counts, counts);
        assert_eq!((all.sent_all, all.acked_all, all.failed_all, all.acked_bytes), (110, 110, 0, 10_000));
        assert_eq!((all.records, all.received_bytes), (100, 10_000));
        assert_eq!((all.first_due_ns, all.last_due_ns, all.last_ack_ns), (Some(50), Some(700), Some(710)));
        assert_eq!(all.last_received_ns, Some(900));
        assert_eq!((all.foreign, all.corrupt, all.queue_full_waits), (3, 12, 7));
        assert_eq!(all.rebalances, 3, "every member sees the same");
        assert_eq!(all.catch_up_at_most_sum_ns, 1e9 + 0.25);
        assert_eq!([0, 1, 2, 3].map(|at| all.position(at)), [45, 65, 0, 0]);
    }
}

#[test]
fn what_failed_is_not_unknown_and_what_has_no_report_is() {
    let mut one = producer(0, 10, 0..6);
    (one.reported.failed, one.reported.failed_all) = (3, 4);
    let other = producer(1, 10, 0..8);
    let all = merged(&[producing(one), producing(other)]);
    assert_eq!((all.counts.acked, all.counts.failed, all.counts.unknown), (14, 3, 3));
    // Sent: 30 and two probes. Acknowledged: 24; failed: 4, one of the warm-up.
    assert_eq!((all.unknown_all(2), all.unknown_all(0)), (4, 2));
    assert_eq!(all.counts.lost, 0, "where nobody consumes nothing is known to be lost");
}

#[test]
fn messages_that_are_under_way_when_a_producer_ends_are_an_error_and_unknown() {
    let outstanding = Outstanding::default();
    outstanding.hand_over(10);
    outstanding.report(7);
    let ProducerOutcome { sent, reported, .. } = producer(0, 10, 0..7);
    let all = merged(&[ClientOutcome::of_producer(0, &outstanding, sent, reported)]);
    assert_eq!((all.counts.failed, all.counts.unknown), (0, 3));
    let [error] = &all.errors.list()[..] else { panic!("one error") };
    assert_eq!((error.origin.as_str(), error.code.as_str(), error.count), ("produce", "UNDER_WAY", 3));
}

#[test]
fn a_loss_is_found_in_the_messages_of_its_producer_though_the_sums_agree() {
    // As many were received as acknowledged, and one of the first producer's is not among them.
    let clients = [
        producing(producer(0, 50_000, 0..50_000)),
        producing(producer(1, 50_000, 0..49_999)),
        consuming(consumer(&[(0, 0..40_000), (1, 0..50_000)])),
        consuming(consumer(&[(0, 40_001..50_000)])),
    ];
    let counts = merged(&clients).counts;
    assert_eq!((counts.acked, counts.received, counts.lost), (99_999, 99_999, 1));
    assert_eq!((counts.unknown, counts.duplicated, counts.reordered), (1, 0, 0));
}

#[test]
fn what_several_consumers_were_given_counts_once_and_the_repeats_are_told() {
    let clients = [
        producing(producer(0, 70_000, 0..70_000)),
        consuming(consumer(&[(0, 0..40_000)])),
        consuming(consumer(&[(0, 39_900..70_000)])),
    ];
    let all = merged(&clients);
    assert_eq!((all.counts.received, all.counts.duplicated, all.counts.lost), (70_000, 100, 0));
    assert_eq!(all.records, 70_100, "repeats are received too");
    assert_eq!(all.position(0), 70_005);
}

#[test]
fn offsets_are_held_against_each_partition_on_its_own() {
    // Both logs together are as long as what was acknowledged, and each alone is not.
    let mut all = merged(&[producing(producer(0, 10, 0..10)), producing(producer(1, 10, 0..10))]);
    let held = all.acknowledged.held_against(&[0, 0], &[14, 16]);
    assert_eq!((held.missing, held.repeated, held.surplus), (1, 0, 1));
    let held = all.acknowledged.held_against(&[0, 0], &[15, 15]);
    assert_eq!((held.missing, held.repeated, held.surplus), (0, 0, 0));
}

#[test]
fn two_producers_that_were_told_the_same_offset_are_found() {
    let (mut one, mut other) = (producer(0, 3, 0..0), producer(1, 3, 0..0));
    one.reported.offsets.note(2, 0, 3, true);
    other.reported.offsets.note(2, 2, 3, true);
    let mut all = merged(&[producing(one), producing(other)]);
    let held = all.acknowledged.held_against(&[0, 0, 0], &[5, 5, 5]);
    assert_eq!((held.missing, held.repeated, held.surplus), (1, 1, 0));
}

#[test]
fn what_clients_say_of_themselves_is_put_together_from_sums() {
    let (mut one, mut other) = (producer(0, 1, 0..1), producer(1, 1, 0..1));
    one.reported.statistics.queue.add(300.0, 3);
    other.reported.statistics.queue.add(100.0, 1);
    one.reported.statistics.take_throttle(40);
    other.reported.statistics.take_throttle(90);
    one.reported.statistics.rtt_min_us = Some(7);
    other.reported.statistics.grown.wakeups = Some(5);
    let told = merged(&[producing(one), producing(other)]).producer_statistics.summary();
    assert_eq!((told.queue_mean_ns, told.queue_samples), (Some(100_000.0), 4));
    assert_eq!((told.throttled_responses, told.throttle_max_ns), (2, Some(90_000_000)));
    assert_eq!((told.rtt_min_ns, told.wakeups), (Some(7_000), Some(5)));
}

#[test]
fn where_records_lay_and_when_they_were_appended_is_put_together_of_all_consumers() {
    let (mut one, mut other) = (consumer(&[(0, 0..4)]), consumer(&[(0, 6..10), (1, 0..2)]));
    one.appends = Appends { samples: 1, sum_ns: 0.5, offset_low_ns: Some(-9), offset_high_ns: Some(4) };
    other.appends = Appends { samples: 3, sum_ns: 2.5, offset_low_ns: Some(-5), offset_high_ns: Some(8) };
    one.statistics.grown.offset_commits = Some(2);
    other.statistics.grown.offset_commits = Some(3);
    let mut all = merged(&[consuming(one), consuming(other)]);
    let Appends { samples, sum_ns, offset_low_ns, offset_high_ns } = all.appends;
    assert_eq!((samples, sum_ns, offset_low_ns, offset_high_ns), (4, 3.0, Some(-5), Some(4)));
    assert_eq!(all.consumer_statistics.summary().offset_commits, Some(5));
    // Nothing was acknowledged, so what was not given is a gap: two between the consumers' parts of the first partition.
    let log = |from, to| LogRead { from, to, start: 0, position: to, compacted: false };
    let told = unread(&mut all.acknowledged, &mut all.read, &[log(5, 15), log(5, 7)]);
    assert_eq!((told.gaps, told.deleted, told.removed), (2, 0, 0));
}

#[test]
fn errors_of_one_kind_are_counted_together() {
    let mut one = producer(0, 1, 0..1);
    one.reported.errors.note("produce", "TIMED_OUT", "first");
    one.sent.errors.note("produce", "TOO_LARGE", "large");
    let mut received = consumer(&[]);
    received.errors.note_times("produce", "TIMED_OUT", "second", 4);
    let errors = merged(&[producing(one), consuming(received)]).errors.list();
    let row = |code: &str, message: &str, count| ErrorCount {
        origin: "produce".to_owned(),
        code: code.to_owned(),
        message: message.to_owned(),
        count,
    };
    assert_eq!(errors, [row("TIMED_OUT", "first", 5), row("TOO_LARGE", "large", 1)]);
}

#[test]
fn the_seconds_of_clients_elsewhere_merge_into_the_histogram_of_one_that_saw_all() {
    let part = |times: Range<u64>| {
        let mut part = SecondPart::new(Measure::EndToEnd);
        (part.second, part.received) = (7, times.end - times.start);
        times.for_each(|time| part.response.record_span(1_000, 1_000 + time * 12_345));
        // One below zero and one beyond the range.
        part.response.record_span(5, 4);
        part.response.record_span(0, u64::MAX);
        part
    };
    let mut sum = SecondPart::new(Measure::EndToEnd);
    for part in [part(0..3_000), part(3_000..3_500)] {
        let arrived = over_a_link(&part.to_send());
        assert_eq!((arrived.second, arrived.received), (7, part.received));
        sum.absorb_sent(&arrived, 0).unwrap();
    }
    let whole = sum.response;
    let mut all_at_once = Histogram::new();
    (0..3_500).for_each(|time| all_at_once.record_ns(time * 12_345));
    for beside in [-1, i64::MAX] {
        (0..2).for_each(|_| all_at_once.record_ns(beside));
    }
    assert_eq!(whole, all_at_once);
    assert_eq!(whole.exact().sum_ns, 12_345 * (3_499 * 3_500 / 2));
}
