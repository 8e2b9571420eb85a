//! A step as rules see it: its result, its plan, and the settings that were really in force.

use plumb_model::document::{BlockResult, RunDocument, StepResult};
use plumb_model::observation::{Distribution, ProgramAccount, SecondLatency, SecondRow};
use plumb_model::plan::{
    ClientProgram, Driver, ExternalPlan, LoadPlan, Mode, Plan, Properties, Schedule, StepPlan,
};
use plumb_model::property::usual_name;
use plumb_model::scenario_settings::load_differences;
use std::collections::BTreeMap;

/// A step that moved something, with its plan where the document has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) result: &'a StepResult,
    pub(crate) plan: Option<&'a StepPlan>,
}

/// librdkafka prints a property under its own name, users mostly write Kafka's.
const LINGER: [&str; 2] = ["queue.buffering.max.ms", "linger.ms"];
const ACKS: [&str; 2] = ["request.required.acks", "acks"];

impl<'a> Setup<'a> {
    /// All of a document.
    pub(crate) fn all(document: &'a RunDocument) -> impl Iterator<Item = Setup<'a>> + use<'a> {
        let moved =
            document.steps.iter().filter(|result| result.counts.sent > 0 || result.counts.received > 0);
        moved.map(|result| Setup { result, plan: step_plan(&document.plan, &result.name) })
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.result.name
    }

    /// The producer's `linger.ms`, read back or, failing that, as asked for.
    pub(crate) fn linger_ms(&self) -> Option<f64> {
        self.producer_property(&LINGER)?.parse().ok().filter(|ms: &f64| ms.is_finite() && *ms >= 0.0)
    }

    /// A number among the producer's properties.
    pub(crate) fn producer_number(&self, names: &[&str]) -> Option<f64> {
        self.producer_property(names)?.parse().ok()
    }

    /// True if no write is confirmed.
    pub(crate) fn unconfirmed(&self) -> bool {
        let acks = self.result.durability.acks.as_deref();
        acks.or_else(|| self.producer_property(&ACKS)) == Some("0")
    }

    fn producer_property(&self, names: &[&str]) -> Option<&'a str> {
        let plan = self.plan.map(|plan| &plan.producer);
        let places = [Some(&self.result.effective.producer), plan];
        places
            .into_iter()
            .flatten()
            .find_map(|place| names.iter().find_map(|name| place.get(*name)).map(String::as_str))
    }

    /// True if somebody receives the messages; else the step is for the acknowledge latency.
    pub(crate) fn consumes(&self) -> bool {
        self.load().is_none_or(|load| load.consumers > 0 && load.mode != Mode::Produce)
    }

    /// True if somebody sends in the measured part.
    pub(crate) fn produces(&self) -> bool {
        self.load().is_none_or(|load| load.mode != Mode::Consume)
    }

    /// True if a topic of the user's is read as it is: only its length is known beforehand.
    pub(crate) fn reads_as_it_is(&self) -> bool {
        self.plan.is_some_and(StepPlan::reads_as_it_is)
    }

    /// True if messages went as fast as possible: there is no latency then, and the step is for the rate.
    pub(crate) fn saturates(&self) -> bool {
        self.load().is_some_and(LoadPlan::saturating)
    }

    /// True if the step is to show the growth of the producers' queue: its times are that queue's length.
    pub(crate) fn shows_queue(&self) -> bool {
        self.load().is_some_and(LoadPlan::shows_queue)
    }

    /// True if its times are latencies of the path.
    pub(crate) fn has_latency(&self) -> bool {
        !self.saturates() && !self.shows_queue()
    }

    /// True if the load has two parts by plan: a backlog is built up, then drained.
    pub(crate) fn drains_a_backlog(&self) -> bool {
        self.load().is_some_and(|load| matches!(load.mode, Mode::Backlog(_)))
    }

    /// True if its clients of this role are programs of their own.
    pub(crate) fn has_program(&self, role: &str) -> bool {
        self.programs().any(|program| program.role == role)
    }

    /// The clients that are programs of their own, of every block.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &ProgramAccount> {
        self.result.blocks.iter().flat_map(|block| &block.programs)
    }

    /// The client that drove it.
    pub(crate) fn driver(&self) -> Driver {
        self.plan.map(|plan| plan.driver).unwrap_or_default()
    }

    /// The clients as a scenario's `driver` has them: `librdkafka`, `java`, `{"producer":"java","consumer":"librdkafka"}`.
    pub(crate) fn driver_words(&self) -> String {
        self.external().map_or_else(|| self.driver().name().to_owned(), ExternalPlan::words)
    }

    /// The client of a role, `producer` or `consumer`, by name; none of what is no client.
    pub(crate) fn client(&self, role: &str) -> Option<String> {
        let program = |of: fn(&ExternalPlan) -> &ClientProgram| {
            self.external().map_or_else(|| self.driver().name().to_owned(), |external| of(external).name())
        };
        match role {
            "producer" => Some(program(|external| &external.producer)),
            "consumer" => Some(program(|external| &external.consumer)),
            _ => None,
        }
    }

    fn external(&self) -> Option<&'a ExternalPlan> {
        self.plan.and_then(|plan| plan.external.as_ref())
    }

    /// Whether somebody wrote this property of a role, `producer` or `consumer`, by any of its names.
    pub(crate) fn wrote(&self, role: &str, key: &str) -> bool {
        let written = self.plan.and_then(|plan| match role {
            "producer" => Some(&plan.producer),
            "consumer" => Some(&plan.consumer),
            _ => None,
        });
        written.is_some_and(|of| of.keys().any(|name| usual_name(name) == usual_name(key)))
    }

    /// True if a saturating step is for the rate of receiving, of messages that were there before.
    pub(crate) fn is_for_receiving(&self) -> bool {
        !self.produces() || self.drains_a_backlog()
    }

    /// The rate that a saturating step is for: messages acknowledged per second, or received.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        let throughput = &self.result.throughput;
        let rate = if self.is_for_receiving() {
            throughput.received_per_s
        } else {
            throughput.produced_per_s.or(self.result.achieved_per_s)
        };
        rate.filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// The same of a block.
    pub(crate) fn rate_of(&self, block: &BlockResult) -> Option<f64> {
        let rate = if self.is_for_receiving() { block.received_per_s } else { block.achieved_per_s };
        rate.filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// Blocks that ran to their end.
    pub(crate) fn whole_blocks(&self) -> impl Iterator<Item = &'a BlockResult> + use<'a> {
        self.result.blocks.iter().filter(|block| !block.cut_short)
    }

    /// Time of the measured parts of all blocks together; absent where no rate tells it.
    pub(crate) fn measured_s(&self) -> Option<f64> {
        let counts = &self.result.counts;
        let messages = if self.is_for_receiving() { counts.received } else { counts.acked };
        Some(messages as f64 / self.rate_per_s()?).filter(|time| *time > 0.0)
    }

    /// Time for which all blocks together sent, warm-up included; absent where no rate tells it.
    pub(crate) fn sending_s(&self) -> Option<f64> {
        let warm_up_s = self.load().map_or(0.0, |load| load.warm_up.0 as f64 / 1e9);
        Some(self.measured_s()? + warm_up_s * self.result.blocks.len() as f64)
    }

    /// The latency that the step is for: end to end, or acknowledge where nobody receives.
    pub(crate) fn headline(&self) -> &'a Distribution {
        let latency = &self.result.latency;
        if self.consumes() { &latency.end_to_end } else { &latency.acknowledge }
    }

    /// The headline latency of a block.
    pub(crate) fn headline_of<'r>(&self, block: &'r BlockResult) -> &'r Distribution {
        if self.consumes() { &block.end_to_end } else { &block.acknowledge }
    }

    /// The name of the headline latency.
    pub(crate) fn headline_name(&self) -> &'static str {
        if self.consumes() { "end-to-end" } else { "acknowledge" }
    }

    /// The headline latency of a second.
    pub(crate) fn headline_of_second<'r>(&self, row: &'r SecondRow) -> &'r SecondLatency {
        if self.consumes() { &row.end_to_end } else { &row.acknowledge }
    }

    /// Mean of the headline latency.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        self.headline().mean_ns.filter(|mean| mean.is_finite() && *mean > 0.0)
    }

    /// Median of the headline latency.
    pub(crate) fn p50_ns(&self) -> Option<f64> {
        self.headline().p50_ns.map(|p50| p50 as f64)
    }

    /// True if steps of one run can be compared though their settings of load may differ: they have the same rate, schedule and
    /// sizes, and as many clients where these make the rate. Without a plan, as far as the figures tell.
    pub(crate) fn same_offer(&self, other: &Setup) -> bool {
        match (self.load(), other.load()) {
            (Some(a), Some(b)) => {
                a.mode == b.mode
                    && a.rate_per_s == b.rate_per_s
                    && a.schedule == b.schedule
                    && a.size == b.size
                    && (!a.saturating() || (a.producers, a.consumers) == (b.producers, b.consumers))
            }
            _ => self.same_figures(other),
        }
    }

    /// True if two steps were offered the same load in everything but its length; without a plan, as far as the figures tell.
    pub(crate) fn same_load(&self, other: &Setup) -> bool {
        match (self.load(), other.load()) {
            (Some(a), Some(b)) => a.same_but_length(b),
            _ => self.same_figures(other),
        }
    }

    /// The settings in which their loads differ, the length excepted, as `key: a / b`.
    pub(crate) fn load_differences(&self, other: &Setup) -> Vec<String> {
        let both = self.load().zip(other.load()).map(|(a, b)| load_differences(a, b)).unwrap_or_default();
        both.into_iter().map(|(key, [a, b])| format!("{key}: {a} / {b}")).collect()
    }

    fn same_figures(&self, other: &Setup) -> bool {
        let (a, b) = (self.result, other.result);
        a.asked_per_s == b.asked_per_s && a.value_bytes_mean == b.value_bytes_mean
    }

    /// True if two steps are the same in everything but their names: an A/A pair.
    pub(crate) fn same_settings(&self, other: &Setup) -> bool {
        match (self.plan, other.plan) {
            (Some(a), Some(b)) => {
                a.driver == b.driver
                    && a.external == b.external
                    && a.cluster == b.cluster
                    && a.topic == b.topic
                    && a.load == b.load
                    && a.producer == b.producer
                    && a.consumer == b.consumer
            }
            _ => false,
        }
    }

    /// Settings in which two steps differ, as `producer linger.ms: 0 / 5`.
    pub(crate) fn differences(&self, other: &Setup) -> Vec<String> {
        let (Some(a), Some(b)) = (self.plan, other.plan) else { return Vec::new() };
        let mut differences = differing("producer", &a.producer, &b.producer);
        differences.extend(differing("consumer", &a.consumer, &b.consumer));
        if a.driver != b.driver || a.external != b.external {
            differences.push("driver".to_owned());
        }
        if a.cluster != b.cluster {
            differences.push("cluster".to_owned());
        }
        if a.topic != b.topic {
            differences.push("topic".to_owned());
        }
        if a.load != b.load {
            differences.push("load".to_owned());
        }
        differences
    }

    /// True if the schedule holds one rate; else latency and backlog move because the load does.
    pub(crate) fn holds_its_rate(&self) -> bool {
        self.load().is_none_or(|load| !matches!(load.schedule, Schedule::Steps(_) | Schedule::Ramp { .. }))
    }

    /// The schedule's promise of an even rate: a Poisson schedule's own length varies.
    pub(crate) fn is_random(&self) -> bool {
        self.load().is_some_and(|load| load.schedule == Schedule::Poisson)
    }

    pub(crate) fn load(&self) -> Option<&'a LoadPlan> {
        self.plan.map(|plan| &plan.load)
    }

    /// A block for people, who count from 1: `block 2 of 5`, of this setup's own.
    pub(crate) fn block_words(&self, block: u32) -> String {
        format!("block {} of {}", block + 1, self.result.blocks.len().max(block as usize + 1))
    }

    /// Blocks that ran; a document without blocks has one.
    pub(crate) fn blocks(&self) -> f64 {
        self.result.blocks.len().max(1) as f64
    }
}

/// A value in one second of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AtSecond<T> {
    /// The second of the block, from 0.
    pub(crate) second: u32,
    pub(crate) value: T,
}

/// Values of one kind, second by second within each block.
pub(crate) fn by_block<T>(
    result: &StepResult,
    mut value: impl FnMut(&SecondRow) -> Option<T>,
) -> BTreeMap<u32, Vec<AtSecond<T>>> {
    let mut blocks: BTreeMap<u32, Vec<AtSecond<T>>> = BTreeMap::new();
    for row in &result.series {
        if let Some(value) = value(row) {
            blocks.entry(row.block).or_default().push(AtSecond { second: row.second, value });
        }
    }
    for rows in blocks.values_mut() {
        rows.sort_by_key(|row| row.second);
    }
    blocks
}

fn step_plan<'a>(plan: &'a Plan, name: &str) -> Option<&'a StepPlan> {
    plan.steps.iter().find(|step| step.name == name)
}

fn differing(role: &str, a: &Properties, b: &Properties) -> Vec<String> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let shown = |properties: &Properties, name: &String| {
        properties.get(name).cloned().unwrap_or_else(|| "default".to_owned())
    };
    differing.map(|name| format!("{role} {name}: {} / {}", shown(a, name), shown(b, name))).collect()
}
