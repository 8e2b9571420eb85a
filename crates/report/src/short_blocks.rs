//! The checks that were not made because blocks are too short: a run without a reason against it is not thereby known to be steady.

use plumb_model::document::{RunDocument, StepResult};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::{LoadPlan, Mode, Schedule};
use plumb_stats::steady::POINTS_MIN;

/// That growth and swings within blocks were not looked for, of a valid run in which blocks of some setup are too short for it. A
/// trial holds blocks against each other and not seconds.
pub(crate) fn note(document: &RunDocument) -> Option<String> {
    let valid = document.validity.verdict == ValidityVerdict::Valid && document.trial.is_none();
    let plan = |step: &StepResult| {
        document.plan.steps.iter().find(|plan| plan.name == step.name).map(|plan| &plan.load)
    };
    let too_short = |step: &StepResult| {
        let meant_to_hold = plan(step).is_none_or(holds_one_level);
        meant_to_hold && longest_block_s(step).is_some_and(|seconds| (seconds as usize) < POINTS_MIN)
    };
    (valid && document.steps.iter().any(too_short)).then(|| {
        format!("Growth and swings within a block were not looked for: that takes blocks of {POINTS_MIN} s or more.")
    })
}

/// True if the load is one that a steady path would serve at one level.
fn holds_one_level(load: &LoadPlan) -> bool {
    !load.shows_queue()
        && !matches!(load.mode, Mode::Backlog(_))
        && !matches!(load.schedule, Schedule::Steps(_) | Schedule::Ramp { .. })
}

/// Seconds from the first to the last with measured messages, of the longest block; none where there is no measured second.
fn longest_block_s(step: &StepResult) -> Option<u32> {
    let blocks = step.series.chunk_by(|a, b| a.block == b.block);
    let spans = blocks.filter_map(|rows| {
        let measured = || rows.iter().filter(|row| !row.warm_up).map(|row| row.second);
        measured().min().zip(measured().max()).map(|(first, last)| last - first + 1)
    });
    spans.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::observation::SecondRow;

    #[test]
    fn a_block_is_as_long_as_its_measured_seconds_and_the_longest_counts() {
        let row = |block, second, warm_up| SecondRow { block, second, warm_up, ..SecondRow::default() };
        let series =
            vec![row(0, 0, true), row(0, 1, false), row(0, 3, false), row(1, 1, false), row(1, 12, false)];
        let step = |series| StepResult { series, ..StepResult::default() };
        assert_eq!(longest_block_s(&step(series.clone())), Some(12));
        assert_eq!(longest_block_s(&step(series[..3].to_vec())), Some(3));
        assert_eq!(longest_block_s(&step(series[..1].to_vec())), None);
    }
}
