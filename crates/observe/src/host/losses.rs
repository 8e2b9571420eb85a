//! Counters of packets that an interface lost, by the names of its driver and of the kernel; and how fast its link is.
//!
//! Devices only (a directory `device` in sysfs) are asked for all; of others (veth, bridges) the kernel's own four are taken. Which name
//! is a loss is told by its words, because every driver has its own: `rx_missed_errors`, `rx_out_of_buffer`, `bw_in_allowance_exceeded`.

use crate::{HostRoot, ethtool};
use std::collections::BTreeMap;

/// Devices whose counters are read, at most (ours): a host with more has virtual functions for its guests.
const DEVICES_MAX: usize = 32;

/// Words with which a loss begins.
const LOSS: [&str; 9] = ["drop", "miss", "err", "discard", "fifo", "overrun", "exceeded", "nobuf", "lost"];
/// Names that have such a word and are no loss: a program of the user's dropped the packet, or its checksum went to the processor.
const NO_LOSS: [&str; 4] = ["xdp", "csum", "checksum", "corrected"];

/// Counters by interface and name, and the links' speeds, of one reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Losses {
    pub(super) counters: BTreeMap<String, u64>,
    /// Bytes a second in one direction.
    pub(super) links: BTreeMap<String, u64>,
}

/// Where interfaces are read.
pub(super) struct Place<'a> {
    /// `/sys/class/net`, of the namespace that is asked.
    pub(super) folder: &'a str,
    /// `/proc/net/dev` of it.
    pub(super) dev: &'a str,
    /// Whether the drivers may be asked: the caller is in that namespace.
    pub(super) is_here: bool,
}

pub(super) fn read(root: &HostRoot, place: &Place<'_>) -> Losses {
    let mut losses = Losses::default();
    let mut devices = 0;
    for (name, line) in interfaces(place.dev).filter(|(name, _)| *name != "lo") {
        let folder = format!("{}/{name}", place.folder);
        let is_device = root.exists(&format!("{folder}/device"));
        if (is_device || root.exists(&format!("{folder}/bonding")))
            && let Some(bytes_per_s) = link(root, &folder)
        {
            losses.links.insert(name.to_owned(), bytes_per_s);
        }
        let counters = match is_device && devices < DEVICES_MAX {
            true => {
                devices += 1;
                of_device(root, place, name)
            }
            false => of_line(line),
        };
        let counters = counters.into_iter().map(|(counter, value)| (format!("{name} {counter}"), value));
        losses.counters.extend(counters);
    }
    losses
}

/// What the kernel counts of every device, and what its driver counts beyond.
fn of_device(root: &HostRoot, place: &Place<'_>, name: &str) -> BTreeMap<String, u64> {
    let folder = format!("{}/{name}/statistics", place.folder);
    let names = root.list(&folder).unwrap_or_default().into_iter().filter(|counter| is_loss(counter));
    let value = |counter: &str| root.read(&format!("{folder}/{counter}")).ok()?.trim().parse().ok();
    let mut counters: BTreeMap<String, u64> =
        names.filter_map(|counter| Some((counter.clone(), value(&counter)?))).collect();
    if place.is_here {
        let told = ethtool::counters(name).unwrap_or_default();
        let losses = told.into_iter().filter(|counter| is_loss(&counter.name));
        counters.extend(losses.map(|counter| (counter.name, counter.value)));
    }
    counters
}

/// `bytes packets errs drop fifo frame compressed multicast  bytes packets errs drop ...`
fn of_line(line: &str) -> BTreeMap<String, u64> {
    let columns: Vec<Option<u64>> = line.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    let named = [(2, "rx_errors"), (3, "rx_dropped"), (10, "tx_errors"), (11, "tx_dropped")];
    let of = |(at, name): (usize, &str)| Some((name.to_owned(), (*columns.get(at)?)?));
    named.into_iter().filter_map(of).collect()
}

/// Names and columns of `/proc/net/dev`. An alias has a colon in its name, a column has none.
fn interfaces(dev: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = dev.lines().filter_map(|line| line.rsplit_once(':')).map(|(name, rest)| (name.trim(), rest));
    // A name with a slash is none (dev_valid_name), and would lead out of the folder.
    rows.filter(|(name, _)| !name.is_empty() && !name.contains('/') && *name != "..")
}

/// `25000` megabits; -1 or an error where the driver does not know.
fn link(root: &HostRoot, folder: &str) -> Option<u64> {
    let megabits: u64 = root.read(&format!("{folder}/speed")).ok()?.trim().parse().ok()?;
    // A driver may also say "unknown" as the largest number.
    megabits.checked_mul(125_000).filter(|_| (1..u64::from(u32::MAX)).contains(&megabits))
}

/// Whether a counter's name says that a packet was lost, or held back by a limit.
fn is_loss(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = || name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let lost = words().any(|word| {
        LOSS.iter().any(|loss| word.trim_start_matches("rx").trim_start_matches("tx").starts_with(loss))
    });
    let full = ["out_of_buf", "no_buf", "no_dma", "alloc_fail"].iter().any(|part| name.contains(part));
    (lost || full) && !NO_LOSS.iter().any(|part| name.contains(part))
}

/// Counters that grew.
pub(super) fn delta(before: &Losses, after: &Losses) -> BTreeMap<String, u64> {
    let grown = |(name, later): (&String, &u64)| {
        let growth = later.checked_sub(*before.counters.get(name)?)?;
        (growth > 0).then(|| (name.clone(), growth))
    };
    after.counters.iter().filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn losses_are_told_by_their_words_whatever_the_driver_calls_them() {
        for name in [
            "rx_missed_errors",
            "rx_dropped",
            "rx_out_of_buffer",
            "rx_no_buffer_count",
            "rx_discards_phy",
            "rx_fifo_errors",
            "bw_in_allowance_exceeded",
            "pps_allowance_exceeded",
            "conntrack_allowance_exceeded",
            "rx_queue_0_drops",
            "rx_no_dma_resources",
            "port.rx_discards",
            "rx_alloc_fail",
            "rxdrop",
            "queue_3_rx_overruns",
        ] {
            assert!(is_loss(name), "{name}");
        }
        for name in [
            "rx_packets",
            "rx_queue_0_xdp_drops",
            "rx_csum_offload_errors",
            "conntrack_allowance_available",
            "interrupts",
            "rx_nohandler",
            "tx_timeout",
            "rx_over_temperature",
            "multicast",
            "",
        ] {
            assert!(!is_loss(name), "{name}");
        }
    }

    #[test]
    fn devices_tell_all_and_virtual_interfaces_the_four_of_every_interface_and_only_a_device_has_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("sys/class/net");
        for (path, text) in [
            ("eth0/speed", "25000\n"),
            ("eth0/statistics/rx_missed_errors", "7\n"),
            ("eth0/statistics/rx_bytes", "900\n"),
            ("veth1/speed", "10000\n"),
            ("eth1/speed", "-1\n"),
            ("bond0/speed", "50000\n"),
        ] {
            let path = net.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for place in ["eth0/device", "eth1/device", "bond0/bonding"] {
            fs::create_dir(net.join(place)).unwrap();
        }
        let dev = "Inter-|   Receive |\n face |bytes\n  lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n eth0: 9 9 1 1 0 0 0 0 9 9 1 1 0 0 0 0\n\
                   veth1: 9 9 1 2 0 0 0 0 9 9 3 4 0 0 0 0\n eth1: 0 0 0 0\n bond0: 1 1 0 0 0 0 0 0 1 1 0 5 0 0 0 0\n../x: 1 1 1 1\n";
        let root = HostRoot::new(folder.path());
        let read = read(&root, &Place { folder: "/sys/class/net", dev, is_here: false });
        let links = [("bond0".to_owned(), 6_250_000_000), ("eth0".to_owned(), 3_125_000_000)];
        assert_eq!(read.links, BTreeMap::from(links));
        assert_eq!(read.counters.get("eth0 rx_missed_errors"), Some(&7));
        assert_eq!(read.counters.get("eth0 rx_bytes"), None);
        assert_eq!((read.counters["veth1 rx_dropped"], read.counters["veth1 tx_dropped"]), (2, 4));
        assert!(read.counters.keys().all(|name| !name.starts_with("lo ") && !name.contains("..")));
    }

    #[test]
    fn only_what_grew_is_told_and_an_interface_that_came_back_with_new_counters_is_not() {
        let of = |counters: &[(&str, u64)]| Losses {
            counters: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..Losses::default()
        };
        let before = of(&[("a drops", 5), ("b drops", 9), ("c drops", 4)]);
        let after = of(&[("a drops", 6), ("b drops", 2), ("c drops", 4), ("new drops", 70)]);
        assert_eq!(delta(&before, &after), BTreeMap::from([("a drops".to_owned(), 1)]));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)((eth0|.{0,4}):( [0-9-]{0,22}){0,17}\n){0,4}.{0,30}") {
            let root = HostRoot::new("/nowhere");
            let _ = read(&root, &Place { folder: "/sys/class/net", dev: &text, is_here: false });
            let _ = is_loss(&text);
        }
    }
}
