//! Brokers that are not where, or not what, the user says.

use super::{assert_says, complaint, latency, latency_with};
use crate::kafka::lab;
use std::net::TcpListener;

#[test]
fn a_port_on_which_nobody_listens() {
    // Bound and not listening: nobody else can take it, and connections are refused.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    drop(socket);
    assert_says!(complaint(&latency(&address).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: no broker of 127.0.0.1:[port] could be reached within [n] s: Connect to ipv4#127.0.0.1:[port] failed: Connection refused
    hint: nothing listens there: check the port, and that the broker runs (`plumb lab up` starts one here)
    ");
}

#[test]
fn a_name_that_cannot_be_resolved() {
    assert_says!(complaint(&latency("no-such-host.invalid:9092").run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: no broker of no-such-host.invalid:9092 could be reached within [n] s: Failed to resolve 'no-such-host.invalid:9092': Name or service not known
    hint: the name cannot be resolved: check --bootstrap and the host's name service
    ");
}

#[test]
fn something_that_listens_and_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_says!(complaint(&latency(&silent.local_addr().unwrap().to_string()).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: no broker of 127.0.0.1:[port] could be reached within [n] s: no answer
    hint: check the address, the port and the firewall between here and there
    ");
}

#[test]
fn tls_to_a_plaintext_port() {
    assert_says!(complaint(&latency_with(&lab().plaintext_bootstrap(), "security.protocol=SSL\n").run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: no TLS connection with 127.0.0.1:[port]: SSL handshake failed: Disconnected: SSL connection closed by peer: connecting to a PLAINTEXT broker listener?
    hint: that port does not speak TLS: give the cluster's TLS port, or set security.protocol=PLAINTEXT (SASL_PLAINTEXT with a login) in the client properties file
    ");
}

#[test]
fn plaintext_to_a_tls_port() {
    assert_says!(complaint(&latency(&lab().bootstrap()).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: 127.0.0.1:[port] takes the connection and closes it when it is spoken to as PLAINTEXT
    hint: the port expects another protocol: set security.protocol (SSL for TLS, SASL_SSL for TLS and a login, SASL_PLAINTEXT for a login alone) in a client properties file and name it with --config
    ");
}
