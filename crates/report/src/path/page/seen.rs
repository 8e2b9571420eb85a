//! The observations that could not be made, the cost of watching, and the settings as they were read.

use crate::paint::printable;
use crate::path::profilers_cost;
use plumb_model::figure::{percent, time};
use plumb_model::observed::ObservedPath;
use plumb_model::plan::Properties;

/// Something that was not seen.
pub(super) struct UnseenRow {
    pub(super) what: String,
    pub(super) reason: String,
    /// The way to have it; empty where there is none.
    pub(super) hint: String,
}

/// A cost of watching.
pub(super) struct CostRow {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// Settings of one broker, topic or JVM.
pub(super) struct SettingsView {
    pub(super) of: String,
    pub(super) rows: Vec<SettingRow>,
}

/// A setting.
pub(super) struct SettingRow {
    pub(super) key: String,
    pub(super) value: String,
}

pub(super) fn unseen(path: &ObservedPath) -> Vec<UnseenRow> {
    let row = |unseen: &plumb_model::observed::Unseen| UnseenRow {
        what: printable(&unseen.what),
        reason: printable(&unseen.reason),
        hint: printable(unseen.hint.as_deref().unwrap_or_default()),
    };
    path.unseen.iter().map(row).collect()
}

pub(super) fn cost(path: &ObservedPath) -> Vec<CostRow> {
    let cost = &path.cost;
    let share = |ns: u64| percent(ns as f64 / path.elapsed_ns.max(1) as f64);
    let value = |ns: Option<u64>| match ns {
        Some(ns) => format!("{} ({} of one processor)", time(ns as f64), share(ns)),
        None => "not measured".to_owned(),
    };
    let profiler = match cost.profiler_cpu_ns {
        Some(ns) => format!("about {}: {}", value(Some(ns)), printable(&profilers_cost(path))),
        None => value(None),
    };
    vec![
        CostRow { name: "Plumb itself", value: value(cost.own_cpu_ns) },
        CostRow { name: "the brokers' pages of metrics", value: value(cost.target_cpu_ns) },
        CostRow { name: "the CPU profile", value: profiler },
        CostRow { name: "programs in the kernel", value: value(cost.kernel_programs_cpu_ns) },
    ]
}

pub(super) fn settings(path: &ObservedPath) -> Vec<SettingsView> {
    let rows = |properties: &Properties| {
        let row =
            |(key, value): (&String, &String)| SettingRow { key: printable(key), value: printable(value) };
        properties.iter().map(row).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for process in &path.processes {
        if let Some(jvm) = &process.jvm {
            all.push(SettingsView {
                of: format!("JVM of process {}", process.pid),
                rows: rows(&jvm.facts.flags),
            });
        }
    }
    for (id, properties) in &path.settings.brokers {
        all.push(SettingsView { of: format!("broker {}", printable(id)), rows: rows(properties) });
    }
    for (name, topic) in &path.settings.topics {
        let of = format!(
            "topic {}, {} of {}",
            printable(name),
            plumb_model::figure::counted(topic.partitions, "partition"),
            plumb_model::figure::counted(topic.replication, "replica")
        );
        all.push(SettingsView { of, rows: rows(&topic.configs) });
    }
    for client in &path.clients {
        all.push(SettingsView {
            of: format!("client {}", printable(&client.name)),
            rows: rows(&client.settings),
        });
    }
    if let Some(host) = &path.host_window {
        all.push(SettingsView { of: "the kernel of this host".to_owned(), rows: rows(&host.settings) });
    }
    all.retain(|view| !view.rows.is_empty());
    all
}
