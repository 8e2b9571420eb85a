//! From estimates to verdicts: an allowance for the number of comparisons, and guardrails that veto.
//!
//! The verdict of one comparison by itself is in `verdict`; here all of them get their adjusted p, and guardrails and `doubts`
//! take verdicts away.

use super::doubts::{self, Claim};
use super::metric::{TrialMetric, shown};
use super::pairs::{Compared, compare};
use super::unit::deciding_level;
use super::verdict::with_verdict;
use super::{Arm, Opponents, Trial, counts};
use plumb_model::figure::{change, percent, probability};
use plumb_model::finding::{Severity, Validity};
use plumb_model::trial::{ArmVerdict, MetricResult, MetricRole, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::ends::Ends;
use plumb_stats::multiple::{benjamini_hochberg, holm};

/// Findings about an arm's harm to its own messages: lost and failed ones have no latency, and an arm that does not keep up has
/// only the latency of so short a block, so it flatters the arm and speaks against it alone. Every other finding that makes a run
/// unfit for use leaves no verdict on the arms that it is about.
const OWN_HARM: [&str; 3] = ["messages-lost", "messages-failed", "saturated"];

/// All comparisons with their verdicts, and the verdicts on the arms.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The metric that decides first in each pair of arms.
    pub(crate) metrics: Vec<Compared>,
    pub(crate) verdicts: Vec<ArmVerdict>,
}

/// Compares everything that is to be compared.
pub(super) fn judged(trial: &Trial, validity: &Validity) -> Judged {
    let opponents = trial.opponents();
    let mut metrics: Vec<Compared> = Vec::new();
    for of in &opponents {
        metrics.extend(trial.count().map(|count| counts::compare(trial, count, *of, MetricRole::Primary)));
        metrics.extend(trial.metrics(*of).into_iter().filter_map(|metric| {
            let family = if metric.role == MetricRole::Primary { opponents.len() } else { 1 };
            compare(trial, metric, *of, family)
        }));
        metrics.extend(counts::compared(trial, *of));
    }
    adjust(&mut metrics, MetricRole::Primary, holm);
    adjust(&mut metrics, MetricRole::Secondary, benjamini_hochberg);
    let metrics: Vec<Compared> = metrics.into_iter().map(|compared| with_verdict(trial, compared)).collect();
    let verdicts = opponents.iter().map(|of| {
        let own = |compared: &&Compared| {
            compared.result.arm == of.arm.name && compared.result.against == of.against.name
        };
        let metrics: Vec<&Compared> = metrics.iter().filter(own).collect();
        arm_verdict(trial, *of, &metrics, validity)
    });
    let verdicts = verdicts.collect();
    Judged { metrics, verdicts }
}

/// What decides, for each pair of arms, with its verdict.
pub(super) fn primaries(trial: &Trial) -> Vec<Compared> {
    let opponents = trial.opponents();
    let compared = opponents.iter().filter_map(|of| match trial.count() {
        Some(count) => Some(counts::compare(trial, count, *of, MetricRole::Primary)),
        None => compare(trial, TrialMetric::primary(trial.primary()?), *of, opponents.len()),
    });
    let mut all: Vec<Compared> = compared.collect();
    adjust(&mut all, MetricRole::Primary, holm);
    all.into_iter().map(|compared| with_verdict(trial, compared)).collect()
}

fn adjust(metrics: &mut [Compared], role: MetricRole, adjusted: fn(&[f64]) -> Vec<f64>) {
    let of_role = metrics.iter_mut().filter(|compared| compared.result.role == role);
    let mut family: Vec<&mut MetricResult> =
        of_role.map(|compared| &mut compared.result).filter(|result| result.p.is_some()).collect();
    let p: Vec<f64> = family.iter().filter_map(|result| result.p).collect();
    for (result, p) in family.iter_mut().zip(adjusted(&p)) {
        result.p_adjusted = Some(p);
    }
}

fn arm_verdict(trial: &Trial, of: Opponents, metrics: &[&Compared], validity: &Validity) -> ArmVerdict {
    let Opponents { arm, against } = of;
    let primary = metrics.iter().find(|compared| compared.result.role == MetricRole::Primary);
    let by_primary = primary.map_or(Verdict::Undecided, |compared| compared.result.verdict);
    let good = matches!(by_primary, Verdict::Better | Verdict::Equivalent);
    let guards = metrics.iter().filter(|compared| compared.result.role == MetricRole::Guardrail);
    let mut vetoes: Vec<String> = Vec::new();
    if good {
        vetoes.extend(guards.filter_map(|compared| match harms(trial, &compared.result) {
            true => Some(veto(compared)),
            false => compared.alarm.clone(),
        }));
    }
    if by_primary != Verdict::Undecided {
        let flattered = match by_primary {
            Verdict::Worse => &[against][..],
            Verdict::Equivalent => &[arm, against],
            Verdict::Better | Verdict::Undecided => &[arm],
        };
        vetoes.extend(faults(&[arm, against], flattered, validity));
        let interval = primary.and_then(|compared| {
            let result = &compared.result;
            let ends = result.interval_low.zip(result.interval_high);
            ends.map(|(low, high)| Ends { low, high })
        });
        vetoes.extend(doubts::doubts(trial, of, Claim::of(by_primary, interval)));
    }
    let verdict = if vetoes.is_empty() { by_primary } else { Verdict::Undecided };
    let reason = (verdict == Verdict::Undecided).then(|| match vetoes.first() {
        Some(first) => first.clone(),
        None => primary.map_or_else(|| no_such_metric(trial), |primary| undecided(trial, primary)),
    });
    ArmVerdict { arm: arm.name.to_owned(), against: against.name.to_owned(), verdict, vetoes, reason }
}

/// Worse, and by more than the margin where there is a ratio to hold against it.
fn harms(trial: &Trial, result: &MetricResult) -> bool {
    let beyond = result.estimate_ratio.is_none_or(|ratio| ratio.ln().abs() > (1.0 + trial.plan.margin).ln());
    result.verdict == Verdict::Worse && beyond
}

fn veto(compared: &Compared) -> String {
    let result = &compared.result;
    match (result.estimate_ratio, result.against_median, result.arm_median) {
        (Some(ratio), Some(against), Some(arm)) => format!(
            "\"{}\" is worse by the {} ({} -> {}, {})",
            result.arm,
            compared.words,
            shown(&result.unit, against),
            shown(&result.unit, arm),
            change(ratio)
        ),
        _ => format!(
            "\"{}\" has more {}: {}",
            result.arm,
            compared.words,
            result.absent.as_deref().unwrap_or_default()
        ),
    }
}

/// The faults that make the run, or any of these arms, unfit for use, each as a sentence; an arm's harm to its own messages
/// counts only of the flattered ones.
pub(super) fn faults(arms: &[&Arm], flattered: &[&Arm], validity: &Validity) -> Vec<String> {
    let faults = validity.reasons.iter().filter(|reason| {
        let concerned = if OWN_HARM.contains(&reason.id.as_str()) { flattered } else { arms };
        let step = reason.step.as_ref();
        reason.severity == Severity::Invalid
            && step.is_none_or(|step| concerned.iter().any(|arm| arm.setup.name() == step.as_str()))
    });
    faults
        .map(|fault| {
            let place = fault.step.as_ref().map(|step| format!(" (\"{step}\")")).unwrap_or_default();
            format!("the figures are not fit for use{place}: {}", fault.claim.trim_end_matches('.'))
        })
        .collect()
}

fn no_such_metric(trial: &Trial) -> String {
    format!("the metric that was to decide, {}, says nothing of these arms", trial.plan.primary)
}

/// The reason why a comparison is undecided, and what would decide it, as a sentence.
fn undecided(trial: &Trial, compared: &Compared) -> String {
    let result = &compared.result;
    if result.method == TrialMethod::Counts {
        return counts::undecided(result, trial.level);
    }
    if let Some(absent) = &result.absent {
        return absent.clone();
    }
    let (unit, alpha) = (trial.unit(), 1.0 - trial.level);
    let exact = compared.p_without_clock.is_some_and(|p| p <= alpha);
    if let Some(error) = result.clock_error.filter(|_| exact && result.p.is_none_or(|p| p > alpha)) {
        return format!(
            "the workers' clocks are known to within {} of each other, and a difference of {} is not beyond what that leaves open",
            shown(&result.unit, error),
            result.estimate_ratio.map_or_else(|| "this size".to_owned(), change)
        );
    }
    if result.p.is_some_and(|p| p <= alpha) {
        return format!(
            "its p of {} is {} when all comparisons of the trial are allowed for: fewer arms or more {} would decide it",
            probability(result.p.unwrap_or(1.0)),
            probability(result.p_adjusted.unwrap_or(1.0)),
            if compared.result.starts.is_some() { "starts of the brokers" } else { "pairs" }
        );
    }
    let level = deciding_level(trial.level, trial.opponents().len());
    let margin = 1.0 + trial.plan.margin;
    let needed = compared.sd_log.and_then(|sd_log| unit.needed(sd_log, margin, level));
    let more = needed.filter(|needed| *needed > compared.units).map(|needed| {
        let margin = percent(trial.plan.margin);
        format!("; one of the margin of {margin} needs about {}", unit.planned(needed))
    });
    match result.smallest_detectable_ratio {
        Some(ratio) => format!(
            "{} of this spread show a difference of {} or more in 4 of 5 trials{}",
            unit.counted(compared.units),
            change(ratio).trim_start_matches('+'),
            more.unwrap_or_default()
        ),
        None => format!(
            "{} are too few to show any difference in 4 of 5 trials{}",
            unit.counted(compared.units),
            more.unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::metric::TrialMetric;
    use crate::trial::tests::trials::trial_of;
    use plumb_model::document::RunDocument;
    use plumb_model::finding::{Finding, ValidityVerdict};
    use plumb_model::trial::Good;

    const MARGIN: f64 = 0.03;

    /// A trial of two arms whose primary metric is the 99th percentile, where less is better.
    fn document() -> RunDocument {
        trial_of(&[("arm", 0.5)], 12, 1)
    }

    /// A figure that decides or guards, made up.
    #[derive(Clone, Copy)]
    struct Figure {
        good: Good,
        ratio: f64,
        /// The adjusted p.
        p: f64,
    }

    fn less_is_better(ratio: f64, p: f64) -> Figure {
        Figure { good: Good::Lower, ratio, p }
    }

    fn more_is_better(ratio: f64, p: f64) -> Figure {
        Figure { good: Good::Higher, ratio, p }
    }

    fn opponents<'t>(trial: &'t Trial) -> Opponents<'t> {
        Opponents { arm: &trial.arms[1], against: &trial.arms[0] }
    }

    /// A comparison of this ratio and adjusted p.
    fn compared(trial: &Trial, role: MetricRole, Figure { good, ratio, p }: Figure) -> Compared {
        let metric = TrialMetric { metric: trial.primary().unwrap(), role };
        let mut compared = compare(trial, metric, opponents(trial), 1).unwrap();
        let result = &mut compared.result;
        (result.good, result.estimate_ratio, result.p, result.p_adjusted) =
            (good, Some(ratio), Some(p), Some(p));
        compared.equivalence = None;
        with_verdict(trial, compared)
    }

    fn verdict_of(good: Good, ratio: f64, p: f64) -> Verdict {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        compared(&trial, MetricRole::Primary, Figure { good, ratio, p }).result.verdict
    }

    #[test]
    fn less_is_better_of_a_latency_and_worse_of_a_rate() {
        assert_eq!(verdict_of(Good::Lower, 0.8, 0.01), Verdict::Better);
        assert_eq!(verdict_of(Good::Lower, 1.2, 0.01), Verdict::Worse);
        assert_eq!(verdict_of(Good::Higher, 0.8, 0.01), Verdict::Worse);
        assert_eq!(verdict_of(Good::Higher, 1.2, 0.01), Verdict::Better);
    }

    #[test]
    fn a_p_of_exactly_alpha_decides_and_a_larger_one_or_a_ratio_of_one_does_not() {
        assert_eq!(verdict_of(Good::Lower, 0.8, 0.05), Verdict::Better);
        assert_eq!(verdict_of(Good::Lower, 0.8, 0.0501), Verdict::Undecided);
        assert_eq!(verdict_of(Good::Lower, 1.0, 0.01), Verdict::Undecided);
    }

    #[test]
    fn equivalent_is_what_lies_within_the_margin_at_both_ends() {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        assert_eq!(trial.plan.margin, MARGIN);
        let verdict = |interval| {
            let mut compared = compared(&trial, MetricRole::Primary, less_is_better(0.99, 0.01));
            compared.equivalence = interval;
            with_verdict(&trial, compared).result.verdict
        };
        let (low, high) = (1.0 / (1.0 + MARGIN), 1.0 + MARGIN);
        assert_eq!(verdict(Some(Ends { low, high })), Verdict::Equivalent);
        assert_eq!(verdict(Some(Ends { low: low - 1e-6, high })), Verdict::Better);
        assert_eq!(verdict(Some(Ends { low, high: high + 1e-6 })), Verdict::Better);
        assert_eq!(verdict(None), Verdict::Better);
    }

    #[test]
    fn a_comparison_of_counts_keeps_its_own_verdict() {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let mut counts = compared(&trial, MetricRole::Guardrail, less_is_better(0.8, 0.01));
        (counts.result.method, counts.result.verdict) = (TrialMethod::Counts, Verdict::Worse);
        assert_eq!(with_verdict(&trial, counts).result.verdict, Verdict::Worse);
    }

    fn healthy() -> Validity {
        Validity { verdict: ValidityVerdict::Valid, reasons: Vec::new() }
    }

    /// The vetoes of an arm whose primary metric has this ratio, and whose guardrail is of this kind.
    fn vetoes(primary: f64, guardrail: Figure) -> Vec<String> {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let primary = compared(&trial, MetricRole::Primary, less_is_better(primary, 0.001));
        let guardrail = compared(&trial, MetricRole::Guardrail, guardrail);
        let verdict = arm_verdict(&trial, opponents(&trial), &[&primary, &guardrail], &healthy());
        assert_eq!(verdict.verdict == Verdict::Undecided, !verdict.vetoes.is_empty(), "{verdict:?}");
        assert_eq!(verdict.reason.as_ref(), verdict.vetoes.first());
        verdict.vetoes
    }

    #[test]
    fn a_guardrail_of_which_more_is_better_vetoes_where_it_falls() {
        let [veto] = &vetoes(0.5, more_is_better(0.9, 0.001))[..] else { panic!() };
        assert!(veto.starts_with("\"arm\" is worse by the ") && veto.contains("-10"), "{veto}");
        assert!(vetoes(0.5, more_is_better(1.1, 0.001)).is_empty(), "more of it is no harm");
        assert_eq!(vetoes(0.5, less_is_better(1.1, 0.001)).len(), 1);
        assert!(vetoes(0.5, less_is_better(0.9, 0.001)).is_empty());
    }

    #[test]
    fn a_guardrail_within_the_margin_or_by_chance_takes_nothing_away() {
        for good in [Good::Lower, Good::Higher] {
            let harm = |by: f64| if good == Good::Lower { 1.0 + by } else { 1.0 / (1.0 + by) };
            let vetoes = |by: f64, p: f64| vetoes(0.5, Figure { good, ratio: harm(by), p });
            assert!(vetoes(MARGIN - 0.001, 0.001).is_empty());
            assert_eq!(vetoes(MARGIN + 0.001, 0.001).len(), 1);
            assert!(vetoes(0.5, 0.2).is_empty());
        }
    }

    #[test]
    fn an_arm_that_is_worse_stays_worse_whatever_its_guardrails_say() {
        assert!(vetoes(2.0, less_is_better(3.0, 0.001)).is_empty());
    }

    /// The verdict that is left of this one where a step, or the whole run, has this reason against it.
    fn left(of: Verdict, id: &str, severity: Severity, step: Option<usize>) -> Verdict {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let ratio = if of == Verdict::Worse { 2.0 } else { 0.5 };
        let mut primary = compared(&trial, MetricRole::Primary, less_is_better(ratio, 0.001));
        primary.result.verdict = of;
        let reason = Finding {
            step: step.map(|step| document.steps[step].name.clone()),
            ..Finding::new(id, severity, "It is so.".to_owned())
        };
        let validity = Validity { verdict: ValidityVerdict::Invalid, reasons: vec![reason] };
        let verdict = arm_verdict(&trial, opponents(&trial), &[&primary], &validity);
        if let [veto] = &verdict.vetoes[..] {
            assert!(
                veto.starts_with("the figures are not fit for use") && veto.ends_with(": It is so"),
                "{veto}"
            );
        }
        verdict.verdict
    }

    #[test]
    fn arms_are_not_equivalent_where_either_is_harmed_by_itself() {
        let (reference, arm, again) = (Some(0), Some(1), Some(2));
        for id in OWN_HARM {
            let left = |of, step| left(of, id, Severity::Invalid, step);
            assert_eq!(left(Verdict::Equivalent, reference), Verdict::Undecided);
            assert_eq!(left(Verdict::Equivalent, arm), Verdict::Undecided);
            assert_eq!(left(Verdict::Equivalent, again), Verdict::Equivalent);
            // What is better is flattered by its own harm alone, and what is worse by the other's.
            assert_eq!(left(Verdict::Better, reference), Verdict::Better);
            assert_eq!(left(Verdict::Better, arm), Verdict::Undecided);
            assert_eq!(left(Verdict::Worse, reference), Verdict::Undecided);
            assert_eq!(left(Verdict::Worse, arm), Verdict::Worse);
        }
    }

    #[test]
    fn any_other_fault_of_an_arm_or_of_the_whole_run_leaves_nothing_and_a_doubt_leaves_all() {
        for of in [Verdict::Better, Verdict::Worse, Verdict::Equivalent] {
            for step in [Some(0), Some(1), None] {
                assert_eq!(left(of, "client-bound", Severity::Invalid, step), Verdict::Undecided);
                assert_eq!(left(of, "client-bound", Severity::Suspect, step), of);
            }
            assert_eq!(left(of, "client-bound", Severity::Invalid, Some(2)), of);
        }
    }
}
