//! What takes a verdict back that the ranks of the pairs alone would give: how rounds were left out, what single blocks did, what
//! an arm did to the block after it.
//!
//! Nothing here shows anything; a doubt makes a verdict undecided and says why. Not here: harm that is shown or counted (guardrails
//! in `verdicts`, `counts`), what makes a run unfit for use (findings).

use super::pairs::compare;
use super::verdicts::alone;
use super::{Arm, Trial, carry_over, stalls};
use crate::figure::quoted;
use plumb_model::trial::MetricRole;
use plumb_model::verdict::Verdict;

/// What the ranks alone would say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    verdict: Verdict,
    /// By how much the interval of the metric that decides stays away from a ratio of 1, as a logarithm.
    distance: f64,
}

impl Claim {
    /// A verdict with the interval of its ratio, where that has ends.
    pub(super) fn of(verdict: Verdict, interval: Option<(f64, f64)>) -> Claim {
        let distance = interval.map_or(0.0, |(low, high)| low.ln().max(-high.ln()));
        Claim { verdict, distance: distance.max(0.0) }
    }
}

/// Every doubt in the verdict of the metric that decides between two arms, each as a sentence.
pub(super) fn doubts(trial: &Trial, of: (&Arm, &Arm), claim: Claim) -> Vec<String> {
    let Claim { verdict, distance } = claim;
    let Some(primary) = trial.primary().filter(|_| verdict != Verdict::Undecided) else {
        return Vec::new();
    };
    let all = trial.with_all_rounds();
    let alpha = 1.0 - trial.level;
    let mut found: Vec<String> = exclusions(trial, of).into_iter().collect();
    let (arm, against) = of;
    let guarded = trial.metrics(arm, against).into_iter().filter(|(_, role)| *role != MetricRole::Secondary);
    let stalled = |of: (&Arm, &Arm)| {
        let metrics = guarded.clone();
        // What was seen in an arm's blocks alone may be its doing, so it is not left out here.
        let rounds = if seen_in_one(trial, of.0) { &all } else { trial };
        metrics.filter_map(|(metric, _)| stalls::alarm(rounds, metric, of)).collect::<Vec<_>>()
    };
    if matches!(verdict, Verdict::Better | Verdict::Equivalent) {
        found.extend(stalled((arm, against)));
    }
    if verdict == Verdict::Equivalent {
        found.extend(stalled((against, arm)));
    }
    let margin = (1.0 + trial.plan.margin).ln();
    let flattered = match verdict {
        Verdict::Better => &[(arm, alpha, distance)][..],
        Verdict::Worse => &[(against, alpha, distance)],
        Verdict::Equivalent | Verdict::Undecided => {
            &[(arm, alpha / 2.0, margin), (against, alpha / 2.0, margin)]
        }
    };
    let carried = flattered.iter();
    found.extend(
        carried.filter_map(|(arm, alpha, size)| carry_over::harm(&all, primary, arm, (*alpha, *size))),
    );
    found
}

/// Rounds that are left out, where that decides.
fn exclusions(trial: &Trial, of: (&Arm, &Arm)) -> Option<String> {
    let changed = changed_by_exclusion(trial, of).map(|with| {
        format!(
            "{} left out by the rules on noise, and with them the verdict would be {}",
            left_out(trial),
            with.word()
        )
    });
    changed.or_else(|| excluded_for_one(trial, of))
}

fn left_out(trial: &Trial) -> String {
    let (excluded, whole) = (trial.rounds.excluded.len(), trial.rounds.whole.len());
    format!("{excluded} of {whole} pairs {}", if excluded == 1 { "is" } else { "are" })
}

/// The verdict with the rounds that are left out, where that is another.
pub(super) fn changed_by_exclusion(trial: &Trial, of: (&Arm, &Arm)) -> Option<Verdict> {
    if trial.rounds.excluded.is_empty() {
        return None;
    }
    let primary = trial.primary()?;
    let family = trial.opponents().len();
    let verdict = |trial: &Trial| {
        let compared = compare(trial, (primary, MetricRole::Primary), of, family)?;
        Some(alone(trial, compared).result.verdict)
    };
    let (without, with) = (verdict(trial)?, verdict(&trial.with_all_rounds())?);
    (without != with).then_some(with)
}

/// All that is left out was seen in the blocks of one of these arms alone, more often than chance has it: the arm causes it.
fn excluded_for_one(trial: &Trial, (arm, against): (&Arm, &Arm)) -> Option<String> {
    let excluded = &trial.rounds.excluded;
    let steps = trial.steps().count() as f64;
    let one = [arm, against].into_iter().find(|arm| seen_in_one(trial, arm))?;
    // Were each as likely to be any step's, they would all be one's with this chance.
    let chance = steps.powi(1 - i32::try_from(excluded.len()).unwrap_or(i32::MAX));
    (chance <= 1.0 - trial.level).then(|| {
        format!(
            "{} left out by the rules on noise, each for what was seen in the blocks of {} (by chance so in one of {:.0} trials): what \
             an arm causes itself must not choose its pairs",
            left_out(trial),
            quoted(one.name),
            1.0 / chance
        )
    })
}

/// Whether some rounds are left out, each for what was seen in this arm's blocks alone.
fn seen_in_one(trial: &Trial, arm: &Arm) -> bool {
    let excluded = &trial.rounds.excluded;
    !excluded.is_empty() && excluded.iter().all(|pair| pair.seen_in == [arm.name.to_owned()])
}
