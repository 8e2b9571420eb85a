//! The most that the generator itself sends on this machine: one producer against a sink in this process that swallows all.
//!
//! Measured once for each driver and size, before anything else of a run, and kept in the user's cache; a run that comes
//! near it measures the generator and not the path.

use super::utc::timestamp;
use crate::cache;
use crate::context::RunContext;
use crate::error::Result;
use jiff::Timestamp;
use plumb_lab::sink::{Keep, SinkBroker, SinkOptions};
use plumb_load::block::{self, BlockSpec};
use plumb_load::librdkafka::connect::connect;
use plumb_load::observation::Observation;
use plumb_load::schedule::Share;
use plumb_model::document::GeneratorCeiling;
use plumb_model::facts::HostFacts;
use plumb_model::plan::{
    Driver, Keys, Length, LoadPlan, Mode, Payload, Plan, Properties, Purpose, Schedule, SizePlan, StepPlan,
    TopicPlan,
};
use plumb_model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Length of a measurement, and what comes before it.
const MEASURED: Nanos = Nanos::from_secs(1);
const WARM_UP: Nanos = Nanos(300_000_000);
const TOPIC: &str = "ceiling";
/// As many partitions as an ordinary topic of a run has.
const PARTITIONS: i32 = 6;
/// Room beside the value in a record and in a batch, generously.
const OVERHEAD_BYTES: u64 = 1 << 20;
const FILE: &str = "generator-ceilings.json";

/// The kept ceilings by machine and version.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    ceilings: Vec<KeptCeiling>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptCeiling {
    plumb_version: String,
    cpu_model: String,
    ceiling: GeneratorCeiling,
}

/// The ceilings of a plan's drivers and sizes: those kept, and those measured now because none was.
pub(super) fn ceilings(plan: &Plan, host: &HostFacts, context: &RunContext) -> Result<Vec<GeneratorCeiling>> {
    let mut kept: Kept = cache::read(FILE);
    let cpu_model = host.cpu_model.value().cloned().unwrap_or_default();
    let plumb_version = env!("CARGO_PKG_VERSION").to_owned();
    let mut all = Vec::new();
    for (driver, value_bytes) in wanted(plan) {
        let same = |kept: &KeptCeiling| {
            (kept.plumb_version == plumb_version && kept.cpu_model == cpu_model)
                && (kept.ceiling.driver == driver && kept.ceiling.value_bytes == value_bytes)
        };
        if let Some(found) = kept.ceilings.iter().find(|kept| same(kept)) {
            all.push(found.ceiling.clone());
            continue;
        }
        let size = Bytes(value_bytes);
        context.phase(&format!("measuring what the generator itself can send at {size}, once: 2 s"));
        let Some(messages_per_s_per_core) = measure(driver, size, &context.stop)? else { return Ok(all) };
        let measured_at = timestamp(Timestamp::now());
        let ceiling = GeneratorCeiling { driver, value_bytes, messages_per_s_per_core, measured_at };
        kept.ceilings.retain(|kept| !same(kept));
        let (plumb_version, cpu_model) = (plumb_version.clone(), cpu_model.clone());
        kept.ceilings.push(KeptCeiling { plumb_version, cpu_model, ceiling: ceiling.clone() });
        cache::write(FILE, &kept);
        all.push(ceiling);
    }
    Ok(all)
}

/// Forgets what is kept, so that the next run measures.
pub fn forget() {
    cache::forget(FILE);
}

/// Drivers and sizes of the steps that send as fast as they can, or whose limit is searched for.
fn wanted(plan: &Plan) -> Vec<(Driver, u64)> {
    let sends =
        |step: &&StepPlan| step.load.mode != Mode::Consume && (step.load.saturating() || plan.goal.is_some());
    let mut wanted: Vec<(Driver, u64)> = plan
        .steps
        .iter()
        .filter(sends)
        // What a program of its own can send is not known before it is tried.
        .filter(|step| step.external.is_none())
        .map(|step| (step.driver, step.load.size.mean().round() as u64))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Messages per second of one producer. None when the user stopped it.
fn measure(driver: Driver, size: Bytes, stop: &Arc<AtomicBool>) -> Result<Option<f64>> {
    let options = SinkOptions {
        keep: Keep::Nothing,
        message_limit_bytes: usize::try_from(size.0 + OVERHEAD_BYTES).unwrap_or(usize::MAX),
        ..SinkOptions::default()
    };
    let sink = SinkBroker::start(options)?;
    sink.control().create_topic(TOPIC, PARTITIONS, &HashMap::new())?;
    let cluster = connect(&sink.bootstrap(), &Properties::new(), stop)?;
    let step = step(driver, size);
    let spec = BlockSpec {
        run: 1,
        group: TOPIC,
        step: &step,
        topic: TOPIC,
        partitions: PARTITIONS as usize,
        share: Share::Time(MEASURED),
        seed: 1,
        spin_ns: 0,
        programs: None,
    };
    match block::run(&cluster, &spec, stop, &mut |_: Observation<'_>| {}) {
        Ok(outcome) if outcome.stopped => Ok(None),
        Ok(outcome) => Ok(super::fold::per_s(outcome.counts.acked, outcome.measured_ns)),
        Err(plumb_load::LoadError::Stopped) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn step(driver: Driver, size: Bytes) -> StepPlan {
    let load = LoadPlan {
        rate_per_s: None,
        mode: Mode::Produce,
        schedule: Schedule::Saturating,
        length: Length::Duration(MEASURED),
        warm_up: WARM_UP,
        drain: Nanos::from_secs(5),
        producers: 1,
        consumers: 0,
        workers: 0,
        size: SizePlan::Fixed(size),
        keys: Keys::None,
        headers: BTreeMap::new(),
        payload: Payload::Entropy(1.0),
        in_flight: None,
        until_device: false,
        purpose: Purpose::default(),
    };
    let mut producer = Properties::from([("acks".to_owned(), "1".to_owned())]);
    if driver == Driver::Librdkafka {
        // The library's own limit is 1 MB.
        producer.insert("message.max.bytes".to_owned(), (size.0 + OVERHEAD_BYTES).to_string());
    }
    StepPlan {
        name: TOPIC.to_owned(),
        driver,
        external: None,
        topic: TopicPlan::Existing { name: TOPIC.to_owned() },
        load,
        producer,
        consumer: Properties::new(),
        cluster: None,
    }
}
