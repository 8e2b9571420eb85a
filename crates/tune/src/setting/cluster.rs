//! A setting of a broker or a topic that the cluster lets one change while it runs.
//!
//! A key that was never set has the value `(default)`: putting it back takes it away again, instead of setting it to what the default
//! happens to be.

use super::SettingError;
use crate::host::{ClusterPart, ClusterSettings, Host};
use plumb_model::change::Owner;
use plumb_model::setting_name::{self, ClusterName};
use std::time::{Duration, Instant};

/// Parts of keys that Plumb does not change: how long data is kept, how many copies there are and when they count, who may connect.
const KEPT: [Kept; 3] = [
    Kept { what: "how long data is kept", parts: &["retention", "cleanup.policy", "delete.", "local.log"] },
    Kept {
        what: "how safe data is",
        parts: &["min.insync", "unclean.leader", "replication.factor", "message.timestamp"],
    },
    Kept {
        what: "who may connect, and how",
        parts: &[
            "ssl.",
            "sasl.",
            "listener",
            "password",
            "authorizer",
            "principal",
            "super.users",
            "advertised",
        ],
    },
];

struct Kept {
    what: &'static str,
    parts: &'static [&'static str],
}

/// Longest wait until a broker tells a value that was set: the controller's log has to come to it. Ours.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The value of a key that was never set.
const DEFAULT: &str = "(default)";

/// A key of a broker or topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterSetting {
    part: ClusterPart,
    key: String,
}

impl ClusterSetting {
    /// From `broker:1:num.io.threads` or `topic:orders:flush.messages`.
    pub(super) fn new(name: &str) -> Option<Self> {
        let name = ClusterName::new(name)?;
        let part = match name.of {
            setting_name::ClusterPart::Broker(id) => ClusterPart::Broker(id),
            setting_name::ClusterPart::Topic(topic) => ClusterPart::Topic(topic.to_owned()),
        };
        Some(ClusterSetting { part, key: name.key.to_owned() })
    }

    pub(super) fn owner(&self) -> Owner {
        match self.part {
            ClusterPart::Broker(_) => Owner::Broker,
            ClusterPart::Topic(_) => Owner::Topic,
        }
    }

    pub(super) fn read(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        let value = cluster(name, host)?.own_value(&self.part, &self.key);
        Ok(value.map_err(|words| unknown(name, words))?.unwrap_or_else(|| DEFAULT.to_owned()))
    }

    pub(super) fn in_force(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        cluster(name, host)?.value_in_force(&self.part, &self.key).map_err(|words| unknown(name, words))
    }

    pub(super) fn write(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        let given = (value != DEFAULT).then_some(value);
        cluster(name, host)?.set(&self.part, &self.key, given).map_err(|reason| SettingError::NotTaken {
            name: name.to_owned(),
            value: value.to_owned(),
            reason,
        })?;
        let end = Instant::now() + KNOWN_WITHIN;
        while self.read(name, host)? != value && Instant::now() < end {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Refuses a key that Plumb does not change.
    pub(super) fn check(&self, name: &str) -> Result<(), SettingError> {
        match KEPT.iter().find(|kept| kept.parts.iter().any(|part| self.key.contains(part))) {
            None => Ok(()),
            Some(kept) => Err(SettingError::Unchangeable {
                name: name.to_owned(),
                reason: format!("Plumb does not change {}", kept.what),
            }),
        }
    }

    pub(super) fn by_hand(&self, value: &str) -> String {
        let (kind, which) = match &self.part {
            ClusterPart::Broker(id) => ("brokers", id.to_string()),
            ClusterPart::Topic(topic) => ("topics", topic.clone()),
        };
        let change = match value == DEFAULT {
            true => format!("--delete-config {}", self.key),
            false => format!("--add-config {}={value}", self.key),
        };
        format!("kafka-configs.sh --alter --entity-type {kind} --entity-name {which} {change}")
    }
}

fn cluster<'h>(name: &str, host: &'h Host) -> Result<&'h dyn ClusterSettings, SettingError> {
    host.cluster().ok_or_else(|| SettingError::NoCluster { name: name.to_owned() })
}

fn unknown(name: &str, reason: String) -> SettingError {
    SettingError::NotTold { name: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// A cluster of one broker with one key, whose default is 8.
    #[derive(Default)]
    struct OneKey(Mutex<BTreeMap<String, String>>);

    impl ClusterSettings for OneKey {
        fn brokers(&self) -> Vec<i32> {
            vec![1]
        }

        fn own_value(&self, _of: &ClusterPart, key: &str) -> Result<Option<String>, String> {
            Ok(self.0.lock().unwrap().get(key).cloned())
        }

        fn value_in_force(&self, of: &ClusterPart, key: &str) -> Result<String, String> {
            Ok(self.own_value(of, key)?.unwrap_or_else(|| "8".to_owned()))
        }

        fn set(&self, _of: &ClusterPart, key: &str, value: Option<&str>) -> Result<(), String> {
            let mut keys = self.0.lock().unwrap();
            match value {
                Some(value) => keys.insert(key.to_owned(), value.to_owned()),
                None => keys.remove(key),
            };
            Ok(())
        }
    }

    #[test]
    fn a_key_that_was_never_set_is_taken_away_again() {
        let host = Host::default().with_cluster(Arc::new(OneKey::default()));
        let setting = Setting::new("broker:1:num.io.threads").unwrap();
        let before = setting.read(&host).unwrap();
        assert_eq!((before.as_str(), setting.effective(&host).unwrap().as_str()), ("(default)", "8"));
        assert_eq!(setting.write(&host, "16").unwrap(), "16");
        setting.write(&host, &before).unwrap();
        assert_eq!(setting.read(&host).unwrap(), "(default)");
        assert!(setting.by_hand(&before).ends_with("--delete-config num.io.threads"));
    }

    #[test]
    fn without_a_cluster_the_error_says_what_to_name() {
        let error = Setting::new("topic:orders:flush.messages").unwrap().read(&Host::default()).unwrap_err();
        assert!(matches!(error, SettingError::NoCluster { .. }), "{error}");
    }
}
