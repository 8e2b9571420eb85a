//! What is measured is held against the limit of the same thing, or of nothing.

use super::build::*;
use super::path_with_cause;
use crate::diagnosis::diagnose;
use plumb_model::diagnosis::PathBound;
use plumb_model::finding::Confidence;
use plumb_model::observed::{CgroupWindow, LogDirectory, LogHistogram, ObservedPath, ProcessWaits};

fn bound_of(path: &ObservedPath, name: &str) -> Option<PathBound> {
    diagnose(path).bounds.into_iter().find(|bound| bound.name == name)
}

fn changed(change: impl FnOnce(&mut ObservedPath)) -> ObservedPath {
    let mut path = healthy_path();
    change(&mut path);
    path
}

#[test]
fn a_limit_of_another_device_is_no_limit_of_this_one() {
    let here = healthy_path();
    let bound = bound_of(&here, "device_write").unwrap();
    assert_eq!((bound.measured, bound.limit), (30e6, 900e6));
    assert!(bound.source.contains("nvme0n1"), "{}", bound.source);
    assert!(bound_of(&here, "fsync").is_some());
    for device in [Some("sda".to_owned()), None] {
        let other = changed(|path| {
            path.limits.storage_of = Some(LogDirectory { path: "/data".to_owned(), device: device.clone() });
        });
        assert_eq!((bound_of(&other, "device_write"), bound_of(&other, "fsync")), (None, None), "{device:?}");
    }
}

#[test]
fn commits_are_those_of_the_brokers_of_that_device_and_of_nobody_else() {
    let commits = |count| ProcessWaits {
        elapsed_ns: WINDOW_NS,
        fsync: Some(LogHistogram { count, ..LogHistogram::default() }),
        ..ProcessWaits::default()
    };
    let path = changed(|path| {
        let mut same_device = process(path).clone();
        let mut other_device = same_device.clone();
        (same_device.pid, other_device.pid) = (1002, 1003);
        for log in &mut other_device.log_directories {
            log.device = Some("sda".to_owned());
        }
        path.processes.extend([same_device, other_device]);
        let seconds = WINDOW_NS / 1_000_000_000;
        for (process, per_s) in path.processes.iter_mut().zip([100, 900, 20, 500]) {
            process.kernel = Some(commits(per_s * seconds));
        }
    });
    let names: Vec<bool> = path.processes.iter().map(|process| process.is_broker).collect();
    assert_eq!(names, [true, false, true, true]);
    assert_eq!(bound_of(&path, "fsync").unwrap().measured, 120.0);
}

#[test]
fn the_disk_of_the_logs_is_looked_at_whatever_others_write() {
    let path = changed(|path| second_disk(path).written_bytes = Some(90_000_000 * 60));
    assert_eq!(bound_of(&path, "device_write").unwrap().measured, 30e6);
}

#[test]
fn what_a_control_group_wrote_itself_is_held_against_its_limit() {
    let group = |written_bytes| {
        changed(|path| {
            process(path).cgroup = Some(CgroupWindow {
                write_limit_bytes_per_s: Some(10_000_000),
                written_bytes,
                ..CgroupWindow::default()
            });
        })
    };
    let own = bound_of(&group(Some(60 * 4_000_000)), "device_write").unwrap();
    assert_eq!((own.measured, own.limit), (4e6, 10e6));
    assert!(own.source.contains("control group"), "{}", own.source);
    let unknown = bound_of(&group(None), "device_write").unwrap();
    assert_eq!((unknown.measured, unknown.limit), (30e6, 10e6));
}

#[test]
fn the_interface_whose_limit_is_known_is_the_one_that_is_measured() {
    let path = changed(|path| {
        let faces = &mut host(path).counters.interfaces;
        let mut slow = faces[0].clone();
        slow.name = "eth1".to_owned();
        slow.sent_bytes = Some(60 * 12_000_000);
        slow.received_bytes = Some(0);
        faces.push(slow);
        path.limits.network_bytes_per_s = Some(12.5e6);
        path.limits.network_of = Some("eth1".to_owned());
    });
    let bound = bound_of(&path, "network").unwrap();
    assert_eq!((bound.measured, bound.limit), (12e6, 12.5e6));
    assert!(bound.source.contains("eth1"), "{}", bound.source);
}

#[test]
fn processor_time_for_each_byte_says_how_many_bytes_the_processors_would_take() {
    // One of 8 processors for 10 MB/s.
    let bound = bound_of(&healthy_path(), "cpu_per_byte").unwrap();
    assert_eq!((bound.measured, bound.unit.as_str()), (10e6, "bytes/s"));
    assert!((bound.limit - 80e6).abs() < 1.0, "{bound:?}");
    assert!(bound.source.starts_with("100 ms of CPU time for each MB in"), "{}", bound.source);
    let quota = changed(|path| {
        process(path).cgroup = Some(CgroupWindow { quota_cpus: Some(2.0), ..CgroupWindow::default() });
    });
    // What others use is told beside it, and makes the broker's own limit no smaller.
    let crowded = changed(|path| cpu_busy(path, 0.99));
    assert_eq!(bound_of(&crowded, "cpu_per_byte").map(|bound| bound.limit), Some(bound.limit));
    assert_eq!(bound_of(&crowded, "cpu").map(|bound| bound.measured), Some(0.99));
    let bound = bound_of(&quota, "cpu_per_byte").unwrap();
    assert!((bound.limit - 20e6).abs() < 1.0 && bound.source.contains("quota"), "{bound:?}");
}

#[test]
fn a_broker_that_does_little_tells_only_how_busy_the_processors_are() {
    let idle = changed(|path| process(path).usage.cpu_ns = Some(WINDOW_NS / 20));
    let bound = bound_of(&idle, "cpu").unwrap();
    assert_eq!((bound.measured, bound.limit, bound.unit.as_str()), (0.25, 1.0, "share of the time"));
    // 40 % of a quota of one processor may still be mostly what it does without messages.
    let small_quota = changed(|path| {
        process(path).usage.cpu_ns = Some(WINDOW_NS * 2 / 5);
        process(path).cgroup = Some(CgroupWindow { quota_cpus: Some(1.0), ..CgroupWindow::default() });
    });
    assert_eq!(bound_of(&small_quota, "cpu_per_byte"), None);
    let elsewhere = changed(|path| path.processes.clear());
    assert_eq!((bound_of(&elsewhere, "cpu"), bound_of(&idle, "cpu_per_byte")), (None, None));
}

#[test]
fn memory_is_held_against_what_a_broker_copies_at_least() {
    // 10 MB/s of clients and 20 MB/s of other brokers, each byte twice.
    let bound = bound_of(&healthy_path(), "memory").unwrap();
    assert_eq!((bound.measured, bound.limit), (60e6, 18e9));
    let elsewhere = changed(|path| {
        path.processes.clear();
        brokers(path, |broker| broker.pid = None);
    });
    assert_eq!(bound_of(&elsewhere, "memory"), None);
}

#[test]
fn a_limit_of_replication_that_was_left_holds_back_nobody_where_all_followers_are_in_sync() {
    let confidence = |under_replicated: f64| {
        let mut path = path_with_cause("replication-throttle-left");
        path.brokers.iter_mut().for_each(|broker| broker.under_replicated = Some(under_replicated));
        let found = diagnose(&path).findings;
        found.iter().find(|cause| cause.finding.id == "replication-throttle-left").unwrap().finding.confidence
    };
    assert_eq!(confidence(1.0), Some(Confidence::Supported));
    assert_eq!(confidence(0.0), Some(Confidence::Suspected));
}
