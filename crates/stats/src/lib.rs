//! Numbers in, estimates out.
//!
//! [`histogram`] keeps times with an exact account beside them; [`distribution`] turns one into the figures of a run
//! document, each only where there are samples enough; [`interval`] says how far to trust a mean or a quantile;
//! [`figure`] is the middle of a few short blocks, by the one [`median`]; [`paired`] compares two settings over paired blocks, on [`signed_rank`], and
//! [`multiple`] allows for having made many comparisons; [`power`] says beforehand what a comparison can show, and [`e_process`]
//! lets one look after every pair;
//! [`steady`] looks for a change within a series, [`change_point`] for many, [`warm_up`] for the end of a block's beginning, and [`trend`] for a direction; [`knee`] tells where a rate stops rising
//! with the number of clients, and [`variability`] where it begins to vary. [`clock_offset`] bounds how far two clocks differ. [`gaussian_process`] learns a function of many settings from few noisy blocks. [`fleet`] holds two groups of servers against each other.
//!
//! Everything is a pure function of its arguments: what is random takes a seed. Not here: input and output, clocks,
//! and what an estimate means for a run (that is the `judge` crate).

pub mod autocorrelation;
pub mod change_point;
pub mod clock_offset;
pub mod distribution;
pub mod e_process;
pub mod ends;
pub mod figure;
pub mod fleet;
pub mod gaussian_process;
pub mod histogram;
pub mod interval;
pub mod knee;
pub mod law;
pub mod median;
pub mod multiple;
pub mod paired;
pub mod power;
pub mod rank_sum;
mod selection;
pub mod signed_rank;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod simulations;
pub mod steady;
pub mod trend;
pub mod variability;
pub mod warm_up;

pub use plumb_model::random;
