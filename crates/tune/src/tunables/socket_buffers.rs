//! Memory of a socket: `net.ipv4.tcp_rmem` and `tcp_wmem`, and `net.core.rmem_max` for programs that ask for a size.
//!
//! More is not better: a receive queue that has grown large is put together anew ("collapsed") when it is full, and that takes long.

use super::cpu_time::percent;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Status};
use plumb_model::figure;

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
    let all = [receive(context), send(context), datagrams(context)];
    all.into_iter().chain(small_receivers(context)).chain(peers(context)).collect()
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
        return Look::found("TCP receivers", Status::Advice, value, "receive queues are full and are put together anew, so a larger buffer makes it worse: the program reads too slowly, or the buffer is larger than it needs; find the slow reader first, and try a smaller maximum in a trial")
            .showing(vec![collapsed]);
    }
    // Without memory for all sockets one socket's bound is not what drops.
    let is_short = window.growth("TcpExt.TCPMemoryPressures").is_some_and(|growth| growth > 0);
    let dropped: Vec<Evidence> =
        window.evidence("TcpExt.TCPRcvQDrop", "packets").filter(|_| !is_short).into_iter().collect();
    raised(
        context,
        "TCP receivers",
        setting,
        dropped,
        "packets for a socket whose queue is full are dropped; sockets opened later have the new bound, and those whose program asked for a size do not follow it",
    )
}

fn send(context: &Context<'_>) -> Look {
    let (target, setting) = ("TCP senders", "net.ipv4.tcp_wmem");
    let (shown, worst) = held_back(context, ".buffer_limited_us", "full send buffers");
    let own =
        worst.as_ref().and_then(|cookie| context.window.total(&format!("tcp.{cookie}.send_buffer_bytes")));
    let most = context.read(setting).ok().and_then(|value| Some(largest(&value)?.1));
    // A buffer that is full grows to the kernel's bound unless its program asked for a size.
    if let (Some(own), Some(most)) = (own, most)
        && (own as f64) < OF_ITS_OWN * most as f64
    {
        let value = format!("{} bytes ({setting} allows {most})", figure::count(own));
        let reason = "the program that sends asked for a buffer of its own (SO_SNDBUF), which is smaller than what is on its way, so that it waits for answers before it may send on: it has to ask for more, or to leave the size to the kernel";
        return Look::found(target, Status::Advice, value, reason).showing(shown);
    }
    raised(
        context,
        target,
        setting,
        shown,
        "a sender whose buffer is smaller than what is on its way waits for answers before it may send on; sockets opened later have the new bound, and those whose program asked for a size do not follow it",
    )
}

/// A buffer of less than this share of the kernel's bound has not grown to it. Ours.
const OF_ITS_OWN: f64 = 0.9;

/// The shares of the time in which connections had something to send for which a limit held them back, where they are large; and the
/// connection that was held back for longest. One among many counts as well as all together.
fn held_back(context: &Context<'_>, limit: &str, words: &str) -> (Vec<Evidence>, Option<String>) {
    let window = context.window;
    let is_long = |limited: f64, busy: f64| {
        limited >= LIMITED_OF_WINDOW * window.seconds() * 1e6 && limited >= LIMITED_SHARE * busy
    };
    let one = |(name, limited): (&str, u64)| {
        let cookie = name.strip_prefix("tcp.")?.strip_suffix(limit)?;
        let busy = window.growth(&format!("tcp.{cookie}.busy_us"))? as f64;
        is_long(limited as f64, busy).then(|| (cookie.to_owned(), limited as f64, busy))
    };
    let longest =
        window.matching("tcp.", limit).filter_map(one).max_by(|one, other| one.1.total_cmp(&other.1));
    let (busy, limited) = (window.sum("tcp.", ".busy_us") as f64, window.sum("tcp.", limit) as f64);
    let mut shown = Vec::new();
    if is_long(limited, busy) {
        let name = format!("tcp_info: connections that send are held back by {words}");
        shown.push(percent(context, &name, limited / busy));
    }
    if let Some((cookie, limited, busy)) = &longest
        && let Some(ports) = ports(context, cookie)
    {
        let name = format!("tcp_info: the connection {ports} is held back by {words}");
        shown.push(percent(context, &name, limited / busy.max(1.0)));
    }
    (shown, longest.map(|(cookie, ..)| cookie))
}

/// Which connection it is, for people.
fn ports(context: &Context<'_>, cookie: &str) -> Option<String> {
    let port = |end: &str| context.window.total(&format!("tcp.{cookie}.{end}_port"));
    Some(format!("from port {} here to port {} of its peer", port("local")?, port("remote")?))
}

/// Peers that take too slowly: nothing that this host could set.
fn peers(context: &Context<'_>) -> Option<Look> {
    let (shown, _) = held_back(context, ".window_limited_us", "the receivers' windows");
    (!shown.is_empty()).then(|| {
        Look::found("receiving peers", Status::Advice, "windows are full", "the programs that this host sends to read too slowly, or their own receive buffers are too small (SO_RCVBUF): look there")
            .showing(shown)
    })
}

/// Bytes that a connection has to receive in the window to matter. Ours.
const TELLING_BYTES: u64 = 1 << 20;

/// Connections whose program asked for a receive buffer that is smaller than the kernel gives everybody.
fn small_receivers(context: &Context<'_>) -> Option<Look> {
    let window = context.window;
    let setting = "net.ipv4.tcp_rmem";
    let given: u64 = context.read(setting).ok()?.split(' ').nth(1)?.parse().ok()?;
    let one = |name: &str| {
        let cookie = name.strip_prefix("tcp.")?.strip_suffix(".receive_buffer_bytes")?;
        let received = window.growth(&format!("tcp.{cookie}.received_bytes"))?;
        let bytes = window.total(name)?;
        (received >= TELLING_BYTES && bytes < given).then(|| (received, cookie.to_owned(), bytes))
    };
    let small: Vec<_> = window.names("tcp.", ".receive_buffer_bytes").filter_map(one).collect();
    let (received, cookie, bytes) = small.iter().max()?;
    let ports = ports(context, cookie)?;
    let closed = window.evidence_of(&["TcpExt.TCPToZeroWindowAdv"], "times");
    let (status, shows) = match closed.is_empty() {
        true => (Status::NoEvidence, "whether its sender waits is seen where the sender is"),
        false => (Status::Advice, "this host has told senders to wait"),
    };
    let others = match small.len() {
        1 => String::new(),
        n => format!(" (of {n} alike it received most)"),
    };
    let reason = format!(
        "the program asked for it (SO_RCVBUF) on the connection {ports}{others}: a sender may have no more than about half of it on its way, and {shows}. The program has to ask for more, or to leave the size to the kernel, which lets it grow"
    );
    let mut shown = closed;
    if status == Status::Advice {
        shown.push(level(
            &format!("tcp_info: bytes received on the connection {ports}"),
            *received as f64,
            "bytes",
        ));
    }
    let value = format!("{} bytes", figure::count(*bytes));
    let usual = format!("{} bytes and more", figure::count(given));
    Some(
        Look::found("TCP receivers with a buffer of their own", status, value, reason)
            .showing(shown)
            .recommending(usual),
    )
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
    let (target, setting) = ("UDP receivers", "net.core.rmem_max");
    let window = context.window;
    let dropped = window.evidence_of(&["Udp.RcvbufErrors", "snmp6.Udp6RcvbufErrors"], "packets");
    let mut ports: Vec<(&str, u64)> =
        window.matching("udp.", ".drops").filter(|(_, growth)| *growth > 0 && !dropped.is_empty()).collect();
    ports.sort_by_key(|(_, growth)| std::cmp::Reverse(*growth));
    ports.truncate(PORTS_MAX);
    let names: Vec<&str> = ports.iter().map(|(name, _)| *name).collect();
    let evidence = [dropped.clone(), window.evidence_of(&names, "packets")].concat();
    let ports: Vec<&str> = names.iter().filter_map(|name| name.split('.').nth(1)).collect();
    let most = context.number(setting);
    let own =
        ports.first().and_then(|port| Some((*port, window.total(&format!("udp.{port}.buffer_bytes"))?)));
    if let Some((port, bytes)) = own.filter(|(_, bytes)| most.is_none_or(|most| *bytes < 2 * most)) {
        return own_buffer(context, port, bytes, most).showing(evidence);
    }
    if let Some(look) = context.of_the_hosts_network(setting, evidence.clone()) {
        return Look { target: target.to_owned(), ..look };
    }
    let at = match ports.is_empty() {
        true => String::new(),
        false => format!(" at port {}", ports.join(", ")),
    };
    // A buffer that is as large as it may be is known to be held back by the bound.
    let enough = if own.is_some() { ENOUGH_BYTES } else { DATAGRAMS_DEFAULT_BYTES + 1 };
    Look::at_number(context, target, setting, |bytes| {
        let is_met = dropped.is_empty() || bytes >= enough;
        Advice {
            recommended: if is_met { bytes } else { bytes.saturating_mul(4).min(ENOUGH_BYTES) }.to_string(),
            is_met,
            evidence,
            reason: match is_met {
                true => "no datagram found its socket's buffer full".to_owned(),
                false => format!("datagrams are dropped{at}, and a program may have a buffer of this size at most; it has to ask for more (SO_RCVBUF), and to open its socket anew"),
            },
            expected: "no datagrams dropped in bursts, once the program asks for more".to_owned(),
        }
    })
    .or_where_it_hurts(&format!("datagrams are dropped{at} although the kernel lets a program have a large buffer: how fast the program reads, or the size that it asked for (SO_RCVBUF), is the bound"))
}

/// A socket whose buffer is smaller than the kernel would give it. The kernel doubles what a program asks for.
fn own_buffer(context: &Context<'_>, port: &str, bytes: u64, most: Option<u64>) -> Look {
    let window = context.window;
    let is_full = window.least(&format!("udp.{port}.unread_bytes")).is_some_and(|unread| 2 * unread >= bytes);
    let reads = match is_full {
        true => {
            "It was more than half full when the window began and when it ended, so that the program reads too slowly: a larger one would be full as well"
        }
        false => "The program has to ask for more (SO_RCVBUF) and to open its socket anew, or to read sooner",
    };
    let may = match most {
        Some(most) => {
            format!("the kernel lets it have {} (net.core.rmem_max is {most})", figure::count(2 * most))
        }
        None => "what the kernel lets it have is set outside of this network namespace (net.core.rmem_max)"
            .to_owned(),
    };
    Look::found(
        "UDP receivers",
        Status::Advice,
        format!("{} bytes at port {port}", figure::count(bytes)),
        format!("the program's own buffer is what is full, and {may}. {reads}"),
    )
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
        let check = of(&drops, "TCP receivers");
        assert_eq!(check.status, Status::Change);
        assert_eq!(check.recommended.as_deref(), Some("4096 131072 12582912"));
        drops.changes_go_back("socket-buffers");
        let lost = host().grew("Udp.RcvbufErrors", 9);
        assert_eq!(of(&lost, "UDP receivers").recommended.as_deref(), Some("851968"));
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
        let kernels = of(&lost("212992\n"), "UDP receivers");
        assert_eq!((kernels.status, kernels.evidence.len()), (Status::Change, 2));
        assert!(kernels.reason.contains("at port 9000,"), "{}", kernels.reason);
        let own = of(&lost("4194304\n"), "UDP receivers");
        assert_eq!((own.status, own.assignments.len()), (Status::Advice, 0));
        assert!(own.reason.contains("SO_RCVBUF"), "{}", own.reason);
    }

    #[test]
    fn a_sockets_own_buffer_is_told_where_it_is_smaller_than_it_may_be() {
        let lost = |most: &str, own: u64, unread: u64| {
            let host = host()
                .file("/proc/sys/net/core/rmem_max", most)
                .grew("Udp.RcvbufErrors", 9)
                .grew("udp.9000.drops", 9)
                .stands("udp.9000.buffer_bytes", own)
                .stands("udp.9000.unread_bytes", unread);
            of(&host, "UDP receivers")
        };
        let small = lost("4194304\n", 8192, 0);
        assert_eq!((small.status, small.recommended.as_deref()), (Status::Advice, None));
        assert_eq!(small.configured.as_deref(), Some("8,192 bytes at port 9000"));
        assert!(small.reason.contains("lets it have 8,388,608"), "{}", small.reason);
        assert!(lost("4194304\n", 8192, 8000).reason.contains("reads too slowly"));
        // It asked for more than it may have.
        assert_eq!(lost("4194304\n", 8_388_608, 0).status, Status::Change);
        assert_eq!(lost("212992\n", 425_984, 0).recommended.as_deref(), Some("851968"));
        assert_eq!(lost("33554432\n", 67_108_864, 0).status, Status::Advice);
    }

    #[test]
    fn what_is_as_recommended_is_not_recommended_where_something_else_hurts() {
        let lost = host().file("/proc/sys/net/core/rmem_max", "4194304\n").grew("Udp.RcvbufErrors", 9);
        let check = of(&lost, "UDP receivers");
        assert_eq!((check.status, check.recommended), (Status::Advice, None));
    }

    #[test]
    fn one_connection_among_many_that_is_held_back_is_told_by_its_ports() {
        let among_many = (0..50)
            .fold(host(), |host, number| host.grew(&format!("tcp.b{number}.busy_us"), 9_000_000))
            .grew("tcp.7.busy_us", 8_000_000)
            .grew("tcp.7.window_limited_us", 5_000_000)
            .stands("tcp.7.local_port", 9092)
            .stands("tcp.7.remote_port", 41000);
        let peers = of(&among_many, "receiving peers");
        assert_eq!(peers.evidence.len(), 1);
        assert!(peers.evidence[0].counter.contains("from port 9092 here to port 41000"), "{peers:?}");
        assert_eq!(peers.evidence[0].amount, 62.5);
    }

    #[test]
    fn a_sender_whose_program_asked_for_a_small_buffer_is_not_mended_by_the_kernels_bound() {
        let waiting = |own: u64| {
            let host = host()
                .grew("tcp.7.busy_us", 9_000_000)
                .grew("tcp.7.buffer_limited_us", 6_000_000)
                .stands("tcp.7.send_buffer_bytes", own);
            of(&host, "TCP senders")
        };
        assert_eq!((waiting(8192).status, waiting(8192).assignments.len()), (Status::Advice, 0));
        assert!(waiting(8192).reason.contains("SO_SNDBUF"));
        assert_eq!(waiting(4_194_304).status, Status::Change);
    }

    #[test]
    fn a_receiver_whose_program_asked_for_a_small_buffer_is_told() {
        let small = |received: u64, bytes: u64| {
            host()
                .grew("tcp.7.received_bytes", received)
                .stands("tcp.7.receive_buffer_bytes", bytes)
                .stands("tcp.7.local_port", 9092)
                .stands("tcp.7.remote_port", 41000)
        };
        let told = |host: &Recorded| {
            host.check("socket-buffers")
                .into_iter()
                .find(|check| check.target == "TCP receivers with a buffer of their own")
        };
        let quiet = told(&small(9 << 20, 8192)).unwrap();
        assert_eq!((quiet.status, quiet.configured.as_deref()), (Status::NoEvidence, Some("8,192 bytes")));
        let closed = told(&small(9 << 20, 8192).grew("TcpExt.TCPToZeroWindowAdv", 4)).unwrap();
        assert_eq!((closed.status, closed.evidence.len()), (Status::Advice, 2));
        assert_eq!(told(&small(9 << 20, 131_072)), None);
        assert_eq!(told(&small(900, 8192)), None);
    }

    #[test]
    fn what_is_no_number_is_unknown_and_never_recommended() {
        for bad in ["", "-1", "4096 131072 -1", "4096 131072 18446744073709551615", "x y z"] {
            let odd = host().file("/proc/sys/net/ipv4/tcp_rmem", bad).grew("TcpExt.TCPRcvQDrop", 9);
            let check = of(&odd, "TCP receivers");
            assert_eq!((check.status, check.recommended), (Status::Unknown, None), "{bad:?}");
            let odd = host().file("/proc/sys/net/core/rmem_max", bad);
            assert_eq!(of(&odd, "UDP receivers").status, Status::Unknown, "{bad:?}");
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
        assert_eq!(of(&waiting, "TCP senders").status, Status::Change);
        waiting.changes_go_back("socket-buffers");
        // Half a percent of the window is no reason.
        assert_eq!(
            of(&small().grew("tcp.7.buffer_limited_us", 50_000), "TCP senders").status,
            Status::NoEvidence
        );
        let slow = small().grew("tcp.7.window_limited_us", 6_000_000);
        assert_eq!(of(&slow, "TCP senders").status, Status::NoEvidence);
        assert_eq!(of(&slow, "receiving peers").status, Status::Advice);
    }

    #[test]
    fn collapses_are_a_reason_not_to_raise() {
        let slow = host().grew("TcpExt.TCPRcvQDrop", 9).grew("TcpExt.TCPRcvCollapsed", 3);
        let check = of(&slow, "TCP receivers");
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("makes it worse"), "{}", check.reason);
    }

    #[test]
    fn without_memory_for_all_sockets_one_sockets_bound_is_left() {
        let short = host().grew("TcpExt.TCPRcvQDrop", 9).grew("TcpExt.TCPMemoryPressures", 1);
        assert_eq!(of(&short, "TCP receivers").status, Status::Ok);
    }

    #[test]
    fn defaults_are_right_and_less_has_no_evidence() {
        assert!(host().check("socket-buffers").iter().all(|check| check.status == Status::Ok));
        let small = host().file("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 65536\n");
        assert_eq!(of(&small, "TCP senders").status, Status::NoEvidence);
        let large = host().file("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864\n");
        assert_eq!(of(&large.grew("TcpExt.TCPRcvQDrop", 9), "TCP receivers").status, Status::Advice);
    }
}
