//! From bounds to the counts of brokers: the largest decides, and what is left of the others is said.

use super::bound::{Bound, BoundName, Need, Slack, Standing, Unit};
use super::clusters::{Clusters, clusters};
use super::failure::{self, FailureMode};
use super::flip::{self, FlipTest};
use super::flows::{Flows, flows};
use super::headroom::utilisation;
use super::machine::in_range;
use super::zones::{CrossZone, cross_zone};
use super::{CapacityError, Case, bounds, kept, words};
use serde::{Deserialize, Serialize};

/// What a load needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// By the hard bounds.
    pub physics: Count,
    /// With headroom.
    pub plan: Count,
    /// The plan in clusters; absent where the target does not say how many brokers one may have.
    pub clusters: Option<Clusters>,
    /// So many brokers bear the share of the load that a run has already put on one; no bound, but proof.
    pub proven_brokers: Option<u64>,
    /// Brokers that the target says are there.
    pub stated: Option<Count>,
    /// What tiered storage keeps, one copy of all; absent without it, and where the retention is not told.
    pub tiered_bytes: Option<f64>,
    /// What crosses from one zone to another; absent where there is one zone.
    pub cross_zone: Option<CrossZone>,
    /// Whether the count of physics is decided by a rate; else by space, copies or numbers of things.
    pub throughput_bound: bool,
    /// Every bound.
    pub bounds: Vec<Bound>,
    /// With something down.
    pub failure_modes: Vec<FailureMode>,
    /// How to find out whether the binding bound is what binds.
    pub flip_test: Option<FlipTest>,
    /// What no number of brokers reaches, or what disagrees with a measurement.
    pub unreachable: Vec<String>,
    /// What to do, one sentence each.
    pub advice: Vec<String>,
}

/// A number of brokers and what decides it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// So many.
    pub brokers: u64,
    /// The bound that asks for most of them; of a stated count, the fullest. Absent when no bound is known.
    pub binding: Option<BoundName>,
    /// The share of the fullest bound's resource that is used, by the hard bound; absent when none is a rate.
    pub fullest_share: Option<f64>,
    /// The rate that is fullest.
    pub fullest: Option<BoundName>,
    /// Bounds of which a figure is missing: the count is a lower bound when there are any.
    pub unknown_bounds: Vec<BoundName>,
    /// What passes through each broker then.
    pub flows: Flows,
}

/// More brokers than this are refused: past it a count and what is added to it for zones is no longer an exact number.
const MOST_BROKERS: f64 = 1e15;

/// Works everything out for one reading of the load.
pub(super) fn capacity(case: &Case) -> Result<Capacity, CapacityError> {
    let mut bounds = bounds::all(case);
    countable(&bounds)?;
    let physics = largest(&bounds, Bound::physics_brokers);
    let plan = largest(&bounds, planned);
    let zones = u64::from(case.target.zones);
    let physics_brokers = physics.map_or(1, |(_, need)| need.count);
    // A plan is never below physics: a vendor's rule may be for another device than the one that binds.
    let plan_brokers = plan.map_or(1, |(_, need)| need.count).max(physics_brokers).div_ceil(zones) * zones;
    let count = |brokers, binding: Option<(BoundName, Need)>, bounds: &[Bound]| {
        let fullest = fullest(bounds, brokers);
        Count {
            brokers,
            binding: binding.map(|(name, _)| name),
            fullest_share: fullest.map(|(_, share)| share),
            fullest: fullest.map(|(name, _)| name),
            unknown_bounds: unknown(bounds),
            flows: flows(case, brokers),
        }
    };
    let stated = case.target.brokers.map(|brokers| count(brokers, fullest_any(&bounds, brokers), &bounds));
    let throughput_bound = physics
        .and_then(|(name, _)| bounds.iter().find(|bound| bound.name == name))
        .is_some_and(Bound::is_throughput);
    let mut capacity = Capacity {
        physics: count(physics_brokers, physics, &bounds),
        plan: count(plan_brokers, plan, &bounds),
        clusters: clusters(case, plan_brokers),
        proven_brokers: proven(case),
        stated,
        tiered_bytes: kept::tiered_bytes(case),
        cross_zone: cross_zone(case),
        throughput_bound,
        failure_modes: failure::modes(case, &bounds, physics_brokers, plan_brokers),
        flip_test: flip::flip_test(case, &bounds, physics_brokers),
        unreachable: Vec::new(),
        advice: Vec::new(),
        bounds: Vec::new(),
    };
    capacity.unreachable = unreachable(case, &bounds, &capacity);
    capacity.advice = super::advice::advice(case, &bounds, &capacity);
    for bound in &mut bounds {
        give_slack(bound, physics_brokers, plan_brokers);
    }
    capacity.bounds = bounds;
    Ok(capacity)
}

/// Refuses a target of which a bound asks for more than can be counted.
fn countable(bounds: &[Bound]) -> Result<(), CapacityError> {
    let needs = bounds.iter().filter_map(Bound::known).flat_map(|known| {
        let planned = known.plan.as_ref().map(|plan| plan.need);
        known.physics.into_iter().chain(planned)
    });
    let most = needs.map(|need| need.exact).max_by(f64::total_cmp);
    in_range("the number of brokers, partitions or connections that this needs", most, "at most 1e15", |n| {
        n <= MOST_BROKERS
    })
}

/// The bound that asks for most; of equals the first in the registry, where rates stand before space and copies.
fn largest(bounds: &[Bound], need: fn(&Bound) -> Option<Need>) -> Option<(BoundName, Need)> {
    let needs = bounds.iter().filter_map(|bound| Some((bound.name, need(bound)?)));
    needs.rev().max_by(|a, b| a.1.exact.total_cmp(&b.1.exact))
}

fn planned(bound: &Bound) -> Option<Need> {
    bound.known()?.plan.as_ref().map(|plan| plan.need)
}

/// The rate of which most is used by so many brokers, with the share.
pub(super) fn fullest(bounds: &[Bound], brokers: u64) -> Option<(BoundName, f64)> {
    let rates = bounds.iter().filter(|bound| bound.is_throughput());
    let shares = rates.filter_map(|bound| {
        let need = bound.physics_brokers()?;
        Some((bound.name, 1.0 / need.carried_by(brokers as f64)))
    });
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The bound of any kind of which most is used.
fn fullest_any(bounds: &[Bound], brokers: u64) -> Option<(BoundName, Need)> {
    let needs = bounds.iter().filter_map(|bound| Some((bound.name, bound.physics_brokers()?)));
    needs.min_by(|a, b| a.1.carried_by(brokers as f64).total_cmp(&b.1.carried_by(brokers as f64)))
}

fn unknown(bounds: &[Bound]) -> Vec<BoundName> {
    let unknown = bounds.iter().filter(|bound| matches!(bound.standing, Standing::Unknown { .. }));
    unknown.map(|bound| bound.name).collect()
}

fn give_slack(bound: &mut Bound, physics_brokers: u64, plan_brokers: u64) {
    let Standing::Known(known) = &mut bound.standing else { return };
    let Some(need) = known.physics else { return };
    known.slack = match known.unit {
        Unit::Brokers => Some(Slack {
            at_physics: Some(need.carried_by(physics_brokers as f64)),
            at_plan: Some(need.carried_by(plan_brokers as f64)),
        }),
        Unit::Partitions | Unit::Connections => known.have.map(|have| {
            let left = Some(need.carried_by(have));
            Slack { at_physics: left, at_plan: left }
        }),
    };
}

/// Brokers that bear the share that was carried in a run: what is written goes with the copies.
fn proven(case: &Case) -> Option<u64> {
    let carried = case.machine.proven_ingress_bytes_per_s.as_ref()?.value;
    let copies = f64::from(case.target.replication) / f64::from(case.machine.proven_replication?);
    Some(Need::of(case.ingress.peak_bytes_per_s * copies / carried, super::bound::Growth::Load).count)
}

fn unreachable(case: &Case, bounds: &[Bound], capacity: &Capacity) -> Vec<String> {
    let mut findings = Vec::new();
    for bound in bounds {
        let Some(known) = bound.known() else { continue };
        if let (Some(need), Some(have), unit @ (Unit::Partitions | Unit::Connections)) =
            (known.physics, known.have, known.unit)
            && bound.is_short()
        {
            let things = if unit == Unit::Partitions { "partitions" } else { "connections" };
            findings.push(format!(
                "No number of brokers reaches the target: {} needs {} {things}, and there are {}.",
                bound.name.words(),
                need.count,
                words::three(have)
            ));
        }
    }
    if let Some(stated) = case.target.brokers.filter(|stated| *stated < capacity.physics.brokers) {
        let binding = capacity.physics.binding.map_or("what is known", BoundName::words);
        findings.push(format!(
            "{stated} brokers cannot carry it: {binding} asks for {}.",
            capacity.physics.brokers
        ));
    }
    if let Some(proven) = capacity.proven_brokers.filter(|proven| *proven < capacity.physics.brokers)
        && capacity.throughput_bound
    {
        let binding = capacity.physics.binding.map_or("a bound", BoundName::words);
        findings.push(format!(
            "The run put more on one broker than {binding} allows ({proven} brokers would do, against {}): a figure is wrong, or memory \
             absorbed what the device did not take.",
            capacity.physics.brokers
        ));
    }
    findings
}

/// What a stated number of brokers is bound by, when it is not by throughput.
pub(super) fn not_throughput(case: &Case, count: &Count) -> Option<String> {
    let share = count.fullest_share.filter(|share| *share < utilisation(case).0)?;
    let fullest = count.fullest?.words();
    let share = words::three(share * 100.0);
    Some(format!(
        "{} brokers are not throughput-bound: the fullest rate that is known is {fullest}, {share} % of it used. Retention, \
         isolation, failover or a bound that is not known decides their number.",
        count.brokers
    ))
}
