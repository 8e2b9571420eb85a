//! Checks of several hosts held against each other: where some differ from most, and which hosts do.
//!
//! A setting that all have alike is no difference, whether it is good or not. Of two hosts nobody is the unusual one. A host whose check did
//! not look at a setting, or could not read it, says nothing of it; and what is a level and no setting (stolen time) is not compared.

use plumb_model::check::{
    HostCheck, HostDifference, HostOfMany, HostValue, HostsCompared, SCHEMA_VERSION, SettingCheck, Status,
};
use std::collections::{BTreeMap, BTreeSet};

/// The value of a setting that a host does not have.
const NONE: &str = "(none)";
/// What stands for the usual value where no value is more usual than another.
const NO_USUAL: &str = "(none is usual)";
/// Windows of which one is this many times as long as another show more of what hurts. Ours.
const WINDOWS_ALIKE: f64 = 2.0;

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

/// True if something hurts on a host, or something is lost there.
pub fn hurts(check: &HostCheck) -> bool {
    hurting(check) > 0 || !check.losses.is_empty()
}

/// Settings and other things that counters show to hurt, whoever can change them.
fn hurting(check: &HostCheck) -> usize {
    [Status::Change, Status::Advice].into_iter().map(|status| check.of(status).count()).sum()
}

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
        let is_other = |difference: &&HostDifference| {
            difference.hosts_usual > 0 && difference.others.iter().any(|other| other.host == name)
        };
        differences.iter().filter(is_other).count() as u32
    };
    let rows: Vec<HostOfMany> = hosts
        .iter()
        .map(|host| HostOfMany {
            name: host.name.to_owned(),
            changes: hurting(host.check) as u32,
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
    HostsCompared {
        schema_version: SCHEMA_VERSION,
        hosts: rows,
        differences,
        outliers,
        remarks: remarks(hosts),
    }
}

/// In what the checks themselves differ, so that their answers may for that reason.
fn remarks(hosts: &[NamedCheck<'_>]) -> Vec<String> {
    let mut remarks = Vec::new();
    let told = |of: &dyn Fn(&HostCheck) -> String| {
        let one = |host: &NamedCheck<'_>| format!("{} {}", host.name, of(host.check));
        hosts.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let roles: BTreeSet<&str> = hosts.iter().map(|host| host.check.role.word()).collect();
    if roles.len() > 1 {
        remarks.push(format!(
            "The hosts were checked for different roles ({}), which are not asked for the same.",
            told(&|check| check.role.word().to_owned())
        ));
    }
    let windows = || hosts.iter().map(|host| host.check.window_s);
    let (shortest, longest) = (windows().fold(f64::INFINITY, f64::min), windows().fold(0.0, f64::max));
    if longest >= WINDOWS_ALIKE * shortest && longest > 0.0 {
        remarks.push(format!(
            "The hosts were watched for different times ({}): a longer window shows more of what hurts.",
            told(&|check| format!("{} s", (10.0 * check.window_s).round() / 10.0))
        ));
    }
    remarks.extend(same(hosts));
    let all: BTreeSet<&str> = ids(hosts);
    let lacking: Vec<String> = hosts
        .iter()
        .map(|host| (host.name, all.len() - ids(std::slice::from_ref(host)).len()))
        .filter(|(_, settings)| *settings > 0)
        .map(|(name, settings)| format!("{name} lacks {settings}"))
        .collect();
    if !lacking.is_empty() {
        remarks.push(format!(
            "Not every check looked at the same settings ({}): those are compared among the others alone.",
            lacking.join(", ")
        ));
    }
    remarks
}

/// Documents that are of one host, or one and the same.
fn same(hosts: &[NamedCheck<'_>]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (at, one) in hosts.iter().enumerate() {
        for other in hosts.iter().skip(at + 1) {
            let digests = (one.check.host.host_digest.value(), other.check.host.host_digest.value());
            let is_of_one = matches!(digests, (Some(own), Some(its)) if own == its);
            let words = match unnamed(one.check) == unnamed(other.check) {
                true => "are the same check of one host",
                false if is_of_one => {
                    "are of one host, by its machine id: they show how it changed, and no other host"
                }
                false => continue,
            };
            remarks.push(format!("{} and {} {words}.", one.name, other.name));
        }
    }
    remarks
}

/// A check without the name that somebody gave it.
fn unnamed(check: &HostCheck) -> HostCheck {
    HostCheck { label: None, ..check.clone() }
}

fn ids<'a>(hosts: &[NamedCheck<'a>]) -> BTreeSet<&'a str> {
    hosts.iter().flat_map(|host| host.check.checks.iter().map(|check| check.id.as_str())).collect()
}

/// What a check says of it is made of facts, which are compared themselves: a document that did not look at it has them all the same.
const OF_FACTS: &str = "mitigations";

/// A setting's value, where the host has one and somebody set it. Processes are of one host alone, so their settings are not compared.
fn setting(check: &SettingCheck) -> Option<(Key, String)> {
    if check.id == OF_FACTS {
        return None;
    }
    let configured = check.configured.as_ref()?;
    let value = check.effective.as_ref().unwrap_or(configured).clone();
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
        ("kernel option mitigations", host.mitigations.value().cloned()),
        ("open vulnerabilities", host.vulnerabilities.value().map(open)),
    ];
    let known = |(name, value): (&str, Option<String>)| Some(((name.to_owned(), String::new()), value?));
    facts.into_iter().filter_map(known).collect()
}

/// The vulnerabilities of the processor that the kernel does not defend against.
fn open(states: &BTreeMap<String, String>) -> String {
    let open: Vec<&str> = states
        .iter()
        .filter(|(_, state)| state.starts_with("Vulnerable"))
        .map(|(name, _)| name.as_str())
        .collect();
    if open.is_empty() { NONE.to_owned() } else { open.join(", ") }
}

fn difference<'a>(
    hosts: &[NamedCheck<'a>],
    key: Key,
    values: &BTreeMap<&str, String>,
) -> Option<HostDifference> {
    let value = |host: &NamedCheck<'a>| match values.get(host.name) {
        Some(value) => Some((host.name, value.clone())),
        None => looked_at(host.check, &key).then(|| (host.name, NONE.to_owned())),
    };
    let values: Vec<(&str, String)> = hosts.iter().filter_map(value).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, value) in &values {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let (usual, most) = counts.iter().max_by_key(|(value, count)| (**count, **value != NONE))?;
    // Of as many hosts with one value as with another none is the unusual one.
    let is_usual = *most > 1 && counts.values().filter(|count| *count == most).count() == 1;
    let (usual, hosts_usual) = if is_usual { (*usual, *most) } else { (NO_USUAL, 0) };
    let others = values
        .iter()
        .filter(|(_, value)| value != usual)
        .map(|(host, value)| HostValue { host: (*host).to_owned(), value: value.clone() })
        .collect();
    let usual = usual.to_owned();
    let (id, target) = key;
    Some(HostDifference { id, target, usual, hosts_usual, others })
}

/// True if a host that shows no value of a setting was asked for it, and could tell: facts that it lacks are unknown, and a tunable of which
/// there is no answer was left out.
fn looked_at(check: &HostCheck, (id, target): &Key) -> bool {
    let mut answers = check.checks.iter().filter(|check| check.id == *id).peekable();
    answers.peek().is_some()
        && answers.all(|check| check.target != *target || check.status != Status::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::check::{LayerLoss, LossLayer, Risk, Role};
    use plumb_model::facts::{Fact, HostFacts};

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
            by_hand: String::new(),
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
        let unlike = host(&[("a", "2"), ("b", "2"), ("c", "2"), ("d", "x")]);
        let named = [("one", &usual), ("two", &slightly), ("three", &usual), ("four", &unlike)];
        let compared = compare(&named.map(|(name, check)| NamedCheck { name, check }));
        assert_eq!(compared.outliers, ["four"]);
        let c = compared.differences.iter().find(|difference| difference.id == "c").unwrap();
        assert_eq!((c.usual.as_str(), c.hosts_usual, c.others[0].value.as_str()), ("1", 3, "2"));
        assert_eq!(compared.differences.len(), 4);
    }

    #[test]
    fn of_two_hosts_none_is_an_outlier() {
        let (a, b) =
            (host(&[("a", "1"), ("b", "1"), ("c", "1")]), host(&[("a", "2"), ("b", "2"), ("c", "2")]));
        let compared = compare(&[NamedCheck { name: "a", check: &a }, NamedCheck { name: "b", check: &b }]);
        assert!(compared.outliers.is_empty() && compared.differences.len() == 3);
    }

    #[test]
    fn of_two_values_as_frequent_as_each_other_none_is_usual() {
        let (a, b) = (host(&[("a", "1")]), host(&[("a", "2")]));
        for hosts in [vec![&a, &b], vec![&a, &b, &a, &b]] {
            let names = ["one", "two", "three", "four"];
            let named: Vec<_> =
                names.iter().zip(&hosts).map(|(name, check)| NamedCheck { name, check }).collect();
            let compared = compare(&named);
            let difference = &compared.differences[0];
            assert_eq!((difference.usual.as_str(), difference.hosts_usual), (NO_USUAL, 0));
            assert_eq!(difference.others.len(), hosts.len());
            assert!(compared.hosts.iter().all(|row| row.unlike == 0));
        }
    }

    #[test]
    fn what_a_check_did_not_look_at_or_could_not_read_is_no_difference() {
        let all = host(&[("a", "1"), ("b", "1")]);
        let only = host(&[("a", "1")]);
        let none = host(&[]);
        let mut unknown = host(&[("a", "1"), ("b", "1")]);
        unknown.checks[1].status = Status::Unknown;
        unknown.checks[1].configured = None;
        for other in [&only, &none, &unknown] {
            let named = [("one", &all), ("two", &all), ("three", other)];
            let compared = compare(&named.map(|(name, check)| NamedCheck { name, check }));
            assert!(compared.differences.is_empty(), "{:?}", compared.differences);
        }
        let compared =
            compare(&[NamedCheck { name: "a", check: &all }, NamedCheck { name: "b", check: &only }]);
        assert!(compared.remarks[0].contains("b lacks 1"), "{:?}", compared.remarks);
        // A thing that a host does not have is a difference.
        let mut disk = host(&[("a", "1"), ("b", "1"), ("b", "1")]);
        disk.checks[2].target = "sda".to_owned();
        let named = [("one", &disk), ("two", &disk), ("three", &all)];
        let compared = compare(&named.map(|(name, check)| NamedCheck { name, check }));
        assert_eq!(compared.differences[0].others[0].value, NONE);
    }

    #[test]
    fn what_is_made_of_facts_is_compared_by_them_whether_a_check_looked_at_it_or_not() {
        let known = |option: &str| Fact::Known { value: option.to_owned(), source: String::new() };
        let with_facts = |mut check: HostCheck| {
            check.host.mitigations = known("auto");
            check
        };
        let whole = with_facts(host(&[("mitigations", "mitigations=auto: 7 defended, 0 open")]));
        let part = with_facts(host(&[("swappiness", "1")]));
        let named = [NamedCheck { name: "a", check: &whole }, NamedCheck { name: "b", check: &part }];
        assert!(compare(&named).differences.is_empty(), "{:?}", compare(&named).differences);
        let mut off = part.clone();
        off.host.mitigations = known("off");
        let named = [NamedCheck { name: "a", check: &whole }, NamedCheck { name: "b", check: &off }];
        assert_eq!(compare(&named).differences[0].id, "kernel option mitigations");
    }

    #[test]
    fn documents_of_one_host_are_remarked_and_so_are_equal_ones() {
        let of = |digest: &str, at: &str| {
            let mut check = host(&[("a", "1")]);
            check.started_at = at.to_owned();
            check.host.host_digest = Fact::Known { value: digest.to_owned(), source: String::new() };
            check
        };
        let remark = |one: &HostCheck, other: &HostCheck| {
            let named = [NamedCheck { name: "x", check: one }, NamedCheck { name: "y", check: other }];
            compare(&named).remarks.join(" ")
        };
        let named = HostCheck { label: Some("z".to_owned()), ..of("1", "now") };
        assert!(remark(&of("1", "now"), &named).contains("x and y are the same check"));
        assert!(remark(&of("1", "now"), &of("1", "then")).contains("x and y are of one host"));
        assert_eq!(remark(&of("1", "now"), &of("2", "now")), "");
    }

    #[test]
    fn a_host_hurts_by_what_can_be_changed_by_what_cannot_and_by_losses() {
        assert!(!hurts(&host(&[("a", "1")])));
        for status in [Status::Change, Status::Advice] {
            let mut check = host(&[("a", "1")]);
            check.checks[0].status = status;
            assert!(hurts(&check));
            let named = [NamedCheck { name: "x", check: &check }];
            assert_eq!(compare(&named).hosts[0].changes, 1);
        }
        let mut loses = host(&[]);
        loses.losses =
            vec![LayerLoss { layer: LossLayer::OwnQueue, counters: Vec::new(), reasons: Vec::new() }];
        assert!(hurts(&loses));
    }

    #[test]
    fn levels_are_not_compared_and_other_roles_and_windows_are_remarked() {
        let level = |share: &str| {
            let mut host = host(&[("steal", share)]);
            host.checks[0].effective = host.checks[0].configured.take();
            host
        };
        let (a, mut b) = (level("1 %"), level("2 %"));
        (b.role, b.window_s) = (Role::WebEdge, 60.0);
        let compared = compare(&[NamedCheck { name: "a", check: &a }, NamedCheck { name: "b", check: &b }]);
        assert!(compared.differences.is_empty());
        assert!(compared.remarks[0].contains("a kafka-broker, b web-edge"), "{:?}", compared.remarks);
        assert!(compared.remarks[1].contains("a 1 s, b 60 s"), "{:?}", compared.remarks);
    }
}
