//! The result of a trial: every metric of every arm over pairs of blocks that ran next to each other, and the verdict.
//!
//! The document in, the result out. `rounds` chooses the rounds that count, `unit` is one sample, `values` and `pairs` compare
//! one metric, `clock` adds what the workers' clocks leave open, `verdict` judges one comparison and `verdicts` all of them, `guarantees` and `effective` list other differences
//! between the arms. `anytime` and `stopping` stay valid when a trial stops as soon as it is decided. `doubts` takes back
//! verdicts of ranks alone: `stalls` are single blocks far off the others, `carry_over` is an arm's effect on the block after it.
//!
//! Not here: running arms (the program's session), arithmetic on samples (the `stats` crate), rendering (the `report` crate).

mod anytime;
mod carry_over;
mod caveats;
mod clock;
mod counts;
mod doubts;
pub(crate) mod effective;
mod estimate;
pub(crate) mod guarantees;
pub(crate) mod metric;
pub(crate) mod pairs;
pub mod power;
mod rounds;
pub(crate) mod rows;
mod stalls;
mod starts;
mod stopping;
mod summary;
#[cfg(test)]
mod tests;
mod unit;
mod values;
mod verdict;
mod verdicts;

pub use metric::metric_value;
pub use stopping::decided;
pub use unit::{Unit, comparisons, deciding_level};

use crate::comparison::level;
use crate::setup::Setup;
use caveats::NoiseFloor;
use counts::Count;
use metric::{Metric, TrialMetric};
use pairs::Compared;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::finding::Validity;
use plumb_model::trial::{
    Against, ArmPlan, ArmResult, MetricRole, TRIAL_SCHEMA_VERSION, TrialMethod, TrialPlan, TrialResult,
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

/// An arm and the arm that it is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opponents<'t> {
    pub(crate) arm: &'t Arm<'t>,
    /// The denominator of each ratio: the reference, or the earlier arm.
    pub(crate) against: &'t Arm<'t>,
}

impl Opponents<'_> {
    /// The same two with their roles exchanged.
    pub(super) fn exchanged(self) -> Self {
        Opponents { arm: self.against, against: self.arm }
    }
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
        let own = all.iter().filter_map(|arm| arm.setup.result.cluster.as_ref());
        let shared = &document.environment.cluster;
        let mut on_this_host = own.chain([shared]).map(|cluster| cluster.on_this_host);
        let first = on_this_host.next().flatten();
        // Clusters of which some are here and others are not have no rule in common.
        let local = first.filter(|first| on_this_host.all(|other| other == Some(*first)));
        let rounds = rounds::rounds(Measured {
            arms: &all,
            local,
            looked_at: plan.until_decided,
            counts: counts::find(&plan.primary).is_some(),
        });
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

    /// The comparisons of arms that the plan asks for: each arm against the reference, or against each earlier arm of equal load.
    pub(crate) fn opponents(&self) -> Vec<Opponents<'_>> {
        let reference = &self.arms[0];
        match self.plan.against {
            Against::Reference => {
                self.arms[1..].iter().map(|arm| Opponents { arm, against: reference }).collect()
            }
            Against::EachOther => {
                let mut all = Vec::new();
                for (index, arm) in self.arms.iter().enumerate() {
                    let earlier = self.arms[..index].iter();
                    let of_equal_load = earlier.filter(|other| other.setup.same_load(&arm.setup));
                    all.extend(of_equal_load.map(|against| Opponents { arm, against }));
                }
                all
            }
        }
    }

    /// The count that decides; none where a metric does.
    pub(crate) fn count(&self) -> Option<&'static Count> {
        counts::find(&self.plan.primary)
    }

    /// The metric that decides; none where a count does, or where it says nothing of some arm.
    pub(crate) fn primary(&self) -> Option<&'static Metric> {
        let metric = metric::find(&self.plan.primary)?;
        self.arms.iter().all(|arm| metric.applies(&arm.setup)).then_some(metric)
    }

    /// The metrics that apply to both arms, each with its role, the one that decides first.
    pub(crate) fn metrics(&self, of: Opponents) -> Vec<TrialMetric> {
        let primary = self.primary();
        let rest =
            metric::METRICS.iter().filter(|metric| primary.is_none_or(|first| first.name != metric.name));
        let applying =
            rest.filter(|metric| metric.applies(&of.arm.setup) && metric.applies(&of.against.setup));
        let others = applying.map(|metric| {
            let guards = metric.guards(&of.arm.setup);
            TrialMetric { metric, role: if guards { MetricRole::Guardrail } else { MetricRole::Secondary } }
        });
        primary.map(TrialMetric::primary).into_iter().chain(others).collect()
    }

    /// All metrics of the reference held against itself, what decides first.
    fn floor(&self) -> Vec<Compared> {
        let Some(again) = &self.again else { return Vec::new() };
        let of = Opponents { arm: again, against: &self.arms[0] };
        let count = self.count().map(|count| counts::compare(self, count, of, MetricRole::Primary));
        let metrics = self.metrics(of).into_iter();
        let compared =
            count.into_iter().chain(metrics.filter_map(|metric| pairs::compare(self, metric, of, 1)));
        compared.map(|compared| verdict::with_verdict(self, compared)).collect()
    }
}

/// The result of a document's trial so far; none where it is no trial.
pub(crate) fn result(document: &RunDocument, validity: &Validity) -> Option<TrialResult> {
    let trial = Trial::of(document)?;
    let floor = trial.floor();
    let ratio = noise_floor(&trial, &floor, validity);
    let noise_floor_ratio = ratio.as_ref().ok().copied();
    let judged = verdicts::judged(&trial, validity);
    let findings = caveats::findings(&trial, validity, &judged, NoiseFloor { metrics: &floor, ratio });
    let unequal_guarantees = guarantees::differences(&trial);
    let summary = summary::Summary {
        trial: &trial,
        judged: &judged,
        unequal_guarantees: &unequal_guarantees,
        noise: noise_in_words(noise_floor_ratio, floor.first()),
        findings: findings.len(),
    }
    .sentences();
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

/// The largest ratio above 1 by which equal arms may differ, or the reason why it is not known.
fn noise_floor(trial: &Trial, floor: &[Compared], validity: &Validity) -> Result<f64, String> {
    let unknown = "it was not measured".to_owned();
    let (Some(again), Some(primary)) = (&trial.again, floor.first()) else { return Err(unknown) };
    let equal = [again, &trial.arms[0]];
    match verdicts::faults(&equal, &equal, validity).into_iter().next() {
        Some(fault) => Err(fault),
        None if primary.result.method == TrialMethod::Counts => Err("a count has no ratio".to_owned()),
        None => floor_ratio(primary).ok_or_else(|| {
            primary.result.absent.clone().unwrap_or_else(|| "its interval has no end yet".to_owned())
        }),
    }
}

/// How much equal arms differ, as a sentence.
fn noise_in_words(ratio: Option<f64>, floor: Option<&Compared>) -> String {
    let count = floor.map(|floor| &floor.result).filter(|result| result.method == TrialMethod::Counts);
    match (ratio, count.and_then(|count| count.absent.as_ref())) {
        (Some(ratio), _) => format!("Equal arms may differ by {} here", caveats::up_to(ratio)),
        (None, Some(said)) => format!("Equal arms: {said}"),
        (None, None) => "How much equal arms differ here is not known".to_owned(),
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
