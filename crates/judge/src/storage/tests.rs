//! Documents with known storage, and what is said of them.

use super::commits::warnings as commit_warnings;
use super::durable;
use super::path::{file_system_limits, passed_by_device};
use super::rows::FASTER_THAN_PUBLISHED;
use plumb_model::facts::{Device, DeviceClass, FileSystem, Layer, Medium, Storage, StorageLayer};
use plumb_model::finding::Severity;
use plumb_model::probe::storage::{
    CommitBlock, CommitCase, CommitLatency, CommitMethod, CommitResult, PageCache, Placement,
    SequentialResult, StorageTarget, StreamBlock, StreamCase, StreamDirection,
};

fn storage(options: &[&str], device: Device) -> Storage {
    let file_system = FileSystem {
        fs_type: "ext4".into(),
        mount_point: "/srv".into(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        medium: Medium::Device,
        ..FileSystem::default()
    };
    let layers = [Layer::FileSystem(file_system), Layer::Device(device)];
    let layers = (0..).zip(layers).map(|(depth, layer)| StorageLayer { depth, layer });
    Storage { layers: layers.collect(), ..Storage::default() }
}

fn disk(write_cache: &str, rotational: bool) -> Device {
    Device {
        name: "sda".into(),
        class: DeviceClass::Scsi,
        write_cache: Some(write_cache.into()),
        rotational: Some(rotational),
        request_queue: true,
        ..Device::default()
    }
}

fn commit(method: CommitMethod, placement: Placement, rates: &[f64]) -> CommitResult {
    let block = |(round, rate): (u32, &f64)| CommitBlock {
        round,
        began_ns: 0,
        elapsed_ns: 1_000_000_000,
        commits: *rate as u64,
        rate_per_s: *rate,
        seconds: Vec::new(),
    };
    CommitResult {
        case: CommitCase { method, placement, block_bytes: 4096, committers: 1, queue_depth: 1 },
        rate_per_s: Some(rates.iter().sum::<f64>() / rates.len() as f64),
        rate_interval: None,
        latency: CommitLatency { samples: rates.iter().sum::<f64>() as u64, ..CommitLatency::default() },
        durable: None,
        findings: Vec::new(),
        unavailable: None,
        cpu_ns_per_commit: None,
        device_writes_per_commit: Some(3.0),
        device_flushes_per_commit: Some(2.0),
        ratio_to_first: None,
        blocks: (0..).zip(rates).map(block).collect(),
    }
}

#[test]
fn a_chain_that_ends_before_the_hardware_promises_nothing() {
    let commit = || commit(CommitMethod::Fsync, Placement::Append, &[100.0; 5]);
    let ends_at = |layer: Layer| {
        let layers = vec![StorageLayer { depth: 0, layer }];
        judged(&Storage { layers, ..Storage::default() }, commit())
    };
    let on = |medium: Medium| {
        Layer::FileSystem(FileSystem { fs_type: "overlay".into(), medium, ..FileSystem::default() })
    };
    for medium in [Medium::FileSystem, Medium::Device, Medium::Network, Medium::Unknown] {
        assert_eq!(ends_at(on(medium)), (said("unknowable"), None), "{medium:?}");
    }
    let file = Device { name: "loop0".into(), class: DeviceClass::Loop, ..Device::default() };
    assert_eq!(judged(&storage(&[], file), commit()), (said("unknowable"), None));
    assert_eq!(judged(&storage(&[], disk("write back", false)), commit()), (vec![], Some(true)));
}

fn said(id: &str) -> Vec<String> {
    vec![id.to_owned()]
}

fn ids(storage: &Storage, commit: &CommitResult) -> Vec<String> {
    commit_warnings(storage, commit, true).iter().map(|finding| finding.id.clone()).collect()
}

/// The sentences about a commit, and true if it is durable.
fn judged(storage: &Storage, mut commit: CommitResult) -> (Vec<String>, Option<bool>) {
    commit.findings = commit_warnings(storage, &commit, true);
    (ids(storage, &commit), durable(storage, &commit))
}

fn fsync(rate_per_s: f64) -> CommitResult {
    commit(CommitMethod::Fsync, Placement::Append, &[rate_per_s])
}

#[test]
fn a_plain_disk_at_a_plain_rate_is_durable_and_nothing_is_said() {
    let storage = storage(&["rw"], disk("write back", true));
    assert_eq!(judged(&storage, fsync(90.0)), (Vec::new(), Some(true)));
}

#[test]
fn a_volatile_cache_that_got_no_flush_is_not_durable() {
    let storage = storage(&["rw"], disk("write back", false));
    let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
    assert_eq!(judged(&storage, silent.clone()), (said("no-flush-seen"), Some(false)));
    let single =
        CommitResult { case: CommitCase { method: CommitMethod::DirectDsync, ..silent.case }, ..silent };
    assert_eq!(judged(&storage, single).1, Some(true), "a single write may carry its own mark");
}

#[test]
fn without_a_volatile_cache_no_flush_is_needed_and_no_barrier_missed() {
    let storage = storage(&["rw", "nobarrier"], disk("write through", false));
    let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
    assert_eq!(judged(&storage, silent), (Vec::new(), Some(true)));
}

#[test]
fn a_mount_without_barriers_over_a_volatile_cache_is_not_durable() {
    let storage = storage(&["rw", "nobarrier"], disk("write back", false));
    assert_eq!(judged(&storage, fsync(900.0)), (said("no-barrier"), Some(false)));
}

#[test]
fn a_turning_disk_commits_once_a_turn_and_what_is_faster_is_a_cache() {
    let turning = storage(&["rw"], disk("write back", true));
    assert_eq!(judged(&turning, fsync(240.0)).0, [""; 0]);
    assert_eq!(judged(&turning, fsync(3_000.0)), (said("too-fast"), None));
    let virtual_disk = Device { class: DeviceClass::Virtio, ..disk("write back", true) };
    assert_eq!(judged(&storage(&["rw"], virtual_disk), fsync(3_000.0)).0, [""; 0], "virtio-blk cannot tell");
    assert_eq!(commit_warnings(&turning, &fsync(3_000.0), false), [], "in a guest the hypervisor says so");
}

#[test]
fn flushes_that_the_kernel_does_not_count_are_not_missed() {
    let memory = Device { class: DeviceClass::PersistentMemory, ..disk("write back", false) };
    let memory = Device { name: "pmem0".into(), request_queue: false, ..memory };
    let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
    assert_eq!(judged(&storage(&["rw"], memory), silent), (Vec::new(), Some(true)));
}

#[test]
fn what_could_not_be_followed_leaves_it_open_whether_a_commit_lasts() {
    let plain = storage(&["rw"], disk("write back", false));
    let missing = vec!["loop0: its file was deleted, so its place is not known".to_owned()];
    let found = judged(&Storage { missing, ..plain }, fsync(900.0));
    assert_eq!(found, (said("unknowable"), None));
    let remote = Device { name: "rbd0".into(), class: DeviceClass::Network, ..disk("write back", false) };
    assert_eq!(judged(&storage(&["rw"], remote), fsync(900.0)), (said("unknowable"), None));
}

#[test]
fn sixteen_committers_may_be_sixteen_times_as_fast() {
    let storage = storage(&["rw"], disk("write back", false));
    assert_eq!(judged(&storage, fsync(60_000.0)), (said("faster-than-published"), None));
    assert_eq!(FASTER_THAN_PUBLISHED.severity, Severity::Note, "good disks may be as fast");
    let overwritten = commit(CommitMethod::Fsync, Placement::Overwrite, &[60_000.0]);
    assert_eq!(judged(&storage, overwritten).0, [""; 0], "only appending was published");
    let many = CommitResult { case: CommitCase { committers: 16, ..fsync(1.0).case }, ..fsync(60_000.0) };
    assert_eq!(judged(&storage, many).0, [""; 0]);
}

#[test]
fn direct_writes_under_a_full_journal_are_named_and_still_durable() {
    let storage = storage(&["rw", "data=journal"], disk("write back", false));
    let direct = commit(CommitMethod::Direct, Placement::Append, &[900.0]);
    assert_eq!(judged(&storage, direct), (said("direct-is-buffered"), Some(true)));
}

#[test]
fn what_another_host_keeps_cannot_be_called_durable_or_not() {
    let network = FileSystem { fs_type: "nfs4".into(), medium: Medium::Network, ..FileSystem::default() };
    let layer = StorageLayer { depth: 0, layer: Layer::FileSystem(network) };
    let storage = Storage { layers: vec![layer], ..Storage::default() };
    assert_eq!(judged(&storage, fsync(900.0)), (said("unknowable"), None));
}

fn target(appended: &[f64], overwritten: &[f64]) -> StorageTarget {
    StorageTarget {
        path: "/srv".into(),
        layers: Vec::new(),
        storage: storage(&["rw"], disk("write back", false)),
        available_bytes: 1 << 30,
        commits: vec![
            commit(CommitMethod::Fsync, Placement::Append, appended),
            commit(CommitMethod::Fsync, Placement::Overwrite, overwritten),
        ],
        sequential: Vec::new(),
        findings: Vec::new(),
    }
}

/// Rates of ext4 on a disk of 40 requests a second: 12.8 appended, 36 overwritten.
#[test]
fn appending_at_a_third_of_overwriting_is_the_file_systems_work() {
    let found = file_system_limits(&target(&[12.8, 12.7, 12.9], &[36.0, 36.4, 35.8])).unwrap();
    assert_eq!(found.id, "file-system-limits");
    assert!(found.claim.contains("at least 3.0 writes and 2.0 flushes"), "{}", found.claim);
    assert!(found.claim.contains("(×0.355, "), "{}", found.claim);
}

#[test]
fn in_memory_there_is_no_device_to_be_slower_than() {
    let mut target = target(&[12.8, 12.7, 12.9], &[36.0, 36.4, 35.8]);
    let memory = FileSystem { fs_type: "tmpfs".into(), medium: Medium::Memory, ..FileSystem::default() };
    target.storage.layers = vec![StorageLayer { depth: 0, layer: Layer::FileSystem(memory) }];
    assert_eq!(file_system_limits(&target), None);
}

#[test]
fn rates_that_scatter_too_much_to_tell_accuse_nobody() {
    assert_eq!(file_system_limits(&target(&[12.0, 40.0, 20.0], &[36.0, 20.0, 60.0])), None);
    assert_eq!(file_system_limits(&target(&[35.0, 36.0, 37.0], &[36.0, 36.0, 36.0])), None);
}

fn read(bytes: u64, device_bytes: Option<u64>) -> SequentialResult {
    let case = StreamCase {
        direction: StreamDirection::Read,
        page_cache: PageCache::Buffered,
        block_bytes: 1 << 20,
    };
    let block = StreamBlock { round: 0, began_ns: 0, bytes, transfer_ns: 1_000_000, sync_ns: 0 };
    SequentialResult {
        case,
        bytes_per_s: Some(1e9),
        bytes_interval: None,
        accepted_bytes_per_s: None,
        device_bytes,
        unavailable: None,
        ratio_to_first: None,
        blocks: vec![block],
    }
}

#[test]
fn a_read_that_the_device_did_not_serve_is_not_the_devices_rate() {
    let of = |device_bytes| StorageTarget {
        sequential: vec![read(100_000_000, Some(100_200_000)), read(80_000_000, device_bytes)],
        ..target(&[100.0], &[100.0])
    };
    let found = passed_by_device(&of(Some(8_000_000))).unwrap();
    assert_eq!(found.id, "passed-by-device");
    assert!(
        found.claim.contains("read 80 MB through the page cache, and the device read 8 MB"),
        "{}",
        found.claim
    );
    assert_eq!(passed_by_device(&of(Some(80_000_000))), None);
    assert_eq!(passed_by_device(&of(None)), None, "no counter tells");
}
