//! The trial that would prove a difference between two runs: a scenario with the second as an arm against the first.

use plumb_model::document::RunDocument;
use plumb_model::plan::{ClusterPlan, Driver, Length, Properties, StepPlan, TopicPlan};
use std::fmt::Write;

/// A scenario's YAML; none where the two do not differ in what an arm can have, or where they ran on other brokers.
pub(super) fn yaml(
    (a, of_a): (&RunDocument, &StepPlan),
    (b, of_b): (&RunDocument, &StepPlan),
) -> Option<String> {
    let own = |document: &'_ RunDocument, step: &StepPlan| {
        step.cluster.clone().unwrap_or_else(|| document.plan.cluster.clone())
    };
    let (cluster, labs) = cluster(&own(a, of_a), &own(b, of_b))?;
    let arms = [(of_a, &labs[0]), (of_b, &labs[1])].map(|(step, lab)| format!("{}{lab}", settings(step)));
    if arms[0] == arms[1] {
        return None;
    }
    let mut text = format!("name: {}\ncluster:\n{cluster}{}arms:\n", quoted(&of_b.name), load(a, of_a));
    for (name, settings) in ["before", "after"].into_iter().zip(&arms) {
        let _ = match settings.is_empty() {
            true => writeln!(text, "  {name}: {{}}"),
            false => write!(text, "  {name}:\n{settings}"),
        };
    }
    Some(text)
}

/// All that an arm has of its own: arms do not inherit from each other.
fn settings(step: &StepPlan) -> String {
    let mut text = String::new();
    if step.driver != Driver::default() {
        let _ = writeln!(text, "    driver: {}", driver(step.driver));
    }
    mapping(&mut text, "producer", &step.producer);
    mapping(&mut text, "consumer", &step.consumer);
    match &step.topic {
        TopicPlan::Own { partitions, replication, configs, .. } => {
            let _ = writeln!(
                text,
                "    topic: {{partitions: {partitions}, replication: {replication}, configs: {}}}",
                flow(configs)
            );
        }
        TopicPlan::Existing { name } => {
            let _ = writeln!(text, "    topic: {{name: {}}}", quoted(name));
        }
    }
    text
}

/// The brokers that both share, and what each arm has on top; none where no one trial has both.
fn cluster(a: &ClusterPlan, b: &ClusterPlan) -> Option<(String, [String; 2])> {
    match (a, b) {
        (
            ClusterPlan::Brokers { bootstrap: of_a, config, .. },
            ClusterPlan::Brokers { bootstrap: of_b, .. },
        ) => {
            let config = config.as_ref().map(|path| format!("  config: {}\n", quoted(path)));
            let text = format!("  bootstrap: {}\n{}", quoted(of_a), config.unwrap_or_default());
            (of_a == of_b).then(|| (text, [String::new(), String::new()]))
        }
        (ClusterPlan::Lab { brokers, tls, heap, .. }, ClusterPlan::Lab { brokers: of_b, .. }) => {
            let (base_properties, base_flags) = shared(a, b);
            let flags: Vec<String> = base_flags.iter().map(|flag| quoted(flag)).collect();
            let text = format!(
                "  lab: {{brokers: {brokers}, tls: {tls}, heap: {}, broker_properties: {}, jvm_flags: [{}]}}\n",
                quoted(heap),
                flow(&base_properties),
                flags.join(", ")
            );
            let top = |of: &ClusterPlan| on_top(of, (*tls, heap), (&base_properties, &base_flags));
            (brokers == of_b).then(|| (text, [top(a), top(b)]))
        }
        _ => None,
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

/// What a lab has that is not shared, as an arm's.
fn on_top(
    lab: &ClusterPlan,
    (tls, heap): (bool, &str),
    (properties, flags): (&Properties, &[String]),
) -> String {
    let ClusterPlan::Lab { tls: own_tls, heap: own_heap, broker_properties, jvm_flags, .. } = lab else {
        return String::new();
    };
    let mut own: Vec<String> = Vec::new();
    if *own_tls != tls {
        own.push(format!("tls: {own_tls}"));
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

fn load(document: &RunDocument, step: &StepPlan) -> String {
    let load = &step.load;
    let blocks = u64::from(document.plan.blocks.max(1));
    let mut text = String::from("load:\n");
    if let Some(rate) = load.rate_per_s {
        let _ = writeln!(text, "  rate: {rate}");
    }
    if load.saturating() {
        text.push_str("  schedule: saturating\n");
    }
    // A block of a trial is as long as a block of the run was.
    let _ = match load.length {
        Length::Count(count) => writeln!(text, "  count: {}", (count / blocks).max(1)),
        Length::Duration(time) => {
            writeln!(text, "  duration: {}", plumb_model::units::Nanos(time.0 / blocks))
        }
    };
    let _ = writeln!(text, "  warm_up: {}", load.warm_up);
    if let plumb_model::plan::SizePlan::Fixed(size) = &load.size {
        let _ = writeln!(text, "  size: {}", size.0);
    }
    let _ = writeln!(text, "  producers: {}\n  consumers: {}", load.producers, load.consumers);
    text
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
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn driver(driver: Driver) -> &'static str {
    match driver {
        Driver::Librdkafka => "librdkafka",
        Driver::Wire => "wire",
    }
}
