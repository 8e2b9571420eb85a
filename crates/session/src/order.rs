//! Which block runs when: in every round each step once, in a random order that the seed tells.
//!
//! The order of a round is drawn for that round alone, also in a trial. That is what its p rests on: whatever the host did
//! in the meantime, each pair's difference was as likely to come out the other way round, whatever the other pairs' did. Orders that
//! balance each other over several rounds (the second round backwards) spoil that: a disturbance that comes back every other round
//! meets both with the same sign, and equal arms are told apart two or three times as often as promised.

use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::plan::{Length, LoadPlan, Plan};
use plumb_model::units::Nanos;

/// The place of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Which step.
    pub(super) index: usize,
    /// Which round.
    pub(super) round: u32,
    /// Place in the order of all blocks.
    pub(super) position: u32,
}

/// All blocks of a plan, in the order in which they run.
pub(super) fn order(plan: &Plan) -> Vec<Slot> {
    let steps = plan.steps.len();
    let orders = (0..plan.blocks).map(|round| order_of_round(plan.seed, round, steps));
    let rounds = (0..).zip(orders);
    let blocks = rounds.flat_map(|(round, order)| order.into_iter().map(move |index| (round, index)));
    (0..).zip(blocks).map(|(position, (round, index))| Slot { index, round, position }).collect()
}

/// The steps in the order of one round.
fn order_of_round(seed: u64, round: u32, steps: usize) -> Vec<usize> {
    Random::for_part(seed, u64::from(round)).order(steps)
}

/// A block's share of the step's measured part; the first blocks get what does not divide.
pub(super) fn share(load: &LoadPlan, blocks: u32, round: u32) -> Share {
    let (blocks, round) = (u64::from(blocks), u64::from(round));
    match load.length {
        Length::Count(count) => Share::Count(count / blocks + u64::from(round < count % blocks)),
        Length::Duration(time) => Share::Time(Nanos(time.0 / blocks)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_stats::e_process::SignEProcess;
    use plumb_stats::signed_rank::signed_rank;

    const TRIALS: u64 = 2_000;
    const ALPHA: f64 = 0.05;

    fn place(order: &[usize], step: usize) -> usize {
        order.iter().position(|index| *index == step).unwrap()
    }

    /// Differences between the reference and an arm that equals it, in trials with the reference's repetition, on a host whose
    /// speed swings with a period of so many blocks.
    fn differences(seed: u64, period: f64, rounds: u32) -> Vec<f64> {
        let mut host = Random::for_part(seed, u64::MAX);
        let phase = host.unit() * std::f64::consts::TAU;
        let mut block = |at: usize| {
            0.1 * (std::f64::consts::TAU * at as f64 / period + phase).sin() + 0.03 * host.normal()
        };
        let round = |round: u32| {
            let order = order_of_round(seed, round, 3);
            let blocks: Vec<f64> = (0..3).map(|at| block(3 * round as usize + at)).collect();
            blocks[place(&order, 1)] - blocks[place(&order, 0)]
        };
        (0..rounds).map(round).collect()
    }

    fn share(told_apart: impl Fn(u64) -> bool) -> f64 {
        (0..TRIALS).filter(|seed| told_apart(*seed)).count() as f64 / TRIALS as f64
    }

    #[test]
    fn a_disturbance_that_comes_back_every_other_round_does_not_tell_equal_arms_apart() {
        for period in [5.0, 5.5, 6.0, 6.5, 7.0] {
            let fixed = share(|seed| {
                signed_rank(&differences(seed, period, 12)).is_some_and(|ranks| ranks.p_two_sided <= ALPHA)
            });
            assert!(fixed <= 0.065, "period {period}, 12 pairs: {fixed}");
            let looking = share(|seed| {
                let mut bets = SignEProcess::new();
                differences(seed, period, 40).into_iter().for_each(|difference| {
                    bets.push(difference);
                });
                bets.anytime_p() <= ALPHA
            });
            assert!(looking <= 0.065, "period {period}, looked at after each of 40 pairs: {looking}");
        }
    }

    #[test]
    fn which_of_two_steps_stands_first_is_a_fair_coin_that_knows_nothing_of_the_round_before() {
        for steps in [2, 3, 4] {
            let heads = |round: u32, seed: u64| {
                let order = order_of_round(seed, round, steps);
                place(&order, 0) < place(&order, 1)
            };
            let seeds = || 0..4_000;
            let first = seeds().filter(|seed| heads(0, *seed)).count();
            let alike = seeds().filter(|seed| heads(4, *seed) == heads(5, *seed)).count();
            // Five standard deviations of 4,000 throws are 158.
            assert!(first.abs_diff(2_000) < 158, "{steps} steps: {first} heads");
            assert!(alike.abs_diff(2_000) < 158, "{steps} steps: {alike} couples of rounds alike");
        }
    }

    #[test]
    fn two_seeds_give_two_orders_and_one_seed_gives_one() {
        let orders = |seed| (0..12).map(move |round| order_of_round(seed, round, 3));
        assert!(orders(7).eq(orders(7)));
        assert!(!orders(7).eq(orders(8)));
    }
}
