//! The kernel's tables of TCP sockets ([proc_net_tcp(5)]) and which of the sockets a process holds: of another user's processes the kernel says the
//! latter to root only.

use crate::HostRoot;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state "listening" in the kernel's tables (include/net/tcp_states.h).
const LISTEN: u8 = 0x0A;

/// One socket of a network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// Its own address.
    pub local: SocketAddr,
    /// The other side's; port 0 of one that listens.
    pub remote: SocketAddr,
    /// The kernel's number of its state (include/net/tcp_states.h).
    pub state: u8,
    /// Bytes that the other side has not acknowledged; of one that listens, connections.
    pub send_queue: u64,
    /// Bytes that the process has not read; of one that listens, connections.
    pub receive_queue: u64,
    /// Its number, by which a process' files name it; 0 of a connection that is at rest.
    pub inode: u64,
}

impl TcpSocket {
    /// True if it waits for connections.
    pub fn listens(&self) -> bool {
        self.state == LISTEN
    }
}

/// The sockets of a network namespace: `/proc/net` is that of this process, `/proc/PID/net` that of another; none where it is gone.
pub fn tcp_sockets(root: &HostRoot, net: &str) -> Option<Vec<TcpSocket>> {
    let tables = ["tcp", "tcp6"].map(|table| root.read_bytes(&format!("{net}/{table}")).ok());
    let texts = tables.iter().flatten().map(|bytes| String::from_utf8_lossy(bytes));
    // A table without sockets still has its head.
    let texts = texts.filter(|text| !text.trim().is_empty());
    let sockets = texts.map(|text| text.lines().skip(1).filter_map(socket).collect::<Vec<_>>());
    sockets.reduce(|all, more| [all, more].concat())
}

/// Numbers of the sockets that a process holds, sorted; none where one may not look.
pub(crate) fn sockets_of(root: &HostRoot, pid: u32) -> Option<Vec<u64>> {
    let folder = format!("/proc/{pid}/fd");
    let inode = |fd: &String| {
        root.link(&format!("{folder}/{fd}"))?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    let mut inodes: Vec<u64> = root.list(&folder).ok()?.iter().filter_map(inode).collect();
    inodes.sort_unstable();
    Some(inodes)
}

/// `0: 0100007F:2384 00000000:0000 01 00000010:00000000 ... uid timeout inode`.
fn socket(line: &str) -> Option<TcpSocket> {
    let mut fields = line.split_ascii_whitespace();
    let local = address(fields.nth(1)?)?;
    let remote = address(fields.next()?)?;
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let (send, receive) = fields.next()?.split_once(':')?;
    let bytes = |hex: &str| u64::from_str_radix(hex, 16).ok();
    Some(TcpSocket {
        local,
        remote,
        state,
        send_queue: bytes(send)?,
        receive_queue: bytes(receive)?,
        inode: fields.nth(4)?.parse().ok()?,
    })
}

/// `0100007F:2384`: words of the address in the machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Option<Vec<u32>> = (0..address.len() / 8)
        .map(|at| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok())
        .collect();
    let bytes: Vec<u8> = words?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => IpAddr::V4(Ipv4Addr::from(bytes)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(table: &str) -> Vec<TcpSocket> {
        table.lines().skip(1).filter_map(socket).collect()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn rows_of_both_tables_are_read() {
        let four = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:2384 00000000:0000 0A 00000000:00000005 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n\
            \x20  1: 0100007F:2384 0100007F:9999 01 00000010:00000400 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1\n";
        let row = |state, remote: &str, queues: [u64; 2], inode| TcpSocket {
            local: "127.0.0.1:9092".parse().unwrap(),
            remote: remote.parse().unwrap(),
            state,
            send_queue: queues[0],
            receive_queue: queues[1],
            inode,
        };
        assert_eq!(
            parsed(four),
            [row(LISTEN, "0.0.0.0:0", [0, 5], 4711), row(1, "127.0.0.1:39321", [16, 1_024], 4712)]
        );
        let six = "  sl  local_address\n\
            \x20  0: 00000000000000000000000000000000:2384 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 99 1\n";
        assert_eq!((parsed(six)[0].local, parsed(six)[0].inode), ("[::]:9092".parse().unwrap(), 99));
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)(.{0,10}\n)?( ?[0-9]:( [0-9A-F]{0,18}:?[0-9A-F]{0,18}){0,12}\n){0,3}.{0,20}") {
            let _ = parsed(&text).len();
        }
    }
}
