//! Trials of known truth: what was put in is what comes out, a file for each thing that is proved.

mod counts;
mod doubts;
mod estimates;
mod faults;
mod guards;
mod promises;
mod rounds;
mod simulated;
mod starts;
mod stopping;
pub(crate) mod trials;
