//! Loads beside the measured blocks: one before them that warms the cluster up, one after them that asks the broker's
//! clock.

use super::block::has_own_topic;
use super::target::Target;
use crate::progress::Progress;
use anyhow::Result;
use plumb_load::block::{self, BlockOutcome, BlockSpec};
use plumb_load::observation::Observation;
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::observation::Twin;
use plumb_model::plan::{Length, LoadPlan, Mode, Plan, Schedule, StepPlan, TopicPlan};
use plumb_model::units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rate of the load before the first block, unless the first step's is higher.
const SETTLE_RATE_PER_S: f64 = 1_000.0;

/// Most bytes per second of that load, unless the first step's are more: a cluster is warmed up, not filled.
const SETTLE_BYTES_PER_S: f64 = 10e6;

/// The same before steps that go as fast as possible.
const SATURATING_BYTES_PER_S: f64 = 100e6;

/// Longest load of one twin.
const TWIN_S: f64 = 10.0;

/// What every load needs: the pacing, the stop, and where to say what happens.
type Context<'a> = (u64, &'a AtomicBool, &'a Progress);

/// Load so that a cold broker (JIT, page cache, connections) is not what the first block shows.
///
/// `index`: the step that the load is like. `again` ends the name of its topic when the run goes on.
pub(super) fn settle(
    (plan, again): (&Plan, &str),
    index: usize,
    target: &mut Target,
    run: u64,
    context: Context<'_>,
) -> Result<()> {
    let Some(first) = plan.steps.get(index).filter(|_| plan.settle.0 > 0) else { return Ok(()) };
    // A topic of the user's that is only read gets nothing from us.
    if first.reads_as_it_is() {
        return Ok(());
    }
    let saturating = first.load.saturating();
    let most_bytes_per_s = if saturating { SATURATING_BYTES_PER_S } else { SETTLE_BYTES_PER_S };
    let most_per_s = if saturating { f64::INFINITY } else { SETTLE_RATE_PER_S };
    let (.., progress) = context;
    progress.settle(plan.settle);
    let load = LoadPlan {
        rate_per_s: Some(
            most_per_s
                .min(most_bytes_per_s / first.load.size.mean())
                .max(first.load.rate_per_s.unwrap_or(0.0)),
        ),
        mode: Mode::Mixed,
        until_device: false,
        schedule: Schedule::Constant,
        length: Length::Duration(plan.settle),
        warm_up: Nanos(0),
        ..first.load.clone()
    };
    let step = StepPlan { load, ..first.clone() };
    let share = Share::Time(plan.settle);
    // On the step's topic, where its blocks share one.
    let number = index + 1;
    let name = if has_own_topic(first) { format!("settle{again}") } else { format!("{number}{again}") };
    carry(&name, (&step, share, plan.seed), target, run, context)?;
    if has_own_topic(first) {
        target.delete(&name);
    }
    Ok(())
}

/// Load on a topic like the step's that keeps the broker's append times; what they say. None where the plan wants no
/// twin, the topic is the user's, nobody receives, or the rate changes by itself (no short load is like that).
pub(super) fn twin(
    (plan, again): (&Plan, &str),
    index: usize,
    target: &mut Target,
    run: u64,
    context: Context<'_>,
) -> Result<Option<Twin>> {
    let step = &plan.steps[index];
    let TopicPlan::Own { partitions, replication, configs, log_dir } = &step.topic else { return Ok(None) };
    let Some(rate_per_s) = step.load.rate_per_s else { return Ok(None) };
    let (_, stop, progress) = context;
    let changes = step.load.schedule.own_rate_per_s().is_some();
    if plan.twin == 0 || step.load.consumers == 0 || changes || stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    progress.note(&format!("asking the broker's clock  {}", step.name));
    let mut configs = configs.clone();
    configs.insert("message.timestamp.type".to_owned(), "LogAppendTime".to_owned());
    let topic = TopicPlan::Own {
        partitions: *partitions,
        replication: *replication,
        configs,
        log_dir: log_dir.clone(),
    };
    let messages = plan.twin.min((rate_per_s * TWIN_S) as u64).max(1);
    let twin = StepPlan { topic, ..step.clone() };
    let name = format!("{}-twin{again}", index + 1);
    let outcome = carry(&name, (&twin, Share::Count(messages), plan.seed), target, run, context)?;
    Ok(outcome.and_then(|outcome| {
        let statistics = &outcome.producer_statistics;
        let queue = statistics.queue_mean_ns;
        let produce_mean_ns = queue.map(|queue| queue + statistics.outbuf_mean_ns.unwrap_or(0.0));
        Some(Twin { append_times: outcome.append_times?, produce_mean_ns })
    }))
}

/// Runs a load that is not measured. None when the user stopped it.
fn carry(
    topic: &str,
    (step, share, seed): (&StepPlan, Share, u64),
    target: &mut Target,
    run: u64,
    (spin_ns, stop, _): Context<'_>,
) -> Result<Option<BlockOutcome>> {
    let group = format!("plumb-{run:016x}-beside-{topic}");
    let topic = target.topic(topic, &step.topic)?;
    let spec = BlockSpec {
        // No block has this part's number.
        run: Random::for_part(run, u64::MAX).bits(),
        group: &group,
        step,
        topic: &topic.name,
        partitions: topic.leaders.len(),
        share,
        seed,
        spin_ns,
    };
    let result = block::run(&target.cluster, &spec, stop, &mut |_: Observation<'_>| {});
    target.cluster.delete_group(&group);
    match result {
        Ok(outcome) => Ok(Some(outcome)),
        Err(plumb_load::LoadError::Stopped) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
