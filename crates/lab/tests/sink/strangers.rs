//! Bytes that are no Kafka, and requests that lie about their lengths: the connection ends, the sink goes on.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use plumb_lab::sink::{Control, SinkBroker};
use proptest::{prelude::*, test_runner::Config};

use super::client::{LIMIT, Sender, sink};

/// Sends bytes and waits until the sink hangs up.
fn is_cut_off(broker: &SinkBroker, control: &Control, bytes: &[u8]) -> bool {
    let before = control.stats().connections.cut_off;
    let mut stream = TcpStream::connect(broker.bootstrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // The sink may hang up before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
    let stats =
        control.wait_until(LIMIT, |stats| stats.connections.closed == stats.connections.opened).unwrap();
    stats.connections.cut_off > before
}

fn request(api: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((10 + body.len() as i32).to_be_bytes());
    bytes.extend(api.to_be_bytes());
    bytes.extend(version.to_be_bytes());
    bytes.extend(1_i32.to_be_bytes());
    bytes.extend((-1_i16).to_be_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn hostile_bytes_end_their_own_connection_only() {
    let (broker, control) = sink(1);
    let huge = i32::MAX.to_be_bytes();
    let hostile = [
        b"GET / HTTP/1.1\r\nHost: sink\r\n\r\n".to_vec(),
        huge.to_vec(),
        (-1_i32).to_be_bytes().to_vec(),
        [4_i32.to_be_bytes(), [0; 4]].concat(),
        // Metadata for two thousand million topics, a produce of as many, an unknown API, an unknown version.
        request(3, 1, &huge),
        request(0, 3, &[&[0xFF, 0xFF, 0, 1, 0, 0, 0, 1][..], &huge].concat()),
        request(9_999, 0, &[]),
        request(0, 99, &[]),
    ];
    for bytes in &hostile {
        assert!(is_cut_off(&broker, &control, bytes), "{bytes:?}");
    }
    assert_eq!(Sender::new(&broker, &[]).send_each(&["still here"])[0].offset(), 0);
}

#[test]
fn random_requests_never_stop_the_sink() {
    let (broker, control) = sink(1);
    let requests = (-1_i16..70, 0_i16..15, prop::collection::vec(any::<u8>(), 0..200));
    proptest!(Config { cases: 500, failure_persistence: None, ..Config::default() }, |((api, version, body) in requests)| {
        is_cut_off(&broker, &control, &request(api, version, &body));
    });
    assert!(Sender::new(&broker, &[]).send_each(&["still here"])[0].outcome.is_ok());
}
