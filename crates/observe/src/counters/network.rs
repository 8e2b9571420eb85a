//! `/proc/net/dev` and `/proc/net/snmp`: traffic of the interfaces, and TCP's segments (proc_pid_net(5)).

use plumb_model::facts::InterfaceDelta;

use crate::growth;

/// Segments since boot, of this network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TcpCounters {
    pub(super) sent_segments: Option<u64>,
    pub(super) retransmitted_segments: Option<u64>,
}

/// One interface's traffic since boot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InterfaceCounters {
    name: String,
    received_bytes: u64,
    received_packets: u64,
    received_drops: u64,
    sent_bytes: u64,
    sent_packets: u64,
    sent_drops: u64,
}

/// The columns' names stand in one `Tcp:` line, their values in the next.
pub(super) fn parse_tcp(text: &str) -> TcpCounters {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return TcpCounters::default();
    };
    let column = |wanted: &str| {
        let mut columns = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
        columns.find(|(name, _)| *name == wanted)?.1.parse().ok()
    };
    TcpCounters { sent_segments: column("OutSegs"), retransmitted_segments: column("RetransSegs") }
}

pub(crate) fn parse_interfaces(text: &str) -> Vec<InterfaceCounters> {
    text.lines().filter_map(parse_interface).collect()
}

/// `eth0: bytes packets errs drop fifo frame compressed multicast  bytes packets errs drop fifo colls carrier compressed`
fn parse_interface(line: &str) -> Option<InterfaceCounters> {
    // An alias has a colon in its name, a column has none.
    let (name, rest) = line.rsplit_once(':')?;
    let columns: Vec<u64> =
        rest.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let [
        received_bytes,
        received_packets,
        _,
        received_drops,
        _,
        _,
        _,
        _,
        sent_bytes,
        sent_packets,
        _,
        sent_drops,
        ..,
    ] = columns[..]
    else {
        return None;
    };
    let name = name.trim().to_owned();
    Some(InterfaceCounters {
        name,
        received_bytes,
        received_packets,
        received_drops,
        sent_bytes,
        sent_packets,
        sent_drops,
    })
}

impl InterfaceCounters {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True if a counter went back since `before`: another interface of the same name, so no counter can be compared.
    fn is_anew(&self, before: &InterfaceCounters) -> bool {
        self.received_bytes < before.received_bytes
            || self.received_packets < before.received_packets
            || self.sent_bytes < before.sent_bytes
            || self.sent_packets < before.sent_packets
    }
}

/// Deltas of the interfaces that had traffic since boot.
pub(crate) fn deltas(before: &[InterfaceCounters], after: &[InterfaceCounters]) -> Vec<InterfaceDelta> {
    let of = |after: &InterfaceCounters| {
        let before = before.iter().find(|before| before.name == after.name && !after.is_anew(before));
        let grown =
            |counter: fn(&InterfaceCounters) -> u64| growth(before.map(counter), Some(counter(after)));
        InterfaceDelta {
            name: after.name.clone(),
            received_bytes: grown(|i| i.received_bytes),
            sent_bytes: grown(|i| i.sent_bytes),
            received_packets: grown(|i| i.received_packets),
            sent_packets: grown(|i| i.sent_packets),
            received_drops: grown(|i| i.received_drops),
            sent_drops: grown(|i| i.sent_drops),
        }
    };
    after.iter().filter(|i| i.received_packets > 0 || i.sent_packets > 0).map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_of_tcp_are_found_by_name() {
        let text = "Ip: Forwarding\nIp: 2\nTcp: MaxConn OutSegs New RetransSegs\nTcp: -1 9112 7 12\n";
        let tcp = TcpCounters { sent_segments: Some(9112), retransmitted_segments: Some(12) };
        assert_eq!(parse_tcp(text), tcp);
    }

    #[test]
    fn an_interface_that_was_made_anew_has_absent_deltas() {
        let before = parse_interfaces("eth0: 900 90 0 0 0 0 0 0 900 90 0 0 0 0 0 0\n");
        let after = parse_interfaces("eth0: 10 1 0 0 0 0 0 0 950 95 0 2 0 0 0 0\n");
        let delta = &deltas(&before, &after)[0];
        assert_eq!((delta.received_bytes, delta.received_packets), (None, None));
        assert_eq!(
            (delta.sent_bytes, delta.sent_drops),
            (None, None),
            "950 is not 50 more than the old one's 900"
        );
    }

    #[test]
    fn an_interface_without_any_traffic_is_left_out_until_its_first_packet() {
        let silent = parse_interfaces("eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
        let awake = parse_interfaces("eth1: 0 0 0 0 0 0 0 0 90 1 0 0 0 0 0 0\n");
        assert_eq!(deltas(&silent, &silent), []);
        assert_eq!(deltas(&silent, &awake)[0].sent_bytes, Some(90));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)((Tcp|eth0|.{0,4}):( [a-zA-Z0-9-]{0,22}){0,17}\n){0,4}.{0,30}") {
            let _ = parse_tcp(&text);
            let interfaces = parse_interfaces(&text);
            let _ = deltas(&interfaces, &interfaces);
        }
    }
}
