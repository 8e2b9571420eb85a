//! The number of brokers that a target load needs: by physics, by a careful plan, and the bound that decides it.
//!
//! [`size`] is a pure function of a [`Target`] and a [`Machine`]. *Physics* is the hard bound: a device, a NIC or a
//! processor cannot do more than was measured of it. *Plan* is the same load under a vendor's rules for headroom (a
//! zone lost, brokers rebalancing, consumers behind). A figure that is not known leaves its bound unknown, and the result says
//! so: the count is then a lower bound. What is assumed is listed with whose assumption it is ([`assumptions`]).
//!
//! Not here: where the words come from (the program's), how it looks (the `report` crate), measuring. Read
//! [`bounds`](self::Bound) next: `bounds/` has one function for each, `headroom.rs` the rules of the plan.

mod advice;
pub mod assumptions;
mod bound;
mod bounds;
mod clusters;
mod counts;
mod failure;
mod flip;
mod flows;
mod fullest;
mod headroom;
mod input;
mod kept;
mod load;
mod machine;
mod measured;
mod published;
pub mod quantity;
mod result;
mod target;
#[cfg(test)]
mod tests;
mod zones;

pub use assumptions::{Assumed, Assumptions};
pub use bound::{Bound, BoundName, Growth, Known, Limit, Need, Planned, Resource, Slack, Standing, Unit};
pub use clusters::Clusters;
pub use failure::FailureMode;
pub use flip::{FlipTest, RAISE};
pub use flows::Flows;
pub use input::{Figure, Input, Source};
pub use load::Ingress;
pub use machine::{CpuCost, Machine};
pub use measured::{Measured, MeasuredError, from_run};
pub use published::{PublishedError, PublishedMachine, published};
pub use result::{Capacity, Count};
pub use target::{Flush, Load, Reserve, Target, Tiering, Tls};
pub use zones::CrossZone;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A target or a machine that cannot be: whoever wrote it has to correct it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CapacityError {
    /// The load is not told.
    #[error("the load is not known: got {got}, expected messages/s and their size, or bytes/s")]
    NoLoad {
        /// The words that were given.
        got: &'static str,
    },
    /// A figure outside what can be.
    #[error("{what} is {}; expected {expected}", plain(*got))]
    OutOfRange {
        /// The name of the figure, with its article.
        what: &'static str,
        /// As given.
        got: f64,
        /// The range of values that it can have, in words.
        expected: &'static str,
    },
    /// One zone has nobody to take over.
    #[error("a zone cannot be held in reserve where there is only one zone")]
    OneZone,
}

/// A figure as it was given, without the hundreds of digits of one that is far out.
fn plain(got: f64) -> String {
    if got.abs() < 1e15 && (got == 0.0 || got.abs() >= 1e-6) { got.to_string() } else { format!("{got:e}") }
}

/// The needs of a target: the number of brokers of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// The target as it was given.
    pub target: Target,
    /// The kind of broker.
    pub machine: Machine,
    /// The assumptions that some bound rests on.
    pub assumptions: Vec<Input>,
    /// The load in each way in which the target can be read; more than one where its figures disagree.
    pub readings: Vec<Reading>,
    /// Figures of the target that disagree, and demands that no number of brokers meets, each as a sentence.
    pub contradictions: Vec<String>,
    /// Cautions for a reader of the figures, each as a sentence; the figures stand.
    pub cautions: Vec<String>,
}

/// The target read in one way, and what it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The figures that this reading takes, in words.
    pub name: String,
    /// The load.
    pub ingress: Ingress,
    /// The needs of that load.
    pub capacity: Capacity,
}

/// One load on brokers of one kind: what every bound is worked out from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) target: &'a Target,
    pub(crate) machine: &'a Machine,
    pub(crate) assumptions: &'a Assumptions,
    pub(crate) ingress: Ingress,
}

/// The number of brokers that the target needs. `assumptions` are those of [`Assumptions::default`] unless the user knows better.
///
/// # Errors
/// [`CapacityError`] when the target or the machine cannot be. Figures that disagree are no error but a finding.
pub fn size(target: &Target, machine: &Machine, assumptions: &Assumptions) -> Result<Sizing, CapacityError> {
    target.check()?;
    machine.check()?;
    let load::Readings { loads, contradiction } = load::readings(target)?;
    let several = contradiction.is_some();
    let mut contradictions = Vec::from_iter(contradiction);
    let mut readings = Vec::new();
    for (name, ingress) in loads {
        let capacity = counts::capacity(&Case { target, machine, assumptions, ingress })?;
        // Which reading it is of matters only where there are several.
        let named = |text: &String| if several { format!("{name}: {text}") } else { text.clone() };
        contradictions.extend(capacity.unreachable.iter().map(named));
        readings.push(Reading { name, ingress, capacity });
    }
    Ok(Sizing {
        assumptions: used(&readings),
        target: target.clone(),
        machine: machine.clone(),
        readings,
        contradictions,
        cautions: machine.cautions(target).into_iter().chain(kept::cautions(target)).collect(),
    })
}

/// The assumptions that known bounds rest on, each once.
fn used(readings: &[Reading]) -> Vec<Input> {
    let mut used: Vec<Input> = Vec::new();
    for input in readings.iter().flat_map(|reading| reading.capacity.bounds.iter()).flat_map(Bound::inputs) {
        if input.is_assumed() && !used.contains(input) {
            used.push(input.clone());
        }
    }
    used
}
