//! Tests of a block's outcome: its length, and its messages against the logs.

mod of_threads;

use super::*;
use plumb_model::plan::{Keys, Length, Payload, Purpose, SizePlan};
use plumb_model::units::{Bytes, Nanos};
use std::collections::BTreeMap;

fn load(schedule: Schedule) -> LoadPlan {
    LoadPlan {
        rate_per_s: Some(100.0),
        schedule,
        length: Length::Count(20),
        warm_up: Nanos(0),
        drain: Nanos(0),
        producers: 1,
        consumers: 1,
        workers: 0,
        size: SizePlan::Fixed(Bytes(100)),
        keys: Keys::None,
        headers: BTreeMap::new(),
        payload: Payload::Entropy(1.0),
        in_flight: None,
        until_device: false,
        purpose: Purpose::default(),
        mode: Mode::Mixed,
    }
}

#[test]
fn two_bursts_of_ten_at_a_hundred_per_second_take_a_fifth_of_a_second() {
    let burst = load(Schedule::Burst { messages: 10 });
    assert_eq!(planned_ns(&burst, Some(5), Some(100_000_005), 20), 200_000_000);
}

#[test]
fn a_random_schedule_is_as_long_as_it_came_out() {
    assert_eq!(planned_ns(&load(Schedule::Poisson), Some(0), Some(190), 20), 200);
    assert_eq!(planned_ns(&load(Schedule::Poisson), None, None, 0), 0);
}

#[test]
fn a_single_message_lasts_as_long_as_the_gap_of_its_rate() {
    assert_eq!(planned_ns(&load(Schedule::Poisson), Some(5), Some(5), 1), 10_000_000);
    assert_eq!(planned_ns(&load(Schedule::Poisson), Some(5), Some(15), 2), 20);
}

#[test]
fn append_times_are_a_mean_with_both_bounds_and_nothing_without_a_sample() {
    let appends = Appends { samples: 4, sum_ns: 10.0, offset_low_ns: Some(-3), offset_high_ns: Some(5) };
    let times = append_times(&appends).unwrap();
    assert_eq!((times.samples, times.floor_minus_sent_mean_ns), (4, 2.5));
    assert_eq!((times.clock_offset_low_ns, times.clock_offset_high_ns), (-3, 5));
    assert_eq!(append_times(&Appends::default()), None);
}

#[test]
fn a_record_that_nobody_was_told_of_accuses_unless_others_write_there() {
    let agrees = |foreign| {
        let mut accounting = Accounting { acked: 5, foreign, ..Accounting::default() };
        hold(&mut accounting, &asked(&[0], &[6]), &mut Acknowledged::default().with(0, 0, 5));
        (accounting.agrees, accounting.surplus)
    };
    assert_eq!(agrees(0), (Some(false), Some(1)));
    assert_eq!(agrees(1), (None, Some(1)));
}

fn copied(ends: &[i64]) -> LeaderEnds {
    LeaderEnds { appended: ends.to_vec(), replicated: ends.to_vec(), stable: Some(ends.to_vec()) }
}

fn asked(from: &[i64], to: &[i64]) -> LogEnds {
    LogEnds {
        readable_from: from.to_vec(),
        readable_to: Some(to.to_vec()),
        leaders_from: Some(copied(from)),
        leaders_to: Some(copied(to)),
        starts_from: Some(vec![0; from.len()]),
        starts_to: Some(vec![0; from.len()]),
        compacted: false,
    }
}

#[test]
fn offsets_that_grew_more_than_was_sent_do_not_agree() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    settle(&mut accounting, &asked(&[5, 0], &[10, 6]), OfBlock::Sent);
    assert_eq!((accounting.offset_delta, accounting.agrees), (Some(11), Some(false)));
    assert_eq!((accounting.unreplicated, accounting.unreplicated_growth), (Some(0), Some(0)));
    assert_eq!(accounting.deleted, Some(0));
    accounting.foreign = 1;
    settle(&mut accounting, &asked(&[5, 0], &[10, 6]), OfBlock::Sent);
    assert_eq!(accounting.agrees, Some(true));
    settle(&mut accounting, &LogEnds::default(), OfBlock::Sent);
    assert_eq!(accounting.agrees, None);
}

#[test]
fn what_is_deleted_meanwhile_is_what_the_beginnings_moved_by() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    let mut ends = asked(&[5, 0], &[10, 5]);
    (ends.starts_from, ends.starts_to) = (Some(vec![1, 0]), Some(vec![4, 0]));
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!((accounting.deleted, accounting.agrees), (Some(3), Some(true)));
    ends.starts_from = None;
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!(accounting.deleted, None);
}

#[test]
fn logs_whose_sum_is_right_and_whose_partitions_are_not_do_not_agree() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    let ends = asked(&[0, 0], &[4, 6]);
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!((accounting.offset_delta, accounting.agrees), (Some(10), Some(true)), "the sum alone");
    hold(&mut accounting, &ends, &mut Acknowledged::default().with(0, 0, 5).with(1, 0, 5));
    assert_eq!((accounting.agrees, accounting.missing, accounting.surplus), (Some(false), Some(1), Some(1)));
}

#[test]
fn a_high_watermark_proves_a_loss_only_by_an_offset_that_two_records_have() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    let mut ends = asked(&[0], &[8]);
    (ends.leaders_from, ends.leaders_to) = (None, None);
    settle(&mut accounting, &ends, OfBlock::Sent);
    hold(&mut accounting, &ends, &mut Acknowledged::default().with(0, 0, 10));
    assert_eq!((accounting.agrees, accounting.missing, accounting.surplus), (None, None, None));
    hold(&mut accounting, &ends, &mut Acknowledged::default().with(0, 0, 5).with(0, 4, 5));
    assert_eq!((accounting.agrees, accounting.missing), (Some(false), Some(1)));
}

#[test]
fn what_others_wrote_at_the_edges_of_the_block_is_no_fault_and_what_is_missing_still_is() {
    // Eight of theirs were in the log between the two questions and came to no consumer.
    let mut accounting = Accounting { acked: 10, foreign: 20, ..Accounting::default() };
    settle(&mut accounting, &asked(&[0], &[38]), OfBlock::Sent);
    hold(&mut accounting, &asked(&[0], &[38]), &mut Acknowledged::default().with(0, 0, 10));
    assert_eq!((accounting.agrees, accounting.missing, accounting.surplus), (Some(true), Some(0), Some(28)));
    // One more came to the consumers than is between the questions.
    settle(&mut accounting, &asked(&[0], &[29]), OfBlock::Sent);
    assert_eq!(accounting.agrees, Some(true));
    hold(&mut accounting, &asked(&[0], &[29]), &mut Acknowledged::default().with(0, 0, 9).with(0, 29, 1));
    assert_eq!((accounting.agrees, accounting.missing), (Some(false), Some(1)));
}

#[test]
fn what_followers_have_not_copied_is_in_the_log_and_waits() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    let mut ends = asked(&[0, 0], &[5, 5]);
    ends.leaders_to = Some(LeaderEnds { appended: vec![5, 5], replicated: vec![5, 2], stable: None });
    ends.readable_to = Some(vec![5, 2]);
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!((accounting.offset_delta, accounting.agrees), (Some(10), Some(true)));
    assert_eq!((accounting.unreplicated, accounting.unreplicated_growth), (Some(3), Some(3)));
}

#[test]
fn markers_that_nobody_was_given_are_no_records_too_many_and_one_more_record_is() {
    let ends = asked(&[0], &[12]);
    let told = || Acknowledged::default().with(0, 0, 5).with(0, 6, 5);
    let account = |gaps| {
        let mut accounting = Accounting { acked: 10, gaps, ..Accounting::default() };
        settle(&mut accounting, &ends, OfBlock::Sent);
        hold(&mut accounting, &ends, &mut told());
        (accounting.agrees, accounting.surplus)
    };
    assert_eq!(account(Some(2)), (Some(true), Some(2)));
    assert_eq!(account(Some(1)), (Some(false), Some(2)));
    assert_eq!(account(None), (Some(false), Some(2)), "where nobody consumes");
}

#[test]
fn a_log_that_is_read_as_it_is_holds_what_was_received_and_gaps_and_what_was_removed() {
    let account = |records, unread| {
        let (mut counts, mut accounting) = (Counts::default(), Accounting::default());
        take_unread(&mut counts, &mut accounting, Some(unread), TakenFrom::TopicAsItIs);
        accounting.acked = records;
        let removed = counts.removed.unwrap_or(0);
        settle(&mut accounting, &asked(&[0], &[20]), OfBlock::Read { removed });
        (accounting.agrees, counts.removed, accounting.gaps)
    };
    let unread = Unread { removed: 0, removed_of_all: 0, deleted: 4, gaps: 7 };
    assert_eq!(account(13, unread), (Some(true), Some(4), Some(3)));
    assert_eq!(account(12, unread), (Some(false), Some(4), Some(3)), "one was not read");
    assert_eq!(account(21, unread), (Some(false), Some(4), Some(3)), "some were read twice");
}

#[test]
fn what_was_removed_is_taken_from_what_seems_lost_and_the_rest_stays() {
    let (mut counts, mut accounting) = (Counts { lost: 5, ..Counts::default() }, Accounting::default());
    let unread = Unread { removed: 3, removed_of_all: 60, deleted: 64, gaps: 1 };
    take_unread(&mut counts, &mut accounting, Some(unread), TakenFrom::Measured);
    assert_eq!((counts.lost, counts.removed, accounting.gaps), (2, Some(3), Some(1)));
    let mut drained = Counts { lost: 5, ..Counts::default() };
    take_unread(&mut drained, &mut accounting, Some(unread), TakenFrom::Backlog);
    assert_eq!((drained.lost, drained.removed), (2, Some(60)), "a warm-up built the backlog");
    let mut unknown = Counts { lost: 5, ..Counts::default() };
    take_unread(&mut unknown, &mut accounting, None, TakenFrom::Measured);
    assert_eq!((unknown.lost, unknown.removed), (5, None));
}

#[test]
fn a_high_watermark_alone_confirms_and_never_accuses() {
    let mut accounting = Accounting { acked: 10, ..Accounting::default() };
    let mut ends = asked(&[0, 0], &[5, 5]);
    (ends.leaders_from, ends.leaders_to) = (None, None);
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!((accounting.agrees, accounting.unreplicated), (Some(true), None));
    ends.readable_to = Some(vec![5, 2]);
    settle(&mut accounting, &ends, OfBlock::Sent);
    assert_eq!((accounting.agrees, accounting.unreplicated), (None, None));
}
