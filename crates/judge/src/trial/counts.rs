//! Guardrails on counts: messages that failed, were lost or came twice.
//!
//! They are mostly 0 and have no ratio. The comparison is of the share of the messages sent, in each pair, or on each start of
//! the brokers where that is the unit; ranks of the differences say if the arm's is higher more often than the order of the
//! blocks explains. No law of counts is used: messages fail in bursts, and a Poisson's interval would take a burst of a thousand
//! for a thousand witnesses.
//!
//! A burst in one block is therefore never shown to be the arm's doing. It is harm all the same, and an arm that had it and whose
//! opponent had none is not called better: that is an alarm, which vetoes and claims nothing.

use super::pairs::{Compared, samples};
use super::values::of_rounds;
use super::{Arm, Opponents, Trial, anytime};
use crate::setup::Setup;
use plumb_model::figure::{counted, percent};
use plumb_model::observation::Counts;
use plumb_model::trial::{Good, MetricResult, MetricRole, PairValues, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::median::median;
use plumb_stats::signed_rank::signed_rank;

/// A share of messages from which on harm is not passed over (ours),
const ALARM_SHARE: f64 = 0.001;
/// if the other arm's share is so many times smaller (ours).
const ALARM_TIMES: f64 = 10.0;

/// A guardrail on a count.
#[derive(Debug)]
pub(crate) struct Guard {
    /// As in results.
    pub(crate) name: &'static str,
    /// Within a sentence, after `more`.
    pub(crate) words: &'static str,
    count: fn(&Counts) -> u64,
    applies: fn(&Setup) -> bool,
    /// True if one message is harm enough where the other arm has none.
    one_is_harm: bool,
}

/// All of them, the gravest first.
pub(crate) const GUARDS: [Guard; 3] = [
    Guard {
        name: "loss.lost",
        words: "acknowledged messages that were never received",
        count: |counts| counts.lost.saturating_add(counts.removed.unwrap_or(0)),
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
pub(super) fn compared(trial: &Trial, of: Opponents) -> Vec<Compared> {
    let applies = |guard: &&Guard| (guard.applies)(&of.arm.setup) && (guard.applies)(&of.against.setup);
    GUARDS.iter().filter(applies).map(|guard| compare(trial, guard, of)).collect()
}

/// The arm's share less the other's in each round that counts.
pub(super) fn differences(trial: &Trial, guard: &Guard, of: Opponents) -> Vec<f64> {
    differences_of(&values(trial, guard, of))
}

fn differences_of(values: &[PairValues]) -> Vec<f64> {
    values.iter().map(|pair| pair.arm - pair.against).collect()
}

/// Shares of the messages in each round that counts.
fn values(trial: &Trial, guard: &Guard, of: Opponents) -> Vec<PairValues> {
    let share = |arm: &Arm, round: u32| {
        let counts = &arm.blocks.get(&round)?.counts;
        let of = counts.sent.max(counts.received);
        (of > 0).then(|| (guard.count)(counts) as f64 / of as f64)
    };
    of_rounds(trial, of, share)
}

fn compare(trial: &Trial, guard: &Guard, of: Opponents) -> Compared {
    let Opponents { arm, against } = of;
    let values = values(trial, guard, of);
    let samples = samples(trial.unit(), arm, &values, &differences_of(&values));
    let [under, over] = [against, arm].map(|arm| Total::of(trial, guard, arm));
    let ranks = signed_rank(&samples);
    let p = match trial.plan.until_decided {
        true => Some(anytime::p(&samples)),
        false => ranks.map(|ranks| ranks.p_two_sided),
    };
    let told_apart = p.is_some_and(|p| p <= 1.0 - trial.level);
    // Ranks and totals may disagree, where one burst outweighs many small differences: then neither is shown.
    let more = ranks.is_some_and(|ranks| ranks.p_greater < ranks.p_less) && over.share() > under.share();
    let fewer = ranks.is_some_and(|ranks| ranks.p_less < ranks.p_greater) && over.share() < under.share();
    let verdict = match () {
        () if told_apart && more => Verdict::Worse,
        () if told_apart && fewer => Verdict::Better,
        () => Verdict::Undecided,
    };
    let said = format!("{} -> {}", under.said(), over.said());
    let alarming = verdict != Verdict::Worse && over.alarms(&under, guard.one_is_harm);
    let alarm = alarming.then(|| {
        format!(
            "\"{}\" has more {}: {said}; over {} that is not shown to be its doing, but it is too much to be passed over",
            arm.name,
            guard.words,
            trial.unit().counted(samples.len())
        )
    });
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
        starts: trial.unit().starts(samples.len()),
        against_median: median(values.iter().map(|pair| pair.against)),
        arm_median: median(values.iter().map(|pair| pair.arm)),
        values,
        absent: Some(said),
        clock_error: None,
    };
    Compared {
        result,
        words: guard.words,
        equivalence: None,
        units: samples.len(),
        sd_log: None,
        rank_sd_log: None,
        p_without_clock: None,
        alarm,
    }
}

/// Messages that count, of all, in the rounds that count.
#[derive(Debug, Clone, Copy)]
struct Total {
    count: u64,
    of: u64,
    /// Blocks that have any.
    blocks: u64,
}

impl Total {
    fn of(trial: &Trial, guard: &Guard, arm: &Arm) -> Total {
        let blocks = trial.rounds.kept.iter().filter_map(|round| arm.blocks.get(round));
        blocks.fold(Total { count: 0, of: 0, blocks: 0 }, |total, block| {
            let here = (guard.count)(&block.counts);
            Total {
                count: total.count + here,
                of: total.of + block.counts.sent.max(block.counts.received),
                blocks: total.blocks + u64::from(here > 0),
            }
        })
    }

    fn share(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    /// True if it is harm beside another's, shown or not.
    fn alarms(&self, other: &Total, one_is_harm: bool) -> bool {
        let one = one_is_harm && self.count > 0 && other.count == 0;
        one || (self.share() >= ALARM_SHARE && self.share() >= ALARM_TIMES * other.share())
    }

    /// In place of a ratio: `none of 60000`, `12 of 60000 (0.02 %, in 3 blocks)`.
    fn said(&self) -> String {
        match self.count {
            0 => format!("none of {}", self.of),
            n => {
                format!(
                    "{n} of {} ({}, in {})",
                    self.of,
                    percent(self.share()),
                    counted(self.blocks, "block")
                )
            }
        }
    }
}
