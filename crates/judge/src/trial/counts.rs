//! Counts: messages that failed, were lost or came twice, and packets that the host lost. They guard, and one of them may decide.
//!
//! They are mostly 0 and have no ratio. The comparison is of the share of the messages sent (of packets: of the number a second), in each
//! pair, or on each start of the brokers where that is the unit; ranks of the differences say if the arm's is higher more often than the
//! order of the blocks explains. No law of counts is used: messages fail in bursts, and a Poisson's interval would take a burst of a
//! thousand for a thousand witnesses.
//!
//! A burst in one block is therefore never shown to be the arm's doing. It is harm all the same, and an arm that had it and whose
//! opponent had none is not called better: that is an alarm, which vetoes and claims nothing.

use super::pairs::{Compared, samples};
use super::values::of_rounds;
use super::{Arm, Opponents, Trial, anytime};
use crate::setup::Setup;
use plumb_model::check::packets_lost;
use plumb_model::document::BlockResult;
use plumb_model::figure::{self, counted, percent, significant};
use plumb_model::metric::PACKETS_LOST;
use plumb_model::observation::Counts;
use plumb_model::trial::{Good, MetricResult, MetricRole, PairValues, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::median::median;
use plumb_stats::signed_rank::signed_rank;

/// A share of messages from which on harm is not passed over (ours),
const ALARM_SHARE: f64 = 0.001;
/// if the other arm's share is so many times smaller (ours).
const ALARM_TIMES: f64 = 10.0;

/// A count of a block.
#[derive(Debug)]
pub(crate) struct Count {
    /// As in results.
    pub(crate) name: &'static str,
    /// Within a sentence, after `more`.
    pub(crate) words: &'static str,
    of: Source,
    applies: fn(&Setup) -> bool,
    /// True if one is harm enough where the other arm has none.
    one_is_harm: bool,
}

/// What is counted.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Messages, of those that were sent.
    Messages(fn(&Counts) -> u64),
    /// Packets of the host, over the seconds of the measured part.
    Packets,
}

/// All of them, the gravest first. Packets are counted only where they decide.
pub(crate) const COUNTS: [Count; 4] = [
    Count {
        name: "loss.lost",
        words: "acknowledged messages that were never received",
        of: Source::Messages(|counts| counts.lost.saturating_add(counts.removed.unwrap_or(0))),
        applies: |setup| setup.produces() && setup.consumes(),
        one_is_harm: true,
    },
    Count {
        name: "errors.failed",
        words: "messages that failed or whose outcome is unknown",
        of: Source::Messages(|counts| counts.failed + counts.unknown),
        applies: |setup| setup.produces(),
        one_is_harm: false,
    },
    Count {
        name: "loss.duplicated",
        words: "messages received more than once",
        of: Source::Messages(|counts| counts.duplicated),
        applies: |setup| setup.consumes(),
        one_is_harm: false,
    },
    Count {
        name: PACKETS_LOST,
        words: "packets that this host lost",
        of: Source::Packets,
        applies: |_| true,
        one_is_harm: false,
    },
];

impl Count {
    fn unit(&self) -> &'static str {
        match self.of {
            Source::Messages(_) => "share",
            Source::Packets => "packets/s",
        }
    }

    fn guards(&self) -> bool {
        matches!(self.of, Source::Messages(_))
    }

    /// None where the block does not tell it.
    fn in_block(&self, block: &BlockResult) -> Option<Counted> {
        let counted = match self.of {
            Source::Messages(count) => Counted {
                count: count(&block.counts),
                of: block.counts.sent.max(block.counts.received) as f64,
            },
            Source::Packets => Counted {
                count: packets_lost(block.host_losses.as_ref()?),
                of: block.host.as_ref()?.elapsed_ns as f64 / 1e9,
            },
        };
        (counted.of > 0.0).then_some(counted)
    }
}

/// A count with what it is out of: messages, or seconds.
#[derive(Debug, Clone, Copy)]
struct Counted {
    count: u64,
    of: f64,
}

/// The count of a name.
pub(crate) fn find(name: &str) -> Option<&'static Count> {
    COUNTS.iter().find(|count| count.name == name)
}

/// The counts that guard.
pub(super) fn guards() -> impl Iterator<Item = &'static Count> {
    COUNTS.iter().filter(|count| count.guards())
}

/// Every guardrail that applies and does not decide, with its verdict.
pub(super) fn compared(trial: &Trial, of: Opponents) -> Vec<Compared> {
    let applies = |count: &&Count| (count.applies)(&of.arm.setup) && (count.applies)(&of.against.setup);
    let decides = |count: &&Count| count.name == trial.plan.primary;
    let guards = guards().filter(applies).filter(|count| !decides(count));
    guards.map(|count| compare(trial, count, of, MetricRole::Guardrail)).collect()
}

/// The reason why a count that decides tells nothing apart, as a sentence.
pub(super) fn undecided(result: &MetricResult, level: f64) -> String {
    let said = result.absent.as_deref().unwrap_or_default();
    let alpha = 1.0 - level;
    match result.p.zip(result.p_adjusted) {
        _ if result.values.is_empty() => {
            "no pair of blocks tells it: a counter that went back or was gone at the end leaves it unknown"
                .to_owned()
        }
        _ if result.values.iter().all(|pair| pair.arm == 0.0 && pair.against == 0.0) => {
            let elsewhere = match result.name == PACKETS_LOST {
                true => " on this host; what is lost elsewhere is not counted",
                false => "",
            };
            format!("{said}: there is nothing to tell apart{elsewhere}")
        }
        Some((p, adjusted)) if p <= alpha && adjusted > alpha => format!(
            "{said}: its p of {} is {} when all comparisons of the trial are allowed for: fewer arms or more pairs would decide it",
            figure::probability(p),
            figure::probability(adjusted)
        ),
        Some((p, _)) if p <= alpha => {
            format!("{said}: most pairs say one thing and the totals another, so neither is shown")
        }
        _ => format!("{said}: the pairs do not show a difference"),
    }
}

/// The arm's share less the other's in each round that counts.
pub(super) fn differences(trial: &Trial, count: &Count, of: Opponents) -> Vec<f64> {
    differences_of(&values(trial, count, of))
}

fn differences_of(values: &[PairValues]) -> Vec<f64> {
    values.iter().map(|pair| pair.arm - pair.against).collect()
}

/// Shares of the messages, or packets a second, in each round that counts.
fn values(trial: &Trial, count: &Count, of: Opponents) -> Vec<PairValues> {
    of_rounds(trial, of, |arm, round| {
        let counted = count.in_block(arm.blocks.get(&round)?)?;
        Some(counted.count as f64 / counted.of)
    })
}

/// The comparison. One that decides is allowed for others by [`allowed`].
pub(super) fn compare(trial: &Trial, count: &Count, of: Opponents, role: MetricRole) -> Compared {
    let Opponents { arm, against } = of;
    let values = values(trial, count, of);
    let samples = samples(trial.unit(), arm, &values, &differences_of(&values));
    let [under, over] = [against, arm].map(|arm| Total::of(trial, count, arm));
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
    let alarming = verdict != Verdict::Worse && over.alarms(&under, count.one_is_harm);
    let alarm = alarming.then(|| {
        format!(
            "\"{}\" has more {}: {said}; over {} that is not shown to be its doing, but it is too much to be passed over",
            arm.name,
            count.words,
            trial.unit().counted(samples.len())
        )
    });
    let result = MetricResult {
        name: count.name.to_owned(),
        unit: count.unit().to_owned(),
        role,
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
        words: count.words,
        equivalence: None,
        units: samples.len(),
        sd_log: None,
        rank_sd_log: None,
        p_without_clock: None,
        alarm,
    }
}

/// The verdict of a count that decides, once all comparisons of the trial are allowed for.
pub(super) fn allowed(result: &MetricResult) -> Verdict {
    match result.p_adjusted {
        Some(p) if p <= 1.0 - result.level => result.verdict,
        _ => Verdict::Undecided,
    }
}

/// The count over the rounds that count.
#[derive(Debug, Clone, Copy)]
struct Total {
    counted: Counted,
    /// Blocks that have any.
    blocks: u64,
    unit: &'static str,
}

impl Total {
    fn of(trial: &Trial, count: &Count, arm: &Arm) -> Total {
        let blocks = trial.rounds.kept.iter().filter_map(|round| count.in_block(arm.blocks.get(round)?));
        let none = Total { counted: Counted { count: 0, of: 0.0 }, blocks: 0, unit: count.unit() };
        blocks.fold(none, |total, here| Total {
            counted: Counted { count: total.counted.count + here.count, of: total.counted.of + here.of },
            blocks: total.blocks + u64::from(here.count > 0),
            ..total
        })
    }

    fn share(&self) -> f64 {
        self.counted.count as f64 / self.counted.of.max(1.0)
    }

    /// True if it is harm beside another's, shown or not.
    fn alarms(&self, other: &Total, one_is_harm: bool) -> bool {
        let one = one_is_harm && self.counted.count > 0 && other.counted.count == 0;
        one || (self.share() >= ALARM_SHARE && self.share() >= ALARM_TIMES * other.share())
    }

    /// In place of a ratio: `none of 60000`, `12 of 60000 (0.02 %, in 3 blocks)`, `12 in 60 s (0.2 packets/s, in 3 blocks)`.
    fn said(&self) -> String {
        let Counted { count, of } = self.counted;
        let of = match self.unit {
            "share" => format!("of {of}"),
            _ => format!("in {}", figure::time(of * 1e9)),
        };
        let share = match self.unit {
            "share" => percent(self.share()),
            unit => format!("{} {unit}", significant(self.share(), 3)),
        };
        match count {
            0 => format!("none {of}"),
            count => format!("{count} {of} ({share}, in {})", counted(self.blocks, "block")),
        }
    }
}
