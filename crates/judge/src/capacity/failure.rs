//! The counts with one broker or one zone down.
//!
//! The survivors carry the whole load with all its copies. That is the state after the copies that were lost have been made anew,
//! which a lost broker comes to; a lost zone with as many copies as zones has nowhere to make them, and is then counted a little
//! too hard. Storage is counted for a lost broker only, for the same reason.

use super::Case;
use super::bound::{Bound, BoundName, Growth, Resource, rounded_up};
use super::fullest::fullest;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The cluster with something down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureMode {
    /// The part that is down.
    pub down: Cow<'static, str>,
    /// Brokers, by the hard bounds, so that those left carry the load.
    pub physics_brokers: u64,
    /// Brokers of the plan that are left.
    pub plan_brokers_left: u64,
    /// The rate of which those use most; absent when none is known.
    pub fullest: Option<BoundName>,
    /// The share of it that is used, by the hard bound.
    pub fullest_share: Option<f64>,
    /// True if the plan's survivors carry the load by the hard bounds.
    pub plan_carries: bool,
}

pub(super) fn modes(case: &Case, bounds: &[Bound], physics: u64, plan: u64) -> Vec<FailureMode> {
    let zones = u64::from(case.target.zones);
    let need = |counted: fn(&Bound) -> bool| {
        let counted = bounds.iter().filter(|bound| counted(bound));
        counted.filter_map(Bound::physics_brokers).map(|need| need.exact).fold(0.0, f64::max)
    };
    let broker = need(|bound| bound.physics_brokers().is_some_and(|need| need.growth != Growth::Fixed));
    let zone = need(|bound| bound.is_throughput() && bound.resource != Resource::Storage);
    let mode = |down: &'static str, physics_brokers: u64, left: u64, needed: f64| {
        let fullest = fullest(bounds, left);
        FailureMode {
            down: down.into(),
            physics_brokers,
            plan_brokers_left: left,
            fullest: fullest.map(|fullest| fullest.bound),
            fullest_share: fullest.map(|fullest| fullest.share),
            plan_carries: left > 0 && rounded_up(needed) <= left,
        }
    };
    let of_broker = physics.max(rounded_up(broker) + 1);
    let mut modes = vec![mode("one broker", of_broker, plan.saturating_sub(1), broker)];
    if zones > 1 {
        let survivors_of = |exact: f64| rounded_up(exact * zones as f64 / (zones - 1) as f64);
        // Who is to bear the loss of a zone has to bear that of a broker in it.
        let brokers = of_broker.max(survivors_of(zone)).div_ceil(zones) * zones;
        modes.push(mode("one zone", brokers, plan - plan / zones, zone));
    }
    modes
}
