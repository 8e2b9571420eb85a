//! Rules that put a bean's name into the metric's: each spells all beans in one way.
//!
//! - The JMX exporter's example for Kafka 2.0 and later (`examples/kafka-2_0_0.yml`, `kafka-kraft-3_0_0.yml`) and Strimzi's rules: a count per second
//!   is `_total` without `PerSec`, other counts `_count`, values bare. Strimzi's values of a share end in `_percent`. Means are not served: times of
//!   requests cannot be had from either.
//! - Confluent's (`jmx-monitoring-stacks`, `kafka_broker.yml`): counts and values alike bare.
//! - Bitnami's chart: the attribute last, `_total` before the name where a bean has no other property, and the version within the request.

use super::bean::{Attribute, BEANS, Bean, Kind};
use super::plain::of_bean;
use super::{Figure, Naming};
use crate::MetricSample;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What a metric's name stands for.
#[derive(Debug, Clone, Copy)]
struct Meaning {
    bean: &'static Bean,
    attribute: Attribute,
    /// None where several sets of rules spell it so.
    naming: Option<Naming>,
}

fn meanings() -> &'static HashMap<String, Meaning> {
    static MEANINGS: OnceLock<HashMap<String, Meaning>> = OnceLock::new();
    MEANINGS.get_or_init(|| {
        let mut meanings: HashMap<String, Meaning> = HashMap::new();
        for bean in &BEANS {
            for attribute in bean.attributes() {
                for (naming, spelling) in spellings(bean, *attribute) {
                    let meaning = Meaning { bean, attribute: *attribute, naming: Some(naming) };
                    meanings
                        .entry(spelling)
                        .and_modify(|known| known.naming = known.naming.filter(|of| *of == naming))
                        .or_insert(meaning);
                }
            }
        }
        meanings
    })
}

fn spellings(bean: &Bean, attribute: Attribute) -> Vec<(Naming, String)> {
    let (group, name) = (bean.group, bean.name.to_ascii_lowercase());
    let attribute_last =
        |infix: &str| (Naming::AttributeLast, format!("{group}_{infix}{name}_{}", attribute.name()));
    let mut spellings = vec![attribute_last(""), attribute_last("total_")];
    match attribute {
        Attribute::Count => {
            spellings.push((
                Naming::KafkaExample,
                match name.split_once("persec") {
                    Some((stem, _)) => format!("{group}_{stem}_total"),
                    None => format!("{group}_{name}_count"),
                },
            ));
            spellings.push((Naming::Confluent, format!("{group}_{name}")));
        }
        Attribute::Value => {
            spellings.push((Naming::KafkaExample, format!("{group}_{name}")));
            spellings.push((Naming::Confluent, format!("{group}_{name}")));
            // Of the request handlers' share the rule takes the mean since the start, which is no value of the moment.
            if let Some((stem, _)) = name.split_once("percent")
                && bean.kind == Kind::Gauge
            {
                spellings.push((Naming::KafkaExample, format!("{group}_{stem}_percent")));
            }
        }
        Attribute::Mean => {}
    }
    spellings
}

pub(super) fn has(metric: &str) -> bool {
    meanings().contains_key(metric)
}

pub(super) fn figure(metric: &str, sample: &MetricSample) -> Option<Figure> {
    let meaning = meanings().get(metric)?;
    let mut figure = of_bean(meaning.bean, meaning.attribute, meaning.naming, sample);
    // Bitnami's pattern takes all behind `request=`, the version with it.
    let request = figure.labels.iter_mut().find(|(key, _)| key == "request");
    if let Some((_, request)) = request
        && let Some((name, rest)) = request.clone().split_once(", ")
    {
        name.clone_into(request);
        let others = rest.split(", ").filter_map(|property| property.split_once('='));
        let known = others.filter(|(key, _)| ["version", "error"].contains(key));
        figure.labels.extend(known.map(|(key, value)| (key.to_owned(), value.to_owned())));
        figure.labels.sort();
    }
    Some(figure)
}
