//! The trial that would prove a difference between two runs: a scenario with the second as an arm against the first.

use plumb_model::document::RunDocument;
use plumb_model::plan::{ClusterPlan, Driver, Length, Properties, StepPlan, TopicPlan};
use std::fmt::Write;

/// A scenario's YAML; none where the two do not differ in what an arm can have, or where they ran on other brokers.
pub(super) fn yaml(
    (a, of_a): (&RunDocument, &StepPlan),
    (b, of_b): (&RunDocument, &StepPlan),
) -> Option<String> {
    let mut arm = String::new();
    if of_a.driver != of_b.driver {
        let _ = writeln!(arm, "    driver: {}", driver(of_b.driver));
    }
    mapping(&mut arm, "producer", &changed(&of_a.producer, &of_b.producer));
    mapping(&mut arm, "consumer", &changed(&of_a.consumer, &of_b.consumer));
    if let (TopicPlan::Own { configs: before, .. }, TopicPlan::Own { configs: now, .. }) =
        (&of_a.topic, &of_b.topic)
    {
        let configs = changed(before, now);
        if !configs.is_empty() {
            let _ = writeln!(arm, "    topic:");
            let _ = writeln!(arm, "      configs: {}", flow(&configs));
        }
    }
    let (lab_a, lab_b) =
        (of_a.cluster.as_ref().unwrap_or(&a.plan.cluster), of_b.cluster.as_ref().unwrap_or(&b.plan.cluster));
    let cluster = cluster(lab_a, lab_b, &mut arm)?;
    if arm.is_empty() {
        return None;
    }
    let mut text = format!("name: {}\ncluster:\n{cluster}{}", quoted(&of_b.name), load(a, of_a));
    let _ = writeln!(text, "arms:\n  {}:", quoted("before"));
    let mut reference = String::new();
    mapping(&mut reference, "producer", &of_a.producer);
    mapping(&mut reference, "consumer", &of_a.consumer);
    if of_a.driver != Driver::default() {
        let _ = writeln!(reference, "    driver: {}", driver(of_a.driver));
    }
    if reference.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str(" {}\n");
    }
    text.push_str(&reference);
    let _ = write!(text, "  {}:\n{arm}", quoted("after"));
    Some(text)
}

/// What the second has that the first has not. What it lacks takes its default: an arm cannot take a setting away.
fn changed(before: &Properties, now: &Properties) -> Properties {
    let changed = now.iter().filter(|(key, value)| before.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The brokers of the first run, and what of the second's goes to the arm; none where no one trial has both.
fn cluster(a: &ClusterPlan, b: &ClusterPlan, arm: &mut String) -> Option<String> {
    match (a, b) {
        (
            ClusterPlan::Brokers { bootstrap: of_a, config, .. },
            ClusterPlan::Brokers { bootstrap: of_b, .. },
        ) => {
            let config =
                config.as_ref().map(|path| format!("  config: {}\n", quoted(path))).unwrap_or_default();
            (of_a == of_b).then(|| format!("  bootstrap: {}\n{config}", quoted(of_a)))
        }
        (
            ClusterPlan::Lab { brokers, tls, broker_properties, jvm_flags, heap, .. },
            ClusterPlan::Lab {
                brokers: brokers_b,
                tls: tls_b,
                broker_properties: properties_b,
                jvm_flags: flags_b,
                heap: heap_b,
                ..
            },
        ) => {
            if brokers != brokers_b {
                return None;
            }
            let mut own = String::new();
            if tls != tls_b {
                let _ = writeln!(own, "      tls: {tls_b}");
            }
            let properties = changed(broker_properties, properties_b);
            if !properties.is_empty() {
                let _ = writeln!(own, "      broker_properties: {}", flow(&properties));
            }
            let added: Vec<String> =
                flags_b.iter().filter(|flag| !jvm_flags.contains(flag)).map(|flag| quoted(flag)).collect();
            if !added.is_empty() {
                let _ = writeln!(own, "      jvm_flags: [{}]", added.join(", "));
            }
            if heap != heap_b {
                let _ = writeln!(own, "      heap: {}", quoted(heap_b));
            }
            if !own.is_empty() {
                let _ = write!(arm, "    cluster:\n{own}");
            }
            let flags: Vec<String> = jvm_flags.iter().map(|flag| quoted(flag)).collect();
            Some(format!(
                "  lab:\n    brokers: {brokers}\n    tls: {tls}\n    heap: {}\n    broker_properties: {}\n    jvm_flags: [{}]\n",
                quoted(heap),
                flow(broker_properties),
                flags.join(", ")
            ))
        }
        _ => None,
    }
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
