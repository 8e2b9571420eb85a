//! From a scenario to a plan: defaults filled in, sweeps expanded, bounds checked, origins kept.
//!
//! Pure. The caller says where each written value stood ([`Sources`]); the plan says the same of each resolved one.

mod bootstrap;
mod bounds;
mod cluster;
mod clusters;
mod error;
mod external;
mod goal;
mod large_values;
mod length;
mod load;
mod log_dirs;
mod log_dirs_used;
mod pace;
mod properties;
mod search;
mod secrets;
mod sweep;
mod topic;
mod topic_configs;
mod trail;
mod trial;

pub use error::ResolveError;

use crate::plan::{ClusterPlan, Driver, Origin, Plan, Schedule, StepPlan};
use crate::scenario::{Scenario, SetupWords};
use crate::units::Nanos;
use clusters::Clusters;
use std::collections::BTreeMap;
use trail::Trail;

/// The place of each written value, by its path in the scenario (`load.rate`, `setups.2.producer.linger.ms`).
pub type Sources = BTreeMap<String, Origin>;

/// Resolves a scenario.
pub fn resolve(scenario: &Scenario, sources: &Sources) -> Result<Plan, ResolveError> {
    let mut trail = Trail { sources, origins: BTreeMap::new() };
    let clusters = Clusters::of(scenario, &trail)?;
    let mut cluster = match &clusters {
        Some(clusters) => clusters.base(&mut trail),
        None => cluster::cluster(scenario.cluster.as_ref(), &mut trail)?,
    };
    let said_where = scenario.topic.log_dir.is_some();
    let scenario = &log_dirs::on_each(scenario, &cluster);
    let lab = matches!(cluster, ClusterPlan::Lab { .. });
    let own_metrics = match &cluster {
        ClusterPlan::Lab { .. } => true,
        ClusterPlan::Brokers { metrics, .. } => !metrics.is_empty(),
    };
    let arms = trial::setups(scenario, &trail)?;
    let is_trial = arms.is_some();
    let setups = arms.unwrap_or_else(|| written_setups(scenario));
    let mut own_clusters = match &clusters {
        Some(clusters) => clusters.own(scenario),
        None => trial::clusters(scenario, &cluster, &mut trail)?,
    };
    own_clusters.resize(setups.len(), None);
    sweep::refuse_too_many(scenario, &setups)?;
    let (mut steps, mut places) = (Vec::new(), Vec::new());
    for (index, setup) in setups.iter().enumerate() {
        let mut variants = sweep::variants(scenario, setup, index);
        if is_trial {
            variants = vec![trial::single(variants, &trail)?];
        }
        for variant in variants {
            let at = format!("steps.{}", steps.len());
            let name = match is_trial {
                true => variant.name.clone().unwrap_or_default(),
                false => step_name(scenario, setups.len(), &variant),
            };
            let driver = variant.driver.as_ref().map(|driver| driver.values()[0].clone());
            if let Some(clusters) = clusters.as_ref().filter(|_| own_clusters[index].is_some()) {
                clusters.note(index, steps.len(), &mut trail);
            }
            let own_cluster = match &own_clusters[index] {
                Some(own) => Some(own.clone()),
                None => log_dirs_used::own_lab(&cluster, &variant, steps.len(), &mut trail),
            };
            let words =
                trail.step(format!("{at}.driver"), "driver", &variant, driver, || Driver::default().into());
            let mut step = StepPlan {
                driver: words.driver,
                external: words.external,
                topic: topic::topic(&variant.topic, &at, &mut trail, &variant)?,
                load: load::load(&variant.load, scenario.goal.is_some(), &at, &mut trail, &variant)?,
                producer: properties::properties("producer", &variant.producer, &at, &mut trail, &variant)?,
                consumer: properties::properties("consumer", &variant.consumer, &at, &mut trail, &variant)?,
                cluster: own_cluster,
                name,
            };
            if !said_where {
                log_dirs::note_each(&step, &at, &mut trail.origins);
            }
            large_values::make_room(&mut step, &at, &mut trail.origins);
            topic_configs::check(&step, &at, &trail)?;
            steps.push(step);
            places.push(trail.place_of_setup(&variant.place));
        }
    }
    if is_trial && steps.iter().any(|step| step.load.shows_queue()) {
        return Err(ResolveError::Conflict {
            place: trail.source_place("load.purpose"),
            first: "load.purpose".into(),
            second: "arms".into(),
            reason: "a trial compares latencies or rates of paths that keep up; use setups, each with its queue",
        });
    }
    check_names(&steps, &places, is_trial)?;
    let trial = match is_trial {
        true => Some(trial::plan(scenario, &cluster, &mut steps, &mut trail)?),
        false => None,
    };
    let settings_search = search::search(scenario, &cluster, &mut steps, &mut trail)?;
    let goal = goal::goal("goal", scenario.goal, &steps, &mut trail)?;
    // Latency is what a run is about, unless some step has none.
    let about_latency = goal.is_none() && steps.iter().all(|step| !step.load.saturating());
    let twin_of_own = if own_metrics || !about_latency || is_trial || settings_search.is_some() {
        0
    } else {
        TWIN_MESSAGES
    };
    let default_name = match about_latency {
        _ if is_trial => "trial",
        _ if settings_search.is_some() => "search",
        true => "latency",
        false => "throughput",
    };
    let blocks = match (&trial, &settings_search) {
        (Some((pairs, _)), _) => *pairs,
        (None, Some(search)) => search.budget,
        (None, None) => trail.scenario("blocks", scenario.blocks, || match goal {
            Some(_) => CONFIRMING_RUNS,
            None => default_blocks(&steps),
        }),
    };
    // Each block follows the schedule from its beginning.
    for load in steps.iter_mut().map(|step| &mut step.load).filter(|load| load.rate_per_s.is_some()) {
        let own = load.schedule.own_rate_per_s(load.length.part_of(blocks));
        load.rate_per_s = own.or(load.rate_per_s);
    }
    if steps.iter().any(|step| step.load.saturating()) {
        let labs = steps.iter_mut().filter_map(|step| step.cluster.as_mut());
        labs.chain([&mut cluster]).for_each(|lab| cluster::make_quick_to_delete(lab, &mut trail.origins));
    }
    let plan = Plan {
        name: trail.scenario("name", scenario.name.clone(), || default_name.to_owned()),
        description: trail.scenario("description", scenario.description.clone(), String::new),
        seed: trail.scenario("seed", scenario.seed, || 20_210_830),
        level: trail.scenario("level", scenario.level, || 0.95),
        blocks,
        settle: trail.scenario("settle", scenario.settle, || Nanos::from_secs(if lab { 8 } else { 0 })),
        twin: trail.scenario("twin", scenario.twin, || twin_of_own),
        goal,
        trial: trial.map(|(_, trial)| trial),
        settings_search,
        reference: trail.scenario("reference", scenario.reference.clone().map(Some), || None),
        cluster,
        steps,
        origins: trail.origins,
    };
    bounds::check(&plan)?;
    external::check(&plan)?;
    secrets::check(&plan)?;
    log_dirs::check(&plan)?;
    bounds::check_replicas(&plan)?;
    trial::check(&plan)?;
    Ok(plan)
}

/// Full-length runs that confirm a rate: the fewest with an interval.
const CONFIRMING_RUNS: u32 = 3;

/// Messages to a twin topic where the brokers' own times are not at hand: enough for a mean within a tenth of the
/// millisecond to which append times are rounded.
const TWIN_MESSAGES: u64 = 200;

/// The setups as written, or the one that a scenario without setups is.
fn written_setups(scenario: &Scenario) -> Vec<sweep::Written> {
    let fallback = [SetupWords::default()];
    let setups = if scenario.setups.is_empty() { &fallback[..] } else { &scenario.setups[..] };
    let written = |(index, setup): (usize, &SetupWords)| sweep::Written {
        place: format!("setups.{index}"),
        setup: setup.clone(),
    };
    setups.iter().enumerate().map(written).collect()
}

/// Setups without a name are numbered when there are several; what a sweep varies follows.
fn step_name(scenario: &Scenario, setups: usize, variant: &sweep::Variant) -> String {
    let unnamed = scenario.setups.get(variant.setup_index).is_none_or(|setup| setup.name.is_none());
    match (&variant.name, unnamed && setups > 1) {
        (Some(varied), true) => format!("setup {}, {varied}", variant.setup_index + 1),
        (None, true) => format!("setup {}", variant.setup_index + 1),
        (Some(name), false) => name.clone(),
        (None, false) => scenario.name.clone().unwrap_or_else(|| "as asked".to_owned()),
    }
}

/// One block shows a single setting; several are needed to tell settings apart from noise. A rate that changes must not
/// be cut into pieces, each of which would begin anew.
fn default_blocks(steps: &[StepPlan]) -> u32 {
    let changes = |step: &StepPlan| matches!(step.load.schedule, Schedule::Steps(_) | Schedule::Ramp { .. });
    if steps.iter().any(changes) {
        return 1;
    }
    let shortest = steps.iter().filter_map(|step| step.load.messages()).min().unwrap_or(u64::MAX);
    if steps.len() < 2 { 1 } else { u32::try_from(shortest / 20).unwrap_or(5).clamp(1, 5) }
}

/// `places`: where each step is written, for the front of a message.
fn check_names(steps: &[StepPlan], places: &[String], is_trial: bool) -> Result<(), ResolveError> {
    let mut seen = std::collections::BTreeSet::new();
    let twice = steps.iter().enumerate().find(|(_, step)| !seen.insert(&step.name));
    let Some((index, step)) = twice else { return Ok(()) };
    let (name, place) = (step.name.clone(), places[index].clone());
    // The last step of a trial is the reference's second one.
    if is_trial && index + 1 == steps.len() {
        let arm = steps.iter().position(|step| step.name == name);
        return Err(ResolveError::Reserved {
            place: arm.map(|arm| places[arm].clone()).unwrap_or_default(),
            path: format!("arms.{name:?}"),
            reason: "the reference runs once more under that name: call the arm differently",
        });
    }
    if !is_trial {
        return Err(ResolveError::SameName { place, name });
    }
    let is_reference = name == steps[0].name;
    Err(ResolveError::SameArm {
        place,
        count: if is_reference { "the reference and an arm are both" } else { "two arms are" },
        hint: match is_reference {
            true => {
                "an arm differs from the reference, which runs once more by itself to show the noise; what equal arms show, plumb \
                 trial power measures"
            }
            false => "each needs a name of its own; leave one out if they are the same",
        },
        name,
    })
}

#[cfg(test)]
mod tests;
