//! The "measurements" of the sample run: distributions, series and stages around the published figures.

use super::{BLOCKS, Setup, properties};
use plumb_model::document::{BlockResult, Durability, Effective, StepResult};
use plumb_model::observation::{
    Accounting, ClientStatistics, Counts, Distribution, ErrorCount, Fidelity, Interval, IntervalMethod,
    Latencies, SecondLatency, SecondRow, Stage, StageName, StepInstrument, ThreadCpu, Throughput,
};
use std::collections::BTreeMap;

const MEASURED: u64 = 10_000;

pub(crate) fn step(index: usize, setup: &Setup) -> StepResult {
    // The fourth setup is short, so that its p99 has too few samples; the sixth lost messages.
    let samples = if index == 3 { 800 } else { MEASURED };
    let lost = if index == 5 { 12 } else { 0 };
    let end_to_end = distribution(setup, 0.0, samples - lost);
    let counts = Counts {
        intended: samples,
        sent: samples,
        acked: samples,
        received: samples - lost,
        lost,
        removed: (index != 1).then_some(0),
        ..Default::default()
    };
    let stored = samples + 5 * 200 - lost;
    StepResult {
        cluster: None,
        name: setup.name.to_owned(),
        asked_per_s: Some(setup.rate_per_s),
        achieved_per_s: Some(setup.rate_per_s * if index == 4 { 0.9931 } else { 0.9998 }),
        throughput: Throughput::default(),
        value_bytes_mean: 1024.0,
        counts,
        accounting: Accounting {
            offset_delta: (index != 1).then_some(stored),
            acked: samples + 1000,
            unknown: 0,
            foreign: 0,
            corrupt: 0,
            agrees: (index != 1).then_some(lost == 0),
            missing: None,
            surplus: None,
            gaps: (index != 1).then_some(0),
            deleted: Some(0),
            unreplicated: (index != 1).then_some(0),
            held_back: (index != 1).then_some(0),
            duplicated_in_warm_up: 0,
            unreplicated_growth: (index != 1).then_some(0),
        },
        stages: stages(index, end_to_end.mean_ns.unwrap_or(0.0)),
        slip: scaled(&distribution(setup, 0.0, samples), 0.004),
        latency: Latencies {
            acknowledge: scaled(&end_to_end, 0.11),
            end_to_end_service: scaled(&end_to_end, 0.996),
            acknowledge_service: scaled(&end_to_end, 0.106),
            end_to_end,
        },
        blocks: (0..BLOCKS).map(|block| self::block(setup, index, block, samples)).collect(),
        series: series(setup, index, samples),
        producer_statistics: statistics(index),
        consumer_statistics: statistics(index),
        effective: effective(setup, index),
        durability: Durability {
            acks: Some("0".to_owned()),
            replication: Some(1),
            min_insync_replicas: Some(1),
            flush_messages: Some("9223372036854775807".to_owned()),
            flush_ms: Some("9223372036854775807".to_owned()),
            idempotence: Some(false),
        },
        spread: Default::default(),
        instrument: instrument(),
        errors: if lost > 0 { vec![timed_out()] } else { Vec::new() },
        twin: None,
        search: None,
        histogram_logs: BTreeMap::from([("end_to_end".to_owned(), format!("step-{index}-end-to-end.hlog"))]),
    }
}

/// A distribution through the setup's published quantiles, shifted by a share of them.
fn distribution(setup: &Setup, shift: f64, samples: u64) -> Distribution {
    let [min, max, mean, p75, p95, p99] = setup.published_ms.map(|ms| ms * 1e6 * (1.0 + shift));
    let p50 = (min + p75) / 2.0;
    let known = [(0.0, min), (0.5, p50), (0.75, p75), (0.95, p95), (0.99, p99), (0.9999, max)];
    let enough = |q: f64| samples as f64 >= 10.0 / (1.0 - q);
    let at = |q: f64, ns: f64| enough(q).then_some(ns as u64);
    let around = |ns: f64, below: f64, above: f64, method| {
        Some(Interval { low: ns * (1.0 - below), high: ns * (1.0 + above), level: 0.95, method })
    };
    Distribution {
        samples,
        min_ns: Some(min as u64),
        mean_ns: Some(mean),
        p50_ns: Some(p50 as u64),
        p75_ns: at(0.75, p75),
        p95_ns: at(0.95, p95),
        p99_ns: at(0.99, p99),
        p999_ns: at(0.999, p99 + (max - p99) * 0.7),
        max_ns: Some(max as u64),
        mean_interval: around(mean, 0.031, 0.031, IntervalMethod::Blocks),
        p50_interval: around(p50, 0.03, 0.04, IntervalMethod::OrderStatistics),
        p99_interval: enough(0.99)
            .then(|| around(p99, 0.045, 0.08, IntervalMethod::OrderStatistics))
            .flatten(),
        negative: 0,
        overflow: 0,
        clock_error_ns: None,
        curve: curve(&known, samples),
    }
}

/// Quantiles on the scale -log10(1-q), straight between the known ones.
fn curve(known: &[(f64, f64)], samples: u64) -> Vec<(f64, u64)> {
    let nines = |q: f64| -(1.0 - q).log10();
    let last = nines(1.0 - 10.0 / samples as f64);
    (0..=60)
        .map(|point| last * f64::from(point) / 60.0)
        .map(|x| {
            let above = known.iter().position(|(q, _)| nines(*q) >= x).unwrap_or(known.len() - 1).max(1);
            let ((q0, y0), (q1, y1)) = (known[above - 1], known[above]);
            let share = (x - nines(q0)) / (nines(q1) - nines(q0));
            (1.0 - 10f64.powf(-x), (y0 + (y1 - y0) * share) as u64)
        })
        .collect()
}

fn scaled(distribution: &Distribution, factor: f64) -> Distribution {
    let ns = |value: Option<u64>| value.map(|ns| (ns as f64 * factor) as u64);
    let interval = |interval: Option<Interval>| {
        interval.map(|i| Interval { low: i.low * factor, high: i.high * factor, ..i })
    };
    Distribution {
        min_ns: ns(distribution.min_ns),
        mean_ns: distribution.mean_ns.map(|mean| mean * factor),
        p50_ns: ns(distribution.p50_ns),
        p75_ns: ns(distribution.p75_ns),
        p95_ns: ns(distribution.p95_ns),
        p99_ns: ns(distribution.p99_ns),
        p999_ns: ns(distribution.p999_ns),
        max_ns: ns(distribution.max_ns),
        mean_interval: interval(distribution.mean_interval),
        p50_interval: interval(distribution.p50_interval),
        p99_interval: interval(distribution.p99_interval),
        curve: distribution.curve.iter().map(|(q, value)| (*q, (*value as f64 * factor) as u64)).collect(),
        ..distribution.clone()
    }
}

fn block(setup: &Setup, index: usize, block: u32, samples: u64) -> BlockResult {
    let shift = (f64::from(block) - 2.0) * 0.012;
    let end_to_end =
        Distribution { curve: Vec::new(), ..distribution(setup, shift, samples / u64::from(BLOCKS)) };
    BlockResult {
        block,
        position: block * 8 + (index as u32 * 3 + block) % 8,
        started_at: format!("2026-11-20T15:{:02}:{:02}Z", 4 + block * 2, index * 7),
        counts: Counts { intended: samples / 5, sent: samples / 5, acked: samples / 5, ..Default::default() },
        achieved_per_s: Some(setup.rate_per_s),
        acknowledge: scaled(&end_to_end, 0.11),
        end_to_end,
        ..BlockResult::default()
    }
}

/// Five blocks, each with two seconds of warm-up.
fn series(setup: &Setup, index: usize, samples: u64) -> Vec<SecondRow> {
    let seconds = (samples as f64 / setup.rate_per_s / f64::from(BLOCKS)).ceil() as u32 + 2;
    let [min, max, mean, ..] = setup.published_ms.map(|ms| ms * 1e6);
    let mut rows = Vec::new();
    for block in 0..BLOCKS {
        for second in 0..seconds {
            let wobble = f64::from((block * 31 + second * 17 + index as u32 * 7) % 23) / 23.0;
            let cold = if second < 2 { 2.4 - f64::from(second) } else { 1.0 };
            let sent = setup.rate_per_s as u64;
            let latency = SecondLatency {
                samples: sent,
                mean_ns: Some(mean * cold * (0.95 + 0.1 * wobble)),
                p50_ns: Some(((min + (mean - min) * 0.8) * cold * (0.94 + 0.12 * wobble)) as u64),
                p99_ns: None,
                max_ns: Some((mean * 1.3 + (max - mean * 1.3) * wobble * wobble) as u64),
            };
            rows.push(SecondRow {
                block,
                second,
                warm_up: second < 2,
                sent,
                acked: sent,
                received: sent,
                acknowledge: latency.clone(),
                end_to_end: latency,
                slip_max_ns: Some(240_000),
            });
        }
    }
    rows
}

fn stages(index: usize, mean_ns: f64) -> Vec<Stage> {
    let known = |stage, share: f64, band: f64, fidelity, source: &str| Stage {
        stage,
        mean_ns: Some(mean_ns * share),
        low_ns: Some(mean_ns * (share - band).max(0.0)),
        high_ns: Some(mean_ns * (share + band)),
        fidelity: Some(fidelity),
        source: source.to_owned(),
    };
    let absent = |stage, source: &str| Stage {
        stage,
        mean_ns: None,
        low_ns: None,
        high_ns: None,
        fidelity: None,
        source: source.to_owned(),
    };
    let linger = if index == 1 || index == 4 { 0.24 } else { 0.05 };
    let metrics = "librdkafka's window means";
    vec![
        known(StageName::Slip, 0.004, 0.0, Fidelity::Measured, "intended to actual send"),
        known(StageName::Produce, linger, 0.006, Fidelity::Metrics, metrics),
        known(StageName::Publish, 0.22, 0.03, Fidelity::Probe, "LogAppendTime, 1 ms floor"),
        absent(StageName::Commit, "one replica: an append is committed at once"),
        known(StageName::CatchUp, 0.02, 0.01, Fidelity::Metrics, metrics),
        known(StageName::Fetch, 0.47, 0.05, Fidelity::Metrics, metrics),
        known(StageName::Unexplained, 0.286 - linger, 0.07, Fidelity::Derived, "the rest of the mean"),
    ]
}

fn statistics(index: usize) -> ClientStatistics {
    let linger = if index == 1 || index == 4 { 5.1e6 } else { 0.06e6 };
    ClientStatistics {
        queue_mean_ns: Some(linger),
        queue_samples: MEASURED,
        outbuf_mean_ns: Some(18_000.0),
        rtt_mean_ns: Some(410_000.0),
        rtt_min_ns: Some(180_000),
        rtt_samples: 9_800,
        batch_messages_mean: Some(1.02),
        batch_bytes_mean: Some(1_130.0),
        ..Default::default()
    }
}

fn effective(setup: &Setup, index: usize) -> Effective {
    let with = |written: &[(&str, &str)], resolved: &[(&str, &str)]| {
        let mut all = properties(resolved);
        all.extend(properties(written));
        all
    };
    Effective {
        jvm_flags: Vec::new(),
        host: BTreeMap::new(),
        topic_name: format!("plumb-5d1c0b7f-{index}"),
        partitions: Some(1),
        replication: Some(1),
        log_dirs: BTreeMap::new(),
        producer: with(
            setup.producer,
            &[
                ("acks", "-1"),
                ("batch.num.messages", "10000"),
                ("batch.size", "1000000"),
                ("client.id", &format!("plumb-producer-{index}")),
                ("compression.type", "none"),
                ("enable.idempotence", "false"),
                ("linger.ms", "5"),
                ("sasl.password", "[redacted]"),
                ("socket.nagle.disable", "false"),
                ("ssl.cipher.suites", ""),
            ],
        ),
        consumer: with(
            setup.consumer,
            &[
                ("client.id", &format!("plumb-consumer-{index}")),
                ("fetch.min.bytes", "1"),
                ("fetch.wait.max.ms", "500"),
                ("group.id", &format!("plumb-5d1c0b7f-{index}")),
                ("socket.nagle.disable", "false"),
            ],
        ),
        topic: properties(&[
            ("cleanup.policy", "delete"),
            ("message.timestamp.type", "CreateTime"),
            ("min.insync.replicas", "1"),
        ]),
        broker: properties(&[("num.io.threads", "8"), ("num.network.threads", "3")]),
    }
}

fn instrument() -> StepInstrument {
    StepInstrument {
        cpu_s: Some(1.84),
        cpu_s_per_million_messages: Some(184.0),
        cpu_s_per_gb: None,
        broker_cpu_s: Some(6.2),
        threads: vec![
            ThreadCpu {
                thread: "plumb-send-0".to_owned(),
                cpu_s: 1.1,
                share: 0.011,
                run_delay_s: Some(0.02),
            },
            ThreadCpu { thread: "rdk:broker1".to_owned(), cpu_s: 0.5, share: 0.005, run_delay_s: None },
        ],
        queue_full_waits: 0,
    }
}

fn timed_out() -> ErrorCount {
    ErrorCount {
        origin: "consume".to_owned(),
        code: "REQUEST_TIMED_OUT".to_owned(),
        message: "Broker: Request timed out".to_owned(),
        count: 2,
    }
}
