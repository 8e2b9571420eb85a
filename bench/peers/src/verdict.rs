//! A ratio of two tools over rounds, and whether it reaches a goal.

use plumb_stats::paired::{Pair, paired_ratio};
use serde::Serialize;

/// Level of every interval.
pub const LEVEL: f64 = 0.95;

/// The goal of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// So much or less.
    AtMost(f64),
    /// So much or more.
    AtLeast(f64),
}

/// The verdict on a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is on the good side.
    Met,
    /// The whole interval is on the other.
    NotMet,
    /// The goal is within the interval, or there are too few rounds for one: more would tell.
    Undecided,
}

/// A comparison of two tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// The comparison, in words.
    pub what: String,
    /// Geometric mean over the rounds; absent with too few.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Rounds in which both ran.
    pub rounds: usize,
    /// Its goal, where there is one.
    pub goal: Option<Goal>,
    /// The verdict on it.
    pub verdict: Option<Verdict>,
}

impl Ratio {
    /// b / a over pairs (a, b), one a round.
    pub fn of(what: String, pairs: &[Pair], goal: Option<Goal>) -> Ratio {
        let estimate = paired_ratio(pairs, LEVEL);
        let verdict = goal.map(|goal| match estimate {
            Some(estimate) => goal.judge(estimate.low, estimate.high),
            None => Verdict::Undecided,
        });
        Ratio {
            what,
            ratio: estimate.map(|e| e.ratio),
            low: estimate.map(|e| e.low),
            high: estimate.map(|e| e.high),
            rounds: pairs.len(),
            goal,
            verdict,
        }
    }
}

impl Goal {
    fn judge(self, low: f64, high: f64) -> Verdict {
        let (all_good, none_good) = match self {
            Goal::AtMost(goal) => (high <= goal, low > goal),
            Goal::AtLeast(goal) => (low >= goal, high < goal),
        };
        match (all_good, none_good) {
            (true, _) => Verdict::Met,
            (_, true) => Verdict::NotMet,
            _ => Verdict::Undecided,
        }
    }

    /// In a table.
    pub fn words(self) -> String {
        match self {
            Goal::AtMost(goal) => format!("<= {goal:.3}"),
            Goal::AtLeast(goal) => format!(">= {goal:.3}"),
        }
    }
}

impl Verdict {
    /// In a table.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::NotMet => "not met",
            Verdict::Undecided => "undecided",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ratios: &[f64], goal: Goal) -> Verdict {
        let pairs: Vec<_> = ratios.iter().map(|ratio| Pair { a: 2.0, b: 2.0 * ratio }).collect();
        Ratio::of("b : a".into(), &pairs, Some(goal)).verdict.unwrap()
    }

    #[test]
    fn a_goal_is_met_or_missed_only_by_the_whole_interval() {
        let steady = [0.101, 0.099, 0.100, 0.1005];
        assert_eq!(verdict(&steady, Goal::AtMost(0.12)), Verdict::Met);
        assert_eq!(verdict(&steady, Goal::AtMost(0.1)), Verdict::Undecided);
        assert_eq!(verdict(&steady, Goal::AtMost(0.08)), Verdict::NotMet);
        assert_eq!(verdict(&steady, Goal::AtLeast(0.08)), Verdict::Met);
        assert_eq!(verdict(&steady, Goal::AtLeast(0.12)), Verdict::NotMet);
    }

    #[test]
    fn two_rounds_decide_nothing() {
        assert_eq!(verdict(&[0.1, 0.1], Goal::AtMost(1.0)), Verdict::Undecided);
    }
}
