//! A worker that a block lost.

/// A worker that was lost in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWorker {
    /// Its name.
    pub name: String,
    /// What happened.
    pub reason: String,
}
