//! The labs of a user on this machine: what lives on disk, who owns it, and who may clear it.
//!
//! Every lab has a directory here with a manifest: who owns it (process number *and* start time), where (this boot,
//! this PID namespace), and which brokers run. Nothing is killed or removed on less proof than that: a directory
//! without such a manifest is never touched, nor one whose owner may still live.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::cluster::LabCluster;
use super::error::{LabError, Result};
use super::identity::{ProcessId, ProcessScope};
use super::install::user_directory;
use super::launch::Lifetime;
use super::manifest::Manifest;
use super::options::{LabOptions, LabShape};
use super::removal::clear;
use super::startup;

/// The directory in which the labs of one user are kept.
#[derive(Debug, Clone)]
pub struct Labs {
    root: PathBuf,
}

/// The state of a lab as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabStatus {
    /// Name of the lab.
    pub id: String,
    /// The process that the lab lives with; absent when it stays until it is taken down.
    pub owner_pid: Option<i32>,
    /// Bootstrap servers: of the secured listeners when there are any, else of the plaintext ones.
    pub bootstrap: String,
    /// Bootstrap servers of the plaintext listeners.
    pub plaintext_bootstrap: String,
    /// Version of Kafka.
    pub kafka_version: String,
    /// The directory of settings, logs and (unless log directories were given) data.
    pub directory: PathBuf,
    /// Data directories elsewhere.
    pub data_elsewhere: Vec<PathBuf>,
    /// The properties with which a client connects to `bootstrap`, with librdkafka's names, without the password.
    pub client_properties: Vec<(String, String)>,
    /// The same with the password, in a file that only its owner can read.
    pub client_properties_file: PathBuf,
    /// Seconds since the lab was started.
    pub uptime_s: u64,
    /// The shape that another lab needs to be like it; absent where an earlier version started it.
    pub shape: Option<LabShape>,
    /// Each broker.
    pub brokers: Vec<BrokerStatus>,
}

/// The state of a broker as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerStatus {
    /// Node id.
    pub id: u32,
    /// Its process.
    pub pid: i32,
    /// True if that process runs.
    pub alive: bool,
    /// Its log.
    pub log: PathBuf,
    /// The file with its console output.
    pub console: PathBuf,
    /// The address of its metrics, if it serves any.
    pub metrics_url: Option<String>,
}

impl Labs {
    /// The labs of this user: in `$XDG_STATE_HOME/plumb/lab`, else `~/.local/state/plumb/lab`.
    ///
    /// # Errors
    /// [`LabError::NoHome`] when the environment names neither.
    pub fn of_user() -> Result<Self> {
        let state = user_directory("XDG_STATE_HOME", ".local/state")
            .ok_or(LabError::NoHome { purpose: "the labs", variable: "XDG_STATE_HOME" })?;
        Ok(Self::at(state.join("plumb/lab")))
    }

    /// The labs in that directory, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Starts a lab that lives as long as the returned value, and no longer than this process.
    ///
    /// # Errors
    /// See [`LabError`]. A start that fails leaves nothing behind.
    pub fn start(&self, options: &LabOptions) -> Result<LabCluster> {
        self.clear_leftovers()?;
        startup::start(&self.root, options, Lifetime::WithOwner)
    }

    /// Starts a lab that stays until [`down`](Self::down).
    ///
    /// # Errors
    /// See [`LabError`]. A start that fails leaves nothing behind.
    pub fn up(&self, options: &LabOptions) -> Result<LabStatus> {
        self.clear_leftovers()?;
        let directory = startup::start(&self.root, options, Lifetime::UntilDown)?.leave_running()?;
        match Manifest::read(&directory) {
            Some(manifest) => Ok(status_of(&directory, &manifest, &ProcessScope::here())),
            None => {
                Err(std::io::Error::other(format!("{}: the lab's manifest is gone", directory.display()))
                    .into())
            }
        }
    }

    /// All labs there are, oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn status(&self) -> Result<Vec<LabStatus>> {
        let here = ProcessScope::here();
        let labs = self.manifests()?;
        Ok(labs.iter().map(|(directory, manifest)| status_of(directory, manifest, &here)).collect())
    }

    /// Takes down the labs that stay, or those of these names alone, and clears what dead owners left. Returns what the former were.
    ///
    /// # Errors
    /// [`LabError::NoSuchLab`] before anything is taken down, and when a directory cannot be read or removed.
    pub fn down(&self, names: &[String]) -> Result<Vec<LabStatus>> {
        self.clear_leftovers()?;
        let here = ProcessScope::here();
        let ours = |manifest: &Manifest| {
            manifest.place.shares_processes_with(&here) || manifest.place.is_earlier_boot_of(&here)
        };
        let mut labs = self.manifests()?;
        labs.retain(|(_, manifest)| manifest.owner.is_none() && ours(manifest));
        let known = |name: &String| labs.iter().any(|(_, manifest)| manifest.id == *name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let labs = labs.iter().map(|(_, manifest)| manifest.id.clone()).collect();
            return Err(LabError::NoSuchLab { name: name.clone(), labs });
        }
        let mut taken_down = Vec::new();
        for (directory, manifest) in labs {
            if names.is_empty() || names.contains(&manifest.id) {
                taken_down.push(status_of(&directory, &manifest, &here));
                clear(&directory, &manifest, &here)?;
            }
        }
        Ok(taken_down)
    }

    /// Ends the brokers and removes the files of labs whose owner is proven dead. Returns their names. Every start
    /// does this first.
    ///
    /// # Errors
    /// When a directory cannot be read or removed.
    pub fn clear_leftovers(&self) -> Result<Vec<String>> {
        fs::create_dir_all(&self.root)?;
        // Two that clear at once would only trip over each other.
        let lock = fs::File::create(self.root.join("clear.lock"))?;
        lock.file().lock()?;
        let here = ProcessScope::here();
        let mut cleared = Vec::new();
        for (directory, manifest) in self.manifests()? {
            if manifest.is_orphan(&here) {
                clear(&directory, &manifest, &here)?;
                cleared.push(manifest.id);
            }
        }
        Ok(cleared)
    }

    fn manifests(&self) -> Result<Vec<(PathBuf, Manifest)>> {
        if !self.root.exists() {
            return Ok(Vec::new());
        }
        let mut labs = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let directory = entry?.path();
            if let Some(manifest) = Manifest::read(&directory) {
                labs.push((directory, manifest));
            }
        }
        labs.sort_by(|(_, a), (_, b)| (a.started_unix_s, &a.id).cmp(&(b.started_unix_s, &b.id)));
        Ok(labs)
    }
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
}

fn status_of(directory: &Path, manifest: &Manifest, here: &ProcessScope) -> LabStatus {
    let comparable = manifest.place.shares_processes_with(here);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let brokers = manifest.brokers.iter().map(|entry| BrokerStatus {
        id: entry.plan.id,
        pid: entry.process.pid,
        alive: comparable && entry.process.is_alive(),
        log: entry.plan.log(),
        console: entry.plan.console(),
        metrics_url: entry.metrics_url.clone(),
    });
    LabStatus {
        id: manifest.id.clone(),
        owner_pid: manifest.owner.map(|ProcessId { pid, .. }| pid),
        bootstrap: manifest.bootstrap(|plan| plan.secured.unwrap_or(plan.plaintext)),
        plaintext_bootstrap: manifest.bootstrap(|plan| plan.plaintext),
        kafka_version: manifest.kafka_version.clone(),
        directory: directory.to_owned(),
        data_elsewhere: manifest.data_elsewhere.clone(),
        client_properties: manifest.client_properties.clone(),
        client_properties_file: startup::client_properties_file(directory),
        uptime_s: now.as_secs().saturating_sub(manifest.started_unix_s),
        shape: manifest.shape.clone(),
        brokers: brokers.collect(),
    }
}
