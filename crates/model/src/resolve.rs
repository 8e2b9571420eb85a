//! From what the user wrote to what will be done: defaults filled in, sweeps expanded, bounds checked, origins kept.
//!
//! Pure. The caller says where each written value stood ([`Sources`]); the plan says the same of each resolved one.

mod bounds;
mod large_values;
mod log_dirs;
mod pace;
mod sweep;
mod trial;

use crate::plan::{
    ClusterPlan, Driver, Goal, GoalLatency, Keys, Length, LoadPlan, LogDirLayout, LogDirPlan, Mode, Origin,
    Payload, Plan, Properties, Schedule, SizePlan, StepPlan, TopicPlan,
};
use crate::scenario::{
    ClusterWords, GoalWords, LabWords, LoadWords, OneOrMany, Scalar, Scenario, SetupWords, TopicWords,
};
use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use thiserror::Error;

/// Where each written value stood, by its path in the scenario (`load.rate`, `setups.2.producer.linger.ms`).
pub type Sources = BTreeMap<String, Origin>;

/// A scenario that cannot become a plan. The user's fault, always.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ResolveError {
    /// A value outside its bounds.
    #[error("{place}{path} is {got}; it must be {expected}, because {reason}")]
    OutOfBounds {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// Path of the value.
        path: String,
        /// What was given.
        got: String,
        /// The bounds.
        expected: String,
        /// Why they are there.
        reason: &'static str,
    },
    /// Two values that exclude each other.
    #[error("{place}{first} and {second} cannot both be given: {reason}")]
    Conflict {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// Why.
        reason: &'static str,
    },
    /// A value that must be given.
    #[error("{path} is missing: {reason}")]
    Missing {
        /// Path of the value.
        path: &'static str,
        /// Why it has no default.
        reason: &'static str,
    },
    /// Two steps of one name.
    #[error("two setups are called {name:?}; each needs a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// A property that Plumb sets itself.
    #[error("{place}{path} cannot be set here: {reason}")]
    Reserved {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// Path of the property.
        path: String,
        /// Who sets it, and where to set it instead.
        reason: &'static str,
    },
}

/// Resolves a scenario.
pub fn resolve(scenario: &Scenario, sources: &Sources) -> Result<Plan, ResolveError> {
    let mut trail = Trail { sources, origins: BTreeMap::new() };
    let mut cluster = cluster(scenario.cluster.as_ref(), &mut trail)?;
    let scenario = &on_each_log_dir(scenario, &cluster);
    let lab = matches!(cluster, ClusterPlan::Lab { .. });
    let own_metrics = match &cluster {
        ClusterPlan::Lab { .. } => true,
        ClusterPlan::Brokers { metrics, .. } => !metrics.is_empty(),
    };
    let arms = trial::setups(scenario, &trail)?;
    let is_trial = arms.is_some();
    let setups = arms.unwrap_or_else(|| written_setups(scenario));
    let mut own_clusters = trial::clusters(scenario, &cluster, &mut trail)?;
    own_clusters.resize(setups.len(), None);
    let mut steps = Vec::new();
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
            let driver = variant.driver.as_ref().map(|driver| driver.values()[0]);
            let mut step = StepPlan {
                driver: trail.step((format!("{at}.driver"), "driver"), &variant, driver, Driver::default),
                topic: topic(&variant.topic, &at, &mut trail, &variant)?,
                load: load(&variant.load, scenario.goal.is_some(), &at, &mut trail, &variant)?,
                producer: properties("producer", &variant.producer, &at, &mut trail, &variant)?,
                consumer: properties("consumer", &variant.consumer, &at, &mut trail, &variant)?,
                cluster: own_clusters[index].clone(),
                name,
            };
            large_values::make_room(&mut step, &at, &mut trail.origins);
            steps.push(step);
        }
    }
    check_names(&steps, is_trial)?;
    let trial = match is_trial {
        true => Some(trial::plan(scenario, (&cluster, &mut steps), &mut trail)?),
        false => None,
    };
    let goal = goal(scenario.goal, &steps, &mut trail)?;
    // Latency is what a run is about, unless some step has none.
    let about_latency = goal.is_none() && steps.iter().all(|step| !step.load.saturating());
    let twin_of_own = if own_metrics || !about_latency || is_trial { 0 } else { TWIN_MESSAGES };
    let default_name = match about_latency {
        _ if is_trial => "trial",
        true => "latency",
        false => "throughput",
    };
    let blocks = match &trial {
        Some((pairs, _)) => *pairs,
        None => trail.scenario("blocks", scenario.blocks, || match goal {
            Some(_) => CONFIRMING_RUNS,
            None => default_blocks(&steps),
        }),
    };
    if steps.iter().any(|step| step.load.saturating()) {
        let labs = steps.iter_mut().filter_map(|step| step.cluster.as_mut());
        labs.chain([&mut cluster]).for_each(|lab| make_quick_to_delete(lab, &mut trail.origins));
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
        reference: trail.scenario("reference", scenario.reference.clone().map(Some), || None),
        cluster,
        steps,
        origins: trail.origins,
    };
    bounds::check(&plan)?;
    log_dirs::check(&plan)?;
    trial::check(&plan)?;
    Ok(plan)
}

/// Full-length runs that confirm a rate: the fewest with an interval.
const CONFIRMING_RUNS: u32 = 3;

/// Messages to a twin topic where the brokers' own times are not at hand: enough for a mean within a tenth of the
/// millisecond to which append times are rounded.
const TWIN_MESSAGES: u64 = 200;

/// A block that goes as fast as it can has a topic that is deleted after it; a lab's brokers then remove its files at once
/// and not, as is Kafka's default, after a minute in which the next blocks fill the disk.
fn make_quick_to_delete(cluster: &mut ClusterPlan, origins: &mut BTreeMap<String, Origin>) {
    const DELAY: &str = "log.segment.delete.delay.ms";
    if let ClusterPlan::Lab { broker_properties, .. } = cluster
        && !broker_properties.contains_key(DELAY)
    {
        broker_properties.insert(DELAY.to_owned(), "1000".to_owned());
        let reason = "topics of blocks that go as fast as they can are deleted one by one".to_owned();
        origins.insert(format!("cluster.lab.broker_properties.{DELAY}"), Origin::Derived { reason });
    }
}

/// Follows values from the scenario's paths to the plan's, noting origins.
struct Trail<'a> {
    sources: &'a Sources,
    origins: BTreeMap<String, Origin>,
}

impl Trail<'_> {
    /// A top-level value with the same path in scenario and plan.
    fn scenario<T>(&mut self, path: &str, written: Option<T>, default: impl FnOnce() -> T) -> T {
        let origin = match &written {
            Some(_) => self.sources.get(path).cloned().unwrap_or(Origin::Default),
            None => Origin::Default,
        };
        self.origins.insert(path.to_owned(), origin);
        written.unwrap_or_else(default)
    }

    /// A value of a step: written in the setup, or for all setups, or a default.
    fn step<T>(
        &mut self,
        (plan_path, words_path): (String, &str),
        variant: &sweep::Variant,
        written: Option<T>,
        default: impl FnOnce() -> T,
    ) -> T {
        let origin = match &written {
            Some(_) => self.written(variant, words_path).unwrap_or(Origin::Default),
            None => Origin::Default,
        };
        self.origins.insert(plan_path, origin);
        written.unwrap_or_else(default)
    }

    fn written(&self, variant: &sweep::Variant, path: &str) -> Option<Origin> {
        let own = format!("{}.{path}", variant.place);
        self.sources.get(&own).or_else(|| self.sources.get(path)).cloned()
    }

    fn place(&self, variant: &sweep::Variant, path: &str) -> String {
        self.written(variant, path).map(|origin| format!("{origin}: ")).unwrap_or_default()
    }

    /// A value of a step that only an arm has, where it is written.
    fn arm_origin(&mut self, step: usize, arm: &str, path: &str) {
        if let Some(origin) = self.sources.get(&format!("arms.{arm}.{path}")) {
            self.origins.insert(format!("steps.{step}.{path}"), origin.clone());
        }
    }

    /// A value of the plan that comes from another.
    fn same_origin(&mut self, path: &str, of: &str) {
        if let Some(origin) = self.origins.get(of).cloned() {
            self.origins.insert(path.to_owned(), origin);
        }
    }

    /// Where a path of the scenario is written, for the front of a message.
    fn source_place(&self, path: &str) -> String {
        self.sources.get(path).map(|origin| format!("{origin}: ")).unwrap_or_default()
    }
}

/// Where the lab has a broker for each of several log directories and nothing says which one a topic is on, each setup is
/// tried on every one.
fn on_each_log_dir(scenario: &Scenario, cluster: &ClusterPlan) -> Scenario {
    let mut scenario = scenario.clone();
    let ClusterPlan::Lab { log_dirs, log_dir_layout: LogDirLayout::BrokerEach, .. } = cluster else {
        return scenario;
    };
    if log_dirs.len() > 1 && scenario.topic.log_dir.is_none() && scenario.topic.name.is_none() {
        let names = log_dirs.iter().map(|dir| Scalar(dir.name.clone()));
        scenario.topic.log_dir = Some(OneOrMany::Many(names.collect()));
    }
    scenario
}

/// The latency that a goal is about, where the words leave it open: what the load shows.
fn goal(
    words: Option<GoalWords>,
    steps: &[StepPlan],
    trail: &mut Trail,
) -> Result<Option<Goal>, ResolveError> {
    let Some(words) = words else { return Ok(None) };
    let place = trail.sources.get("goal").map(|origin| format!("{origin}: ")).unwrap_or_default();
    let consumed = steps.iter().all(|step| step.load.consumers > 0);
    let conflict = |second: &str, reason| {
        Err(ResolveError::Conflict {
            place: place.clone(),
            first: "goal".into(),
            second: second.to_owned(),
            reason,
        })
    };
    if !consumed && words.latency == Some(GoalLatency::EndToEnd) {
        return conflict("load.consumers: 0", "end-to-end latency ends at a consumer");
    }
    if steps.iter().any(|step| !matches!(step.load.mode, Mode::Mixed | Mode::Produce)) {
        return conflict("load.mode", "a latency holds or not while messages are produced at a rate");
    }
    if steps.iter().any(|step| matches!(step.load.length, Length::Count(_))) {
        return conflict("load.count", "a search tries many rates, and each for a time: say load.duration");
    }
    let latency =
        words.latency.unwrap_or(if consumed { GoalLatency::EndToEnd } else { GoalLatency::Acknowledge });
    let goal = Goal { latency, quantile: words.quantile, limit: words.limit };
    Ok(trail.scenario("goal", Some(Some(goal)), || None))
}

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

fn cluster(words: Option<&ClusterWords>, trail: &mut Trail) -> Result<ClusterPlan, ResolveError> {
    let Some(words) = words else {
        return Err(ResolveError::Missing {
            path: "cluster",
            reason: "say `lab` for a real broker on this machine, or where yours is: {bootstrap: \"host:9092\"}",
        });
    };
    let place = trail.sources.get("cluster").map(|origin| format!("{origin}: ")).unwrap_or_default();
    trail.scenario("cluster.kind", trail.sources.get("cluster").map(|_| ()), || ());
    match (&words.lab, &words.bootstrap) {
        (Some(_), Some(_)) => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.bootstrap".into(),
            reason: "a run has one cluster",
        }),
        (None, None) => Err(ResolveError::Missing {
            path: "cluster.bootstrap",
            reason: "without a lab, a run needs the address of a broker",
        }),
        (None, Some(bootstrap)) => {
            trail.scenario("cluster.bootstrap", Some(()), || ());
            let config = trail.scenario("cluster.config", words.config.clone().map(Some), || None);
            if words.metrics.iter().any(|url| url.contains('@')) {
                let reason = "an address with a password in it would be kept in the run's document";
                return Err(ResolveError::Reserved { place, path: "cluster.metrics".into(), reason });
            }
            let written = (!words.metrics.is_empty()).then(|| words.metrics.clone());
            let metrics = trail.scenario("cluster.metrics", written, Vec::new);
            Ok(ClusterPlan::Brokers { bootstrap: bootstrap.clone(), config, metrics })
        }
        (Some(_), None) if !words.metrics.is_empty() => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.metrics".into(),
            reason: "the lab serves its brokers' metrics itself",
        }),
        (Some(_), None) if words.config.is_some() => Err(ResolveError::Conflict {
            place,
            first: "cluster.lab".into(),
            second: "cluster.config".into(),
            reason: "the lab makes its clients' settings itself",
        }),
        (Some(lab), None) => lab_plan(lab, trail),
    }
}

fn lab_plan(lab: &LabWords, trail: &mut Trail) -> Result<ClusterPlan, ResolveError> {
    let log_dirs: Vec<LogDirPlan> = lab
        .log_dirs
        .iter()
        .map(|(name, path)| LogDirPlan { name: name.clone(), path: path.clone() })
        .collect();
    let layout = trail.scenario("cluster.lab.log_dir_layout", lab.log_dir_layout, LogDirLayout::default);
    let each = layout == LogDirLayout::BrokerEach && !log_dirs.is_empty();
    if each && lab.brokers.is_some_and(|brokers| brokers as usize != log_dirs.len()) {
        return Err(ResolveError::Conflict {
            place: trail.sources.get("cluster").map(|origin| format!("{origin}: ")).unwrap_or_default(),
            first: "cluster.lab.brokers".into(),
            second: "cluster.lab.log_dirs".into(),
            reason: "with a broker for each log directory there are as many brokers as directories \
                     (log_dir_layout: together gives every broker all of them)",
        });
    }
    let brokers = if each { u32::try_from(log_dirs.len()).unwrap_or(u32::MAX) } else { 1 };
    Ok(ClusterPlan::Lab {
        brokers: trail.scenario("cluster.lab.brokers", lab.brokers, || brokers),
        log_dirs,
        log_dir_layout: layout,
        tls: trail.scenario("cluster.lab.tls", lab.tls, || false),
        heap: trail.scenario("cluster.lab.heap", lab.heap.clone(), || "512m".to_owned()),
        broker_properties: lab.broker_properties.iter().map(|(k, v)| (k.clone(), v.0.clone())).collect(),
        jvm_flags: lab.jvm_flags.clone(),
    })
}

fn topic(
    words: &TopicWords,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<TopicPlan, ResolveError> {
    let path = |name: &str| format!("{at}.topic.{name}");
    if let Some(name) = &words.name {
        for (other, given) in [
            ("topic.partitions", words.partitions.is_some()),
            ("topic.replication", words.replication.is_some()),
            ("topic.configs", !words.configs.is_empty()),
            ("topic.log_dir", words.log_dir.is_some()),
        ] {
            if given {
                return Err(ResolveError::Conflict {
                    place: trail.place(variant, other),
                    first: "topic.name".into(),
                    second: other.into(),
                    reason: "a topic that you name is used as it is and never altered",
                });
            }
        }
        let name = trail.step((path("name"), "topic.name"), variant, Some(name.clone()), String::new);
        return Ok(TopicPlan::Existing { name });
    }
    let first = |value: &Option<OneOrMany<u32>>| value.as_ref().map(|v| v.values()[0]);
    let log_dir = words.log_dir.as_ref().map(|name| Some(name.values()[0].0.clone()));
    let mut configs = BTreeMap::new();
    for (key, value) in &words.configs {
        let words_path = format!("topic.configs.{key}");
        let value = value.values()[0].0.clone();
        let value =
            trail.step((path(&format!("configs.{key}")), &words_path), variant, Some(value), String::new);
        configs.insert(key.clone(), value);
    }
    Ok(TopicPlan::Own {
        partitions: trail.step(
            (path("partitions"), "topic.partitions"),
            variant,
            first(&words.partitions),
            || 1,
        ),
        replication: trail.step(
            (path("replication"), "topic.replication"),
            variant,
            first(&words.replication),
            || 1,
        ),
        configs,
        log_dir: trail.step((path("log_dir"), "topic.log_dir"), variant, log_dir, || None),
    })
}

fn load(
    words: &LoadWords,
    searched: bool,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<LoadPlan, ResolveError> {
    let path = |name: &str| format!("{at}.load.{name}");
    let mode = trail.step((path("mode"), "load.mode"), variant, words.mode, Mode::default);
    let (rate, schedule) = pace::pace(words, (mode, searched), at, trail, variant)?;
    let count = words.count.as_ref().map(|count| count.values()[0]);
    let duration = words.duration.as_ref().map(|duration| duration.values()[0]);
    let (length_source, length) = match (count, duration) {
        (Some(_), Some(_)) => {
            return Err(ResolveError::Conflict {
                place: trail.place(variant, "load.duration"),
                first: "load.count".into(),
                second: "load.duration".into(),
                reason: "each says when the measured part ends",
            });
        }
        (Some(count), None) => ("load.count", Some(Length::Count(count))),
        (None, Some(duration)) => ("load.duration", Some(Length::Duration(duration))),
        (None, None) => ("load.duration", None),
    };
    if mode == Mode::Consume && words.until_device == Some(true) {
        return Err(ResolveError::Conflict {
            place: trail.place(variant, "load.until_device"),
            first: "load.until_device".into(),
            second: "load.mode".into(),
            reason: "in mode consume nothing is written in the measured part",
        });
    }
    let in_flight = words.in_flight.as_ref().map(|limit| limit.values()[0]);
    let size = words.size.as_ref().map(|size| size.values()[0].0.clone());
    let producers = words.producers.as_ref().map(|n| n.values()[0]);
    let consumers = words.consumers.as_ref().map(|n| n.values()[0]);
    let consuming = mode != Mode::Produce;
    if consumers.is_some_and(|consumers| (consumers > 0) != consuming && mode != Mode::Mixed) {
        return Err(ResolveError::Conflict {
            place: trail.place(variant, "load.consumers"),
            first: "load.consumers".into(),
            second: "load.mode".into(),
            reason: "nobody consumes in mode produce, and somebody must in consume and backlog",
        });
    }
    Ok(LoadPlan {
        rate_per_s: rate,
        mode,
        schedule,
        length: trail.step((path("length"), length_source), variant, length, || {
            Length::Duration(Nanos::from_secs(30))
        }),
        warm_up: trail
            .step((path("warm_up"), "load.warm_up"), variant, words.warm_up, || Nanos::from_secs(2)),
        drain: trail.step((path("drain"), "load.drain"), variant, words.drain, || Nanos::from_secs(10)),
        producers: trail.step((path("producers"), "load.producers"), variant, producers, || 1),
        consumers: trail
            .step((path("consumers"), "load.consumers"), variant, consumers, || u32::from(consuming)),
        size: trail.step((path("size"), "load.size"), variant, size, || SizePlan::Fixed(Bytes(1024))),
        keys: trail.step((path("keys"), "load.keys"), variant, words.keys, || Keys::None),
        headers: headers(words, at, trail, variant)?,
        payload: trail.step((path("payload"), "load.payload"), variant, words.payload.clone(), || {
            Payload::Entropy(1.0)
        }),
        in_flight: trail.step((path("in_flight"), "load.in_flight"), variant, in_flight.map(Some), || None),
        until_device: trail.step(
            (path("until_device"), "load.until_device"),
            variant,
            words.until_device,
            || false,
        ),
    })
}

/// The header that may carry the stamp of each record, and how many there may be beside it.
const STAMP_HEADER: &str = "plumb";
const HEADERS_MAX: usize = 10;

fn headers(
    words: &LoadWords,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<BTreeMap<String, String>, ResolveError> {
    let path = format!("{at}.load.headers");
    let headers = trail.step((path, "load.headers"), variant, words.headers.clone(), BTreeMap::new);
    let place = trail.place(variant, "load.headers");
    if headers.contains_key(STAMP_HEADER) {
        let reason = "that header carries Plumb's own stamp";
        return Err(ResolveError::Reserved { place, path: format!("load.headers.{STAMP_HEADER}"), reason });
    }
    if headers.len() > HEADERS_MAX {
        return Err(ResolveError::OutOfBounds {
            place,
            path: "load.headers".into(),
            got: format!("{} headers", headers.len()),
            expected: format!("at most {HEADERS_MAX}"),
            reason: "each message is handed over with room for so many",
        });
    }
    Ok(headers)
}

/// Properties that Plumb must set itself, with the place where the user sets them instead.
const RESERVED: &[(&str, &str)] = &[
    ("bootstrap.servers", "it belongs to the cluster: use cluster.bootstrap or --bootstrap"),
    ("metadata.broker.list", "it belongs to the cluster: use cluster.bootstrap or --bootstrap"),
    ("group.id", "each run uses a group of its own, so that it starts at the log's end and disturbs nobody"),
    ("statistics.interval.ms", "stages are computed from windows whose length Plumb sets"),
];

fn properties(
    role: &'static str,
    words: &BTreeMap<String, OneOrMany<Scalar>>,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<Properties, ResolveError> {
    let mut properties = Properties::new();
    for (key, value) in words {
        let words_path = format!("{role}.{key}");
        let connection = key.starts_with("sasl.") || key.starts_with("ssl.") || key == "security.protocol";
        let reserved = RESERVED.iter().find(|(name, _)| name == key).map(|(_, reason)| *reason);
        let reason = reserved.or(connection.then_some(
            "it belongs to the cluster: put it into the client properties file (cluster.config or --config)",
        ));
        if let Some(reason) = reason {
            return Err(ResolveError::Reserved {
                place: trail.place(variant, &words_path),
                path: words_path,
                reason,
            });
        }
        let value = value.values()[0].0.clone();
        let value =
            trail.step((format!("{at}.{words_path}"), &words_path), variant, Some(value), String::new);
        properties.insert(key.clone(), value);
    }
    Ok(properties)
}

fn check_names(steps: &[StepPlan], is_trial: bool) -> Result<(), ResolveError> {
    let mut seen = std::collections::BTreeSet::new();
    match steps.iter().find(|step| !seen.insert(&step.name)) {
        // An arm that is called as the reference's second step will be.
        Some(step) if is_trial => Err(ResolveError::Reserved {
            place: String::new(),
            path: format!("arms.{:?}", step.name),
            reason: "the reference runs once more under that name: call the arm differently",
        }),
        Some(step) => Err(ResolveError::SameName { name: step.name.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
