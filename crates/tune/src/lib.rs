//! Settings of hosts and brokers: checked against what an ingestion host needs, planned, changed, and put back.
//!
//! | question | function |
//! |---|---|
//! | What is set here, and does it matter? | [`check::check`] |
//! | What to change, in which order? | [`plan::plan`] |
//! | Change it, so that it can be put back whatever happens | [`apply::apply`] |
//! | Put it back | [`revert::revert`] |
//!
//! This crate is the only owner of changes, their journal and their undo: the arms of a trial change the host through it too. A setting is
//! known by its name ([`setting::Setting`]); a tunable ([`tunables`]) knows which settings matter, what they should be, and which counters
//! show that they hurt. Not here: printing, trials. Read `setting.rs`, then `journal.rs`.

pub mod apply;
pub mod check;
mod cpus;
pub mod danger;
mod devices;
pub mod guard;
pub mod host;
mod inverse;
pub mod journal;
mod lock;
mod losses;
mod other_owners;
mod placement;
pub mod plan;
mod queues;
pub mod revert;
pub mod setting;
pub mod steps;
pub mod tunables;
mod window;

pub use lock::Lock;
pub use losses::losses_between;
