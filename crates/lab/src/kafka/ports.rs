//! Free loopback ports, chosen by the system.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Ports that nobody else can take until [`release`](Self::release). Between that and the broker's own bind they are
/// free for all, so a start has to be ready to find one taken and begin again with others.
pub(super) struct Reservation {
    pub(super) addresses: Vec<SocketAddr>,
    held: Vec<TcpListener>,
}

impl Reservation {
    pub(super) fn new(count: usize) -> io::Result<Self> {
        let held = (0..count)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<io::Result<Vec<_>>>()?;
        let addresses = held.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        Ok(Self { addresses, held })
    }

    /// Lets go of the ports.
    pub(super) fn release(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ports_differ_and_are_held_until_released() {
        let mut ports = Reservation::new(8).unwrap();
        let mut distinct = ports.addresses.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 8);
        assert!(ports.addresses.iter().all(|address| address.ip().is_loopback()));
        assert!(TcpListener::bind(ports.addresses[0]).is_err());
        ports.release();
        TcpListener::bind(ports.addresses[0]).unwrap();
    }
}
