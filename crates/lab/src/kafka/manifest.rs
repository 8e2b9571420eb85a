//! The manifest that a lab writes into its directory, so that another process can tell whose it is, whether its owner still
//! lives, and what belongs to it. Without secrets.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::configuration::BrokerPlan;
use super::identity::{ProcessId, ProcessScope};
use super::options::LabShape;

/// First field of every manifest. One with another mark is not ours, or of a version that we do not know: hands off.
const MARK: &str = "plumb-lab/1";

const FILE: &str = "manifest.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    mark: String,
    /// Name of the lab's directory.
    pub(super) id: String,
    pub(super) place: ProcessScope,
    /// The process that the lab lives with; absent when it stays until it is taken down.
    pub(super) owner: Option<ProcessId>,
    pub(super) started_unix_s: u64,
    pub(super) kafka_version: String,
    pub(super) brokers: Vec<BrokerEntry>,
    /// The properties that a client has to set, without the password.
    pub(super) client_properties: Vec<(String, String)>,
    /// Directories that the lab made elsewhere.
    pub(super) data_elsewhere: Vec<PathBuf>,
    /// Absent in manifests of earlier versions.
    #[serde(default)]
    pub(super) shape: Option<LabShape>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BrokerEntry {
    pub(super) plan: BrokerPlan,
    pub(super) process: ProcessId,
    pub(super) metrics_url: Option<String>,
}

impl Manifest {
    /// A lab that has no brokers yet and belongs to this process.
    pub(super) fn new(id: String) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            mark: MARK.to_owned(),
            id,
            place: ProcessScope::here(),
            owner: ProcessId::own(),
            started_unix_s: now.map(|since| since.as_secs()).unwrap_or_default(),
            kafka_version: String::new(),
            brokers: Vec::new(),
            client_properties: Vec::new(),
            data_elsewhere: Vec::new(),
            shape: None,
        }
    }

    /// Reads the manifest of a directory. Absent when there is none of ours.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()?;
        let named = directory.file_name().is_some_and(|name| name == manifest.id.as_str());
        (manifest.mark == MARK && named).then_some(manifest)
    }

    /// Writes it in one step: nobody ever reads half of it.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.flush()?;
        file.persist(directory.join(FILE)).map_err(|e| e.error)?;
        Ok(())
    }

    /// True if the owner is proven dead. Not proven: a lab that stays, one of another machine, of another container.
    pub(super) fn is_orphan(&self, here: &ProcessScope) -> bool {
        let Some(owner) = self.owner else { return false };
        self.place.is_earlier_boot_of(here) || (self.place.shares_processes_with(here) && !owner.is_alive())
    }

    /// The brokers' processes, as far as their numbers mean something here.
    pub(super) fn processes(&self, here: &ProcessScope) -> Vec<ProcessId> {
        let comparable = self.place.shares_processes_with(here);
        self.brokers.iter().filter(|_| comparable).map(|broker| broker.process).collect()
    }

    pub(super) fn bootstrap(&self, listener: impl Fn(&BrokerPlan) -> SocketAddr) -> String {
        let addresses: Vec<_> =
            self.brokers.iter().map(|broker| listener(&broker.plan).to_string()).collect();
        addresses.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back_from_its_own_directory_and_from_no_other() {
        let root = tempfile::tempdir().unwrap();
        let [own, other] = ["lab-a", "lab-b"].map(|name| root.path().join(name));
        std::fs::create_dir(&own).unwrap();
        Manifest::new("lab-a".into()).write(&own).unwrap();
        assert_eq!(Manifest::read(&own).unwrap().owner, ProcessId::own());
        std::fs::rename(&own, &other).unwrap();
        assert!(Manifest::read(&other).is_none());
    }

    #[test]
    fn a_lab_is_an_orphan_only_when_its_owner_is_proven_dead() {
        let here = ProcessScope::here();
        let mut manifest = Manifest::new("lab-a".into());
        assert!(!manifest.is_orphan(&here), "this process lives");
        manifest.owner = Some(ProcessId::ended(1));
        assert!(manifest.is_orphan(&here));
        manifest.owner = None;
        assert!(!manifest.is_orphan(&here), "a lab that stays has no owner to die");
    }
}
