//! The process of this host that listens on an address: its CPU time is the broker's, where the broker runs here and was not
//! started by us.

use std::net::SocketAddr;

use crate::HostRoot;
use crate::tcp_table::{TcpSocket, sockets_of, tcp_sockets};

/// The process that listens on an address of this host; none where there is none, or where one may not look.
pub fn listening_process(root: &HostRoot, address: SocketAddr) -> Option<u32> {
    let sockets = tcp_sockets(root, "/proc/net")?;
    let on_port =
        || sockets.iter().filter(|socket| socket.listens() && socket.local.port() == address.port());
    let wanted = address.ip().to_canonical();
    // One that listens on this very address comes before one that listens on all.
    let exact = on_port().find(|socket| socket.local.ip().to_canonical() == wanted);
    let TcpSocket { inode, .. } =
        exact.or_else(|| on_port().find(|socket| socket.local.ip().is_unspecified()))?;
    holder(root, *inode)
}

/// The process that listens at a port, whatever the address; none where there is none, or where one may not look.
pub fn listening_process_at(root: &HostRoot, port: u16) -> Option<u32> {
    let sockets = tcp_sockets(root, "/proc/net")?;
    let found = sockets.iter().find(|socket| socket.listens() && socket.local.port() == port)?;
    holder(root, found.inode)
}

fn holder(root: &HostRoot, inode: u64) -> Option<u32> {
    let holds = |pid: u32| sockets_of(root, pid).is_some_and(|own| own.binary_search(&inode).is_ok());
    root.list("/proc").ok()?.iter().filter_map(|name| name.parse().ok()).find(|pid| holds(*pid))
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
        assert_eq!(listening_process_at(&HostRoot::default(), address.port()), Some(std::process::id()));
        drop(listener);
        assert_eq!(listening_process(&HostRoot::default(), address), None);
    }
}
