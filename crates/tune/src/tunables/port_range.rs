//! `net.ipv4.ip_local_port_range` and `tcp_tw_reuse`: ports of connections that this host opens. Each rests for a minute after the side that
//! closes first has closed.
//!
//! A server has many connections at rest, too, and they take no ports: only what this host opened itself counts.

use super::near_limit::NEAR;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Role, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "port-range",
    title: "ports of connections that this host opens",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; the share of 70 % and the range are ours",
    look,
};

const RANGE: &str = "net.ipv4.ip_local_port_range";
/// A connection rests for so long (TCP_TIMEWAIT_LEN, include/net/tcp.h).
const REST_S: f64 = 60.0;
/// The lowest port that the range is widened to: most services listen below. Ours.
const LOWEST: u64 = 10_240;
const HIGHEST: u64 = 65_535;

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
    let ports = last.saturating_sub(first) + 1;
    let evidence = evidence(context, ports);
    if evidence.is_empty() {
        return vec![Look::found(
            "ports",
            Status::Ok,
            value,
            format!("{ports} ports are enough for what this host opens"),
        )];
    }
    vec![range(context, first, last, evidence.clone()), reuse(context, evidence)]
}

/// As many connections at rest as there are ports, nearly, and this host opens so many that they are its own.
fn evidence(context: &Context<'_>, ports: u64) -> Vec<Evidence> {
    let near = NEAR * ports as f64;
    let at_rest = at_rest(context).filter(|count| *count as f64 >= near);
    let opened = context.window.per_s("Tcp.ActiveOpens").filter(|opened| opened * REST_S >= near);
    match (at_rest, opened.and(context.window.evidence("Tcp.ActiveOpens", "connections"))) {
        (Some(at_rest), Some(opened)) => {
            vec![level("sockstat TCP tw", at_rest as f64, "connections"), opened]
        }
        _ => Vec::new(),
    }
}

fn range(context: &Context<'_>, first: u64, last: u64, evidence: Vec<Evidence>) -> Look {
    // A port that a service listens at, or will after its restart, is not given away.
    let above = listening(context).into_iter().filter(|port| *port < first).max().map_or(0, |port| port + 1);
    let wanted = (first.min(LOWEST.max(above)), last.max(HIGHEST));
    Look::at(context, "ports", RANGE, |_| {
        Advice {
        recommended: format!("{} {}", wanted.0, wanted.1),
        is_met: wanted == (first, last),
        evidence,
        reason: "nearly all ports rest after connections that this host opened, and the next one to the same server fails; a service that listens at a port in the range has to be in ip_local_reserved_ports".to_owned(),
        expected: "more connections to one server; fewer of them anew would be better still".to_owned(),
    }
    })
}

fn reuse(context: &Context<'_>, evidence: Vec<Evidence>) -> Look {
    Look::at(context, "ports at rest", "net.ipv4.tcp_tw_reuse", |value| Advice {
        recommended: "1".to_owned(),
        is_met: value == "1",
        evidence,
        reason: "a port at rest may be used again after a second where both sides send timestamps".to_owned(),
        expected: "connections opened faster than ports come to rest".to_owned(),
    })
}

/// `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 119`
fn at_rest(context: &Context<'_>) -> Option<u64> {
    let text = context.host.root().read("/proc/net/sockstat").ok()?;
    let mut words = text.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_ascii_whitespace();
    words.by_ref().find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// Ports that somebody listens at: `0: 00000000:2384 00000000:0000 0A ...`
fn listening(context: &Context<'_>) -> BTreeSet<u64> {
    let mut ports = BTreeSet::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in context.host.root().read(file).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
            if let [_, local, _, "0A"] = words[..]
                && let Some((_, port)) = local.rsplit_once(':')
            {
                ports.extend(u64::from_str_radix(port, 16));
            }
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{Role, Status};

    fn host(at_rest: u64, opened: u64) -> Recorded {
        Recorded::new()
            .role(Role::LoadGenerator)
            .file("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
            .file("/proc/sys/net/ipv4/tcp_tw_reuse", "2\n")
            .file("/proc/net/sockstat", &format!("TCP: inuse 1 orphan 0 tw {at_rest} alloc 1 mem 9\n"))
            .grew("Tcp.ActiveOpens", opened)
    }

    #[test]
    fn ports_that_rest_after_own_connections_are_a_change_that_goes_back() {
        let busy = host(25_000, 5000);
        let checks = busy.check("port-range");
        assert_eq!(checks[0].recommended.as_deref(), Some("10240 65535"));
        assert!(checks.iter().all(|check| check.status == Status::Change && check.evidence.len() == 2));
        busy.changes_go_back("port-range");
    }

    #[test]
    fn a_server_whose_clients_connections_rest_has_ports_enough() {
        assert_eq!(host(25_000, 10).check("port-range")[0].status, Status::Ok);
        assert_eq!(host(10, 5000).check("port-range")[0].status, Status::Ok);
        assert!(host(25_000, 5000).role(Role::KafkaBroker).check("port-range").is_empty());
    }

    #[test]
    fn a_port_that_a_service_listens_at_is_not_given_away() {
        let serves = host(25_000, 5000).file(
            "/proc/net/tcp",
            "  sl  local_address rem_address   st\n   0: 00000000:4E20 00000000:0000 0A 0\n",
        );
        assert_eq!(serves.check("port-range")[0].recommended.as_deref(), Some("20001 65535"));
    }
}
