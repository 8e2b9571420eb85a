//! The place of one block among the blocks of a run.

/// The place of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// The step's place in the plan, from 0.
    pub(super) index: usize,
    /// The round, from 0.
    pub(super) round: u32,
    /// Place in the order of all blocks.
    pub(super) position: u32,
}
