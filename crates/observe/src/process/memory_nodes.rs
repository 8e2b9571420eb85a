//! Which part of a process' memory lies on other nodes than its threads run on, from a sample of its pages.
//!
//! `numa_maps` would tell all of it, and hold the process' memory map for as long as that takes: a broker with a large heap would stand still. The kernel is asked for
//! a few thousand pages instead (move_pages(2) without a place to move them to, which moves nothing), at places spread evenly over what is mapped.
//! Pages that are not in memory have no node and are passed over.

#![expect(unsafe_code, reason = "no safe binding has move_pages(2)")]

use crate::HostRoot;
use crate::facts::{cpu_list, numa_nodes};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Pages that are asked for in one call.
const CALL_PAGES: usize = 256;
/// Pages that are asked for at most, and those in memory that are enough: a share is then known within 2 % (ours).
const PAGES_MAX: usize = 65_536;
const PAGES_ENOUGH: u64 = 2_500;
/// Fewest that say anything (ours).
const PAGES_LEAST: u64 = 100;
/// Longest time.
const TIME_MAX: Duration = Duration::from_millis(50);

/// A share of pages on other nodes; none on a host with one node, or where the process' pages may not be asked for. `busy_ns` is
/// the time of its threads by the processor that they were last on.
pub(super) fn remote_memory_share(root: &HostRoot, pid: u32, busy_ns: &BTreeMap<u32, u64>) -> Option<f64> {
    let nodes = numa_nodes(root);
    let nodes = nodes.value().filter(|nodes| nodes.len() > 1)?;
    let mut node_of = BTreeMap::new();
    for node in nodes {
        for cpu in cpu_list(&node.cpus).unwrap_or_default() {
            node_of.insert(cpu, node.node);
        }
    }
    let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
    for (cpu, busy_ns) in busy_ns {
        *threads.entry(*node_of.get(cpu)?).or_default() += busy_ns;
    }
    let pages = pages_by_node(pid, &mapped(&root.read(&format!("/proc/{pid}/maps")).ok()?)).ok()?;
    remote_share(&pages, &threads)
}

/// The chance that a page and a thread's time, both taken at random, are of different nodes.
fn remote_share(pages: &BTreeMap<u32, u64>, threads: &BTreeMap<u32, u64>) -> Option<f64> {
    let (all_pages, all_time): (u64, u64) = (pages.values().sum(), threads.values().sum());
    if all_pages < PAGES_LEAST || all_time == 0 {
        return None;
    }
    let local = |(node, count): (&u32, &u64)| {
        let time = threads.get(node).copied().unwrap_or(0);
        *count as f64 / all_pages as f64 * (time as f64 / all_time as f64)
    };
    Some((1.0 - pages.iter().map(local).sum::<f64>()).clamp(0.0, 1.0))
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapped {
    begin: u64,
    end: u64,
}

/// Ranges that can be read or written: `7f0000000000-7f0000021000 rw-p ...`. What is only reserved can be neither.
fn mapped(maps: &str) -> Vec<Mapped> {
    let range = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        let address = |text: &str| u64::from_str_radix(text, 16).ok();
        let range = Mapped { begin: address(begin)?, end: address(end)? };
        let rights = words.next()?;
        let is_used = rights.starts_with('r') || rights.get(1..2) == Some("w");
        (is_used && range.begin < range.end).then_some(range)
    };
    maps.lines().filter(|line| !line.ends_with("[vsyscall]")).filter_map(range).collect()
}

/// Pages by node, of a sample.
fn pages_by_node(pid: u32, ranges: &[Mapped]) -> io::Result<BTreeMap<u32, u64>> {
    let total = ranges.iter().map(|range| range.end - range.begin).fold(0u64, u64::saturating_add);
    let began = Instant::now();
    let (mut found, mut asked) = (BTreeMap::new(), 0);
    while total > 0
        && asked < PAGES_MAX
        && found.values().sum::<u64>() < PAGES_ENOUGH
        && began.elapsed() < TIME_MAX
    {
        let addresses: Vec<u64> =
            (asked..asked + CALL_PAGES).filter_map(|place| address(ranges, spread(place, total))).collect();
        for node in nodes_of(pid, &addresses)?.into_iter().filter_map(|status| u32::try_from(status).ok()) {
            *found.entry(node).or_default() += 1;
        }
        asked += CALL_PAGES;
    }
    Ok(found)
}

/// Places that fill a length evenly however many are taken: multiples of the golden ratio (Weyl's sequence).
fn spread(place: usize, total: u64) -> u64 {
    let turn = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(turn) * u128::from(total)) >> 64) as u64
}

/// The address that is so far into the ranges.
fn address(ranges: &[Mapped], mut offset: u64) -> Option<u64> {
    for range in ranges {
        let length = range.end - range.begin;
        if offset < length {
            return Some(range.begin + offset);
        }
        offset -= length;
    }
    None
}

/// The node of each page; below zero where it is not in memory.
fn nodes_of(pid: u32, addresses: &[u64]) -> io::Result<Vec<i32>> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut status = vec![-libc::ENOENT; addresses.len()];
    // SAFETY: both arrays have as many entries as are told, and outlive the call; addresses are of the other process, and the
    // kernel checks them. Without nodes nothing is moved.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            addresses.len(),
            addresses.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            status.as_mut_ptr(),
            0,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_pages_of_this_process_are_found_on_its_node() {
        let memory = vec![7u8; 4 << 20];
        let begin = memory.as_ptr() as u64;
        let range = Mapped { begin, end: begin + memory.len() as u64 };
        match pages_by_node(std::process::id(), &[range]) {
            // Built without nodes, or kept from it by a container's filter.
            Err(error) => eprintln!("skipped: {error}"),
            Ok(pages) => {
                let found: u64 = pages.values().sum();
                assert!(found >= PAGES_ENOUGH, "{pages:?}");
            }
        }
        assert_eq!(memory[1_000_000], 7);
    }

    #[test]
    fn a_share_is_of_pages_and_of_the_threads_time() {
        let of = |counts: [u64; 2]| BTreeMap::from([(0, counts[0]), (1, counts[1])]);
        for (pages, threads, share) in [
            ([1_000, 0], [9, 0], 0.0),
            ([1_000, 0], [0, 9], 1.0),
            ([500, 500], [9, 0], 0.5),
            ([500, 500], [5, 5], 0.5),
            ([900, 100], [3, 1], 0.3),
        ] {
            let got = remote_share(&of(pages), &of(threads)).unwrap();
            assert!((got - share).abs() < 1e-9, "{pages:?} {threads:?}: {got}");
        }
        assert_eq!(remote_share(&of([50, 40]), &of([1, 1])), None, "too few pages say nothing");
        assert_eq!(remote_share(&of([500, 400]), &of([0, 0])), None);
    }

    #[test]
    fn what_is_only_reserved_is_no_memory_and_places_are_spread_over_the_rest() {
        let maps = "1000-3000 rw-p 0 0 0\n5000-9000 ---p 0 0 0\n9000-a000 r--s 0 0 0 /x\nffffffffff600000-ffffffffff601000 --xp 0 0 0 [vsyscall]\n";
        let ranges = mapped(maps);
        let expected = [Mapped { begin: 0x1000, end: 0x3000 }, Mapped { begin: 0x9000, end: 0xa000 }];
        assert_eq!(ranges, expected);
        let in_first =
            (0..300).filter(|place| address(&ranges, spread(*place, 0x3000)).unwrap() < 0x3000).count();
        assert!((195..=205).contains(&in_first), "{in_first} of 300 in two thirds");
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)([0-9a-f]{0,18}-[0-9a-f]{0,18} [rwxp-]{0,4}.{0,9}\n){0,3}.{0,20}") {
            let _ = mapped(&text);
        }
    }
}
