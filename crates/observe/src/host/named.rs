//! Every counter of a host by a name of its own, for whoever wants to know whether a certain one grew.
//!
//! | name | source |
//! |---|---|
//! | `softnet.cpu3.dropped` | `/proc/net/softnet_stat` |
//! | `TcpExt.ListenOverflows`, `Udp.RcvbufErrors` | `/proc/net/netstat`, `/proc/net/snmp` |
//! | `snmp6.Udp6RcvbufErrors` | `/proc/net/snmp6` |
//! | `udp.9000.drops` | `/proc/net/udp` and `udp6`, over all sockets of a local port |
//! | `irq.eth0-TxRx-3.cpu3` | `/proc/interrupts` |
//! | `softirq.NET_RX.cpu3` | `/proc/softirqs` |
//! | `cpu3.softirq_ticks` | `/proc/stat` |
//! | `cpu3.run_delay_ns` | `/proc/schedstat` |
//! | `conntrack.drop` | `/proc/net/stat/nf_conntrack` |
//! | `vmstat.pgscan_direct` | `/proc/vmstat` |
//! | `disk.sda.written_sectors` | `/proc/diskstats` |
//! | `nic.eth0.rx_missed_errors` | the kernel's counters of an interface and its driver's |
//! | `pressure.io.some_us` | `/proc/pressure` |
//! | `tcp.1f3.buffer_limited_us`, `tcp.1f3.receive_buffer_bytes` | `tcp_info` of each connection, by the kernel's number for it, its ports and buffers |
//! | `udp.9000.buffer_bytes`, `udp.9000.unread_bytes` | receive buffer of the socket at a local port, and what is in it; of several that which dropped most |
//! | `qdisc.eth0.tbf 1:.drops` | each queueing discipline of an interface |
//! | `listen.9092.queue`, `listen.9092.limit` | connections that wait to be accepted at a port, and how many may; of several sockets the fullest |
//!
//! A name that this kernel has not is absent.

use super::pairs;
use crate::queue_disciplines::{QueueDiscipline, queue_disciplines};
use crate::tcp_limits::{TcpListener, UdpBuffer, tcp_limits, tcp_listeners, udp_buffers};
use crate::{HostRoot, ethtool};
use std::collections::BTreeMap;

/// One reading.
pub type NamedCounters = BTreeMap<String, u64>;

/// Interfaces that are asked, at most (ours).
const INTERFACES_MAX: usize = 64;

/// Reads all counters once: some milliseconds on a small host.
pub fn named_counters(root: &HostRoot) -> NamedCounters {
    let mut named = NamedCounters::new();
    let text = |path: &str| root.read(path).unwrap_or_default();
    softnet(&text("/proc/net/softnet_stat"), &mut named);
    for file in ["/proc/net/netstat", "/proc/net/snmp"] {
        protocols(&text(file), &mut named);
    }
    snmp6(&text("/proc/net/snmp6"), &mut named);
    for file in ["/proc/net/udp", "/proc/net/udp6"] {
        datagrams(&text(file), &mut named);
    }
    table("irq", &text("/proc/interrupts"), name_of_interrupt, &mut named);
    table("softirq", &text("/proc/softirqs"), |_, label| Some(label.to_owned()), &mut named);
    processors(&text("/proc/stat"), &mut named);
    run_delays(&text("/proc/schedstat"), &mut named);
    conntrack(&text("/proc/net/stat/nf_conntrack"), &mut named);
    vmstat(&text("/proc/vmstat"), &mut named);
    disks(&text("/proc/diskstats"), &mut named);
    for kind in ["cpu", "io", "memory"] {
        pressure(kind, &text(&format!("/proc/pressure/{kind}")), &mut named);
    }
    interfaces(root, &mut named);
    if root.is_host() {
        connections(&mut named);
        listeners(&tcp_listeners().unwrap_or_default(), &mut named);
        datagram_buffers(&udp_buffers().unwrap_or_default(), &mut named);
        disciplines(&queue_disciplines().unwrap_or_default(), &mut named);
    }
    named
}

/// For how long each TCP connection was held back, and its own buffers; none where the kernel does not tell.
fn connections(named: &mut NamedCounters) {
    for connection in tcp_limits().unwrap_or_default() {
        let cookie = connection.cookie;
        let buffers = connection.buffers;
        for (what, value) in [
            ("busy_us", Some(connection.busy_us)),
            ("window_limited_us", Some(connection.window_limited_us)),
            ("buffer_limited_us", Some(connection.buffer_limited_us)),
            ("received_bytes", Some(connection.received_bytes)),
            ("local_port", Some(connection.local_port.into())),
            ("remote_port", Some(connection.remote_port.into())),
            ("receive_buffer_bytes", buffers.map(|own| own.receive_bytes.into())),
            ("send_buffer_bytes", buffers.map(|own| own.send_bytes.into())),
        ] {
            named.extend(value.map(|value| (format!("tcp.{cookie:x}.{what}"), value)));
        }
    }
}

/// Of several sockets at one port the one that dropped most, and of those the one with the smallest buffer.
fn datagram_buffers(found: &[UdpBuffer], named: &mut NamedCounters) {
    let mut worst: BTreeMap<u16, &UdpBuffer> = BTreeMap::new();
    for one in found {
        let is_worse = |other: &&UdpBuffer| {
            (one.drops, other.buffers.receive_bytes) > (other.drops, one.buffers.receive_bytes)
        };
        if worst.get(&one.port).is_none_or(is_worse) {
            worst.insert(one.port, one);
        }
    }
    for (port, one) in worst {
        named.insert(format!("udp.{port}.buffer_bytes"), one.buffers.receive_bytes.into());
        named.insert(format!("udp.{port}.unread_bytes"), one.buffers.unread_bytes.into());
    }
}

/// Those that the kernel made by itself have no number and are one by their name: a card with many queues has one for each.
fn disciplines(found: &[QueueDiscipline], named: &mut NamedCounters) {
    for one in found {
        for (what, value) in [("drops", one.drops), ("overlimits", one.overlimits)] {
            let name = format!("qdisc.{}.{}.{what}", one.interface, one.words());
            let sum = named.entry(name).or_default();
            *sum = sum.saturating_add(value.into());
        }
    }
}

/// Of several sockets at one port the one whose queue is fullest, and of those the one with the least room.
fn listeners(found: &[TcpListener], named: &mut NamedCounters) {
    let mut fullest: BTreeMap<u16, &TcpListener> = BTreeMap::new();
    for one in found {
        let is_fuller = |other: &&TcpListener| {
            let (own, its) = (
                u64::from(one.queue) * u64::from(other.limit),
                u64::from(other.queue) * u64::from(one.limit),
            );
            own > its || (own == its && one.limit < other.limit)
        };
        if fullest.get(&one.port).is_none_or(is_fuller) {
            fullest.insert(one.port, one);
        }
    }
    for (port, one) in fullest {
        named.insert(format!("listen.{port}.queue"), one.queue.into());
        named.insert(format!("listen.{port}.limit"), one.limit.into());
    }
}

/// `Udp6RcvbufErrors 5`, with blanks and a tab between.
fn snmp6(text: &str, named: &mut NamedCounters) {
    let row = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((format!("snmp6.{name}"), value.trim().parse().ok()?))
    };
    named.extend(text.lines().filter_map(row));
}

/// `12: 00000000:2328 00000000:0000 07 ... drops`: the last of thirteen columns.
fn datagrams(text: &str, named: &mut NamedCounters) {
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, .., drops] = words[..] else { continue };
        let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        if let (13.., Some(port), Ok(drops)) = (words.len(), port, drops.parse::<u64>()) {
            let sum = named.entry(format!("udp.{port}.drops")).or_default();
            *sum = sum.saturating_add(drops);
        }
    }
}

/// Columns of `/proc/net/softnet_stat` (net/core/net-procfs.c); the 13th is the processor since Linux 5.10.
fn softnet(text: &str, named: &mut NamedCounters) {
    for (line, text) in text.lines().enumerate() {
        let columns: Vec<u64> =
            text.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let cpu = columns.get(12).copied().unwrap_or(line as u64);
        for (at, name) in
            [(0, "processed"), (1, "dropped"), (2, "time_squeeze"), (9, "received_rps"), (10, "flow_limit")]
        {
            if let Some(value) = columns.get(at) {
                named.insert(format!("softnet.cpu{cpu}.{name}"), *value);
            }
        }
    }
}

/// Two lines with one head: names, then values.
fn protocols(text: &str, named: &mut NamedCounters) {
    let heads: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    for head in heads.iter().step_by(2) {
        let of = pairs(text, &format!("{head}:"));
        named.extend(of.into_iter().map(|(name, value)| (format!("{head}.{name}"), value)));
    }
}

/// A table with a head of processors.
fn table(kind: &str, text: &str, name: impl Fn(&[&str], &str) -> Option<String>, named: &mut NamedCounters) {
    let mut lines = text.lines();
    let cpus: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let Some((counts, rest)) = words.split_at_checked(cpus.len()) else { continue };
        let Some(name) = name(rest, label.trim()) else { continue };
        for (cpu, count) in cpus.iter().zip(counts) {
            if let Ok(count) = count.parse::<u64>() {
                // Two interrupts of one name are one counter.
                *named.entry(format!("{kind}.{name}.{}", cpu.to_ascii_lowercase())).or_default() += count;
            }
        }
    }
}

fn name_of_interrupt(rest: &[&str], label: &str) -> Option<String> {
    match label.bytes().all(|byte| byte.is_ascii_digit()) {
        true => rest.last().map(|name| (*name).to_owned()),
        false => Some(label.to_owned()),
    }
}

/// `cpu3 user nice system idle iowait irq softirq steal ...`
fn processors(text: &str, named: &mut NamedCounters) {
    const COLUMNS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    for line in text.lines().filter(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next().unwrap_or_default();
        for (column, value) in COLUMNS.iter().zip(words) {
            if let Ok(value) = value.parse() {
                named.insert(format!("{cpu}.{column}_ticks"), value);
            }
        }
    }
}

/// Time that threads waited for a processor: the eighth number of its line (kernel documentation, scheduler/sched-stats.rst).
fn run_delays(text: &str, named: &mut NamedCounters) {
    for line in text.lines().filter(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        if let (Some(cpu), Some(Ok(delay))) = (words.next(), words.nth(7).map(str::parse)) {
            named.insert(format!("{cpu}.run_delay_ns"), delay);
        }
    }
}

/// A head of names, then a line of hexadecimal numbers for each processor. The first column is the table's size, on every line anew.
fn conntrack(text: &str, named: &mut NamedCounters) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    for line in lines {
        for (name, word) in names.iter().zip(line.split_ascii_whitespace()).skip(1) {
            if let Ok(count) = u64::from_str_radix(word, 16) {
                let sum = named.entry(format!("conntrack.{name}")).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
}

fn vmstat(text: &str, named: &mut NamedCounters) {
    let row = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((format!("vmstat.{name}"), value.trim().parse().ok()?))
    };
    named.extend(text.lines().filter_map(row));
}

/// Columns after major, minor and name (kernel documentation, admin-guide/iostats.rst).
fn disks(text: &str, named: &mut NamedCounters) {
    const COLUMNS: [&str; 17] = [
        "reads",
        "reads_merged",
        "read_sectors",
        "read_ms",
        "writes",
        "writes_merged",
        "written_sectors",
        "write_ms",
        "in_flight",
        "io_ms",
        "queue_ms",
        "discards",
        "discards_merged",
        "discarded_sectors",
        "discard_ms",
        "flushes",
        "flush_ms",
    ];
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(disk) = words.next() else { continue };
        for (column, value) in COLUMNS.iter().zip(words) {
            if let Ok(value) = value.parse() {
                named.insert(format!("disk.{disk}.{column}"), value);
            }
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`
fn pressure(kind: &str, text: &str, named: &mut NamedCounters) {
    for line in text.lines() {
        let Some((who, rest)) = line.split_once(' ') else { continue };
        let total = rest.split_ascii_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok());
        if let Some(total) = total {
            named.insert(format!("pressure.{kind}.{who}_us"), total);
        }
    }
}

fn interfaces(root: &HostRoot, named: &mut NamedCounters) {
    let names = root.list("/sys/class/net").unwrap_or_default();
    // Those of the namespace in which /sys was mounted; one that this namespace does not have lost nothing of its packets.
    let table = root.read("/proc/net/dev").unwrap_or_default();
    let own: Vec<&str> = table.lines().filter_map(|line| Some(line.rsplit_once(':')?.0.trim())).collect();
    let is_own = |name: &String| name != "lo" && (own.is_empty() || own.contains(&name.as_str()));
    for interface in names.into_iter().filter(is_own).take(INTERFACES_MAX) {
        let folder = format!("/sys/class/net/{interface}/statistics");
        for counter in root.list(&folder).unwrap_or_default() {
            let value =
                root.read(&format!("{folder}/{counter}")).ok().and_then(|text| text.trim().parse().ok());
            if let Some(value) = value {
                named.insert(format!("nic.{interface}.{counter}"), value);
            }
        }
        if root.is_host() {
            for counter in ethtool::counters(&interface).unwrap_or_default() {
                named.entry(format!("nic.{interface}.{}", counter.name)).or_insert(counter.value);
            }
        } else {
            // A recorded host has what `ethtool -S` showed.
            let text = root.read(&format!("/ethtool/{interface}/statistics")).unwrap_or_default();
            let row = |line: &str| {
                let (name, value) = line.rsplit_once(':')?;
                Some((format!("nic.{interface}.{}", name.trim()), value.trim().parse().ok()?))
            };
            named.extend(text.lines().filter_map(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_source_gives_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = folder.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        write("proc/net/softnet_stat", "a 2 1 0 0 0 0 0 0 7 3 0 1\n");
        write("proc/net/netstat", "TcpExt: ListenOverflows\nTcpExt: 4\nIpExt: InOctets\nIpExt: 9\n");
        write("proc/net/snmp", "Udp: InDatagrams RcvbufErrors\nUdp: 5 6\n");
        write("proc/net/snmp6", "Ip6InReceives  \t8\nUdp6RcvbufErrors                \t5\n");
        let udp = |port: &str, drops: u32| {
            format!(
                "  1: 00000000:{port} 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 99 2 0 {drops}\n"
            )
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode ref pointer drops\n";
        write("proc/net/udp", &[head, &udp("2328", 3), &udp("2328", 4), &udp("0035", 0)].concat());
        write("proc/interrupts", " CPU0 CPU1\n 24: 7 8 PCI-MSI 1-edge eth0-rx\nLOC: 1 2 Local timer\n");
        write("proc/softirqs", " CPU0 CPU1\n NET_RX: 3 4\n");
        write("proc/stat", "cpu 1 1 1 1 1 1 1 1\ncpu1 1 2 3 4 5 6 7 8\n");
        write("proc/vmstat", "pgscan_direct 12\n");
        write("proc/schedstat", "version 15\ntimestamp 9\ncpu1 0 0 3 4 5 6 70 80 9\ndomain0 3 0 0\n");
        write("proc/net/stat/nf_conntrack", "entries found drop\n0005 00 0a\n0005 00 01\n");
        write("proc/diskstats", " 8 0 sda 1 2 3 4 5 6 7 8 0 10 11\n");
        write("proc/pressure/io", "some avg10=0.00 total=33\nfull avg10=0.00 total=22\n");
        write("sys/class/net/eth0/statistics/rx_dropped", "17\n");
        write("ethtool/eth0/statistics", "NIC statistics:\n     rx_no_dma_resources: 19\n");
        let named = named_counters(&HostRoot::new(folder.path()));
        for (name, value) in [
            ("softnet.cpu1.dropped", 2),
            ("softnet.cpu1.received_rps", 7),
            ("TcpExt.ListenOverflows", 4),
            ("IpExt.InOctets", 9),
            ("Udp.RcvbufErrors", 6),
            ("snmp6.Udp6RcvbufErrors", 5),
            ("udp.9000.drops", 7),
            ("udp.53.drops", 0),
            ("irq.eth0-rx.cpu1", 8),
            ("irq.LOC.cpu0", 1),
            ("softirq.NET_RX.cpu0", 3),
            ("cpu1.softirq_ticks", 7),
            ("vmstat.pgscan_direct", 12),
            ("cpu1.run_delay_ns", 80),
            ("conntrack.drop", 11),
            ("disk.sda.written_sectors", 7),
            ("pressure.io.some_us", 33),
            ("nic.eth0.rx_dropped", 17),
            ("nic.eth0.rx_no_dma_resources", 19),
        ] {
            assert_eq!(named.get(name), Some(&value), "{name}");
        }
    }

    #[test]
    fn of_several_sockets_at_a_port_the_fullest_speaks() {
        let of = |queue, limit| TcpListener { port: 9092, queue, limit };
        for sockets in [[of(5, 4096), of(129, 128)], [of(0, 4096), of(0, 128)]] {
            let mut named = NamedCounters::new();
            listeners(&sockets, &mut named);
            assert_eq!(named["listen.9092.limit"], 128);
            assert_eq!(named["listen.9092.queue"], u64::from(sockets[1].queue));
        }
    }

    #[test]
    fn disciplines_of_one_name_are_one_counter() {
        let of = |handle, drops| QueueDiscipline {
            interface: "eth0.7".to_owned(),
            kind: "fq_codel".to_owned(),
            handle,
            stands: crate::queue_disciplines::Stands::Below(0),
            drops,
            overlimits: 1,
        };
        let mut named = NamedCounters::new();
        disciplines(&[of(0, 3), of(0, 4), of(0x10, 5)], &mut named);
        assert_eq!(named["qdisc.eth0.7.fq_codel 0: within 0:.drops"], 7);
        assert_eq!(named["qdisc.eth0.7.fq_codel 10: within 0:.drops"], 5);
        assert_eq!(named["qdisc.eth0.7.fq_codel 0: within 0:.overlimits"], 2);
    }

    #[test]
    fn of_sockets_at_one_port_the_one_that_dropped_most_tells_its_buffer() {
        let of = |drops, receive_bytes| UdpBuffer {
            port: 53,
            buffers: crate::tcp_limits::Buffers { receive_bytes, send_bytes: 9, unread_bytes: 5 },
            drops,
        };
        for all in [[of(0, 9), of(4, 700), of(4, 800)], [of(4, 800), of(4, 700), of(0, 9)]] {
            let mut named = NamedCounters::new();
            datagram_buffers(&all, &mut named);
            assert_eq!((named["udp.53.buffer_bytes"], named["udp.53.unread_bytes"]), (700, 5));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)(.{0,12}[: ]{1,2}[0-9a-f]{0,20} ?){0,12}\n{0,2}.{0,30}") {
            let mut named = NamedCounters::new();
            softnet(&text, &mut named);
            protocols(&text, &mut named);
            table("irq", &text, name_of_interrupt, &mut named);
            processors(&text, &mut named);
            disks(&text, &mut named);
            pressure("io", &text, &mut named);
            conntrack(&text, &mut named);
            snmp6(&text, &mut named);
            datagrams(&text, &mut named);
            run_delays(&text, &mut named);
        }
    }
}
