//! The trial that would prove a difference between two runs: a scenario with the second as an arm against the first, and all
//! that both were asked for in it, or why there is none.

use plumb_model::document::RunDocument;
use plumb_model::plan::{
    ClusterPlan, Driver, InterBroker, Length, LogDirLayout, LogDirPlan, Properties, StepPlan,
};
use plumb_model::scenario_settings::{ScenarioSettings, load_settings, topic_settings};
use plumb_model::trial::ArmPlan;
use plumb_model::units::Nanos;
use std::fmt::Write;

/// A step of a run.
type Side<'a> = (&'a RunDocument, usize);

/// A scenario's YAML, or why no trial can hold the two against each other.
pub(super) fn yaml(a: Side, b: Side) -> Result<String, &'static str> {
    let (Some(of_a), Some(of_b)) = (plan(a), plan(b)) else {
        return Err("what was asked of them is not in their documents");
    };
    if [a, b].iter().any(|(document, _)| document.plan.goal.is_some()) {
        return Err("a run that searches for a goal has no rate that a trial could hold");
    }
    if [of_a, of_b].iter().any(|step| step.load.schedule.has_own_rate()) {
        return Err("a trial takes no rate that changes, it would be cut into the blocks of the pairs");
    }
    let (cluster, labs) = cluster(&brokers(a, of_a), &brokers(b, of_b))?;
    let (load, own_loads) = load(of_a, of_b);
    let arms = [(a, of_a, 0), (b, of_b, 1)]
        .map(|(side, step, at)| format!("{}{}{}{}", settings(step), own_loads[at], labs[at], hooks(side)));
    if arms[0] == arms[1] {
        return Err("they differ in nothing that an arm of a trial can have");
    }
    let blocks = u64::from(a.0.plan.blocks.max(1));
    let length = match of_a.load.length {
        Length::Count(count) => format!("  count: {}\n", (count / blocks).max(1)),
        Length::Duration(time) => format!("  duration: {}\n", Nanos(time.0 / blocks)),
    };
    let mut text = format!("name: {}\ncluster:\n{cluster}load:\n{length}{load}arms:\n", quoted(&of_b.name));
    for (name, settings) in ["before", "after"].into_iter().zip(&arms) {
        let _ = match settings.is_empty() {
            true => writeln!(text, "  {name}: {{}}"),
            false => write!(text, "  {name}:\n{settings}"),
        };
    }
    Ok(text)
}

fn plan<'a>((document, index): Side<'a>) -> Option<&'a StepPlan> {
    document.plan.steps.get(index)
}

fn brokers((document, _): Side, step: &StepPlan) -> ClusterPlan {
    step.cluster.clone().unwrap_or_else(|| document.plan.cluster.clone())
}

/// All that an arm has of its own but load and brokers: arms do not inherit from each other.
fn settings(step: &StepPlan) -> String {
    let mut text = String::new();
    if step.driver != Driver::default() {
        let _ = writeln!(text, "    driver: {}", driver(step.driver));
    }
    mapping(&mut text, "producer", &step.producer);
    mapping(&mut text, "consumer", &step.consumer);
    let _ = writeln!(text, "    topic: {{{}}}", inline(&topic_settings(&step.topic)));
    text
}

/// The load that both share, a line for each setting, and what each has for itself. A block of a trial is as long as one of the
/// first run was.
fn load(a: &StepPlan, b: &StepPlan) -> (String, [String; 2]) {
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
    (shared, own)
}

/// What was done around the blocks of an arm of a trial.
fn hooks((document, index): Side) -> String {
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

/// The brokers that both share, and what each arm has on top; or why no one trial has both.
fn cluster(a: &ClusterPlan, b: &ClusterPlan) -> Result<(String, [String; 2]), &'static str> {
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
            Ok((all.into_iter().flatten().collect(), [String::new(), String::new()]))
        }
        (
            ClusterPlan::Lab { brokers, tls, inter_broker, heap, log_dirs, log_dir_layout, .. },
            ClusterPlan::Lab { brokers: of_b, log_dirs: dirs_b, log_dir_layout: layout_b, .. },
        ) => {
            if brokers != of_b {
                return Err("their labs have not as many brokers, and the arms of a trial have");
            }
            if (log_dirs, log_dir_layout) != (dirs_b, layout_b) {
                return Err("their labs have other log directories, and the arms of a trial share theirs");
            }
            let (base_properties, base_flags) = shared(a, b);
            let flags: Vec<String> = base_flags.iter().map(|flag| quoted(flag)).collect();
            let text = format!(
                "  lab: {{brokers: {brokers}, tls: {tls}, inter_broker: {}, heap: {}, broker_properties: {}, jvm_flags: [{}]{}}}\n",
                word(*inter_broker),
                quoted(heap),
                flow(&base_properties),
                flags.join(", "),
                directories(log_dirs, *log_dir_layout)
            );
            let top =
                |of: &ClusterPlan| on_top(of, (*tls, *inter_broker, heap), (&base_properties, &base_flags));
            Ok((text, [top(a), top(b)]))
        }
        _ => Err("one ran on a lab and the other on brokers that were there, and a trial has one cluster"),
    }
}

/// Where a lab keeps its logs, if that was said.
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

/// Broker properties and JVM flags that both labs have.
fn shared(a: &ClusterPlan, b: &ClusterPlan) -> (Properties, Vec<String>) {
    let (
        ClusterPlan::Lab { broker_properties, jvm_flags, .. },
        ClusterPlan::Lab { broker_properties: of_b, jvm_flags: flags_b, .. },
    ) = (a, b)
    else {
        return (Properties::new(), Vec::new());
    };
    let properties = broker_properties.iter().filter(|(key, value)| of_b.get(*key) == Some(value));
    let flags = jvm_flags.iter().filter(|flag| flags_b.contains(flag));
    (properties.map(|(key, value)| (key.clone(), value.clone())).collect(), flags.cloned().collect())
}

/// As a scenario has it.
fn word(inter_broker: InterBroker) -> &'static str {
    match inter_broker {
        InterBroker::Plaintext => "plaintext",
        InterBroker::Tls => "tls",
    }
}

/// What a lab has that is not shared, as an arm's.
fn on_top(
    lab: &ClusterPlan,
    (tls, inter_broker, heap): (bool, InterBroker, &str),
    (properties, flags): (&Properties, &[String]),
) -> String {
    let ClusterPlan::Lab {
        tls: own_tls,
        inter_broker: own_inter_broker,
        heap: own_heap,
        broker_properties,
        jvm_flags,
        ..
    } = lab
    else {
        return String::new();
    };
    let mut own: Vec<String> = Vec::new();
    if *own_tls != tls {
        own.push(format!("tls: {own_tls}"));
    }
    if *own_inter_broker != inter_broker {
        own.push(format!("inter_broker: {}", word(*own_inter_broker)));
    }
    if own_heap != heap {
        own.push(format!("heap: {}", quoted(own_heap)));
    }
    let added = broker_properties.iter().filter(|(key, _)| !properties.contains_key(*key));
    let added: Properties = added.map(|(key, value)| (key.clone(), value.clone())).collect();
    if !added.is_empty() {
        own.push(format!("broker_properties: {}", flow(&added)));
    }
    let added: Vec<String> =
        jvm_flags.iter().filter(|flag| !flags.contains(flag)).map(|flag| quoted(flag)).collect();
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

fn driver(driver: Driver) -> &'static str {
    match driver {
        Driver::Librdkafka => "librdkafka",
        Driver::Wire => "wire",
    }
}
