//! Expands a setup whose values are lists into one variant for each combination.

use super::ResolveError;
use crate::scenario::{
    DriverWords, LoadWords, OneOrMany, RateWords, Scalar, Scenario, SetupWords, SizeWords, TopicWords,
};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// A setup with the path under which it is written.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) place: String,
    pub(super) setup: SetupWords,
}

/// One combination: every value is single.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    /// The setup of the scenario that it comes from, and its path: `setups.2`, `arms.low`.
    pub(super) setup_index: usize,
    pub(super) place: String,
    pub(super) name: Option<String>,
    pub(super) driver: Option<OneOrMany<DriverWords>>,
    pub(super) producer: BTreeMap<String, OneOrMany<Scalar>>,
    pub(super) consumer: BTreeMap<String, OneOrMany<Scalar>>,
    pub(super) load: LoadWords,
    pub(super) topic: TopicWords,
    /// Log directories that each broker of the lab has.
    pub(super) log_dirs_used: Option<OneOrMany<u32>>,
}

/// Most setups of a run (ours: each takes seconds, and has a row in every table).
const SETUPS_MOST: u64 = 1_000;

/// Refuses lists that make more setups than a run can have, before any is made.
pub(super) fn refuse_too_many(scenario: &Scenario, setups: &[Written]) -> Result<(), ResolveError> {
    let each = setups.iter().enumerate().map(|(index, setup)| combinations(&base(scenario, setup, index)));
    let all = each.fold(0, u64::saturating_add);
    if all <= SETUPS_MOST {
        return Ok(());
    }
    Err(ResolveError::OutOfBounds {
        place: String::new(),
        path: "the number of setups that the lists make".into(),
        got: all.to_string(),
        expected: format!("at most {SETUPS_MOST}"),
        reason: "each is measured, and has a row in every table; give fewer values, such as 1..1000 step 100",
    })
}

/// Combinations of a setup's lists.
fn combinations(variant: &Variant) -> u64 {
    fn choices<T>(of: Option<&OneOrMany<T>>) -> u64 {
        of.map_or(1, |values| values.values().len().max(1) as u64)
    }
    let (load, topic) = (&variant.load, &variant.topic);
    let of_properties =
        variant.producer.values().chain(variant.consumer.values()).chain(topic.configs.values());
    let of_words = [
        choices(variant.driver.as_ref()),
        choices(topic.log_dir.as_ref()),
        choices(load.rate.as_ref()),
        choices(load.count.as_ref()),
        choices(load.duration.as_ref()),
        choices(load.producers.as_ref()),
        choices(load.consumers.as_ref()),
        choices(load.workers.as_ref()),
        choices(load.size.as_ref()),
        choices(load.in_flight.as_ref()),
        choices(topic.partitions.as_ref()),
        choices(topic.replication.as_ref()),
        choices(variant.log_dirs_used.as_ref()),
    ];
    of_properties.map(|values| choices(Some(values))).chain(of_words).fold(1, u64::saturating_mul)
}

/// The setup with what all setups share, its lists as they are written.
fn base(scenario: &Scenario, written: &Written, setup_index: usize) -> Variant {
    let setup = &written.setup;
    let lab = scenario.cluster.as_ref().and_then(|cluster| cluster.lab.as_ref());
    Variant {
        setup_index,
        place: written.place.clone(),
        name: setup.name.clone(),
        driver: setup.driver.clone().or_else(|| scenario.driver.clone()),
        producer: setup.producer.clone(),
        consumer: setup.consumer.clone(),
        load: overlay_load(&scenario.load, &setup.load),
        topic: overlay_topic(&scenario.topic, &setup.topic),
        log_dirs_used: lab.and_then(|lab| lab.log_dirs_used.clone()),
    }
}

/// All combinations of a setup's lists, the first list varying slowest.
pub(super) fn variants(scenario: &Scenario, written: &Written, setup_index: usize) -> Vec<Variant> {
    let setup = &written.setup;
    let mut all = vec![base(scenario, written, setup_index)];
    all = expand(all, "driver", |v| v.driver.as_mut());
    all = expand(all, "log_dir", |v| v.topic.log_dir.as_mut());
    all = expand(all, "log_dirs_used", |v| v.log_dirs_used.as_mut());
    all = expand(all, "rate", |v| v.load.rate.as_mut());
    all = expand(all, "count", |v| v.load.count.as_mut());
    all = expand(all, "duration", |v| v.load.duration.as_mut());
    all = expand(all, "producers", |v| v.load.producers.as_mut());
    all = expand(all, "consumers", |v| v.load.consumers.as_mut());
    all = expand(all, "workers", |v| v.load.workers.as_mut());
    all = expand(all, "size", |v| v.load.size.as_mut());
    all = expand(all, "in_flight", |v| v.load.in_flight.as_mut());
    all = expand(all, "partitions", |v| v.topic.partitions.as_mut());
    all = expand(all, "replication", |v| v.topic.replication.as_mut());
    for key in all[0].topic.configs.clone().keys() {
        all = expand(all, key, |v| v.topic.configs.get_mut(key));
    }
    for key in setup.producer.keys() {
        all = expand(all, key, |v| v.producer.get_mut(key));
    }
    for key in setup.consumer.keys() {
        all = expand(all, key, |v| v.consumer.get_mut(key));
    }
    all
}

fn expand<T: Clone + Label>(
    variants: Vec<Variant>,
    label: &str,
    find: impl Fn(&mut Variant) -> Option<&mut OneOrMany<T>>,
) -> Vec<Variant> {
    let mut expanded = Vec::with_capacity(variants.len());
    for mut variant in variants {
        let values = match find(&mut variant) {
            Some(value) if value.is_sweep() => value.values().to_vec(),
            _ => {
                expanded.push(variant);
                continue;
            }
        };
        for value in values {
            let mut single = variant.clone();
            let suffix = format!("{label} {}", value.label());
            single.name = Some(match &variant.name {
                Some(name) => format!("{name}, {suffix}"),
                None => suffix,
            });
            if let Some(place) = find(&mut single) {
                *place = OneOrMany::One(value);
            }
            expanded.push(single);
        }
    }
    expanded
}

/// The label of a value in a step's name.
trait Label {
    fn label(&self) -> String;
}

macro_rules! labelled_by_display {
    ($($value:ty),*) => {
        $(impl Label for $value {
            fn label(&self) -> String {
                self.to_string()
            }
        })*
    };
}

labelled_by_display!(u32, u64, RateWords, Nanos);

impl Label for DriverWords {
    fn label(&self) -> String {
        self.name()
    }
}

impl Label for Scalar {
    fn label(&self) -> String {
        self.0.clone()
    }
}

impl Label for SizeWords {
    fn label(&self) -> String {
        match &self.0 {
            crate::plan::SizePlan::Fixed(size) => size.to_string(),
            crate::plan::SizePlan::Mix(mix) => {
                mix.iter().map(|part| format!("{}x{}", part.weight, part.size)).collect::<Vec<_>>().join("+")
            }
        }
    }
}

fn overlay_load(base: &LoadWords, over: &LoadWords) -> LoadWords {
    let length_given = over.count.is_some() || over.duration.is_some();
    // A setup whose schedule has rates of its own does not take the rate of the others.
    let own_rates = over.schedule.as_ref().is_some_and(|schedule| schedule.has_own_rate());
    LoadWords {
        purpose: over.purpose.or(base.purpose),
        mode: over.mode.or(base.mode),
        rate: over.rate.clone().or_else(|| base.rate.clone().filter(|_| !own_rates)),
        schedule: over.schedule.clone().or_else(|| base.schedule.clone()),
        count: if length_given { over.count.clone() } else { base.count.clone() },
        duration: if length_given { over.duration.clone() } else { base.duration.clone() },
        warm_up: over.warm_up.or(base.warm_up),
        drain: over.drain.or(base.drain),
        producers: over.producers.clone().or_else(|| base.producers.clone()),
        consumers: over.consumers.clone().or_else(|| base.consumers.clone()),
        workers: over.workers.clone().or_else(|| base.workers.clone()),
        size: over.size.clone().or_else(|| base.size.clone()),
        keys: over.keys.or(base.keys),
        headers: over.headers.clone().or_else(|| base.headers.clone()),
        payload: over.payload.clone().or_else(|| base.payload.clone()),
        in_flight: over.in_flight.clone().or_else(|| base.in_flight.clone()),
        until_device: over.until_device.or(base.until_device),
    }
}

fn overlay_topic(base: &TopicWords, over: &TopicWords) -> TopicWords {
    let mut configs = base.configs.clone();
    configs.extend(over.configs.clone());
    TopicWords {
        name: over.name.clone().or_else(|| base.name.clone()),
        partitions: over.partitions.clone().or_else(|| base.partitions.clone()),
        replication: over.replication.clone().or_else(|| base.replication.clone()),
        configs,
        log_dir: over.log_dir.clone().or_else(|| base.log_dir.clone()),
    }
}
