//! This host over a window: the counters of `counters.rs`, receive queues and interrupts by CPU, what TCP counts beyond segments, losses of
//! the interfaces, and settings.
//!
//! What belongs to a network namespace (TCP, its settings, interfaces) is read where the watched process lives; devices of
//! Plumb's own namespace are read as well, because the packets of a container go through them. A counter that went back is absent.

mod interrupts;
mod losses;
mod named;
mod namespace;
mod programs;
mod softnet;

pub use named::{NamedCounters, named_counters};
pub use programs::{ProgramsSample, programs, sample_programs};

use crate::counters::{InterfaceCounters, interface_deltas, parse_interfaces};
use crate::tcp_limits::{TcpLimits, tcp_limits};
use crate::{HostRoot, HostSample, ObserveError, growth, host_delta, sample_host};
use interrupts::Interrupts;
use losses::{Losses, Place};
use plumb_model::observed::{HostWindow, ReceivingConnection, TcpWindow};
use softnet::Softnet;
use std::collections::BTreeMap;

/// Settings of a network namespace that limits of sockets hang on.
const NETWORK_SETTINGS: [&str; 8] = [
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_max_syn_backlog",
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/core/somaxconn",
    "net/core/netdev_max_backlog",
];

/// Settings of the host that dirty pages hang on. Of a ratio and its bytes the one that is 0 is not in force.
const HOST_SETTINGS: [&str; 7] = [
    "net/core/netdev_budget",
    "vm/dirty_ratio",
    "vm/dirty_bytes",
    "vm/dirty_background_ratio",
    "vm/dirty_background_bytes",
    "vm/dirty_expire_centisecs",
    "vm/swappiness",
];

/// One reading.
#[derive(Debug, Clone)]
pub struct HostWindowSample {
    host: HostSample,
    softnet: Softnet,
    interrupts: Interrupts,
    losses: Losses,
    network: NetworkSample,
    /// Of the host, whatever the namespace.
    settings: BTreeMap<String, String>,
    missing: Vec<String>,
}

/// What is of one network namespace.
#[derive(Debug, Clone, Default)]
struct NetworkSample {
    /// The process whose namespace it is, where that is not Plumb's own.
    of: Option<u32>,
    tcp: BTreeMap<String, u64>,
    limits: BTreeMap<u64, TcpLimits>,
    settings: BTreeMap<String, String>,
    /// Of the other namespace only.
    interfaces: Vec<InterfaceCounters>,
    losses: Losses,
}

/// Reads the counters once. What is of a network namespace is that of `process`, where one is given.
///
/// # Errors
/// On a host without `/proc/stat`; what else cannot be read is absent, with its reason.
pub fn sample_host_window(root: &HostRoot, process: Option<u32>) -> Result<HostWindowSample, ObserveError> {
    let mut missing = Vec::new();
    let text = |path: &str| root.read(path).unwrap_or_default();
    let place = Place { folder: "/sys/class/net", dev: &text("/proc/net/dev"), is_here: root.is_host() };
    let elsewhere = process.filter(|pid| namespace::is_elsewhere(root, *pid) == Some(true));
    Ok(HostWindowSample {
        host: sample_host(root)?,
        softnet: softnet::parse(&text("/proc/net/softnet_stat")),
        interrupts: interrupts::read(root),
        losses: losses::read(root, &place),
        network: match elsewhere {
            Some(pid) => elsewhere_sample(root, pid, &mut missing),
            None => NetworkSample {
                tcp: tcp(root, "/proc/net"),
                limits: if root.is_host() { limits() } else { BTreeMap::new() },
                settings: settings(root, &NETWORK_SETTINGS),
                ..NetworkSample::default()
            },
        },
        settings: settings(root, &HOST_SETTINGS),
        missing,
    })
}

/// The network namespace of a process that is not Plumb's own: its tables are beside the process, its settings within.
fn elsewhere_sample(root: &HostRoot, pid: u32, missing: &mut Vec<String>) -> NetworkSample {
    let folder = format!("/proc/{pid}/net");
    let dev = root.read(&format!("{folder}/dev")).unwrap_or_default();
    let sysfs = format!("/proc/{pid}/root/sys/class/net");
    // Its files may show the interfaces of another namespace than its own: then they are not its.
    let shown = root.list(&sysfs).unwrap_or_default();
    let interfaces = parse_interfaces(&dev);
    let is_its = interfaces.iter().all(|interface| shown.iter().any(|name| name == interface.name()));
    let place = Place { folder: if is_its { &sysfs } else { "" }, dev: &dev, is_here: root.is_host() };
    let inside = || Within {
        settings: settings(root, &NETWORK_SETTINGS),
        losses: losses::read(root, &place),
        limits: limits(),
    };
    let Within { settings, losses, limits } = namespace::within(pid, inside).unwrap_or_else(|error| {
        missing.push(format!("network settings and driver counters of process {pid}: {}", error.reason()));
        let losses = losses::read(root, &Place { is_here: false, ..place });
        Within { settings: BTreeMap::new(), losses, limits: BTreeMap::new() }
    });
    NetworkSample { of: Some(pid), tcp: tcp(root, &folder), limits, settings, interfaces, losses }
}

/// What only whoever is in a network namespace can ask there.
struct Within {
    settings: BTreeMap<String, String>,
    losses: Losses,
    limits: BTreeMap<u64, TcpLimits>,
}

/// The connections' own counters; none where the kernel does not tell.
fn limits() -> BTreeMap<u64, TcpLimits> {
    tcp_limits().unwrap_or_default().into_iter().map(|connection| (connection.cookie, connection)).collect()
}

/// The share of the time in which connections that both readings have were busy for which a limit held them back.
fn limited_share(
    before: &BTreeMap<u64, TcpLimits>,
    after: &BTreeMap<u64, TcpLimits>,
    limit: fn(&TcpLimits) -> u64,
) -> Option<f64> {
    let both = || after.values().filter_map(|later| Some((before.get(&later.cookie)?, later)));
    let grown = |of: fn(&TcpLimits) -> u64| -> u64 {
        both().filter_map(|(earlier, later)| of(later).checked_sub(of(earlier))).sum()
    };
    let busy = grown(|connection| connection.busy_us);
    (busy > 0).then(|| (grown(limit) as f64 / busy as f64).min(1.0))
}

/// Of the connections that both readings have, the one with most bytes on the way to here: rate times round trip.
fn longest_receiver(
    before: &BTreeMap<u64, TcpLimits>,
    after: &BTreeMap<u64, TcpLimits>,
    elapsed_ns: u64,
) -> Option<ReceivingConnection> {
    let seconds = (elapsed_ns > 0).then_some(elapsed_ns as f64 / 1e9)?;
    let receivers = after.values().filter_map(|later| {
        let bytes = later.received_bytes.checked_sub(before.get(&later.cookie)?.received_bytes)?;
        let round_trip_ns = f64::from(later.round_trip_us?) * 1e3;
        Some(ReceivingConnection { bytes_per_s: bytes as f64 / seconds, round_trip_ns })
    });
    let on_the_way = |one: &ReceivingConnection| one.bytes_per_s * one.round_trip_ns;
    receivers.max_by(|a, b| on_the_way(a).total_cmp(&on_the_way(b))).filter(|one| one.bytes_per_s > 0.0)
}

fn settings(root: &HostRoot, names: &[&str]) -> BTreeMap<String, String> {
    let setting = |name: &&str| {
        let text = root.read(&format!("/proc/sys/{name}")).ok()?;
        Some((name.replace('/', "."), text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
    };
    names.iter().filter_map(setting).collect()
}

fn tcp(root: &HostRoot, folder: &str) -> BTreeMap<String, u64> {
    let mut tcp = pairs(&root.read(&format!("{folder}/netstat")).unwrap_or_default(), "TcpExt:");
    tcp.extend(pairs(&root.read(&format!("{folder}/snmp")).unwrap_or_default(), "Tcp:"));
    tcp
}

/// What happened between two readings.
pub fn host_window(before: &HostWindowSample, after: &HostWindowSample) -> HostWindow {
    let (network_before, network) = (&before.network, &after.network);
    // A number that went to a process elsewhere meanwhile: nothing can be compared.
    let same = network_before.of == network.of;
    let tcp = |name: &str| {
        growth(network_before.tcp.get(name).copied(), network.tcp.get(name).copied()).filter(|_| same)
    };
    let counters = host_delta(&before.host, &after.host);
    let mut window = HostWindow {
        programs: Vec::new(),
        softnet: softnet::delta(&before.softnet, &after.softnet),
        interrupts: interrupts::delta(&before.interrupts, &after.interrupts),
        network_of: network.of,
        tcp: TcpWindow {
            sent_segments: tcp("OutSegs"),
            retransmitted: tcp("RetransSegs"),
            timeouts: tcp("TCPTimeouts"),
            listen_overflows: tcp("ListenOverflows"),
            zero_windows: tcp("TCPToZeroWindowAdv"),
            delayed_acks: tcp("DelayedACKs"),
            passive_opens: tcp("PassiveOpens"),
            send_buffer_limited_share: limited_share(&network_before.limits, &network.limits, |connection| {
                connection.buffer_limited_us
            })
            .filter(|_| same),
            receive_window_limited_share: limited_share(
                &network_before.limits,
                &network.limits,
                |connection| connection.window_limited_us,
            )
            .filter(|_| same),
            longest_receiver: longest_receiver(&network_before.limits, &network.limits, counters.elapsed_ns)
                .filter(|_| same),
        },
        nic_drops: losses::delta(&before.losses, &after.losses),
        links: after.losses.links.clone(),
        settings: network.settings.clone(),
        counters,
    };
    window.counters.missing.extend(after.missing.clone());
    window.settings.extend(after.settings.clone());
    if let Some(pid) = network.of.filter(|_| same) {
        add_elsewhere(&mut window, pid, network_before, network);
    }
    window
}

/// Interfaces of the other namespace beside those of Plumb's own, told apart by their names.
fn add_elsewhere(window: &mut HostWindow, pid: u32, before: &NetworkSample, after: &NetworkSample) {
    let named = |name: &str| format!("{name} of process {pid}");
    let deltas = interface_deltas(&before.interfaces, &after.interfaces);
    for mut interface in deltas.into_iter().filter(|interface| interface.name != "lo") {
        interface.name = named(&interface.name);
        window.counters.interfaces.push(interface);
    }
    let drops = losses::delta(&before.losses, &after.losses);
    window.nic_drops.extend(drops.into_iter().filter_map(|(name, packets)| {
        let (interface, counter) = name.split_once(' ')?;
        Some((format!("{} {counter}", named(interface)), packets))
    }));
    let links = after.losses.links.iter().map(|(name, bytes)| (named(name), *bytes));
    window.links.extend(links);
}

/// Two lines with the same head: names, then values.
fn pairs(text: &str, head: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(head));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let values = values.split_ascii_whitespace().map(str::parse);
    names
        .split_ascii_whitespace()
        .zip(values)
        .filter_map(|(name, value)| Some((name.to_owned(), value.ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = folder.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn tcp_lines(overflows: u64, zero_windows: u64) -> String {
        format!(
            "TcpExt: SyncookiesSent ListenOverflows TCPTimeouts TCPToZeroWindowAdv\nTcpExt: 0 {overflows} 9 {zero_windows}\nIpExt: A\nIpExt: 1\n"
        )
    }

    const STAT: &str = "cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n";

    #[test]
    fn counters_of_tcp_are_found_by_their_names_and_one_that_went_back_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let sample = |overflows, zero_windows| {
            let netstat = tcp_lines(overflows, zero_windows);
            write(folder.path(), &[("/proc/stat", STAT), ("/proc/net/netstat", &netstat)]);
            sample_host_window(&HostRoot::new(folder.path()), None).unwrap()
        };
        let (before, after) = (sample(4, 70), sample(10, 3));
        let tcp = host_window(&before, &after).tcp;
        let expected = TcpWindow { listen_overflows: Some(6), timeouts: Some(0), ..TcpWindow::default() };
        assert_eq!(tcp, expected);
    }

    #[test]
    fn the_share_for_which_a_limit_held_back_is_of_connections_that_both_readings_have() {
        let reading = |rows: &[[u64; 3]]| -> BTreeMap<u64, TcpLimits> {
            let row = |[cookie, busy_us, buffer_limited_us]: &[u64; 3]| {
                let (cookie, busy_us, buffer_limited_us) = (*cookie, *busy_us, *buffer_limited_us);
                (cookie, TcpLimits { cookie, busy_us, buffer_limited_us, ..TcpLimits::default() })
            };
            rows.iter().map(row).collect()
        };
        // Of 400 and 600 us busy 100 and 200 us: the one that came, and the one that went, do not count.
        let before = reading(&[[1, 1000, 50], [2, 0, 0], [3, 9, 9]]);
        let after = reading(&[[1, 1400, 150], [2, 600, 200], [4, 5000, 5000]]);
        assert_eq!(limited_share(&before, &after, |one| one.buffer_limited_us), Some(0.3));
        assert_eq!(limited_share(&before, &after, |one| one.window_limited_us), Some(0.0));
        assert_eq!(limited_share(&before, &before, |one| one.buffer_limited_us), None);
    }

    #[test]
    fn the_longest_receiver_is_the_connection_with_most_bytes_on_the_way() {
        let reading = |received: [u64; 3]| -> BTreeMap<u64, TcpLimits> {
            let one = |(at, received_bytes)| {
                let round_trip_us = [Some(50), Some(50_000), None][at];
                let cookie = at as u64;
                (cookie, TcpLimits { cookie, received_bytes, round_trip_us, ..TcpLimits::default() })
            };
            received.into_iter().enumerate().map(one).collect()
        };
        let found = longest_receiver(
            &reading([0, 1_000, 0]),
            &reading([9_000_000, 601_000, u64::MAX]),
            2_000_000_000,
        );
        assert_eq!(found, Some(ReceivingConnection { bytes_per_s: 300_000.0, round_trip_ns: 50_000_000.0 }));
        assert_eq!(longest_receiver(&reading([0, 0, 0]), &reading([0, 0, 0]), 2_000_000_000), None);
    }

    /// A process with a network namespace of its own: links tell so.
    fn elsewhere(folder: &Path, pid: u32) {
        for (who, number) in [("self".to_owned(), 1), (pid.to_string(), 2)] {
            let namespaces = folder.join(format!("proc/{who}/ns"));
            fs::create_dir_all(&namespaces).unwrap();
            std::os::unix::fs::symlink(format!("net:[{number}]"), namespaces.join("net")).unwrap();
        }
    }

    #[test]
    fn tcp_and_interfaces_are_those_of_the_process_that_lives_elsewhere_and_its_interfaces_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let pid = u32::MAX;
        elsewhere(folder.path(), pid);
        let sample = |bytes: u64| {
            let dev = |bytes: u64| format!("eth0: {bytes} 9 0 {bytes} 0 0 0 0 9 9 0 0 0 0 0 0\n");
            write(
                folder.path(),
                &[
                    ("/proc/stat", STAT),
                    ("/proc/net/netstat", &tcp_lines(0, 0)),
                    ("/proc/net/dev", &dev(10 * bytes)),
                    (&format!("/proc/{pid}/net/netstat"), &tcp_lines(bytes, 0)),
                    (&format!("/proc/{pid}/net/dev"), &dev(bytes)),
                ],
            );
            sample_host_window(&HostRoot::new(folder.path()), Some(pid)).unwrap()
        };
        let (before, after) = (sample(5), sample(9));
        let window = host_window(&before, &after);
        assert_eq!((window.network_of, window.tcp.listen_overflows), (Some(pid), Some(4)));
        let received: Vec<_> =
            window.counters.interfaces.iter().map(|face| (face.name.as_str(), face.received_bytes)).collect();
        let theirs = format!("eth0 of process {pid}");
        assert_eq!(received, [("eth0", Some(40)), (theirs.as_str(), Some(4))]);
        let drops = [(format!("{theirs} rx_dropped"), 4), ("eth0 rx_dropped".to_owned(), 40)];
        assert_eq!(window.nic_drops, BTreeMap::from(drops));
        // Nobody has that number, so its settings cannot be had.
        assert!(window.counters.missing.iter().any(|missing| missing.contains("network settings")));
    }

    #[test]
    fn the_settings_of_this_host_are_told() {
        let sample = sample_host_window(&HostRoot::default(), Some(std::process::id())).unwrap();
        let window = host_window(&sample, &sample);
        assert_eq!(window.network_of, None);
        assert!(
            window.settings.contains_key("net.ipv4.tcp_rmem")
                && window.settings.contains_key("vm.dirty_bytes")
        );
    }
}
