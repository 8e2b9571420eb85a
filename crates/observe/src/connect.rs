//! The time to open a TCP connection: one round trip of the network, whatever the service does with it.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Connections to each address. Ours: the shortest of three is rarely one that the host delayed.
const TRIES: usize = 3;
/// Addresses that are tried at the same time. Ours.
const TOGETHER: usize = 16;

/// Shortest time to open a connection to each address; none where nobody answered within `patience`.
pub fn shortest_connects(addresses: &[Option<SocketAddr>], patience: Duration) -> Vec<Option<Duration>> {
    let connects =
        |address: &Option<SocketAddr>| address.and_then(|address| shortest_connect(address, patience));
    let together = |addresses: &[Option<SocketAddr>]| {
        thread::scope(|scope| {
            let threads: Vec<_> =
                addresses.iter().map(|address| scope.spawn(move || connects(address))).collect();
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>()
        })
    };
    addresses.chunks(TOGETHER).flat_map(together).collect()
}

/// The first that fails is the last.
fn shortest_connect(address: SocketAddr, patience: Duration) -> Option<Duration> {
    let connect = |_| {
        let begun = Instant::now();
        TcpStream::connect_timeout(&address, patience).ok().map(|_| begun.elapsed())
    };
    (0..TRIES).map_while(connect).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_has_a_time_and_who_does_not_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let addresses = [Some(listener.local_addr().unwrap()), Some(gone), None];
        let connects = shortest_connects(&addresses, Duration::from_secs(5));
        assert!(connects[0].is_some_and(|time| time > Duration::ZERO), "{connects:?}");
        assert_eq!(connects[1..], [None, None]);
    }
}
