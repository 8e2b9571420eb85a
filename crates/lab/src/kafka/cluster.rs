//! A lab that runs. How it gets there is told in `startup`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::broker::{self, Broker, LogDirFailure};
use super::configuration::BrokerPlan;
use super::error::{LabError, Result};
use super::identity::ProcessScope;
use super::install::Install;
use super::launch::Launcher;
use super::log_dirs::{self, LogDir};
use super::manifest::Manifest;
use super::metrics;
use super::options::LabOptions;
use super::processes::BrokerProcesses;
use super::removal;

/// A running lab. Dropping it stops the brokers and removes everything that it had on disk.
pub struct LabCluster {
    pub(super) directory: PathBuf,
    pub(super) brokers: Vec<Broker>,
    pub(super) manifest: Mutex<Manifest>,
    pub(super) client_properties: Vec<(String, String)>,
    pub(super) options: LabOptions,
    pub(super) install: Install,
    pub(super) launcher: Launcher,
    pub(super) clears_up: bool,
}

impl LabCluster {
    /// Bootstrap servers: of the secured listeners when TLS or SASL was asked for, else of the plaintext ones.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        join(self.brokers.iter().map(|broker| broker.plan.secured.unwrap_or(broker.plan.plaintext)))
    }

    /// Bootstrap servers of the plaintext listeners, which every lab has.
    #[must_use]
    pub fn plaintext_bootstrap(&self) -> String {
        join(self.plaintext_addresses().into_iter())
    }

    /// The plaintext listener of each broker, in the order of their ids, which are 1, 2, ...
    #[must_use]
    pub fn plaintext_addresses(&self) -> Vec<SocketAddr> {
        self.brokers.iter().map(|broker| broker.plan.plaintext).collect()
    }

    /// The properties with which a client connects to [`bootstrap`](Self::bootstrap), with librdkafka's names. With SASL that
    /// includes the first user's password.
    #[must_use]
    pub fn client_properties(&self) -> Vec<(String, String)> {
        self.client_properties.clone()
    }

    /// The directory of the lab's settings and logs, and of its data unless log directories were given.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The brokers' processes, in the order of their ids.
    #[must_use]
    pub fn broker_pids(&self) -> Vec<i32> {
        self.brokers.iter().map(|broker| broker.process.pid).collect()
    }

    /// The same processes, to be watched without the lab.
    #[must_use]
    pub fn broker_processes(&self) -> BrokerProcesses {
        BrokerProcesses::new(self.brokers.iter().map(|broker| broker.process).collect())
    }

    /// Refuses to go on with a lab of which no broker is left.
    ///
    /// # Errors
    /// [`LabError::AllEnded`] or [`LabError::LogDirOffline`] with the brokers' last words.
    pub fn check_running(&self) -> Result<()> {
        if !self.broker_processes().have_ended_within(Duration::ZERO) {
            return Ok(());
        }
        let log = self.brokers.iter().map(Broker::last_words).collect::<Vec<_>>().join("\n");
        Err(match self.brokers.iter().find_map(Broker::failed_log_dir) {
            Some(LogDirFailure { directory, reason }) => LabError::LogDirOffline { directory, reason, log },
            None => LabError::AllEnded { log },
        })
    }

    /// The brokers' log directories: those given, in their order, or the lab's own.
    #[must_use]
    pub fn log_dirs(&self) -> Vec<LogDir> {
        let below = |parent: &Path| {
            let plans = self.brokers.iter().map(|broker| &broker.plan);
            let of = |plan: &BrokerPlan| {
                Some((plan.id, plan.data.iter().find(|data| data.starts_with(parent))?.clone()))
            };
            plans.filter_map(of).collect()
        };
        if self.options.log_dirs.is_empty() {
            return vec![LogDir { given: None, brokers: below(&self.directory) }];
        }
        let id = self.directory.file_name().unwrap_or_default().to_string_lossy();
        let given = self.options.log_dirs.iter();
        given
            .map(|parent| LogDir {
                given: Some(parent.clone()),
                brokers: below(&log_dirs::below(parent, &id)),
            })
            .collect()
    }

    /// The version of Kafka that runs.
    #[must_use]
    pub fn kafka_version(&self) -> String {
        self.install.kafka_version()
    }

    /// The addresses at which the brokers serve their metrics in Prometheus' format, in the order of their ids. The first call
    /// makes them do so, unless [`LabOptions::jmx`] did; it takes about half a second for each.
    ///
    /// # Errors
    /// [`LabError::Agent`] when a broker does not take the agent; errors of fetching it for a Kafka of the user's own.
    pub fn jmx_metrics_urls(&self) -> Result<Vec<String>> {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if manifest.brokers.iter().any(|entry| entry.metrics_url.is_none()) {
            let jar = self.metrics_agent()?;
            for (broker, entry) in self.brokers.iter().zip(&mut manifest.brokers) {
                if entry.metrics_url.is_none() {
                    entry.metrics_url = Some(metrics::serve(broker, &jar)?);
                }
            }
            manifest.write(&self.directory)?;
        }
        Ok(manifest.brokers.iter().filter_map(|entry| entry.metrics_url.clone()).collect())
    }

    /// Stops the brokers and removes everything that the lab had on disk, and says when that fails.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn stop(mut self) -> Result<()> {
        self.clear_up()
    }

    /// Hands a lab that was started to stay over to whoever takes it down.
    pub(super) fn leave_running(mut self) -> Result<PathBuf> {
        let manifest = self.manifest.get_mut().unwrap_or_else(PoisonError::into_inner);
        manifest.owner = None;
        manifest.write(&self.directory)?;
        self.clears_up = false;
        Ok(self.directory.clone())
    }

    /// The agent next to the brokers' jars; for a Kafka of the user's own, the pinned one.
    fn metrics_agent(&self) -> Result<PathBuf> {
        if let Some(jar) = self.install.metrics_agent() {
            return Ok(jar.to_owned());
        }
        let pinned = Install::from_options(&LabOptions { kafka_home: None, ..self.options.clone() })?;
        let missing = || LabError::MissingJar { file: "jmx_prometheus_javaagent.jar".into() };
        pinned.metrics_agent().map(Path::to_owned).ok_or_else(missing)
    }

    fn clear_up(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.clears_up) {
            return Ok(());
        }
        broker::stop(&mut self.brokers);
        let manifest = self.manifest.get_mut().unwrap_or_else(PoisonError::into_inner);
        removal::clear(&self.directory, manifest, &ProcessScope::here())
    }
}

impl Drop for LabCluster {
    fn drop(&mut self) {
        // What cannot be removed now is a leftover that the next start clears.
        let _ = self.clear_up();
    }
}

fn join(addresses: impl Iterator<Item = SocketAddr>) -> String {
    addresses.map(|address| address.to_string()).collect::<Vec<_>>().join(",")
}
