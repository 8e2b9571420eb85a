//! The bound of every number in a plan, with its reason.

use super::ResolveError;
use crate::plan::{ClusterPlan, Keys, Length, LoadPlan, Mode, Payload, Plan, Schedule, SizePlan, TopicPlan};

struct Bound {
    low: f64,
    high: f64,
    reason: &'static str,
}

const RATE: Bound =
    Bound { low: 0.01, high: 1e7, reason: "no single generator sends more, and less is not a measurement" };
const BACKLOG: Bound = Bound { low: 1.0, high: 1e13, reason: "a backlog lies in the log of a real disk" };
const COUNT: Bound = Bound { low: 1.0, high: 1e10, reason: "a step measures at least one message" };
const SECONDS: Bound = Bound { low: 0.001, high: 604_800.0, reason: "a step lasts up to a week" };
const WAIT: Bound = Bound { low: 0.0, high: 3_600.0, reason: "an unmeasured part lasts up to an hour" };
const CLIENTS: Bound =
    Bound { low: 1.0, high: 1_000.0, reason: "each client is a few threads of one process" };
const CONSUMERS: Bound =
    Bound { low: 0.0, high: 1_000.0, reason: "each client is a few threads of one process" };
const WORKERS: Bound =
    Bound { low: 0.0, high: 1_000.0, reason: "each worker is a process, and has a connection to this one" };
const IDLE_WORKERS: &str = "a worker beyond the number of producers and consumers would have nothing to do";
const SIZE: Bound =
    Bound { low: 1.0, high: 1e8, reason: "the client library sends values up to about 100 MB" };
const PARTITIONS: Bound = Bound { low: 1.0, high: 10_000.0, reason: "one topic of one experiment" };
const REPLICATION: Bound = Bound { low: 1.0, high: 100.0, reason: "a replica lives on a broker of its own" };
const IN_FLIGHT: Bound = Bound { low: 1.0, high: 10_000_000.0, reason: "the client's own queue ends there" };
const BLOCKS: Bound = Bound { low: 1.0, high: 1_000.0, reason: "each block starts fresh clients" };
const TWIN: Bound = Bound { low: 0.0, high: 1e6, reason: "a twin is a probe, not a load" };
const LEVEL: Bound = Bound { low: 0.5, high: 0.999, reason: "it is a confidence level" };
const BROKERS: Bound = Bound { low: 1.0, high: 15.0, reason: "every broker of a lab is a Java process here" };
const KEYS: Bound = Bound { low: 1.0, high: 10_000_000.0, reason: "the keys are held in memory" };
const SHARE: Bound = Bound { low: 0.0, high: 1.0, reason: "it is the share of random bytes in a value" };
const EXPONENT: Bound = Bound { low: 0.01, high: 10.0, reason: "beyond it every record has the same key" };

pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    let check = |path: &str, value: f64, bound: &Bound| within(plan, path, value, bound);
    check("blocks", f64::from(plan.blocks), &BLOCKS)?;
    check("level", plan.level, &LEVEL)?;
    check("twin", plan.twin as f64, &TWIN)?;
    check("settle", plan.settle.as_secs_f64(), &WAIT)?;
    if let ClusterPlan::Lab { brokers, .. } = plan.cluster {
        check("cluster.lab.brokers", f64::from(brokers), &BROKERS)?;
    }
    for (index, step) in plan.steps.iter().enumerate() {
        let at = |name: &str| format!("steps.{index}.{name}");
        if let TopicPlan::Own { partitions, replication, .. } = step.topic {
            check(&at("topic.partitions"), f64::from(partitions), &PARTITIONS)?;
            check(&at("topic.replication"), f64::from(replication), &REPLICATION)?;
        }
        check_load(&step.load, |path, value, bound| check(&at(&format!("load.{path}")), value, bound))?;
        if let Some(messages) = step.load.messages().filter(|messages| *messages < u64::from(plan.blocks)) {
            return Err(error(
                plan,
                "blocks",
                plan.blocks.to_string(),
                format!("at most {messages} for {:?}", step.name),
                "each block measures at least one message",
            ));
        }
    }
    Ok(())
}

fn check_load(
    load: &LoadPlan,
    check: impl Fn(&str, f64, &Bound) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    check("warm_up", load.warm_up.as_secs_f64(), &WAIT)?;
    check("drain", load.drain.as_secs_f64(), &WAIT)?;
    check("producers", f64::from(load.producers), &CLIENTS)?;
    check("consumers", f64::from(load.consumers), &CONSUMERS)?;
    check("workers", f64::from(load.workers), &WORKERS)?;
    let clients = Bound { low: 0.0, high: f64::from(load.producers + load.consumers), reason: IDLE_WORKERS };
    check("workers", f64::from(load.workers), &clients)?;
    check("size", load.size.smallest().0 as f64, &SIZE)?;
    check("size", load.size.largest().0 as f64, &SIZE)?;
    if let Some(rate) = load.rate_per_s {
        check("rate_per_s", rate, &RATE)?;
    }
    if let Mode::Backlog(bytes) = load.mode {
        check("mode", bytes.0 as f64, &BACKLOG)?;
    }
    match load.length {
        Length::Count(count) => check("length", count as f64, &COUNT)?,
        Length::Duration(time) => check("length", time.as_secs_f64(), &SECONDS)?,
    }
    if let Some(limit) = load.in_flight {
        check("in_flight", f64::from(limit), &IN_FLIGHT)?;
    }
    if let SizePlan::Mix(mix) = &load.size {
        check("size", mix.iter().map(|part| f64::from(part.weight)).sum(), &WEIGHTS)?;
    }
    match load.keys {
        Keys::None => {}
        Keys::RoundRobin { count } | Keys::Uniform { count } => check("keys", f64::from(count), &KEYS)?,
        Keys::Zipf { count, exponent } => {
            check("keys", f64::from(count), &KEYS)?;
            check("keys", exponent, &EXPONENT)?;
        }
    }
    if let Payload::Entropy(share) = load.payload {
        check("payload", share, &SHARE)?;
    }
    match &load.schedule {
        Schedule::Constant | Schedule::Saturating | Schedule::Poisson => {}
        Schedule::Steps(steps) => {
            check("schedule", steps.len() as f64, &CLIENTS)?;
            for step in steps {
                check("schedule", step.rate_per_s, &RATE)?;
                check("schedule", step.hold.as_secs_f64(), &SECONDS)?;
            }
        }
        Schedule::Ramp { from_per_s, to_per_s, over } => {
            check("schedule", *from_per_s, &RATE)?;
            check("schedule", *to_per_s, &RATE)?;
            check("schedule", over.as_secs_f64(), &SECONDS)?;
        }
        Schedule::Burst { messages } => check("schedule", f64::from(*messages), &COUNT)?,
    }
    Ok(())
}

/// Refuses topics with more replicas than their lab has brokers: no two replicas of a partition are on one.
pub(super) fn check_replicas(plan: &Plan) -> Result<(), ResolveError> {
    for (index, step) in plan.steps.iter().enumerate() {
        let cluster = step.cluster.as_ref().unwrap_or(&plan.cluster);
        let (ClusterPlan::Lab { brokers, .. }, TopicPlan::Own { replication, .. }) = (cluster, &step.topic)
        else {
            continue;
        };
        if replication > brokers {
            let path = format!("steps.{index}.topic.replication");
            let expected = format!("at most {brokers}, the brokers of the lab (cluster.lab.brokers)");
            return Err(error(plan, &path, replication.to_string(), expected, REPLICATION.reason));
        }
    }
    Ok(())
}

const WEIGHTS: Bound = Bound { low: 1.0, high: 1e9, reason: "sizes are drawn by their share of the weights" };

fn within(plan: &Plan, path: &str, value: f64, bound: &Bound) -> Result<(), ResolveError> {
    // Written so that NaN is outside.
    if value >= bound.low && value <= bound.high {
        return Ok(());
    }
    let expected = format!("between {} and {}", bound.low, bound.high);
    Err(error(plan, path, value.to_string(), expected, bound.reason))
}

fn error(plan: &Plan, path: &str, got: String, expected: String, reason: &'static str) -> ResolveError {
    let place = match plan.origins.get(path) {
        None | Some(crate::plan::Origin::Default) => String::new(),
        Some(origin) => format!("{origin}: "),
    };
    let path = match path.strip_prefix("steps.").and_then(|rest| rest.split_once('.')) {
        Some((_, inner)) => inner.replace("rate_per_s", "rate"),
        // What a plan calls blocks are the pairs of a trial.
        None => match &plan.trial {
            Some(trial) if path == "blocks" && trial.until_decided => "trial.max_pairs".to_owned(),
            Some(_) if path == "blocks" => "trial.pairs".to_owned(),
            _ => path.to_owned(),
        },
    };
    ResolveError::OutOfBounds { place, path, got, expected, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Sources, resolve};
    use serde_json::json;

    /// The path that a refusal of a trial's plan names.
    fn named(path: &str, until_decided: bool) -> String {
        let scenario = json!({
            "cluster": "lab",
            "load": {"rate": 50, "count": 100_000},
            "arms": {"a": {"producer": {"linger.ms": 0}}, "b": {"producer": {"linger.ms": 5}}},
        });
        let mut plan = resolve(&serde_json::from_value(scenario).unwrap(), &Sources::new()).unwrap();
        plan.trial.as_mut().unwrap().until_decided = until_decided;
        match error(&plan, path, String::new(), String::new(), "") {
            ResolveError::OutOfBounds { path, .. } => path,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_blocks_of_a_trial_are_its_pairs_and_everything_else_has_its_own_name() {
        assert_eq!([named("blocks", false), named("blocks", true)], ["trial.pairs", "trial.max_pairs"]);
        assert_eq!([named("level", false), named("level", true)], ["level", "level"]);
        assert_eq!(named("steps.0.load.rate_per_s", true), "load.rate");
    }
}
