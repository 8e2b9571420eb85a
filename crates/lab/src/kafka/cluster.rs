//! A lab that runs, and how it gets there: directory and manifest, certificates, ports, settings, storage, processes,
//! and the wait until they work.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use fs_err as fs;
use rustix::process::Signal;

use super::broker::{self, Broker};
use super::configuration::{self, BrokerPlan};
use super::error::{LabError, Result};
use super::format::format_storage;
use super::identity::{Place, random_word};
use super::install::Install;
use super::java::Java;
use super::jvm::Jvm;
use super::labs::{self, Labs};
use super::launch::{Launcher, Lifetime};
use super::manifest::{BrokerEntry, Manifest, data_directory, make_data_directory};
use super::metrics;
use super::options::{LabOptions, Step};
use super::ports::Reservation;
use super::readiness;
use super::security::{Security, write_private};

/// How often a start begins again because another program took a port.
const PORT_ATTEMPTS: u32 = 3;

/// How long a broker may take to end and write the archive of its classes. Measured: 3 s.
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(60);

/// A running lab. Dropping it stops the brokers and removes everything that it had on disk.
pub struct LabCluster {
    directory: PathBuf,
    brokers: Vec<Broker>,
    manifest: Mutex<Manifest>,
    client_properties: Vec<(String, String)>,
    options: LabOptions,
    install: Install,
    launcher: Launcher,
    clears_up: bool,
}

impl LabCluster {
    /// Starts a lab of this user that lives as long as the returned value, and no longer than this process.
    ///
    /// # Errors
    /// See [`LabError`]. A start that fails leaves nothing behind.
    pub fn start(options: &LabOptions) -> Result<Self> {
        Labs::of_user()?.start(options)
    }

    /// The one default lab of this process: started for the first who asks, stopped when the last lets go. For tests
    /// that can share a broker.
    ///
    /// # Errors
    /// See [`LabError`].
    pub fn shared() -> Result<Arc<Self>> {
        static SHARED: Mutex<Weak<LabCluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lab) = shared.upgrade() {
            return Ok(lab);
        }
        let lab = Arc::new(Self::start(&LabOptions::default())?);
        *shared = Arc::downgrade(&lab);
        Ok(lab)
    }

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

    /// What a client has to set to connect to [`bootstrap`](Self::bootstrap), with librdkafka's names. With SASL that
    /// includes the first user's password.
    #[must_use]
    pub fn client_properties(&self) -> Vec<(String, String)> {
        self.client_properties.clone()
    }

    /// Where the lab keeps its settings and logs, and its data unless log directories were given.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The brokers' processes, in the order of their ids.
    #[must_use]
    pub fn broker_pids(&self) -> Vec<i32> {
        self.brokers.iter().map(|broker| broker.process.pid).collect()
    }

    /// The version of Kafka that runs.
    #[must_use]
    pub fn kafka_version(&self) -> String {
        self.install.kafka_version()
    }

    /// Where each broker serves its metrics in Prometheus' format, in the order of their ids. The first call makes
    /// them do so, unless [`LabOptions::jmx`] did; it takes about half a second for each.
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
        let pinned = Install::of(&LabOptions { kafka_home: None, ..self.options.clone() })?;
        let missing = || LabError::MissingJar { file: "jmx_prometheus_javaagent.jar".into() };
        pinned.metrics_agent().map(Path::to_owned).ok_or_else(missing)
    }

    fn clear_up(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.clears_up) {
            return Ok(());
        }
        broker::stop(&mut self.brokers);
        let manifest = self.manifest.get_mut().unwrap_or_else(PoisonError::into_inner);
        labs::clear(&self.directory, manifest, &Place::here())
    }
}

impl Drop for LabCluster {
    fn drop(&mut self) {
        // What cannot be removed now is a leftover that the next start clears.
        let _ = self.clear_up();
    }
}

/// Starts a lab below `root`.
pub(super) fn start(root: &Path, options: &LabOptions, lifetime: Lifetime) -> Result<LabCluster> {
    start_on(root, options, lifetime, Reservation::of)
}

/// Starts a lab on ports that `choose` picks.
fn start_on(
    root: &Path,
    options: &LabOptions,
    lifetime: Lifetime,
    choose: impl FnMut(usize) -> io::Result<Reservation>,
) -> Result<LabCluster> {
    options.check()?;
    let java = Java::of_environment()?;
    let install = Install::of(options)?;
    let jvm = Jvm::new(java, &install);
    if let Some(archive) = jvm.missing_archive() {
        make_class_archive(archive, root, &install, &jvm, options)?;
    }
    let mut lab = prepare(root, options, install, lifetime)?;
    lab.bring_up(&jvm, choose)?;
    if options.jmx {
        lab.jmx_metrics_urls()?;
    }
    Ok(lab)
}

/// Runs a broker that writes the archive as it ends. One that cannot leaves an empty file: it is not tried again.
fn make_class_archive(
    archive: &Path,
    root: &Path,
    install: &Install,
    jvm: &Jvm,
    options: &LabOptions,
) -> Result<()> {
    let lock = fs::File::create(archive.with_extension("lock"))?;
    lock.file().lock()?;
    if archive.exists() {
        return Ok(());
    }
    options.report(Step::Archiving);
    let plain = LabOptions { interrupt: options.interrupt.clone(), ..LabOptions::default() };
    let mut lab = prepare(root, &plain, install.clone(), Lifetime::WithOwner)?;
    let made = lab.directory.join("classes.jsa");
    lab.bring_up(&jvm.making_archive(&made), Reservation::of)?;
    let processes: Vec<_> = lab.brokers.iter().map(|broker| broker.process).collect();
    broker::have_ended_after(Signal::TERM, &processes, ARCHIVE_PATIENCE);
    // The lab's directory may be on another file system than the cache.
    let beside = archive.with_extension("new");
    match fs::copy(&made, &beside) {
        Ok(_) => fs::rename(beside, archive)?,
        Err(_) => fs::write(archive, "")?,
    }
    lab.stop()
}

/// Makes the lab's directories and says in its manifest whose they are, before anything runs.
fn prepare(root: &Path, options: &LabOptions, install: Install, lifetime: Lifetime) -> Result<LabCluster> {
    let launcher = Launcher::new(lifetime)?;
    // Absolute, since a broker runs in another directory.
    let log_dirs = options.log_dirs.iter().map(fs::canonicalize).collect::<io::Result<Vec<_>>>()?;
    let options = LabOptions { log_dirs, ..options.clone() };
    let id = format!("lab-{}", random_word(8));
    fs::create_dir_all(root)?;
    let directory = fs::canonicalize(root)?.join(&id);
    let mut manifest = Manifest::new(id.clone());
    manifest.kafka_version = install.kafka_version();
    manifest.data_elsewhere = options.log_dirs.iter().map(|parent| data_directory(parent, &id)).collect();
    fs::create_dir(&directory)?;
    manifest.write(&directory)?;
    // From here on, dropping the value removes what was made.
    let lab = LabCluster {
        directory,
        brokers: Vec::new(),
        manifest: Mutex::new(manifest),
        client_properties: Vec::new(),
        options,
        install,
        launcher,
        clears_up: true,
    };
    for parent in &lab.options.log_dirs {
        make_data_directory(parent, &id)?;
    }
    Ok(lab)
}

impl LabCluster {
    /// Starts the brokers, again when another program took a port between its choice and the broker's bind.
    fn bring_up(
        &mut self,
        jvm: &Jvm,
        mut choose: impl FnMut(usize) -> io::Result<Reservation>,
    ) -> Result<()> {
        let security = Security::prepare(&self.options, &self.directory.join("tls"))?;
        self.write_client_properties(security.as_ref())?;
        let listeners = if security.is_some() { 2 } else { 1 };
        let count = self.options.brokers * listeners + configuration::controllers(self.options.brokers);
        for _ in 0..PORT_ATTEMPTS {
            match self.run(choose(count as usize)?, security.as_ref(), jvm) {
                Err(LabError::PortsTaken { .. }) => broker::stop(&mut self.brokers),
                outcome => return outcome,
            }
        }
        Err(LabError::PortsTaken { attempts: PORT_ATTEMPTS })
    }

    /// One attempt, on the given ports.
    fn run(&mut self, mut ports: Reservation, security: Option<&Security>, jvm: &Jvm) -> Result<()> {
        let cluster_id = random_cluster_id();
        let plans = self.plan(&ports.addresses);
        for plan in &plans {
            self.write_settings(plan, &plans, security)?;
        }
        self.options.report(Step::Formatting);
        format_storage(&plans, &cluster_id, &self.options, &self.launcher, || {
            // The tool runs for half a second; the optimising compiler would only cost.
            jvm.tool(["-Xmx256m", "-XX:TieredStopAtLevel=1"])
        })?;
        self.options.check_interrupt()?;
        self.options.report(Step::Starting);
        ports.release();
        for plan in plans {
            let flags = configuration::jvm_flags(&plan, &self.options);
            self.brokers.push(Broker::start(plan, &self.launcher, jvm.broker(&flags))?);
        }
        self.record_brokers()?;
        readiness::wait_until_ready(&mut self.brokers, &cluster_id, &self.options)
    }

    fn plan(&self, addresses: &[SocketAddr]) -> Vec<BrokerPlan> {
        let mut addresses = addresses.iter().copied();
        let mut next = || addresses.next().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let controllers = configuration::controllers(self.options.brokers);
        let id = self.directory.file_name().unwrap_or_default().to_string_lossy();
        let plan = |broker: u32| {
            let name = format!("broker-{broker}");
            let directory = self.directory.join(&name);
            let data = match self.options.log_dirs.as_slice() {
                [] => vec![directory.join("data")],
                parents => parents.iter().map(|parent| data_directory(parent, &id).join(&name)).collect(),
            };
            BrokerPlan {
                id: broker,
                directory,
                data,
                plaintext: next(),
                controller: (broker <= controllers).then(&mut next),
                secured: self.options.is_secured().then(&mut next),
            }
        };
        (1..=self.options.brokers).map(plan).collect()
    }

    /// Writes a broker's settings into a fresh directory: an earlier attempt may have left one.
    fn write_settings(
        &self,
        plan: &BrokerPlan,
        all: &[BrokerPlan],
        security: Option<&Security>,
    ) -> Result<()> {
        for directory in plan.data.iter().chain([&plan.directory]) {
            if directory.exists() {
                fs::remove_dir_all(directory)?;
            }
        }
        fs::create_dir_all(&plan.directory)?;
        plan.data.iter().try_for_each(fs::create_dir_all)?;
        let properties = configuration::broker_properties(plan, all, &self.options, security);
        write_private(
            &plan.directory.join("server.properties"),
            &configuration::properties_text(&properties),
        )?;
        fs::write(plan.directory.join("log4j2.properties"), configuration::LOG4J2)?;
        Ok(())
    }

    fn write_client_properties(&mut self, security: Option<&Security>) -> Result<()> {
        self.client_properties = security.map(Security::client_properties).unwrap_or_default();
        let text = configuration::properties_text(&self.client_properties);
        write_private(&client_properties_file(&self.directory), &text)?;
        let manifest = self.manifest.get_mut().unwrap_or_else(PoisonError::into_inner);
        let public = self.client_properties.iter().filter(|(key, _)| key != "sasl.password");
        manifest.client_properties = public.cloned().collect();
        Ok(manifest.write(&self.directory)?)
    }

    fn record_brokers(&mut self) -> Result<()> {
        let entry = |broker: &Broker| BrokerEntry {
            plan: broker.plan.clone(),
            process: broker.process,
            metrics_url: None,
        };
        let manifest = self.manifest.get_mut().unwrap_or_else(PoisonError::into_inner);
        manifest.brokers = self.brokers.iter().map(entry).collect();
        Ok(manifest.write(&self.directory)?)
    }
}

/// A client's properties, in a lab's directory.
pub(super) fn client_properties_file(directory: &Path) -> PathBuf {
    directory.join("client.properties")
}

/// A UUID as Kafka writes it: 16 bytes in URL-safe base 64. 21 letters carry 126 bits, the last one the other two.
fn random_cluster_id() -> String {
    format!("{}A", random_word(21))
}

fn join(addresses: impl Iterator<Item = SocketAddr>) -> String {
    addresses.map(|address| address.to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn start_choosing(
        root: &Path,
        options: &LabOptions,
        choose: impl FnMut(usize) -> io::Result<Reservation>,
    ) -> Result<LabCluster> {
        start_on(root, options, Lifetime::WithOwner, choose)
    }

    #[test]
    fn a_port_that_was_taken_after_it_was_chosen_is_replaced_by_another() {
        let root = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut choices = 0;
        let lab = start_choosing(root.path(), &LabOptions::default(), |count| {
            let mut ports = Reservation::of(count)?;
            if choices == 0 {
                ports.addresses[0] = taken.local_addr()?;
            }
            choices += 1;
            Ok(ports)
        })
        .unwrap();
        assert_eq!(choices, 2);
        assert_ne!(lab.plaintext_addresses()[0], taken.local_addr().unwrap());
    }

    #[test]
    fn a_broker_of_another_cluster_on_the_chosen_port_is_not_mistaken_for_ours() {
        let root = tempfile::tempdir().unwrap();
        let other = LabCluster::shared().unwrap();
        let error = start_choosing(root.path(), &LabOptions::default(), |count| {
            let mut ports = Reservation::of(count)?;
            ports.addresses[0] = other.plaintext_addresses()[0];
            Ok(ports)
        })
        .err()
        .unwrap();
        assert!(matches!(error, LabError::PortsTaken { attempts: PORT_ATTEMPTS }), "{error}");
    }

    #[test]
    fn a_kafka_directory_of_the_users_own_runs_as_well_as_the_pinned_one() {
        let pinned = Install::of(&LabOptions::default()).unwrap();
        let root = tempfile::tempdir().unwrap();
        let options = LabOptions { kafka_home: pinned.cache, ..LabOptions::default() };
        let lab = start_choosing(root.path(), &options, Reservation::of).unwrap();
        assert_eq!(lab.kafka_version(), "4.3.0");
        assert!(lab.install.cache.is_none());
    }
}
