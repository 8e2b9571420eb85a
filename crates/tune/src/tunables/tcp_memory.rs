//! `net.ipv4.tcp_mem`: pages that all TCP sockets together may have. Above the second number the kernel holds sockets short, above the
//! third it drops packets and connections.

use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "tcp-memory",
    title: "memory of all TCP sockets",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; the shares of 80 % and of a quarter of memory are ours",
    look,
};

const SETTING: &str = "net.ipv4.tcp_mem";
/// Memory in use is near the bound from this share of it on. Ours.
const NEAR: f64 = 0.8;
/// Sockets get no more than this share of the host's memory. Ours.
const OF_MEMORY: u64 = 4;

fn look(context: &Context<'_>) -> Vec<Look> {
    if let Some(look) = context.of_the_hosts_network(SETTING, pressed(context)) {
        return vec![look];
    }
    let value = match context.read(SETTING) {
        Ok(value) => value,
        Err(reason) => return vec![Look::unknown("", reason)],
    };
    let numbers: Vec<u64> = value.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [low, pressure, high] = numbers[..] else {
        return vec![Look::unknown("", format!("{SETTING} is {value:?}: expected three numbers"))];
    };
    let evidence = evidence(context, pressure);
    if evidence.is_empty() {
        return vec![Look::found("", Status::Ok, value, "sockets have the memory that they ask for")];
    }
    let memory = context.facts.memory_total_bytes.value().copied().unwrap_or(0);
    if high.saturating_mul(2) > memory / page_bytes(context) / OF_MEMORY {
        return vec![
            Look::found("", Status::Advice, value, "sockets are short of memory, and more would take over a quarter of this host's: have fewer connections, smaller buffers or more memory")
                .showing(evidence),
        ];
    }
    vec![Look::at(context, "", SETTING, |_| {
        Advice {
        recommended: format!("{} {} {}", low * 2, pressure * 2, high * 2),
        is_met: false,
        evidence,
        reason: "sockets together are near their bound of memory: the kernel makes their buffers smaller, and drops at the last number".to_owned(),
        expected: "buffers as large as each connection needs; the page cache has less".to_owned(),
    }
    })]
}

/// The kernel held sockets short, or is about to. Connections that it gave up for want of memory alone are none: those without an owner
/// count there too.
fn evidence(context: &Context<'_>, pressure: u64) -> Vec<Evidence> {
    let used = in_use(context).filter(|pages| *pages as f64 >= NEAR * pressure as f64);
    let used = used.map(|pages| level("sockstat TCP mem", pages as f64, "pages"));
    pressed(context).into_iter().chain(used).collect()
}

fn pressed(context: &Context<'_>) -> Vec<Evidence> {
    context.window.evidence_of(&["TcpExt.TCPMemoryPressures"], "times")
}

/// Size of a page; 4 KiB where the kernel does not say.
fn page_bytes(context: &Context<'_>) -> u64 {
    let text = context.host.root().read("/proc/self/smaps").unwrap_or_default();
    let kb = text.lines().find_map(|line| line.strip_prefix("KernelPageSize:")?.trim().strip_suffix(" kB"));
    kb.and_then(|kb| kb.parse::<u64>().ok()).filter(|kb| *kb > 0).unwrap_or(4) * 1024
}

/// `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 119`
fn in_use(context: &Context<'_>) -> Option<u64> {
    let text = context.host.root().read("/proc/net/sockstat").ok()?;
    let mut words = text.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_ascii_whitespace();
    words.by_ref().find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(used: u64) -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/ipv4/tcp_mem", "1000\t2000\t4000\n")
            .file("/proc/net/sockstat", &format!("TCP: inuse 1 orphan 0 tw 0 alloc 1 mem {used}\n"))
            .file("/proc/meminfo", "MemTotal: 8000000 kB\n")
    }

    #[test]
    fn memory_near_its_bound_or_pressure_is_a_change_that_goes_back() {
        assert_eq!(host(100).check("tcp-memory")[0].status, Status::Ok);
        let near = host(1700);
        let check = &near.check("tcp-memory")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("2000 4000 8000")));
        near.changes_go_back("tcp-memory");
        assert_eq!(
            host(0).grew("TcpExt.TCPMemoryPressures", 1).check("tcp-memory")[0].status,
            Status::Change
        );
    }

    #[test]
    fn connections_without_an_owner_that_were_given_up_are_no_evidence() {
        assert_eq!(host(100).grew("TcpExt.TCPAbortOnMemory", 50).check("tcp-memory")[0].status, Status::Ok);
    }

    #[test]
    fn a_host_with_little_memory_is_advised_and_not_changed() {
        let small = host(1700).file("/proc/meminfo", "MemTotal: 60000 kB\n");
        assert_eq!(small.check("tcp-memory")[0].status, Status::Advice);
        // Numbers are of pages, and those of some processors are large.
        let large = host(1700).file("/proc/self/smaps", "Size: 64 kB\nKernelPageSize:       64 kB\n");
        assert_eq!(large.check("tcp-memory")[0].status, Status::Change);
        let large = large.file("/proc/meminfo", "MemTotal: 1000000 kB\n");
        assert_eq!(large.check("tcp-memory")[0].status, Status::Advice);
    }
}
