//! The trial that would prove a difference between two runs: a scenario with the second as an arm against the first, or the
//! reason why there is none.

use super::RunStep;
use plumb_model::plan::{
    ClusterPlan, Driver, InterBroker, Length, LogDirLayout, LogDirPlan, Properties, StepPlan,
};
use plumb_model::scenario_settings::{ScenarioSettings, load_settings, topic_settings};
use plumb_model::trial::ArmPlan;
use plumb_model::units::Nanos;
use std::fmt::Write;

/// A scenario's YAML, or the reason why no trial can compare the two.
pub(super) fn yaml(a: RunStep, b: RunStep) -> Result<String, &'static str> {
    let (Some(of_a), Some(of_b)) = (plan(a), plan(b)) else {
        return Err("what was asked of them is not in their documents");
    };
    if [a, b].iter().any(|step| step.document.plan.goal.is_some()) {
        return Err("a run that searches for a goal has no rate that a trial could hold");
    }
    if [of_a, of_b].iter().any(|step| step.load.schedule.has_own_rate()) {
        return Err("a trial takes no rate that changes, it would be cut into the blocks of the pairs");
    }
    let cluster = cluster(&brokers(a, of_a), &brokers(b, of_b))?;
    let load = load(of_a, of_b);
    let arms = [(a, of_a, 0), (b, of_b, 1)].map(|(step, plan, at)| {
        format!("{}{}{}{}", settings(plan), load.own[at], cluster.own[at], hooks(step))
    });
    if arms[0] == arms[1] {
        return Err("they differ in nothing that an arm of a trial can have");
    }
    let blocks = u64::from(a.document.plan.blocks.max(1));
    let length = match of_a.load.length {
        Length::Count(count) => format!("  count: {}\n", (count / blocks).max(1)),
        Length::Duration(time) => format!("  duration: {}\n", Nanos(time.0 / blocks)),
    };
    let mut text = format!(
        "name: {}\ncluster:\n{}load:\n{length}{}arms:\n",
        quoted(&of_b.name),
        cluster.shared,
        load.shared
    );
    for (name, settings) in ["before", "after"].into_iter().zip(&arms) {
        let _ = match settings.is_empty() {
            true => writeln!(text, "  {name}: {{}}"),
            false => write!(text, "  {name}:\n{settings}"),
        };
    }
    Ok(text)
}

/// A part of a scenario, as YAML.
struct ScenarioPart {
    /// The settings of both arms.
    shared: String,
    /// The settings of each arm alone.
    own: [String; 2],
}

fn plan(step: RunStep<'_>) -> Option<&StepPlan> {
    step.document.plan.steps.get(step.index)
}

fn brokers(step: RunStep, plan: &StepPlan) -> ClusterPlan {
    plan.cluster.clone().unwrap_or_else(|| step.document.plan.cluster.clone())
}

/// All that an arm has of its own but load and brokers: arms do not inherit from each other.
fn settings(step: &StepPlan) -> String {
    let mut text = String::new();
    if step.driver != Driver::default() {
        let _ = writeln!(text, "    driver: {}", step.driver_words());
    }
    mapping(&mut text, "producer", &step.producer);
    mapping(&mut text, "consumer", &step.consumer);
    let _ = writeln!(text, "    topic: {{{}}}", inline(&topic_settings(&step.topic)));
    text
}

/// The load that both share, a line for each setting, and what each has for itself. A block of a trial is as long as one of the
/// first run was.
fn load(a: &StepPlan, b: &StepPlan) -> ScenarioPart {
    let both = [a, b].map(|step| load_settings(&step.load));
    let shared: String = both[0]
        .iter()
        .filter(|one| both[1].contains(one))
        .map(|(key, value)| format!("  {key}: {value}\n"))
        .collect();
    let own = [(0, 1), (1, 0)].map(|(of, other): (usize, usize)| {
        let own: ScenarioSettings =
            both[of].iter().filter(|one| !both[other].contains(one)).cloned().collect();
        if own.is_empty() { String::new() } else { format!("    load: {{{}}}\n", inline(&own)) }
    });
    ScenarioPart { shared, own }
}

/// The commands and host settings around the blocks of an arm of a trial, as YAML.
fn hooks(RunStep { document, index }: RunStep) -> String {
    let Some(trial) = &document.plan.trial else { return String::new() };
    let arm = trial.arms.iter().find(|arm| arm.step == index || (index == trial.again && arm.step == 0));
    let Some(ArmPlan { before, after, host, .. }) = arm else { return String::new() };
    let mut text = String::new();
    for (key, command) in [("before", before), ("after", after)] {
        if let Some(command) = command {
            let _ = writeln!(text, "    {key}: {}", quoted(command));
        }
    }
    mapping(&mut text, "host", host);
    text
}

fn inline(written: &ScenarioSettings) -> String {
    written.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
}

/// The brokers of both, or the reason why no one trial has both.
fn cluster(a: &ClusterPlan, b: &ClusterPlan) -> Result<ScenarioPart, &'static str> {
    match (a, b) {
        (
            ClusterPlan::Brokers { bootstrap, config, metrics },
            ClusterPlan::Brokers { bootstrap: of_b, config: config_b, .. },
        ) => {
            if bootstrap != of_b {
                return Err("they ran on other brokers, and a trial has one cluster");
            }
            if config != config_b {
                return Err("they have other client properties files, and a trial has one");
            }
            let config = config.as_ref().map(|path| format!("  config: {}\n", quoted(path)));
            let metrics: Vec<String> = metrics.iter().map(|url| quoted(url)).collect();
            let metrics = (!metrics.is_empty()).then(|| format!("  metrics: [{}]\n", metrics.join(", ")));
            let all = [Some(format!("  bootstrap: {}\n", quoted(bootstrap))), config, metrics];
            Ok(ScenarioPart {
                shared: all.into_iter().flatten().collect(),
                own: [String::new(), String::new()],
            })
        }
        (
            ClusterPlan::Lab {
                brokers,
                tls,
                inter_broker,
                heap,
                log_dirs,
                log_dir_layout,
                broker_properties,
                jvm_flags,
                ..
            },
            ClusterPlan::Lab {
                brokers: of_b,
                log_dirs: dirs_b,
                log_dir_layout: layout_b,
                broker_properties: properties_b,
                jvm_flags: flags_b,
                ..
            },
        ) => {
            if brokers != of_b {
                return Err("their labs have not as many brokers, and the arms of a trial have");
            }
            if (log_dirs, log_dir_layout) != (dirs_b, layout_b) {
                return Err("their labs have other log directories, and the arms of a trial share theirs");
            }
            let properties =
                broker_properties.iter().filter(|(key, value)| properties_b.get(*key) == Some(value));
            let shared = SharedLab {
                tls: *tls,
                inter_broker: *inter_broker,
                heap,
                properties: properties.map(|(key, value)| (key.clone(), value.clone())).collect(),
                flags: jvm_flags.iter().filter(|flag| flags_b.contains(flag)).cloned().collect(),
            };
            let flags: Vec<String> = shared.flags.iter().map(|flag| quoted(flag)).collect();
            let text = format!(
                "  lab: {{brokers: {brokers}, tls: {tls}, inter_broker: {}, heap: {}, broker_properties: {}, jvm_flags: [{}]{}}}\n",
                word(*inter_broker),
                quoted(heap),
                flow(&shared.properties),
                flags.join(", "),
                directories(log_dirs, *log_dir_layout)
            );
            Ok(ScenarioPart { shared: text, own: [own_lab(a, &shared), own_lab(b, &shared)] })
        }
        _ => Err("one ran on a lab and the other on brokers that were there, and a trial has one cluster"),
    }
}

/// The log directories of a lab, as YAML; empty where none are given.
fn directories(log_dirs: &[LogDirPlan], layout: LogDirLayout) -> String {
    let each: Vec<String> =
        log_dirs.iter().map(|dir| format!("{}: {}", quoted(&dir.name), quoted(&dir.path))).collect();
    match (each.is_empty(), layout) {
        (true, _) => String::new(),
        (false, LogDirLayout::BrokerEach) => format!(", log_dirs: {{{}}}", each.join(", ")),
        (false, LogDirLayout::Together) => {
            format!(", log_dirs: {{{}}}, log_dir_layout: together", each.join(", "))
        }
    }
}

/// The lab of both arms: the settings of the first, with the broker properties and JVM flags that both have.
struct SharedLab<'a> {
    tls: bool,
    inter_broker: InterBroker,
    heap: &'a str,
    properties: Properties,
    flags: Vec<String>,
}

/// As a scenario has it.
fn word(inter_broker: InterBroker) -> &'static str {
    match inter_broker {
        InterBroker::Plaintext => "plaintext",
        InterBroker::Tls => "tls",
    }
}

/// The settings of a lab that are not shared, as an arm's.
fn own_lab(lab: &ClusterPlan, shared: &SharedLab) -> String {
    let ClusterPlan::Lab { tls, inter_broker, heap, broker_properties, jvm_flags, .. } = lab else {
        return String::new();
    };
    let mut own: Vec<String> = Vec::new();
    if *tls != shared.tls {
        own.push(format!("tls: {tls}"));
    }
    if *inter_broker != shared.inter_broker {
        own.push(format!("inter_broker: {}", word(*inter_broker)));
    }
    if heap != shared.heap {
        own.push(format!("heap: {}", quoted(heap)));
    }
    let added = broker_properties.iter().filter(|(key, _)| !shared.properties.contains_key(*key));
    let added: Properties = added.map(|(key, value)| (key.clone(), value.clone())).collect();
    if !added.is_empty() {
        own.push(format!("broker_properties: {}", flow(&added)));
    }
    let added: Vec<String> =
        jvm_flags.iter().filter(|flag| !shared.flags.contains(flag)).map(|flag| quoted(flag)).collect();
    if !added.is_empty() {
        own.push(format!("jvm_flags: [{}]", added.join(", ")));
    }
    if own.is_empty() { String::new() } else { format!("    cluster: {{{}}}\n", own.join(", ")) }
}

fn mapping(text: &mut String, name: &str, properties: &Properties) {
    if !properties.is_empty() {
        let _ = writeln!(text, "    {name}: {}", flow(properties));
    }
}

/// `{a: "1", b: "x"}`: JSON's quotation is YAML's too.
fn flow(properties: &Properties) -> String {
    let each: Vec<String> =
        properties.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value))).collect();
    format!("{{{}}}", each.join(", "))
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}
