//! Flips of brokers' settings and JVM flags: tried where the watched cluster is a lab, on two more labs like it, never on the watched one.

use super::{AS_IT_IS, BLOCKS, CHANGED, Compared, observed_settings};
use plumb_lab::kafka::{LabShape, LabStatus, Labs};
use plumb_model::document::RunDocument;
use plumb_model::finding::FlipSetting;
use plumb_model::observed::ObservedPath;
use plumb_model::plan::{SizePlan, heap_mib};
use plumb_model::scenario::{
    ArmClusterWords, ArmLabWords, ArmWords, ArmsWords, ClusterWords, LabWords, LoadWords, OneOrMany,
    RateWords, Scalar, Scenario, SizeWords, TrialWords,
};
use plumb_model::units::{Bytes, Nanos};
use std::collections::BTreeSet;

/// What a setting of a lab begins with.
pub(super) const PREFIX: &str = "cluster.";
/// What is compared between labs.
pub(super) const METRICS: [&str; 2] = ["acknowledge.mean", "cpu.broker_per_message"];
/// Load before each block that is not measured: a young JVM's compilers would be measured otherwise (ours).
const WARM_UP: Nanos = Nanos::from_secs(5);

/// A trial of two labs: one like the watched, one with the setting changed. None where the watched cluster is no lab of this user's, has
/// not that setting, or its load is not known.
pub(super) fn scenario(
    path: &ObservedPath,
    setting: &FlipSetting,
    metric: &str,
    scenario: Scenario,
) -> Option<Scenario> {
    let bootstrap = scenario.cluster.as_ref()?.bootstrap.as_ref()?;
    let shape = shape_of(bootstrap, &Labs::of_user().ok()?.status().ok()?)?;
    let changed = changed(path, &shape, setting)?;
    let observed = observed_settings(path)?;
    let arm = |cluster: Option<ArmLabWords>| ArmWords {
        producer: observed.producer.clone(),
        consumer: observed.consumer.clone(),
        cluster: cluster.map(ArmClusterWords::Lab),
        ..ArmWords::default()
    };
    Some(Scenario {
        cluster: Some(ClusterWords { lab: Some(words(&shape)), ..ClusterWords::default() }),
        topic: observed.topic.clone(),
        load: watched_load(path, scenario.load)?,
        arms: ArmsWords(vec![(AS_IT_IS.to_owned(), arm(None)), (CHANGED.to_owned(), arm(Some(changed)))]),
        trial: Some(TrialWords {
            primary: Some(metric.to_owned()),
            pairs: Some(BLOCKS),
            ..TrialWords::default()
        }),
        ..scenario
    })
}

/// The lab whose brokers these are.
fn shape_of(bootstrap: &str, labs: &[LabStatus]) -> Option<LabShape> {
    let addresses = |list: &str| -> BTreeSet<String> {
        list.split(',').map(|address| address.trim().to_owned()).collect()
    };
    let wanted = addresses(bootstrap);
    let is_it = |lab: &&LabStatus| {
        let own = [&lab.bootstrap, &lab.plaintext_bootstrap].map(|list| addresses(list));
        own.iter().any(|own| wanted.is_subset(own)) && lab.brokers.iter().all(|broker| broker.alive)
    };
    labs.iter().find(is_it)?.shape.clone()
}

fn words(shape: &LabShape) -> LabWords {
    let property = |(key, value): &(String, String)| (key.clone(), Scalar(value.clone()));
    LabWords {
        brokers: Some(shape.brokers),
        tls: Some(shape.tls),
        inter_broker: Some(shape.inter_broker),
        broker_properties: shape.broker_properties.iter().map(property).collect(),
        jvm_flags: shape.jvm_flags.clone(),
        heap: Some(format!("{}m", shape.heap_mib)),
        ..LabWords::default()
    }
}

/// What the other lab has differently; none where the watched one does not have the setting that would be changed.
fn changed(path: &ObservedPath, shape: &LabShape, setting: &FlipSetting) -> Option<ArmLabWords> {
    let value = setting.value.as_str();
    match setting.path.strip_prefix(PREFIX)? {
        "jvm_flags" => {
            let off = |flag: &&str| shape.jvm_flags.contains(&flag.replacen('+', "-", 1));
            let jvm_flags: Vec<String> =
                value.split_ascii_whitespace().filter(off).map(str::to_owned).collect();
            (!jvm_flags.is_empty()).then(|| ArmLabWords { jvm_flags, ..ArmLabWords::default() })
        }
        "tls" => shape.tls.then(|| ArmLabWords { tls: Some(value == "true"), ..ArmLabWords::default() }),
        "heap" => {
            let larger = heap_mib(value).is_ok_and(|heap_mib| heap_mib > shape.heap_mib);
            larger.then(|| ArmLabWords { heap: Some(value.to_owned()), ..ArmLabWords::default() })
        }
        property => {
            let key = property.strip_prefix("broker_properties.")?;
            let now = path.settings.brokers.values().find_map(|settings| settings.get(key))?;
            // More of what it has: what is there already, or more, would prove nothing.
            let more = value.parse::<u64>().ok()? > now.parse::<u64>().ok()?;
            more.then(|| ArmLabWords {
                broker_properties: [(key.to_owned(), Scalar(value.to_owned()))].into(),
                ..ArmLabWords::default()
            })
        }
    }
}

/// The busiest topic's messages a second and mean bytes of one, as the brokers counted them.
fn watched_load(path: &ObservedPath, load: LoadWords) -> Option<LoadWords> {
    let busiest = path
        .brokers
        .iter()
        .flat_map(|broker| &broker.topics)
        .find(|topic| path.settings.topics.contains_key(&topic.topic))?;
    let of_it =
        || path.brokers.iter().flat_map(|broker| &broker.topics).filter(|topic| topic.topic == busiest.topic);
    let messages_per_s: f64 = of_it().filter_map(|topic| topic.messages_in_per_s).sum();
    let bytes_per_s: f64 = of_it().filter_map(|topic| topic.bytes_in_per_s).sum();
    let bytes = bytes_per_s / messages_per_s;
    (messages_per_s > 0.0 && bytes.is_finite() && bytes >= 1.0).then_some(LoadWords {
        rate: Some(OneOrMany::One(RateWords::PerSecond(messages_per_s))),
        size: Some(OneOrMany::One(SizeWords(SizePlan::Fixed(Bytes(bytes as u64))))),
        warm_up: Some(WARM_UP),
        ..load
    })
}

/// What the trial came to; none where it has no interval.
pub(super) fn compared(metric: &str, document: &RunDocument) -> Option<Compared> {
    let result = document.trial.as_ref()?;
    let compared =
        result.metrics.iter().find(|compared| compared.name == metric && compared.arm == CHANGED)?;
    let scale = if compared.unit == "us" { 1e3 } else { 1.0 };
    Some(Compared {
        before_ns: compared.against_median? * scale,
        after_ns: compared.arm_median? * scale,
        ratio_low: compared.interval_low?,
        ratio_high: compared.interval_high?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(path: &str, value: &str) -> FlipSetting {
        FlipSetting { path: path.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn only_what_the_lab_has_is_changed() {
        let shape = LabShape {
            brokers: 1,
            tls: true,
            jvm_flags: vec!["-XX:-UseAES".to_owned(), "-Xint".to_owned()],
            heap_mib: 512,
            ..LabShape::default()
        };
        let mut path = ObservedPath::default();
        path.settings
            .brokers
            .insert("1".to_owned(), [("num.network.threads".to_owned(), "3".to_owned())].into());
        let of = |path_: &str, value: &str| changed(&path, &shape, &setting(path_, value));
        let flags = of("cluster.jvm_flags", "-XX:+UseAES -XX:+UseAESIntrinsics").unwrap();
        assert_eq!(flags.jvm_flags, ["-XX:+UseAES"]);
        assert!(of("cluster.jvm_flags", "-XX:+UseSHA").is_none());
        assert_eq!(of("cluster.tls", "false").unwrap().tls, Some(false));
        assert_eq!(of("cluster.heap", "1g").unwrap().heap.as_deref(), Some("1g"));
        assert!(of("cluster.heap", "256m").is_none());
        let threads = of("cluster.broker_properties.num.network.threads", "6").unwrap();
        assert_eq!(threads.broker_properties["num.network.threads"].0, "6");
        assert!(of("cluster.broker_properties.num.network.threads", "3").is_none());
        assert!(of("cluster.broker_properties.num.io.threads", "16").is_none());
        assert!(of("producer.linger.ms", "0").is_none());
    }
}
