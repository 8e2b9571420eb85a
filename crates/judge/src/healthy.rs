//! A run with nothing wrong, into which each rule's test puts its fault: two setups at 100 messages/s on a lab broker,
//! five rounds of twenty seconds, one setup with `linger.ms` 0 and one with 5.

pub(crate) mod rates;
pub(crate) mod searched;

use crate::{Judgement, judge};
use plumb_model::document::{
    BlockResult, ClusterFacts, Durability, Effective, Environment, Instrument, RunDocument, RunIdentity,
    RunState, SCHEMA_VERSION, StepResult, WorkerBlock, WorkerFacts,
};
use plumb_model::finding::{Finding, Severity, Validity, ValidityVerdict};
use plumb_model::observation::{
    Accounting, ClientStatistics, Counts, Distribution, Interval, IntervalMethod, Latencies, SecondLatency,
    SecondRow, StepInstrument, ThreadCpu,
};
use plumb_model::plan::{
    ClusterPlan, Driver, InterBroker, Keys, Length, LoadPlan, LogDirLayout, Mode, Payload, Plan, Properties,
    Purpose, Schedule, SizePlan, StepPlan, TopicPlan,
};
use plumb_model::units::{Bytes, Nanos};
use plumb_stats::random::Random;
use std::collections::BTreeMap;

pub(crate) const LOW: &str = "low latency";
pub(crate) const DEFAULT: &str = "default";

const BLOCKS: u32 = 5;
const SECONDS: u32 = 20;
const RATE: u64 = 100;
const MESSAGES: u64 = RATE * SECONDS as u64 * BLOCKS as u64;

/// The same run with its clients in two workers, `one` and `two`, each on a host of its own.
pub(crate) fn with_workers() -> RunDocument {
    let mut document = healthy();
    let names = ["one", "two"];
    let facts = |name: &str| WorkerFacts {
        name: name.to_owned(),
        cpus: 4,
        one_clock: false,
        same_host_as: None,
        clock_claim: None,
        host: None,
    };
    let part = |name: &str| WorkerBlock {
        name: name.to_owned(),
        producers: 1,
        consumers: 1,
        intended: 1_000,
        sent: 1_000,
        slip_mean_ns: Some(10_000.0),
        cpu_s: Some(0.2),
        clock_error_ns: Some(10_000),
        round_trip_ns: 20_000,
    };
    document.environment.workers = names.map(facts).into();
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        block.workers = names.map(part).into();
    }
    document
}

/// The run.
pub(crate) fn healthy() -> RunDocument {
    RunDocument {
        schema_version: SCHEMA_VERSION,
        run: RunIdentity {
            id: "0123456789abcdef".to_owned(),
            name: "latency".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            finished_at: Some("2026-01-01T00:05:00Z".to_owned()),
            state: RunState::Complete,
            plumb_version: "0.1.0".to_owned(),
            resumed: Vec::new(),
            lost_block: None,
        },
        outcome: None,
        validity: Validity { verdict: ValidityVerdict::Valid, reasons: Vec::new() },
        summary: Vec::new(),
        findings: Vec::new(),
        steps: vec![step(LOW, 0, 1), step(DEFAULT, 5, 2)],
        comparisons: Vec::new(),
        sweeps: Vec::new(),
        queues: Vec::new(),
        trial: None,
        settings_search: None,
        winners: Vec::new(),
        reference: None,
        instrument: Instrument {
            clock_read_ns: Some(25.0),
            clock_step_ns: Some(1),
            wake_late: Distribution {
                samples: 1_000,
                p50_ns: Some(400),
                p99_ns: Some(60_000),
                ..Distribution::default()
            },
            spin_ns: 100_000,
            ceilings: Vec::new(),
        },
        environment: Environment {
            client: "librdkafka 2.12.1".to_owned(),
            cluster: ClusterFacts {
                brokers: vec!["127.0.0.1:19092".to_owned()],
                on_this_host: Some(true),
                ..ClusterFacts::default()
            },
            ..Environment::default()
        },
        plan: Plan {
            name: "latency".to_owned(),
            description: String::new(),
            seed: 1,
            cluster: ClusterPlan::Lab {
                brokers: 1,
                tls: false,
                inter_broker: InterBroker::default(),
                broker_properties: BTreeMap::new(),
                jvm_flags: Vec::new(),
                heap: "512m".to_owned(),
                log_dirs: Vec::new(),
                log_dir_layout: LogDirLayout::default(),
            },
            level: 0.95,
            reference: None,
            steps: vec![plan(LOW, 0), plan(DEFAULT, 5)],
            blocks: BLOCKS,
            settle: Nanos::from_secs(10),
            twin: 0,
            goal: None,
            trial: None,
            settings_search: None,
            origins: BTreeMap::new(),
        },
    }
}

/// One more step, a repetition of the first under another name: an A/A pair.
pub(crate) fn with_identical_step() -> RunDocument {
    let mut document = healthy();
    document.steps.push(step("low latency again", 0, 3));
    document.plan.steps.push(plan("low latency again", 0));
    document
}

/// The findings of a rule, whether about the run or the system.
pub(crate) fn found(document: &RunDocument, id: &str) -> Vec<Finding> {
    let Judgement { validity, findings, .. } = judge(document);
    validity.reasons.into_iter().chain(findings).filter(|finding| finding.id == id).collect()
}

/// The only finding of a rule.
pub(crate) fn one(document: &RunDocument, id: &str) -> Finding {
    let found = found(document, id);
    assert_eq!(found.len(), 1, "findings of {id}: {found:#?}");
    found.into_iter().next().unwrap()
}

/// Asserts that the fault makes the rule speak about the first step with this severity, and that the healthy run does
/// not.
pub(crate) fn assert_found(id: &str, severity: Severity, fault: impl FnOnce(&mut RunDocument)) -> Finding {
    let mut document = healthy();
    assert_eq!(found(&document, id), [], "the healthy run is said to have {id}");
    fault(&mut document);
    let finding = one(&document, id);
    assert_eq!(finding.severity, severity, "{finding:#?}");
    assert!(!finding.evidence.is_empty(), "{finding:#?}");
    finding
}

/// Replaces the seconds' latency of the first step: block and second to nanoseconds.
pub(crate) fn set_levels(document: &mut RunDocument, level: impl Fn(u32, u32, f64) -> f64) {
    for row in document.steps[0].series.iter_mut().filter(|row| !row.warm_up && row.sent > 0) {
        let old = row.end_to_end.mean_ns.unwrap();
        let new = level(row.block, row.second, old);
        row.end_to_end.mean_ns = Some(new);
        row.end_to_end.p50_ns = Some(new as u64);
    }
}

fn plan(name: &str, linger_ms: u64) -> StepPlan {
    StepPlan {
        name: name.to_owned(),
        driver: Driver::Librdkafka,
        external: None,
        topic: TopicPlan::Own { partitions: 1, replication: 1, configs: BTreeMap::new(), log_dir: None },
        load: LoadPlan {
            rate_per_s: Some(RATE as f64),
            schedule: Schedule::Constant,
            length: Length::Count(MESSAGES),
            warm_up: Nanos::from_secs(2),
            drain: Nanos::from_secs(10),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(1_024)),
            keys: Keys::None,
            headers: BTreeMap::new(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
            mode: Mode::Mixed,
        },
        producer: Properties::from([("linger.ms".to_owned(), linger_ms.to_string())]),
        consumer: Properties::new(),
        cluster: None,
    }
}

fn step(name: &str, linger_ms: u64, seed: u64) -> StepResult {
    let mut random = Random::new(seed);
    let linger_ns = linger_ms as f64 * 1e6;
    let base_ns = 600_000.0;
    let blocks: Vec<BlockResult> = (0..BLOCKS)
        .map(|block| {
            // What disturbs the machine in a round disturbs both setups alike; the rest is theirs.
            let shared = 1.0 + 0.05 * f64::from(block);
            let own_ns = base_ns * shared * (1.0 + 0.01 * random.normal());
            BlockResult {
                block,
                position: block,
                started_at: "2026-01-01T00:00:00Z".to_owned(),
                counts: counts(MESSAGES / u64::from(BLOCKS)),
                achieved_per_s: Some(RATE as f64 * 0.9998),
                end_to_end: latency(MESSAGES / u64::from(BLOCKS), linger_ns + own_ns),
                acknowledge: latency(MESSAGES / u64::from(BLOCKS), linger_ns + 0.8 * own_ns),
                ..BlockResult::default()
            }
        })
        .collect();
    let mean_ns =
        blocks.iter().map(|block| block.end_to_end.mean_ns.unwrap()).sum::<f64>() / f64::from(BLOCKS);
    let end_to_end = latency(MESSAGES, mean_ns);
    let acknowledge = latency(MESSAGES, linger_ns + 0.8 * (mean_ns - linger_ns));
    let properties = |pairs: &[(&str, String)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Properties>()
    };
    StepResult {
        name: name.to_owned(),
        asked_per_s: Some(RATE as f64),
        achieved_per_s: Some(RATE as f64 * 0.9998),
        value_bytes_mean: 1_024.0,
        counts: counts(MESSAGES),
        accounting: Accounting {
            offset_delta: Some(MESSAGES + 1_000),
            acked: MESSAGES + 1_000,
            agrees: Some(true),
            unreplicated: Some(0),
            unreplicated_growth: Some(0),
            ..Accounting::default()
        },
        latency: Latencies {
            end_to_end_service: latency(MESSAGES, mean_ns * 0.99),
            acknowledge_service: latency(MESSAGES, acknowledge.mean_ns.unwrap() * 0.99),
            end_to_end,
            acknowledge,
        },
        slip: Distribution {
            samples: MESSAGES,
            mean_ns: Some(6_000.0),
            p50_ns: Some(2_000),
            p99_ns: Some(60_000),
            ..Distribution::default()
        },
        series: series(linger_ns + base_ns, &mut random),
        blocks,
        producer_statistics: ClientStatistics {
            queue_mean_ns: Some(linger_ns + 40_000.0),
            queue_samples: MESSAGES,
            rtt_mean_ns: Some(350_000.0),
            rtt_samples: MESSAGES,
            batch_messages_mean: Some(1.0),
            batch_bytes_mean: Some(1_100.0),
            ..ClientStatistics::default()
        },
        effective: Effective {
            producer: properties(&[
                ("queue.buffering.max.ms", linger_ms.to_string()),
                ("batch.num.messages", "10000".to_owned()),
            ]),
            ..Effective::default()
        },
        durability: Durability { acks: Some("1".to_owned()), replication: Some(1), ..Durability::default() },
        instrument: StepInstrument {
            cpu_s: Some(4.0),
            threads: vec![ThreadCpu {
                thread: "producer-0".to_owned(),
                cpu_s: 2.0,
                share: 0.02,
                run_delay_s: Some(0.2),
            }],
            ..StepInstrument::default()
        },
        ..StepResult::default()
    }
}

fn counts(messages: u64) -> Counts {
    Counts {
        intended: messages,
        sent: messages,
        acked: messages,
        received: messages,
        removed: Some(0),
        ..Counts::default()
    }
}

fn latency(samples: u64, mean_ns: f64) -> Distribution {
    let at = |factor: f64| Some((mean_ns * factor) as u64);
    let interval =
        |centre: f64, method| Some(Interval { low: centre * 0.98, high: centre * 1.02, level: 0.95, method });
    Distribution {
        samples,
        min_ns: at(0.5),
        mean_ns: Some(mean_ns),
        p50_ns: at(0.98),
        p75_ns: at(1.1),
        p95_ns: at(1.3),
        p99_ns: at(1.6),
        p999_ns: at(2.5).filter(|_| samples >= 10_000),
        max_ns: at(4.0),
        mean_interval: interval(mean_ns, IntervalMethod::Blocks),
        p50_interval: interval(mean_ns * 0.98, IntervalMethod::OrderStatistics),
        p99_interval: interval(mean_ns * 1.6, IntervalMethod::OrderStatistics),
        ..Distribution::default()
    }
}

/// Two seconds of warm-up, then the measured part, then a second in which the last answers arrive.
fn series(level_ns: f64, random: &mut Random) -> Vec<SecondRow> {
    let mut rows = Vec::new();
    for block in 0..BLOCKS {
        for second in 0..2 + SECONDS {
            let mean_ns = level_ns * (1.0 + 0.05 * random.normal());
            let latency = SecondLatency {
                samples: RATE,
                mean_ns: Some(mean_ns),
                p50_ns: Some(mean_ns as u64),
                p99_ns: None,
                max_ns: Some((mean_ns * 2.0) as u64),
            };
            rows.push(SecondRow {
                block,
                second,
                warm_up: second < 2,
                sent: RATE,
                // One message is under way at each second's end.
                acked: RATE - u64::from(second == 0),
                received: RATE - u64::from(second == 0),
                end_to_end: latency.clone(),
                acknowledge: latency,
                slip_max_ns: Some(50_000 + (random.unit() * 100_000.0) as u64),
            });
        }
        rows.push(SecondRow { block, second: 2 + SECONDS, acked: 1, received: 1, ..SecondRow::default() });
    }
    rows
}
