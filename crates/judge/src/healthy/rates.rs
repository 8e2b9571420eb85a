//! Runs with nothing wrong in which messages go as fast as possible, in every mode, and a sweep over producers.

use super::{BLOCKS, counts, healthy};
use plumb_model::document::{BlockResult, RunDocument, StepResult};
use plumb_model::facts::{CpuTime, Fact, HostDelta, HostFacts};
use plumb_model::observation::{
    Accounting, Counts, Distribution, Interval, IntervalMethod, Latencies, SecondRow, StepInstrument,
    Throughput,
};
use plumb_model::plan::{Driver, Length, Mode, Schedule, SizePlan, StepPlan, TopicPlan};
use plumb_model::units::{Bytes, Nanos};
use plumb_stats::random::Random;

pub(crate) const WIRE: &str = "wire";
pub(crate) const LIBRDKAFKA: &str = "librdkafka";

const SECONDS: u32 = 20;
const RATE: f64 = 100_000.0;

/// Two drivers on one load, as fast as possible.
pub(crate) fn saturating(mode: Mode) -> RunDocument {
    let mut document = empty();
    let mut random = Random::new(9);
    for (name, driver, rate) in [(WIRE, Driver::Wire, 2.0 * RATE), (LIBRDKAFKA, Driver::Librdkafka, RATE)] {
        let plan = StepPlan { driver, ..plan(name, mode, 4) };
        document.steps.push(step(&plan, rate, 0.02, &mut random));
        document.plan.steps.push(plan);
    }
    document
}

/// Producers from 1 to `most` on two devices: the rate rises up to 4 producers and stays; `nvme` takes five times as much.
pub(crate) fn swept(most: u32) -> RunDocument {
    let mut document = empty();
    let mut random = Random::new(10);
    for (device, factor) in [("sata", 1.0), ("nvme", 5.0)] {
        for producers in 1..=most {
            let mut plan =
                plan(&format!("log_dir {device}, producers {producers}"), Mode::Produce, producers);
            plan.topic = TopicPlan::Own {
                partitions: 6,
                replication: 1,
                configs: Default::default(),
                log_dir: Some(device.to_owned()),
            };
            let rate = factor * 10_000.0 * f64::from(producers.min(4));
            document.steps.push(step(&plan, rate, 0.02, &mut random));
            document.plan.steps.push(plan);
        }
    }
    document
}

fn empty() -> RunDocument {
    let mut document = healthy();
    document.steps.clear();
    document.plan.steps.clear();
    document.environment.host =
        Some(HostFacts { logical_cpus: Fact::known(8, "test"), ..HostFacts::default() });
    document
}

fn plan(name: &str, mode: Mode, producers: u32) -> StepPlan {
    let mut plan = super::plan(name, 5);
    plan.load.rate_per_s = None;
    plan.load.schedule = Schedule::Saturating;
    plan.load.length = Length::Duration(Nanos::from_secs(u64::from(SECONDS * BLOCKS)));
    plan.load.mode = mode;
    plan.load.producers = producers;
    plan.load.consumers = u32::from(mode != Mode::Produce);
    plan.load.size = SizePlan::Fixed(Bytes(1_000));
    plan
}

fn step(plan: &StepPlan, rate: f64, noise: f64, random: &mut Random) -> StepResult {
    let ways = Ways::of(plan.load.mode);
    let Ways { sends, receives, backlog } = ways;
    let blocks: Vec<BlockResult> = (0..BLOCKS)
        .map(|block| {
            let rate = rate * (noise * random.normal()).exp();
            BlockResult {
                block,
                position: block,
                counts: moved((rate * f64::from(SECONDS)) as u64, ways),
                achieved_per_s: sends.then_some(rate),
                received_per_s: receives.then_some(rate),
                host: Some(host()),
                ..BlockResult::default()
            }
        })
        .collect();
    let rates: Vec<f64> =
        blocks.iter().filter_map(|block| block.achieved_per_s.or(block.received_per_s)).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let messages = blocks.iter().map(|block| block.counts.sent.max(block.counts.received)).sum();
    let interval =
        Interval { low: mean * 0.98, high: mean * 1.02, level: 0.95, method: IntervalMethod::Blocks };
    StepResult {
        asked_per_s: None,
        achieved_per_s: sends.then_some(mean),
        throughput: Throughput {
            produced_per_s: sends.then_some(mean),
            produced_bytes_per_s: sends.then_some(mean * 1_000.0),
            produced_wire_bytes_per_s: sends.then_some(mean * 1_100.0),
            produced_interval: sends.then_some(interval),
            received_per_s: receives.then_some(mean),
            received_bytes_per_s: receives.then_some(mean * 1_000.0),
            received_interval: receives.then_some(interval),
            drain_s: backlog.then_some(4.0),
        },
        value_bytes_mean: 1_000.0,
        counts: moved(messages, ways),
        accounting: if sends {
            Accounting {
                offset_delta: Some(messages),
                acked: messages,
                agrees: Some(true),
                ..Accounting::default()
            }
        } else {
            Accounting::default()
        },
        latency: Latencies::default(),
        slip: Distribution::default(),
        series: series(rates, ways, random),
        blocks,
        instrument: StepInstrument {
            cpu_s: Some(60.0),
            broker_cpu_s: Some(120.0),
            threads: vec![plumb_model::observation::ThreadCpu {
                thread: "producer-0".to_owned(),
                cpu_s: 40.0,
                share: 0.4,
                // Generator and brokers keep each other waiting: that is what as fast as possible means.
                run_delay_s: Some(60.0),
            }],
            ..StepInstrument::default()
        },
        ..super::step(&plan.name, 5, 3)
    }
}

/// The ways in which a load moves messages.
#[derive(Clone, Copy)]
struct Ways {
    sends: bool,
    receives: bool,
    /// Consumers begin with a backlog.
    backlog: bool,
}

impl Ways {
    fn of(mode: Mode) -> Self {
        Ways {
            sends: mode != Mode::Consume,
            receives: mode != Mode::Produce,
            backlog: matches!(mode, Mode::Backlog(_)),
        }
    }
}

fn moved(messages: u64, Ways { sends, receives, .. }: Ways) -> Counts {
    let all = counts(messages);
    let (sent, received) = (u64::from(sends) * messages, u64::from(receives) * messages);
    Counts { intended: sent, sent, acked: sent, received, ..all }
}

/// Half of eight processors busy, most of it with the run; threads wait for one all the time.
fn host() -> HostDelta {
    let total = 8 * u64::from(SECONDS) * 1_000_000_000;
    let cpu = CpuTime { busy_ns: Some(total / 3), total_ns: Some(total), ..CpuTime::default() };
    let mut host = HostDelta { elapsed_ns: total / 8, cpu, ..HostDelta::default() };
    host.pressure.cpu_some_ns = Some(host.elapsed_ns);
    host
}

/// Two seconds of warm-up, the measured part, and a second cut short.
fn series(rates: Vec<f64>, ways: Ways, random: &mut Random) -> Vec<SecondRow> {
    let Ways { sends, receives, backlog } = ways;
    let mut rows = Vec::new();
    for (block, rate) in (0..).zip(rates) {
        for second in 0..=2 + SECONDS {
            let part = if second == 2 + SECONDS { 0.3 } else { 1.0 };
            let messages = (part * rate * (1.0 + 0.03 * random.normal())) as u64;
            // Consumers of a backlog wait for the first half, and then receive twice as much.
            let drained = match second {
                _ if !backlog => messages,
                second if second < 12 => 0,
                _ => 2 * messages,
            };
            rows.push(SecondRow {
                block,
                second,
                warm_up: second < 2,
                sent: u64::from(sends) * messages,
                acked: u64::from(sends) * messages,
                received: u64::from(receives) * drained,
                ..SecondRow::default()
            });
        }
    }
    rows
}
