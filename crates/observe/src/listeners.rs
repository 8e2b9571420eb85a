//! The process of this host that listens on an address: its CPU time is the broker's, where the broker runs here and was not
//! started by us.
//!
//! The kernel says which socket listens ([proc_net_tcp(5)]), and each process which sockets it holds; of another user's
//! processes it says the latter to root only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::HostRoot;

/// The state "listening" in the kernel's tables.
const LISTEN: &str = "0A";

/// The process that listens on an address of this host; none where there is none, or where one may not look.
pub fn listening_process(root: &HostRoot, address: SocketAddr) -> Option<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts: Vec<String> = tables.iter().filter_map(|table| root.read(table).ok()).collect();
    let sockets: Vec<(SocketAddr, String)> = texts.iter().flat_map(|text| listening(text)).collect();
    let on_port = || sockets.iter().filter(|(local, _)| local.port() == address.port());
    let wanted = address.ip().to_canonical();
    // One that listens on this very address comes before one that listens on all.
    let exact = on_port().find(|(local, _)| local.ip().to_canonical() == wanted);
    let (_, inode) = exact.or_else(|| on_port().find(|(local, _)| local.ip().is_unspecified()))?;
    let wanted = format!("socket:[{inode}]");
    let holds = |pid: u32| {
        let descriptors = root.list(&format!("/proc/{pid}/fd")).unwrap_or_default();
        descriptors
            .iter()
            .any(|fd| root.link(&format!("/proc/{pid}/fd/{fd}")).is_some_and(|target| target == wanted))
    };
    root.list("/proc").ok()?.iter().filter_map(|name| name.parse().ok()).find(|pid| holds(*pid))
}

/// The sockets that listen, each with its number.
fn listening(table: &str) -> Vec<(SocketAddr, String)> {
    let row = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let local = local_address(fields.nth(1)?)?;
        let state = fields.nth(1)?;
        let inode = fields.nth(5)?;
        (state == LISTEN).then(|| (local, inode.to_owned()))
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// `0100007F:2384`: words of the address in the machine's byte order, then the port.
fn local_address(text: &str) -> Option<SocketAddr> {
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
    use std::net::TcpListener;

    #[test]
    fn the_listener_of_this_process_is_found_and_a_port_without_one_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(listening_process(&HostRoot::default(), address), Some(std::process::id()));
        drop(listener);
        assert_eq!(listening_process(&HostRoot::default(), address), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn both_tables_are_read() {
        let four = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n\
            \x20  1: 0100007F:2384 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1\n";
        assert_eq!(listening(four), [("127.0.0.1:9092".parse().unwrap(), "4711".to_owned())]);
        let six = "  sl  local_address\n\
            \x20  0: 00000000000000000000000000000000:2384 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 99 1\n";
        assert_eq!(listening(six), [("[::]:9092".parse().unwrap(), "99".to_owned())]);
    }
}
