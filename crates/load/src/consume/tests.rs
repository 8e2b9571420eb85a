//! Tests of a consumer's notes: whose records are, which count, and how long they took.

use super::*;
use crate::observation::Measure;
use crate::stamp::STAMP_BYTES;
use crate::wire::sample::step;
use plumb_model::plan::{LoadPlan, Schedule};
use plumb_model::units::Bytes;
use std::sync::atomic::AtomicBool;

#[test]
fn the_bounds_of_the_clock_offset_enclose_the_truth() {
    // Broker clock ahead by 7 ms; sent at t, appended 0.4 ms later, received 0.9 ms after sending.
    let offset = 7_000_000;
    let mut appends = Appends::default();
    for sent in (0..50_000_000i64).step_by(770_000) {
        let append_broker_ms = (sent + 400_000 + offset) / MILLISECOND_NS;
        appends.note(sent, sent + 900_000, append_broker_ms);
    }
    let (low, high) = (appends.offset_low_ns.unwrap(), appends.offset_high_ns.unwrap());
    assert!(low <= offset && offset <= high, "{low} {high}");
    assert!(high - low <= 1_000_000, "{low} {high}");
}

const RUN: u64 = 7;
const NOW_NS: u64 = 9_000;
const SENT_NS: u64 = 3_000;

/// A consumer of a load of two partitions; `as_it_is`: of a topic that others filled.
fn with(load: &LoadPlan, as_it_is: bool, test: impl FnOnce(&mut Received, &Shared<'_>, &mut Seconds<'_>)) {
    let stop = AtomicBool::new(false);
    let shared = Shared::new(RUN, load, &stop, &[0, 0], as_it_is);
    shared.begin(0);
    shared.probe_acknowledged(0);
    shared.probe_acknowledged(1);
    let (out, _parcels) = std::sync::mpsc::channel();
    let mut seconds = Seconds::new(Measure::EndToEnd, shared.clock_start(), out);
    test(&mut Received::new(2), &shared, &mut seconds);
}

fn stamp(run: u64, part: Part, sequence: u64) -> [u8; STAMP_BYTES] {
    let mut bytes = [0; STAMP_BYTES];
    Stamp { run, producer: 0, part, sequence, intended_ns: SENT_NS - 1_000, sent_ns: SENT_NS }
        .write(&mut bytes);
    bytes
}

fn record(offset: i64, stamp_bytes: &[u8]) -> Record<'_> {
    Record { partition: 1, offset, stamp_bytes, value_bytes: 100, append_time_ms: None }
}

fn distinct(received: &mut Received) -> (u64, u64) {
    received.arrivals.end_run();
    (received.arrivals.distinct(), received.arrivals.duplicated())
}

#[test]
fn records_of_others_and_damaged_ones_are_told_apart_and_count_for_nothing() {
    with(&step().load, false, |received, shared, seconds| {
        let mut damaged = stamp(RUN, Part::Measured, 0);
        damaged[20] ^= 1;
        for (offset, bytes) in
            [&stamp(RUN + 1, Part::Measured, 0)[..], b"hello", &damaged, b"hello"].into_iter().enumerate()
        {
            received.note(shared, &record(offset as i64, bytes), NOW_NS, seconds);
        }
        assert_eq!((received.foreign, received.corrupt, received.records), (3, 1, 0));
        assert_eq!((distinct(received), received.last_ns), ((0, 0), None));
    });
}

#[test]
fn a_measured_message_has_one_latency_however_often_it_comes() {
    with(&step().load, false, |received, shared, seconds| {
        for now in [NOW_NS, NOW_NS + 500] {
            received.note(shared, &record(4, &stamp(RUN, Part::Measured, 0)), now, seconds);
        }
        assert_eq!((distinct(received), received.records, received.bytes), ((1, 1), 2, 200));
        assert_eq!(received.last_ns, Some(NOW_NS + 500));
        let second = seconds.at(NOW_NS, false);
        assert_eq!((second.received, second.response.samples()), (1, 1));
        assert_eq!(
            (second.response.exact().max_ns, second.service.exact().max_ns),
            (Some(7_000), Some(6_000))
        );
    });
}

#[test]
fn the_time_to_catch_up_is_from_the_send_to_the_reception_of_the_record_before() {
    with(&step().load, false, |received, shared, seconds| {
        received.note(shared, &record(0, &stamp(RUN, Part::Measured, 0)), NOW_NS, seconds);
        assert_eq!(received.catch_up_at_most_sum_ns, 0.0, "there is none before the first");
        received.note(shared, &record(1, &stamp(RUN, Part::Measured, 1)), NOW_NS + 10, seconds);
        assert_eq!(received.catch_up_at_most_sum_ns, 6_000.0);
    });
}

#[test]
fn probes_and_the_warm_up_are_no_measured_messages() {
    with(&step().load, false, |received, shared, seconds| {
        received.note(shared, &record(0, &stamp(RUN, Part::Probe, 0)), NOW_NS, seconds);
        assert_eq!(shared.first_unready(true), Some(0), "one partition of two went round");
        received.note(shared, &record(1, &stamp(RUN, Part::WarmUp, 0)), NOW_NS, seconds);
        assert_eq!((distinct(received), received.records), ((0, 0), 0));
        let second = seconds.at(NOW_NS, true);
        assert_eq!((second.received, second.response.samples()), (1, 1));
    });
}

#[test]
fn what_built_a_backlog_counts_once_consumers_were_released() {
    let load = LoadPlan { mode: plumb_model::plan::Mode::Backlog(Bytes(1)), ..step().load };
    with(&load, false, |received, shared, seconds| {
        shared.hold_consumers();
        received.note(shared, &record(0, &stamp(RUN, Part::WarmUp, 0)), NOW_NS, seconds);
        assert_eq!(received.records, 0);
        shared.release_consumers();
        received.note(shared, &record(1, &stamp(RUN, Part::WarmUp, 1)), NOW_NS, seconds);
        assert_eq!((received.records, received.bytes), (1, 100));
    });
}

#[test]
fn as_fast_as_possible_messages_are_counted_and_have_no_latency() {
    let load = LoadPlan { schedule: Schedule::Saturating, rate_per_s: None, ..step().load };
    with(&load, false, |received, shared, seconds| {
        let mut counted = Counted::default();
        for (offset, part) in [(0, Part::Measured), (1, Part::Measured), (2, Part::WarmUp)] {
            let bytes = stamp(RUN, part, offset);
            assert!(received.note_if_counted(shared, &record(offset as i64, &bytes), &mut counted));
        }
        for other in [&stamp(RUN, Part::Probe, 0)[..], &stamp(RUN + 1, Part::Measured, 0), b"hello"] {
            assert!(!received.note_if_counted(shared, &record(9, other), &mut counted));
        }
        received.end_counted(&counted, NOW_NS, seconds);
        assert_eq!((distinct(received), received.records, received.bytes), ((2, 0), 2, 200));
        assert_eq!(received.last_ns, Some(NOW_NS));
        let measured = seconds.at(NOW_NS, false);
        assert_eq!((measured.received, measured.response.samples()), (2, 0));
        assert_eq!(seconds.at(NOW_NS, true).received, 1);
        received.note(shared, &record(3, &stamp(RUN, Part::Measured, 3)), NOW_NS + 5, seconds);
        assert_eq!((received.records, received.last_ns), (3, Some(NOW_NS + 5)), "one by one it is the same");
        received.end_counted(&Counted::default(), NOW_NS + 9, seconds);
        assert_eq!(received.last_ns, Some(NOW_NS + 5), "nothing came");
    });
}

#[test]
fn of_a_topic_that_is_read_as_it_is_every_record_counts_up_to_its_end_and_one_run_is_verified() {
    with(&step().load, true, |received, shared, seconds| {
        shared.ends_at(&[0, 5]);
        let runs = [RUN + 1, RUN + 1, RUN + 2];
        for (offset, run) in runs.into_iter().enumerate() {
            let bytes = stamp(run, Part::Measured, 0);
            received.note(shared, &record(offset as i64, &bytes), NOW_NS, seconds);
        }
        let mut damaged = stamp(RUN, Part::Measured, 0);
        damaged[20] ^= 1;
        received.note(shared, &record(3, b"hello"), NOW_NS, seconds);
        received.note(shared, &record(4, &damaged), NOW_NS, seconds);
        received.note(shared, &record(5, &stamp(RUN + 1, Part::Measured, 9)), NOW_NS, seconds);
        assert_eq!((received.records, received.foreign, received.corrupt), (5, 1, 1));
        assert_eq!(distinct(received), (1, 1), "the message of the first run came twice");
        assert_eq!(seconds.at(NOW_NS, false).received, 5);
    });
}

#[test]
fn append_times_of_measured_messages_are_kept_and_put_together() {
    with(&step().load, false, |received, shared, seconds| {
        let append_time_ms = Some(shared.epoch_ns(SENT_NS) / MILLISECOND_NS + 7);
        let bytes = stamp(RUN, Part::Measured, 0);
        received.note(shared, &Record { append_time_ms, ..record(0, &bytes) }, NOW_NS, seconds);
        let appends = &received.appends;
        assert_eq!(appends.samples, 1);
        assert!((6e6..=7e6).contains(&appends.sum_ns), "{appends:?}");
        let mut both = Appends { samples: 2, sum_ns: 5.0, offset_low_ns: Some(-9), offset_high_ns: None };
        both.absorb(&Appends { samples: 3, sum_ns: 6.0, offset_low_ns: Some(-4), offset_high_ns: Some(8) });
        both.absorb(&Appends { samples: 0, sum_ns: 0.0, offset_low_ns: None, offset_high_ns: Some(9) });
        assert_eq!((both.samples, both.sum_ns), (5, 11.0));
        assert_eq!((both.offset_low_ns, both.offset_high_ns), (Some(-4), Some(8)));
    });
}
