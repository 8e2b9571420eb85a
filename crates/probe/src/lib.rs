//! Exerts one resource of this host to find its limit: storage, crypto, memory, network, clock.
//!
//! A probe loads what it measures, so it runs only when asked, says beforehand what it will use, and leaves nothing
//! behind. What it learned is returned in the types of `plumb_model::probe`.
//!
//! Not here: what a running system says of itself (that is `observe`), judgement of what was measured, and anything
//! that changes a setting.

pub mod clock;
mod cpus;
pub mod crypto;
pub mod memory;
pub mod network;
pub mod storage;
