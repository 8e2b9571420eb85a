//! Documents to render: a whole run of eight setups, a run that was killed at once, and a hostile one.
//!
//! The figures are made up around the published ones; nothing here was measured.

mod environment;
mod measured;
pub(crate) mod path;
pub(crate) mod throughput;
pub(crate) mod trial;
mod verdicts;

use plumb_model::document::{
    Environment, Instrument, ReferenceRow, ReferenceTable, RunDocument, RunIdentity, RunState, SCHEMA_VERSION,
};
use plumb_model::finding::{Validity, ValidityVerdict};
use plumb_model::observation::{Distribution, SecondLatency};
use plumb_model::plan::{
    ClusterPlan, Driver, InterBroker, Keys, Length, LoadPlan, LogDirLayout, Mode, Origin, Payload, Plan,
    Properties, Purpose, Schedule, SizePlan, StepPlan, TopicPlan,
};
use plumb_model::trial::Good;
use plumb_model::units::{Bytes, Nanos};
use plumb_model::winner::Winner;
use std::collections::BTreeMap;

/// One setup of the sample: name, rate, and min / max / mean / p75 / p95 / p99 as published, in ms.
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    pub(crate) rate_per_s: f64,
    pub(crate) published_ms: [f64; 6],
    pub(crate) producer: &'static [(&'static str, &'static str)],
    pub(crate) consumer: &'static [(&'static str, &'static str)],
}

const FAST_PRODUCER: &[(&str, &str)] =
    &[("acks", "0"), ("compression.type", "none"), ("linger.ms", "0"), ("socket.nagle.disable", "true")];
const DEFAULT_PRODUCER: &[(&str, &str)] = &[("acks", "0")];
const FAST_CONSUMER: &[(&str, &str)] = &[("fetch.wait.max.ms", "10"), ("socket.nagle.disable", "true")];
const FETCH_10: &[(&str, &str)] = &[("fetch.wait.max.ms", "10")];
const FETCH_100: &[(&str, &str)] = &[("fetch.wait.max.ms", "100")];

const fn setup(
    name: &'static str,
    rate_per_s: f64,
    published_ms: [f64; 6],
    producer: &'static [(&'static str, &'static str)],
    consumer: &'static [(&'static str, &'static str)],
) -> Setup {
    Setup { name, rate_per_s, published_ms, producer, consumer }
}

pub(crate) const SETUPS: [Setup; 8] = [
    setup(
        "producer optimised, consumer optimised, 100/s",
        100.0,
        [9.09, 49.43, 19.62, 23.81, 36.17, 45.31],
        FAST_PRODUCER,
        FAST_CONSUMER,
    ),
    setup(
        "producer default, consumer fetch 100 ms, 100/s",
        100.0,
        [9.10, 110.38, 19.11, 21.91, 26.20, 110.25],
        DEFAULT_PRODUCER,
        FETCH_100,
    ),
    setup(
        "producer optimised, consumer optimised, 100/s again",
        100.0,
        [7.86, 50.92, 18.15, 21.75, 38.53, 50.64],
        FAST_PRODUCER,
        FAST_CONSUMER,
    ),
    setup(
        "producer optimised, consumer fetch 100 ms, 100/s",
        100.0,
        [8.16, 81.64, 19.47, 21.66, 41.89, 63.71],
        FAST_PRODUCER,
        FETCH_100,
    ),
    setup(
        "producer default, consumer fetch 100 ms, 300/s",
        300.0,
        [16.30, 50.93, 27.52, 30.32, 48.46, 50.69],
        DEFAULT_PRODUCER,
        FETCH_100,
    ),
    setup(
        "producer optimised, consumer fetch 100 ms, 300/s",
        300.0,
        [9.63, 79.56, 25.30, 27.99, 51.35, 79.11],
        FAST_PRODUCER,
        FETCH_100,
    ),
    setup(
        "producer optimised, consumer fetch 10 ms, 300/s",
        300.0,
        [9.51, 52.81, 22.54, 25.74, 34.47, 52.61],
        FAST_PRODUCER,
        FETCH_10,
    ),
    setup(
        "producer optimised, consumer optimised, 300/s",
        300.0,
        [9.76, 51.84, 25.47, 29.45, 46.61, 51.28],
        FAST_PRODUCER,
        FAST_CONSUMER,
    ),
];

pub(crate) const BLOCKS: u32 = 5;

/// The first setup ahead of the second, promising as much.
pub(crate) fn winner(document: &RunDocument) -> Winner {
    Winner {
        step: document.plan.steps[0].name.clone(),
        against: document.plan.steps[1].name.clone(),
        metric: "end_to_end.mean".to_owned(),
        good: Good::Lower,
        ratio: 0.512,
        ratio_low: Some(0.48),
        ratio_high: Some(0.55),
        level: 0.95,
        beats_all: true,
        also_better: Vec::new(),
        weaker: Vec::new(),
    }
}

/// A whole run: eight setups, five blocks, a suspect verdict.
pub(crate) fn full() -> RunDocument {
    RunDocument {
        schema_version: SCHEMA_VERSION,
        run: RunIdentity {
            id: "5d1c0b7fa9e3428e".to_owned(),
            name: "event-hubs-latency".to_owned(),
            started_at: "2026-11-20T15:04:05Z".to_owned(),
            finished_at: Some("2026-11-20T15:13:38Z".to_owned()),
            state: RunState::Complete,
            plumb_version: "0.1.0".to_owned(),
            resumed: Vec::new(),
            lost_block: None,
        },
        outcome: None,
        validity: verdicts::validity(),
        summary: verdicts::summary(),
        findings: verdicts::findings(),
        steps: SETUPS.iter().enumerate().map(|(index, setup)| measured::step(index, setup)).collect(),
        comparisons: verdicts::comparisons(),
        sweeps: Vec::new(),
        queues: Vec::new(),
        trial: None,
        settings_search: None,
        winners: Vec::new(),
        reference: Some(reference()),
        instrument: environment::instrument(),
        environment: environment::environment(),
        plan: plan(),
    }
}

/// A run that was killed before its first setup was done.
pub(crate) fn killed() -> RunDocument {
    RunDocument {
        run: RunIdentity { finished_at: None, state: RunState::Running, ..full().run },
        outcome: None,
        validity: Validity { verdict: ValidityVerdict::Invalid, reasons: Vec::new() },
        summary: Vec::new(),
        findings: Vec::new(),
        steps: Vec::new(),
        comparisons: Vec::new(),
        reference: None,
        instrument: Instrument::default(),
        environment: Environment::default(),
        ..full()
    }
}

/// A run of one setup in which nobody receives.
pub(crate) fn producers_only() -> RunDocument {
    let mut document = full();
    document.steps.truncate(1);
    document.plan.steps.truncate(1);
    document.comparisons.clear();
    document.plan.steps[0].load.consumers = 0;
    let step = &mut document.steps[0];
    step.counts.received = 0;
    step.latency.end_to_end = Distribution::default();
    step.latency.end_to_end_service = Distribution::default();
    for row in &mut step.series {
        row.end_to_end = SecondLatency::default();
    }
    document
}

/// A run whose every text from outside tries to break out of the page or to steer the terminal.
pub(crate) fn hostile() -> RunDocument {
    const NAME: &str = "<script>alert('x')</script>\u{1b}[31m\"&";
    let mut document = full();
    document.run.name = NAME.to_owned();
    document.run.state = RunState::Failed { error: NAME.to_owned() };
    document.summary = vec![NAME.to_owned()];
    for (step, plan) in document.steps.iter_mut().zip(&mut document.plan.steps) {
        step.name = format!("{NAME}{}", step.name);
        plan.name = step.name.clone();
        step.effective.producer.insert(NAME.to_owned(), NAME.to_owned());
        step.stages[0].source = NAME.to_owned();
    }
    for finding in document.validity.reasons.iter_mut().chain(&mut document.findings) {
        finding.id = NAME.to_owned();
        finding.claim = NAME.to_owned();
        finding.step = Some(NAME.to_owned());
        finding.advice = vec![NAME.to_owned()];
    }
    for comparison in &mut document.comparisons {
        comparison.a = NAME.to_owned();
        comparison.metric = NAME.to_owned();
    }
    document.environment.client = NAME.to_owned();
    document.environment.cluster.brokers = vec![NAME.to_owned()];
    if let Some(reference) = &mut document.reference {
        reference.title = NAME.to_owned();
        reference.caveat = NAME.to_owned();
    }
    document
}

fn reference() -> ReferenceTable {
    ReferenceTable {
        title: "Lowest latency on Event Hubs over the Kafka protocol".to_owned(),
        source: "a cloud vendor's article, 2021".to_owned(),
        caveat: "Another cluster, network and year, and latency from the actual send: compare shapes, not figures."
            .to_owned(),
        rows: SETUPS
            .iter()
            .map(|setup| {
                let [min_ms, max_ms, mean_ms, p75_ms, p95_ms, p99_ms] = setup.published_ms;
                ReferenceRow {
                    name: setup.name.to_owned(),
                    rate_per_s: setup.rate_per_s,
                    min_ms,
                    max_ms,
                    mean_ms,
                    p75_ms,
                    p95_ms,
                    p99_ms,
                }
            })
            .collect(),
        ratios: Vec::new(),
    }
}

/// The plan of the whole run.
pub(crate) fn plan() -> Plan {
    let file = |line| Origin::File { path: "scenarios/event-hubs-latency.yaml".to_owned(), line };
    let mut origins = BTreeMap::from([
        ("name".to_owned(), file(1)),
        ("seed".to_owned(), Origin::Default),
        ("driver".to_owned(), Origin::Default),
        ("level".to_owned(), Origin::Default),
        ("blocks".to_owned(), Origin::Derived { reason: "five, as several setups are compared".to_owned() }),
        ("settle".to_owned(), Origin::Default),
        ("reference".to_owned(), file(2)),
        ("cluster".to_owned(), file(3)),
        ("cluster.lab.heap".to_owned(), Origin::Environment { variable: "PLUMB_LAB_HEAP".to_owned() }),
    ]);
    for (index, setup) in SETUPS.iter().enumerate() {
        let at = format!("steps.{index}");
        origins.insert(format!("{at}.name"), file(10 + 4 * index as u32));
        origins.insert(format!("{at}.topic"), file(4));
        origins.insert(format!("{at}.load"), Origin::Default);
        origins.insert(format!("{at}.load.rate_per_s"), file(6));
        origins.insert(format!("{at}.load.length"), Origin::Flag { flag: "--count".to_owned() });
        origins.insert(format!("{at}.load.size"), file(7));
        for (role, properties) in [("producer", setup.producer), ("consumer", setup.consumer)] {
            for (key, _) in properties {
                origins.insert(format!("{at}.{role}.{key}"), file(11 + 4 * index as u32));
            }
        }
    }
    Plan {
        name: "event-hubs-latency".to_owned(),
        description: "The eight rows of a published latency table, measured open loop.".to_owned(),
        seed: 20_210_830,
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
        reference: Some("event-hubs-2021".to_owned()),
        steps: SETUPS.iter().map(step_plan).collect(),
        blocks: BLOCKS,
        settle: Nanos::from_secs(8),
        twin: 0,
        goal: None,
        trial: None,
        settings_search: None,
        origins,
    }
}

fn step_plan(setup: &Setup) -> StepPlan {
    StepPlan {
        name: setup.name.to_owned(),
        driver: Driver::Librdkafka,
        external: None,
        topic: TopicPlan::Own { partitions: 1, replication: 1, configs: BTreeMap::new(), log_dir: None },
        load: LoadPlan {
            rate_per_s: Some(setup.rate_per_s),
            schedule: Schedule::Constant,
            length: Length::Count(10_000),
            warm_up: Nanos::from_secs(2),
            drain: Nanos::from_secs(10),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(1024)),
            keys: Keys::None,
            headers: BTreeMap::new(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
            mode: Mode::Mixed,
        },
        producer: properties(setup.producer),
        consumer: properties(setup.consumer),
        cluster: None,
    }
}

pub(crate) fn properties(pairs: &[(&str, &str)]) -> Properties {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
