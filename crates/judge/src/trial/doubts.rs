//! Doubts that take back a verdict of the ranks alone: rounds that were left out, stalls of single blocks, an arm's effect on the
//! block after it.
//!
//! Nothing here shows a difference; a doubt makes a verdict undecided and says why. Not here: harm that is shown or counted
//! (guardrails in `verdicts`, `counts`), faults that make the run unfit for use (findings).

use super::verdicts::primaries;
use super::{Arm, Opponents, Trial, carry_over, stalls};
use carry_over::Limits;
use plumb_model::prose::quoted;
use plumb_model::trial::MetricRole;
use plumb_model::verdict::Verdict;
use plumb_stats::ends::Ends;

/// The verdict of the ranks alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    verdict: Verdict,
    /// The distance of the interval of the metric that decides from a ratio of 1, as a logarithm.
    distance: f64,
}

impl Claim {
    /// A verdict with the interval of its ratio, where that has ends.
    pub(super) fn of(verdict: Verdict, interval: Option<Ends>) -> Claim {
        let distance = interval.map_or(0.0, |ends| ends.low.ln().max(-ends.high.ln()));
        Claim { verdict, distance: distance.max(0.0) }
    }
}

/// Every doubt in the verdict of the metric that decides between two arms, each as a sentence.
pub(super) fn doubts(trial: &Trial, of: Opponents, claim: Claim) -> Vec<String> {
    let Claim { verdict, distance } = claim;
    if verdict == Verdict::Undecided {
        return Vec::new();
    }
    let mut found: Vec<String> = exclusions(trial, of).into_iter().collect();
    // A count has no size that a stall or the block before could have made.
    let Some(primary) = trial.primary() else { return found };
    let all = trial.with_all_rounds();
    let alpha = 1.0 - trial.level;
    let Opponents { arm, against } = of;
    let guarded = trial.metrics(of).into_iter().filter(|metric| metric.role != MetricRole::Secondary);
    let stalled = |of: Opponents| {
        let metrics = guarded.clone();
        // What was seen in an arm's blocks alone may be its doing, so it is not left out here.
        let rounds = if seen_in_one(trial, of.arm) { &all } else { trial };
        metrics.filter_map(|metric| stalls::alarm(rounds, metric.metric, of)).collect::<Vec<_>>()
    };
    if matches!(verdict, Verdict::Better | Verdict::Equivalent) {
        found.extend(stalled(of));
    }
    if verdict == Verdict::Equivalent {
        found.extend(stalled(of.exchanged()));
    }
    let margin = (1.0 + trial.plan.margin).ln();
    let one = Limits { alpha, size_log: distance };
    let each = Limits { alpha: alpha / 2.0, size_log: margin };
    let (flattered, limits) = match verdict {
        Verdict::Better => (&[arm][..], one),
        Verdict::Worse => (&[against][..], one),
        Verdict::Equivalent | Verdict::Undecided => (&[arm, against][..], each),
    };
    found.extend(flattered.iter().filter_map(|arm| carry_over::harm(&all, primary, arm, limits)));
    found
}

/// Rounds that are left out, where that decides.
fn exclusions(trial: &Trial, of: Opponents) -> Option<String> {
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

/// The verdict with the rounds that are left out, where that is another; all comparisons of the trial are allowed for in both.
pub(super) fn changed_by_exclusion(trial: &Trial, of: Opponents) -> Option<Verdict> {
    if trial.rounds.excluded.is_empty() {
        return None;
    }
    let verdict = |trial: &Trial| {
        let all = primaries(trial);
        let own = all.into_iter().find(|compared| {
            compared.result.arm == of.arm.name && compared.result.against == of.against.name
        });
        own.map(|compared| compared.result.verdict)
    };
    let (without, with) = (verdict(trial)?, verdict(&trial.with_all_rounds())?);
    (without != with).then_some(with)
}

/// All that is left out was seen in the blocks of one of these arms alone, more often than chance has it: the arm causes it.
fn excluded_for_one(trial: &Trial, of: Opponents) -> Option<String> {
    let excluded = &trial.rounds.excluded;
    let steps = trial.steps().count() as f64;
    let one = [of.arm, of.against].into_iter().find(|arm| seen_in_one(trial, arm))?;
    // Were each as likely to be any step's, they would all be one's with this chance.
    let chance = steps.powi(1 - i32::try_from(excluded.len()).unwrap_or(i32::MAX));
    (chance <= 1.0 - trial.level).then(|| {
        format!(
            "{} left out by the rules on noise, each for what was seen in the blocks of {} (by chance so in one of {} trials): what \
             an arm causes itself must not choose its pairs",
            left_out(trial),
            quoted(one.name),
            plumb_model::figure::whole(1.0 / chance)
        )
    })
}

/// True if some rounds are left out, each for what was seen in this arm's blocks alone.
fn seen_in_one(trial: &Trial, arm: &Arm) -> bool {
    let excluded = &trial.rounds.excluded;
    !excluded.is_empty() && excluded.iter().all(|pair| pair.seen_in == [arm.name.to_owned()])
}
