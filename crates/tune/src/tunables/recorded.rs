//! A host made of files, for the tests of tunables.

use super::{Firmware, SettingCheck, find};
use crate::check::{Asked, check_with};
use crate::host::Host;
use crate::journal::{Cause, Journal, JournalOwner, Places};
use crate::steps;
use crate::window::Window;
use crate::{apply, revert};
use jiff::Timestamp;
use plumb_model::check::{Role, Status};
use plumb_observe::{FirmwareSettings, HostRoot, NamedCounters, RecordedCommands};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files below a directory of its own, and counters that grew.
pub(crate) struct Recorded {
    root: tempfile::TempDir,
    before: NamedCounters,
    after: NamedCounters,
    commands: RecordedCommands,
    role: Role,
    processes: Vec<u32>,
    shared_cpus: bool,
    firmware: Firmware,
}

/// Attributes of a firmware of which nothing else is known.
pub(crate) fn firmware(in_force: &[(&str, &str)]) -> Firmware {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Firmware::Read(FirmwareSettings {
        system: "/redfish/v1/Systems/1".to_owned(),
        in_force: in_force.iter().map(pair).collect(),
        set_at: Some("/redfish/v1/Systems/1/Bios/Settings".to_owned()),
        ..FirmwareSettings::default()
    })
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let root = folder();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/stat"), "cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
        Recorded {
            root,
            before: NamedCounters::new(),
            after: NamedCounters::new(),
            commands: RecordedCommands::default(),
            role: Role::KafkaBroker,
            processes: Vec::new(),
            shared_cpus: false,
            firmware: Firmware::NotAsked,
        }
    }

    /// What a management controller tells.
    pub(crate) fn firmware(mut self, firmware: Firmware) -> Self {
        self.firmware = firmware;
        self
    }

    /// A host with an interface that is a device on PCI, with an interrupt for each queue (`eth0-TxRx-0`, number 40), all on processor 0,
    /// and one for its link.
    pub(crate) fn interface(name: &str, driver: &str, queues: u32) -> Self {
        let pci = "/sys/devices/pci0000:3a/0000:3b:00.0";
        let net = format!("/sys/class/net/{name}");
        let mut host = Recorded::new()
            .file(&format!("{net}/operstate"), "up\n")
            .file(&format!("{pci}/msi_irqs/39"), "msix\n")
            .link(&format!("{pci}/driver"), &format!("/sys/bus/pci/drivers/{driver}"))
            .link(&format!("{net}/device"), pci)
            .link("/sys/bus/pci/devices/0000:3b:00.0", pci);
        let mut interrupts = format!("      CPU0 CPU1\n 39: 0 0 PCI-MSI 0-edge {name}\n");
        for queue in 0..queues {
            let number = 40 + queue;
            interrupts += &format!(" {number}: 1 1 PCI-MSI {number}-edge {name}-TxRx-{queue}\n");
            host = host
                .file(&format!("{pci}/msi_irqs/{number}"), "msix\n")
                .file(&format!("/proc/irq/{number}/smp_affinity_list"), "0\n")
                .file(&format!("/proc/irq/{number}/effective_affinity_list"), "0\n")
                .file(&format!("{net}/queues/rx-{queue}/rps_cpus"), "00\n")
                .file(&format!("{net}/queues/rx-{queue}/rps_flow_cnt"), "0\n")
                .file(&format!("{net}/queues/tx-{queue}/xps_cpus"), "00\n");
        }
        host.file("/proc/interrupts", &interrupts)
    }

    /// Adds or replaces a file.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let place = self.root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
        self
    }

    /// Adds a symbolic link; the target is given as the host has it.
    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let place = self.root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.root.path().join(target.trim_start_matches('/')), place).unwrap();
        self
    }

    /// A symbolic link whose target is text, as the descriptors of a process have it.
    pub(crate) fn descriptor(self, pid: u32, descriptor: u32, target: &str) -> Self {
        self.text_link(&format!("/proc/{pid}/fd/{descriptor}"), target)
    }

    /// A symbolic link whose target is text and no path, as namespaces have it.
    pub(crate) fn text_link(self, path: &str, target: &str) -> Self {
        let place = self.root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, place).unwrap();
        self
    }

    /// A counter that has a value and did not grow.
    pub(crate) fn stands(mut self, counter: &str, at: u64) -> Self {
        self.before.insert(counter.to_owned(), at);
        self.after.insert(counter.to_owned(), at);
        self
    }

    /// A level that went from one value to another.
    pub(crate) fn went(mut self, level: &str, from: u64, to: u64) -> Self {
        self.before.insert(level.to_owned(), from);
        self.after.insert(level.to_owned(), to);
        self
    }

    /// A counter that grew over the window of 10 s, from 1000.
    pub(crate) fn grew(mut self, counter: &str, by: u64) -> Self {
        self.before.insert(counter.to_owned(), 1000);
        self.after.insert(counter.to_owned(), 1000 + by);
        self
    }

    /// The answer to a command line.
    pub(crate) fn answers(mut self, command_line: &str, answer: &str) -> Self {
        self.commands = self.commands.with(command_line, Ok(answer));
        self
    }

    pub(crate) fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    pub(crate) fn process(mut self, pid: u32) -> Self {
        self.processes.push(pid);
        self
    }

    /// Interrupts and the application share the processors.
    pub(crate) fn shared(mut self) -> Self {
        self.shared_cpus = true;
        self
    }

    pub(crate) fn host(&self) -> Host {
        Host::below(HostRoot::new(self.root.path()))
    }

    /// What a tunable finds.
    pub(crate) fn check(&self, id: &str) -> Vec<SettingCheck> {
        assert!(find(id).is_some(), "no tunable {id}");
        let asked = Asked {
            role: self.role,
            processes: self.processes.clone(),
            only: vec![id.to_owned()],
            shared_cpus: self.shared_cpus,
            kernel: false,
            firmware: self.firmware.clone(),
        };
        let window = Window::new(self.before.clone(), self.after.clone(), 10.0);
        check_with(&self.host(), &self.commands, &asked, &window).checks
    }

    /// Makes the changes that a tunable asks for and puts them back, and so does an undo after a kill at every record of the journal: each time
    /// every byte of the host is as it was.
    pub(crate) fn changes_go_back(&self, id: &str) {
        self.go_back(id, Status::Change);
    }

    /// The same for what a tunable would set if the user asked for it without evidence.
    pub(crate) fn changes_without_evidence_go_back(&self, id: &str) {
        self.go_back(id, Status::NoEvidence);
    }

    fn go_back(&self, id: &str, status: Status) {
        let host = self.host();
        let assignments: Vec<_> = self
            .check(id)
            .into_iter()
            .filter(|check| check.status == status)
            .flat_map(|check| check.assignments)
            .collect();
        assert!(!assignments.is_empty(), "{id} asks for no change");
        let changes: Vec<_> = assignments
            .iter()
            .map(|to| {
                let setting = crate::setting::Setting::new(&to.key).unwrap();
                steps::change(&setting, &host, &to.value).unwrap()
            })
            .collect();
        let before = tree(self.root.path());
        let journals = folder();
        let places = Places { own: journals.path().to_owned(), others: Vec::new() };
        let owner = JournalOwner::Plan { confirm_within_s: None, changes: 1, bootstrap: None };
        let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
        apply::apply(&host, &mut journal, &changes, &mut apply::Unseen).unwrap();
        assert_ne!(tree(self.root.path()), before, "{id} changed nothing");
        let reverted = revert::revert(&host, &mut journal, Cause::Asked).unwrap();
        assert_eq!(reverted.left().count(), 0, "{reverted:?}");
        assert_eq!(tree(self.root.path()), before, "{id} is not as it was");
    }
}

/// A directory of its own: in memory where there is one, as hosts have many files and each record of a journal is synced.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Every file below a directory with its words: a blank more or a line's end is what a write makes of a file, and nothing on a real host.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                found.insert(entry.path(), text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    found
}
