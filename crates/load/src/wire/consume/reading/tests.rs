//! Tests of reading a response's bytes: each record once, wherever batches begin, and the damaged ones counted.

use super::*;
use crate::job::MessageContents;
use crate::keys::KeySource;
use crate::observation::Measure;
use crate::payload::PayloadSource;
use crate::random::Random;
use crate::stamp::{Part, Stamp};
use crate::wire::sample::step;
use crate::wire::slot::{Content, Slot};
use plumb_model::plan::{LoadPlan, SizePlan};
use plumb_model::units::Bytes;
use plumb_wire::batch::Seal;
use std::sync::atomic::AtomicBool;

const RUN: u64 = 7;
const PARTITION: usize = 1;
const NOW_NS: u64 = 9_000;
const SENT_NS: u64 = 2_000;

/// A consumer of two partitions that is at this offset of the second.
fn with(offset: i64, test: impl FnOnce(&mut Reading<'_, '_>)) {
    let load = step().load;
    let stop = AtomicBool::new(false);
    let shared = Shared::new(RUN, &load, &stop, &[0, 0], false);
    shared.begin(0);
    shared.measure_from(0);
    let view = ClusterView::nowhere("topic", 2);
    let (out, _parcels) = std::sync::mpsc::channel();
    test(&mut Reading {
        shared: &shared,
        view: &view,
        stamp_place: Some(StampPlace::Value),
        places: vec![ReadPosition::at(0), ReadPosition::at(offset)],
        scratch: Decompressor::new(100_000),
        received: Received::new(2),
        starts_asked: 0,
        seconds: Seconds::new(Measure::EndToEnd, shared.clock_start(), out),
    });
}

/// A batch of so many measured records, the first at an offset; their sequences are their offsets.
fn batch(first_offset: u64, records: u64) -> Vec<u8> {
    batch_of(&step().load, first_offset, records)
}

fn batch_of(load: &LoadPlan, first_offset: u64, records: u64) -> Vec<u8> {
    let keys = KeySource::new(load.keys, Random::new(1));
    let mut content = Content::new(
        load,
        MessageContents { keys, payloads: PayloadSource::new(load, Random::new(2)).unwrap() },
        100,
    );
    let mut slot = Slot::new(100_000, &content);
    slot.begin(&content, PARTITION, Part::Measured);
    for sequence in first_offset..first_offset + records {
        let at = slot.add(&mut content).unwrap();
        let stamp = Stamp {
            run: RUN,
            producer: 0,
            part: Part::Measured,
            sequence,
            intended_ns: SENT_NS,
            sent_ns: SENT_NS,
        };
        slot.stamp(at, &stamp, &content);
    }
    slot.seal(&Seal { timestamp_ms: 0, producer: None }, None).unwrap();
    let mut bytes = slot.bytes().to_vec();
    // The leader writes where the batch is; no checksum is over it.
    bytes[..8].copy_from_slice(&first_offset.to_be_bytes());
    bytes
}

fn fetched(records: &[u8], error_code: ErrorCode) -> FetchedPartition<'_> {
    FetchedPartition { topic: "topic", index: i32::try_from(PARTITION).unwrap(), error_code, records }
}

fn read(reading: &mut Reading<'_, '_>, records: &[u8]) {
    reading.partition(&fetched(records, ErrorCode::NONE), NOW_NS);
}

#[derive(Debug, PartialEq)]
struct Counted {
    position: i64,
    distinct: u64,
    repeated: u64,
    /// All records.
    received: u64,
}

fn counted(reading: &mut Reading<'_, '_>) -> Counted {
    reading.received.arrivals.end_run();
    let arrivals = &reading.received.arrivals;
    Counted {
        position: reading.places[PARTITION].offset,
        distinct: arrivals.distinct(),
        repeated: arrivals.duplicated(),
        received: reading.shared.received(),
    }
}

fn errors(reading: &mut Reading<'_, '_>) -> String {
    format!("{:?}", reading.received.errors)
}

#[test]
fn each_record_of_a_response_is_counted_and_the_partition_goes_on_behind_it() {
    with(0, |reading| {
        read(reading, &[batch(0, 3), batch(3, 2)].concat());
        assert_eq!(counted(reading), Counted { position: 5, distinct: 5, repeated: 0, received: 5 });
        assert_eq!(reading.shared.position(1), Some(5));
        assert_eq!((reading.received.records, reading.received.bytes), (5, 500));
        assert_eq!(reading.received.appends.samples, 0, "their times are the client's");
        let second = reading.seconds.at(NOW_NS, false);
        assert_eq!((second.received, second.response.exact().max_ns), (5, Some(NOW_NS - SENT_NS)));
    });
}

#[test]
fn a_batch_that_was_read_already_is_not_counted_again() {
    with(0, |reading| {
        let batch = batch(0, 5);
        read(reading, &batch);
        read(reading, &batch);
        assert_eq!(counted(reading), Counted { position: 5, distinct: 5, repeated: 0, received: 5 });
    });
}

#[test]
fn of_a_batch_that_begins_before_the_place_only_the_rest_is_counted() {
    with(3, |reading| {
        read(reading, &batch(0, 5));
        assert_eq!(counted(reading), Counted { position: 5, distinct: 2, repeated: 0, received: 2 });
    });
    with(5, |reading| {
        read(reading, &batch(0, 5));
        assert_eq!(counted(reading), Counted { position: 5, distinct: 0, repeated: 0, received: 0 });
    });
}

#[test]
fn a_batch_with_a_wrong_checksum_is_passed_over_and_its_records_are_damaged() {
    with(0, |reading| {
        let mut damaged = batch(0, 3);
        *damaged.last_mut().unwrap() ^= 1;
        read(reading, &[damaged, batch(3, 2)].concat());
        assert_eq!(counted(reading), Counted { position: 5, distinct: 2, repeated: 0, received: 2 });
        assert_eq!(reading.received.corrupt, 3);
        assert!(errors(reading).contains("BAD_CRC"));
    });
}

#[test]
fn bytes_that_are_no_batch_end_the_reading_of_their_partition() {
    with(0, |reading| {
        let mut other = batch(0, 3);
        // The version of the format, for which there is but one value.
        other[16] = 9;
        read(reading, &other);
        assert_eq!(counted(reading), Counted { position: 0, distinct: 0, repeated: 0, received: 0 });
        assert!(!reading.places[PARTITION].is_wanted(u64::MAX));
        assert!(reading.places[0].is_wanted(0), "the other partition goes on");
        assert!(errors(reading).contains("UNREADABLE_BATCH"));
    });
}

#[test]
fn a_partition_that_answers_with_an_error_is_asked_again_after_a_pause() {
    let not_leader = ErrorCode(6);
    with(0, |reading| {
        reading.partition(&fetched(&[], not_leader), NOW_NS);
        assert!(reading.view.is_wanted(), "another leads it");
        let place = &reading.places[PARTITION];
        assert!(!place.is_wanted(NOW_NS + RETRY_NS - 1) && place.is_wanted(NOW_NS + RETRY_NS));
        assert!(!errors(reading).contains("NOT_LEADER"), "that passes");
    });
    with(0, |reading| {
        reading.partition(&fetched(&[], ErrorCode(29)), NOW_NS);
        assert!(!reading.view.is_wanted() && errors(reading).contains("AUTHORIZATION"));
    });
}

#[test]
fn where_the_log_begins_behind_the_place_reading_goes_on_there_once_that_is_told() {
    with(3, |reading| {
        reading.partition(&fetched(&[], OFFSET_OUT_OF_RANGE), NOW_NS);
        assert_eq!(reading.starts_asked, 1);
        let (tell, told) = std::sync::mpsc::channel();
        reading.places[PARTITION].start = Some(told);
        reading.go_on_at_log_starts();
        assert_eq!((reading.starts_asked, reading.places[PARTITION].is_wanted(u64::MAX)), (1, false));
        tell.send(8).unwrap();
        reading.go_on_at_log_starts();
        assert_eq!((reading.starts_asked, reading.places[PARTITION].is_wanted(u64::MAX)), (0, true));
        assert_eq!((counted(reading).position, reading.shared.position(1)), (8, Some(8)));
    });
    // Nobody leads the partition here: nothing is told, and it is asked for again.
    with(3, |reading| {
        reading.partition(&fetched(&[], OFFSET_OUT_OF_RANGE), NOW_NS);
        reading.go_on_at_log_starts();
        assert_eq!((reading.starts_asked, counted(reading).position), (0, 3));
        assert!(reading.places[PARTITION].is_wanted(u64::MAX));
    });
}

#[test]
fn a_start_before_the_place_does_not_lead_back() {
    with(3, |reading| {
        let (tell, told) = std::sync::mpsc::channel();
        (reading.places[PARTITION].start, reading.starts_asked) = (Some(told), 1);
        tell.send(1).unwrap();
        reading.go_on_at_log_starts();
        assert_eq!(counted(reading).position, 3);
    });
}

#[test]
fn a_partition_that_nobody_asked_for_is_passed_over() {
    with(0, |reading| {
        for index in [-1, 2] {
            reading.partition(&FetchedPartition { index, ..fetched(&batch(0, 3), ErrorCode::NONE) }, NOW_NS);
        }
        assert_eq!(reading.shared.received(), 0);
    });
}

#[test]
fn an_answer_with_an_error_as_a_whole_is_noted() {
    with(0, |reading| {
        reading.answered(ErrorCode::NONE);
        assert!(!errors(reading).contains("consume"));
        reading.answered(ErrorCode(29));
        assert!(errors(reading).contains("AUTHORIZATION"));
    });
}

#[test]
fn stamps_of_values_that_are_too_small_for_them_are_read_from_their_header() {
    let small = LoadPlan { size: SizePlan::Fixed(Bytes(10)), ..step().load };
    for place in [Some(StampPlace::Header), None] {
        with(0, |reading| {
            reading.stamp_place = place;
            read(reading, &batch_of(&small, 0, 3));
            assert_eq!(counted(reading), Counted { position: 3, distinct: 3, repeated: 0, received: 3 });
            assert_eq!((reading.received.bytes, reading.received.foreign), (30, 0));
        });
    }
}
