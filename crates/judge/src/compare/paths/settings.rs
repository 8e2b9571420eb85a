//! Settings, JVM flags and conditions of two watched paths that differ. What only one of them told is no difference.

use plumb_model::compare::paths::PathSetting;
use plumb_model::facts::{Fact, HostFacts};
use plumb_model::observed::{JvmWindow, ObservedPath};
use plumb_model::plan::Properties;
use plumb_model::property::{is_identity, readable, same_value};
use std::collections::{BTreeMap, BTreeSet};

/// The settings that differ, and those that could not be held against each other.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) differ: Vec<PathSetting>,
    pub(super) alone: Vec<String>,
}

/// The settings of both.
pub(super) fn settings(a: &ObservedPath, b: &ObservedPath) -> Settings {
    let mut all = Settings::default();
    let flags = |path: &ObservedPath| {
        jvms(path).into_iter().map(|jvm| jvm.facts.flags.clone()).collect::<Vec<Properties>>()
    };
    in_order(&mut all, "JVM", flags(a), flags(b));
    brokers(&mut all, a, b);
    topics(&mut all, a, b);
    clients(&mut all, a, b);
    quotas(&mut all, a, b);
    let kernel = |path: &ObservedPath| {
        path.host_window.as_ref().map(|window| window.settings.clone()).unwrap_or_default()
    };
    all.hold("kernel of the host", &kernel(a), &kernel(b));
    all
}

impl Settings {
    /// Settings that the other did not tell, so that they are not held against anything.
    fn told_by_one(&mut self, of: &str, by_first: bool) {
        let which = if by_first { "first" } else { "second" };
        self.alone.push(format!("{of}: only the {which} told its settings"));
    }

    /// Holds two sets against each other. A key that one of them lacks is a difference, since both told their settings; where one told none
    /// at all, nothing is said.
    fn hold(&mut self, of: &str, a: &Properties, b: &Properties) {
        if a.is_empty() && b.is_empty() {
            return;
        }
        if a.is_empty() || b.is_empty() {
            return self.told_by_one(of, b.is_empty());
        }
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).filter(|key| !is_identity(key)).collect();
        for key in keys {
            let (of_a, of_b) = (a.get(key), b.get(key));
            let same = of_a.zip(of_b).map_or(of_a == of_b, |(a, b)| same_value(a, b));
            if !same {
                let value = |value: Option<&String>| value.map(|value| readable(key, value).to_owned());
                self.differ.push(PathSetting {
                    of: of.to_owned(),
                    key: key.clone(),
                    a: value(of_a),
                    b: value(of_b),
                });
            }
        }
    }
}

/// The JVMs of brokers, or of all where none is known to be one, by their numbers.
fn jvms(path: &ObservedPath) -> Vec<&JvmWindow> {
    let any_broker = path.processes.iter().any(|process| process.is_broker);
    let looked_at = path.processes.iter().filter(|process| process.is_broker || !any_broker);
    looked_at.filter_map(|process| process.jvm.as_ref()).collect()
}

/// Sets without names of their own: the first of one against the first of the other.
fn in_order(all: &mut Settings, of: &str, a: Vec<Properties>, b: Vec<Properties>) {
    match (a.is_empty(), b.is_empty()) {
        (true, false) | (false, true) => all.told_by_one(of, b.is_empty()),
        _ if a.len() != b.len() => {
            all.alone.push(format!("{of}: the first has {}, the second {}", a.len(), b.len()));
        }
        _ => {}
    }
    let many = a.len().max(b.len()) > 1;
    for (index, (of_a, of_b)) in a.iter().zip(&b).enumerate() {
        let of = if many { format!("{of} {}", index + 1) } else { of.to_owned() };
        all.hold(&of, of_a, of_b);
    }
}

/// Brokers by their ids; one against one whatever they are called.
fn brokers(all: &mut Settings, a: &ObservedPath, b: &ObservedPath) {
    let (of_a, of_b) = (&a.settings.brokers, &b.settings.brokers);
    if let ([(id_a, only_a)], [(id_b, only_b)]) = (entries(of_a).as_slice(), entries(of_b).as_slice()) {
        let of = if id_a == id_b { format!("broker {id_a}") } else { format!("broker {id_a} / {id_b}") };
        all.hold(&of, only_a, only_b);
        return;
    }
    by_name(all, "broker", of_a, of_b);
}

fn entries(map: &BTreeMap<String, Properties>) -> Vec<(&String, &Properties)> {
    map.iter().collect()
}

fn by_name(
    all: &mut Settings,
    kind: &str,
    a: &BTreeMap<String, Properties>,
    b: &BTreeMap<String, Properties>,
) {
    if a.is_empty() || b.is_empty() {
        a.keys().for_each(|name| all.told_by_one(&format!("{kind} {name}"), true));
        b.keys().for_each(|name| all.told_by_one(&format!("{kind} {name}"), false));
        return;
    }
    for (name, of_a) in a {
        match b.get(name) {
            Some(of_b) => all.hold(&format!("{kind} {name}"), of_a, of_b),
            None => all.alone.push(format!("{kind} {name}: only the first has it")),
        }
    }
    for name in b.keys().filter(|name| !a.contains_key(*name)) {
        all.alone.push(format!("{kind} {name}: only the second has it"));
    }
}

fn topics(all: &mut Settings, a: &ObservedPath, b: &ObservedPath) {
    let sets = |path: &ObservedPath| -> BTreeMap<String, Properties> {
        let topic = |(name, topic): (&String, &plumb_model::observed::TopicSettings)| {
            let mut configs = topic.configs.clone();
            configs.insert("partitions".to_owned(), topic.partitions.to_string());
            configs.insert("replication factor".to_owned(), topic.replication.to_string());
            (name.clone(), configs)
        };
        path.settings.topics.iter().map(topic).collect()
    };
    by_name(all, "topic", &sets(a), &sets(b));
}

/// Clients by their names; one against one whatever they are called.
fn clients(all: &mut Settings, a: &ObservedPath, b: &ObservedPath) {
    let sets = |path: &ObservedPath| -> BTreeMap<String, Properties> {
        let told = path.clients.iter().filter(|client| !client.settings.is_empty());
        told.map(|client| (client.name.clone(), client.settings.clone())).collect()
    };
    let (of_a, of_b) = (sets(a), sets(b));
    if let ([(_, only_a)], [(_, only_b)]) = (entries(&of_a).as_slice(), entries(&of_b).as_slice()) {
        all.hold("client", only_a, only_b);
        return;
    }
    by_name(all, "client", &of_a, &of_b);
}

fn quotas(all: &mut Settings, a: &ObservedPath, b: &ObservedPath) {
    // Only a cluster that was asked tells that it has none.
    if a.settings.brokers.is_empty() || b.settings.brokers.is_empty() {
        let sides = [(a, "first"), (b, "second")].into_iter();
        let told = sides.filter(|(path, _)| !path.settings.quotas.is_empty());
        all.alone.extend(told.map(|(_, which)| format!("quotas: only the {which} was asked for them")));
        return;
    }
    let set = |path: &ObservedPath| path.settings.quotas.iter().cloned().collect::<BTreeSet<String>>();
    let (of_a, of_b) = (set(a), set(b));
    for quota in of_a.symmetric_difference(&of_b) {
        let of = |set: &BTreeSet<String>| set.contains(quota).then(|| "set".to_owned());
        all.differ.push(PathSetting {
            of: "quota".to_owned(),
            key: quota.clone(),
            a: of(&of_a),
            b: of(&of_b),
        });
    }
}

/// A fact of a host in words, where it is known.
type HostFact = fn(&HostFacts) -> Option<String>;

/// The differences around the two.
pub(super) fn conditions(a: &ObservedPath, b: &ObservedPath) -> Vec<PathSetting> {
    let mut all = Vec::new();
    let mut hold = |of: &str, key: &str, a: Option<String>, b: Option<String>| {
        if a != b && a.is_some() && b.is_some() {
            all.push(PathSetting { of: of.to_owned(), key: key.to_owned(), a, b });
        }
    };
    let host = |path: &ObservedPath, of: fn(&HostFacts) -> Option<String>| path.host.as_ref().and_then(of);
    fn told<T: ToString>(fact: &Fact<T>) -> Option<String> {
        fact.value().map(ToString::to_string)
    }
    let of_host: [(&str, HostFact); 6] = [
        ("identity", |host| told(&host.host_digest)),
        ("machine", |host| told(&host.machine)),
        ("processor", |host| told(&host.cpu_model)),
        ("processors", |host| told(&host.logical_cpus)),
        ("memory, bytes", |host| told(&host.memory_total_bytes)),
        ("kernel", |host| told(&host.kernel_release)),
    ];
    for (key, of) in of_host {
        hold("host", key, host(a, of), host(b, of));
    }
    let jvm = |path: &ObservedPath, of: fn(&JvmWindow) -> Option<String>| {
        jvms(path).first().and_then(|jvm| of(jvm))
    };
    hold("JVM", "version", jvm(a, |jvm| jvm.facts.version.clone()), jvm(b, |jvm| jvm.facts.version.clone()));
    hold(
        "JVM",
        "collector",
        jvm(a, |jvm| jvm.facts.collector.clone()),
        jvm(b, |jvm| jvm.facts.collector.clone()),
    );
    let version =
        |path: &ObservedPath| Some(path.plumb_version.clone()).filter(|version| !version.is_empty());
    hold("Plumb", "version", version(a), version(b));
    all
}
