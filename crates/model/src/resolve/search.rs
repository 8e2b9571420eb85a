//! The space of a search for settings: which settings of the first step may change, between which values, and what is tried first.

mod presets;
mod restart;

use super::trail::Trail;
use super::{ResolveError, goal};
use crate::metric::of_latency;
use crate::plan::{
    ClusterPlan, Goal, GoalLatency, Keys, Length, Mode, Origin, Properties, StepPlan, TopicPlan,
};
use crate::property::{is_client_default, same_value, usual_name};
use crate::scenario::{Scenario, SearchWords};
use crate::settings_search::{
    LeftOut, Objective, Preset, SearchDimension, SettingsSearch, of_owner, step_with,
};
use crate::tunable::{Owner, TUNABLES, Tunable};
use crate::units::Nanos;

/// Length of a block (ours: with fewer seconds a pause of a broker's collector is most of what a block sees).
const BLOCK_S: u64 = 20;
const BLOCK_LEAST: Nanos = Nanos(200_000_000);
/// Blocks of a search: in simulations sixty find hardly more than forty.
const BUDGET: u32 = 40;
/// The least that is a search: the noise, the presets, and two rounds of a race.
const BUDGET_LEAST: u32 = 14;
const BUDGET_MOST: u32 = 400;
/// A quantile needs so many samples over 1-q.
const SAMPLES: f64 = 10.0;

/// Fits the steps of a scenario to a search: one step, of the length of all blocks together.
pub(super) fn search(
    scenario: &Scenario,
    cluster: &ClusterPlan,
    steps: &mut Vec<StepPlan>,
    trail: &mut Trail,
) -> Result<Option<SettingsSearch>, ResolveError> {
    let Some(words) = &scenario.search else { return Ok(None) };
    refuse(scenario, steps, trail)?;
    let own_s = steps[0].load.planned_s().map(|s| Nanos((s * 1e9) as u64));
    // Every block lasts as long, whatever the length that was written is counted in.
    steps[0].load.length = Length::Duration(own_s.unwrap_or(Nanos::from_secs(BLOCK_S)));
    let goal = goal::goal("search.goal", words.goal, &steps[..1], trail)?;
    refuse_goal(goal, trail)?;
    let first = steps[0].clone();
    let objective = objective(words, &first, goal, trail)?;
    let default = own_s.unwrap_or(Nanos::from_secs(BLOCK_S)).min(Nanos::from_secs(BLOCK_S));
    let block = trail.scenario("search.block", words.block, || default);
    let budget = trail.scenario("search.budget", words.budget, || BUDGET);
    bound("search.budget", budget, trail)?;
    if block < BLOCK_LEAST {
        return Err(ResolveError::OutOfBounds {
            place: trail.sources.get("search.block").map(|origin| format!("{origin}: ")).unwrap_or_default(),
            path: "search.block".to_owned(),
            got: block.to_string(),
            expected: format!("at least {BLOCK_LEAST}"),
            reason: "a shorter block is mostly the start of its clients",
        });
    }
    let (mut dimensions, mut left_out) = (Vec::new(), Vec::new());
    for tunable in TUNABLES {
        let reason = match is_wanted(words, tunable) {
            false => continue,
            true => idle(tunable, &first, trail),
        };
        match reason {
            None => dimensions.push(dimension(tunable, &first)),
            Some(reason) => left_out.push(LeftOut { what: tunable.to_string(), reason: reason.to_owned() }),
        }
    }
    if let Some(unknown) = words.settings.iter().flatten().find(|wanted| !names_one(wanted)) {
        return Err(unknown_setting(unknown, trail));
    }
    if dimensions.is_empty() {
        return Err(ResolveError::Missing {
            place: trail.source_place("search"),
            path: "search.settings",
            reason: "of the settings that the search may change none does anything on this path",
        });
    }
    refuse_short(goal, &first, block, trail)?;
    let metric = metric(objective, goal, &first, block);
    let is_for_highest_rate = objective == Objective::Rate && goal.is_some();
    let restart = restart::restart(words, cluster, is_for_highest_rate, trail)?;
    let presets = Vec::new();
    let mut search =
        SettingsSearch { objective, metric, goal, budget, block, dimensions, presets, left_out, restart };
    search.presets = presets::presets(&search);
    for other in &steps[1..] {
        match as_preset(&search, &first, other) {
            Ok(settings) => search.presets.push(Preset { name: other.name.clone(), settings }),
            Err(reason) => search.left_out.push(LeftOut { what: format!("setup {:?}", other.name), reason }),
        }
    }
    let derived = |reason: &str| Origin::Derived { reason: reason.to_owned() };
    trail.origins.retain(|path, _| !path.starts_with("steps.") || path.starts_with("steps.0."));
    trail.origins.insert("search.metric".to_owned(), derived("what tells the objective"));
    trail.origins.insert("steps.0.load.length".to_owned(), derived("all blocks of the search"));
    trail.origins.insert("blocks".to_owned(), derived("search.budget"));
    steps.truncate(1);
    steps[0].load.length = Length::Duration(Nanos(block.0.saturating_mul(u64::from(budget))));
    Ok(Some(search))
}

/// Refuses a scenario whose first setup is nothing to search from.
fn refuse(scenario: &Scenario, steps: &[StepPlan], trail: &Trail) -> Result<(), ResolveError> {
    let place = trail.sources.get("search").map(|origin| format!("{origin}: ")).unwrap_or_default();
    let conflict = |second: &str, reason| {
        Err(ResolveError::Conflict {
            place: place.clone(),
            first: "search".into(),
            second: second.into(),
            reason,
        })
    };
    if !scenario.arms.0.is_empty() {
        return conflict(
            "arms",
            "a search makes the arms of its proof itself: write what you have as the first of `setups`",
        );
    }
    if scenario.goal.is_some() {
        return conflict(
            "goal",
            "that is the search for a rate: the goal of a search for settings is search.goal",
        );
    }
    let first = &steps[0];
    if first.load.shows_queue() {
        return conflict("load.purpose", "a path that does not keep up has no latency to make better");
    }
    if !matches!(first.load.mode, Mode::Mixed | Mode::Produce) {
        return conflict("load.mode", "blocks of a search produce: mixed or produce");
    }
    if first.cluster.is_some() {
        return conflict("topic.log_dir", "a search runs on one lab");
    }
    Ok(())
}

/// Refuses a goal that the trial of the result could not look at.
fn refuse_goal(goal: Option<Goal>, trail: &Trail) -> Result<(), ResolveError> {
    match goal.filter(|goal| of_latency(goal.latency, goal.quantile).is_none()) {
        None => Ok(()),
        Some(goal) => Err(ResolveError::OutOfBounds {
            place: trail.sources.get("search.goal").map(|origin| format!("{origin}: ")).unwrap_or_default(),
            path: "search.goal".to_owned(),
            got: crate::figure::quantile(goal.quantile),
            expected: "p50, p95, p99 or p99.9".to_owned(),
            reason: "the trial that proves the result knows no other quantiles of a block",
        }),
    }
}

/// Refuses blocks that are too short for the goal's quantile.
fn refuse_short(
    goal: Option<Goal>,
    step: &StepPlan,
    block: Nanos,
    trail: &Trail,
) -> Result<(), ResolveError> {
    let (Some(goal), Some(rate)) = (goal, step.load.rate_per_s) else { return Ok(()) };
    let needed_s = SAMPLES / (1.0 - goal.quantile) / rate;
    if block.0 as f64 / 1e9 >= needed_s {
        return Ok(());
    }
    Err(ResolveError::OutOfBounds {
        place: trail.sources.get("search.block").map(|origin| format!("{origin}: ")).unwrap_or_default(),
        path: "search.block".to_owned(),
        got: block.to_string(),
        expected: format!("at least {}", Nanos((needed_s * 1e3).ceil() as u64 * 1_000_000)),
        reason: "a block with fewer messages does not show the goal's quantile",
    })
}

fn objective(
    words: &SearchWords,
    first: &StepPlan,
    goal: Option<Goal>,
    trail: &mut Trail,
) -> Result<Objective, ResolveError> {
    let saturating = first.load.saturating();
    let objective = trail.scenario("search.objective", words.objective, || match (saturating, goal) {
        (true, _) => Objective::Rate,
        (false, Some(_)) => Objective::Cpu,
        (false, None) => Objective::Latency,
    });
    let reason = match objective {
        Objective::Latency if saturating => "as fast as possible has no latency: give load.rate",
        Objective::Rate if !saturating && goal.is_none() => {
            "at a fixed rate the rate is the one asked for: give search.goal, or load.rate: max"
        }
        _ => return Ok(objective),
    };
    Err(ResolveError::Conflict {
        place: trail.sources.get("search.objective").map(|origin| format!("{origin}: ")).unwrap_or_default(),
        first: format!("search.objective: {}", objective.name()),
        second: "load.rate".into(),
        reason,
    })
}

fn bound(path: &str, budget: u32, trail: &Trail) -> Result<(), ResolveError> {
    if (BUDGET_LEAST..=BUDGET_MOST).contains(&budget) {
        return Ok(());
    }
    Err(ResolveError::OutOfBounds {
        place: trail.sources.get(path).map(|origin| format!("{origin}: ")).unwrap_or_default(),
        path: path.to_owned(),
        got: budget.to_string(),
        expected: format!("{BUDGET_LEAST} to {BUDGET_MOST}"),
        reason: "fewer blocks do not try the presets and race them, and more find nothing more",
    })
}

/// True if a search may change it as far as the user's words go.
fn is_wanted(words: &SearchWords, tunable: &Tunable) -> bool {
    words.settings.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| is_named(wanted, tunable)))
}

fn is_named(wanted: &str, tunable: &Tunable) -> bool {
    let (owner, name) = wanted.split_once('.').unwrap_or((wanted, ""));
    owner == tunable.owner.name() && (name.is_empty() || usual_name(name) == tunable.name)
}

fn names_one(wanted: &str) -> bool {
    TUNABLES.iter().any(|tunable| is_named(wanted, tunable))
}

fn unknown_setting(wanted: &str, trail: &Trail) -> ResolveError {
    let names: Vec<String> = TUNABLES.iter().map(Tunable::to_string).collect();
    ResolveError::OutOfBounds {
        place: trail.sources.get("search.settings").map(|origin| format!("{origin}: ")).unwrap_or_default(),
        path: "search.settings".to_owned(),
        got: format!("{wanted:?}"),
        expected: format!("producer, consumer, topic, or one of {}", names.join(", ")),
        reason: "a search changes nothing else: what changes a promise of the path is never proposed",
    }
}

const IN_FLIGHT: &str = "max.in.flight.requests.per.connection";

/// True if a message that is sent again cannot come after later ones only because nothing else is under way meanwhile.
fn keeps_order_by_one_in_flight(step: &StepPlan) -> bool {
    let written = |name: &str| {
        step.producer.iter().find(|(key, _)| usual_name(key) == name).map(|(_, value)| value.as_str())
    };
    let is = |name: &str, value: &str| written(name).is_some_and(|written| same_value(written, value));
    is(IN_FLIGHT, "1") && !is("enable.idempotence", "true") && !is("retries", "0")
}

/// The reason why changing a setting does nothing on this path, or cannot be done; none where it may do something.
fn idle(tunable: &Tunable, step: &StepPlan, trail: &Trail) -> Option<&'static str> {
    if !tunable.is_of(step.driver) {
        return Some("the driver has it not, or nobody knows here");
    }
    match (tunable.owner, tunable.name) {
        (Owner::Consumer, _) if step.load.consumers == 0 || step.load.mode == Mode::Produce => {
            Some("nobody consumes")
        }
        (Owner::Topic, _) if matches!(step.topic, TopicPlan::Existing { .. }) => {
            Some("the topic is yours, and a run never alters such")
        }
        (_, "compression.type")
            if matches!(trail.origins.get("steps.0.load.payload"), None | Some(Origin::Default)) =>
        {
            Some("the payload is Plumb's own random bytes: give load.payload, a file of yours or its entropy")
        }
        (_, IN_FLIGHT) if keeps_order_by_one_in_flight(step) => Some(
            "one request in flight keeps the order of messages, and without idempotence more would give it up: that is a promise",
        ),
        (_, "sticky.partitioning.linger.ms") if step.load.keys != Keys::None => {
            Some("every record has a key")
        }
        _ => None,
    }
}

/// A setting as it is searched: its levels, and the value that the step has among them.
fn dimension(tunable: &Tunable, step: &StepPlan) -> SearchDimension {
    let written = match tunable.owner {
        Owner::Producer => value_of(&step.producer, tunable.name),
        Owner::Consumer => value_of(&step.consumer, tunable.name),
        Owner::Topic => match &step.topic {
            TopicPlan::Own { configs, .. } => value_of(configs, tunable.name),
            TopicPlan::Existing { .. } => None,
        },
        Owner::Host => None,
    };
    let value = written.map_or_else(|| default(tunable, step), str::to_owned);
    let mut values = tunable.values();
    let known = values.iter().position(|known| same_value(known, &value));
    let current = known.unwrap_or_else(|| {
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
        let at = match tunable.is_ordered() {
            true => values.iter().filter(|known| number(known) < number(&value)).count(),
            false => values.len(),
        };
        values.insert(at, value.clone());
        at
    });
    // As the user writes it.
    values[current] = value;
    SearchDimension {
        setting: tunable.to_string(),
        values,
        is_ordered: tunable.is_ordered(),
        current,
        is_written: written.is_some(),
    }
}

/// The value that a setting has where the step does not say it.
fn default(tunable: &Tunable, step: &StepPlan) -> String {
    let idempotent = value_of(&step.producer, "enable.idempotence").is_some_and(|on| same_value(on, "true"));
    match tunable.name {
        // librdkafka lowers it.
        "max.in.flight.requests.per.connection" if idempotent => "5".to_owned(),
        _ => tunable.default.to_owned(),
    }
}

/// A property's value, whichever of its names it is given by.
fn value_of<'p>(properties: &'p Properties, name: &str) -> Option<&'p str> {
    properties.iter().find(|(known, _)| usual_name(known) == name).map(|(_, value)| value.as_str())
}

/// What another setup changes of the first, where that is nothing but settings of the space.
fn as_preset(search: &SettingsSearch, first: &StepPlan, other: &StepPlan) -> Result<Properties, String> {
    let mut settings = Properties::new();
    for dimension in &search.dimensions {
        let of_step = |step: &StepPlan| {
            let tunable = crate::tunable::find(&dimension.setting)?;
            let found = self::dimension(tunable, step);
            Some(found.values[found.current].clone())
        };
        let (Some(a), Some(b)) = (of_step(first), of_step(other)) else { continue };
        if !same_value(&a, &b) {
            settings.insert(dimension.setting.clone(), b);
        }
    }
    let with = step_with(first, &settings);
    let rest = |step: &StepPlan| {
        let searched = |owner: Owner| of_owner(&names(search), owner);
        let left = |properties: &Properties, owner: Owner| -> Properties {
            let searched = searched(owner);
            // What has its default is the same where it is not written.
            let is_default = |name: &str, value: &str| {
                let tunable = crate::tunable::find(&format!("{}.{name}", owner.name()));
                let is_clients = matches!(owner, Owner::Producer | Owner::Consumer);
                tunable.is_some_and(|tunable| same_value(value, &default(tunable, step)))
                    || is_clients && is_client_default(name, value)
            };
            let kept = properties.iter().filter(|(name, value)| {
                let name = usual_name(name);
                !searched.contains_key(name) && !is_default(name, value)
            });
            kept.map(|(name, value)| (usual_name(name).to_owned(), value.clone())).collect()
        };
        let configs = match &step.topic {
            TopicPlan::Own { configs, .. } => left(configs, Owner::Topic),
            TopicPlan::Existing { .. } => Properties::new(),
        };
        (left(&step.producer, Owner::Producer), left(&step.consumer, Owner::Consumer), configs)
    };
    let ((ap, ac, at), (bp, bc, bt)) = (rest(&with), rest(other));
    let differing: Vec<String> = [("producer", ap, bp), ("consumer", ac, bc), ("topic", at, bt)]
        .into_iter()
        .flat_map(|(owner, a, b)| {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let differs = names.into_iter().filter(|name| match (a.get(*name), b.get(*name)) {
                (Some(a), Some(b)) => !same_value(a, b),
                _ => true,
            });
            differs.map(|name| format!("{owner}.{name}")).collect::<Vec<_>>()
        })
        .collect();
    if !differing.is_empty() {
        return Err(format!("it differs in {}, which no search changes", differing.join(", ")));
    }
    if with.driver != other.driver || with.load != other.load || partitions(&with) != partitions(other) {
        return Err("its load, driver or topic is another".to_owned());
    }
    match settings.is_empty() {
        true => Err("it is the first setup over again".to_owned()),
        false => Ok(settings),
    }
}

/// The names of what is searched, as settings without values.
fn names(search: &SettingsSearch) -> Properties {
    search.dimensions.iter().map(|dimension| (dimension.setting.clone(), String::new())).collect()
}

fn partitions(step: &StepPlan) -> Option<(u32, u32)> {
    match &step.topic {
        TopicPlan::Own { partitions, replication, .. } => Some((*partitions, *replication)),
        TopicPlan::Existing { .. } => None,
    }
}

/// The metric that says how good a block is. A latency's highest quantile for which a block has samples enough: the trial that proves
/// the result looks at p99, as its blocks are of the same length.
fn metric(objective: Objective, goal: Option<Goal>, step: &StepPlan, block: Nanos) -> String {
    match objective {
        Objective::Cpu => "cpu.per_message".to_owned(),
        Objective::Rate if goal.is_some() => "cpu.per_message".to_owned(),
        Objective::Rate => "throughput.produced_per_s".to_owned(),
        Objective::Latency => {
            let consumed = step.load.consumers > 0 && step.load.mode == Mode::Mixed;
            let latency = if consumed { GoalLatency::EndToEnd } else { GoalLatency::Acknowledge };
            let messages = step.load.rate_per_s.unwrap_or(0.0) * block.0 as f64 / 1e9;
            let enough = |quantile: &f64| *quantile == 0.5 || messages * (1.0 - quantile) >= SAMPLES;
            let quantile = [0.99, 0.95, 0.5].into_iter().find(enough);
            quantile.and_then(|quantile| of_latency(latency, quantile)).unwrap_or_default().to_owned()
        }
    }
}
