//! Which block runs when: in every round each step once, in a random order that the seed tells.
//!
//! In a trial two rounds belong together: the second is the first backwards. So of any two arms each stands first in half
//! of the rounds, and a drift that goes on from block to block favours neither. Which of the two stands first in the
//! former round is a fair coin, thrown anew for every two rounds.
//!
//! What that means for p: it rests on the differences of pairs being as likely one way as the other when nothing differs. Blocks that
//! differ only by chance are so in any order, and p is exact. Where the place in the round matters too, independent
//! coins would be exact as well; here the second round takes the opposite sign of the first, the two cancel in the sum of ranks (and in
//! the bets of a trial that stops when it is decided), and p errs, a little, towards "nothing shown".

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
    let orders = match plan.trial {
        Some(_) => there_and_back(plan.seed, steps, plan.blocks),
        None => {
            (0..plan.blocks).map(|round| Random::for_part(plan.seed, u64::from(round)).order(steps)).collect()
        }
    };
    let rounds = (0..).zip(orders);
    let blocks = rounds.flat_map(|(round, order)| order.into_iter().map(move |index| (round, index)));
    (0..).zip(blocks).map(|(position, (round, index))| Slot { index, round, position }).collect()
}

/// An order for each round: a random one, then the same backwards, and so on. Three steps have only three such couples:
/// they take turns, in random order, so that six rounds hold every order once.
fn there_and_back(seed: u64, steps: usize, rounds: u32) -> Vec<Vec<usize>> {
    let mut random = Random::for_part(seed, 0);
    let mut orders = Vec::new();
    let mut middles = Vec::new();
    while orders.len() < rounds as usize {
        let mut order = random.order(steps);
        if steps == 3 {
            if middles.is_empty() {
                middles = random.order(steps);
            }
            let middle = middles.pop();
            // Of the other two, either is as likely to stay first.
            if let Some(at) = order.iter().position(|step| Some(*step) == middle) {
                order.swap(1, at);
            }
        }
        let back = order.iter().rev().copied().collect();
        orders.extend([order, back]);
    }
    orders.truncate(rounds as usize);
    orders
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
    use std::collections::BTreeSet;

    /// In how many of the rounds one step stands before another.
    fn before(orders: &[Vec<usize>], first: usize, second: usize) -> usize {
        let place = |order: &[usize], step| order.iter().position(|index| *index == step).unwrap();
        orders.iter().filter(|order| place(order, first) < place(order, second)).count()
    }

    #[test]
    fn of_any_two_steps_of_a_trial_each_stands_first_in_half_of_the_rounds() {
        for (steps, seed) in (2..=6).flat_map(|steps| (0..50).map(move |seed| (steps, seed))) {
            let orders = there_and_back(seed, steps, 12);
            assert_eq!(orders.len(), 12);
            for (first, second) in (0..steps).flat_map(|a| (0..a).map(move |b| (a, b))) {
                assert_eq!(before(&orders, first, second), 6, "{steps} steps, seed {seed}: {orders:?}");
            }
        }
    }

    #[test]
    fn six_rounds_of_three_steps_hold_every_order_once() {
        for seed in 0..50 {
            let orders = there_and_back(seed, 3, 12);
            for six in orders.chunks(6) {
                assert_eq!(six.iter().collect::<BTreeSet<_>>().len(), 6, "{orders:?}");
            }
        }
    }

    #[test]
    fn which_of_two_steps_stands_first_in_the_first_round_is_a_fair_coin() {
        for steps in [3, 4] {
            let first = (0..4_000).filter(|seed| {
                let orders = there_and_back(*seed, steps, 2);
                before(&orders[..1], 0, 1) == 1
            });
            let heads = first.count();
            // Five standard deviations of 4,000 throws are 158.
            assert!(heads.abs_diff(2_000) < 158, "{steps} steps: {heads}");
        }
    }

    #[test]
    fn two_seeds_give_two_orders_and_one_seed_gives_one() {
        assert_eq!(there_and_back(7, 3, 12), there_and_back(7, 3, 12));
        assert_ne!(there_and_back(7, 3, 12), there_and_back(8, 3, 12));
    }
}
