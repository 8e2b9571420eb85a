//! The settings of a cluster's brokers and topics that can be changed while it runs, by the admin protocol.

use crate::client_config;
use crate::error::Result;
use plumb_load::librdkafka::admin::{ConfigEntry, ConfigOf};
use plumb_load::librdkafka::connect::{Cluster, connect};
use plumb_model::fault::chain;
use plumb_tune::host::{ClusterPart, ClusterSettings};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Connects to a cluster. `config`: a file of client properties (security).
///
/// # Errors
/// Where the file cannot be read, or no broker takes a connection.
pub fn cluster_settings(bootstrap: &str, config: Option<&str>) -> Result<Arc<dyn ClusterSettings>> {
    let config = client_config::read(config)?;
    let cluster = connect(bootstrap, &config.properties, &Arc::new(AtomicBool::new(false)))?;
    Ok(of(cluster))
}

/// Those of a cluster that is connected to.
pub(crate) fn of(cluster: Cluster) -> Arc<dyn ClusterSettings> {
    Arc::new(Connected(cluster))
}

/// The brokers of a trial's own lab, which end with the trial: what it had changed of them is gone.
pub fn ended_lab() -> Arc<dyn ClusterSettings> {
    Arc::new(EndedLab)
}

struct EndedLab;

const ENDED: &str = "the brokers of the trial's lab have ended, and their settings with them";

impl ClusterSettings for EndedLab {
    fn has_ended(&self) -> bool {
        true
    }

    fn brokers(&self) -> Vec<i32> {
        Vec::new()
    }

    fn own_value(&self, _of: &ClusterPart, _key: &str) -> Result<Option<String>, String> {
        Err(ENDED.to_owned())
    }

    fn value_in_force(&self, _of: &ClusterPart, _key: &str) -> Result<String, String> {
        Err(ENDED.to_owned())
    }

    fn set(&self, _of: &ClusterPart, _key: &str, _value: Option<&str>) -> Result<(), String> {
        Err(ENDED.to_owned())
    }
}

struct Connected(Cluster);

impl Connected {
    fn entry(&self, of: &ClusterPart, key: &str) -> Result<ConfigEntry, String> {
        let entries = self.0.config_entries(config_of(of)).map_err(|error| chain(&error).join(": "))?;
        entries.into_iter().find(|entry| entry.name == key).ok_or_else(|| "it has no such key".to_owned())
    }
}

impl ClusterSettings for Connected {
    fn brokers(&self) -> Vec<i32> {
        self.0.brokers.iter().map(|(id, _, _)| *id).collect()
    }

    fn own_value(&self, of: &ClusterPart, key: &str) -> Result<Option<String>, String> {
        let entry = self.entry(of, key)?;
        if entry.is_secret {
            return Err("its value is kept from everybody, so it could not be put back".to_owned());
        }
        if entry.is_read_only {
            return Err("it cannot be changed while the broker runs".to_owned());
        }
        Ok(entry.is_own.then_some(entry.value))
    }

    fn value_in_force(&self, of: &ClusterPart, key: &str) -> Result<String, String> {
        Ok(self.entry(of, key)?.value)
    }

    fn set(&self, of: &ClusterPart, key: &str, value: Option<&str>) -> Result<(), String> {
        self.0.set_config(config_of(of), key, value).map_err(|error| chain(&error).join(": "))
    }
}

fn config_of(part: &ClusterPart) -> ConfigOf<'_> {
    match part {
        ClusterPart::Broker(id) => ConfigOf::Broker(*id),
        ClusterPart::Topic(name) => ConfigOf::Topic(name),
    }
}
