//! Where settings are read and written: this host, or a directory that stands for one.
//!
//! Below a directory of its own, what the kernel is asked by calls instead of files (a driver's settings, the processors that a process
//! may use) is kept in files too, so that all of it works on a recorded host without privileges.

use plumb_observe::HostRoot;
use std::fmt;
use std::sync::Arc;

/// What a host's settings are asked of, and told to.
#[derive(Clone, Default)]
pub struct Host {
    root: HostRoot,
    cluster: Option<Arc<dyn ClusterSettings>>,
}

/// The settings of brokers and topics that a cluster lets one change while it runs. Whoever has a connection to it implements this.
pub trait ClusterSettings: Send + Sync {
    /// The numbers of its brokers.
    fn brokers(&self) -> Vec<i32>;

    /// The value of a key; none where it is not set on this broker or topic, so that a default is in force.
    ///
    /// # Errors
    /// In words, where the cluster does not say.
    fn own_value(&self, of: &ClusterPart, key: &str) -> Result<Option<String>, String>;

    /// The value in force.
    ///
    /// # Errors
    /// In words, where the cluster does not say, or has no such key.
    fn value_in_force(&self, of: &ClusterPart, key: &str) -> Result<String, String>;

    /// True if the cluster has ended for good, and its settings with it.
    fn has_ended(&self) -> bool {
        false
    }

    /// Sets a key, or takes it away so that its default is in force again.
    ///
    /// # Errors
    /// In the cluster's words, where it refuses.
    fn set(&self, of: &ClusterPart, key: &str, value: Option<&str>) -> Result<(), String>;
}

/// A broker or a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPart {
    /// A broker, by its number.
    Broker(i32),
    /// A topic, by its name.
    Topic(String),
}

impl Host {
    /// A host whose files are below a directory.
    pub fn below(root: HostRoot) -> Self {
        Host { root, cluster: None }
    }

    /// The same host, with a cluster whose settings can be asked and changed.
    pub fn with_cluster(self, cluster: Arc<dyn ClusterSettings>) -> Self {
        Host { cluster: Some(cluster), ..self }
    }

    /// Its files.
    pub fn root(&self) -> &HostRoot {
        &self.root
    }

    pub(crate) fn cluster(&self) -> Option<&dyn ClusterSettings> {
        self.cluster.as_deref()
    }

    /// The number of this start of the kernel: settings that are kept nowhere do not outlive it.
    pub(crate) fn boot_id(&self) -> Option<String> {
        Some(self.root.read("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
    }
}

impl Host {
    /// The list of processes that this one is in, by the kernel's number for it.
    pub(crate) fn process_namespace(&self) -> Option<String> {
        self.root.link("/proc/self/ns/pid")
    }

    /// The network namespace whose settings are read and written, by the kernel's number for it.
    pub(crate) fn network_namespace(&self) -> Option<String> {
        self.root.link("/proc/self/ns/net")
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Host")
            .field("root", &self.root)
            .field("cluster", &self.cluster.is_some())
            .finish()
    }
}
