//! The findings that a reader must know before relying on a trial, each one sentence.

use super::pairs::Compared;
use super::values::log_ratios;
use super::verdicts::Judged;
use super::{Arm, Opponents, Trial, doubts, effective, rows};
use crate::row::Row;
use plumb_model::document::{BlockResult, RunState};
use plumb_model::facts::Limit;
use plumb_model::figure::{self, counted, decimals, p_value, percent, whole};
use plumb_model::finding::{Finding, Severity, Validity};
use plumb_model::plan::{ClusterPlan, StepPlan};
use plumb_model::prose::{list, quoted, sentence};
use plumb_model::trial::{MetricRole, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::autocorrelation::{lag_1, lag_1_limit};
use std::collections::BTreeMap;

/// The finding that a path did not keep up.
const SATURATED: &str = "saturated";

/// Fewest pairs for which a correlation of neighbours says anything (ours).
const CORRELATION_PAIRS_MIN: usize = 12;

/// The difference between equal arms.
pub(super) struct NoiseFloor<'t> {
    /// The metrics of the reference against itself, the one that decides first.
    pub(super) metrics: &'t [Compared],
    /// The largest ratio above 1 by which equal arms may differ, or the reason why that is not known.
    pub(super) ratio: Result<f64, String>,
}

pub(super) fn findings(
    trial: &Trial,
    validity: &Validity,
    judged: &Judged,
    floor: NoiseFloor,
) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    all.extend(said(&rows::TRIAL_NOT_WHOLE, not_whole(trial)));
    all.extend(said(&rows::NOT_IN_EFFECT, not_in_effect(trial)));
    all.extend(said(&rows::UNEQUAL_LOAD, unequal_load(trial)));
    all.extend(said(&rows::NO_FIXED_SIZE, no_fixed_size(trial, validity, judged)));
    all.extend(noise(judged, floor));
    all.extend(primaries(judged).flat_map(|compared| of_pairs(trial, compared)));
    all.extend(said(&rows::HARM_NOT_SHOWN, alarms(judged)));
    all.extend(said(&rows::HOST_NEVER_QUIET, trial.rounds.always.iter().cloned()));
    all.extend(said(&rows::PAIRS_LEFT_OUT, excluded(trial)));
    all.extend(said(&rows::SINGLE_START, single_start(trial)));
    all.extend(said(&rows::LITTLE_MEMORY, little_memory(trial)));
    all.extend(said(&rows::OTHER_BROKER, other_broker(trial)));
    all.extend(said(&rows::OTHER_BROKER, other_cluster(trial)));
    all.extend(said(&rows::WARM_UP_CUT, cut_as_warm_up(trial)));
    let told = validity.reasons.iter().filter(|reason| reason.severity > Severity::Note);
    all.extend(told.cloned());
    all
}

fn said(row: &'static Row, claims: impl IntoIterator<Item = String>) -> impl Iterator<Item = Finding> {
    claims.into_iter().map(|claim| row.finding(row.severity, sentence(&claim)))
}

fn primaries(judged: &Judged) -> impl Iterator<Item = &Compared> {
    judged.metrics.iter().filter(|compared| compared.result.role == MetricRole::Primary)
}

/// Harm that is not shown to be an arm's doing, where no veto says it.
fn alarms(judged: &Judged) -> impl Iterator<Item = String> {
    let said = |alarm: &&String| judged.verdicts.iter().any(|verdict| verdict.vetoes.contains(alarm));
    judged
        .metrics
        .iter()
        .filter_map(|compared| compared.alarm.as_ref())
        .filter(move |alarm| !said(alarm))
        .cloned()
}

/// A trial that ended before its plan did.
fn not_whole(trial: &Trial) -> Option<String> {
    let (whole, planned) = (trial.rounds.whole.len(), trial.document.plan.blocks);
    let of = format!("{whole} of {} were run", counted(planned, "planned pair"));
    match &trial.document.run.state {
        RunState::Interrupted if trial.plan.until_decided => Some(format!("The trial was stopped: {of}")),
        RunState::Interrupted => Some(format!(
            "The trial was stopped: {of}. If what it showed by then was a reason to stop, its intervals promise too much; a trial \
             that may stop is one with --until-decided"
        )),
        RunState::Failed { .. } => Some(format!("The trial failed before its end: {of}")),
        RunState::Running => Some(format!("The trial still runs, or was killed: {of}")),
        RunState::Complete => None,
    }
}

fn not_in_effect(trial: &Trial) -> Vec<String> {
    let Some((reference, arms)) = trial.arms.split_first() else { return Vec::new() };
    let asked = arms.iter().filter(|arm| !arm.blocks.is_empty()).filter_map(|arm| {
        let missing = effective::not_in_effect(reference, arm);
        (!missing.is_empty()).then(|| {
            format!(
                "{} asked for {}, and it is not in effect: read back, its settings there are those of {}",
                quoted(arm.name),
                list(&missing),
                quoted(reference.name)
            )
        })
    });
    asked.collect()
}

fn unequal_load(trial: &Trial) -> Vec<String> {
    let pairs = trial.opponents();
    let unequal = pairs.iter().filter(|of| !of.arm.setup.same_load(&of.against.setup));
    let mut alike: BTreeMap<(&str, Vec<String>), Vec<String>> = BTreeMap::new();
    for Opponents { arm, against } in unequal {
        let differing = against.setup.load_differences(&arm.setup);
        alike.entry((against.name, differing)).or_default().push(quoted(arm.name));
    }
    let said = alike.into_iter().map(|((against, differing), arms)| {
        let what = if differing.is_empty() { String::new() } else { format!(" ({})", differing.join("; ")) };
        format!(
            "{} {} another load than {}{what}: the ratio is of both, load and setting",
            list(&arms),
            if arms.len() == 1 { "has" } else { "have" },
            quoted(against)
        )
    });
    said.collect()
}

/// Arms that are told apart by a latency though one of them did not keep up: its latency grows for as long as a block lasts.
fn no_fixed_size(trial: &Trial, validity: &Validity, judged: &Judged) -> Vec<String> {
    if trial.primary().is_none_or(|primary| !primary.is_latency()) {
        return Vec::new();
    }
    let outgrown = |name: &str| {
        let Some(arm) = trial.arms.iter().find(|arm| arm.name == name) else { return false };
        let mut saturated = validity.reasons.iter().filter(|reason| reason.id == SATURATED);
        saturated.any(|reason| reason.step.as_deref() == Some(arm.setup.name()))
    };
    let told =
        judged.verdicts.iter().filter(|verdict| matches!(verdict.verdict, Verdict::Better | Verdict::Worse));
    let each = told.filter_map(|verdict| {
        let late = [&verdict.arm, &verdict.against].into_iter().find(|name| outgrown(name))?;
        Some(format!(
            "{} did not keep up with the load, so its latency grows for as long as a block lasts: that {} is {} than {} stands, \
             but the ratio has no fixed size, as longer blocks make another",
            quoted(late),
            quoted(&verdict.arm),
            verdict.verdict.word(),
            quoted(&verdict.against)
        ))
    });
    each.collect()
}

fn noise(judged: &Judged, floor: NoiseFloor) -> Vec<Finding> {
    let mut all = Vec::new();
    let Some(primary) = floor.metrics.first() else { return all };
    let (result, words) = (&primary.result, primary.words);
    if matches!(result.verdict, Verdict::Better | Verdict::Worse) {
        all.extend(said(&rows::REFERENCE_DIFFERS, [format!(
            "The reference differs from itself by the {words} ({}): by chance that is so in one of {} trials, else \
             something acts on the blocks that is no arm's",
            p_value(result.p.unwrap_or(1.0)),
            whole(1.0 / (1.0 - result.level))
        )]));
    }
    let floor_ratio = match floor.ratio {
        Ok(ratio) => ratio,
        Err(_) if result.method == TrialMethod::Counts => return all,
        Err(why) => {
            all.extend(said(
                &rows::NOISE_FLOOR_UNKNOWN,
                [format!("How much equal arms differ here is not known: {why}")],
            ));
            return all;
        }
    };
    let within = primaries(judged).filter(|compared| {
        let told = matches!(compared.result.verdict, Verdict::Better | Verdict::Worse);
        told && compared.result.estimate_ratio.is_some_and(|ratio| ratio.ln().abs() <= floor_ratio.ln())
    });
    let names: Vec<String> = within.map(|compared| quoted(&compared.result.arm)).collect();
    if !names.is_empty() {
        all.extend(said(&rows::WITHIN_NOISE_FLOOR, [format!(
            "The difference of {} is no larger than that between equal arms may be here ({}): repeat the trial before relying \
             on it",
            list(&names),
            up_to(floor_ratio)
        )]));
    }
    all
}

/// `up to 4.2 %`.
pub(super) fn up_to(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 2.0 => format!("up to {}", percent(ratio - 1.0)),
        ratio => format!("up to {}", figure::ratio(ratio)),
    }
}

/// The findings about the pairs of the metric that decides.
fn of_pairs(trial: &Trial, compared: &Compared) -> Vec<Finding> {
    let result = &compared.result;
    let mut all = Vec::new();
    let logs = log_ratios(&result.values);
    // Pairs on one start are alike by design: there the start is the unit.
    let units = result.starts.is_none() && logs.len() >= CORRELATION_PAIRS_MIN;
    if let Some(r1) = lag_1(&logs).filter(|_| units) {
        let limit = lag_1_limit(logs.len());
        if r1.abs() > limit {
            all.extend(said(&rows::PAIRS_CORRELATED, [format!(
                "Neighbouring pairs of {} and {} are not independent (correlation {}, expected within {}): the \
                 interval may be too narrow",
                quoted(&result.arm),
                quoted(&result.against),
                decimals(r1, 2),
                decimals(limit, 2)
            )]));
        }
    }
    let kept = trial.rounds.kept.len();
    if result.absent.is_none() && logs.len() < kept {
        let missing = kept - logs.len();
        all.extend(said(
            &rows::PAIRS_LACK_METRIC,
            [format!(
                "{} of {} and {} lack the {}: what is left may not be like what is missing",
                counted(missing as u64, "pair"),
                quoted(&result.arm),
                quoted(&result.against),
                compared.words
            )],
        ));
    }
    all
}

/// The number of rounds that are left out, and their effect on the verdict, as a sentence.
fn excluded(trial: &Trial) -> Option<String> {
    let rounds = &trial.rounds;
    if rounds.excluded.is_empty() {
        return None;
    }
    let said = format!(
        "{} of {} left out by the rules on noise",
        rounds.excluded.len(),
        if rounds.excluded.len() == 1 {
            format!("{} is", counted(rounds.whole.len() as u64, "pair"))
        } else {
            format!("{} are", counted(rounds.whole.len() as u64, "pair"))
        }
    );
    let opponents = trial.opponents();
    let changed = opponents.iter().filter_map(|of| {
        let with = doubts::changed_by_exclusion(trial, *of)?;
        Some(format!("{} {}", quoted(of.arm.name), with.word()))
    });
    let changed: Vec<String> = changed.collect();
    Some(match changed.is_empty() {
        true => format!("{said}; with them the verdicts would be the same"),
        false => format!("{said}; with them the verdicts would be others: {}", changed.join(", ")),
    })
}

/// Arms with brokers of their own that were started once.
fn single_start(trial: &Trial) -> Option<String> {
    let is_lab = |step: &StepPlan| matches!(step.cluster, Some(ClusterPlan::Lab { .. }));
    let own = trial.document.plan.steps.iter().any(is_lab);
    let starts =
        trial.arms.iter().flat_map(|arm| arm.blocks.values()).map(|block| block.broker_start).max()?;
    (own && starts == 0).then(|| {
        "Each arm has brokers of its own that were started once: what differs may be that start and not the setting \
         (--restart-every)"
            .to_owned()
    })
}

/// Page cache that each broker of a lab should find: its newest records, which consumers read, and what is not written yet
/// (ours).
const PAGE_CACHE_BYTES: u64 = 256 << 20;

/// Arms on log directories of one lab are on different brokers of it, which may differ in more.
fn other_broker(trial: &Trial) -> Vec<String> {
    let Some((reference, arms)) = trial.arms.split_first() else { return Vec::new() };
    let told = |arm: &Arm, key: &str| arm.setup.result.effective.broker.get(key).cloned();
    let elsewhere = |arm: &&Arm| {
        trial.document.plan.steps.iter().all(|step| step.cluster.is_none())
            && told(arm, "node.id").zip(told(reference, "node.id")).is_some_and(|(a, b)| a != b)
    };
    let is_controller =
        |arm: &Arm| told(arm, "process.roles").is_some_and(|roles| roles.contains("controller"));
    let said = |arm: &Arm| {
        let pair = [reference, arm];
        let controllers: Vec<String> =
            pair.iter().filter(|arm| is_controller(arm)).map(|arm| quoted(arm.name)).collect();
        let controller = match controllers.as_slice() {
            [one] => format!(" (that of {one} is the cluster's controller, too)"),
            _ => String::new(),
        };
        format!(
            "{} and {} are on different brokers{controller}: whatever differs between these two processes is part of what is shown",
            quoted(reference.name),
            quoted(arm.name)
        )
    };
    arms.iter().filter(elsewhere).map(said).collect()
}

/// Arms on clusters that were there, each its own, which differ in all that makes a cluster.
fn other_cluster(trial: &Trial) -> Option<String> {
    let cluster_of = |arm: &Arm| {
        let own = trial.document.plan.steps.get(arm.plan?.step)?.cluster.clone();
        Some(own.unwrap_or_else(|| trial.document.plan.cluster.clone()))
    };
    let reference = cluster_of(trial.arms.first()?)?;
    let is_elsewhere = |arm: &&Arm| {
        cluster_of(arm).is_some_and(|cluster| {
            cluster != reference
                && [&cluster, &reference].iter().any(|cluster| matches!(cluster, ClusterPlan::Brokers { .. }))
        })
    };
    let others: Vec<String> = trial.arms.iter().filter(is_elsewhere).map(|arm| quoted(arm.name)).collect();
    let (verb, their) = if others.len() == 1 { ("is", "its") } else { ("are", "their") };
    (!others.is_empty()).then(|| {
        format!(
            "{} {verb} on {their} own cluster: whatever differs between it and that of {} is part of what is shown (hosts, network, version, \
             settings, what else they serve), and another day they may differ otherwise",
            list(&others),
            quoted(trial.arms[0].name)
        )
    })
}

/// A sentence about the figures that still hold a warm-up that was cut: it is taken out of blocks, not of figures over a whole
/// step.
fn cut_as_warm_up(trial: &Trial) -> Option<String> {
    let blocks: Vec<&BlockResult> = trial.document.steps.iter().flat_map(|step| &step.blocks).collect();
    let cut = blocks.iter().filter(|block| block.after_warm_up.is_some()).count();
    (cut > 0).then(|| {
        format!(
            "The beginning of {cut} of {} was cut as warm-up and is in none of the trial's metrics; in a step's own rates, stages, \
             clients' statistics and what rests on them (as findings of linger.ms do) it is",
            counted(blocks.len() as u64, "block")
        )
    })
}

/// Brokers on this host that leave little of its memory to the page cache.
fn little_memory(trial: &Trial) -> Option<String> {
    let host = trial.document.environment.host.as_ref()?;
    let available = *host.memory_available_bytes.value()?;
    let free = match host.cgroup_memory_limit_bytes.value() {
        Some(Limit::At(limit)) => available.min(*limit),
        Some(Limit::Unlimited) | None => available,
    };
    beside(&trial.document.plan.labs(), free)
}

fn beside(labs: &[&ClusterPlan], free: u64) -> Option<String> {
    let needed: u64 = labs.iter().map(|lab| lab.memory_bytes()).sum::<Option<u64>>()?;
    let brokers: u64 = labs.iter().map(|lab| u64::from(lab.brokers().unwrap_or(0))).sum();
    (brokers > 0 && free < needed + brokers * PAGE_CACHE_BYTES).then(|| {
        format!(
            "{} of {} took about {} of the {} of memory that were free: with so little page cache left, reads and \
             write-back of one arm's logs disturb the others'",
            counted(brokers, "broker"),
            counted(labs.len() as u64, "lab"),
            figure::binary_bytes(needed as f64),
            figure::binary_bytes(free as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_that_leave_little_memory_to_the_page_cache_are_said() {
        let plan = crate::healthy::healthy().plan;
        let labs = plan.labs();
        // One broker with a heap of 512 MiB, 256 MiB beside it, and 256 MiB of page cache.
        assert_eq!(beside(&labs, 1_024 << 20), None);
        let said = "1 broker of 1 lab took about 768 MiB of the 1,023 MiB of memory that were free";
        assert!(beside(&labs, 1_023 << 20).unwrap().starts_with(said));
        assert_eq!(beside(&[], 0), None);
    }
}
