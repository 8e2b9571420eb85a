mod broker;
mod sasl;
mod tls;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use self::broker::{Broker, answer, drain, read_request, response};
use super::*;

/// Long enough for the slowest machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

fn options() -> TransportOptions {
    TransportOptions { open_timeout: PATIENCE, ..TransportOptions::default() }
}

fn patience() -> Instant {
    Instant::now() + PATIENCE
}

/// Waits for the next response as an event loop does: until there is nothing left, then polling.
fn next_body(connection: &mut Connection) -> Result<(i32, Vec<u8>), WireError> {
    loop {
        if let Some(frame) = connection.read_frame()? {
            return Ok((frame.correlation_id, frame.body.to_vec()));
        }
        assert!(wait::ready(&*connection, PollFlags::IN, patience()).unwrap(), "nothing came");
    }
}

/// Writes all of it, polling where it would block; how often it did.
fn write_all(connection: &mut Connection, bytes: &[u8]) -> usize {
    let (mut rest, mut blocked) = (bytes, 0);
    while !rest.is_empty() || !connection.flush().unwrap() {
        // In two pieces, the way a batch follows its head.
        let (head, tail) = rest.split_at(rest.len().min(7));
        match connection.write_vectored(&[IoSlice::new(head), IoSlice::new(tail)]) {
            Ok(written) => rest = &rest[written..],
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        if connection.wants_write() || !rest.is_empty() {
            blocked += 1;
            assert!(wait::ready(&*connection, PollFlags::OUT, patience()).unwrap(), "never writable");
        }
    }
    blocked
}

#[test]
fn an_opened_connection_knows_what_the_broker_speaks() {
    let broker = Broker::ready(drain);
    let connection = broker.open(options()).unwrap();
    assert_eq!(connection.version(ApiKey::Metadata, 1..=8).unwrap(), 5);
    assert_eq!(
        connection.version(ApiKey::Metadata, 6..=8).unwrap_err().to_string(),
        format!(
            "127.0.0.1:{}: Metadata: no common version: ours are 6 to 8, the broker's 0 to 5",
            broker.port
        )
    );
    assert_eq!(
        connection.version(ApiKey::Fetch, 4..=11).unwrap_err().to_string(),
        format!(
            "127.0.0.1:{}: Fetch: no common version: ours are 4 to 11, the broker's none at all",
            broker.port
        )
    );
    drop(connection);
    broker.finish();
}

#[test]
fn a_response_that_is_cut_at_any_byte_is_handed_out_when_it_is_whole() {
    let stream = [response(1, b"first"), response(2, b""), response(3, &[7; 40])].concat();
    let length = stream.len();
    let (go_on, may_go_on) = mpsc::channel();
    let broker = Broker::ready(move |mut socket| {
        for cut in 1..length {
            may_go_on.recv().unwrap();
            socket.write_all(&stream[..cut]).unwrap();
            may_go_on.recv().unwrap();
            socket.write_all(&stream[cut..]).unwrap();
        }
        drain(socket);
    });
    let mut connection = broker.open(options()).unwrap();
    for cut in 1..length {
        let mut seen = Vec::new();
        go_on.send(()).unwrap();
        assert!(wait::ready(&connection, PollFlags::IN, patience()).unwrap());
        while let Some(frame) = connection.read_frame().unwrap() {
            seen.push(frame.correlation_id);
        }
        assert!(seen.len() < 3, "cut at {cut}");
        go_on.send(()).unwrap();
        while seen.len() < 3 {
            seen.push(next_body(&mut connection).unwrap().0);
        }
        assert_eq!(seen, [1, 2, 3], "cut at {cut}");
    }
    drop(connection);
    broker.finish();
}

#[test]
fn many_responses_that_come_at_once_are_handed_out_one_after_the_other() {
    let broker = Broker::ready(|mut socket| {
        let stream: Vec<u8> = (0..5_000).flat_map(|id: i32| response(id, &id.to_be_bytes())).collect();
        socket.write_all(&stream).unwrap();
    });
    let mut connection = broker.open(options()).unwrap();
    for id in 0..5_000_i32 {
        assert_eq!(next_body(&mut connection).unwrap(), (id, id.to_be_bytes().to_vec()));
    }
    assert!(matches!(next_body(&mut connection), Err(WireError::Closed { during: Stage::Streaming, .. })));
    broker.finish();
}

#[test]
fn a_stream_that_ends_within_a_response_is_closed_not_empty() {
    let broker = Broker::ready(|mut socket| socket.write_all(&response(1, b"whole")[..9]).unwrap());
    let mut connection = broker.open(options()).unwrap();
    assert!(matches!(next_body(&mut connection), Err(WireError::Closed { during: Stage::Streaming, .. })));
    broker.finish();
}

#[test]
fn a_response_over_the_limit_is_an_error_that_says_what_it_claimed() {
    let broker = Broker::ready(|mut socket| {
        socket.write_all(&1_001_i32.to_be_bytes()).unwrap();
        drain(socket);
    });
    let mut connection = broker.open(TransportOptions { frame_limit_bytes: 1_000, ..options() }).unwrap();
    let error = next_body(&mut connection).unwrap_err();
    assert!(matches!(error, WireError::FrameLength { claimed: 1_001, limit: 1_000, .. }), "{error}");
    drop(connection);
    broker.finish();
}

#[test]
fn more_than_the_sockets_hold_would_block_and_arrives_whole() {
    let sent: Vec<u8> = (0..24_000_000_u32).map(|at| (at % 251) as u8).collect();
    let expected = sent.clone();
    let (go_on, may_go_on) = mpsc::channel();
    let broker = Broker::ready(move |mut socket| {
        may_go_on.recv().unwrap();
        let mut received = Vec::new();
        socket.read_to_end(&mut received).unwrap();
        assert!(received == expected);
    });
    let mut connection = broker.open(options()).unwrap();
    // Nobody reads yet: there comes a moment when nothing more can be written.
    let mut written = 0;
    let blocked = loop {
        match connection.write_vectored(&[IoSlice::new(&sent[written..])]) {
            Ok(bytes) => {
                assert!(bytes > 0);
                written += bytes;
            }
            Err(error) => break error,
        }
    };
    assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
    go_on.send(()).unwrap();
    write_all(&mut connection, &sent[written..]);
    drop(connection);
    broker.finish();
}

#[test]
fn an_exchange_asks_with_its_own_number_and_gives_the_body() {
    let broker = Broker::ready(|mut socket| {
        for _ in 0..2 {
            let request = answer(&mut socket, b"body");
            assert_eq!((request.api, request.version, &request.body[..]), (3, 5, &b"asked"[..]));
        }
    });
    let mut connection = broker.open(options()).unwrap();
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let frame = connection
            .exchange(ApiKey::Metadata, 5, |out| out.extend_from_slice(b"asked"), patience())
            .unwrap();
        assert_eq!(frame.body, b"body");
        numbers.push(frame.correlation_id);
    }
    assert_eq!(numbers, [2, 3]);
    broker.finish();
}

#[test]
fn the_answer_to_another_request_is_an_error() {
    let broker = Broker::ready(|mut socket| {
        read_request(&mut socket).unwrap();
        socket.write_all(&response(99, b"")).unwrap();
        drain(socket);
    });
    let mut connection = broker.open(options()).unwrap();
    let error = connection.exchange(ApiKey::Metadata, 5, |_| {}, patience()).unwrap_err();
    assert!(matches!(error, WireError::Correlation { expected: 2, got: 99, .. }), "{error}");
    drop(connection);
    broker.finish();
}

#[test]
fn a_broker_that_does_not_answer_is_a_timeout_and_one_that_hangs_up_is_not() {
    let silent = Broker::ready(drain);
    let mut connection = silent.open(options()).unwrap();
    let soon = Instant::now() + Duration::from_millis(20);
    let error = connection.exchange(ApiKey::Metadata, 5, |_| {}, soon).unwrap_err();
    assert!(matches!(error, WireError::Timeout { during: Stage::Exchange(ApiKey::Metadata), .. }), "{error}");
    drop(connection);
    silent.finish();

    let leaving = Broker::ready(|mut socket| drop(read_request(&mut socket)));
    let mut connection = leaving.open(options()).unwrap();
    let error = connection.exchange(ApiKey::Metadata, 5, |_| {}, patience()).unwrap_err();
    assert!(error.to_string().contains("the listener may require SASL"), "{error}");
    leaving.finish();
}

#[test]
fn a_listener_that_never_answers_makes_opening_time_out() {
    let broker = Broker::start(drain);
    let error =
        broker.open(TransportOptions { open_timeout: Duration::from_millis(50), ..options() }).unwrap_err();
    assert!(matches!(error, WireError::Timeout { during: Stage::Versions, .. }), "{error}");
    broker.finish();
}

#[test]
fn a_port_where_nobody_listens_is_unreachable_and_a_name_that_is_none_is_unresolved() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let transport = Transport::new(options()).unwrap();
    let error = transport.open("127.0.0.1", port).unwrap_err();
    assert!(matches!(error, WireError::Unreachable { .. }), "{error}");
    // A name that the resolver refuses without asking anybody.
    let error = transport.open("no\0name", port).unwrap_err();
    assert!(matches!(error, WireError::Unresolved { .. }), "{error}");
}

#[test]
fn an_address_in_brackets_is_one_of_ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
    let port = listener.local_addr().unwrap().port();
    let script = std::thread::spawn(move || broker::answer_versions(&mut listener.accept().unwrap().0));
    let connection = Transport::new(options()).unwrap().open("[::1]", port).unwrap();
    assert_eq!(connection.broker(), format!("[::1]:{port}"));
    script.join().unwrap();
}
