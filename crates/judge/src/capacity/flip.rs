//! The flip test: raise the resource that binds by a quarter, and capacity must rise; raise any other, and it must not.
//!
//! The expected gain is worked out before anybody does the test, so that the result can contradict the model.

use super::Case;
use super::bound::{Bound, BoundName, Resource, Unit};
use serde::{Deserialize, Serialize};

/// The factor by which a resource is raised.
pub const RAISE: f64 = 1.25;
/// A gain from which the resource counts as the one that binds. Ours.
const CONFIRMS: f64 = 0.10;
/// A gain below which another resource counts as one that does not. Ours.
const OTHERS: f64 = 0.05;

/// The experiment that shows whether the binding bound is the true one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlipTest {
    /// The bound.
    pub bound: BoundName,
    /// The resource to raise by a quarter.
    pub resource: Resource,
    /// The load that the cluster of physics carries, in bytes/s from producers.
    pub capacity_bytes_per_s: f64,
    /// The load that it should carry with the resource raised, in bytes/s from producers.
    pub raised_bytes_per_s: f64,
    /// The gain, as a share; 0.25 unless another bound comes first.
    pub gain_expected: f64,
    /// True if the gain is large enough to confirm the bound.
    pub separates: bool,
    /// The bound that comes next.
    pub next: Option<BoundName>,
    /// Its distance above the capacity, as a share of the capacity.
    pub next_above: Option<f64>,
    /// A gain from which the bound is confirmed.
    pub confirms_from: f64,
    /// A gain of any other resource, raised alike, up to which the bound still stands.
    pub others_below: f64,
}

pub(super) fn flip_test(case: &Case, bounds: &[Bound], brokers: u64) -> Option<FlipTest> {
    let rates = bounds.iter().filter(|bound| bound.is_throughput());
    let limits: Vec<(&Bound, f64)> = rates
        .filter_map(|bound| {
            let known = bound.known()?;
            let units = if known.unit == Unit::Brokers { brokers as f64 } else { known.have? };
            Some((bound, known.physics?.carried_by(units) * case.ingress.peak_bytes_per_s))
        })
        .filter(|(_, limit)| limit.is_finite())
        .collect();
    let lowest = |limits: &mut dyn Iterator<Item = (&Bound, f64)>| {
        limits.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(bound, limit)| (bound.name, bound.resource, limit))
    };
    let (bound, resource, capacity) = lowest(&mut limits.iter().copied())?;
    let raised = limits.iter().map(|(bound, limit)| {
        let factor = if bound.resource == resource { RAISE } else { 1.0 };
        (*bound, limit * factor)
    });
    let (.., raised_bytes_per_s) = lowest(&mut { raised })?;
    let others = limits.iter().copied().filter(|(bound, _)| bound.resource != resource);
    let next = lowest(&mut { others });
    let gain_expected = raised_bytes_per_s / capacity - 1.0;
    Some(FlipTest {
        bound,
        resource,
        capacity_bytes_per_s: capacity,
        raised_bytes_per_s,
        gain_expected,
        separates: gain_expected >= CONFIRMS,
        next: next.map(|(name, ..)| name),
        next_above: next.map(|(.., limit)| limit / capacity - 1.0),
        confirms_from: CONFIRMS,
        others_below: OTHERS,
    })
}
