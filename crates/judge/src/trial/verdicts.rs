//! From estimates to verdicts: allowing for how many comparisons there are, and letting guardrails veto.
//!
//! Equivalent: two one-sided tests, the interval of level 1 - 2 alpha lies within the margin. Else better or worse where the
//! adjusted p is at most alpha, less what `doubts` takes back. Else undecided: "not significant" is never "no change".

use super::doubts::{self, Claim};
use super::metric::shown;
use super::pairs::{Compared, compare};
use super::unit::deciding_level;
use super::{Arm, Trial, counts};
use crate::figure::{change, round_percent};
use plumb_model::finding::{Severity, Validity};
use plumb_model::trial::{ArmVerdict, Good, MetricResult, MetricRole, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::multiple::{benjamini_hochberg, holm};

/// What an arm does to its own messages: lost and failed ones have no latency, and of an arm that does not keep up the latency
/// is only that of so short a block, so it flatters the arm and speaks against it alone. Every other finding that makes a
/// run unfit for use leaves nothing to be said of the arms that it is about.
const OWN_HARM: [&str; 3] = ["messages-lost", "messages-failed", "saturated"];

/// Rounding of an exact p.
const P_ROUNDING: f64 = 1e-12;

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
    for (arm, against) in &opponents {
        let roles = trial.metrics(arm, against).into_iter();
        metrics.extend(roles.filter_map(|(metric, role)| {
            let family = if role == MetricRole::Primary { opponents.len() } else { 1 };
            compare(trial, (metric, role), (arm, against), family)
        }));
        metrics.extend(counts::compared(trial, (arm, against)));
    }
    adjust(&mut metrics, MetricRole::Primary, holm);
    adjust(&mut metrics, MetricRole::Secondary, benjamini_hochberg);
    let metrics: Vec<Compared> = metrics.into_iter().map(|compared| alone(trial, compared)).collect();
    let verdicts = opponents.iter().map(|(arm, against)| {
        let of =
            |compared: &&Compared| compared.result.arm == arm.name && compared.result.against == against.name;
        let metrics: Vec<&Compared> = metrics.iter().filter(of).collect();
        arm_verdict(trial, (arm, against), &metrics, validity)
    });
    let verdicts = verdicts.collect();
    Judged { metrics, verdicts }
}

/// The verdict of a comparison whose adjusted p is known. Counts have theirs.
pub(super) fn alone(trial: &Trial, mut compared: Compared) -> Compared {
    if compared.result.method != TrialMethod::Counts {
        compared.result.verdict = verdict(trial, &compared);
    }
    compared
}

fn verdict(trial: &Trial, compared: &Compared) -> Verdict {
    let most = 1.0 + trial.plan.margin;
    if compared.equivalence.is_some_and(|(low, high)| low >= 1.0 / most && high <= most) {
        return Verdict::Equivalent;
    }
    let result = &compared.result;
    let (Some(ratio), Some(p)) = (result.estimate_ratio, result.p_adjusted) else {
        return Verdict::Undecided;
    };
    if p > 1.0 - trial.level + P_ROUNDING || ratio == 1.0 {
        return Verdict::Undecided;
    }
    match (ratio < 1.0) == (result.good == Good::Lower) {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
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

fn arm_verdict(
    trial: &Trial,
    (arm, against): (&Arm, &Arm),
    metrics: &[&Compared],
    validity: &Validity,
) -> ArmVerdict {
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
            result.interval_low.zip(result.interval_high)
        });
        vetoes.extend(doubts::doubts(trial, (arm, against), Claim::of(by_primary, interval)));
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

/// What makes the run, or any of these arms, unfit for use, each as a sentence; harm that an arm does to its own messages only of
/// the flattered ones.
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

/// Why a comparison is undecided, and what would decide it.
fn undecided(trial: &Trial, compared: &Compared) -> String {
    let result = &compared.result;
    if let Some(absent) = &result.absent {
        return absent.clone();
    }
    let (unit, alpha) = (trial.unit(), 1.0 - trial.level);
    if result.p.is_some_and(|p| p <= alpha) {
        return format!(
            "its p of {:.3} is {:.3} when all comparisons of the trial are allowed for: fewer arms or more {} would decide it",
            result.p.unwrap_or(1.0),
            result.p_adjusted.unwrap_or(1.0),
            if compared.result.starts.is_some() { "starts of the brokers" } else { "pairs" }
        );
    }
    let level = deciding_level(trial.level, trial.opponents().len());
    let margin = 1.0 + trial.plan.margin;
    let needed = compared.sd_log.and_then(|sd_log| unit.needed(sd_log, margin, level));
    let more = needed.filter(|needed| *needed > compared.units).map(|needed| {
        let margin = round_percent(trial.plan.margin);
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
    use crate::trial::tests::trials::trial_of;
    use plumb_model::document::RunDocument;
    use plumb_model::finding::{Finding, ValidityVerdict};

    const MARGIN: f64 = 0.03;

    /// A trial of two arms whose primary metric is the 99th percentile, where less is better.
    fn document() -> RunDocument {
        trial_of(&[("arm", 0.5)], 12, 1)
    }

    /// A comparison of this ratio and adjusted p.
    fn compared(trial: &Trial, role: MetricRole, (good, ratio, p): (Good, f64, f64)) -> Compared {
        let pairs = (&trial.arms[1], &trial.arms[0]);
        let mut compared = compare(trial, (trial.primary().unwrap(), role), pairs, 1).unwrap();
        let result = &mut compared.result;
        (result.good, result.estimate_ratio, result.p, result.p_adjusted) =
            (good, Some(ratio), Some(p), Some(p));
        compared.equivalence = None;
        alone(trial, compared)
    }

    fn verdict_of(good: Good, ratio: f64, p: f64) -> Verdict {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        compared(&trial, MetricRole::Primary, (good, ratio, p)).result.verdict
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
            let mut compared = compared(&trial, MetricRole::Primary, (Good::Lower, 0.99, 0.01));
            compared.equivalence = interval;
            alone(&trial, compared).result.verdict
        };
        let (low, high) = (1.0 / (1.0 + MARGIN), 1.0 + MARGIN);
        assert_eq!(verdict(Some((low, high))), Verdict::Equivalent);
        assert_eq!(verdict(Some((low - 1e-6, high))), Verdict::Better);
        assert_eq!(verdict(Some((low, high + 1e-6))), Verdict::Better);
        assert_eq!(verdict(None), Verdict::Better);
    }

    #[test]
    fn a_comparison_of_counts_keeps_its_own_verdict() {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let mut counts = compared(&trial, MetricRole::Guardrail, (Good::Lower, 0.8, 0.01));
        (counts.result.method, counts.result.verdict) = (TrialMethod::Counts, Verdict::Worse);
        assert_eq!(alone(&trial, counts).result.verdict, Verdict::Worse);
    }

    fn healthy() -> Validity {
        Validity { verdict: ValidityVerdict::Valid, reasons: Vec::new() }
    }

    /// The vetoes of an arm whose primary metric has this ratio, and whose guardrail is of this kind.
    fn vetoes(primary: f64, guardrail: (Good, f64, f64)) -> Vec<String> {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let primary = compared(&trial, MetricRole::Primary, (Good::Lower, primary, 0.001));
        let guardrail = compared(&trial, MetricRole::Guardrail, guardrail);
        let arms = (&trial.arms[1], &trial.arms[0]);
        let verdict = arm_verdict(&trial, arms, &[&primary, &guardrail], &healthy());
        assert_eq!(verdict.verdict == Verdict::Undecided, !verdict.vetoes.is_empty(), "{verdict:?}");
        assert_eq!(verdict.reason.as_ref(), verdict.vetoes.first());
        verdict.vetoes
    }

    #[test]
    fn a_guardrail_of_which_more_is_better_vetoes_where_it_falls() {
        let [veto] = &vetoes(0.5, (Good::Higher, 0.9, 0.001))[..] else { panic!() };
        assert!(veto.starts_with("\"arm\" is worse by the ") && veto.contains("-10"), "{veto}");
        assert!(vetoes(0.5, (Good::Higher, 1.1, 0.001)).is_empty(), "more of it is no harm");
        assert_eq!(vetoes(0.5, (Good::Lower, 1.1, 0.001)).len(), 1);
        assert!(vetoes(0.5, (Good::Lower, 0.9, 0.001)).is_empty());
    }

    #[test]
    fn a_guardrail_within_the_margin_or_by_chance_takes_nothing_away() {
        for good in [Good::Lower, Good::Higher] {
            let harm = |by: f64| if good == Good::Lower { 1.0 + by } else { 1.0 / (1.0 + by) };
            assert!(vetoes(0.5, (good, harm(MARGIN - 0.001), 0.001)).is_empty());
            assert_eq!(vetoes(0.5, (good, harm(MARGIN + 0.001), 0.001)).len(), 1);
            assert!(vetoes(0.5, (good, harm(0.5), 0.2)).is_empty());
        }
    }

    #[test]
    fn an_arm_that_is_worse_stays_worse_whatever_its_guardrails_say() {
        assert!(vetoes(2.0, (Good::Lower, 3.0, 0.001)).is_empty());
    }

    /// What is left of a verdict by this ratio or interval where a step has this reason against it.
    fn left(of: Verdict, reason: (&str, Severity, Option<usize>)) -> Verdict {
        let document = document();
        let trial = Trial::of(&document).unwrap();
        let ratio = if of == Verdict::Worse { 2.0 } else { 0.5 };
        let mut primary = compared(&trial, MetricRole::Primary, (Good::Lower, ratio, 0.001));
        primary.result.verdict = of;
        let (id, severity, step) = reason;
        let reason = Finding {
            step: step.map(|step| document.steps[step].name.clone()),
            ..Finding::new(id, severity, "It is so.".to_owned())
        };
        let validity = Validity { verdict: ValidityVerdict::Invalid, reasons: vec![reason] };
        let arms = (&trial.arms[1], &trial.arms[0]);
        let verdict = arm_verdict(&trial, arms, &[&primary], &validity);
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
            let left = |of, step| left(of, (id, Severity::Invalid, step));
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
                assert_eq!(left(of, ("client-bound", Severity::Invalid, step)), Verdict::Undecided);
                assert_eq!(left(of, ("client-bound", Severity::Suspect, step)), of);
            }
            assert_eq!(left(of, ("client-bound", Severity::Invalid, Some(2))), of);
        }
    }
}
