//! What a check could not see: sources without a counter, and networks that it was not in. Nothing seen is not nothing lost.

use crate::devices::Interface;
use crate::host::Host;
use crate::window::Window;
use std::collections::BTreeSet;

/// A source, the beginning and end of the names of counters that it always has, and what is not seen without them.
const SOURCES: &[(&str, &str, &str, &str)] = &[
    (
        "/proc/net/netstat",
        "TcpExt.",
        "",
        "no counters of TCP: full accept queues and dropped segments are not seen",
    ),
    (
        "/proc/net/snmp",
        "Tcp.",
        "",
        "no counters of IP, TCP and UDP: segments sent again, damaged packets and dropped datagrams are not seen",
    ),
    (
        "the kernel's queueing disciplines (rtnetlink)",
        "qdisc.",
        ".drops",
        "no counters of the queues through which this host sends: packets that it drops itself on the way out are not seen",
    ),
    (
        "/proc/net/softnet_stat",
        "softnet.",
        ".dropped",
        "no counters of the processors' backlogs: packets dropped there, and rounds that end early, are not seen",
    ),
    (
        "/proc/stat",
        "cpu",
        "_ticks",
        "no times of processors: busy processors, time of interrupts and stolen time are not seen",
    ),
    ("/proc/interrupts", "irq.", "", "no interrupts: which processor serves which queue is not seen"),
    (
        "/proc/softirqs",
        "softirq.",
        "",
        "no rounds of the kernel's work: which processor ends requests is not seen",
    ),
    (
        "/proc/vmstat",
        "vmstat.",
        "",
        "no counters of memory: programs that wait for memory, and pages that wait for the disk, are not seen",
    ),
    ("/proc/diskstats", "disk.", "", "no counters of disks: slow requests, queues and flushes are not seen"),
    (
        "/proc/pressure",
        "pressure.",
        "",
        "no times of waiting: how long programs wait for processors, memory and disks is not seen",
    ),
];

/// A list of names is cut here. Ours.
const NAMES_MAX: usize = 3;

/// Sources of which the window has no counter at all, each with what cannot be seen for it.
pub(super) fn sources(host: &Host, window: &Window, interfaces: &[Interface]) -> Vec<String> {
    let silent = SOURCES.iter().filter(|(_, start, end, _)| window.matching(start, end).next().is_none());
    let mut unseen: Vec<String> = silent.map(|(path, _, _, words)| format!("{path}: {words}")).collect();
    if host.root().list("/sys/class/net").is_err() {
        unseen.push(
            "/sys/class/net: no network interface can be looked at: their settings, and packets lost before the network stack, are not seen"
                .to_owned(),
        );
    }
    let is_silent = |found: &&Interface| {
        found.is_up && window.matching(&format!("nic.{}.", found.name), "").next().is_none()
    };
    let silent: Vec<&str> = interfaces.iter().filter(is_silent).map(|found| found.name.as_str()).collect();
    if !silent.is_empty() {
        unseen.push(format!("no counters of {}: packets that they lost are not seen", listed(&silent)));
    }
    if host.root().list("/sys/block").is_err() {
        unseen.push("/sys/block: no disk can be looked at: their settings are not seen".to_owned());
    }
    unseen
}

/// Interfaces that /sys shows are those of the namespace in which it was mounted: whoever enters another one with `nsenter --net` alone sees
/// there what is not its own.
pub(super) fn foreign_interfaces(host: &Host) -> Option<String> {
    let table = host.root().read("/proc/net/dev").ok()?;
    let own: BTreeSet<&str> =
        table.lines().filter_map(|line| Some(line.rsplit_once(':')?.0.trim())).collect();
    let shown = host.root().list("/sys/class/net").ok()?;
    // A bonding's list of masters is a file among the directories.
    let is_interface = |name: &&String| host.root().exists(&format!("/sys/class/net/{name}/queues"));
    let shown: BTreeSet<&str> = shown.iter().filter(is_interface).map(String::as_str).collect();
    (!own.is_empty() && own != shown).then(|| {
        "the interfaces of this network namespace: /sys shows those of another one, so that settings and counters of interfaces here are not those of this network; `unshare --mount sh -c 'mount -t sysfs none /sys && plumb check'` (root) sees its own".to_owned()
    })
}

/// Processes whose network is not the one that was looked at, and the way into it.
pub(super) fn networks(host: &Host, processes: &[u32]) -> Vec<String> {
    let of = |who: &str| host.root().link(&format!("/proc/{who}/ns/net"));
    let Some(own) = of("self") else { return Vec::new() };
    let told = |process: &u32| match of(&process.to_string()) {
        Some(its) if its == own => None,
        Some(_) => Some(format!(
            "the network of process {process}: it is in another network namespace, whose interfaces, losses and settings were not looked at; `nsenter --net --target {process} unshare --mount sh -c 'mount -t sysfs none /sys && plumb check'` (root) does"
        )),
        None => Some(format!(
            "the network of process {process}: the kernel does not tell this user whether it is in this network namespace; root may ask"
        )),
    };
    processes.iter().filter_map(told).collect()
}

fn listed(names: &[&str]) -> String {
    let first = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => first,
        more => format!("{first} and {more} other interfaces"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices;
    use crate::tunables::recorded::Recorded;
    use plumb_observe::named_counters;

    fn unseen(recorded: &Recorded) -> Vec<String> {
        let host = recorded.host();
        let read = || named_counters(host.root());
        sources(&host, &Window::new(read(), read(), 10.0), &devices::interfaces(&host))
    }

    fn names(recorded: &Recorded, source: &str) -> bool {
        unseen(recorded).iter().any(|told| told.starts_with(&format!("{source}: no ")))
    }

    #[test]
    fn a_source_without_counters_is_named_whether_it_is_absent_empty_or_garbage() {
        for (path, good) in [
            ("/proc/net/netstat", "TcpExt: ListenOverflows\nTcpExt: 0\n"),
            ("/proc/net/snmp", "Tcp: ActiveOpens OutSegs\nTcp: 1 1\n"),
            ("/proc/net/softnet_stat", "1 0 0 0 0 0 0 0 0 0 0 0 0\n"),
            ("/proc/vmstat", "pgfault 3\n"),
            ("/proc/diskstats", "8 0 sda 1 1 1 1\n"),
            ("/proc/stat", "cpu 1 1 1 1 1 1 1 1\n"),
        ] {
            if path != "/proc/stat" {
                assert!(names(&Recorded::new(), path), "{path} absent");
            }
            for bad in ["", "garbage", "\u{fffd}\u{1}: x\n", "TcpExt: a b\nTcpExt: what ever\n"] {
                assert!(names(&Recorded::new().file(path, bad), path), "{path} {bad:?}");
            }
            assert!(!names(&Recorded::new().file(path, good), path), "{path}");
        }
        assert!(names(&Recorded::new(), "/sys/class/net"));
    }

    #[test]
    fn an_interface_without_counters_is_named() {
        let silent = Recorded::interface("eth0", "ixgbe", 1);
        assert!(unseen(&silent).iter().any(|told| told.starts_with("no counters of eth0:")));
        let counts = silent.file("/sys/class/net/eth0/statistics/rx_packets", "5\n");
        assert!(!unseen(&counts).iter().any(|told| told.contains("eth0")));
    }

    #[test]
    fn interfaces_of_another_namespace_are_said_not_to_be_this_ones() {
        let own =
            || Recorded::interface("eth0", "ixgbe", 1).file("/sys/class/net/lo/queues/rx-0/rps_cpus", "0\n");
        let told = |host: Recorded| foreign_interfaces(&host.host());
        assert_eq!(told(own()), None);
        let alike = own().file("/proc/net/dev", "Inter-| Receive\n face |bytes\n lo: 1 2\neth0: 3 4\n");
        assert_eq!(told(alike), None);
        let other = own().file("/proc/net/dev", "Inter-| Receive\n face |bytes\n lo: 1 2\n v0: 3 4\n");
        assert!(told(other).unwrap().contains("/sys shows those of another one"));
    }

    #[test]
    fn a_process_in_another_network_is_said_not_to_be_looked_at() {
        let namespace = |host: Recorded, who: &str, number: u32| {
            host.text_link(&format!("/proc/{who}/ns/net"), &format!("net:[{number}]"))
        };
        let host = namespace(namespace(Recorded::new(), "self", 1), "77", 2);
        let told = networks(&host.host(), &[77]);
        assert!(told[0].contains("nsenter --net --target 77"), "{told:?}");
        let alike = namespace(namespace(Recorded::new(), "self", 1), "77", 1);
        assert!(networks(&alike.host(), &[77]).is_empty());
        assert!(networks(&alike.host(), &[78])[0].contains("does not tell"));
    }
}
