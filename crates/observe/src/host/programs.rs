//! Which programs of this host used its processors over a window, and whether they are clients of the watched brokers: on a host that
//! brokers share, a client's work is part of the path and another program's is not.

use crate::HostRoot;
use crate::tcp_table::{TcpSocket, sockets_of, tcp_sockets};
use plumb_model::observed::ProgramWindow;
use std::collections::{BTreeMap, BTreeSet};

/// Programs that are told, those with most processor time (ours).
const TOLD: usize = 10;
/// Processor time below which a program is not told: one tick of the kernel says nothing (ours).
const LEAST_NS: u64 = 50_000_000;
/// Length of a tick of `/proc/PID/stat`, the same on all of Linux' processors (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// The processor time of each process at one moment.
#[derive(Debug, Clone, Default)]
pub struct ProgramsSample(BTreeMap<Program, Use>);

/// A process by its number and the moment of its start: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    pid: u32,
    started: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    command: String,
    ticks: u64,
}

/// Reads what each process has used until now.
pub fn sample_programs(root: &HostRoot) -> ProgramsSample {
    let names = root.list("/proc").unwrap_or_default();
    let pids = names.iter().filter_map(|name| name.parse().ok());
    let used = |pid: u32| {
        let (started, used) = use_of(&root.read(&format!("/proc/{pid}/stat")).ok()?)?;
        Some((Program { pid, started }, used))
    };
    ProgramsSample(pids.filter_map(used).collect())
}

/// The programs that used most between two samples, `brokers` and `known` (processes that have figures of their own) left out.
pub fn programs(
    root: &HostRoot,
    before: &ProgramsSample,
    after: &ProgramsSample,
    brokers: &[u32],
    known: &[u32],
) -> Vec<ProgramWindow> {
    let mut used: Vec<(u64, Program, &str)> = after
        .0
        .iter()
        .filter(|(program, _)| !known.contains(&program.pid) && !brokers.contains(&program.pid))
        .filter_map(|(program, now)| {
            // One that began within the window used all of it there.
            let then = before.0.get(program).map_or(0, |then| then.ticks);
            Some((now.ticks.checked_sub(then)?.saturating_mul(TICK_NS), *program, now.command.as_str()))
        })
        .filter(|(cpu_ns, ..)| *cpu_ns >= LEAST_NS)
        .collect();
    used.sort_by_key(|used| std::cmp::Reverse(used.0));
    let mut tables = SocketTables::default();
    let ports: BTreeSet<u16> = brokers.iter().flat_map(|pid| tables.listened(root, *pid)).collect();
    let mut window = |(cpu_ns, program, command): (u64, Program, &str)| ProgramWindow {
        pid: program.pid,
        command: command.to_owned(),
        cpu_ns,
        is_client: tables.is_connected(root, program.pid, &ports),
    };
    used.into_iter().take(TOLD).map(&mut window).collect()
}

/// `1234 (name) S 1 ...`: the name may hold any bytes; user and system time are fields 14 and 15, the start is 22 (proc_pid_stat(5)).
fn use_of(stat: &str) -> Option<(u64, Use)> {
    let (head, rest) = stat.rsplit_once(')')?;
    let command = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some((number(22)?, Use { command, ticks: number(14)? + number(15)? }))
}

/// The sockets of network namespaces, by the name of each: a table is long on a busy host, and most processes share one.
#[derive(Default)]
struct SocketTables(BTreeMap<String, Vec<TcpSocket>>);

impl SocketTables {
    fn of(&mut self, root: &HostRoot, pid: u32) -> &[TcpSocket] {
        // Where the namespace is not told, each process has its own entry.
        let namespace = root.link(&format!("/proc/{pid}/ns/net")).unwrap_or_else(|| pid.to_string());
        self.0
            .entry(namespace)
            .or_insert_with(|| tcp_sockets(root, &format!("/proc/{pid}/net")).unwrap_or_default())
    }

    /// The TCP ports on which a process listens.
    fn listened(&mut self, root: &HostRoot, pid: u32) -> Vec<u16> {
        let Some(own) = sockets_of(root, pid) else { return Vec::new() };
        let listens = |socket: &&TcpSocket| socket.listens() && own.binary_search(&socket.inode).is_ok();
        self.of(root, pid).iter().filter(listens).map(|socket| socket.local.port()).collect()
    }

    /// Whether a process has a connection to one of these ports; absent where one may not look.
    fn is_connected(&mut self, root: &HostRoot, pid: u32, ports: &BTreeSet<u16>) -> Option<bool> {
        let own = sockets_of(root, pid)?;
        let is_to_broker = |socket: &TcpSocket| {
            !socket.listens()
                && ports.contains(&socket.remote.port())
                && own.binary_search(&socket.inode).is_ok()
        };
        Some(self.of(root, pid).iter().any(is_to_broker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_is_told_by_its_name_whatever_that_holds() {
        let stat = "7 (a) b (c) R 1 7 7 0 -1 0 1 2 3 4 250 50 0 0 20 0 1 0 9000 0 0";
        let expected = Use { command: "a) b (c".to_owned(), ticks: 300 };
        assert_eq!(use_of(stat), Some((9000, expected)));
        assert_eq!(use_of("7 (a"), None);
    }

    #[test]
    fn what_works_is_told_with_its_time_and_a_client_is_known_by_its_connection() {
        let root = HostRoot::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = std::process::id();
        let before = sample_programs(&root);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(begun.elapsed());
        }
        let after = sample_programs(&root);
        let all = programs(&root, &before, &after, &[], &[]);
        let found = all.iter().find(|program| program.pid == own).unwrap();
        assert!(found.cpu_ns >= LEAST_NS, "{found:?}");
        assert_eq!(found.is_client, Some(false), "nobody is a broker");
        assert!(programs(&root, &before, &after, &[], &[own]).iter().all(|program| program.pid != own));
        let port = BTreeSet::from([listener.local_addr().unwrap().port()]);
        let mut tables = SocketTables::default();
        assert_eq!(tables.is_connected(&root, own, &port), Some(true));
        assert!(tables.listened(&root, own).contains(port.first().unwrap()));
    }
}
