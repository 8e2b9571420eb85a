//! The order of the blocks: in every round each step once, in a random order by the seed.
//!
//! The order of a round is drawn for that round alone, also in a trial. The trial's p rests on that: whatever the host did in the
//! meantime, each pair's difference was as likely to come out the other way round, whatever the other pairs' did. Orders that
//! balance each other over several rounds (the second round backwards) spoil that: a disturbance that comes back every other
//! round meets both with the same sign, and equal arms are told apart two or three times as often as promised.

use super::block::{self, Job};
use super::checkpoint::CandidateCheckpoint;
use super::measured::Measured;
use super::next_block::{Ended, NextBlock, Outcome, Planned};
use super::slot::Slot;
use crate::context::RunContext;
use crate::error::Result;
use crate::run_dir::RunDir;
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::plan::{Length, LoadPlan, Plan};
use plumb_model::units::Nanos;
use std::collections::{BTreeSet, VecDeque};

/// The blocks of a plan that are not done, in the order that was drawn; in a trial until it is decided.
pub(super) struct DrawnOrder {
    left: VecDeque<Slot>,
    /// Round of the block that ended last.
    last_round: Option<u32>,
}

impl DrawnOrder {
    pub(super) fn new(document: &RunDocument) -> Self {
        let blocks = document.steps.iter().flat_map(|step| &step.blocks);
        let done: BTreeSet<u32> = blocks.map(|block| block.position).collect();
        let left = order(&document.plan).into_iter().filter(|slot| !done.contains(&slot.position));
        DrawnOrder { left: left.collect(), last_round: None }
    }
}

impl NextBlock for DrawnOrder {
    fn next(&mut self, measured: &mut Measured, context: &RunContext) -> Result<Option<Planned>> {
        let document = &measured.record.document;
        if let Some(round) = self.last_round.take()
            && let Some(reason) = decided(document, round)
        {
            context.note(&format!("plumb: decided after {} pairs: {reason}", round + 1));
            return Ok(None);
        }
        let Some(slot) = self.left.pop_front() else { return Ok(None) };
        let (plan, resumed) = (&document.plan, document.run.resumed.len());
        let step = &plan.steps[slot.index];
        let job = Job {
            slot,
            turn: slot.round,
            share: share(&step.load, plan.blocks, slot.round),
            seed: plan.seed,
            shown: true,
            title: title(plan, slot),
            topic: block::topic(step, slot, resumed),
            own_topic: block::has_own_topic(step),
            give_up: None,
            needs_answers: false,
            step: step.clone(),
        };
        Ok(Some(Planned { job, apart: None, arm: None }))
    }

    fn ended(&mut self, job: &Job, ended: Ended, _: &mut Measured) -> Outcome {
        self.last_round = Some(job.slot.round);
        match ended.measured {
            true => Outcome::Block,
            false => Outcome::Nothing,
        }
    }

    fn candidates(&self, _: usize, _: &RunDir) -> Vec<CandidateCheckpoint> {
        Vec::new()
    }
}

/// The reason why a trial that stops when it is decided may stop after a block of this round; none before the round is whole.
fn decided(document: &RunDocument, round: u32) -> Option<String> {
    let in_round = |step: &StepResult| step.blocks.iter().any(|block| block.block == round);
    document.steps.iter().all(in_round).then(|| plumb_judge::trial::decided(document))?
}

/// The title of a block while it runs.
fn title(plan: &Plan, slot: Slot) -> String {
    let (position, steps) = (u64::from(slot.position), plan.steps.len() as u64);
    let name = &plan.steps[slot.index].name;
    if plan.trial.is_none() {
        return format!("block {}/{}  {name}", position + 1, u64::from(plan.blocks) * steps);
    }
    let (pair, in_round) = (position / steps + 1, position % steps + 1);
    format!("pair {pair}/{}, block {in_round}/{steps}  {name}", plan.blocks)
}

/// All blocks of a plan, in the order in which they run.
fn order(plan: &Plan) -> Vec<Slot> {
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
fn share(load: &LoadPlan, blocks: u32, round: u32) -> Share {
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
