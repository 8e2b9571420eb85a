//! The limits of the path, and how near what was measured is to each. A limit that was not measured is left out.

use super::case::Case;
use super::measure::{count, known, most, ratio, sum};
use plumb_model::diagnosis::PathBound;
use plumb_model::figure::{short, time};
use plumb_model::observed::{BrokerWindow, CgroupWindow, ProcessWindow};

/// The limits, nearest first.
pub(super) fn bounds(case: &Case) -> Vec<PathBound> {
    let all = [
        aes(case),
        device_write(case),
        fsync(case),
        network(case),
        memory(case),
        busy(
            "network_threads",
            case.network_idle().map(|idle| 1.0 - idle),
            "the busiest network thread, by the broker's metrics",
        ),
        busy(
            "handlers",
            case.handler_idle().map(|idle| 1.0 - idle),
            "the busiest broker's request handlers, by its metrics",
        ),
        // The processors of a host without a broker are no limit of the brokers.
        busy(
            "cpu",
            case.cpu_busy().filter(|_| case.broker_processes().next().is_some()),
            "all processors of this host, whoever uses them",
        ),
        cpu_per_byte(case),
        busy(
            "connection",
            case.serial_use(),
            "requests of a connection times the broker's mean time of one: Apache Kafka serves one at a time",
        ),
    ];
    let mut bounds: Vec<PathBound> = all.into_iter().flatten().collect();
    bounds.sort_by(|a, b| used(b).total_cmp(&used(a)));
    bounds
}

/// What is measured of a limit, as a share of it.
pub(super) fn used(bound: &PathBound) -> f64 {
    ratio(Some(bound.measured), Some(bound.limit)).unwrap_or(0.0)
}

fn aes(case: &Case) -> Option<PathBound> {
    let one_cpu = known(case.path.limits.aes_gcm_bytes_per_s)?;
    let bytes_per_s = encrypted_per_s(case)?;
    let of = case.path.limits.aes_gcm_of.as_deref().unwrap_or("an unnamed library");
    bound(
        "aes",
        one_cpu * case.cpus()?,
        bytes_per_s,
        "bytes/s",
        format!("AES-256-GCM of {of}, times all processors"),
    )
}

/// Bytes a second that the brokers of this host encrypt or decrypt, for clients and for each other; absent without TLS.
pub(super) fn encrypted_per_s(case: &Case) -> Option<f64> {
    let here = |pid: Option<u32>| pid.is_some() || case.brokers().len() == 1;
    let brokers = case.brokers().iter().filter(|broker| here(broker.pid));
    let (clients, replication) = (case.clients_use_tls(), case.replicates_over_tls());
    sum(brokers.flat_map(|broker| {
        [
            broker.bytes_in_per_s.filter(|_| clients),
            broker.bytes_out_per_s.filter(|_| clients),
            broker.replication_bytes_in_per_s.filter(|_| replication),
            broker.replication_bytes_out_per_s.filter(|_| replication),
        ]
    }))
}

/// [`encrypted_per_s`] in words.
pub(super) fn encrypted_for(case: &Case) -> &'static str {
    match (case.clients_use_tls(), case.replicates_over_tls()) {
        (true, true) => "bytes encrypted and decrypted, for clients and between brokers",
        (false, true) => "bytes encrypted and decrypted between brokers",
        (_, false) => "bytes encrypted and decrypted for clients",
    }
}

/// The nearest of two limits: of the control group, against what the group itself wrote, and of the device.
fn device_write(case: &Case) -> Option<PathBound> {
    let group = group_writes(case).and_then(|group| {
        let source = "the control group's limit of the log's device".to_owned();
        bound("device_write", group.limit?, group.per_s?, "bytes/s", source)
    });
    let device = device_limit(case).and_then(|limit| {
        let name = &case.written_disk()?.name;
        let source = format!("a short calibration of sequential writes to {name}");
        bound("device_write", limit, case.written_per_s()?, "bytes/s", source)
    });
    [group, device].into_iter().flatten().max_by(|a, b| used(a).total_cmp(&used(b)))
}

/// Bytes a second that the device of the logs takes, where it was measured of that very device.
pub(super) fn device_limit(case: &Case) -> Option<f64> {
    of_device(case, case.path.limits.write_bytes_per_s)
}

/// A limit of storage, if it is of the disk whose traffic is looked at.
fn of_device(case: &Case, limit: Option<f64>) -> Option<f64> {
    let device = case.path.limits.storage_of.as_ref()?.device.as_deref()?;
    known(limit).filter(|_| case.written_disk().is_some_and(|disk| disk.name == device))
}

/// Writing against a limit of a control group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupWrites {
    /// What the group wrote to the device of its logs a second; where that is not known, what was written to the disk.
    pub(super) per_s: Option<f64>,
    /// The most that it may.
    pub(super) limit: Option<f64>,
}

impl GroupWrites {
    /// The share of the limit that is in use.
    pub(super) fn used(&self) -> Option<f64> {
        ratio(self.per_s, self.limit)
    }
}

/// Bytes of the broker whose control group is nearest to its limit of bytes.
pub(super) fn group_writes(case: &Case) -> Option<GroupWrites> {
    nearest_group(case, |group| (group.write_limit_bytes_per_s, group.written_bytes), case.written_per_s())
}

/// Writes of the broker whose control group is nearest to its limit of writes.
pub(super) fn group_write_calls(case: &Case) -> Option<GroupWrites> {
    let of_disk = ratio(count(case.written_disk().and_then(|disk| disk.writes)), case.host_seconds());
    nearest_group(case, |group| (group.write_limit_per_s, group.writes), of_disk)
}

fn nearest_group(
    case: &Case,
    figures: fn(&CgroupWindow) -> (Option<u64>, Option<u64>),
    of_disk: Option<f64>,
) -> Option<GroupWrites> {
    let writes = case.broker_processes().filter_map(|process| {
        let (limit, written) = figures(process.cgroup.as_ref()?);
        let per_s = ratio(count(written), case.host_seconds()).or(of_disk);
        Some(GroupWrites { per_s, limit: Some(known(count(limit))?) })
    });
    writes.max_by(|a, b| a.used().unwrap_or(0.0).total_cmp(&b.used().unwrap_or(0.0)))
}

fn fsync(case: &Case) -> Option<PathBound> {
    let limit = of_device(case, case.path.limits.fsync_per_s)?;
    let disk = case.written_disk()?;
    let of_disk = ratio(count(disk.flushes), case.host_seconds());
    let source = format!(
        "a short calibration of commits to {}, one after another: several at once may go faster",
        disk.name
    );
    bound("fsync", limit, commits_per_s(case, &disk.name).or(of_disk)?, "commits/s", source)
}

/// Commits a second of the brokers that were traced, of those with a log on this device and of those whose device is not known.
fn commits_per_s(case: &Case, device: &str) -> Option<f64> {
    let is_on = |process: &&ProcessWindow| {
        let devices = || process.log_directories.iter().filter_map(|log| log.device.as_deref());
        devices().any(|of_log| of_log == device) || devices().next().is_none()
    };
    sum(case.broker_processes().filter(is_on).map(|process| {
        let waits = process.kernel.as_ref()?;
        ratio(count(Some(waits.fsync.as_ref()?.count)), Some(waits.elapsed_ns as f64 / 1e9))
    }))
}

fn network(case: &Case) -> Option<PathBound> {
    let limit = known(case.path.limits.network_bytes_per_s)?;
    let source = match &case.path.limits.network_of {
        Some(interface) => format!("the driver of {interface}"),
        None => "the driver of the interface".to_owned(),
    };
    bound("network", limit, network_per_s(case)?, "bytes/s", source)
}

/// Bytes a second, in its busier direction, of the interface whose limit is known; without one of the busiest.
pub(super) fn network_per_s(case: &Case) -> Option<f64> {
    let limited = case.path.limits.network_of.as_deref();
    let faces = case.interfaces().filter(|face| limited.is_none_or(|name| face.name == name));
    let bytes = most(faces.flat_map(|face| [count(face.received_bytes), count(face.sent_bytes)]));
    ratio(bytes, case.host_seconds())
}

/// Copies that every byte of a message has to have: from the socket, and into the page cache. What is sent without TLS has none (sendfile).
const COPIES_IN: f64 = 2.0;

fn memory(case: &Case) -> Option<PathBound> {
    let limit = known(case.path.limits.memory_copy_bytes_per_s)?;
    let brokers = || brokers_here(case);
    let copied = sum(brokers().flat_map(|broker| {
        let bytes_in = [broker.bytes_in_per_s, broker.replication_bytes_in_per_s];
        bytes_in.map(|bytes| Some(known(bytes)? * COPIES_IN))
    }));
    let source = "a short calibration of copies on all processors; measured is what a broker copies at least, each byte in twice".to_owned();
    bound("memory", limit, copied?, "bytes/s", source)
}

/// Brokers of this host whose metrics were read.
fn brokers_here<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a BrokerWindow> + use<'a> {
    let only = case.brokers().len() == 1 && case.broker_processes().next().is_some();
    case.brokers().iter().filter(move |broker| broker.pid.is_some() || only)
}

/// Share of the processors below which what a broker does anyway, without any message, is too much of its time to say what a message
/// costs (ours).
const CPU_SHARE_MIN: f64 = 0.1;
/// The same in processors for each broker. One with 100 messages a second used 0.07 of one, 1.26 s for each MB, and took 3,000 a second well;
/// three that were profiled used 0.12 each, 7.6 s for each MB (ours).
const CPUS_MIN: f64 = 0.5;

/// The bytes a second at which the brokers' processor time for each byte uses up all processors, or what their quota gives. What others use is
/// no part of it: a broker that wants more than they leave takes it from them.
fn cpu_per_byte(case: &Case) -> Option<PathBound> {
    let seconds = case.host_seconds()?;
    let bytes = sum(brokers_here(case).map(|broker| broker.bytes_in_per_s)).filter(|bytes| *bytes > 0.0)?;
    let processes: Vec<_> = case.broker_processes().collect();
    // Bytes and processor time must be of the same brokers.
    if processes.len() != brokers_here(case).count() {
        return None;
    }
    let used = processes.iter().try_fold(0.0, |sum, process| {
        let elapsed_ns = Some(process.usage.elapsed_ns as f64).filter(|ns| *ns > 0.0).or(Some(seconds * 1e9));
        Some(sum + ratio(count(process.usage.cpu_ns), elapsed_ns)?)
    })?;
    if used < CPUS_MIN * processes.len() as f64 {
        return None;
    }
    let all = case.cpus()?;
    let quota = match processes[..] {
        [process] => process.cgroup.as_ref().and_then(|group| known(group.quota_cpus)),
        _ => None,
    };
    let (room, of) = match quota.filter(|quota| *quota < all) {
        Some(quota) => (quota, "that its quota gives"),
        None => (all, "of this host"),
    };
    let share = ratio(Some(used), Some(room)).filter(|share| *share >= CPU_SHARE_MIN)?;
    let source = format!(
        "{} of CPU time for each MB in, with this mix of requests, on {} processors {of}",
        time(used / bytes * 1e15),
        short(room)
    );
    // Two readings are not of one instant: more than all is all.
    bound("cpu_per_byte", bytes / share.min(1.0), bytes, "bytes/s", source)
}

fn busy(name: &str, share: Option<f64>, source: &str) -> Option<PathBound> {
    bound(name, 1.0, share?, "share of the time", source.to_owned())
}

fn bound(name: &str, limit: f64, measured: f64, unit: &str, source: String) -> Option<PathBound> {
    let limit = known(Some(limit)).filter(|limit| *limit > 0.0)?;
    let measured = known(Some(measured))?;
    Some(PathBound { name: name.to_owned(), limit, measured, unit: unit.to_owned(), source })
}
