//! The values of a metric in each pair of blocks of two arms.

use super::metric::Metric;
use super::{Arm, Opponents, Trial};
use plumb_model::trial::PairValues;

/// The logarithm of each pair's ratio.
pub(super) fn log_ratios(values: &[PairValues]) -> Vec<f64> {
    values.iter().map(|pair| pair.ratio().ln()).collect()
}

/// The metric in each round that counts and in which both arms have it.
pub(super) fn values(trial: &Trial, metric: &Metric, of: Opponents) -> Vec<PairValues> {
    let in_block = |arm: &Arm, round: u32| metric.value(arm.blocks.get(&round)?);
    of_rounds(trial, of, in_block)
}

/// The pairs of the rounds that count, of a figure that both arms' blocks have.
pub(super) fn of_rounds(
    trial: &Trial,
    Opponents { arm, against }: Opponents,
    figure: impl Fn(&Arm, u32) -> Option<f64>,
) -> Vec<PairValues> {
    let pair =
        |&round: &u32| Some(PairValues { round, against: figure(against, round)?, arm: figure(arm, round)? });
    trial.rounds.kept.iter().filter_map(pair).collect()
}
