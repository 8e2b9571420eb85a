//! The answer of a search, from the documents of its runs; its sentences are in `report/summary.rs`.

mod ended;
mod summary;
mod together;

pub use ended::ended_with_error;

use super::arms::{ALL, AS_IS, PROPOSED, SHOWN, started_with, without};
use super::taking_back::{Taken, TakingBack, part_verdict, shown_to_matter, taking_back};
use super::{Course, front, restarts};
use crate::durability;
use crate::trial::metric_value;
use crate::winner;
use plumb_model::best::BestEnding;
use plumb_model::document::{BlockResult, Durability, RunDocument, RunState, StepResult};
use plumb_model::figure::{counted, significant};
use plumb_model::finding::ValidityVerdict;
use plumb_model::metric::of_latency;
use plumb_model::observation::Distribution;
use plumb_model::plan::{ClusterPlan, Goal, Properties, StepPlan, TopicPlan};
use plumb_model::property::{is_client_default, usual_name};
use plumb_model::search::SearchBound;
use plumb_model::search_report::{
    EnvelopeFact, GoalHeld, GuardFigure, HighestRate, PartVerdict, ProofFigures, ProposedChange, RateCheck,
    RefusedTrial, Restarted, SEARCH_SCHEMA_VERSION, SearchOutcome, SearchProof, SearchReport,
    SettingImportance, TrialStage,
};
use plumb_model::settings_search::{SettingsSearch, SettingsSearchResult};
use plumb_model::start_setting::StartChange;
use plumb_model::trial::{ArmVerdict, Good, MetricResult, MetricRole, TrialResult};
use plumb_model::verdict::Verdict;
use plumb_model::winner::Winner;

/// What is left of a winner for the proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToProve {
    /// The changes that are left when those that nothing shows to matter are taken back.
    pub smallest: Properties,
    /// Those of them that are shown to matter.
    pub shown: Properties,
}

/// The changes of a winner that are proven, as far as the trials before the proof go; all of them while those are not over, and where one
/// of them, or the proof of fewer, was refused: blocks of the search ran with all.
pub fn to_prove(winner: &Properties, before: &[RunDocument], refused: &[RefusedTrial]) -> ToProve {
    let trials: Vec<Taken> = before.iter().map(Taken::of).collect();
    match taking_back(winner, &trials) {
        TakingBack::Prove(smallest) if refused.iter().all(|trial| trial.stage == TrialStage::OtherRate) => {
            ToProve { shown: shown_to_matter(&smallest, &trials), smallest }
        }
        _ => ToProve { smallest: winner.clone(), shown: winner.clone() },
    }
}

/// The runs of a search.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// The search itself.
    pub search: &'a RunDocument,
    /// The trial of its result; none where there was none.
    pub proof: Option<&'a RunDocument>,
    /// The trials by which changes were taken back before the proof, in order: of each change's own part, and of fewer changes against all.
    pub before_proof: &'a [RunDocument],
    /// The highest rates that hold the goal: of the scenario's settings, and of what is proposed.
    pub highest_rates: Option<&'a RunDocument>,
    /// The trials at other rates.
    pub other_rates: &'a [RunDocument],
    /// The trial of settings that need a restart.
    pub restart: Option<&'a RunDocument>,
    /// The trials that were refused.
    pub refused: &'a [RefusedTrial],
}

impl<'a> Runs<'a> {
    /// The search alone.
    pub fn of(search: &'a RunDocument) -> Self {
        Runs {
            search,
            proof: None,
            before_proof: &[],
            highest_rates: None,
            other_rates: &[],
            restart: None,
            refused: &[],
        }
    }
}

/// The answer; none of a document that is no search's.
pub fn report(runs: Runs<'_>) -> Option<SearchReport> {
    let document = runs.search;
    let search = document.plan.settings_search.as_ref()?;
    let empty = SettingsSearchResult::default();
    let result = document.settings_search.as_ref().unwrap_or(&empty);
    let course = Course::of(&document.plan, result)?;
    let winner = result.winner.clone().unwrap_or_default();
    let ToProve { smallest, shown } = to_prove(&winner, runs.before_proof, runs.refused);
    let arm = proposed_arm(runs.proof);
    let settings = match arm {
        ALL => &winner,
        SHOWN => &shown,
        _ => &smallest,
    };
    let proof = runs.proof.and_then(|document| proof(document, arm, search.goal));
    let outcome = outcome(runs, result, proof.as_ref());
    let changes = || proposed(search, settings, &winner, runs.before_proof);
    let (proposed, candidates) = match outcome {
        SearchOutcome::Better => (changes(), Vec::new()),
        SearchOutcome::ToProve | SearchOutcome::NotProven | SearchOutcome::Interrupted => {
            (Vec::new(), changes())
        }
        _ => (Vec::new(), Vec::new()),
    };
    let mut report = SearchReport {
        schema_version: SEARCH_SCHEMA_VERSION,
        name: document.run.name.clone(),
        started_at: document.run.started_at.clone(),
        seed: document.plan.seed,
        objective: search.objective,
        metric: search.metric.clone(),
        goal: search.goal,
        promise: promise(&document.plan.steps[0]),
        other_promises: Vec::new(),
        outcome,
        ending: result.ending,
        error: None,
        summary: Vec::new(),
        candidates,
        proposed,
        proof,
        highest_rates: runs.highest_rates.map(highest_rates).unwrap_or_default(),
        other_rates: runs.other_rates.iter().filter_map(rate_check).collect(),
        restart: restarted(runs, search, result),
        envelope: envelope(document),
        blocks: result.blocks.clone(),
        front: front(&result.blocks),
        aborted: result.blocks.iter().filter(|block| block.aborted).count(),
        failed: result.blocks.iter().filter(|block| block.failed.is_some()).count(),
        refused: course.refused(),
        refused_trials: runs.refused.to_vec(),
        ruled_out: course.ruled_out().into_iter().map(str::to_owned).collect(),
        smallest_gain_ratio: result.smallest_gain_ratio,
        spread_log: result.spread_log,
        importance: importance(search, result),
        space: search.dimensions.clone(),
        left_out: search.left_out.clone(),
        runs: Vec::new(),
    };
    report.summary = summary::summary(&report, runs);
    Some(report)
}

fn outcome(runs: Runs<'_>, result: &SettingsSearchResult, proof: Option<&SearchProof>) -> SearchOutcome {
    let is_stopped = |document: &RunDocument| document.run.state != RunState::Complete;
    match result.ending {
        None => SearchOutcome::Interrupted,
        Some(BestEnding::AsGood) if result.blocks.iter().all(|block| block.settings.is_empty()) => {
            SearchOutcome::NothingTried
        }
        Some(BestEnding::AsGood) => SearchOutcome::AsGood,
        Some(BestEnding::NothingMeetsGoal) => SearchOutcome::NothingMeetsGoal,
        Some(BestEnding::TooNoisy | BestEnding::TooFewBlocks) => SearchOutcome::TooNoisy,
        Some(BestEnding::DefaultFailed | BestEnding::NothingElseRan | BestEnding::NothingRan) => {
            SearchOutcome::Failed
        }
        Some(BestEnding::Better) if runs.highest_rates.is_some() => match runs.highest_rates {
            Some(document) if is_stopped(document) => SearchOutcome::Interrupted,
            Some(document) if is_sound(document) && is_higher(&highest_rates(document)) => {
                SearchOutcome::Better
            }
            _ => SearchOutcome::NotProven,
        },
        Some(BestEnding::Better) => match (runs.proof, proof) {
            (None, _) if runs.before_proof.iter().any(is_stopped) => SearchOutcome::Interrupted,
            (None, _) if runs.refused.iter().any(|trial| trial.stage == TrialStage::Proof) => {
                SearchOutcome::NotProven
            }
            (None, _) => SearchOutcome::ToProve,
            (Some(document), _) if is_stopped(document) => SearchOutcome::Interrupted,
            (Some(document), Some(proof))
                if document.validity.verdict != ValidityVerdict::Invalid
                    && proof.verdict == Verdict::Better
                    && proof.unequal_guarantees.is_empty()
                    && proof.goal_held.is_none_or(GoalHeld::mostly) =>
            {
                SearchOutcome::Better
            }
            (Some(_), _) => SearchOutcome::NotProven,
        },
    }
}

/// The changes that are proposed, with each one's own part as far as it was measured: among them where it was, else among all that were
/// found.
fn proposed(
    search: &SettingsSearch,
    settings: &Properties,
    winner: &Properties,
    before: &[RunDocument],
) -> Vec<ProposedChange> {
    let part_of = |setting: &str| {
        let mut trials = before.iter().filter_map(|document| document.trial.as_ref());
        let part = |trial| primary(trial, &without(setting), ALL);
        match settings == winner {
            true => trials.find_map(part),
            false => trials.rev().find_map(part),
        }
    };
    let is_only = settings.len() == 1;
    let change = |(setting, to): (&String, &String)| {
        let dimension = search.dimensions.iter().find(|dimension| dimension.setting == *setting);
        // The part of a single one was measured in the company of changes that went back: the proof is what it does.
        let part = part_of(setting).filter(|_| !is_only);
        // The trial has the arm without it over the one with it; a reader wants to know what it does.
        let inverse = |of: fn(&MetricResult) -> Option<f64>| part.and_then(of).map(f64::recip);
        ProposedChange {
            setting: setting.clone(),
            from: search.current(setting).unwrap_or_default().to_owned(),
            from_is_written: dimension.is_some_and(|dimension| dimension.is_written),
            to: to.clone(),
            effect: inverse(|part| part.estimate_ratio),
            interval_low: inverse(|part| part.interval_high),
            interval_high: inverse(|part| part.interval_low),
            verdict: match part.map(part_verdict) {
                Some(verdict) => verdict,
                None if is_only => PartVerdict::Whole,
                None => PartVerdict::NotMeasured,
            },
        }
    };
    settings.iter().map(change).collect()
}

/// The arm that is proposed: of those that are proven the one with the fewest changes of which none with more is shown to be better.
fn proposed_arm(proof: Option<&RunDocument>) -> &'static str {
    let Some(trial) = proof.and_then(|document| document.trial.as_ref()) else { return PROPOSED };
    let is = |arm, against, wanted| verdict(trial, arm, against).is_some_and(|found| found.verdict == wanted);
    let is_less = |arm, than| is(arm, than, Verdict::Worse) || is(than, arm, Verdict::Better);
    let by_size = [SHOWN, PROPOSED, ALL];
    let is_enough = |(at, arm): (usize, &&'static str)| {
        is(arm, AS_IS, Verdict::Better) && !by_size[at + 1..].iter().any(|more| is_less(arm, more))
    };
    let found = (0..by_size.len()).map(|at| (at, &by_size[at])).find(|candidate| is_enough(*candidate));
    found.map_or(PROPOSED, |(_, arm)| *arm)
}

/// What of a proof is to be installed: the proposed arm over the scenario's settings.
pub fn proven(proof: &RunDocument) -> Option<Winner> {
    winner::of_arm(proof, proposed_arm(Some(proof)), AS_IS)
}

fn proof(document: &RunDocument, arm: &str, goal: Option<Goal>) -> Option<SearchProof> {
    let trial = document.trial.as_ref()?;
    let verdict = verdict(trial, arm, AS_IS)?;
    let figure = primary(trial, arm, AS_IS)?;
    let guard = |metric: &MetricResult| GuardFigure {
        metric: metric.name.clone(),
        estimate_ratio: metric.estimate_ratio,
        interval_low: metric.interval_low,
        interval_high: metric.interval_high,
        verdict: metric.verdict,
    };
    let of_pair = |metric: &&MetricResult| metric.arm == arm && metric.against == AS_IS;
    let step = |name: &str| document.steps.iter().find(|step| step.name == name);
    Some(SearchProof {
        estimate_ratio: figure.estimate_ratio,
        interval_low: figure.interval_low,
        interval_high: figure.interval_high,
        level: figure.level,
        verdict: verdict.verdict,
        vetoes: verdict.vetoes.clone(),
        reason: verdict.reason.clone(),
        before: figure.against_median,
        after: figure.arm_median,
        unit: figure.unit.clone(),
        pairs: figure.pairs,
        starts: starts(document),
        guards: trial
            .metrics
            .iter()
            .filter(of_pair)
            .filter(|metric| metric.role != MetricRole::Primary)
            .map(guard)
            .collect(),
        goal_held: goal.and_then(|goal| goal_held(step(arm)?, goal)),
        unequal_guarantees: trial.unequal_guarantees.clone(),
        guarantees: step(arm).map(|step| guarantees(&step.durability)).unwrap_or_default(),
        figures: step(arm).map(figures),
    })
}

/// What the blocks of an arm came to.
fn figures(step: &StepResult) -> ProofFigures {
    let median = |value: fn(&BlockResult) -> Option<f64>| {
        let mut values: Vec<f64> = step.blocks.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    fn latency(block: &BlockResult) -> &Distribution {
        if block.end_to_end.samples > 0 { &block.end_to_end } else { &block.acknowledge }
    }
    ProofFigures {
        p50_ns: median(|block| latency(block).p50_ns.map(|ns| ns as f64)),
        p99_ns: median(|block| latency(block).p99_ns.map(|ns| ns as f64)),
        cpu_per_message_us: median(|block| metric_value("cpu.per_message", block)),
    }
}

fn primary<'t>(trial: &'t TrialResult, arm: &str, against: &str) -> Option<&'t MetricResult> {
    let is_it = |metric: &&MetricResult| {
        metric.role == MetricRole::Primary && metric.arm == arm && metric.against == against
    };
    trial.metrics.iter().find(is_it)
}

fn verdict<'t>(trial: &'t TrialResult, arm: &str, against: &str) -> Option<&'t ArmVerdict> {
    trial.verdicts.iter().find(|verdict| verdict.arm == arm && verdict.against == against)
}

/// The starts of the brokers that the blocks of a trial ran on.
fn starts(document: &RunDocument) -> u32 {
    let blocks = document.steps.iter().flat_map(|step| &step.blocks);
    blocks.map(|block| block.broker_start + 1).max().unwrap_or(0)
}

/// The guarantee of a write, as it was read back.
fn guarantees(durability: &Durability) -> Properties {
    let number = |value: &Option<u32>| value.map(|value| value.to_string());
    let all = [
        ("acks", durability.acks.clone()),
        ("enable.idempotence", durability.idempotence.map(|on| on.to_string())),
        ("replication", number(&durability.replication)),
        ("min.insync.replicas", number(&durability.min_insync_replicas)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn goal_held(step: &StepResult, goal: Goal) -> Option<GoalHeld> {
    let name = of_latency(goal.latency, goal.quantile)?;
    let values: Vec<f64> = step.blocks.iter().filter_map(|block| metric_value(name, block)).collect();
    let held = values.iter().filter(|value| **value <= goal.limit.0 as f64).count();
    Some(GoalHeld { held: held as u32, blocks: values.len() as u32 })
}

/// The highest rates of a run of two setups.
fn highest_rates(document: &RunDocument) -> Vec<HighestRate> {
    let of = |step: &StepResult| {
        let search = step.search.as_ref();
        HighestRate {
            arm: step.name.clone(),
            rate_low_per_s: search.and_then(|search| search.rate_low_per_s),
            rate_high_per_s: search.and_then(|search| search.rate_high_per_s),
            bounded_by: search.and_then(|search| search.bounded_by),
        }
    };
    document.steps.iter().map(of).collect()
}

/// True if the figures of a run of two setups are fit for use, and both promise the same as they were read back.
fn is_sound(document: &RunDocument) -> bool {
    let same =
        |pair: &[StepResult]| durability::differences(&pair[0].durability, &pair[1].durability).is_empty();
    document.validity.verdict != ValidityVerdict::Invalid && document.steps.windows(2).all(same)
}

/// True if what is proposed is confirmed to hold a rate at which the scenario's settings are confirmed not to.
fn is_higher(rates: &[HighestRate]) -> bool {
    let of = |arm: &str| rates.iter().find(|rate| rate.arm == arm);
    let (Some(before), Some(after)) = (of(AS_IS), of(PROPOSED)) else { return false };
    match (before.rate_high_per_s, after.rate_low_per_s) {
        (Some(fails), Some(holds)) => holds >= fails,
        (None, Some(_)) => before.bounded_by == Some(SearchBound::NothingHolds),
        (_, None) => false,
    }
}

/// What a write is promised by a step, as it was asked for.
pub fn promise(step: &StepPlan) -> String {
    // What has its default is the same promise where it is not written.
    let of_client = step
        .producer
        .iter()
        .filter(|(name, value)| PROMISES.contains(&usual_name(name)) && !is_client_default(name, value));
    let mut parts: Vec<String> =
        of_client.map(|(name, value)| format!("{}={value}", usual_name(name))).collect();
    if !parts.iter().any(|part| part.starts_with("acks=")) {
        parts.insert(0, "acks=all".to_owned());
    }
    if let TopicPlan::Own { replication, configs, .. } = &step.topic {
        parts.push(format!("replication={replication}"));
        let of_topic = configs.iter().filter(|(name, _)| PROMISES.contains(&name.as_str()));
        parts.extend(of_topic.map(|(name, value)| format!("{name}={value}")));
    }
    parts.join(", ")
}

/// Settings of producers and topics on which the promise of a write rests.
const PROMISES: &[&str] = &[
    "acks",
    "enable.idempotence",
    "delivery.timeout.ms",
    "retries",
    "min.insync.replicas",
    "flush.messages",
    "flush.ms",
    "unclean.leader.election.enable",
];

fn rate_check(document: &RunDocument) -> Option<RateCheck> {
    let figure = primary(document.trial.as_ref()?, PROPOSED, AS_IS)?;
    let ratios: Vec<f64> = figure.values.iter().map(|pair| pair.ratio()).collect();
    let lower = figure.good == Good::Lower;
    Some(RateCheck {
        rate_per_s: document.plan.steps.first()?.load.rate_per_s?,
        pairs: figure.pairs,
        better_in_each: !ratios.is_empty() && ratios.iter().all(|ratio| (*ratio < 1.0) == lower),
        ratios,
    })
}

/// What starts of the brokers with other settings are shown to do beside what is proposed, or beside what there is where nothing is.
fn restarted(runs: Runs<'_>, search: &SettingsSearch, result: &SettingsSearchResult) -> Vec<Restarted> {
    let Some(document) = runs.restart.filter(|document| document.run.state == RunState::Complete) else {
        return Vec::new();
    };
    let is_sound = document.validity.verdict != ValidityVerdict::Invalid;
    let of = |change: StartChange| {
        let trial = document.trial.as_ref()?;
        let arm = started_with(&change);
        let is_reference = |metric: &&MetricResult| {
            metric.arm == arm && [PROPOSED, AS_IS].contains(&metric.against.as_str())
        };
        let against = trial.metrics.iter().find(is_reference)?.against.clone();
        let (figure, found) = (primary(trial, &arm, &against)?, verdict(trial, &arm, &against)?);
        let is_equal = trial.unequal_guarantees.is_empty();
        let mut reasons: Vec<String> = found.vetoes.iter().chain(&found.reason).cloned().collect();
        reasons.extend(
            trial.unequal_guarantees.iter().map(|unequal| format!("it promises something else: {unequal}")),
        );
        if !is_sound {
            reasons.push("the figures of the trial are not fit for use".to_owned());
        }
        Some(Restarted {
            change,
            against,
            estimate_ratio: figure.estimate_ratio,
            interval_low: figure.interval_low,
            interval_high: figure.interval_high,
            level: figure.level,
            verdict: if is_equal && is_sound { found.verdict } else { Verdict::Undecided },
            reasons,
            pairs: figure.pairs,
            starts: starts(document),
        })
    };
    restarts(search, result).into_iter().filter_map(of).collect()
}

/// What the figures hold for: another load, host or version is another question.
fn envelope(document: &RunDocument) -> Vec<EnvelopeFact> {
    let Some(step) = document.plan.steps.first() else { return Vec::new() };
    let mut facts = Vec::new();
    let mut fact = |what: &str, value: String| facts.push(EnvelopeFact { what: what.to_owned(), value });
    match step.load.rate_per_s {
        Some(rate) => fact("rate", format!("{} messages/s", significant(rate, 4))),
        None => fact("rate", "as fast as possible".to_owned()),
    }
    fact("value size", format!("{} bytes on average", significant(step.load.size.mean(), 4)));
    fact(
        "clients",
        format!(
            "{}, {}",
            counted(step.load.producers as usize, "producer"),
            counted(step.load.consumers as usize, "consumer")
        ),
    );
    if let TopicPlan::Own { partitions, replication, .. } = &step.topic {
        fact("topic", format!("{}, replication {replication}", counted(*partitions as usize, "partition")));
    }
    fact("client", document.environment.client.clone());
    if let Some(cluster) = &document.environment.cluster.version {
        fact("brokers", cluster.clone());
    }
    let here = document.environment.cluster.on_this_host;
    if matches!(document.plan.cluster, ClusterPlan::Lab { .. }) || here == Some(true) {
        let note = "brokers and clients share this host, without a network between them: what is found here of batches, \
                    compression, buffers and requests in flight does not carry over to one";
        fact("network", note.to_owned());
    }
    if here != Some(true) && !matches!(document.plan.cluster, ClusterPlan::Lab { .. }) {
        fact("CPU time", "of the clients alone: that of brokers on other hosts is not seen".to_owned());
    }
    if let Some(model) = document.environment.host.as_ref().and_then(|host| host.cpu_model.value()) {
        fact("processor", model.clone());
    }
    facts
}

fn importance(search: &SettingsSearch, result: &SettingsSearchResult) -> Vec<SettingImportance> {
    let measured: Vec<&Properties> =
        result.blocks.iter().filter(|block| block.failed.is_none()).map(|block| &block.settings).collect();
    // Of a setting that no block with figures changed nothing is known, whatever a model makes of the others.
    let was_tried = |setting: &str| measured.iter().any(|settings| settings.contains_key(setting));
    let mut together = together::together(&measured);
    let of = search.dimensions.iter().zip(&result.importance).map(|(dimension, importance)| {
        let together = together.remove(&dimension.setting);
        SettingImportance {
            setting: dimension.setting.clone(),
            importance: *importance,
            is_told: importance.is_told() && was_tried(&dimension.setting) && together.is_none(),
            together,
        }
    });
    let mut all: Vec<SettingImportance> = of.collect();
    all.sort_by(|a, b| {
        let rank = |of: &SettingImportance| (of.is_told, of.together.is_some(), of.importance.share);
        rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    all
}

#[cfg(test)]
mod tests;
