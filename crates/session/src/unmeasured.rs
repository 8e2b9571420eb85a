//! Loads beside the measured blocks: one before them that warms the cluster up, one after them that asks the broker's
//! clock.

use super::block::has_own_topic;
use super::target::Target;
use crate::context::RunContext;
use crate::error::Result;
use crate::external;
use plumb_load::block::{self, BlockOutcome, BlockSpec};
use plumb_load::observation::Observation;
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::observation::Twin;
use plumb_model::plan::{Length, LoadPlan, Mode, Plan, Schedule, StepPlan, TopicPlan};
use plumb_model::units::Nanos;

/// Rate of the load before the first block, unless the first step's is higher.
const SETTLE_RATE_PER_S: f64 = 1_000.0;

/// Most bytes per second of that load, unless the first step's are more: a cluster is warmed up, not filled.
const SETTLE_BYTES_PER_S: f64 = 10e6;

/// The same before steps that go as fast as possible.
const SATURATING_BYTES_PER_S: f64 = 100e6;

/// Longest load of one twin.
const TWIN_S: f64 = 10.0;

/// A part of a run: from its beginning, or from where it goes on.
#[derive(Debug)]
pub(super) struct RunPart {
    /// The run's id as a number.
    pub(super) run: u64,
    /// Ends the names of the topics that are made in this part: empty, or `-r1`, `-r2` ...
    pub(super) suffix: String,
    /// The time before a send at which sleeping ends, in nanoseconds.
    pub(super) spin_ns: u64,
}

/// Load so that a cold broker (JIT, page cache, connections) is not what the first block shows.
///
/// `index`: the step that the load is like.
pub(super) fn settle(
    plan: &Plan,
    index: usize,
    part: &RunPart,
    target: &mut Target,
    context: &RunContext,
) -> Result<()> {
    let Some(first) = plan.steps.get(index).filter(|_| plan.settle.0 > 0) else { return Ok(()) };
    // A topic of the user's that is only read gets nothing from us.
    if first.reads_as_it_is() {
        return Ok(());
    }
    let saturating = first.load.saturating();
    let most_bytes_per_s = if saturating { SATURATING_BYTES_PER_S } else { SETTLE_BYTES_PER_S };
    let most_per_s = if saturating { f64::INFINITY } else { SETTLE_RATE_PER_S };
    context.phase(&format!("warming the cluster up for {}, not measured", plan.settle));
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
    let load = UnmeasuredLoad { step: &step, share: Share::Time(plan.settle), seed: plan.seed };
    // On the step's topic, where its blocks share one.
    let (number, suffix) = (index + 1, &part.suffix);
    let name = if has_own_topic(first) { format!("settle{suffix}") } else { format!("{number}{suffix}") };
    carry(&name, &load, part, target)?;
    if has_own_topic(first) {
        target.delete(&name);
    }
    Ok(())
}

/// Load on a topic like the step's that keeps the broker's append times; what they say. None where the plan wants no
/// twin, the topic is the user's, nobody receives, or the rate changes by itself (no short load is like that).
pub(super) fn twin(
    plan: &Plan,
    index: usize,
    part: &RunPart,
    target: &mut Target,
    context: &RunContext,
) -> Result<Option<Twin>> {
    let step = &plan.steps[index];
    let TopicPlan::Own { partitions, replication, configs, log_dir } = &step.topic else { return Ok(None) };
    let Some(rate_per_s) = step.load.rate_per_s else { return Ok(None) };
    let changes = step.load.schedule.has_own_rate();
    if plan.twin == 0 || step.load.consumers == 0 || changes || context.is_stopped() {
        return Ok(None);
    }
    context.phase(&format!("asking the broker's clock  {}", step.name));
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
    let name = format!("{}-twin{}", index + 1, part.suffix);
    let load = UnmeasuredLoad { step: &twin, share: Share::Count(messages), seed: plan.seed };
    let outcome = carry(&name, &load, part, target)?;
    Ok(outcome.and_then(|outcome| {
        let statistics = &outcome.producer_statistics;
        let queue = statistics.queue_mean_ns;
        let produce_mean_ns = queue.map(|queue| queue + statistics.outbuf_mean_ns.unwrap_or(0.0));
        Some(Twin {
            append_times: outcome.append_times?,
            produce_mean_ns,
            rtt_mean_ns: statistics.rtt_mean_ns,
        })
    }))
}

/// A load that is not measured.
struct UnmeasuredLoad<'a> {
    step: &'a StepPlan,
    share: Share,
    seed: u64,
}

/// Runs it. None when the user stopped it.
fn carry(
    topic: &str,
    load: &UnmeasuredLoad<'_>,
    part: &RunPart,
    target: &mut Target,
) -> Result<Option<BlockOutcome>> {
    let group = format!("plumb-{:016x}-beside-{topic}", part.run);
    let topic = target.topic(topic, &load.step.topic)?;
    let programs = external::programs(load.step)?;
    let spec = BlockSpec {
        // No block has this part's number.
        run: Random::for_part(part.run, u64::MAX).bits(),
        group: &group,
        step: load.step,
        topic: &topic.name,
        partitions: topic.leaders.len(),
        share: load.share,
        seed: load.seed,
        spin_ns: part.spin_ns,
        programs: programs.as_ref(),
    };
    let result = block::run(&target.cluster, &spec, target.stop(), &mut |_: Observation<'_>| {});
    target.cluster.delete_group(&group);
    target.check_lab()?;
    match result {
        Ok(outcome) => Ok(Some(outcome)),
        Err(plumb_load::LoadError::Stopped) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
