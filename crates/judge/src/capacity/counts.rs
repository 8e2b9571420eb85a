//! From bounds to the counts of brokers: the largest bound decides, and the others have headroom.

use super::bound::{Bound, BoundName, Need, Slack, Standing, Unit};
use super::clusters::clusters;
use super::flows::flows;
use super::fullest::fullest;
use super::input::in_range;
use super::result::{Capacity, Count};
use super::zones::cross_zone;
use super::{CapacityError, Case, advice, bounds, failure, flip, kept};
use plumb_model::figure;

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
            fullest_share: fullest.map(|fullest| fullest.share),
            fullest: fullest.map(|fullest| fullest.bound),
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
    capacity.advice = advice::advice(case, &bounds, &capacity);
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
                figure::count(need.count),
                figure::short(have)
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
