//! The figures of a block's seconds, with and without a warm-up to leave out.

use super::beginning::SECONDS_MOST;
use super::*;
use jiff::Timestamp;
use plumb_model::observation::{Accounting, ClientStatistics, Counts};
use plumb_model::plan::Properties;

fn part(second: u32, warm_up: bool, times_ns: &[u64]) -> SecondPart {
    let mut part = SecondPart::new(Measure::EndToEnd);
    part.second = second;
    part.warm_up = warm_up;
    part.received = times_ns.len() as u64;
    for time in times_ns {
        part.response.record_span(0, *time);
        part.service.record_span(0, *time);
    }
    part
}

#[test]
fn a_long_block_keeps_only_a_few_seconds_open_and_loses_no_sample() {
    let place = tempfile::tempdir().unwrap();
    let mut dir = RunDir::create(Some(place.path()), Timestamp::UNIX_EPOCH, "x").unwrap();
    let mut fold = StepFold::new(0.95, "0".into());
    fold.begin_block(0);
    fold.take(&part(0, true, &[9_000_000]), &mut dir).unwrap();
    for second in 0..100 {
        fold.take(&part(second, false, &[1_000_000, 3_000_000]), &mut dir).unwrap();
        assert!(fold.open.len() <= OPEN_SECONDS as usize + 2);
    }
    fold.close(u32::MAX, &mut dir).unwrap();
    let latency = fold.latencies(&[]).end_to_end;
    assert_eq!(latency.samples, 200);
    assert_eq!(latency.mean_ns, Some(2_000_000.0));
    assert_eq!(fold.series.len(), 101);
    let log = std::fs::read_to_string(place.path().join("0.end_to_end.hlog")).unwrap();
    assert_eq!(log.lines().filter(|line| !line.starts_with('#')).count(), 100);
}

/// The outcome of a load of 100 messages a second, whose block is measured from its beginning.
fn outcome(seconds: u64) -> BlockOutcome {
    let counts = Counts { sent: 100 * seconds, acked: 100 * seconds, ..Counts::default() };
    BlockOutcome {
        stopped: false,
        counts,
        accounting: Accounting::default(),
        partition_records: None,
        seconds_from_epoch_ns: 0,
        measured_after_ns: Some(0),
        measured_ns: seconds * 1_000_000_000,
        planned_ns: seconds * 1_000_000_000,
        producer_statistics: ClientStatistics::default(),
        consumer_statistics: ClientStatistics::default(),
        acked_bytes: 0,
        received_messages: 0,
        received_bytes: 0,
        acknowledged_within_ns: None,
        receiving_ns: None,
        drain_ns: None,
        append_times: None,
        replication_lag: None,
        catch_up_at_most_ns: None,
        queue_full_waits: 0,
        errors: Vec::new(),
        producer_properties: Properties::new(),
        consumer_properties: Properties::new(),
        programs: Vec::new(),
        workers: Vec::new(),
        lost_worker: None,
    }
}

/// A block of a trial whose first seconds are slower and dearer.
struct Folded {
    block: BlockResult,
    fold: StepFold,
    /// Lines of its log.
    lines: usize,
}

fn block_with_a_slow_beginning(seconds: u32, slow: u32) -> Folded {
    let place = tempfile::tempdir().unwrap();
    let mut dir = RunDir::create(Some(place.path()), Timestamp::UNIX_EPOCH, "x").unwrap();
    let mut fold = StepFold::new(0.95, "0".into()).leaving_warm_up_out();
    fold.begin_block(0);
    for second in 0..seconds {
        // So that no second is like the other, as real ones are not.
        let noise_ns = u64::from(second * 7_919 % 97) * 1_000;
        let time_ns = noise_ns + if second < slow { 9_000_000 } else { 1_000_000 };
        for measure in [Measure::EndToEnd, Measure::Slip] {
            let mut part = part(second, false, &[time_ns; 100]);
            part.measure = measure;
            let times = if measure == Measure::EndToEnd { 100 } else { 0 };
            (part.acked, part.received) = (times, times);
            fold.take(&part, &mut dir).unwrap();
        }
    }
    let cpu = CpuBySecond::made_up(seconds, |second| if second < slow { 90_000_000 } else { 1_000_000 });
    let block = fold.end_block(&outcome(seconds.into()), &cpu, &mut dir).unwrap();
    let log = std::fs::read_to_string(place.path().join("0.end_to_end.hlog")).unwrap();
    let lines = log.lines().filter(|line| !line.starts_with('#')).count();
    Folded { block, fold, lines }
}

#[test]
fn what_is_cut_as_warm_up_is_in_no_figure_no_log_and_no_cpu_time() {
    let Folded { block, fold, lines } = block_with_a_slow_beginning(40, 8);
    assert_eq!((block.warm_up_cut_s, lines), (8.0, 32));
    assert_eq!((block.end_to_end.samples, fold.slip().samples), (3_200, 3_200));
    assert!(block.end_to_end.max_ns.unwrap() < 2_000_000, "{:?}", block.end_to_end.max_ns);
    assert!(block.slip_mean_ns.unwrap() < 2_000_000.0, "{:?}", block.slip_mean_ns);
    assert_eq!(block.achieved_per_s, Some(100.0));
    let left = AfterWarmUp {
        messages: 3_200,
        client_cpu_s: Some(0.032),
        broker_cpu_s: Some(0.064),
        cut_end_to_end: 800,
        cut_acknowledge: 0,
    };
    assert_eq!(block.after_warm_up, Some(left));
    assert_eq!(block.counts.acked, 4_000, "counts are of the whole measured part");
}

#[test]
fn a_block_of_a_trial_without_a_warm_up_keeps_all_of_its_seconds() {
    let Folded { block, fold, lines } = block_with_a_slow_beginning(40, 0);
    assert_eq!((block.warm_up_cut_s, block.after_warm_up, lines), (0.0, None, 40));
    assert_eq!((block.end_to_end.samples, fold.slip().samples), (4_000, 4_000));
}

#[test]
fn a_log_has_its_seconds_in_order_also_beyond_those_that_a_warm_up_may_reach() {
    let Folded { block, lines, .. } = block_with_a_slow_beginning(SECONDS_MOST as u32 + 60, 10);
    assert_eq!((block.warm_up_cut_s, lines), (10.0, SECONDS_MOST + 50));
    assert_eq!(block.end_to_end.samples, 100 * (SECONDS_MOST as u64 + 50));
}
