//! Guardrails on counts: messages that failed, were lost or came twice.
//!
//! They are mostly 0 and have no ratio. What is compared is the share of the messages sent, pair by pair; ranks of
//! the differences say whether the arm's is higher more often than the order of the blocks explains. A clear harm is
//! one also where the pairs are too few to say so.

use super::pairs::{Compared, median};
use super::{Arm, Trial, anytime};
use crate::figure::percent;
use crate::setup::Setup;
use plumb_model::observation::Counts;
use plumb_model::trial::{Good, MetricResult, MetricRole, TrialMethod, TrialVerdict};
use plumb_stats::signed_rank::signed_rank;

/// A share of messages from which on harm is clear whatever the pairs (ours),
const CLEAR_SHARE: f64 = 0.001;
/// if the other arm's share is so many times smaller (ours).
const CLEAR_TIMES: f64 = 10.0;

/// A guardrail on a count.
#[derive(Debug)]
pub(crate) struct Guard {
    /// As in results.
    pub(crate) name: &'static str,
    /// Within a sentence, after `more`.
    pub(crate) words: &'static str,
    count: fn(&Counts) -> u64,
    applies: fn(&Setup) -> bool,
    /// Whether one message is harm enough where the other arm has none.
    one_is_harm: bool,
}

/// All of them, the gravest first.
pub(crate) const GUARDS: [Guard; 3] = [
    Guard {
        name: "loss.lost",
        words: "acknowledged messages that were never received",
        count: |counts| counts.lost,
        applies: |setup| setup.produces() && setup.consumes(),
        one_is_harm: true,
    },
    Guard {
        name: "errors.failed",
        words: "messages that failed or whose outcome is unknown",
        count: |counts| counts.failed + counts.unknown,
        applies: |setup| setup.produces(),
        one_is_harm: false,
    },
    Guard {
        name: "loss.duplicated",
        words: "messages received more than once",
        count: |counts| counts.duplicated,
        applies: |setup| setup.consumes(),
        one_is_harm: false,
    },
];

/// Every guardrail that applies, with its verdict.
pub(super) fn compared(trial: &Trial, (arm, against): (&Arm, &Arm)) -> Vec<Compared> {
    let guards = GUARDS.iter().filter(|guard| (guard.applies)(&arm.setup) && (guard.applies)(&against.setup));
    guards.map(|guard| compare(trial, guard, (arm, against))).collect()
}

/// Shares of the messages in each round that counts: (round, against, arm).
pub(super) fn values(trial: &Trial, guard: &Guard, (arm, against): (&Arm, &Arm)) -> Vec<(u32, f64, f64)> {
    let share = |arm: &Arm, round: u32| {
        let counts = &arm.blocks.get(&round)?.counts;
        let of = counts.sent.max(counts.received);
        (of > 0).then(|| (guard.count)(counts) as f64 / of as f64)
    };
    let rounds = trial.rounds.kept.iter();
    rounds.filter_map(|&round| Some((round, share(against, round)?, share(arm, round)?))).collect()
}

fn compare(trial: &Trial, guard: &Guard, (arm, against): (&Arm, &Arm)) -> Compared {
    let values = values(trial, guard, (arm, against));
    let differences: Vec<f64> = values.iter().map(|(_, under, over)| over - under).collect();
    let totals = [against, arm].map(|arm| total(trial, guard, arm));
    let ranks = signed_rank(&differences);
    let p = match trial.plan.until_decided {
        true => Some(anytime::p(&differences)),
        false => ranks.as_ref().map(|ranks| ranks.p_two_sided),
    };
    let told_apart = p.is_some_and(|p| p <= 1.0 - trial.level);
    let [under, over] = totals.map(|(count, of)| count as f64 / of.max(1) as f64);
    let clearly = |more: f64, less: f64, none: bool| {
        (guard.one_is_harm && more > 0.0 && none) || (more >= CLEAR_SHARE && more >= CLEAR_TIMES * less)
    };
    let verdict = match () {
        () if over > under && (told_apart || clearly(over, under, totals[0].0 == 0)) => TrialVerdict::Worse,
        () if over < under && (told_apart || clearly(under, over, totals[1].0 == 0)) => TrialVerdict::Better,
        () => TrialVerdict::Undecided,
    };
    let result = MetricResult {
        name: guard.name.to_owned(),
        unit: "share".to_owned(),
        role: MetricRole::Guardrail,
        good: Good::Lower,
        arm: arm.name.to_owned(),
        against: against.name.to_owned(),
        estimate_ratio: None,
        interval_low: None,
        interval_high: None,
        level: trial.level,
        verdict,
        smallest_detectable_ratio: None,
        p,
        p_adjusted: p,
        method: TrialMethod::Counts,
        pairs: values.len() as u32,
        against_median: median(values.iter().map(|(_, under, _)| *under)),
        arm_median: median(values.iter().map(|(.., over)| *over)),
        values,
        absent: Some(said(totals)),
    };
    Compared { result, words: guard.words, equivalence: None, starts: None }
}

/// How many of how many in the rounds that count.
fn total(trial: &Trial, guard: &Guard, arm: &Arm) -> (u64, u64) {
    let blocks = trial.rounds.kept.iter().filter_map(|round| arm.blocks.get(round));
    blocks.fold((0, 0), |(count, of), block| {
        (count + (guard.count)(&block.counts), of + block.counts.sent.max(block.counts.received))
    })
}

/// The counts, as there is no ratio: `none of 60000 -> 12 of 60000 (0.02 %)`.
fn said(totals: [(u64, u64); 2]) -> String {
    let one = |(count, of): (u64, u64)| match count {
        0 => format!("none of {of}"),
        count => format!("{count} of {of} ({})", percent(count as f64 / of.max(1) as f64)),
    };
    let [against, arm] = totals.map(one);
    format!("{against} -> {arm}")
}
