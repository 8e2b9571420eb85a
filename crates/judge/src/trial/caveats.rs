//! What a reader must know before relying on a trial, each in a sentence.

use super::pairs::{Compared, compare};
use super::verdicts::{Judged, alone};
use super::{Trial, effective};
use crate::figure::{count, list, quoted, round_percent, sentence};
use plumb_model::document::RunState;
use plumb_model::finding::{Severity, Validity};
use plumb_model::trial::{MetricRole, TrialVerdict};

/// Fewest pairs for which a correlation of neighbours says anything (ours).
const CORRELATION_PAIRS_MIN: usize = 12;

pub(super) fn caveats(
    trial: &Trial,
    validity: &Validity,
    judged: &Judged,
    (floor, floor_ratio): (&[Compared], Result<f64, String>),
) -> Vec<String> {
    let mut all: Vec<String> = not_whole(trial).into_iter().collect();
    all.extend(not_in_effect(trial));
    all.extend(unequal_load(trial));
    all.extend(noise(judged, (floor, floor_ratio)));
    all.extend(primaries(judged).flat_map(|compared| of_pairs(trial, compared)));
    all.extend(trial.rounds.always.iter().cloned());
    all.extend(excluded(trial));
    all.extend(single_start(trial));
    let told = validity.reasons.iter().filter(|reason| reason.severity > Severity::Note);
    all.extend(told.map(|reason| {
        let place = reason.step.as_ref().map(|step| format!("{}: ", quoted(step))).unwrap_or_default();
        format!("{place}{} (plumb explain {})", reason.claim.trim_end_matches('.'), reason.id)
    }));
    all.iter().map(|caveat| sentence(caveat)).collect()
}

fn primaries(judged: &Judged) -> impl Iterator<Item = &Compared> {
    judged.metrics.iter().filter(|compared| compared.result.role == MetricRole::Primary)
}

/// A trial that ended before its plan did.
fn not_whole(trial: &Trial) -> Option<String> {
    let (whole, planned) = (trial.rounds.whole.len(), trial.document.plan.blocks);
    let of = format!("{whole} of {} were run", count(planned.into(), "planned pair"));
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

fn unequal_load(trial: &Trial) -> Option<String> {
    let pairs = trial.opponents();
    let unequal = pairs.iter().filter(|(arm, against)| !arm.setup.same_load(&against.setup));
    let names: Vec<String> = unequal.map(|(arm, _)| quoted(arm.name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} {} another load than what it is held against: the ratio is of both, load and setting",
            list(&names),
            if names.len() == 1 { "has" } else { "have" }
        )
    })
}

fn noise(judged: &Judged, (floor, floor_ratio): (&[Compared], Result<f64, String>)) -> Vec<String> {
    let mut all = Vec::new();
    let Some(primary) = floor.first() else { return all };
    let (result, words) = (&primary.result, primary.words);
    if matches!(result.verdict, TrialVerdict::Better | TrialVerdict::Worse) {
        all.push(format!(
            "The reference differs from itself by the {words} (p = {:.3}): by chance that is so in one of {:.0} trials, else \
             something acts on the blocks that is no arm's",
            result.p.unwrap_or(1.0),
            1.0 / (1.0 - result.level)
        ));
    }
    let floor_ratio = match floor_ratio {
        Ok(ratio) => ratio,
        Err(why) => {
            all.push(format!("How much equal arms differ here is not known: {why}"));
            return all;
        }
    };
    let within = primaries(judged).filter(|compared| {
        let told = matches!(compared.result.verdict, TrialVerdict::Better | TrialVerdict::Worse);
        told && compared.result.estimate_ratio.is_some_and(|ratio| ratio.ln().abs() <= floor_ratio.ln())
    });
    let names: Vec<String> = within.map(|compared| quoted(&compared.result.arm)).collect();
    if !names.is_empty() {
        all.push(format!(
            "The difference of {} is no larger than that between equal arms may be here ({}): repeat the trial before relying \
             on it",
            list(&names),
            up_to(floor_ratio)
        ));
    }
    all
}

/// `up to 4.2 %`.
pub(super) fn up_to(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 2.0 => format!("up to {}", round_percent(ratio - 1.0)),
        ratio => format!("up to {ratio:.1} times"),
    }
}

/// What the pairs of the metric that decides say of themselves.
fn of_pairs(trial: &Trial, compared: &Compared) -> Vec<String> {
    let result = &compared.result;
    let mut all = Vec::new();
    let logs: Vec<f64> = result.values.iter().map(|(_, under, over)| (over / under).ln()).collect();
    // Pairs on one start are alike by design: there the start is the unit.
    let units = compared.starts.is_none() && logs.len() >= CORRELATION_PAIRS_MIN;
    if let Some(r1) = lag_1(&logs).filter(|_| units) {
        let limit = 2.0 / (logs.len() as f64).sqrt();
        if r1.abs() > limit {
            all.push(format!(
                "Neighbouring pairs of {} and {} are not independent (correlation {r1:.2}, expected within {limit:.2}): the \
                 interval may be too narrow",
                quoted(&result.arm),
                quoted(&result.against)
            ));
        }
    }
    let kept = trial.rounds.kept.len();
    if result.absent.is_none() && logs.len() < kept {
        let missing = kept - logs.len();
        all.push(format!(
            "{} of {} and {} lack the {}: what is left may not be like what is missing",
            count(missing as u64, "pair"),
            quoted(&result.arm),
            quoted(&result.against),
            compared.words
        ));
    }
    all
}

/// Correlation of neighbours.
fn lag_1(logs: &[f64]) -> Option<f64> {
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let neighbours: f64 = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (variance > 0.0).then(|| neighbours / variance)
}

/// How many rounds are left out, and whether that changes the verdict.
fn excluded(trial: &Trial) -> Option<String> {
    let rounds = &trial.rounds;
    if rounds.excluded.is_empty() {
        return None;
    }
    let said = format!(
        "{} of {} left out by the rules on noise",
        rounds.excluded.len(),
        if rounds.excluded.len() == 1 {
            format!("{} is", count(rounds.whole.len() as u64, "pair"))
        } else {
            format!("{} are", count(rounds.whole.len() as u64, "pair"))
        }
    );
    let changed = changed_by_exclusion(trial);
    Some(match changed.is_empty() {
        true => format!("{said}; with them the verdicts would be the same"),
        false => format!("{said}; with them the verdicts would be others: {}", changed.join(", ")),
    })
}

fn changed_by_exclusion(trial: &Trial) -> Vec<String> {
    let kept = trial.rounds.whole.clone();
    let rounds = super::Rounds { kept, ..trial.rounds.clone() };
    let all = Trial {
        document: trial.document,
        plan: trial.plan,
        level: trial.level,
        arms: trial.arms.clone(),
        again: trial.again.clone(),
        rounds,
    };
    let Some(primary) = trial.primary() else { return Vec::new() };
    let opponents = trial.opponents();
    let family = opponents.len();
    let verdict = |trial: &Trial, (arm, against)| {
        let compared = compare(trial, (primary, MetricRole::Primary), (arm, against), family)?;
        Some(alone(trial, compared).result.verdict)
    };
    let changed = opponents.iter().filter_map(|(arm, against)| {
        let (without, with) = (verdict(trial, (arm, against))?, verdict(&all, (arm, against))?);
        (without != with).then(|| format!("{} {}", quoted(arm.name), word(with)))
    });
    changed.collect()
}

/// A verdict within a sentence.
pub(super) fn word(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::Better => "better",
        TrialVerdict::Worse => "worse",
        TrialVerdict::Equivalent => "equivalent",
        TrialVerdict::Undecided => "undecided",
    }
}

/// Arms with brokers of their own that were started once.
fn single_start(trial: &Trial) -> Option<String> {
    let own = trial.document.plan.steps.iter().any(|step| step.cluster.is_some());
    let starts =
        trial.arms.iter().flat_map(|arm| arm.blocks.values()).map(|block| block.broker_start).max()?;
    (own && starts == 0).then(|| {
        "Each arm has brokers of its own that were started once: what differs may be that start and not the setting \
         (--restart-every)"
            .to_owned()
    })
}
