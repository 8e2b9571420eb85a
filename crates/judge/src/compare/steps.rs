//! Two steps of two runs: the settings that differ, and each metric by its blocks.

use super::{CompareError, RunStep, Side, StepPair, arms};
use crate::comparison::level;
use crate::durability::{self, Unlike};
use crate::setup::Setup;
use crate::trial::metric::{METRICS, Metric};
use crate::trial::{effective, guarantees};
use plumb_model::compare::{CompareSays, ComparedMetric, ComparedSteps};
use plumb_model::document::{RunDocument, StepResult};
use plumb_stats::median::median;
use plumb_stats::rank_sum::{rank_sum, shift};
use plumb_stats::signed_rank::Location;

/// The steps that belong together: those that are named, else those of the same name.
pub(super) fn pairs<'a>(side_a: Side<'a>, side_b: Side<'a>) -> Result<Vec<StepPair<'a>>, CompareError> {
    let (a, b) = (side_a.document, side_b.document);
    let pair = |index_a: usize, index_b: usize| StepPair {
        a: RunStep { document: a, index: index_a },
        b: RunStep { document: b, index: index_b },
    };
    // One name for both, where the other is not given.
    if let (Some(of_a), Some(of_b)) = (side_a.step.or(side_b.step), side_b.step.or(side_a.step)) {
        return Ok(vec![pair(find(a, of_a)?, find(b, of_b)?)]);
    }
    if let ([_], [_]) = (&a.steps[..], &b.steps[..]) {
        return Ok(vec![pair(0, 0)]);
    }
    let same = a.steps.iter().enumerate().filter_map(|(index, step)| {
        Some(pair(index, b.steps.iter().position(|other| other.name == step.name)?))
    });
    let same: Vec<StepPair> = same.collect();
    match same.is_empty() {
        true => Err(CompareError::NothingInCommon { a: names(a), b: names(b) }),
        false => Ok(same),
    }
}

/// The step of that name; else the one of that number, as reports print it (`#1` is the first).
fn find(document: &RunDocument, name: &str) -> Result<usize, CompareError> {
    let named = document.steps.iter().position(|step| step.name == name);
    let numbered = || {
        let index = name.parse::<usize>().ok()?.checked_sub(1)?;
        (index < document.steps.len()).then_some(index)
    };
    named.or_else(numbered).ok_or_else(|| CompareError::NoSuchStep {
        run: document.run.id.clone(),
        got: name.to_owned(),
        expected: names(document),
    })
}

fn names(document: &RunDocument) -> String {
    let numbered = document.steps.iter().enumerate();
    numbered.map(|(index, step)| format!("#{} {:?}", index + 1, step.name)).collect::<Vec<_>>().join(", ")
}

/// Steps of one run without a step of their name in the other.
pub(super) fn alone(a: &RunDocument, b: &RunDocument) -> Vec<String> {
    if a.steps.len() == 1 && b.steps.len() == 1 {
        return Vec::new();
    }
    let missing = |of: &RunDocument, other: &RunDocument, which: &str| -> Vec<String> {
        let alone = of.steps.iter().filter(|step| !other.steps.iter().any(|known| known.name == step.name));
        alone.map(|step| format!("{} (only in the {which} run)", step.name)).collect()
    };
    [missing(a, b, "first"), missing(b, a, "second")].concat()
}

/// Two steps side by side.
pub(super) fn compared(StepPair { a, b }: StepPair) -> ComparedSteps {
    let (first, second) = (setup(a), setup(b));
    let Unlike { known: mut unequal, half_told } =
        durability::unlike(&first.result.durability, &second.result.durability);
    let settings = guarantees::settings(&first.result.effective, &second.result.effective);
    unequal.extend(settings.iter().map(guarantees::Differing::to_string));
    let metrics = METRICS.iter().filter(|metric| metric.applies(&first) && metric.applies(&second));
    let confidence = level(a.document).max(level(b.document));
    let arms = arms::yaml(a, b);
    ComparedSteps {
        a: first.name().to_owned(),
        b: second.name().to_owned(),
        unequal_guarantees: unequal,
        guarantees_not_known: half_told,
        settings: effective::both(&first, &second),
        a_length: first.load().map(|load| load.length),
        b_length: second.load().map(|load| load.length),
        same_load: first.same_load(&second),
        metrics: metrics
            .filter_map(|metric| compared_metric(metric, first.result, second.result, confidence))
            .collect(),
        no_arms: arms.as_ref().err().map(|why| (*why).to_owned()),
        arms: arms.ok(),
    }
}

fn setup(RunStep { document, index }: RunStep<'_>) -> Setup<'_> {
    Setup { result: &document.steps[index], plan: document.plan.steps.get(index) }
}

/// The most by which a metric's value in a block of a step may be off by the clocks of its workers, in the metric's unit.
fn error(metric: &Metric, step: &StepResult) -> f64 {
    step.blocks.iter().map(|block| metric.error(block)).fold(0.0, f64::max)
}

/// None where neither has it.
fn compared_metric(
    metric: &Metric,
    a: &StepResult,
    b: &StepResult,
    confidence: f64,
) -> Option<ComparedMetric> {
    let values = |step: &StepResult| -> Vec<f64> {
        let whole = step.blocks.iter().filter(|block| !block.cut_short);
        whole.filter_map(|block| metric.value(block)).collect()
    };
    let (of_a, of_b) = (values(a), values(b));
    if of_a.is_empty() && of_b.is_empty() {
        return None;
    }
    let logs = |values: &[f64], moved: f64| -> Vec<f64> {
        values.iter().map(|value| (value + moved).max(f64::MIN_POSITIVE).ln()).collect()
    };
    let within = shift(&logs(&of_a, 0.0), &logs(&of_b, 0.0), confidence);
    let ranks = rank_sum(&logs(&of_a, 0.0), &logs(&of_b, 0.0));
    let (error_a, error_b) = (error(metric, a), error(metric, b));
    // Whatever within the errors of the workers' clocks the truth is.
    let ends = [-1.0, 1.0]
        .map(|sign| shift(&logs(&of_a, -sign * error_a), &logs(&of_b, sign * error_b), confidence));
    let [lowest, highest] = &ends;
    let within = within.zip(lowest.as_ref().zip(highest.as_ref())).map(|(within, (lowest, highest))| {
        Location { low: lowest.low.min(within.low), high: highest.high.max(within.high), ..within }
    });
    let apart = within.as_ref().is_some_and(|within| within.low > 0.0 || within.high < 0.0);
    let ranks = ranks.filter(|_| apart || error_a + error_b == 0.0);
    let medians = [&of_a, &of_b].map(|values| median(values.iter().copied()));
    let plain = medians[0].zip(medians[1]).map(|(a, b)| b / a);
    Some(ComparedMetric {
        name: metric.name.to_owned(),
        unit: metric.unit.to_owned(),
        good: metric.good,
        a_median: medians[0],
        b_median: medians[1],
        a_blocks: of_a.len() as u32,
        b_blocks: of_b.len() as u32,
        ratio: within.as_ref().map(|within| within.estimate.exp()).or(plain),
        within_low: within.as_ref().map(|within| within.low.exp()),
        within_high: within.as_ref().map(|within| within.high.exp()),
        level: confidence,
        // So few blocks that none of their orders would be rare tell nothing by theirs either.
        p: within.as_ref().and(ranks).map(|ranks| ranks.p_two_sided),
        says: if apart { CompareSays::DiffersMoreThanBlocks } else { CompareSays::CannotTell },
    })
}
