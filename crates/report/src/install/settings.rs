//! The settings of the winner that differ from those of the step that it was held against, one row a setting.

use super::Handed;
use plumb_model::change::{Change, Owner, Target};
use plumb_model::facts::LogDirectory;
use plumb_model::plan::{ClusterPlan, Properties, TopicPlan};
use std::collections::{BTreeMap, BTreeSet};

/// librdkafka prints a property under its own name, users mostly write Kafka's.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("linger.ms", "queue.buffering.max.ms"),
    ("acks", "request.required.acks"),
    ("retries", "message.send.max.retries"),
    ("max.in.flight", "max.in.flight.requests.per.connection"),
    ("delivery.timeout.ms", "message.timeout.ms"),
    ("compression.type", "compression.codec"),
    ("max.partition.fetch.bytes", "fetch.message.max.bytes"),
];

/// A property by either of its names.
pub(crate) fn property<'p>(properties: &'p Properties, key: &str) -> Option<&'p String> {
    let other = |(kafka, own): &(&str, &'static str)| if *kafka == key { Some(*own) } else { None };
    let back = |(kafka, own): &(&'static str, &str)| if *own == key { Some(*kafka) } else { None };
    let names =
        [key].into_iter().chain(OTHER_NAMES.iter().find_map(other)).chain(OTHER_NAMES.iter().find_map(back));
    names.into_iter().find_map(|name| properties.get(name))
}

/// Every difference.
pub(crate) fn settings(handed: &Handed) -> Vec<Change> {
    let (won, against) = (handed.won, handed.against);
    let mut found = differing(
        Owner::Producer,
        &Values { asked: &won.plan.producer, read: &won.result.effective.producer },
        &Values { asked: &against.plan.producer, read: &against.result.effective.producer },
    );
    found.extend(differing(
        Owner::Consumer,
        &Values { asked: &won.plan.consumer, read: &won.result.effective.consumer },
        &Values { asked: &against.plan.consumer, read: &against.result.effective.consumer },
    ));
    found.extend(of_topic(handed));
    found.extend(of_cluster(handed));
    found.extend(of_host(handed));
    if won.plan.driver_name() != against.plan.driver_name() {
        let name = |step: &super::Step| step.plan.driver_name();
        found.push(Change::plain(of(Owner::Other, "client"), Some(name(&against)), Some(name(&won))));
    }
    found
}

fn of(owner: Owner, key: &str) -> Target {
    Target { owner, key: key.to_owned() }
}

/// The properties of one owner in a setup.
struct Values<'a> {
    asked: &'a Properties,
    /// The properties that were read back.
    read: &'a Properties,
}

impl Values<'_> {
    fn of(&self, key: &str) -> Option<String> {
        property(self.asked, key).or_else(|| property(self.read, key)).cloned()
    }
}

/// Keys that either setup asks for, with the values that were read back where one does not ask.
fn differing(owner: Owner, now: &Values<'_>, was: &Values<'_>) -> Vec<Change> {
    let keys: BTreeSet<&String> = now.asked.keys().chain(was.asked.keys()).collect();
    let rows = keys.into_iter().map(|key| Change::plain(of(owner, key), was.of(key), now.of(key)));
    rows.filter(|row| row.before != row.after).collect()
}

fn of_topic(handed: &Handed) -> Vec<Change> {
    let (
        TopicPlan::Own { partitions, replication, configs, .. },
        TopicPlan::Own { partitions: p, replication: r, configs: c, .. },
    ) = (&handed.won.plan.topic, &handed.against.plan.topic)
    else {
        return Vec::new();
    };
    let (read, read_before) = (&handed.won.result.effective.topic, &handed.against.result.effective.topic);
    let mut found =
        differing(Owner::Topic, &Values { asked: configs, read }, &Values { asked: c, read: read_before });
    for (key, was, now) in [("partitions", p, partitions), ("replication", r, replication)] {
        if was != now {
            let (was, now) = (Some(was.to_string()), Some(now.to_string()));
            found.push(Change::plain(of(Owner::Other, key), was, now));
        }
    }
    found
}

fn of_cluster(handed: &Handed) -> Vec<Change> {
    let of = |step: &super::Step| {
        step.plan.cluster.clone().unwrap_or_else(|| handed.document.plan.cluster.clone())
    };
    let mut found = Vec::new();
    if let (
        ClusterPlan::Lab { broker_properties: now, jvm_flags: flags, heap, .. },
        ClusterPlan::Lab { broker_properties: was, jvm_flags: flags_before, heap: heap_before, .. },
    ) = (of(&handed.won), of(&handed.against))
    {
        let (read, read_before) =
            (&handed.won.result.effective.broker, &handed.against.result.effective.broker);
        found.extend(differing(
            Owner::Broker,
            &Values { asked: &now, read },
            &Values { asked: &was, read: read_before },
        ));
        let joined = |words: Vec<String>| (!words.is_empty()).then(|| words.join(" "));
        let jvm = |key: &str, was: Vec<String>, now: Vec<String>| {
            Change::plain(self::of(Owner::Jvm, key), joined(was), joined(now))
        };
        found.push(jvm("flags", flags_before, flags));
        found.push(jvm("heap", vec![heap_before], vec![heap]));
        found.retain(|row| row.before != row.after);
    }
    let (now, was) = (directories(handed, &handed.won), directories(handed, &handed.against));
    let paths = |of: &[&LogDirectory]| -> Option<String> {
        let paths: Option<Vec<&str>> = of.iter().map(|directory| directory.path.as_deref()).collect();
        paths.filter(|paths| !paths.is_empty()).map(|paths| paths.join(","))
    };
    if paths(&now) != paths(&was) && paths(&now).is_some() {
        found.push(Change::plain(self::of(Owner::LogDirectory, "log.dirs"), paths(&was), paths(&now)));
    }
    found
}

/// The directories that the step's partitions were found in.
pub(crate) fn directories<'d>(handed: &Handed<'d>, step: &super::Step) -> Vec<&'d LogDirectory> {
    let all = handed.document.environment.log_directories.iter();
    all.filter(|directory| step.result.effective.log_dirs.contains_key(&directory.name)).collect()
}

/// Kernel settings and commands of the arms.
fn of_host(handed: &Handed) -> Vec<Change> {
    let Some(trial) = &handed.document.plan.trial else { return Vec::new() };
    let of = |step: &super::Step| {
        let arm = trial
            .arms
            .iter()
            .find(|arm| handed.document.plan.steps.get(arm.step).is_some_and(|it| it.name == step.plan.name));
        arm.map_or_else(|| (BTreeMap::new(), None), |arm| (arm.host.clone(), arm.before.clone()))
    };
    let ((now, command), (was, command_before)) = (of(&handed.won), of(&handed.against));
    let (read, read_before) = (&handed.won.result.effective.host, &handed.against.result.effective.host);
    let mut found =
        differing(Owner::Host, &Values { asked: &now, read }, &Values { asked: &was, read: read_before });
    if command != command_before {
        found.push(Change::plain(
            self::of(Owner::Other, "command before each block"),
            command_before,
            command,
        ));
    }
    found
}
