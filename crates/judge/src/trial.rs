//! What a trial showed: every metric of every arm over pairs of blocks that ran next to each other, and the verdict.
//!
//! The document in, the result out. `rounds` says which rounds count, `unit` what is one sample, `pairs` compares one metric,
//! `verdicts` puts all together, `guarantees` and `effective` say what else the arms differ in, `anytime` holds what stays valid when one
//! stops as soon as it is decided. `doubts` takes back what ranks alone would claim: `stalls` are single blocks far off the others,
//! `carry_over` is what an arm does to the block after it. Not here: running arms (the program's session), arithmetic on samples (the `stats`
//! crate), how it looks (the `report` crate).

mod anytime;
mod carry_over;
mod caveats;
mod counts;
mod doubts;
pub(crate) mod effective;
pub(crate) mod guarantees;
pub(crate) mod metric;
pub(crate) mod pairs;
pub mod power;
mod rounds;
pub(crate) mod rows;
mod stalls;
mod starts;
mod summary;
#[cfg(test)]
mod tests;
mod unit;
mod verdicts;

pub use anytime::decided;
pub use unit::{Unit, comparisons, deciding_level};

use crate::comparison::level;
use crate::setup::Setup;
use metric::Metric;
use pairs::Compared;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::finding::Validity;
use plumb_model::trial::{
    Against, ArmPlan, ArmResult, MetricRole, TRIAL_SCHEMA_VERSION, TrialPlan, TrialResult,
};
use rounds::Measured;
use rounds::Rounds;
use std::collections::BTreeMap;

/// An arm with what was measured of it.
#[derive(Debug, Clone)]
pub(crate) struct Arm<'a> {
    pub(crate) name: &'a str,
    /// None of the reference's repetition.
    pub(crate) plan: Option<&'a ArmPlan>,
    pub(crate) setup: Setup<'a>,
    /// Its whole blocks, by round.
    pub(crate) blocks: BTreeMap<u32, &'a BlockResult>,
}

/// A trial as its document tells it.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    pub(crate) document: &'a RunDocument,
    pub(crate) plan: &'a TrialPlan,
    pub(crate) level: f64,
    /// The reference first.
    pub(crate) arms: Vec<Arm<'a>>,
    /// The reference once more.
    pub(crate) again: Option<Arm<'a>>,
    pub(crate) rounds: Rounds,
}

impl<'a> Trial<'a> {
    /// None where the plan is no trial, or no step of it is there.
    pub(crate) fn of(document: &'a RunDocument) -> Option<Self> {
        let plan = document.plan.trial.as_ref()?;
        let arm = |step: usize, plan: Option<&'a ArmPlan>| {
            let result = document.steps.get(step)?;
            let setup = Setup { result, plan: document.plan.steps.get(step) };
            let whole = result.blocks.iter().filter(|block| !block.cut_short);
            let name = plan.map_or(result.name.as_str(), |plan| plan.name.as_str());
            Some(Arm { name, plan, setup, blocks: whole.map(|block| (block.block, block)).collect() })
        };
        let arms: Vec<Arm> = plan.arms.iter().map(|of| arm(of.step, Some(of))).collect::<Option<Vec<_>>>()?;
        let again = arm(plan.again, None);
        let all: Vec<&Arm> = arms.iter().chain(&again).collect();
        // Brokers of an arm's own are a lab's, on this host.
        let own = all.iter().any(|arm| arm.setup.result.cluster.is_some());
        let local = if own { Some(true) } else { document.environment.cluster.on_this_host };
        let rounds = rounds::rounds(Measured { arms: &all, local, looked_at: plan.until_decided });
        (!arms.is_empty()).then_some(Trial { document, plan, level: level(document), arms, again, rounds })
    }

    /// The same with the rounds that rules leave out.
    pub(super) fn with_all_rounds(&self) -> Trial<'a> {
        let rounds = Rounds { kept: self.rounds.whole.clone(), ..self.rounds.clone() };
        Trial { arms: self.arms.clone(), again: self.again.clone(), rounds, ..*self }
    }

    /// All steps that ran, the reference first and its repetition last.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Arm<'a>> {
        self.arms.iter().chain(&self.again)
    }

    /// What is held against what, the reference or the earlier arm second.
    pub(crate) fn opponents(&self) -> Vec<(&Arm<'a>, &Arm<'a>)> {
        let reference = &self.arms[0];
        match self.plan.against {
            Against::Reference => self.arms[1..].iter().map(|arm| (arm, reference)).collect(),
            Against::EachOther => {
                let earlier = |index: usize, arm: &'_ Arm<'a>| {
                    let arms = self.arms[..index].iter();
                    arms.filter(|other| other.setup.same_load(&arm.setup)).collect::<Vec<_>>()
                };
                let pairs = self.arms.iter().enumerate();
                pairs
                    .flat_map(|(index, arm)| earlier(index, arm).into_iter().map(move |other| (arm, other)))
                    .collect()
            }
        }
    }

    /// The metric that decides; none where it says nothing of some arm.
    pub(crate) fn primary(&self) -> Option<&'static Metric> {
        let metric = metric::find(&self.plan.primary)?;
        self.arms.iter().all(|arm| metric.applies(&arm.setup)).then_some(metric)
    }

    /// Metrics of an arm held against another, the one that decides first, each with what it is for.
    pub(crate) fn metrics(&self, arm: &Arm, against: &Arm) -> Vec<(&'static Metric, MetricRole)> {
        let primary = self.primary();
        let rest =
            metric::METRICS.iter().filter(|metric| primary.is_none_or(|first| first.name != metric.name));
        let applying = rest.filter(|metric| metric.applies(&arm.setup) && metric.applies(&against.setup));
        let roles = applying.map(|metric| {
            let guards = metric.guards(&arm.setup);
            (metric, if guards { MetricRole::Guardrail } else { MetricRole::Secondary })
        });
        primary.map(|metric| (metric, MetricRole::Primary)).into_iter().chain(roles).collect()
    }

    /// All metrics of the reference held against itself, the one that decides first.
    fn floor(&self) -> Vec<Compared> {
        let Some(again) = &self.again else { return Vec::new() };
        let reference = &self.arms[0];
        let metrics = self.metrics(again, reference).into_iter();
        let compared =
            metrics.filter_map(|(metric, role)| pairs::compare(self, (metric, role), (again, reference), 1));
        compared.map(|compared| verdicts::alone(self, compared)).collect()
    }
}

/// What the trial of a document showed so far; none where it is no trial.
pub(crate) fn result(document: &RunDocument, validity: &Validity) -> Option<TrialResult> {
    let trial = Trial::of(document)?;
    let floor = trial.floor();
    let known = noise_floor(&trial, &floor, validity);
    let noise_floor_ratio = known.as_ref().ok().copied();
    let judged = verdicts::judged(&trial, validity);
    let findings = caveats::findings(&trial, validity, &judged, (&floor, known));
    let unequal_guarantees = guarantees::differences(&trial);
    let summary = summary::summary(&trial, &judged, (&unequal_guarantees, noise_floor_ratio, &findings));
    Some(TrialResult {
        schema_version: TRIAL_SCHEMA_VERSION,
        run_id: document.run.id.clone(),
        outcome: None,
        name: document.run.name.clone(),
        seed: document.plan.seed,
        arms: trial.arms.iter().map(|arm| arm_result(&trial, arm)).collect(),
        pairs: trial.rounds.kept.len() as u32,
        pairs_planned: document.plan.blocks,
        excluded: trial.rounds.excluded.clone(),
        metrics: judged.metrics.into_iter().map(|compared| compared.result).collect(),
        noise_floor_ratio,
        noise_floor: floor.into_iter().map(|compared| compared.result).collect(),
        unequal_guarantees,
        verdicts: judged.verdicts,
        summary,
        findings,
    })
}

/// How far equal arms may differ, or why that is not known.
fn noise_floor(trial: &Trial, floor: &[Compared], validity: &Validity) -> Result<f64, String> {
    let unknown = "it was not measured".to_owned();
    let (Some(again), Some(primary)) = (&trial.again, floor.first()) else { return Err(unknown) };
    let equal = [again, &trial.arms[0]];
    match verdicts::faults(&equal, &equal, validity).into_iter().next() {
        Some(fault) => Err(fault),
        None => floor_ratio(primary).ok_or_else(|| {
            primary.result.absent.clone().unwrap_or_else(|| "its interval has no end yet".to_owned())
        }),
    }
}

/// A difference between equal arms of up to this ratio is what the setup makes by itself: the end of the interval that is
/// farther from 1.
fn floor_ratio(primary: &Compared) -> Option<f64> {
    let result = &primary.result;
    Some(result.interval_high?.max(1.0 / result.interval_low?)).filter(|ratio| ratio.is_finite())
}

fn arm_result(trial: &Trial, arm: &Arm) -> ArmResult {
    let blocks = arm.blocks.len();
    let cut_s: f64 = arm.blocks.values().map(|block| block.warm_up_cut_s).sum();
    ArmResult {
        name: arm.name.to_owned(),
        differences: arm.plan.map(|plan| plan.differences.clone()).unwrap_or_default(),
        effective_differences: effective::differences(&trial.arms[0], arm),
        blocks: blocks as u32,
        warm_up_cut_mean_s: (blocks > 0).then_some(cut_s / blocks as f64),
    }
}
