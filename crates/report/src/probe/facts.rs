//! The facts of a host, for people: by parts of the host, one fact a line, and what is not known with the reason.
//!
//! How each fact is written is in `facts/words.rs`; here only the order and the layout.

mod words;

use crate::sheet::{Column, Section, Sheet};
use plumb_model::facts::{Fact, HostFacts};
use plumb_model::figure;
use plumb_model::probe::FactsProbe;

/// Characters of the facts' names, so that the facts of all parts stand under each other.
const NAME: usize = 21;

/// The whole sheet; with `sources` each fact says where it was read.
pub fn sheet(document: &FactsProbe, sources: bool) -> Sheet {
    let title = format!(
        "This host, read in {} on {} by plumb {}",
        figure::time(document.elapsed_ns as f64),
        document.started_at.replace('T', " ").replace('Z', " UTC"),
        document.plumb_version
    );
    let columns = [Column::text(""), Column::text("")];
    let part = |(heading, facts): (&str, Vec<FactWords>)| {
        let rows = facts.iter().flat_map(|fact| fact.rows(sources)).collect();
        Section::table(heading, "", columns.clone(), rows)
    };
    let sections = parts(&document.host).into_iter().map(part).collect();
    Sheet { title, sections, ..Sheet::default() }
}

/// A fact in words.
struct FactWords {
    name: &'static str,
    /// Each line for itself; the reason when it is not known.
    words: Result<Vec<String>, String>,
    source: String,
}

impl FactWords {
    fn rows(&self, sources: bool) -> Vec<Vec<String>> {
        let mut lines = match &self.words {
            Ok(words) => words.clone(),
            Err(reason) => vec![format!("not known: {reason}")],
        };
        if sources && self.words.is_ok() {
            lines.push(format!("from {}", self.source));
        }
        let row = |(index, line)| {
            let name = if index == 0 { self.name } else { "" };
            vec![format!("{name:<NAME$}"), line]
        };
        lines.into_iter().enumerate().map(row).collect()
    }
}

/// A fact that is one line.
fn one<T>(name: &'static str, fact: &Fact<T>, words: impl Fn(&T) -> String) -> FactWords {
    many(name, fact, |value| vec![words(value)])
}

/// A fact of several lines; one without any is said to be none.
fn many<T>(name: &'static str, fact: &Fact<T>, words: impl Fn(&T) -> Vec<String>) -> FactWords {
    match fact {
        Fact::Known { value, source } => {
            let mut words = words(value);
            if words.is_empty() {
                words.push("none".to_owned());
            }
            FactWords { name, words: Ok(words), source: source.clone() }
        }
        Fact::Unknown { reason } => FactWords { name, words: Err(reason.clone()), source: String::new() },
    }
}

/// The parts of a host in the order in which they are met.
fn parts(host: &HostFacts) -> Vec<(&'static str, Vec<FactWords>)> {
    let same = |text: &String| text.clone();
    vec![
        (
            "Host",
            vec![
                one("machine", &host.machine, same),
                one("below the kernel", &host.virtualisation, words::virtualisation),
                one("container", &host.container, words::container),
                one("system", &host.os_name, same),
                one("kernel", &host.kernel_release, same),
                one("boot options", &host.kernel_options, words::kernel_options),
                one("load", &host.load_average, words::load),
            ],
        ),
        (
            "Processors",
            vec![
                one("model", &host.cpu_model, same),
                one("identity", &host.cpu_identity, words::identity),
                one("microcode", &host.cpu_microcode, |revisions| revisions.join(", ")),
                one("processors", &host.logical_cpus, |cpus| figure::count(u64::from(*cpus))),
                one("of them allowed here", &host.cpus_allowed, same),
                one("topology", &host.cpu_topology, words::topology),
                many("caches", &host.cpu_topology, words::caches),
                one("flags", &host.cpu_flags, |flags| words::flags(flags, true)),
                one("flags absent", &host.cpu_flags, |flags| words::flags(flags, false)),
                one("governors", &host.cpu_governors, |governors| governors.join(", ")),
                many("memory nodes", &host.numa_nodes, |nodes| nodes.iter().map(words::node).collect()),
                one("mitigations", &host.mitigations, |option| format!("mitigations={option}")),
                many("vulnerabilities", &host.vulnerabilities, words::vulnerabilities),
            ],
        ),
        (
            "Memory",
            vec![
                one("total", &host.memory_total_bytes, |bytes| words::binary(*bytes)),
                one("available", &host.memory_available_bytes, |bytes| words::binary(*bytes)),
                one("error correction", &host.memory_error_correction, words::correction),
                many("modules", &host.memory_modules, |all| all.iter().map(words::modules).collect()),
                many("persistent memory", &host.persistent_memory, words::persistent),
                one("swap", &host.swap_total_bytes, |bytes| words::binary(*bytes)),
                one("swap in use", &host.swap_used_bytes, |bytes| words::binary(*bytes)),
                one("huge pages", &host.transparent_huge_pages, same),
                one("dirty pages", &host.dirty_limits, words::dirty),
            ],
        ),
        (
            "Control group",
            vec![
                one("processors", &host.cgroup_cpu_limit_cpus, |limit| {
                    words::limit(limit, |cpus| figure::plain(*cpus))
                }),
                one("memory", &host.cgroup_memory_limit_bytes, |limit| {
                    words::limit(limit, |bytes| words::binary(*bytes))
                }),
                one("processes", &host.cgroup_pids_limit, |limit| words::limit(limit, |n| figure::count(*n))),
                many("devices held back", &host.cgroup_io_limits, |all| {
                    all.iter().map(words::io_limit).collect()
                }),
            ],
        ),
        ("Disks", vec![many("disks", &host.disks, |all| words::disks(all))]),
        ("Network", vec![many("interfaces", &host.network_interfaces, |all| words::interfaces(all))]),
        (
            "Time",
            vec![
                one("clock source", &host.clock_source, same),
                one("time server", &host.clock_sync, words::sync),
            ],
        ),
        ("Java", vec![many("runtimes", &host.java_runtimes, |all| all.iter().map(words::java).collect())]),
        (
            "Limits",
            vec![
                many("of this process", &host.process_limits, words::process_limits),
                many("of the kernel", &host.kernel_settings, |all| {
                    all.iter().map(|(name, value)| format!("{name} = {value}")).collect()
                }),
            ],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextStyle;

    fn document() -> FactsProbe {
        FactsProbe {
            schema_version: 1,
            probe: plumb_model::probe::ProbeKind::Facts,
            plumb_version: "0.1.0".to_owned(),
            started_at: "2026-11-20T15:04:05Z".to_owned(),
            elapsed_ns: 4_200_000,
            host: HostFacts {
                cpu_model: Fact::known("Intel Xeon".to_owned(), "/proc/cpuinfo"),
                memory_modules: Fact::unknown("cannot read /sys/firmware/dmi/tables/DMI: Permission denied"),
                disks: Fact::known(Vec::new(), "/sys/block"),
                ..HostFacts::default()
            },
        }
    }

    fn text(sources: bool) -> String {
        crate::sheet::text::render(&sheet(&document(), sources), TextStyle { color: false, width: 80 })
    }

    #[test]
    fn a_fact_stands_beside_its_name_and_what_is_not_known_says_why() {
        let text = text(false);
        assert!(
            text.starts_with("This host, read in 4.20 ms on 2026-11-20 15:04:05 UTC by plumb 0.1.0\n"),
            "{text}"
        );
        assert!(text.contains("\nProcessors\nmodel                  Intel Xeon\n"), "{text}");
        let reason = "modules                not known: cannot read /sys/firmware/dmi/tables/DMI:\n";
        assert!(text.contains(reason), "{text}");
        assert!(text.contains("disks                  none\n"), "{text}");
        assert!(!text.contains("/proc/cpuinfo"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn sources_are_shown_when_asked_for() {
        assert!(
            text(true)
                .contains("model                  Intel Xeon\n                       from /proc/cpuinfo\n")
        );
    }
}
