//! Checks of several hosts held against each other: where some differ from most, and which hosts do.
//!
//! A setting that all have alike is no difference, whether it is good or not. Of two hosts nobody is the unusual one.

use plumb_model::check::{
    HostCheck, HostDifference, HostOfMany, HostValue, HostsCompared, SCHEMA_VERSION, SettingCheck, Status,
};
use std::collections::BTreeMap;

/// The value of a setting that a host does not have.
const NONE: &str = "(none)";

/// A host is unlike the others if it differs from most in this many settings, and in three times as many as the median host. Ours.
const OUTLIER_LEAST: u32 = 3;
const OUTLIER_TIMES: u32 = 3;

/// A check with the name by which its host is called.
#[derive(Debug, Clone, Copy)]
pub struct NamedCheck<'a> {
    /// The name.
    pub name: &'a str,
    /// The check.
    pub check: &'a HostCheck,
}

/// A setting of a thing.
type Key = (String, String);

/// Holds hosts against each other.
pub fn compare(hosts: &[NamedCheck<'_>]) -> HostsCompared {
    let mut values: BTreeMap<Key, BTreeMap<&str, String>> = BTreeMap::new();
    for host in hosts {
        for (key, value) in facts(host.check).into_iter().chain(host.check.checks.iter().filter_map(setting))
        {
            values.entry(key).or_default().insert(host.name, value);
        }
    }
    let differences: Vec<HostDifference> =
        values.into_iter().filter_map(|(key, values)| difference(hosts, key, &values)).collect();
    let unlike = |name: &str| {
        let is_other =
            |difference: &&HostDifference| difference.others.iter().any(|other| other.host == name);
        differences.iter().filter(is_other).count() as u32
    };
    let rows: Vec<HostOfMany> = hosts
        .iter()
        .map(|host| HostOfMany {
            name: host.name.to_owned(),
            changes: host.check.of(Status::Change).count() as u32,
            unlike: unlike(host.name),
            losses: host.check.losses.iter().map(|loss| loss.layer.words().to_owned()).collect(),
        })
        .collect();
    let mut counts: Vec<u32> = rows.iter().map(|row| row.unlike).collect();
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
    let is_outlier = |row: &&HostOfMany| {
        hosts.len() >= 3 && row.unlike >= OUTLIER_LEAST.max(median.saturating_mul(OUTLIER_TIMES))
    };
    let outliers = rows.iter().filter(is_outlier).map(|row| row.name.clone()).collect();
    HostsCompared { schema_version: SCHEMA_VERSION, hosts: rows, differences, outliers }
}

/// A setting's value, where the host has one. Processes are of one host alone, so their settings are not compared.
fn setting(check: &SettingCheck) -> Option<(Key, String)> {
    let value = check.effective.clone().or_else(|| check.configured.clone())?;
    (!check.target.starts_with("process ")).then(|| ((check.id.clone(), check.target.clone()), value))
}

/// Facts in which hosts of a fleet should be alike.
fn facts(check: &HostCheck) -> Vec<(Key, String)> {
    let host = &check.host;
    let facts = [
        ("kernel", host.kernel_release.value().cloned()),
        ("processor", host.cpu_model.value().cloned()),
        ("microcode", host.cpu_microcode.value().map(|revisions| revisions.join(", "))),
        ("processors", host.logical_cpus.value().map(u32::to_string)),
        ("machine", host.machine.value().cloned()),
        ("operating system", host.os_name.value().cloned()),
        ("clock source", host.clock_source.value().cloned()),
        ("mitigations", host.mitigations.value().cloned()),
    ];
    let known = |(name, value): (&str, Option<String>)| Some(((name.to_owned(), String::new()), value?));
    facts.into_iter().filter_map(known).collect()
}

fn difference(hosts: &[NamedCheck<'_>], key: Key, values: &BTreeMap<&str, String>) -> Option<HostDifference> {
    let of = |name: &str| values.get(name).cloned().unwrap_or_else(|| NONE.to_owned());
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for host in hosts {
        *counts.entry(of(host.name)).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let (usual, hosts_usual) = counts.into_iter().max_by_key(|(value, count)| (*count, value != NONE))?;
    let others = hosts
        .iter()
        .map(|host| HostValue { host: host.name.to_owned(), value: of(host.name) })
        .filter(|other| other.value != usual)
        .collect();
    let (id, target) = key;
    Some(HostDifference { id, target, usual, hosts_usual, others })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::check::{Risk, Role};
    use plumb_model::facts::HostFacts;

    fn host(values: &[(&str, &str)]) -> HostCheck {
        let check = |(id, value): &(&str, &str)| SettingCheck {
            id: (*id).to_owned(),
            target: String::new(),
            status: Status::Ok,
            configured: Some((*value).to_owned()),
            effective: None,
            recommended: None,
            reason: String::new(),
            evidence: Vec::new(),
            risk: Risk::Low,
            source: String::new(),
            assignments: Vec::new(),
            expected: String::new(),
        };
        HostCheck {
            schema_version: SCHEMA_VERSION,
            plumb_version: String::new(),
            started_at: String::new(),
            window_s: 1.0,
            role: Role::KafkaBroker,
            label: None,
            host: HostFacts::default(),
            losses: Vec::new(),
            checks: values.iter().map(check).collect(),
            cpus: Vec::new(),
            also_changed_by: Vec::new(),
            unseen: Vec::new(),
        }
    }

    #[test]
    fn the_one_host_that_differs_in_several_settings_is_the_outlier() {
        let usual = host(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "x")]);
        let slightly = host(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "y")]);
        let unlike = host(&[("a", "2"), ("b", "2"), ("d", "x")]);
        let named = [("one", &usual), ("two", &slightly), ("three", &usual), ("four", &unlike)];
        let compared = compare(&named.map(|(name, check)| NamedCheck { name, check }));
        assert_eq!(compared.outliers, ["four"]);
        let c = compared.differences.iter().find(|difference| difference.id == "c").unwrap();
        assert_eq!((c.usual.as_str(), c.hosts_usual, c.others[0].value.as_str()), ("1", 3, NONE));
        assert_eq!(compared.differences.len(), 4);
    }

    #[test]
    fn of_two_hosts_none_is_an_outlier() {
        let (a, b) =
            (host(&[("a", "1"), ("b", "1"), ("c", "1")]), host(&[("a", "2"), ("b", "2"), ("c", "2")]));
        let compared = compare(&[NamedCheck { name: "a", check: &a }, NamedCheck { name: "b", check: &b }]);
        assert!(compared.outliers.is_empty() && compared.differences.len() == 3);
    }
}
