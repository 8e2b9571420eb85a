//! Memory of a socket: `net.ipv4.tcp_rmem` and `tcp_wmem`, and `net.core.rmem_max` for programs that ask for a size.
//!
//! More is not better: a receive queue that has grown large is put together anew ("collapsed") when it is full, and that takes long.

use super::cpu_time::percent;
use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "socket-buffers",
    title: "memory of a socket",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst and admin-guide/sysctl/net.rst; the bound of 16 MiB is ours",
    look,
};

/// A buffer is raised to this at most: 10 Gbit/s over a round trip of 13 ms. Ours.
const ENOUGH_BYTES: u64 = 16 << 20;

fn look(context: &Context<'_>) -> Vec<Look> {
    [receive(context), send(context), datagrams(context)].into_iter().chain(peers(context)).collect()
}

/// Connections are held back for at least this share of the time in which they have something to send, and for this share of the window,
/// which one connection alone can reach. Ours.
const LIMITED_SHARE: f64 = 0.1;
const LIMITED_OF_WINDOW: f64 = 0.05;

/// The third number of `min default max`, which the kernel has room for (net/ipv4/sysctl_net_ipv4.c).
fn largest(value: &str) -> Option<(&str, u64)> {
    let (rest, largest) = value.rsplit_once(' ')?;
    let bytes: u64 = largest.parse().ok()?;
    i32::try_from(bytes).is_ok().then_some((rest, bytes))
}

fn receive(context: &Context<'_>) -> Look {
    let window = context.window;
    let setting = "net.ipv4.tcp_rmem";
    // A packet that a full queue drops counts as pruned, too; only what was collapsed tells of a queue that is long and sparse.
    let collapsed = window.evidence("TcpExt.TCPRcvCollapsed", "packets");
    if let (Some(collapsed), Ok(value)) = (collapsed, context.read(setting)) {
        return Look::found("received by TCP", Status::Advice, value, "receive queues are full and are put together anew, so a larger buffer makes it worse: the program reads too slowly, or the buffer is larger than it needs; find the slow reader first, and try a smaller maximum in a trial")
            .showing(vec![collapsed]);
    }
    // Without memory for all sockets one socket's bound is not what drops.
    let is_short = window.growth("TcpExt.TCPMemoryPressures").is_some_and(|growth| growth > 0);
    let dropped: Vec<Evidence> =
        window.evidence("TcpExt.TCPRcvQDrop", "packets").filter(|_| !is_short).into_iter().collect();
    raised(
        context,
        "received by TCP",
        setting,
        dropped,
        "packets for a socket whose queue is full are dropped; sockets opened later have the new bound, and those whose program asked for a size do not follow it",
    )
}

fn send(context: &Context<'_>) -> Look {
    raised(
        context,
        "sent by TCP",
        "net.ipv4.tcp_wmem",
        held_back(context, ".buffer_limited_us", "full send buffers"),
        "a sender whose buffer is smaller than what is on its way waits for answers before it may send on; sockets opened later have the new bound, and those whose program asked for a size do not follow it",
    )
}

/// The share of the time in which connections had something to send for which a limit held them back, where it is large.
fn held_back(context: &Context<'_>, limit: &str, words: &str) -> Vec<Evidence> {
    let busy = context.window.sum("tcp.", ".busy_us") as f64;
    let limited = context.window.sum("tcp.", limit) as f64;
    let is_long = limited >= LIMITED_OF_WINDOW * context.window.seconds() * 1e6;
    if !is_long || limited < LIMITED_SHARE * busy {
        return Vec::new();
    }
    vec![percent(
        context,
        &format!("tcp_info: connections that send are held back by {words}"),
        limited / busy,
    )]
}

/// Peers that take too slowly: nothing that this host could set.
fn peers(context: &Context<'_>) -> Option<Look> {
    let shown = held_back(context, ".window_limited_us", "the receivers' windows");
    (!shown.is_empty()).then(|| {
        Look::found("windows of receivers", Status::Advice, "full", "the programs that this host sends to read too slowly, or their own receive buffers are too small: look there")
            .showing(shown)
    })
}

/// The maximum doubled while packets are dropped, up to what is enough. It is never lowered.
fn raised(context: &Context<'_>, target: &str, setting: &str, evidence: Vec<Evidence>, reason: &str) -> Look {
    /// What kernels have had as their default for long, of the sizes received and sent the smaller.
    const DEFAULT_BYTES: u64 = 4 << 20;
    let value = match context.read(setting) {
        Ok(value) => value,
        Err(reason) => return Look::unknown(target, reason),
    };
    let Some((rest, bytes)) = largest(&value) else {
        return Look::no_number(target, setting, &value);
    };
    Look::at(context, target, setting, |_| {
        let wanted = match evidence.is_empty() {
            true => DEFAULT_BYTES,
            false => bytes.saturating_mul(2).min(ENOUGH_BYTES),
        };
        Advice {
            recommended: format!("{rest} {}", wanted.max(bytes)),
            is_met: bytes >= wanted,
            evidence,
            reason: if bytes >= wanted { "no socket was held back by its bound".to_owned() } else { reason.to_owned() },
            expected: "no packets dropped at sockets in bursts; more memory for each connection".to_owned(),
        }
    })
    .or_where_it_hurts("packets are dropped at sockets whose buffer is large already: the program reads too slowly, or asked for a smaller one")
}

/// What the kernel lets a program ask for by itself.
const DATAGRAMS_DEFAULT_BYTES: u64 = 212_992;
/// Ports with drops that are named, at most. Ours.
const PORTS_MAX: usize = 3;

fn datagrams(context: &Context<'_>) -> Look {
    let (target, setting) = ("received by UDP", "net.core.rmem_max");
    if let Some(look) = context.of_the_hosts_network(setting) {
        return Look { target: target.to_owned(), ..look };
    }
    let counters = ["Udp.RcvbufErrors", "snmp6.Udp6RcvbufErrors"];
    let dropped = context.window.evidence_of(&counters, "packets");
    let mut ports: Vec<(&str, u64)> =
        context.window.matching("udp.", ".drops").filter(|(_, growth)| *growth > 0).collect();
    ports.sort_by_key(|(_, growth)| std::cmp::Reverse(*growth));
    ports.truncate(PORTS_MAX);
    let names: Vec<&str> = ports.iter().map(|(name, _)| *name).collect();
    let evidence = [dropped.clone(), context.window.evidence_of(&names, "packets")].concat();
    let at = match names.iter().filter_map(|name| name.split('.').nth(1)).collect::<Vec<_>>() {
        ports if ports.is_empty() || dropped.is_empty() => String::new(),
        ports => format!(" at port {}", ports.join(", ")),
    };
    Look::at_number(context, target, setting, |bytes| {
        let is_met = dropped.is_empty() || bytes > DATAGRAMS_DEFAULT_BYTES;
        Advice {
            recommended: if is_met { bytes } else { bytes.saturating_mul(4).min(ENOUGH_BYTES) }.to_string(),
            is_met,
            evidence: if dropped.is_empty() { Vec::new() } else { evidence },
            reason: match is_met {
                true => "no datagram found its socket's buffer full".to_owned(),
                false => format!("datagrams are dropped{at}, and a program may have a buffer of this size at most; it has to ask for more (SO_RCVBUF), and to open its socket anew"),
            },
            expected: "no datagrams dropped in bursts, once the program asks for more".to_owned(),
        }
    })
    .or_where_it_hurts(&format!("datagrams are dropped{at} although a program may have a larger buffer than the kernel's default: the size that the program asked for (SO_RCVBUF), or how fast it reads, is the bound"))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    fn host() -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")
            .file("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n")
            .file("/proc/sys/net/core/rmem_max", "212992\n")
    }

    fn of(host: &Recorded, target: &str) -> SettingCheck {
        host.check("socket-buffers").into_iter().find(|check| check.target == target).unwrap()
    }

    #[test]
    fn a_full_queue_that_drops_is_raised_and_goes_back() {
        let drops = host().grew("TcpExt.TCPRcvQDrop", 9).grew("TcpExt.RcvPruned", 9);
        let check = of(&drops, "received by TCP");
        assert_eq!(check.status, Status::Change);
        assert_eq!(check.recommended.as_deref(), Some("4096 131072 12582912"));
        drops.changes_go_back("socket-buffers");
        let lost = host().grew("Udp.RcvbufErrors", 9);
        assert_eq!(of(&lost, "received by UDP").recommended.as_deref(), Some("851968"));
        lost.changes_go_back("socket-buffers");
    }

    #[test]
    fn datagrams_that_a_program_could_have_room_for_are_the_programs_affair() {
        let lost = |bytes: &str| {
            host()
                .file("/proc/sys/net/core/rmem_max", bytes)
                .grew("snmp6.Udp6RcvbufErrors", 9)
                .grew("udp.9000.drops", 9)
                .stands("udp.53.drops", 4)
        };
        let kernels = of(&lost("212992\n"), "received by UDP");
        assert_eq!((kernels.status, kernels.evidence.len()), (Status::Change, 2));
        assert!(kernels.reason.contains("at port 9000,"), "{}", kernels.reason);
        let own = of(&lost("4194304\n"), "received by UDP");
        assert_eq!((own.status, own.assignments.len()), (Status::Advice, 0));
        assert!(own.reason.contains("SO_RCVBUF"), "{}", own.reason);
    }

    #[test]
    fn what_is_no_number_is_unknown_and_never_recommended() {
        for bad in ["", "-1", "4096 131072 -1", "4096 131072 18446744073709551615", "x y z"] {
            let odd = host().file("/proc/sys/net/ipv4/tcp_rmem", bad).grew("TcpExt.TCPRcvQDrop", 9);
            let check = of(&odd, "received by TCP");
            assert_eq!((check.status, check.recommended), (Status::Unknown, None), "{bad:?}");
            let odd = host().file("/proc/sys/net/core/rmem_max", bad);
            assert_eq!(of(&odd, "received by UDP").status, Status::Unknown, "{bad:?}");
        }
    }

    #[test]
    fn senders_that_wait_for_their_buffer_have_it_raised_and_those_that_wait_for_the_receiver_do_not() {
        let small = || {
            host()
                .file("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t65536\n")
                .grew("tcp.7.busy_us", 9_000_000)
        };
        let waiting = small().grew("tcp.7.buffer_limited_us", 6_000_000);
        assert_eq!(of(&waiting, "sent by TCP").status, Status::Change);
        waiting.changes_go_back("socket-buffers");
        // Half a percent of the window is no reason.
        assert_eq!(
            of(&small().grew("tcp.7.buffer_limited_us", 50_000), "sent by TCP").status,
            Status::NoEvidence
        );
        let slow = small().grew("tcp.7.window_limited_us", 6_000_000);
        assert_eq!(of(&slow, "sent by TCP").status, Status::NoEvidence);
        assert_eq!(of(&slow, "windows of receivers").status, Status::Advice);
    }

    #[test]
    fn collapses_are_a_reason_not_to_raise() {
        let slow = host().grew("TcpExt.TCPRcvQDrop", 9).grew("TcpExt.TCPRcvCollapsed", 3);
        let check = of(&slow, "received by TCP");
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("makes it worse"), "{}", check.reason);
    }

    #[test]
    fn without_memory_for_all_sockets_one_sockets_bound_is_left() {
        let short = host().grew("TcpExt.TCPRcvQDrop", 9).grew("TcpExt.TCPMemoryPressures", 1);
        assert_eq!(of(&short, "received by TCP").status, Status::Ok);
    }

    #[test]
    fn defaults_are_right_and_less_has_no_evidence() {
        assert!(host().check("socket-buffers").iter().all(|check| check.status == Status::Ok));
        let small = host().file("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 65536\n");
        assert_eq!(of(&small, "sent by TCP").status, Status::NoEvidence);
        let large = host().file("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864\n");
        assert_eq!(of(&large.grew("TcpExt.TCPRcvQDrop", 9), "received by TCP").status, Status::Advice);
    }
}
