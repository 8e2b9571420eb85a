//! Runs that went as fast as possible: a sweep over producers on three devices, the modes beside each other, and a search.
//! The figures are made up; nothing here was measured.

use super::full;
use plumb_model::document::{BlockResult, RunDocument, StepResult};
use plumb_model::finding::{Comparison, ComparisonVerdict, Validity, ValidityVerdict};
use plumb_model::observation::{
    Counts, Interval, IntervalMethod, Latencies, SecondRow, StepInstrument, Throughput,
};
use plumb_model::plan::{Driver, Goal, GoalLatency, Length, LoadPlan, Mode, Schedule, SizePlan, StepPlan};
use plumb_model::search::{SearchBound, SearchResult, Try, TryOutcome, TryPurpose};
use plumb_model::sweep::{
    LineRatio, SweepOver, SweepPlace, SweepPoint, SweepRate, SweepResult, VariabilityOnset,
};
use plumb_model::units::{Bytes, Nanos};
use std::collections::BTreeMap;

const BLOCKS: u32 = 5;
const SIZE: f64 = 10_240.0;

/// Producers from 1 to 20 on three devices.
pub(crate) fn swept() -> RunDocument {
    let mut document = without_steps("persistent-memory");
    document.summary = [
        "As fast as possible (so without a latency), of 3 lines, \"pmem\" moved most, 96,400 messages/s (±2.1 %), 987 MB/s \
         with 13 producers; \"sata\" least, 7,240 messages/s (±1.6 %), 74.1 MB/s with 9 producers.",
        "\"pmem\" moves 12.4 times (11.8 to 13.0) as much as \"sata\", over all points; more clients stop helping at 6 \
         producers (5 to 8) for \"sata\", 8 producers (8 to 9) for \"nvme\" and 12 producers (11 or more) for \"pmem\".",
        "The rate is bounded by the disk sdb (under way 99 % of the time, 74.0 MB/s) (\"log_dir sata, producers 20\").",
    ]
    .map(str::to_owned)
    .to_vec();
    for (index, (device, top, knee)) in
        [("sata", 7_200.0, 6_u32), ("nvme", 36_000.0, 8), ("pmem", 95_000.0, 12)].into_iter().enumerate()
    {
        let mut points = Vec::new();
        for producers in 1..=20_u32 {
            let harm =
                if device == "nvme" && producers > 14 { 0.97_f64.powi(producers as i32 - 14) } else { 1.0 };
            let mean = top * f64::from(producers.min(knee)) / f64::from(knee) * harm;
            let noise = if device == "pmem" && producers >= 9 { 0.07 } else { 0.015 };
            let rates: Vec<f64> =
                (0..BLOCKS).map(|block| mean * (1.0 + noise * wobble(block, producers))).collect();
            let plan = plan(&format!("log_dir {device}, producers {producers}"), Mode::Produce, producers);
            let step = step(&plan, &rates);
            points.push(SweepPoint {
                clients: producers,
                step: plan.name.clone(),
                per_s: step.throughput.produced_per_s.unwrap_or(0.0),
                interval: step.throughput.produced_interval,
                value_bytes_mean: SIZE,
                variation: Some(noise * 0.8),
                blocks_per_s: rates,
            });
            document.steps.push(step);
            document.plan.steps.push(plan);
        }
        document.sweeps.push(line(index, device, points, top));
    }
    document
}

fn line(index: usize, device: &str, points: Vec<SweepPoint>, top: f64) -> SweepResult {
    let place = |clients, low, high| {
        Some(SweepPlace { clients, clients_low: low, clients_high: high, level: 0.95, margin: 0.05 })
    };
    let ratio = |ratio: f64| LineRatio {
        first: "sata".to_owned(),
        ratio,
        ratio_low: ratio * 0.96,
        ratio_high: ratio * 1.04,
        level: 0.95,
        ratio_least: ratio * 0.62,
        ratio_most: ratio * 1.11,
        points: 20,
        blocks: BLOCKS,
        durability_differences: Vec::new(),
        durability_not_known: Vec::new(),
    };
    SweepResult {
        line: device.to_owned(),
        over: SweepOver::Producers,
        rate: SweepRate::Produced,
        points,
        knee: [place(6, 5, Some(8)), place(8, 8, Some(9)), place(12, 11, None)][index],
        no_knee: None,
        fall: [None, place(16, 15, Some(17)), None][index],
        variability: [
            None,
            None,
            Some(VariabilityOnset {
                clients: 9,
                clients_low: 8,
                clients_high: 10,
                level: 0.95,
                variation_before: 0.012,
                variation_after: 0.057,
                p: 0.0005,
            }),
        ][index],
        best_per_s: Some(top),
        last_share: Some([1.0, 0.83, 0.99][index]),
        against_first: [None, Some(ratio(4.1)), Some(ratio(12.4))][index].clone(),
    }
}

/// One setup in each mode.
pub(crate) fn modes() -> RunDocument {
    let mut document = without_steps("modes");
    document.summary =
        vec!["As fast as possible (so without a latency), of 4 setups, \"consume\" moved most.".to_owned()];
    let modes = [
        ("produce, wire", Mode::Produce, 400_000.0),
        ("mixed", Mode::Mixed, 250_000.0),
        ("consume", Mode::Consume, 900_000.0),
        ("backlog", Mode::Backlog(Bytes(1 << 30)), 120_000.0),
    ];
    for (name, mode, rate) in modes {
        let mut plan = plan(name, mode, 4);
        plan.driver = if mode == Mode::Produce { Driver::Wire } else { Driver::Librdkafka };
        let rates: Vec<f64> = (0..BLOCKS).map(|block| rate * (1.0 + 0.02 * wobble(block, 3))).collect();
        document.steps.push(step(&plan, &rates));
        document.plan.steps.push(plan);
    }
    document.comparisons = vec![Comparison {
        a: "produce, wire".to_owned(),
        b: "mixed".to_owned(),
        metric: "throughput.produced_per_s".to_owned(),
        ratio: Some(0.625),
        ratio_low: Some(0.611),
        ratio_high: Some(0.64),
        level: 0.95,
        p_adjusted: Some(0.0002),
        smallest_detectable_ratio: Some(1.05),
        blocks: BLOCKS,
        verdict: ComparisonVerdict::Differs,
        durability_differences: Vec::new(),
        durability_not_known: Vec::new(),
    }];
    document
}

/// A search for the highest rate that holds a goal.
pub(crate) fn searched() -> RunDocument {
    let mut document = full();
    document.steps.truncate(1);
    document.plan.steps.truncate(1);
    document.comparisons.clear();
    document.reference = None;
    document.steps[0].asked_per_s = None;
    let goal = Goal { latency: GoalLatency::EndToEnd, quantile: 0.99, limit: Nanos(20_000_000) };
    document.plan.goal = Some(goal);
    let tries = [
        (1_000.0, TryPurpose::Climb, 6.1),
        (2_000.0, TryPurpose::Climb, 6.4),
        (4_000.0, TryPurpose::Climb, 6.9),
        (8_000.0, TryPurpose::Climb, 8.8),
        (16_000.0, TryPurpose::Climb, 41.0),
        (12_000.0, TryPurpose::Narrow, 16.0),
        (14_000.0, TryPurpose::Narrow, 26.0),
        (13_000.0, TryPurpose::Narrow, 19.0),
        (13_000.0, TryPurpose::Descend, 19.4),
        (12_700.0, TryPurpose::Confirm, 18.2),
        (12_700.0, TryPurpose::Confirm, 17.6),
        (12_700.0, TryPurpose::Confirm, 18.8),
        (13_400.0, TryPurpose::Confirm, 22.0),
        (13_400.0, TryPurpose::Confirm, 23.5),
        (13_400.0, TryPurpose::Confirm, 21.4),
    ];
    let tried = |(rate_per_s, purpose, ms): (f64, TryPurpose, f64)| Try {
        rate_per_s,
        purpose,
        outcome: if ms > 20.0 { TryOutcome::Fails } else { TryOutcome::Holds },
        started_at: "2026-11-20T15:04:05Z".to_owned(),
        measured_s: 5.0,
        achieved_per_s: Some(rate_per_s * 0.9998),
        quantile_ns: Some((ms * 1e6) as u64),
        samples: (rate_per_s * 5.0) as u64,
        processor_wait_share: Some(0.08),
        steal_share: Some(0.0),
        reasons: if ms > 20.0 { vec![format!("p99 was {ms:.1} ms")] } else { Vec::new() },
    };
    document.steps[0].search = Some(SearchResult {
        goal,
        rate_low_per_s: Some(12_700.0),
        rate_high_per_s: Some(13_400.0),
        bounded_by: Some(SearchBound::Path),
        tries: tries.map(tried).into(),
    });
    document
}

fn without_steps(name: &str) -> RunDocument {
    let mut document = full();
    document.run.name = name.to_owned();
    document.plan.name = name.to_owned();
    document.plan.description = "As fast as possible.".to_owned();
    document.plan.origins = BTreeMap::new();
    document.validity = Validity { verdict: ValidityVerdict::Valid, reasons: Vec::new() };
    document.findings.clear();
    document.steps.clear();
    document.plan.steps.clear();
    document.comparisons.clear();
    document.reference = None;
    document
}

fn plan(name: &str, mode: Mode, producers: u32) -> StepPlan {
    let of = full().plan.steps.swap_remove(0);
    StepPlan {
        name: name.to_owned(),
        driver: Driver::Wire,
        external: None,
        load: LoadPlan {
            rate_per_s: None,
            schedule: Schedule::Saturating,
            mode,
            length: Length::Duration(Nanos::from_secs(50)),
            producers,
            consumers: if mode == Mode::Produce { 0 } else { 2 },
            size: SizePlan::Fixed(Bytes(SIZE as u64)),
            ..of.load
        },
        ..of
    }
}

fn step(plan: &StepPlan, rates: &[f64]) -> StepResult {
    let of = full().steps.swap_remove(0);
    let (sends, receives) = (plan.load.mode != Mode::Consume, plan.load.mode != Mode::Produce);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let spread = (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
    let reach = 2.776 * spread / 5.0_f64.sqrt();
    let interval =
        Interval { low: mean - reach, high: mean + reach, level: 0.95, method: IntervalMethod::Blocks };
    let messages = (mean * 50.0) as u64;
    let (sent, received) = (u64::from(sends) * messages, u64::from(receives) * messages);
    StepResult {
        name: plan.name.clone(),
        asked_per_s: None,
        achieved_per_s: sends.then_some(mean),
        throughput: Throughput {
            produced_per_s: sends.then_some(mean),
            produced_bytes_per_s: sends.then_some(mean * SIZE),
            produced_wire_bytes_per_s: None,
            produced_interval: sends.then_some(interval),
            received_per_s: receives.then_some(mean),
            received_bytes_per_s: receives.then_some(mean * SIZE),
            received_interval: receives.then_some(interval),
            drain_s: matches!(plan.load.mode, Mode::Backlog(_)).then_some(4.2),
        },
        value_bytes_mean: SIZE,
        counts: Counts { intended: sent, sent, acked: sent, received, ..Counts::default() },
        latency: Latencies::default(),
        slip: Default::default(),
        stages: Vec::new(),
        blocks: rates
            .iter()
            .zip(0..)
            .map(|(rate, block)| BlockResult {
                block,
                position: block,
                started_at: format!("2026-11-20T15:{:02}:00Z", 4 + block),
                achieved_per_s: sends.then_some(*rate),
                received_per_s: receives.then_some(*rate),
                ..BlockResult::default()
            })
            .collect(),
        series: series(plan.load.mode, rates),
        instrument: StepInstrument {
            cpu_s: Some(21.0),
            cpu_s_per_million_messages: Some(21e6 / messages as f64),
            cpu_s_per_gb: Some(21e9 / (messages as f64 * SIZE)),
            broker_cpu_s: Some(48.0),
            ..of.instrument
        },
        errors: Vec::new(),
        ..of
    }
}

fn series(mode: Mode, rates: &[f64]) -> Vec<SecondRow> {
    let mut rows = Vec::new();
    for (block, rate) in (0..).zip(rates) {
        let mut behind = 0;
        for second in 0..14 {
            let messages = (rate * (1.0 + 0.04 * wobble(block, second * 7 + 1))) as u64;
            let waits = matches!(mode, Mode::Backlog(_)) && second < 6;
            let acked = if mode == Mode::Consume { 0 } else { messages };
            behind += acked;
            let received = match mode {
                Mode::Produce => 0,
                Mode::Consume => messages,
                _ if waits => 0,
                _ => behind.min(2 * messages),
            };
            behind = behind.saturating_sub(received);
            rows.push(SecondRow {
                block,
                second,
                warm_up: second < 2,
                sent: acked,
                acked,
                received,
                ..SecondRow::default()
            });
        }
    }
    rows
}

/// Between -1 and 1, the same at every call.
fn wobble(block: u32, seed: u32) -> f64 {
    f64::from((block * 37 + seed * 53 + block * seed * 11) % 41) / 20.0 - 1.0
}
