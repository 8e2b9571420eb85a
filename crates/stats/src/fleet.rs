//! Two groups of servers, before and after a change: how much of the difference is the change's.
//!
//! The server is the unit of analysis, never the sample: a server's days share its hardware, its customers and its moment.
//! [`change`] makes one number of a server (how its metric changed, on a logarithmic scale), [`design`] holds the groups
//! against each other at equal load, [`permutation`] says how often chance alone does as much. [`pre_trend`], [`drift`], [`overlap`],
//! [`surge`], [`influence`] and [`outliers`] look for what would make that comparison wrong, [`totals`] is a second opinion on counts, [`panel`] one on surges, [`lag`] looks for stamps that do not belong together, [`zero_heavy`] is for metrics that are mostly 0, [`no_events`] for those that a change takes away altogether,
//! [`lost_servers`] is for servers that the change takes out, [`course`] for those with gaps, [`naive`] has what not to do, and [`assign`] makes the groups beforehand.
//!
//! Not here: reading figures, and what a result means for a fleet (the `judge` crate).

pub mod assign;
pub mod change;
pub mod course;
mod degrees_of_freedom;
pub mod design;
pub mod drift;
pub mod influence;
pub mod lag;
pub mod lost_servers;
pub mod naive;
pub mod no_events;
pub mod outliers;
pub mod overlap;
pub mod panel;
pub mod permutation;
pub mod pre_trend;
pub mod surge;
pub mod totals;
pub mod zero_heavy;

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod simulations;
