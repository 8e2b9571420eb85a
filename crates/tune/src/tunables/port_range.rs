//! `net.ipv4.ip_local_port_range` and `tcp_tw_reuse`: ports of connections that this host opens. Each rests for a minute after the side that
//! closes first has closed.
//!
//! A port is used up for one destination at a time: as many connections may go to one address and port as there are ports in the range, and
//! as many again to another. A server's own connections have the port that it listens at, and take none of them.

use super::near_limit::NEAR;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Role, Status};
use plumb_model::figure;
use plumb_observe::{TcpSocket, tcp_sockets};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "port-range",
    title: "ports of connections that this host opens",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; the share of 70 % and the range are ours",
    look,
};

const RANGE: &str = "net.ipv4.ip_local_port_range";
const REUSE: &str = "net.ipv4.tcp_tw_reuse";
/// States in the kernel's tables (include/net/tcp_states.h): those in which a connection keeps its port.
const KEEPS: [u8; 8] = [0x01, 0x02, 0x04, 0x05, TIME_WAIT, 0x08, 0x09, 0x0B];
const TIME_WAIT: u8 = 0x06;
/// The lowest port that the range is widened to: most services listen below. Ours.
const LOWEST: u64 = 10_240;
const HIGHEST: u64 = 65_535;

/// The destination to which most ports of the range are taken.
struct Fullest {
    remote: SocketAddr,
    taken: u64,
    /// Of them, connections that are closed and rest.
    at_rest: u64,
}

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::KafkaBroker {
        return Vec::new();
    }
    let value = match context.read(RANGE) {
        Ok(value) => value,
        Err(reason) => return vec![Look::unknown("ports", reason)],
    };
    let numbers: Vec<u64> = value.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [first, last] = numbers[..] else {
        return vec![Look::unknown("ports", format!("{RANGE} is {value:?}: expected two numbers"))];
    };
    let Some(sockets) = tcp_sockets(context.host.root(), "/proc/net") else {
        return vec![Look::unknown(
            "ports",
            "/proc/net/tcp cannot be read, so that nobody knows how many ports are taken",
        )];
    };
    let listening: BTreeSet<u64> = sockets
        .iter()
        .filter(|socket| socket.listens())
        .map(|socket| u64::from(socket.local.port()))
        .collect();
    let range = |port: u64| (first..=last).contains(&port);
    let kept_free = reserved(context).into_iter().filter(|port| range(*port)).count() as u64;
    let ports = (last.saturating_sub(first) + 1).saturating_sub(kept_free);
    let is_own = |socket: &&TcpSocket| {
        let port = u64::from(socket.local.port());
        KEEPS.contains(&socket.state) && range(port) && !listening.contains(&port)
    };
    let fullest = fullest(sockets.iter().filter(is_own));
    match fullest {
        Some(fullest) if is_near(context, &fullest, ports) => {
            full(context, (first, last), ports, &fullest, &listening)
        }
        Some(Fullest { remote, taken, .. }) => vec![Look::found(
            "ports",
            Status::Ok,
            value,
            format!(
                "the most connections from one address to one destination are {taken}, to {remote}, and {ports} ports are there for them"
            ),
        )],
        None => vec![Look::found(
            "ports",
            Status::Ok,
            value,
            format!(
                "no connection has one of the {ports} ports that this host may take for those that it opens"
            ),
        )],
    }
}

/// True if nearly all ports are taken to one destination. One that rests and may be taken again after a second counts only where so many are
/// opened in a second.
fn is_near(context: &Context<'_>, fullest: &Fullest, ports: u64) -> bool {
    let near = NEAR * ports as f64;
    let opened_per_s = context.window.per_s("Tcp.ActiveOpens").unwrap_or(0.0);
    let is_reused = is_reused(context, fullest.remote.ip()) && opened_per_s < near;
    let taken = if is_reused { fullest.taken - fullest.at_rest } else { fullest.taken };
    taken as f64 >= near
}

/// A port at rest is taken again after a second: 1 is everywhere, 2 to this host itself (kernel documentation, networking/ip-sysctl.rst).
fn is_reused(context: &Context<'_>, remote: IpAddr) -> bool {
    let has_timestamps = context.number("net.ipv4.tcp_timestamps") != Some(0);
    let reuse = context.number(REUSE);
    has_timestamps && (reuse == Some(1) || (reuse == Some(2) && remote.is_loopback()))
}

fn full(
    context: &Context<'_>,
    (first, last): (u64, u64),
    ports: u64,
    fullest: &Fullest,
    listening: &BTreeSet<u64>,
) -> Vec<Look> {
    let Fullest { remote, taken, at_rest } = *fullest;
    let mut evidence: Vec<Evidence> =
        vec![level(&format!("ports of the range taken to {remote}"), taken as f64, "ports")];
    evidence.extend(context.window.evidence("Tcp.ActiveOpens", "connections"));
    let share = figure::percent(taken as f64 / ports.max(1) as f64);
    // A port that a service listens at, or will after its restart, is not given away.
    let above = listening.iter().filter(|port| **port < first).max().map_or(0, |port| port + 1);
    let wanted = (first.min(LOWEST.max(above)), last.max(HIGHEST));
    let range = Look::at(context, "ports", RANGE, |_| Advice {
        recommended: format!("{} {}", wanted.0, wanted.1),
        is_met: wanted == (first, last),
        evidence: evidence.clone(),
        reason: format!("{taken} of {ports} ports are taken to {remote} ({share}): without a free one the next connection to it fails; a service that listens at a port in the range has to be in ip_local_reserved_ports"),
        expected: "more connections to one server; fewer of them anew would be better still".to_owned(),
    })
    .or_where_it_hurts(&format!(
        "{taken} of {ports} ports are taken to {remote} ({share}), and the range is as wide as it goes: keep connections and use them again, or connect from or to more addresses"
    ));
    if at_rest * 2 <= taken {
        return vec![range];
    }
    evidence.push(level(&format!("of them at rest (TIME_WAIT) to {remote}"), at_rest as f64, "ports"));
    let is_reused = is_reused(context, remote.ip());
    let reuse = Look::at(context, "ports at rest", REUSE, |_| Advice {
        recommended: "1".to_owned(),
        is_met: is_reused,
        evidence,
        reason: match is_reused {
            true => "a port at rest is used again after a second already",
            false => "a port at rest may be used again after a second where both sides send timestamps",
        }
        .to_owned(),
        expected: "connections opened faster than ports come to rest".to_owned(),
    });
    vec![range, reuse]
}

/// Of all destinations the one to which most ports of one local address are taken.
fn fullest<'s>(sockets: impl Iterator<Item = &'s TcpSocket>) -> Option<Fullest> {
    let mut by_way: BTreeMap<(IpAddr, SocketAddr), (u64, u64)> = BTreeMap::new();
    for socket in sockets {
        let (taken, at_rest) = by_way.entry((socket.local.ip(), plain(socket.remote))).or_default();
        *taken += 1;
        *at_rest += u64::from(socket.state == TIME_WAIT);
    }
    let ((_, remote), (taken, at_rest)) = by_way.into_iter().max_by_key(|(_, (taken, _))| *taken)?;
    Some(Fullest { remote, taken, at_rest })
}

/// An IPv4 address within IPv6 is the same way as itself.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Ports that the kernel gives to nobody: `8080,9000-9010`.
fn reserved(context: &Context<'_>) -> BTreeSet<u64> {
    let text = context.read("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(u64::from(first.parse::<u16>().ok()?)..=u64::from(last.parse::<u16>().ok()?))
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{Role, Status};

    const HEAD: &str = "  sl  local_address rem_address   st\n";
    const PORTS: u16 = 200;
    const FIRST: u16 = 32_768;

    /// A row of the table: 10.0.0.1 at a local port, to 10.0.0.2 at a remote one.
    fn row(local: u16, remote: u16, state: &str) -> String {
        let address = |last: u8| format!("{:08X}", u32::from_ne_bytes([10, 0, 0, last]));
        format!(
            "   0: {}:{local:04X} {}:{remote:04X} {state} 00000000:00000000 00:00000000 00000000 0 0 0 1\n",
            address(1),
            address(2)
        )
    }

    fn host(rows: impl Iterator<Item = String>) -> Recorded {
        let last = FIRST + PORTS - 1;
        Recorded::new()
            .role(Role::LoadGenerator)
            .file("/proc/sys/net/ipv4/ip_local_port_range", &format!("{FIRST}\t{last}\n"))
            .file("/proc/sys/net/ipv4/tcp_tw_reuse", "2\n")
            .file("/proc/net/tcp", &[HEAD.to_owned(), rows.collect()].concat())
    }

    /// Connections to one destination, each from a port of its own.
    fn to_one(count: u16, state: &str) -> Recorded {
        host((0..count).map(|at| row(FIRST + at, 9092, state)))
    }

    #[test]
    fn ports_that_are_all_taken_are_told_though_none_is_opened_anew() {
        let full = to_one(PORTS, "01");
        let checks = full.check("port-range");
        assert_eq!((checks.len(), checks[0].status), (1, Status::Change));
        assert_eq!(checks[0].recommended.as_deref(), Some("10240 65535"));
        assert_eq!(checks[0].evidence[0].amount, 200.0);
        assert!(
            checks[0].reason.contains("200 of 200 ports are taken to 10.0.0.2:9092"),
            "{}",
            checks[0].reason
        );
        full.changes_go_back("port-range");
    }

    #[test]
    fn reuse_is_told_only_where_most_ports_rest() {
        let resting = to_one(150, "06");
        let checks = resting.check("port-range");
        assert!(checks.len() == 2 && checks.iter().all(|check| check.status == Status::Change));
        resting.changes_go_back("port-range");
        let reused = to_one(150, "06").file("/proc/sys/net/ipv4/tcp_tw_reuse", "1\n");
        assert_eq!(reused.check("port-range")[0].status, Status::Ok);
        assert_eq!(reused.grew("Tcp.ActiveOpens", 1900).check("port-range")[0].status, Status::Change);
        assert_eq!(to_one(100, "06").check("port-range")[0].status, Status::Ok);
    }

    #[test]
    fn connections_of_a_server_and_those_to_many_destinations_are_no_alarm() {
        // A service that listens within the range has its connections at its own port.
        let rows = (0..500).map(|at| row(FIRST, 1000 + at, "06")).chain([row(FIRST, 0, "0A")]);
        assert_eq!(host(rows).grew("Tcp.ActiveOpens", 9000).check("port-range")[0].status, Status::Ok);
        let spread = host((0..PORTS).map(|at| row(FIRST + at, 9000 + at % 10, "06")));
        assert_eq!(spread.grew("Tcp.ActiveOpens", 9000).check("port-range")[0].status, Status::Ok);
        assert!(to_one(PORTS, "01").role(Role::KafkaBroker).check("port-range").is_empty());
    }

    #[test]
    fn ports_that_are_kept_free_are_none_to_take_and_the_widest_range_is_advice() {
        let fewer = to_one(100, "01").file("/proc/sys/net/ipv4/ip_local_reserved_ports", "32900-32967\n");
        assert_eq!(fewer.check("port-range")[0].status, Status::Change);
        let widest = host((0..50_000).map(|at| row(10_240 + at, 9092, "01")))
            .file("/proc/sys/net/ipv4/ip_local_port_range", "10240 65535\n");
        assert_eq!(widest.check("port-range")[0].status, Status::Advice);
    }

    #[test]
    fn a_port_that_a_service_listens_at_is_not_given_away_and_no_table_is_unknown() {
        let serves = host((0..PORTS).map(|at| row(FIRST + at, 9092, "01")).chain([row(20_000, 0, "0A")]));
        assert_eq!(serves.check("port-range")[0].recommended.as_deref(), Some("20001 65535"));
        assert_eq!(to_one(0, "01").file("/proc/net/tcp", "").check("port-range")[0].status, Status::Unknown);
    }
}
