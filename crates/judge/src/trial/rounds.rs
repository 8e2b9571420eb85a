//! Which rounds count: those in which every arm has a whole block, less those in which something else than the arms was at
//! work. The rules stand here before any result is known, look at no result, and leave out whole rounds, never one
//! arm's block: leaving out single blocks would choose the answer.

use super::Arm;
use crate::figure::{percent, time};
use plumb_model::document::BlockResult;
use plumb_model::trial::ExcludedPair;

/// Share of the processors' time that the hypervisor may give to other guests: twice what makes a run suspect, as what
/// disturbs neighbouring blocks alike is not in their ratio (ours).
const STEAL_SHARE_MAX: f64 = 0.20;

/// Share of the processors' time that other programs may use, likewise (ours).
const OTHERS_SHARE_MAX: f64 = 0.40;

/// Mean lateness of the sends over the mean latency from which on the figure is that of the generator (as for the
/// validity of a run).
const SLIP_SHARE_MAX: f64 = 0.50;

/// The rounds of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rounds {
    /// Rounds in which every arm has a whole block.
    pub(crate) whole: Vec<u32>,
    /// Those that no rule excludes.
    pub(crate) kept: Vec<u32>,
    /// The others, with the reason.
    pub(crate) excluded: Vec<ExcludedPair>,
}

/// The rounds of arms that belong together. `local`: whether the brokers are on this host; none where it is not known.
pub(super) fn rounds(arms: &[&Arm], local: Option<bool>) -> Rounds {
    let Some(first) = arms.first() else { return Rounds::default() };
    let in_all = |round: &&u32| arms.iter().all(|arm| arm.blocks.contains_key(*round));
    let whole: Vec<u32> = first.blocks.keys().filter(in_all).copied().collect();
    let mut rounds = Rounds { whole: whole.clone(), ..Rounds::default() };
    for round in whole {
        let faults = arms.iter().filter_map(|arm| {
            let block = arm.blocks.get(&round)?;
            Some(format!("\"{}\": {}", arm.name, fault(arm, block, local)?))
        });
        match faults.reduce(|all, fault| format!("{all}; {fault}")) {
            Some(reason) => rounds.excluded.push(ExcludedPair { round, reason }),
            None => rounds.kept.push(round),
        }
    }
    rounds
}

/// What else than the arm was at work in a block.
fn fault(arm: &Arm, block: &BlockResult, local: Option<bool>) -> Option<String> {
    stolen(block).or_else(|| used_by_others(block, local)).or_else(|| sent_late(arm, block))
}

fn stolen(block: &BlockResult) -> Option<String> {
    let share = block.host.as_ref()?.cpu.steal_share()?;
    (share > STEAL_SHARE_MAX).then(|| {
        format!(
            "the hypervisor took {} of the processors' time (rule: at most {})",
            percent(share),
            percent(STEAL_SHARE_MAX)
        )
    })
}

/// Processor time that neither the generator nor the brokers used, where that can be told.
fn used_by_others(block: &BlockResult, local: Option<bool>) -> Option<String> {
    let brokers_s = match local {
        Some(false) => 0.0,
        Some(true) | None => block.broker_cpu_s?,
    };
    let cpu = &block.host.as_ref()?.cpu;
    let total_s = cpu.total_ns? as f64 / 1e9;
    let others_s = cpu.busy_ns? as f64 / 1e9 - block.client_cpu_s? - brokers_s;
    let share = others_s / total_s;
    (total_s > 0.0 && share > OTHERS_SHARE_MAX).then(|| {
        format!(
            "other programs used {} of the processors' time (rule: at most {})",
            percent(share),
            percent(OTHERS_SHARE_MAX)
        )
    })
}

/// The generator was late by itself. A sender that waits for answers or for room in its queue is late because of the path.
fn sent_late(arm: &Arm, block: &BlockResult) -> Option<String> {
    let waits = arm.setup.load().is_some_and(|load| load.in_flight.is_some())
        || arm.setup.result.instrument.queue_full_waits > 0;
    if waits || arm.setup.saturates() {
        return None;
    }
    let slip_ns = block.slip_mean_ns?;
    let latency_ns = arm.setup.headline_of(block).mean_ns.filter(|mean| *mean > 0.0)?;
    (slip_ns > SLIP_SHARE_MAX * latency_ns).then(|| {
        format!(
            "the generator sent {} late in the mean, of a mean latency of {} (rule: at most {})",
            time(slip_ns),
            time(latency_ns),
            percent(SLIP_SHARE_MAX)
        )
    })
}
