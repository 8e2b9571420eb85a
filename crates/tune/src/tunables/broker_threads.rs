//! Threads of brokers that can be changed while they run: network threads, request handlers, fetchers of followers.

use super::{Context, Look, Tunable};
use crate::devices;
use crate::setting::Setting;
use plumb_model::change::Assignment;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "broker-threads",
    title: "network threads, request handlers and fetchers of brokers (needs --bootstrap)",
    risk: Risk::Performance,
    interrupts: "",
    source: "Apache Kafka documentation, broker configs (updated cluster-wide or per broker); the numbers by processors are ours",
    look,
};

/// A key, what it counts, Kafka's default, and the share of the processors that is usual beyond it. Ours.
const KEYS: [Key; 3] = [
    Key { name: "num.network.threads", default: 3, of_cpus: 0.5 },
    Key { name: "num.io.threads", default: 8, of_cpus: 1.0 },
    Key { name: "num.replica.fetchers", default: 1, of_cpus: 0.125 },
];

struct Key {
    name: &'static str,
    default: u64,
    of_cpus: f64,
}

fn look(context: &Context<'_>) -> Vec<Look> {
    let Some(cluster) = context.host.cluster() else { return Vec::new() };
    let cpus = devices::online_cpus(context.host).len() as f64;
    let brokers = cluster.brokers();
    brokers
        .iter()
        .flat_map(|broker| KEYS.iter().map(move |key| (*broker, key)))
        .map(|(broker, key)| of_key(context, broker, key, cpus))
        .collect()
}

fn of_key(context: &Context<'_>, broker: i32, key: &Key, cpus: f64) -> Look {
    let target = format!("broker {broker}, {}", key.name);
    let name = format!("broker:{broker}:{}", key.name);
    let setting = match Setting::new(&name) {
        Ok(setting) => setting,
        Err(error) => return Look::unknown(&target, error.to_string()),
    };
    let (configured, effective) = match (setting.read(context.host), setting.effective(context.host)) {
        (Ok(configured), Ok(effective)) => (configured, effective),
        (Err(error), _) | (_, Err(error)) => return Look::unknown(&target, error.to_string()),
    };
    let usual = key.default.max((cpus * key.of_cpus) as u64);
    let is_met = effective.parse::<u64>().is_ok_and(|threads| threads >= usual);
    let reason = "whether these threads are the bound is seen by their idle time: plumb diagnose --bootstrap names them where they are; the number is by this host's processors, which the brokers may not have";
    Look {
        configured: Some(configured),
        effective: Some(effective),
        recommended: Some(usual.to_string()),
        assignments: if is_met {
            Vec::new()
        } else {
            vec![Assignment { key: name, value: usual.to_string() }]
        },
        ..Look::plain(&target, if is_met { Status::Ok } else { Status::NoEvidence }, reason)
    }
}
