//! The whole check, plan, apply and revert on recorded hosts, one for each kind of network driver.
//!
//! A host is a text (`tests/hosts`): `== PATH ==`, then its content; `-> TARGET` is a link, a path that ends in a slash a directory. `after`
//! behind a path has the content of the second reading, 10 s later.

use super::*;
use crate::journal::{Cause, Journal, JournalOwner, Places, Record, StepState};
use crate::setting::Setting;
use crate::tunables::recorded::folder;
use crate::{apply, plan, queues, revert, steps};
use jiff::Timestamp;
use plumb_model::change::Change;
use plumb_model::check::{LossLayer, SettingCheck, Status};
use plumb_observe::{HostRoot, NamedCounters, RecordedCommands};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

macro_rules! hosts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/", $name, ".txt")))),*]
    };
}

const HOSTS: &[(&str, &str)] =
    hosts!["xeon-ixgbe", "xeon-i40e", "xeon-mlx5", "epyc-nps4-ice", "ena", "gve", "hv-netvsc", "virtio"];

/// A recorded host, written out below a directory, at its first reading.
struct Tree {
    root: tempfile::TempDir,
    after: Vec<(String, String)>,
}

impl Tree {
    fn new(name: &str) -> Self {
        let text = HOSTS.iter().find(|(own, _)| *own == name).unwrap().1;
        let mut tree = Tree { root: folder(), after: Vec::new() };
        for (path, content) in sections(text) {
            match path.strip_suffix(" after") {
                Some(path) => tree.after.push((path.to_owned(), content)),
                None => tree.write(&path, &content),
            }
        }
        tree
    }

    fn write(&self, path: &str, content: &str) {
        let place = self.root.path().join(path.trim_start_matches('/'));
        if path.ends_with('/') {
            return std::fs::create_dir_all(place).unwrap();
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        match content.trim_end().strip_prefix("-> ") {
            Some(target) => {
                // As the kernel has them: relative to where they are.
                let up = "../".repeat(path.matches('/').count() - 1);
                std::os::unix::fs::symlink(format!("{up}{}", target.trim_start_matches('/')), place).unwrap();
            }
            None => std::fs::write(place, content).unwrap(),
        }
    }

    fn host(&self) -> Host {
        Host::below(HostRoot::new(self.root.path()))
    }

    /// The check over the 10 s between the readings; the files stay as they are after the second.
    fn check(&self, shared_cpus: bool) -> HostCheck {
        let before = named_counters(self.host().root());
        for (path, content) in &self.after {
            self.write(path, content);
        }
        self.check_over(before, shared_cpus)
    }

    /// The check from these counters to the present ones.
    fn check_over(&self, before: NamedCounters, shared_cpus: bool) -> HostCheck {
        let window = Window::new(before, named_counters(self.host().root()), 10.0);
        let asked = Asked {
            role: Role::KafkaBroker,
            processes: vec![4242],
            only: Vec::new(),
            shared_cpus,
            kernel: false,
            firmware: Firmware::NotAsked,
        };
        check_with(&self.host(), &RecordedCommands::default(), &asked, &window)
    }

    /// As hardware does with a list of one processor.
    fn send_interrupts_where_they_may_go(&self) {
        let numbers = self.host().root().list("/proc/irq").unwrap_or_default();
        for folder in numbers.iter().map(|number| self.root.path().join("proc/irq").join(number)) {
            let allowed = std::fs::read_to_string(folder.join("smp_affinity_list")).unwrap();
            if allowed.trim().parse::<u32>().is_ok() {
                std::fs::write(folder.join("effective_affinity_list"), allowed).unwrap();
            }
        }
    }

    /// Every file with its bytes.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() {
                    let path = entry.path().strip_prefix(self.root.path()).unwrap().to_owned();
                    found.insert(path, std::fs::read(entry.path()).unwrap());
                }
            }
        }
        found
    }
}

fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("== ").and_then(|line| line.strip_suffix(" ==")) {
            sections.push((path.to_owned(), String::new()));
        } else if let Some((_, content)) = sections.last_mut() {
            content.push_str(line);
            content.push('\n');
        }
    }
    sections
}

fn found<'c>(check: &'c HostCheck, id: &str, target: &str) -> &'c SettingCheck {
    let is_it = |found: &&SettingCheck| found.id == id && found.target == target;
    check.checks.iter().find(is_it).unwrap_or_else(|| panic!("{id} of {target:?} is not in the check"))
}

/// What a tunable found of an interface.
fn status(check: &HostCheck, id: &str, target: &str) -> Status {
    found(check, id, target).status
}

fn layers(check: &HostCheck) -> Vec<LossLayer> {
    check.losses.iter().map(|loss| loss.layer).collect()
}

fn queues_of(name: &str, interface: &str) -> Vec<String> {
    let tree = Tree::new(name);
    queues::interrupts(&tree.host(), interface).into_iter().map(|interrupt| interrupt.setting).collect()
}

fn values(check: &SettingCheck) -> Vec<&str> {
    check.assignments.iter().map(|to| to.value.as_str()).collect()
}

#[test]
fn the_interrupts_of_queues_are_found_by_each_drivers_names_and_no_others() {
    for (host, interface, first, last, count) in [
        ("xeon-ixgbe", "eno1", "0000:81:00.0:eno1-TxRx-0", "0000:81:00.0:eno1-TxRx-7", 8),
        ("xeon-i40e", "ens1f0", "0000:5e:00.0:i40e-ens1f0-TxRx-0", "0000:5e:00.0:i40e-ens1f0-TxRx-7", 8),
        (
            "xeon-mlx5",
            "ens2np0",
            "0000:5e:00.0:mlx5_comp0@pci:0000:5e:00.0",
            "0000:5e:00.0:mlx5_comp7@pci:0000:5e:00.0",
            8,
        ),
        (
            "epyc-nps4-ice",
            "enp129s0f0",
            "0000:81:00.0:ice-enp129s0f0-TxRx-0",
            "0000:81:00.0:ice-enp129s0f0-TxRx-3",
            4,
        ),
        ("ena", "ens5", "0000:00:05.0:ens5-Tx-Rx-0", "0000:00:05.0:ens5-Tx-Rx-7", 8),
        (
            "gve",
            "ens4",
            "0000:00:04.0:gve-ntfy-blk0@pci:0000:00:04.0",
            "0000:00:04.0:gve-ntfy-blk7@pci:0000:00:04.0",
            8,
        ),
        ("virtio", "eth0", "0000:00:03.0:virtio0-input.0", "0000:00:03.0:virtio0-output.0", 2),
    ] {
        let found = queues_of(host, interface);
        assert_eq!(found.len(), count, "{host}: {found:?}");
        assert_eq!(found[0], format!("irq:{first}"));
        assert_eq!(found[count - 1], format!("irq:{last}"));
    }
    assert!(queues_of("hv-netvsc", "eth0").is_empty());
}

#[test]
fn ixgbe_with_far_interrupts_and_short_rings_is_told_so() {
    let check = Tree::new("xeon-ixgbe").check(true);
    assert_eq!(layers(&check), [LossLayer::Ring]);
    let rings = found(&check, "rings", "eno1");
    assert_eq!((rings.status, rings.recommended.as_deref()), (Status::Change, Some("rx 2048")));
    let interrupts = found(&check, "interrupts", "eno1");
    assert_eq!(interrupts.status, Status::Change);
    assert_eq!(interrupts.evidence[0].amount, 80_000.0);
    assert_eq!(values(interrupts), ["4", "5", "6", "7", "12", "13", "14", "15"]);
    for (id, expected) in [
        ("channels", Status::Ok),
        ("offloads", Status::Ok),
        ("coalesce", Status::NotApplicable),
        ("rss", Status::Ok),
        ("flow-control", Status::Ok),
        ("rps", Status::Ok),
    ] {
        assert_eq!(status(&check, id, "eno1"), expected, "{id}");
    }
    assert_eq!(status(&check, "flow-hash", "eno1 udp4"), Status::NoEvidence);
    assert!(found(&check, "cpu-placement", "").reason.contains("nvme0n1 hang on another memory node"));
}

#[test]
fn interrupts_that_take_more_than_the_plan_keeps_for_them_stay() {
    let check = Tree::new("xeon-ixgbe").check(false);
    let interrupts = found(&check, "interrupts", "eno1");
    assert_eq!((interrupts.status, interrupts.assignments.len()), (Status::Advice, 0));
    assert_eq!(status(&check, "cpu-placement", ""), Status::Advice);
    assert_eq!(found(&check, "process-affinity", "process 4242").assignments.len(), 0);
}

#[test]
fn i40e_counts_a_ring_without_descriptors_at_the_port_and_irqbalance_moves_its_interrupts() {
    let check = Tree::new("xeon-i40e").check(true);
    assert_eq!(layers(&check), [LossLayer::PortBuffer]);
    assert_eq!(status(&check, "rings", "ens1f0"), Status::Change);
    assert_eq!(status(&check, "interrupts", "ens1f0"), Status::Ok);
    let moved = found(&check, "irqbalance", "");
    assert_eq!((moved.status, moved.evidence[0].amount), (Status::Advice, 2.0));
    assert!(moved.evidence[0].counter.starts_with("i40e-ens1f0-TxRx-0"));
    assert!(check.also_changed_by.iter().any(|told| told.starts_with("irqbalance runs")));
}

#[test]
fn mlx5_with_a_table_that_somebody_made_is_told_so_and_its_rings_are_left() {
    let check = Tree::new("xeon-mlx5").check(true);
    assert_eq!(layers(&check), [LossLayer::PortBuffer]);
    assert_eq!(status(&check, "rings", "ens2np0"), Status::Ok);
    let spread = found(&check, "rss", "ens2np0");
    assert_eq!((spread.status, values(spread)), (Status::Change, vec!["default"]));
    assert_eq!(status(&check, "channels", "ens2np0"), Status::Ok);
    assert_eq!(status(&check, "flow-control", "ens2np0"), Status::Advice);
    assert_eq!(status(&check, "interrupts", "ens2np0"), Status::Ok);
}

#[test]
fn ice_on_one_of_four_nodes_is_held_against_that_node() {
    let check = Tree::new("epyc-nps4-ice").check(true);
    assert_eq!(layers(&check), [LossLayer::PortBuffer]);
    let rings = found(&check, "rings", "enp129s0f0");
    assert_eq!((rings.status, values(rings)), (Status::Change, vec!["rx 4096"]));
    assert_eq!(status(&check, "channels", "enp129s0f0"), Status::Ok);
    assert_eq!(status(&check, "interrupts", "enp129s0f0"), Status::Ok);
    let steering = found(&check, "rps", "enp129s0f0");
    assert_eq!((steering.status, steering.assignments.len()), (Status::Change, 4));
    let wait = found(&check, "coalesce", "enp129s0f0");
    assert_eq!((wait.status, values(wait)), (Status::Change, vec!["adaptive-rx on"]));
    let dedicated = Tree::new("epyc-nps4-ice").check(false);
    let planned: Vec<u32> =
        dedicated.cpus.iter().filter(|row| row.planned == "interrupts").map(|row| row.cpu).collect();
    assert_eq!(planned, [4, 12]);
}

#[test]
fn an_elastic_adapter_is_told_of_empty_rings_and_of_the_clouds_own_limit() {
    let check = Tree::new("ena").check(true);
    assert_eq!(layers(&check), [LossLayer::Ring]);
    let rings = found(&check, "rings", "ens5");
    assert_eq!((rings.status, rings.recommended.as_deref()), (Status::Change, Some("rx 2048")));
    assert_eq!(status(&check, "flow-control", "ens5"), Status::NotApplicable);
    let limit = check.checks.iter().find(|found| found.id == "cloud-allowance").unwrap();
    assert_eq!(limit.status, Status::Advice);
}

#[test]
fn a_gvnic_has_queues_apart_and_rings_that_cannot_grow() {
    let check = Tree::new("gve").check(true);
    assert_eq!(layers(&check), [LossLayer::Ring]);
    assert_eq!(status(&check, "rings", "ens4"), Status::Advice);
    let channels = found(&check, "channels", "ens4");
    assert_eq!((channels.status, values(channels)), (Status::Change, vec!["rx 8"]));
    let google = check.also_changed_by.iter().filter(|told| told.contains("google")).count();
    assert_eq!(google, 2);
}

#[test]
fn hyper_v_has_no_interrupts_to_place_and_lost_packets_for_want_of_memory() {
    let check = Tree::new("hv-netvsc").check(true);
    assert_eq!(layers(&check), [LossLayer::Allocation]);
    let interrupts = found(&check, "interrupts", "eth0");
    assert_eq!(interrupts.status, Status::NotApplicable);
    assert!(interrupts.reason.contains("VMBus"), "{}", interrupts.reason);
    assert_eq!(status(&check, "rings", "eth0"), Status::Ok);
    assert_eq!(status(&check, "channels", "eth0"), Status::Ok);
    assert_eq!(status(&check, "flow-hash", "eth0 udp4"), Status::NoEvidence);
}

#[test]
fn one_virtio_queue_is_the_hypervisors_to_mend_and_its_packets_go_to_other_processors() {
    let check = Tree::new("virtio").check(true);
    let channels = found(&check, "channels", "eth0");
    assert_eq!((channels.status, channels.assignments.len()), (Status::Advice, 0));
    assert!(channels.reason.contains("queues=N"), "{}", channels.reason);
    let steering = found(&check, "rps", "eth0");
    assert_eq!((steering.status, values(steering)), (Status::Change, vec!["d"]));
    assert_eq!(status(&check, "xps", "eth0"), Status::NotApplicable);
}

#[test]
fn a_host_on_which_all_was_applied_is_asked_for_nothing_more() {
    for (name, _) in HOSTS {
        for shared_cpus in [true, false] {
            let tree = Tree::new(name);
            Applied::new(&tree, shared_cpus);
            // What waits for new queues comes in a second round.
            for round in 0.. {
                tree.send_interrupts_where_they_may_go();
                let check = tree.check_over(named_counters(tree.host().root()), shared_cpus);
                let asked: Vec<&str> = check
                    .checks
                    .iter()
                    .filter(|found| !found.assignments.is_empty())
                    .map(|found| found.id.as_str())
                    .collect();
                if asked.is_empty() {
                    break;
                }
                assert!(round < 1, "{name}, shared {shared_cpus}: {asked:?}");
                Applied::of(&tree, &check);
            }
        }
    }
}

/// A plan with all that can be set, applied; and the journal of it.
struct Applied {
    changes: usize,
    journal: Vec<u8>,
    id: String,
}

impl Applied {
    fn new(tree: &Tree, shared_cpus: bool) -> Self {
        let applied = Applied::of(tree, &tree.check(shared_cpus));
        assert!(applied.changes > 4);
        applied
    }

    fn of(tree: &Tree, check: &HostCheck) -> Self {
        let host = tree.host();
        let wanted = plan::Selection { without_evidence: true, profile: Vec::new() };
        let plan = plan::plan(&host, check, &wanted).unwrap();
        let changes: Vec<Change> = plan.changes.into_iter().map(|planned| planned.change).collect();
        let folder = folder();
        let mut journal =
            Journal::open(&places(folder.path()), &host, owner(), Timestamp::UNIX_EPOCH).unwrap();
        apply::apply(&host, &mut journal, &changes, &mut apply::Unseen).unwrap();
        let id = journal.id().to_owned();
        drop(journal);
        let journal = std::fs::read(places(folder.path()).file(&id).unwrap()).unwrap();
        Applied { changes: changes.len(), journal, id }
    }
}

/// The same, once for each host.
fn applied(name: &str, shared_cpus: bool) -> Arc<Applied> {
    static KNOWN: Mutex<BTreeMap<(String, bool), Arc<Applied>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let own = known.entry((name.to_owned(), shared_cpus));
    own.or_insert_with(|| Arc::new(Applied::new(&Tree::new(name), shared_cpus))).clone()
}

fn places(folder: &Path) -> Places {
    Places { own: folder.to_owned(), others: Vec::new() }
}

fn owner() -> JournalOwner {
    JournalOwner::Plan { confirm_within_s: None, changes: 1, bootstrap: None }
}

/// The host and its journal as a kill leaves them once these bytes of the journal are written; of a change that was begun and not seen to
/// end, whether it was made. Then the undo.
/// The undo is killed, too, after a part of its steps, the last of which was not written down; then it is begun again.
fn killed_and_reverted(name: &str, shared_cpus: bool, cut: f64, is_made: bool, undone: f64) {
    let applied = applied(name, shared_cpus);
    let tree = Tree::new(name);
    // The counters as after the second reading, as they were in the host that the plan was made on.
    tree.check(shared_cpus);
    let before = tree.bytes();
    let bytes = (applied.journal.len() as f64 * cut) as usize;
    let written = &applied.journal[..bytes];
    let whole = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let records: Vec<Record> = written[..whole]
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    if records.is_empty() {
        // Nothing is changed before the journal's head is on the disk.
        return;
    }
    let ended = |step: u32| {
        records.iter().any(|record| {
            matches!(record, Record::Done { step: own, .. } | Record::Skipped { step: own, .. } if *own == step)
        })
    };
    let host = tree.host();
    for record in &records {
        if let Record::Begun { step, change, .. } = record
            && (ended(*step) || is_made)
        {
            let setting = Setting::new(&change.target.key).unwrap();
            setting.write(&host, change.after.as_ref().unwrap()).unwrap();
        }
    }
    let folder = folder();
    let journals = folder.path().join("journal");
    std::fs::create_dir_all(&journals).unwrap();
    std::fs::write(journals.join(format!("{}.jsonl", applied.id)), written).unwrap();
    let mut journal = Journal::reopen(&places(folder.path()), &applied.id).unwrap();
    let outstanding: Vec<StepState> = journal.state().outstanding().rev().cloned().collect();
    let undone = (outstanding.len() as f64 * undone) as usize;
    journal.append(Record::Reverting { at: Timestamp::UNIX_EPOCH, cause: Cause::ApplierEnded }).unwrap();
    for (at, step) in outstanding.iter().take(undone).enumerate() {
        let outcome = steps::restore(&host, step, false);
        if at + 1 < undone {
            journal.append(Record::Restored { step: step.step, outcome }).unwrap();
        }
    }
    drop(journal);
    let mut journal = Journal::reopen(&places(folder.path()), &applied.id).unwrap();
    let reverted = revert::revert(&host, &mut journal, Cause::ApplierEnded).unwrap();
    assert_eq!(reverted.left().count(), 0, "{name} cut at {bytes}: {reverted:?}");
    let after = tree.bytes();
    for (path, content) in &before {
        let text = |bytes: Option<&Vec<u8>>| String::from_utf8_lossy(bytes.unwrap()).into_owned();
        assert_eq!(text(after.get(path)), text(Some(content)), "{name} cut at {bytes}: {}", path.display());
    }
    assert_eq!(after.len(), before.len(), "{name} cut at {bytes}");
}

#[test]
fn a_whole_plan_goes_back_to_the_byte_on_every_host() {
    for (name, _) in HOSTS {
        for shared_cpus in [true, false] {
            killed_and_reverted(name, shared_cpus, 1.0, true, 0.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_kill_at_any_byte_of_the_journal_goes_back_to_the_byte(
        host in 0..HOSTS.len(),
        shared_cpus in any::<bool>(),
        cut in 0.0..1.0f64,
        is_made in any::<bool>(),
        undone in 0.0..1.0f64,
    ) {
        killed_and_reverted(HOSTS[host].0, shared_cpus, cut, is_made, undone);
    }
}
