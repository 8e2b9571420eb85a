//! Runs in which messages go as fast as possible: healthy ones are valid in every mode, what is wrong is still found.

use crate::comparison::{PRODUCED_PER_S, RECEIVED_PER_S};
use crate::healthy::rates::{LIBRDKAFKA, WIRE, saturating, swept};
use crate::judge;
use plumb_model::document::{GeneratorCeiling, RunDocument, StepResult};
use plumb_model::facts::Fact;
use plumb_model::finding::{ComparisonVerdict, Finding, Severity, ValidityVerdict};
use plumb_model::plan::{ClusterPlan, Driver, LogDirPlan, Mode, TopicPlan};
use plumb_model::sweep::NoKnee;
use plumb_model::units::Bytes;

const MODES: [Mode; 4] = [Mode::Produce, Mode::Mixed, Mode::Consume, Mode::Backlog(Bytes(1_000_000_000))];

#[test]
fn a_healthy_run_is_valid_in_every_mode_and_nothing_is_said_against_it() {
    for mode in MODES {
        let judgement = judge(&saturating(mode));
        assert_eq!(judgement.validity.verdict, ValidityVerdict::Valid, "{mode:?}: {:#?}", judgement.validity);
        let notes: Vec<&str> = judgement.validity.reasons.iter().map(|reason| reason.id.as_str()).collect();
        assert_eq!(notes, ["same-host", "durability"], "{mode:?}");
        assert_eq!(judgement.findings, [], "{mode:?}");
        assert_eq!(judgement.sweeps, [], "{mode:?}");
    }
}

#[test]
fn the_summary_says_what_was_reached_how_sure_it_is_and_what_bounds_it() {
    for mode in MODES {
        let summary = judge(&saturating(mode)).summary;
        assert_eq!(summary.len(), 3, "{mode:?}: {summary:#?}");
        assert!(
            summary[0].starts_with("As fast as possible (so without a latency), of 2 setups, \"wire\""),
            "{summary:#?}"
        );
        assert!(summary[0].contains("messages/s (±2 %") && summary[0].contains("MB/s"), "{summary:#?}");
        assert!(summary[1].contains("moved") && summary[1].contains("the rate of"), "{summary:#?}");
        assert!(summary[2].starts_with("What bounds the rate was not seen"), "{summary:#?}");
    }
}

#[test]
fn processors_that_others_filled_had_no_room_left() {
    let mut document = saturating(MODES[0]);
    for step in &mut document.steps {
        let cpu = plumb_model::facts::CpuTime {
            busy_ns: Some(9_900_000_000),
            total_ns: Some(10_000_000_000),
            steal_ns: Some(0),
            ..Default::default()
        };
        for block in &mut step.blocks {
            block.host = Some(plumb_model::facts::HostDelta {
                elapsed_ns: 10_000_000_000,
                cpu: cpu.clone(),
                ..Default::default()
            });
        }
        (step.instrument.cpu_s, step.instrument.broker_cpu_s) = (Some(0.1), Some(0.1));
    }
    let summary = judge(&document).summary.join(" ");
    assert!(summary.contains("bounds the rate was not seen: other work took the processors"), "{summary}");
    assert!(!summary.contains("room left"), "{summary}");
}

#[test]
fn the_summary_tells_no_rate_of_setups_whose_counts_do_not_add_up() {
    for mode in MODES {
        let mut document = saturating(mode);
        for step in &mut document.steps {
            step.accounting.corrupt = 1;
        }
        let summary = judge(&document).summary;
        assert_eq!(summary.len(), 1, "{mode:?}: {summary:#?}");
    }
}

#[test]
fn setups_are_compared_by_the_rate_that_they_are_for() {
    for (mode, metric) in
        MODES.into_iter().zip([PRODUCED_PER_S, PRODUCED_PER_S, RECEIVED_PER_S, RECEIVED_PER_S])
    {
        let comparisons = judge(&saturating(mode)).comparisons;
        assert_eq!(comparisons.len(), 1, "{mode:?}");
        let pair = &comparisons[0];
        assert_eq!((pair.a.as_str(), pair.b.as_str(), pair.metric.as_str()), (WIRE, LIBRDKAFKA, metric));
        assert_eq!(pair.verdict, ComparisonVerdict::Differs);
        assert!((pair.ratio.unwrap() - 0.5).abs() < 0.03, "{pair:?}");
    }
}

/// The second setup as fast as the first, but for so much.
fn as_fast_but_for(share: f64) -> RunDocument {
    let mut document = saturating(Mode::Produce);
    let first = document.steps[0].blocks.clone();
    for (index, (block, first)) in document.steps[1].blocks.iter_mut().zip(&first).enumerate() {
        let wobble = 1.0 + 2e-4 * (index as f64 - 2.0);
        block.achieved_per_s = first.achieved_per_s.map(|rate| rate * (1.0 + share) * wobble);
    }
    document
}

#[test]
fn rates_of_unlike_settings_that_are_almost_equal_are_at_a_ceiling_and_neither_differ_nor_are_equal() {
    let verdict = |share: f64| judge(&as_fast_but_for(share)).comparisons[0].verdict;
    assert_eq!(verdict(0.002), ComparisonVerdict::Ceiling);
    assert_eq!(verdict(0.0), ComparisonVerdict::Ceiling);
    assert_ne!(verdict(0.02), ComparisonVerdict::Ceiling);
    let summary = judge(&as_fast_but_for(0.002)).summary.join(" ");
    assert!(
        summary.contains("at a common ceiling") && !summary.contains("by more than the noise"),
        "{summary}"
    );
    // Of the same settings that is what one expects.
    let mut same = as_fast_but_for(0.0);
    let name = same.plan.steps[1].name.clone();
    same.plan.steps[1] = same.plan.steps[0].clone();
    same.plan.steps[1].name = name;
    same.steps[1].effective = same.steps[0].effective.clone();
    assert_ne!(judge(&same).comparisons[0].verdict, ComparisonVerdict::Ceiling);
}

#[test]
fn lines_have_their_knee_and_their_ratio_to_the_first() {
    let judgement = judge(&swept(10));
    assert_eq!(judgement.validity.verdict, ValidityVerdict::Valid, "{:#?}", judgement.validity);
    let lines: Vec<&str> = judgement.sweeps.iter().map(|line| line.line.as_str()).collect();
    assert_eq!(lines, ["sata", "nvme"]);
    for line in &judgement.sweeps {
        assert_eq!(line.points.len(), 10);
        let knee = line.knee.unwrap();
        assert_eq!((knee.clients, knee.clients_low, knee.clients_high), (4, 4, Some(4)), "{line:?}");
        assert_eq!((line.fall, line.variability), (None, None));
        assert!(line.points.iter().all(|point| point.interval.is_some() && point.variation.is_some()));
    }
    let ratio = judgement.sweeps[1].against_first.as_ref().unwrap();
    assert!(ratio.ratio_low < 5.0 && 5.0 < ratio.ratio_high && ratio.points == 10, "{ratio:?}");
    assert_eq!(judgement.sweeps[0].against_first, None);
    // Points are compared as lines, not each with each.
    assert_eq!(judgement.comparisons, []);
    let ids: Vec<&str> = judgement.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["knee", "knee"]);
    assert!(judgement.findings[0].claim.starts_with("The rate of \"sata\" stops rising at 4 producers"));
    assert!(judgement.summary[1].contains("\"nvme\" moves ×5.0"), "{:#?}", judgement.summary);
    assert!(
        judgement.summary[1].contains("more clients stop helping at 4 producers"),
        "{:#?}",
        judgement.summary
    );
}

#[test]
fn a_point_has_the_rate_that_the_table_has_and_the_curve_s_top_is_called_so() {
    let mut document = swept(10);
    // Blocks of a number of messages: the slow ones count for longer than a mean of rates knows.
    document.steps[9].throughput.produced_per_s = Some(12_345.0);
    let judgement = judge(&document);
    let line = &judgement.sweeps[0];
    let of_step = |step: &StepResult| (step.name.clone(), step.throughput.produced_per_s.unwrap());
    let table: Vec<(String, f64)> = document.steps[..10].iter().map(of_step).collect();
    let points: Vec<(String, f64)> = line.points.iter().map(|p| (p.step.clone(), p.per_s)).collect();
    assert_eq!(points, table);
    let seen: Vec<&str> = judgement.findings[0].evidence.iter().map(|seen| seen.what.as_str()).collect();
    assert_eq!(seen[..2], ["level of the curve's top", "fastest point"]);
}

#[test]
fn lines_of_labs_with_more_and_more_log_directories_are_called_by_their_number() {
    let mut document = swept(4);
    let ClusterPlan::Lab { log_dirs, .. } = &mut document.plan.cluster else { panic!() };
    *log_dirs = ["a", "b"].map(|name| LogDirPlan { name: name.into(), path: name.into() }).into();
    let mut own = document.plan.cluster.clone();
    let ClusterPlan::Lab { log_dirs, .. } = &mut own else { panic!() };
    log_dirs.truncate(1);
    for (index, step) in document.plan.steps.iter_mut().enumerate() {
        let TopicPlan::Own { log_dir, .. } = &mut step.topic else { panic!() };
        *log_dir = None;
        step.cluster = (index < 4).then(|| own.clone());
    }
    let lines: Vec<String> = judge(&document).sweeps.into_iter().map(|line| line.line).collect();
    assert_eq!(lines, ["1 log directory", "2 log directories"]);
}

#[test]
fn a_line_that_still_rises_says_that_the_range_was_too_short() {
    let mut document = swept(4);
    document.steps.truncate(4);
    document.plan.steps.truncate(4);
    let judgement = judge(&document);
    assert_eq!(judgement.sweeps[0].knee, None);
    assert_eq!(judgement.sweeps[0].no_knee, Some(NoKnee::StillRises));
    assert_eq!(judgement.sweeps[0].line, "");
    assert!(judgement.findings[0].claim.contains("still rises at 4 producers"), "{:#?}", judgement.findings);
}

#[test]
fn three_blocks_missing_from_a_line_leave_it_without_a_claim() {
    let mut document = swept(6);
    for step in &mut document.steps {
        step.blocks.truncate(2);
    }
    let judgement = judge(&document);
    assert!(judgement.sweeps.iter().all(|line| line.knee.is_none() && line.best_per_s.is_none()));
    assert_eq!(judgement.findings, []);
    assert_eq!(
        one(&document, "too-few-blocks").claim,
        "12 rates have no interval: they rest on too few blocks."
    );
}

#[test]
fn variation_that_begins_along_a_line_is_told() {
    let mut document = swept(12);
    for step in document.steps.iter_mut().filter(|step| step.name.starts_with("log_dir nvme")) {
        let producers: u32 = step.name.rsplit(' ').next().unwrap().parse().unwrap();
        if producers >= 8 {
            for (block, factor) in step.blocks.iter_mut().zip([1.3, 0.7, 1.15, 0.8, 1.1]) {
                block.achieved_per_s = block.achieved_per_s.map(|rate| rate * factor);
            }
        }
    }
    let finding = one(&document, "variability-onset");
    assert!(finding.claim.starts_with("From 8 producers on"), "{}", finding.claim);
    assert!(finding.claim.contains("\"nvme\""), "{}", finding.claim);
}

#[test]
fn a_rate_that_falls_off_within_a_block_is_not_steady_and_one_that_comes_up_early_is_a_cold_start() {
    let mut falling = saturating(Mode::Produce);
    set_seconds(&mut falling, |second| if second >= 14 { 0.6 } else { 1.0 });
    let finding = one(&falling, "not-steady");
    assert_eq!(finding.severity, Severity::Suspect);
    assert!(finding.claim.starts_with("The rate changed its level (-"), "{}", finding.claim);
    let mut rising = saturating(Mode::Consume);
    set_seconds(&mut rising, |second| if second < 7 { 0.5 } else { 1.0 });
    assert!(one(&rising, "cold-start").claim.starts_with("The first 5 s of the measured part were slower"));
    assert_eq!(found(&rising, "not-steady"), []);
}

#[test]
fn blocks_of_very_different_rates_are_not_one_path() {
    let mut document = saturating(Mode::Produce);
    document.steps[0].blocks[1].achieved_per_s = Some(70_000.0);
    assert!(one(&document, "not-steady").claim.contains("apart in rate"));
}

#[test]
fn a_generator_near_its_ceiling_or_with_a_thread_near_one_cpu_is_client_bound() {
    let mut near = saturating(Mode::Produce);
    near.instrument.ceilings.push(GeneratorCeiling {
        driver: Driver::Wire,
        value_bytes: 1_000,
        messages_per_s_per_core: 55_000.0,
        measured_at: "2026-01-01T00:00:00Z".to_owned(),
    });
    let finding = one(&near, "client-bound");
    assert_eq!(finding.step.as_deref(), Some(WIRE));
    assert!(finding.evidence[0].what.contains("220,000 messages/s"), "{finding:#?}");
    near.instrument.ceilings[0].messages_per_s_per_core = 80_000.0;
    assert_eq!(found(&near, "client-bound"), []);
    let mut full = saturating(Mode::Consume);
    full.steps[1].instrument.threads[0].share = 0.97;
    assert_eq!(one(&full, "client-bound").step.as_deref(), Some(LIBRDKAFKA));
    assert!(one(&full, "throughput-bound").claim.contains("the load generator"));
    assert!(judge(&full).summary[2].contains("thread producer-0 used 97 % of a CPU"));
}

/// A saturating run whose generator's ceiling is so much on a CPU, on a host with so many.
fn with_ceiling(per_core: f64, value_bytes: u64, cpus: Option<u32>) -> RunDocument {
    let mut document = saturating(Mode::Produce);
    let measured_at = "2026-01-01T00:00:00Z".to_owned();
    let ceiling = GeneratorCeiling {
        driver: Driver::Wire,
        value_bytes,
        messages_per_s_per_core: per_core,
        measured_at,
    };
    document.instrument.ceilings.push(ceiling);
    let host = document.environment.host.as_mut().unwrap();
    host.logical_cpus = cpus.map_or_else(|| Fact::unknown("test"), |cpus| Fact::known(cpus, "test"));
    document
}

#[test]
fn a_generators_ceiling_is_of_as_many_cpus_as_it_has_threads_and_the_host_has() {
    // Four producers at 200,000 messages/s.
    let is_near = |per_core, cpus| !found(&with_ceiling(per_core, 1_000, cpus), "client-bound").is_empty();
    assert!(!is_near(70_000.0, Some(8)) && !is_near(70_000.0, Some(4)));
    assert!(is_near(70_000.0, Some(3)), "three CPUs carry 210,000");
    assert!(is_near(110_000.0, Some(2)) && !is_near(130_000.0, Some(2)));
    assert!(!is_near(70_000.0, None), "as many as it has threads, where nobody knows");
}

#[test]
fn four_fifths_of_a_ceiling_is_not_near_it_and_more_is() {
    let near = |share: f64| {
        let mut document = with_ceiling(100_000.0, 1_000, Some(8));
        document.steps[0].throughput.produced_per_s = Some(share * 400_000.0);
        !found(&document, "client-bound").is_empty()
    };
    assert!(!near(0.795) && near(0.81));
}

#[test]
fn a_ceiling_of_values_of_another_size_says_nothing() {
    let is_near = |bytes| !found(&with_ceiling(10_000.0, bytes, Some(8)), "client-bound").is_empty();
    assert!(is_near(950) && is_near(1_050));
    assert!(!is_near(949) && !is_near(1_051));
    let mut other = with_ceiling(10_000.0, 1_000, Some(8));
    other.instrument.ceilings[0].driver = Driver::Librdkafka;
    assert_eq!(found(&other, "client-bound")[0].step.as_deref(), Some(LIBRDKAFKA));
    assert_eq!(found(&with_ceiling(0.0, 1_000, Some(8)), "client-bound"), [], "nothing was measured");
}

#[test]
fn few_clients_that_are_their_own_limit_are_what_a_line_shows() {
    let mut document = swept(8);
    for step in &mut document.steps {
        step.instrument.threads[0].share = 0.99;
    }
    let steps: Vec<Option<String>> = found(&document, "client-bound").into_iter().map(|it| it.step).collect();
    assert!(!steps.contains(&Some("log_dir sata, producers 2".to_owned())), "{steps:?}");
    assert!(steps.contains(&Some("log_dir sata, producers 8".to_owned())), "{steps:?}");
}

#[test]
fn processors_and_disks_at_their_limit_are_named_as_the_bound() {
    let mut document = saturating(Mode::Produce);
    for block in &mut document.steps[0].blocks {
        let host = block.host.as_mut().unwrap();
        host.cpu.busy_ns = host.cpu.total_ns.map(|total| total * 95 / 100);
        host.disks.push(plumb_model::facts::DiskDelta {
            name: "sdb".to_owned(),
            written_bytes: Some(4_000_000_000),
            busy_ns: Some(host.elapsed_ns * 96 / 100),
            ..Default::default()
        });
    }
    document.steps[0].instrument.cpu_s = Some(300.0);
    document.steps[0].instrument.broker_cpu_s = Some(400.0);
    let claim = one(&document, "throughput-bound").claim;
    assert!(
        claim.contains("the processors of this host, which brokers and generator share (95 % busy"),
        "{claim}"
    );
    assert!(claim.contains("the disk sdb (under way 96 % of the time, 200 MB/s)"), "{claim}");
    assert_eq!(found(&document, "noisy-host"), []);
}

#[test]
fn processors_that_others_used_are_not_what_bounds_the_rate() {
    let mut document = saturating(Mode::Produce);
    for block in &mut document.steps[0].blocks {
        let cpu = &mut block.host.as_mut().unwrap().cpu;
        cpu.busy_ns = cpu.total_ns.map(|total| total * 95 / 100);
    }
    document.steps[0].instrument.cpu_s = Some(100.0);
    document.steps[0].instrument.broker_cpu_s = Some(100.0);
    assert_eq!(found(&document, "throughput-bound"), []);
    assert_eq!(found(&document, "noisy-host").len(), 1);
}

#[test]
fn processor_time_of_other_programs_is_noise() {
    let mut document = saturating(Mode::Produce);
    for block in &mut document.steps[0].blocks {
        let cpu = &mut block.host.as_mut().unwrap().cpu;
        cpu.busy_ns = cpu.total_ns.map(|total| total * 7 / 10);
    }
    let finding = one(&document, "noisy-host");
    assert!(finding.claim.contains("Other programs"), "{}", finding.claim);
}

#[test]
fn failed_lost_and_throttled_messages_count_without_a_latency() {
    let mut document = saturating(Mode::Mixed);
    document.steps[0].counts.acked -= 7;
    document.steps[0].counts.failed = 7;
    document.steps[1].counts.lost = 3;
    document.steps[1].producer_statistics.throttled_responses = 2;
    assert!(one(&document, "messages-failed").claim.ends_with("the rate is that of the others."));
    assert_eq!(one(&document, "messages-lost").severity, Severity::Invalid);
    assert_eq!(one(&document, "throttled").severity, Severity::Suspect);
}

#[test]
fn one_block_alone_has_no_interval_and_says_so() {
    let mut document = saturating(Mode::Produce);
    document.steps.truncate(1);
    document.plan.steps.truncate(1);
    document.steps[0].blocks.truncate(1);
    document.steps[0].throughput.produced_interval = None;
    assert_eq!(
        one(&document, "too-few-blocks").claim,
        "One rate has no interval: it rests on too few blocks."
    );
    assert!(judge(&document).summary[0].contains("(no interval: too few blocks)"));
}

#[test]
fn acks_0_as_fast_as_possible_confirms_nothing_and_the_summary_says_so_first() {
    let mut document = saturating(Mode::Produce);
    document.steps.iter_mut().for_each(|step| step.durability.acks = Some("0".to_owned()));
    let judgement = judge(&document);
    assert_eq!(judgement.summary.len(), 3);
    assert!(
        judgement.summary[0]
            .starts_with("With acks=0 no write was confirmed: the rate is only the hand-over")
    );
}

fn set_seconds(document: &mut RunDocument, factor: impl Fn(u32) -> f64) {
    for row in document.steps[0].series.iter_mut() {
        let scaled = |messages: u64| (messages as f64 * factor(row.second)) as u64;
        (row.sent, row.acked, row.received) = (scaled(row.sent), scaled(row.acked), scaled(row.received));
    }
}

fn found(document: &RunDocument, id: &str) -> Vec<Finding> {
    crate::healthy::found(document, id)
}

fn one(document: &RunDocument, id: &str) -> Finding {
    crate::healthy::one(document, id)
}
