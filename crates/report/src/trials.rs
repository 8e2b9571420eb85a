//! The words of a trial in every renderer: verdicts, values by their unit, ratios, what is held against what.

use plumb_model::figure::{
    self, ABSENT, counted, p_value, per_s, ratio, ratio_digits, short, significant, time,
};
use plumb_model::metric::PACKETS_LOST;
use plumb_model::trial::{ArmVerdict, MetricResult, MetricRole, PairValues, TrialMethod, TrialResult};
use plumb_model::verdict::{DETECTABLE_MAX, Verdict};

/// The method of estimate and interval.
pub(crate) fn method(method: TrialMethod) -> &'static str {
    match method {
        TrialMethod::SignedRank => {
            "Hodges-Lehmann estimates over pairs of blocks, exact signed-rank intervals and p"
        }
        TrialMethod::SignEProcess => {
            "Hodges-Lehmann estimates over pairs of blocks; intervals and p of a sign e-process, valid at any stopping time"
        }
        TrialMethod::Starts => "the brokers' starts are the unit: Student's t over their means",
        TrialMethod::Counts => "signed ranks of the differences of shares, or of packets a second",
    }
}

/// A value with its unit.
pub(crate) fn value(unit: &str, value: f64) -> String {
    match unit {
        "ns" => time(value),
        "us" => time(value * 1e3),
        "s" => time(value * 1e9),
        "1/s" => per_s(value),
        "share" => plumb_model::figure::percent(value),
        unit => format!("{} {unit}", significant(value, 3)),
    }
}

/// The same of one that may be absent.
pub(crate) fn known(unit: &str, of: Option<f64>) -> String {
    of.map_or_else(|| ABSENT.to_owned(), |of| value(unit, of))
}

/// A metric's name in a table: `end-to-end p99`, `CPU of brokers`.
pub(crate) fn metric(name: &str) -> String {
    match name {
        "cpu.client_per_message" => "client CPU / message".to_owned(),
        "cpu.broker_per_message" => "broker CPU / message".to_owned(),
        "cpu.per_message" => "CPU / message".to_owned(),
        "drain_s" => "time to drain".to_owned(),
        "loss.lost" => "lost messages".to_owned(),
        "loss.duplicated" => "duplicated messages".to_owned(),
        "errors.failed" => "failed messages".to_owned(),
        PACKETS_LOST => "packets lost by this host".to_owned(),
        name => crate::wording::metric(name).replace("p999", "p99.9"),
    }
}

/// `0.22 to 0.29`; empty without an interval.
pub(crate) fn interval(result: &MetricResult) -> String {
    match (result.interval_low, result.interval_high) {
        (Some(low), Some(high)) => figure::interval(low, high, ratio_digits),
        _ => String::new(),
    }
}

/// `×0.163 (0.139 to 0.198)`, or `×0.203, no interval`; none without an estimate.
pub(crate) fn estimate(result: &MetricResult) -> Option<String> {
    Some(with_interval(result.estimate_ratio?, &interval(result)))
}

fn with_interval(estimate: f64, interval: &str) -> String {
    let ratio = plumb_model::figure::ratio(estimate);
    if interval.is_empty() { format!("{ratio}, no interval") } else { format!("{ratio} ({interval})") }
}

/// The reason why the ratio is not that of the two medians beside it, where a reader would take one of them for wrong: where they
/// lie on different sides of 1, or the medians' is not even in the interval.
pub(crate) fn unlike_medians(result: &MetricResult) -> Option<String> {
    let (estimate, arm, against) = (result.estimate_ratio?, result.arm_median?, result.against_median?);
    let of_medians = arm / against;
    if !of_medians.is_finite() || of_medians <= 0.0 {
        return None;
    }
    let other_side = (of_medians - 1.0) * (estimate - 1.0) < 0.0;
    let below = result.interval_low.is_some_and(|low| of_medians < low);
    let above = result.interval_high.is_some_and(|high| of_medians > high);
    let how = match result.starts {
        Some(_) => "over starts of the brokers, each held against its own",
        None => "over pairs, each block held against its neighbour",
    };
    (other_side || below || above).then(|| {
        format!(
            "The medians of {} and {} alone would give {}; the ratio of {} is {how}, so what changed for both arms meanwhile is not \
             in it.",
            result.arm,
            result.against,
            ratio(of_medians),
            ratio(estimate)
        )
    })
}

/// A ratio on an axis: `×0.333`, `×0.5`, `×1`.
pub(crate) fn tick(ratio: f64) -> String {
    format!("×{}", short(ratio))
}

/// p as the verdict used it; empty where there is none.
pub(crate) fn p(result: &MetricResult) -> String {
    result.p_adjusted.map(p_value).unwrap_or_default()
}

/// `12 pairs`, or `12 pairs on 6 starts of the brokers` where starts are the units.
pub(crate) fn samples(metric: &MetricResult) -> String {
    let starts =
        metric.starts.map(|starts| format!(" on {} of the brokers", counted(starts as usize, "start")));
    format!("{}{}", counted(metric.pairs as usize, "pair"), starts.unwrap_or_default())
}

/// The smallest ratio that is seen in 4 of 5 trials; absent where that is any size.
pub(crate) fn shows_from(metric: &MetricResult) -> String {
    let smallest = metric.smallest_detectable_ratio.filter(|smallest| *smallest < DETECTABLE_MAX);
    smallest.map_or_else(|| ABSENT.to_owned(), ratio)
}

/// The basis of a verdict, to stand beside it: its samples, and the smallest difference that so many could have shown. None where
/// there is no estimate, and where the verdict's own reason says it.
pub(crate) fn basis(trial: &TrialResult, verdict: &ArmVerdict) -> Option<String> {
    let told = verdict.reason.is_some() && verdict.vetoes.is_empty();
    let metric = primary_of(trial, &verdict.arm, &verdict.against).filter(|_| !told)?;
    metric.estimate_ratio?;
    let samples = samples(metric);
    Some(match metric.smallest_detectable_ratio {
        Some(smallest) if smallest < DETECTABLE_MAX => {
            format!("{samples}, which show {} or more in 4 of 5 trials", ratio(smallest))
        }
        _ => format!("{samples}, too few to show any difference in 4 of 5 trials"),
    })
}

/// The noise floor, as a sentence of its own.
pub(crate) fn floor(trial: &TrialResult) -> String {
    let metric = trial.noise_floor.first();
    let on = metric
        .map_or(String::new(), |metric| format!(" ({}, {})", self::metric(&metric.name), samples(metric)));
    if let Some(count) = metric_of_floor_count(trial) {
        return format!("Equal arms{on}: {}.", count.absent.as_deref().unwrap_or("not known"));
    }
    match trial.noise_floor_ratio {
        Some(floor) => format!(
            "Equal arms may differ by up to {} here by chance{on}: smaller differences are not to be told from noise.",
            ratio(floor)
        ),
        None => "How much equal arms differ here is not known: the findings below say why.".to_owned(),
    }
}

/// The count of equal arms, where a count decides: it has no ratio.
fn metric_of_floor_count(trial: &TrialResult) -> Option<&MetricResult> {
    trial.noise_floor.first().filter(|metric| is_count(metric))
}

/// Metrics that decide, in order.
pub(crate) fn primaries(trial: &TrialResult) -> impl Iterator<Item = &MetricResult> {
    trial.metrics.iter().filter(|metric| metric.role == MetricRole::Primary)
}

/// The metric that decides of a verdict's pair.
pub(crate) fn primary_of<'t>(trial: &'t TrialResult, arm: &str, against: &str) -> Option<&'t MetricResult> {
    primaries(trial).find(|metric| metric.arm == arm && metric.against == against)
}

/// True if one arm is compared with one other, and no more.
pub(crate) fn single(trial: &TrialResult) -> bool {
    trial.verdicts.len() == 1
}

/// What the p of the metric that decides allows for, where several arms are held against each other; the last row is the noise floor.
pub(crate) fn deciding_p(trial: &TrialResult) -> Option<&'static str> {
    (!single(trial)).then_some("p allows for all these pairs of arms (Holm), the last row's for none")
}

/// The same of the other metrics.
pub(crate) const OTHERS_P: &str = "p of those that may veto is each one's own: an allowance for the others would let harm pass; that of all \
                                   others allows for how many there are (Benjamini and Hochberg)";

/// The metrics besides the one that decides: all where one arm is held against one other, else those that tell a difference
/// or could not be told; with how many are not shown.
pub(crate) fn others(trial: &TrialResult) -> (Vec<&MetricResult>, usize) {
    let all = trial.metrics.iter().filter(|metric| metric.role != MetricRole::Primary && !is_count(metric));
    let told =
        |metric: &&MetricResult| single(trial) || matches!(metric.verdict, Verdict::Better | Verdict::Worse);
    let (shown, hidden): (Vec<_>, Vec<_>) = all.partition(told);
    (shown, hidden.len())
}

/// True if the metric is a count, which has no ratio.
pub(crate) fn is_count(metric: &MetricResult) -> bool {
    metric.method == TrialMethod::Counts
}

/// Guardrails on counts in words, those that are 0 everywhere in one sentence.
pub(crate) fn counts(trial: &TrialResult) -> Vec<String> {
    let guards = trial.metrics.iter().filter(|metric| metric.role != MetricRole::Primary);
    let all: Vec<&MetricResult> = guards.filter(|metric| is_count(metric)).collect();
    let none =
        |metric: &MetricResult| metric.values.iter().all(|pair| pair.against == 0.0 && pair.arm == 0.0);
    let mut quiet: Vec<String> = Vec::new();
    let mut said: Vec<String> = Vec::new();
    for count in all {
        let name = metric(&count.name);
        if none(count) {
            if !quiet.contains(&name) {
                quiet.push(name);
            }
            continue;
        }
        let p = count.p.map(|p| format!(", {}", p_value(p))).unwrap_or_default();
        said.push(format!(
            "{name}, {} -> {}: {}; over {}{p}: {}",
            count.against,
            count.arm,
            count.absent.as_deref().unwrap_or_default(),
            samples(count),
            match count.verdict {
                Verdict::Undecided => "no difference is shown",
                other => other.word(),
            }
        ));
    }
    // What is none in one pair of arms may be some in another, and is said there.
    quiet.retain(|name| !said.iter().any(|other| other.starts_with(name.as_str())));
    if !quiet.is_empty() {
        said.insert(0, format!("None in any arm: {}", quiet.join(", ")));
    }
    said
}

/// What stands in place of the ratios of what decides: the counts themselves, or why there is no estimate, once.
pub(crate) fn in_place_of_ratios(trial: &TrialResult) -> Vec<String> {
    let absent = |of: &MetricResult| {
        let said = of.absent.as_ref()?;
        Some(match is_count(of) {
            true => format!("{} -> {}: {said}", of.against, of.arm),
            false => said.clone(),
        })
    };
    let most = if primaries(trial).any(is_count) { usize::MAX } else { 1 };
    primaries(trial).filter_map(absent).take(most).collect()
}

/// The medians of the blocks; of a count its numbers.
pub(crate) fn values(of: &MetricResult) -> String {
    match &of.absent {
        Some(said) if is_count(of) => said.replace("->", "→"),
        _ => format!("{} → {}", known(&of.unit, of.against_median), known(&of.unit, of.arm_median)),
    }
}

/// The reasons why estimates are absent, each once, with the metrics that it is about.
pub(crate) fn absences(metrics: &[&MetricResult]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for of in metrics.iter().filter(|metric| !is_count(metric)) {
        let Some(reason) = of.absent.as_deref() else { continue };
        let name = metric(&of.name);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect()
}

/// A logarithmic axis as far below 1 as above, around every ratio that is to be on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RatioAxis {
    reach: f64,
}

impl RatioAxis {
    pub(crate) fn around(ratios: impl Iterator<Item = f64>) -> Self {
        let furthest = ratios
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.ln().abs())
            .fold(0.0, f64::max);
        RatioAxis { reach: (furthest * 1.15).clamp(0.02, 7.0) }
    }

    /// The place of a ratio on the axis, 0..1, with 1 in the middle.
    pub(crate) fn share(self, ratio: f64) -> f64 {
        (0.5 + ratio.max(f64::MIN_POSITIVE).ln() / self.reach / 2.0).clamp(0.0, 1.0)
    }

    /// Round ratios on it with at least `gap` between them: 1, then the outermost, then what fits.
    pub(crate) fn ticks(self, gap: f64) -> Vec<f64> {
        const ABOVE: [f64; 17] = [
            1.01, 1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
            1000.0,
        ];
        let mut inside: Vec<f64> = ABOVE
            .into_iter()
            .flat_map(|tick| [tick, 1.0 / tick])
            .filter(|tick| tick.ln().abs() < self.reach * 0.98)
            .collect();
        inside.sort_by(|a, b| b.ln().abs().total_cmp(&a.ln().abs()));
        let mut kept = vec![1.0];
        for tick in inside {
            if kept.iter().all(|other| (self.share(*other) - self.share(tick)).abs() >= gap) {
                kept.push(tick);
            }
        }
        kept.sort_by(f64::total_cmp);
        kept
    }
}

/// Ratios of the pairs, arm / against, that are finite and above 0.
pub(crate) fn ratios(metric: &MetricResult) -> impl Iterator<Item = f64> + '_ {
    metric.values.iter().map(PairValues::ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

/// The axis of some metrics: their pairs and intervals, and what else is to be on it.
pub(crate) fn axis(metrics: &[&MetricResult], also: &[f64]) -> RatioAxis {
    let pairs = metrics.iter().flat_map(|metric| ratios(metric));
    let ends = metrics.iter().flat_map(|metric| [metric.interval_low, metric.interval_high]).flatten();
    RatioAxis::around(pairs.chain(ends).chain(also.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_without_interval_says_so_and_ticks_have_no_zeros_for_nothing() {
        assert_eq!(with_interval(0.2034, ""), "×0.203, no interval");
        assert_eq!(with_interval(0.2034, "0.150..0.360"), "×0.203 (0.150..0.360)");
        assert_eq!([0.2, 1.0, 1.0 / 3.0, 20.0, 100.0].map(tick), ["×0.2", "×1", "×0.333", "×20", "×100"]);
    }

    fn result(estimate: f64, interval: (f64, f64), medians: (f64, f64)) -> MetricResult {
        let json = serde_json::json!({
            "name": "end_to_end.p99", "unit": "ns", "role": "primary", "good": "lower", "arm": "b", "against": "a",
            "estimate_ratio": estimate, "interval_low": interval.0, "interval_high": interval.1, "level": 0.95,
            "verdict": "undecided", "smallest_detectable_ratio": null, "p": null, "p_adjusted": null,
            "method": "signed_rank", "pairs": 12, "starts": null, "against_median": medians.0,
            "arm_median": medians.1, "values": [], "absent": null,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_ratio_of_pairs_that_its_medians_belie_is_explained_beside_them() {
        let told = unlike_medians(&result(1.05, (0.97, 1.12), (4.79e6, 4.74e6))).unwrap();
        assert!(
            told.starts_with("The medians of b and a alone would give ×0.990; the ratio of ×1.05"),
            "{told}"
        );
        assert!(told.contains("over pairs, each block held against its neighbour"), "{told}");
        let outside = unlike_medians(&result(1.05, (1.02, 1.08), (4.0e6, 4.8e6)));
        assert!(outside.is_some_and(|told| told.contains("×1.20")));
        assert_eq!(unlike_medians(&result(1.05, (0.97, 1.12), (4.74e6, 4.95e6))), None);
    }
}
