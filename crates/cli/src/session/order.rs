//! Which block runs when: in every round each step once, in a random order that the seed tells.

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
    let rounds = (0..plan.blocks).flat_map(|round| {
        let order = Random::for_part(plan.seed, u64::from(round)).order(plan.steps.len());
        order.into_iter().map(move |index| (round, index))
    });
    (0..).zip(rounds).map(|(position, (round, index))| Slot { index, round, position }).collect()
}

/// A block's share of the step's measured part; the first blocks get what does not divide.
pub(super) fn share(load: &LoadPlan, blocks: u32, round: u32) -> Share {
    let (blocks, round) = (u64::from(blocks), u64::from(round));
    match load.length {
        Length::Count(count) => Share::Count(count / blocks + u64::from(round < count % blocks)),
        Length::Duration(time) => Share::Time(Nanos(time.0 / blocks)),
    }
}
