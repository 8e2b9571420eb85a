//! A result in one word, for scripts: `jq -r .outcome`.

use crate::finding::ValidityVerdict;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a run, a trial or a fleet trial. It follows from the rest of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A run that is under way, or was killed.
    Running,
    /// A run or trial that was stopped.
    Interrupted,
    /// A run that ended with an error.
    Failed,
    /// A run whose figures do not show what it was made to show; also a trial with such a run.
    Invalid,
    /// A run some of whose figures may mislead.
    Suspect,
    /// A run without a reason against its figures.
    Valid,
    /// Of a trial: some arm is worse.
    Worse,
    /// Of a trial: no arm is worse, and of some nothing is shown.
    Undecided,
    /// Of a trial: an arm is better, and every other at least equivalent.
    Better,
    /// Of a trial: every arm is equivalent.
    Equivalent,
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum RunState {
    /// Still running, or killed: the last words of a run that could say no more.
    Running,
    /// Everything planned was done.
    Complete,
    /// Stopped by the user; what was measured until then is here.
    Interrupted,
    /// Ended by an error.
    Failed {
        /// The error's message.
        error: String,
    },
}

impl Outcome {
    /// The outcome of a run; `trial` is that of its trial where it is one.
    pub fn of_run(state: &RunState, validity: ValidityVerdict, trial: Option<Outcome>) -> Outcome {
        match (state, validity) {
            (RunState::Running, _) => Outcome::Running,
            (RunState::Interrupted, _) => Outcome::Interrupted,
            (RunState::Failed { .. }, _) => Outcome::Failed,
            (RunState::Complete, ValidityVerdict::Invalid) => Outcome::Invalid,
            (RunState::Complete, validity) => match trial {
                Some(trial) => trial,
                None if validity == ValidityVerdict::Suspect => Outcome::Suspect,
                None => Outcome::Valid,
            },
        }
    }

    /// Of the verdicts on several arms; undecided without any.
    pub fn of_verdicts(verdicts: impl Iterator<Item = Verdict>) -> Outcome {
        let verdicts: Vec<Verdict> = verdicts.collect();
        let any = |verdict| verdicts.contains(&verdict);
        if any(Verdict::Worse) {
            Outcome::Worse
        } else if any(Verdict::Undecided) || verdicts.is_empty() {
            Outcome::Undecided
        } else if any(Verdict::Better) {
            Outcome::Better
        } else {
            Outcome::Equivalent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worse_arm_is_told_before_better_ones_and_nothing_shown_before_a_gain() {
        use Verdict::{Better, Equivalent, Undecided, Worse};
        let of = |verdicts: &[Verdict]| Outcome::of_verdicts(verdicts.iter().copied());
        assert_eq!(of(&[Better, Worse, Undecided]), Outcome::Worse);
        assert_eq!(of(&[Better, Undecided]), Outcome::Undecided);
        assert_eq!(of(&[Better, Equivalent]), Outcome::Better);
        assert_eq!(of(&[Equivalent]), Outcome::Equivalent);
        assert_eq!(of(&[]), Outcome::Undecided);
    }

    #[test]
    fn how_a_run_ended_comes_before_what_it_showed() {
        let of = |state: RunState, validity| Outcome::of_run(&state, validity, None);
        assert_eq!(of(RunState::Interrupted, ValidityVerdict::Invalid), Outcome::Interrupted);
        assert_eq!(of(RunState::Complete, ValidityVerdict::Suspect), Outcome::Suspect);
        assert_eq!(of(RunState::Complete, ValidityVerdict::Valid), Outcome::Valid);
        let failed = RunState::Failed { error: "e".into() };
        assert_eq!(of(failed, ValidityVerdict::Valid), Outcome::Failed);
    }
}
