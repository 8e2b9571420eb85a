//! The start of a lab: directory and manifest, certificates, ports, settings, storage, processes, and the wait until they work.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fs_err as fs;
use plumb_model::plan::LogDirLayout;
use rustix::process::Signal;

use super::broker::{self, Broker};
use super::cluster::LabCluster;
use super::configuration::{self, BrokerPlan};
use super::error::{LabError, Result};
use super::format::format_storage;
use super::identity::random_word;
use super::install::Install;
use super::java::Java;
use super::jvm::Jvm;
use super::launch::{Launcher, Lifetime};
use super::log_dirs;
use super::manifest::{BrokerEntry, Manifest};
use super::options::{LabOptions, LabShape, Step};
use super::ports::Reservation;
use super::readiness;
use super::security::{Security, write_private};

/// The number of starts that are tried because another program took a port.
const PORT_ATTEMPTS: u32 = 3;

/// The longest time for a broker to end and write the archive of its classes. Measured: 3 s.
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(60);

/// Starts a lab below `root`.
pub(super) fn start(root: &Path, options: &LabOptions, lifetime: Lifetime) -> Result<LabCluster> {
    start_on(root, options, lifetime, Reservation::new)
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
    let install = Install::from_options(options)?;
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
    lab.bring_up(&jvm.making_archive(&made), Reservation::new)?;
    let processes: Vec<_> = lab.brokers.iter().map(|broker| broker.process).collect();
    let is_complete = broker::have_ended_after(Signal::TERM, &processes, ARCHIVE_PATIENCE);
    // The lab's directory may be on another file system than the cache, where a copy must not be seen half done.
    let mut kept = tempfile::NamedTempFile::new_in(archive.parent().unwrap_or(root))?;
    if is_complete && made.exists() {
        io::copy(&mut fs::File::open(&made)?, &mut kept)?;
    }
    kept.persist(archive).map_err(|e| e.error)?;
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
    manifest.shape = Some(LabShape::of(&options));
    manifest.data_elsewhere = options.log_dirs.iter().map(|parent| log_dirs::below(parent, &id)).collect();
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
        log_dirs::make(parent, &id)?;
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
        let listeners =
            1 + u32::from(self.options.is_secured()) + u32::from(self.options.replicates_over_tls());
        let count = self.options.brokers * listeners + configuration::controllers(self.options.brokers);
        for _ in 0..PORT_ATTEMPTS {
            match self.run(choose(count as usize)?, security.as_ref(), jvm) {
                Err(LabError::PortsTaken { .. }) => broker::stop(&mut self.brokers),
                outcome => return outcome,
            }
        }
        Err(LabError::PortsTaken { attempts: PORT_ATTEMPTS })
    }

    /// Makes one attempt, on the given ports.
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
            let own_place = |parent: &PathBuf| log_dirs::below(parent, &id).join(&name);
            let data = match (self.options.log_dirs.as_slice(), self.options.log_dir_layout) {
                ([], _) => vec![directory.join("data")],
                (parents, LogDirLayout::Together) => parents.iter().map(own_place).collect(),
                (parents, LogDirLayout::BrokerEach) => {
                    parents.get(broker as usize - 1).map(own_place).into_iter().collect()
                }
            };
            BrokerPlan {
                id: broker,
                directory,
                data,
                plaintext: next(),
                controller: (broker <= controllers).then(&mut next),
                secured: self.options.is_secured().then(&mut next),
                replication: self.options.replicates_over_tls().then(&mut next),
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
        self.client_properties = security
            .filter(|_| self.options.is_secured())
            .map(Security::client_properties)
            .unwrap_or_default();
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
            let mut ports = Reservation::new(count)?;
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
            let mut ports = Reservation::new(count)?;
            ports.addresses[0] = other.plaintext_addresses()[0];
            Ok(ports)
        })
        .err()
        .unwrap();
        assert!(matches!(error, LabError::PortsTaken { attempts: PORT_ATTEMPTS }), "{error}");
    }

    #[test]
    fn a_kafka_directory_of_the_users_own_runs_as_well_as_the_pinned_one() {
        let pinned = Install::from_options(&LabOptions::default()).unwrap();
        let root = tempfile::tempdir().unwrap();
        let options = LabOptions { kafka_home: pinned.cache, ..LabOptions::default() };
        let lab = start_choosing(root.path(), &options, Reservation::new).unwrap();
        assert_eq!(lab.kafka_version(), "4.3.0");
        assert!(lab.install.cache.is_none());
    }
}
