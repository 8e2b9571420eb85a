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
use plumb_model::trial::{ArmVerdict, Good, MetricResult, MetricRole, TrialMethod, TrialVerdict};
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

fn verdict(trial: &Trial, compared: &Compared) -> TrialVerdict {
    let most = 1.0 + trial.plan.margin;
    if compared.equivalence.is_some_and(|(low, high)| low >= 1.0 / most && high <= most) {
        return TrialVerdict::Equivalent;
    }
    let result = &compared.result;
    let (Some(ratio), Some(p)) = (result.estimate_ratio, result.p_adjusted) else {
        return TrialVerdict::Undecided;
    };
    if p > 1.0 - trial.level + P_ROUNDING || ratio == 1.0 {
        return TrialVerdict::Undecided;
    }
    match (ratio < 1.0) == (result.good == Good::Lower) {
        true => TrialVerdict::Better,
        false => TrialVerdict::Worse,
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
    let by_primary = primary.map_or(TrialVerdict::Undecided, |compared| compared.result.verdict);
    let good = matches!(by_primary, TrialVerdict::Better | TrialVerdict::Equivalent);
    let guards = metrics.iter().filter(|compared| compared.result.role == MetricRole::Guardrail);
    let mut vetoes: Vec<String> = Vec::new();
    if good {
        vetoes.extend(guards.filter_map(|compared| match harms(trial, &compared.result) {
            true => Some(veto(compared)),
            false => compared.alarm.clone(),
        }));
    }
    if by_primary != TrialVerdict::Undecided {
        let flattered = match by_primary {
            TrialVerdict::Worse => &[against][..],
            TrialVerdict::Equivalent => &[arm, against],
            TrialVerdict::Better | TrialVerdict::Undecided => &[arm],
        };
        vetoes.extend(faults(&[arm, against], flattered, validity));
        let interval = primary.and_then(|compared| {
            let result = &compared.result;
            result.interval_low.zip(result.interval_high)
        });
        vetoes.extend(doubts::doubts(trial, (arm, against), Claim::of(by_primary, interval)));
    }
    let verdict = if vetoes.is_empty() { by_primary } else { TrialVerdict::Undecided };
    let reason = (verdict == TrialVerdict::Undecided).then(|| match vetoes.first() {
        Some(first) => first.clone(),
        None => primary.map_or_else(|| no_such_metric(trial), |primary| undecided(trial, primary)),
    });
    ArmVerdict { arm: arm.name.to_owned(), against: against.name.to_owned(), verdict, vetoes, reason }
}

/// Worse, and by more than the margin where there is a ratio to hold against it.
fn harms(trial: &Trial, result: &MetricResult) -> bool {
    let beyond = result.estimate_ratio.is_none_or(|ratio| ratio.ln().abs() > (1.0 + trial.plan.margin).ln());
    result.verdict == TrialVerdict::Worse && beyond
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
