//! Tests of how the mean is divided into stages.

use super::*;
use plumb_model::observation::AppendTimes;

/// A step whose truth is known: 0.1 ms slip, 5 ms queue, 0.2 ms round trip of 1 ms end to end beside it.
fn step() -> StepResult {
    let mut step = StepResult::default();
    step.latency.end_to_end.mean_ns = Some(6_100_000.0);
    step.latency.end_to_end_service.mean_ns = Some(6_000_000.0);
    step.producer_statistics.queue_mean_ns = Some(5_000_000.0);
    step.producer_statistics.outbuf_mean_ns = Some(100_000.0);
    step.producer_statistics.rtt_mean_ns = Some(800_000.0);
    step.effective.replication = Some(1);
    step.durability.acks = Some("all".into());
    let mut block = BlockResult { catch_up_at_most_ns: Some(0.0), ..BlockResult::default() };
    block.counts.received = 100;
    step.blocks.push(block);
    step
}

fn find(stages: &[Stage], name: StageName) -> Stage {
    stages.iter().find(|stage| stage.stage == name).unwrap().clone()
}

#[test]
fn the_known_stages_and_the_rest_add_up_to_the_whole() {
    let stages = stages(&step(), Some(true));
    let sum: f64 = stages.iter().filter_map(|stage| stage.mean_ns).sum();
    assert!((sum - 6_100_000.0).abs() < 1.0, "{sum}");
    assert_eq!(find(&stages, StageName::Slip).mean_ns, Some(100_000.0));
    assert_eq!(find(&stages, StageName::Produce).mean_ns, Some(5_100_000.0));
}

#[test]
fn a_time_between_clocks_that_are_known_to_a_band_has_no_stages() {
    let mut step = step();
    step.latency.end_to_end.clock_error_ns = Some(0);
    assert!(!stages(&step, Some(true)).is_empty(), "two clocks whose difference is known exactly");
    step.latency.end_to_end.clock_error_ns = Some(50_000);
    assert_eq!(stages(&step, Some(true)), []);
}

#[test]
fn what_the_sources_cannot_tell_is_absent_and_bounded_by_the_round_trip() {
    let mut step = step();
    step.effective.replication = Some(3);
    for name in [StageName::Publish, StageName::Commit] {
        let stage = find(&stages(&step, Some(true)), name);
        assert_eq!((stage.mean_ns, stage.low_ns, stage.high_ns), (None, Some(0.0), Some(800_000.0)));
    }
}

#[test]
fn where_the_leader_alone_acknowledges_the_clients_round_trip_is_the_publish_stage() {
    let mut step = step();
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.mean_ns, publish.fidelity), (Some(800_000.0), Some(Fidelity::Metrics)));
    assert_eq!((publish.low_ns, publish.high_ns), (Some(0.0), Some(800_000.0)));
    let rest = find(&stages(&step, Some(true)), StageName::Unexplained);
    assert!((rest.mean_ns.unwrap() - 100_000.0).abs() < 1.0, "{rest:?}");
    // Messages lie in few large requests that take longer than most: their own stamps say so.
    step.latency.acknowledge_service.mean_ns = Some(5_950_000.0);
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.mean_ns, publish.high_ns), (Some(800_000.0), Some(850_000.0)));
    // Nobody waited for an answer.
    step.durability.acks = Some("0".into());
    assert_eq!(find(&stages(&step, Some(true)), StageName::Publish).mean_ns, None);
}

#[test]
fn times_that_the_driver_read_itself_are_figures_where_only_the_leaders_append_lies_between() {
    let mut step = step();
    step.producer_statistics.measured = true;
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.mean_ns, publish.fidelity), (Some(800_000.0), Some(Fidelity::Measured)));
    assert_eq!(find(&stages(&step, None), StageName::Produce).fidelity, Some(Fidelity::Measured));
    // Replication lies between too: the round trip is only a bound.
    step.effective.replication = Some(3);
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.mean_ns, publish.high_ns), (None, Some(800_000.0)));
}

#[test]
fn append_times_of_another_clock_widen_the_band_by_its_offset() {
    let mut step = step();
    step.blocks[0].append_times = Some(AppendTimes {
        samples: 100,
        floor_minus_sent_mean_ns: 4_900_000.0,
        clock_offset_low_ns: -200_000,
        clock_offset_high_ns: 300_000,
    });
    let same = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((same.low_ns, same.high_ns), (Some(0.0), Some(800_000.0)));
    let other = find(&stages(&step, None), StageName::Publish);
    assert!(other.high_ns > same.high_ns, "{other:?}");
}

#[test]
fn a_clock_that_cannot_be_ours_is_not_taken_for_ours() {
    let mut step = step();
    step.blocks[0].append_times = Some(AppendTimes {
        samples: 100,
        floor_minus_sent_mean_ns: 34_900_000.0,
        clock_offset_low_ns: 29_800_000,
        clock_offset_high_ns: 30_300_000,
    });
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert!(publish.high_ns.unwrap() < 1_100_000.0, "{publish:?}");
}

#[test]
fn a_twin_topic_tells_the_publish_stage_where_the_topic_itself_does_not() {
    let mut step = step();
    let append_times = AppendTimes {
        samples: 200,
        floor_minus_sent_mean_ns: 1_000_000.0,
        clock_offset_low_ns: -1,
        clock_offset_high_ns: 1,
    };
    // The twin waited 1.1 ms in the client, the step's own messages 5.1 ms: the twin's own is subtracted.
    step.twin = Some(Twin { append_times, produce_mean_ns: Some(1_100_000.0), rtt_mean_ns: None });
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.fidelity, publish.mean_ns), (Some(Fidelity::Probe), Some(400_000.0)));
    assert!(publish.source.contains("twin"), "{publish:?}");
}

#[test]
fn whole_milliseconds_of_the_brokers_show_as_a_band_and_not_as_a_figure() {
    let mut step = step();
    let mean = |mean_ns: f64| {
        Some(WindowMean { mean_ns, low_ns: (mean_ns - 5e5).max(0.0), high_ns: mean_ns + 5e5, samples: 10 })
    };
    let produce = RequestStages {
        request_queue: mean(0.0),
        local: mean(100_000.0),
        total: mean(200_000.0),
        ..RequestStages::default()
    };
    step.blocks[0].request_times = Some(RequestTimes { produce, ..RequestTimes::default() });
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!((publish.mean_ns, publish.fidelity), (None, None));
    assert_eq!((publish.low_ns, publish.high_ns), (Some(0.0), Some(800_000.0)));
}

#[test]
fn round_trips_of_which_the_brokers_had_little_to_do_are_the_publish_stage_and_not_unexplained() {
    let mut step = step();
    step.latency.end_to_end.mean_ns = Some(435_000_000.0);
    step.latency.end_to_end_service.mean_ns = Some(434_900_000.0);
    step.producer_statistics.queue_mean_ns = Some(2_700_000.0);
    step.producer_statistics.rtt_mean_ns = Some(432_000_000.0);
    let mean = |mean_ns: f64| Some(WindowMean { mean_ns, low_ns: 0.0, high_ns: mean_ns + 5e5, samples: 10 });
    let produce = RequestStages {
        request_queue: mean(0.0),
        local: mean(100_000.0),
        total: mean(200_000.0),
        ..RequestStages::default()
    };
    step.blocks[0].request_times = Some(RequestTimes { produce, ..RequestTimes::default() });
    let stages = stages(&step, Some(true));
    let publish = find(&stages, StageName::Publish);
    assert_eq!(publish.mean_ns, Some(431_900_000.0), "{publish:?}");
    assert!(publish.low_ns.unwrap() < 1e6 && publish.high_ns.unwrap() <= 432e6, "{publish:?}");
    assert!(find(&stages, StageName::Unexplained).mean_ns.unwrap() < 1e6, "{stages:?}");
}

#[test]
fn a_broker_time_of_many_milliseconds_is_a_figure() {
    let mut step = step();
    step.latency.end_to_end.mean_ns = Some(46_000_000.0);
    step.latency.end_to_end_service.mean_ns = Some(45_900_000.0);
    step.producer_statistics.rtt_mean_ns = Some(40_500_000.0);
    let mean = |mean_ns: f64| {
        Some(WindowMean { mean_ns, low_ns: (mean_ns - 5e5).max(0.0), high_ns: mean_ns + 5e5, samples: 10 })
    };
    let produce = RequestStages {
        request_queue: mean(0.0),
        local: mean(40_000_000.0),
        total: mean(40_200_000.0),
        ..RequestStages::default()
    };
    step.blocks[0].request_times = Some(RequestTimes { produce, ..RequestTimes::default() });
    let publish = find(&stages(&step, Some(true)), StageName::Publish);
    assert_eq!(publish.mean_ns, Some(40_150_000.0));
}

#[test]
fn a_wait_in_the_client_that_is_longer_than_the_whole_is_no_figure_and_bounded_by_the_whole() {
    let mut step = step();
    step.producer_statistics.measured = true;
    step.producer_statistics.queue_mean_ns = Some(9_000_000.0);
    let produce = find(&stages(&step, Some(true)), StageName::Produce);
    assert_eq!((produce.mean_ns, produce.low_ns, produce.fidelity), (None, Some(0.0), None));
    assert!(
        produce.high_ns.unwrap() <= 6_000_000.0 && produce.source.contains("more than once"),
        "{produce:?}"
    );
    step.producer_statistics.queue_mean_ns = Some(6_000_000.0);
    let produce = find(&stages(&step, Some(true)), StageName::Produce);
    assert_eq!((produce.mean_ns, produce.fidelity), (Some(6_000_000.0), Some(Fidelity::Measured)));
}

#[test]
fn nothing_received_divides_into_nothing() {
    assert!(stages(&StepResult::default(), None).is_empty());
}

#[test]
fn a_large_remainder_without_metrics_is_divided_by_the_clients_own_stamps() {
    let mut step = crate::healthy::healthy().steps.remove(0);
    step.blocks.iter_mut().for_each(|block| {
        (block.append_times, block.request_times) = (None, None);
    });
    step.twin = None;
    step.latency.end_to_end.mean_ns = Some(3_067e6);
    step.latency.end_to_end_service.mean_ns = Some(3_067e6);
    step.latency.acknowledge_service.mean_ns = Some(3_009e6);
    step.producer_statistics.queue_mean_ns = Some(9e6);
    let stages = stages(&step, Some(true));
    let rest = stages.iter().find(|stage| stage.stage == StageName::Unexplained).unwrap();
    assert!(rest.source.contains("3.00 s of it were until the acknowledgement (round trips"), "{rest:?}");
    assert!(rest.source.contains("request metrics"), "{rest:?}");
    for (acknowledged, words) in [
        (9e6, "all of it was after the acknowledgement;"),
        (3_200e6, "all of it was until the acknowledgement (round trips"),
        (4_000e6, "acknowledgements came 933 ms later than the messages in the mean"),
    ] {
        step.latency.acknowledge_service.mean_ns = Some(acknowledged);
        let stages = super::stages(&step, Some(true));
        assert!(find(&stages, StageName::Unexplained).source.contains(words), "{words}: {stages:?}");
    }
}

#[test]
fn a_wait_of_all_records_that_is_longer_than_the_measured_messages_took_leaves_room_for_the_other_stages() {
    let exact = |stage, ns| known(stage, Banded::exactly(ns), Fidelity::Measured, "");
    let mut stages = vec![
        exact(StageName::Produce, 4e6),
        known(StageName::Publish, Banded { mean: 1e6, low: 0.0, high: 1.5e6 }, Fidelity::Metrics, ""),
        known(StageName::Commit, Banded::exactly(100e6), Fidelity::Metrics, ""),
    ];
    tighten(100e6, &mut stages);
    let sum: f64 = stages.iter().filter_map(|stage| stage.mean_ns).sum();
    assert!(stages[1].mean_ns == Some(1e6) && stages[2].low_ns < stages[2].mean_ns, "{stages:?}");
    assert!(stages[2].high_ns == Some(96e6) && sum <= 101e6, "{stages:?}");
}

#[test]
fn append_times_of_a_twin_that_took_longer_than_the_step_are_no_figure_of_it() {
    let mut stages = vec![
        known(StageName::Produce, Banded::exactly(5e6), Fidelity::Measured, ""),
        known(StageName::Publish, Banded::exactly(423e6), Fidelity::Probe, "a twin"),
    ];
    tighten(423e6, &mut stages);
    assert_eq!((stages[1].mean_ns, stages[1].low_ns, stages[1].high_ns), (None, Some(0.0), Some(418e6)));
}

#[test]
fn of_a_time_to_catch_up_of_which_only_bounds_are_known_there_is_no_mean() {
    let mut step = step();
    step.blocks[0].catch_up_at_most_ns = Some(300_000.0);
    let stages = stages(&step, Some(true));
    let catch_up = find(&stages, StageName::CatchUp);
    assert_eq!((catch_up.mean_ns, catch_up.fidelity), (None, None));
    assert_eq!((catch_up.low_ns, catch_up.high_ns), (Some(0.0), Some(300_000.0)));
}

#[test]
fn a_part_of_the_remainder_that_is_next_to_nothing_is_no_time() {
    let mut step = step();
    step.latency.acknowledge_service.mean_ns = Some(1e6);
    let stages = [
        known(StageName::Produce, Banded::exactly(1e6 - 0.001), Fidelity::Measured, ""),
        absent(StageName::Publish, ""),
    ];
    let told = divided(10e6, 9e6 + 0.001, &stages, &step).unwrap();
    assert!(told.contains("all of it was after the acknowledgement") && !told.contains(" ns"), "{told}");
}
