//! Tests of the rule on paths that did not keep up.

use super::*;
use crate::healthy::{assert_found, found, healthy};

#[test]
fn a_rate_that_was_not_reached_is_found() {
    let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
        reach(&mut document.steps[0], 99.0);
    });
    assert_eq!(finding.evidence[0].what, "achieved / asked");
}

/// A step of which every block reached this rate.
fn reach(step: &mut plumb_model::document::StepResult, rate_per_s: f64) {
    step.achieved_per_s = Some(rate_per_s);
    step.blocks.iter_mut().for_each(|block| block.achieved_per_s = Some(rate_per_s));
}

#[test]
fn a_stall_at_the_end_of_one_short_block_is_no_shortfall() {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.achieved_per_s = Some(98.6);
    step.blocks[2].achieved_per_s = Some(93.0);
    assert_eq!(found(&document, RULE.row.id), []);
}

/// Three blocks at 100/s for 2 s: the second stood still, and the processors of the first were wanted by others.
fn one_stall_of_three() -> plumb_model::document::RunDocument {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.blocks.truncate(3);
    step.series.retain(|row| row.block < 3);
    step.series.iter_mut().for_each(|row| row.acknowledge.max_ns = Some(25_000_000));
    for block in &mut step.blocks {
        (block.counts.sent, block.counts.acked) = (200, 200);
        // The last acknowledgement came 13 ms after the last message was due.
        block.achieved_per_s = Some(200.0 / 2.013);
    }
    step.blocks[1].achieved_per_s = Some(200.0 / 3.4);
    step.achieved_per_s = Some(600.0 / (2.0 * 2.013 + 3.4));
    let pressure = plumb_model::facts::Pressure { cpu_some_ns: Some(6_500), ..Default::default() };
    step.blocks[0].host =
        Some(plumb_model::facts::HostDelta { elapsed_ns: 10_000, pressure, ..Default::default() });
    document
}

#[test]
fn one_stall_of_three_blocks_is_no_path_that_cannot_keep_up() {
    assert_eq!(found(&one_stall_of_three(), RULE.row.id), []);
}

#[test]
fn the_processors_of_a_block_that_served_its_load_are_not_why_another_fell_short() {
    let mut document = one_stall_of_three();
    document.steps[0].blocks[2].achieved_per_s = Some(200.0 / 3.4);
    document.steps[0].achieved_per_s = Some(600.0 / (2.013 + 2.0 * 3.4));
    let claim = &found(&document, RULE.row.id)[0].claim;
    assert!(!claim.contains("processor"), "{claim}");
}

#[test]
fn a_broker_that_went_away_is_the_cause_and_not_the_processors() {
    let mut document = one_stall_of_three();
    let step = &mut document.steps[0];
    let pressure = plumb_model::facts::Pressure { cpu_some_ns: Some(9_900), ..Default::default() };
    for block in &mut step.blocks {
        block.achieved_per_s = Some(200.0 / 3.4);
        block.host = Some(plumb_model::facts::HostDelta {
            elapsed_ns: 10_000,
            pressure: pressure.clone(),
            ..Default::default()
        });
    }
    step.achieved_per_s = Some(200.0 / 3.4);
    let claim = found(&document, RULE.row.id)[0].claim.clone();
    assert!(claim.starts_with("Threads of this host waited for a processor in 99 %"), "{claim}");
    let error = |code: &str, message: &str| plumb_model::observation::ErrorCount {
        origin: "client".to_owned(),
        code: code.to_owned(),
        message: message.to_owned(),
        count: 2,
    };
    document.steps[0].errors = vec![
        error("CONNECT", "127.0.0.1:39002: cannot connect: Connection refused (os error 111)"),
        error("DISCONNECTED", "127.0.0.1:39002: the peer closed the connection"),
    ];
    let claim = found(&document, RULE.row.id)[0].claim.clone();
    assert!(claim.starts_with("Broker 127.0.0.1:39002 took no connections any more"), "{claim}");
}

#[test]
fn a_queue_that_grows_through_every_block_is_not_excused_by_its_own_latency() {
    let mut document = one_stall_of_three();
    let step = &mut document.steps[0];
    for block in &mut step.blocks {
        block.achieved_per_s = Some(95.0);
    }
    step.achieved_per_s = Some(95.0);
    // 5 % short: a block ends 105 ms late, and latency grows up to that in equal steps.
    let seconds = step.series.iter().map(|row| row.second).max().unwrap() + 1;
    for row in &mut step.series {
        row.acknowledge.max_ns = Some(105_000_000 * u64::from(row.second + 1) / u64::from(seconds));
    }
    assert_eq!(found(&document, RULE.row.id).len(), 1);
}

#[test]
fn the_last_latency_of_each_block_is_no_shortfall() {
    let mut document = healthy();
    let step = &mut document.steps[0];
    // Five blocks of 20 messages: 0.2 s each, and 20 ms until the last report.
    (step.counts.sent, step.counts.acked) = (100, 100);
    step.latency.acknowledge.mean_ns = Some(20e6);
    step.series.retain(|row| row.second == 2);
    step.series.iter_mut().for_each(|row| row.acknowledge.p50_ns = Some(20_000_000));
    step.achieved_per_s = Some(100.0 / 1.1);
    assert_eq!(found(&document, RULE.row.id), []);
}

#[test]
fn a_path_half_as_fast_as_asked_is_found_though_its_latency_grew() {
    assert_found(RULE.row.id, Severity::Invalid, |document| {
        let step = &mut document.steps[0];
        // 100 s of load served in 200 s: latency grows from 0 to 100 s.
        step.blocks.truncate(1);
        step.series.iter_mut().for_each(|row| row.acked = 50);
        step.latency.acknowledge.mean_ns = Some(50e9);
        step.achieved_per_s = Some(50.0);
    });
}

/// A run of one block of which the last seconds got so many acknowledgements.
fn ended_with(acked: &[u64]) -> plumb_model::document::RunDocument {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.blocks.truncate(1);
    step.series.retain(|row| row.block == 0 && row.sent > 0);
    let first = step.series.len() - acked.len();
    for (row, acked) in step.series[first..].iter_mut().zip(acked) {
        row.acked = *acked;
    }
    (step.counts.sent, step.counts.acked) = (2_000, 2_000);
    reach(step, 98.0);
    document
}

#[test]
fn a_stall_at_the_end_of_a_single_block_is_no_shortfall_and_one_from_the_middle_on_is() {
    assert_eq!(found(&ended_with(&[100, 60]), RULE.row.id), []);
    assert_eq!(found(&ended_with(&[90; 10]), RULE.row.id).len(), 1);
}

#[test]
fn a_slower_path_is_not_excused_by_its_own_latency() {
    for mean_ms in [79.0, 1_276.0] {
        let mut document = ended_with(&[98; 16]);
        let step = &mut document.steps[0];
        step.latency.acknowledge.mean_ns = Some(mean_ms * 1e6);
        let finding = crate::healthy::one(&document, RULE.row.id);
        assert_eq!(finding.evidence[0].value, "98/s of 100/s (98 %)", "{finding:#?}");
        assert_eq!(finding.evidence[0].expected.as_deref(), Some("at least 99.5 %"));
    }
}

#[test]
fn messages_of_unknown_outcome_are_not_served() {
    assert_found(RULE.row.id, Severity::Invalid, |document| {
        let step = &mut document.steps[0];
        (step.counts.acked, step.counts.unknown) = (1_000, 9_000);
        reach(step, 10.0);
    });
}

#[test]
fn messages_whose_time_was_up_are_not_served() {
    assert_found(RULE.row.id, Severity::Invalid, |document| {
        let step = &mut document.steps[0];
        (step.counts.acked, step.counts.failed) = (1_000, 9_000);
        reach(step, 10.0);
        step.errors.push(plumb_model::observation::ErrorCount {
            origin: "produce".to_owned(),
            code: "MESSAGE_TIMED_OUT".to_owned(),
            message: String::new(),
            count: 9_000,
        });
    });
}

#[test]
fn a_backlog_that_grows_by_plan_is_no_saturation() {
    let mut document = healthy();
    for row in document.steps[0].series.iter_mut().filter(|row| row.second > 2) {
        row.received = 0;
    }
    assert_eq!(found(&document, RULE.row.id).len(), 1);
    document.plan.steps[0].load.mode = plumb_model::plan::Mode::Backlog(plumb_model::units::Bytes(1));
    assert_eq!(found(&document, RULE.row.id), []);
}

#[test]
fn a_rise_counts_from_the_least_that_is_asked_on() {
    let levels: Vec<f64> = (0..30).map(f64::from).collect();
    let Growth { early, late } = growing(&levels, 1.0).unwrap();
    assert_eq!(growing(&levels, late - early), Some(Growth { early, late }));
    assert_eq!(growing(&levels, late - early + 0.1), None);
    assert_eq!(growing(&levels.into_iter().rev().collect::<Vec<f64>>(), 1.0), None);
}

#[test]
fn a_warm_up_that_was_slow_excuses_no_shortfall() {
    let mut document = ended_with(&[98; 16]);
    let row = document.steps[0].series[0].clone();
    let slow =
        plumb_model::observation::SecondLatency { p50_ns: Some(5_000_000_000), ..row.acknowledge.clone() };
    let warm_up = SecondRow { warm_up: true, acknowledge: slow, ..row };
    document.steps[0].series.insert(0, warm_up);
    assert_eq!(found(&document, RULE.row.id).len(), 1);
}

#[test]
fn a_host_whose_threads_wait_is_said_first() {
    use plumb_model::facts::{HostDelta, Pressure};
    let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
        reach(&mut document.steps[0], 90.0);
        let pressure = Pressure { cpu_some_ns: Some(9_900), ..Pressure::default() };
        document.steps[0].blocks[1].host =
            Some(HostDelta { elapsed_ns: 10_000, pressure, ..HostDelta::default() });
    });
    assert!(
        finding.claim.starts_with("Threads of this host waited for a processor in 99 % of the time"),
        "{}",
        finding.claim
    );
    assert!(finding.claim.contains("the path did not keep up"), "{}", finding.claim);
    assert!(finding.advice[0].starts_with("Stop other work on this host first"));
}

#[test]
fn a_random_schedule_may_be_a_little_longer_by_chance() {
    let mut document = healthy();
    document.plan.steps[0].load.schedule = plumb_model::plan::Schedule::Poisson;
    reach(&mut document.steps[0], 98.0);
    assert_eq!(found(&document, RULE.row.id), []);
    reach(&mut document.steps[0], 95.0);
    assert_eq!(found(&document, RULE.row.id).len(), 1);
}

#[test]
fn failed_messages_do_not_pass_for_a_slow_path() {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.counts.failed = 1_000;
    step.counts.acked = 9_000;
    step.achieved_per_s = Some(90.0);
    assert_eq!(found(&document, RULE.row.id), []);
}

#[test]
fn acknowledgements_that_fall_behind_are_found() {
    let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
        for row in document.steps[0].series.iter_mut().filter(|row| row.block == 3) {
            row.acked = row.acked.saturating_sub(4);
        }
    });
    assert_eq!(finding.evidence[0].what, "sent and not yet acknowledged");
}

#[test]
fn a_consumer_that_falls_behind_is_found() {
    let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
        for row in document.steps[0].series.iter_mut().filter(|row| row.block == 0) {
            row.received = row.received.saturating_sub(3);
        }
    });
    assert_eq!(finding.evidence[0].what, "acknowledged and not yet received");
}

#[test]
fn a_slip_that_grows_is_found() {
    let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
        for row in &mut document.steps[0].series {
            row.slip_max_ns = row.slip_max_ns.map(|slip| slip + u64::from(row.second) * 10_000_000);
        }
    });
    assert_eq!(finding.evidence[0].what, "schedule slip");
}

#[test]
fn a_backlog_that_comes_and_goes_is_no_growth() {
    let mut document = healthy();
    for row in &mut document.steps[0].series {
        match row.second {
            8 => row.acked -= 50,
            10 => row.acked += 50,
            _ => {}
        }
    }
    assert_eq!(found(&document, RULE.row.id), []);
}

#[test]
fn messages_that_are_lost_evenly_are_no_backlog() {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.counts.lost = 2_200;
    step.series.iter_mut().for_each(|row| row.received -= row.received / 5);
    assert_eq!(found(&document, RULE.row.id), []);
}

#[test]
fn nobody_receiving_is_no_backlog() {
    let mut document = healthy();
    document.plan.steps[0].load.consumers = 0;
    document.steps[0].series.iter_mut().for_each(|row| row.received = 0);
    assert_eq!(found(&document, RULE.row.id), []);
}

/// A block whose acknowledgements fall behind by three messages a second, and whose outcomes are these.
fn behind(counts: impl Fn(&mut plumb_model::observation::Counts)) -> bool {
    let mut document = healthy();
    let step = &mut document.steps[0];
    counts(&mut step.counts);
    for row in step.series.iter_mut().filter(|row| row.block == 3) {
        row.acked = row.acked.saturating_sub(3);
    }
    !found(&document, RULE.row.id).is_empty()
}

#[test]
fn a_few_unknown_outcomes_are_no_excuse_for_a_growing_backlog_but_for_so_many_messages() {
    // Of 10,000 that were sent 50 may be what a broken connection leaves; the last third is 39 behind the first.
    assert!(behind(|_| ()));
    assert!(behind(|counts| counts.unknown = 28));
    assert!(!behind(|counts| counts.unknown = 50));
    assert!(!behind(|counts| counts.unknown = 5_000), "and more count as those few");
    assert!(!behind(|counts| counts.failed = 50), "what failed will never be acknowledged");
}

#[test]
fn the_share_of_the_rate_that_counts_as_reached_is_the_limit_itself() {
    let short = |rate| {
        let mut document = healthy();
        reach(&mut document.steps[0], rate);
        found(&document, RULE.row.id).len()
    };
    assert_eq!([short(99.5), short(99.49)], [0, 1]);
}

#[test]
fn a_majority_of_blocks_that_kept_up_outvotes_the_rest_and_half_of_them_do_not() {
    let short = |slow: usize| {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.achieved_per_s = Some(98.0);
        step.blocks.truncate(4);
        for block in &mut step.blocks[..slow] {
            block.achieved_per_s = Some(90.0);
        }
        found(&document, RULE.row.id).len()
    };
    assert_eq!([short(1), short(2), short(3)], [0, 1, 1]);
}

#[test]
fn a_rise_must_be_large_and_steady_to_be_a_growth() {
    let ramp = |step: f64| (0..9).map(|second| f64::from(second) * step).collect::<Vec<_>>();
    assert_eq!(growing(&ramp(2.0), 12.0), Some(Growth { early: 2.0, late: 14.0 }));
    assert_eq!(growing(&ramp(2.0), 12.1), None, "too small");
    assert_eq!(growing(&ramp(-2.0), -100.0), None, "it falls");
    assert_eq!(growing(&ramp(2.0)[..5], 1.0), None, "too short");
    let jagged = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0, 9.0, 0.0, 9.0];
    assert_eq!(growing(&jagged, 1.0), None, "by chance");
}

#[test]
fn sends_that_waited_for_a_queue_are_told_with_what_was_found_and_alone_are_nothing() {
    let mut document = healthy();
    document.steps[0].instrument.queue_full_waits = 7;
    assert_eq!(found(&document, RULE.row.id), []);
    reach(&mut document.steps[0], 90.0);
    let finding = crate::healthy::one(&document, RULE.row.id);
    let told = finding.evidence.last().unwrap();
    assert_eq!((told.what.as_str(), told.value.as_str()), ("sends that waited for a full queue", "7"));
}

/// Blocks of 2 s at 100/s of which each ended so late; three quarters of the messages came within `most`, and so many were served.
fn short_blocks(number: usize, late_ms: f64, most_ms: u64, acked: u64) -> bool {
    let mut document = healthy();
    let step = &mut document.steps[0];
    step.blocks.truncate(number);
    let blocks = step.blocks.len() as u32;
    step.series.retain(|row| row.block < blocks && row.second < 3);
    let rate = acked as f64 / (acked as f64 / 100.0 + late_ms / 1e3);
    for block in &mut step.blocks {
        (block.counts.sent, block.counts.acked) = (200, acked);
        block.achieved_per_s = Some(rate);
        block.acknowledge.p75_ns = Some(most_ms * 1_000_000);
    }
    (step.counts.sent, step.counts.acked) = (200 * u64::from(blocks), acked * u64::from(blocks));
    step.achieved_per_s = Some(rate);
    for row in &mut step.series {
        row.acknowledge.p50_ns = Some(most_ms.min(2) * 1_000_000);
        row.acknowledge.max_ns = Some(most_ms * 666_667);
    }
    !found(&document, RULE.row.id).is_empty()
}

#[test]
fn a_last_message_that_is_late_does_not_decide_on_a_short_block_and_a_queue_that_grows_does() {
    for blocks in [1, 2, 4] {
        // 200 messages within 2.08 s are 96.2 % of the rate.
        assert!(!short_blocks(blocks, 80.0, 2, 200), "{blocks}");
        // The same end where latency grew up to it in a line, or from the middle on.
        assert!(short_blocks(blocks, 80.0, 60, 200), "{blocks}");
        assert!(short_blocks(blocks, 80.0, 40, 200), "{blocks}");
        // An end that is hardly later than what is usual, whatever that is.
        assert!(!short_blocks(blocks, 25.0, 19, 200), "{blocks}");
        // So late an end is no last message.
        assert!(short_blocks(blocks, 210.0, 2, 200), "{blocks}");
        // What was served came at once, and half was not.
        assert!(short_blocks(blocks, 1_000.0, 2, 100), "{blocks}");
    }
}

#[test]
fn blocks_that_all_reached_less_than_nine_tenths_have_no_excuse() {
    let reached = |first_per_s: f64| {
        let mut document = one_stall_of_three();
        let step = &mut document.steps[0];
        // As late as messages of the first half had been, as where the client's queue is full all the time.
        step.series.iter_mut().for_each(|row| row.acknowledge.max_ns = Some(900_000_000));
        step.blocks.iter_mut().for_each(|block| block.achieved_per_s = Some(70.0));
        step.blocks[0].achieved_per_s = Some(first_per_s);
        step.achieved_per_s = Some(75.0);
        !found(&document, RULE.row.id).is_empty()
    };
    assert!(reached(85.0));
    assert!(!reached(95.0), "one of them served its load");
}
