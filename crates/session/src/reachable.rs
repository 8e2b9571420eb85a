//! A check that the brokers of a plan are there at all, before somebody is told that a run can go on.
//!
//! It tries a connection and no more. Brokers that take it and never answer look as if they were there.

use plumb_model::plan::ClusterPlan;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Longest wait for each address. Ours: a person waits for the end of the command meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

/// The port that Kafka's clients take for an address without one.
const DEFAULT_PORT: u16 = 9092;

/// The addresses of the plan's brokers, where none of them takes a connection. A lab is started anew by the run that goes on.
pub(super) fn unreachable(cluster: &ClusterPlan) -> Option<&str> {
    let ClusterPlan::Brokers { bootstrap, .. } = cluster else { return None };
    let reachable = bootstrap.split(',').map(str::trim).any(takes_a_connection);
    (!reachable).then_some(bootstrap.as_str())
}

fn takes_a_connection(broker: &str) -> bool {
    // Clients take addresses with the protocol in front, too.
    let address = broker.split_once("://").map_or(broker, |(_, address)| address);
    let found = address.to_socket_addrs().or_else(|_| (address, DEFAULT_PORT).to_socket_addrs());
    let mut found = found.into_iter().flatten();
    found.any(|address| TcpStream::connect_timeout(&address, PATIENCE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn brokers_are_unreachable_when_none_of_them_takes_a_connection() {
        let there = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = there.local_addr().map(|address| (there, address)).unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let brokers =
            |bootstrap: String| ClusterPlan::Brokers { bootstrap, config: None, metrics: Vec::new() };
        assert_eq!(unreachable(&brokers(format!("{gone}, SSL://{}", there.1))), None);
        let dead = brokers(gone.to_string());
        assert_eq!(unreachable(&dead), Some(gone.to_string().as_str()));
    }
}
