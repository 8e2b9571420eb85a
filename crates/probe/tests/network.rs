//! The network probe against known truths: a proxy that delays, a peer that says too much or nothing, and the kernel's own
//! delayed acknowledgement.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

use plumb_model::probe::{ClaimSource, ClockAccount, ClockClaim};
use plumb_probe::network::{Limits, Listener, NetworkError, Peer, StreamCase, WriteCase};
use plumb_stats::clock_offset::{ClockModel, ClockOffset, Exchange};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

static GO_ON: AtomicBool = AtomicBool::new(false);
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Bytes of the protocol around a role, laid out as `protocol.rs` says.
const SINK: [u8; 20] = *b"PLUMBNET\x02\x00\x01\x00\x00\x00\x00\x00\xa1\xa2\xa3\xa4";

/// Runs `test` against a listener with these limits.
fn with_listener<T>(limits: Limits, test: impl FnOnce(SocketAddr) -> T) -> T {
    served_by(Listener::bind(ANY, limits).unwrap(), test)
}

fn served_by<T>(listener: Listener, test: impl FnOnce(SocketAddr) -> T) -> T {
    let address = listener.address();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| listener.serve(&done, |_| {}));
        let end = EndWhenDropped(&done);
        let result = test(address);
        drop(end);
        result
    })
}

/// A test that fails must still let the listener's thread end.
struct EndWhenDropped<'a>(&'a AtomicBool);

impl Drop for EndWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn one_write(message_bytes: u32) -> WriteCase {
    WriteCase { message_bytes, two_writes: false, nodelay: true }
}

/// Copies one direction, each piece later by `delay`; counts what it copied.
fn copy(mut from: TcpStream, mut to: TcpStream, delay: Duration, copied: &AtomicU64) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(n) = from.read(&mut bytes) {
        std::thread::sleep(delay);
        if n == 0 || to.write_all(&bytes[..n]).is_err() {
            break;
        }
        copied.fetch_add(n as u64, Relaxed);
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A proxy in front of `behind` for `connections` connections, which delays each direction; what it copied there.
fn with_proxy<T>(
    behind: SocketAddr,
    connections: usize,
    delay: Duration,
    test: impl FnOnce(SocketAddr) -> T,
) -> (T, u64) {
    let proxy = TcpListener::bind(ANY).unwrap();
    let address = proxy.local_addr().unwrap();
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let result = std::thread::scope(|scope| {
        let (there, back) = (&there, &back);
        scope.spawn(move || {
            for _ in 0..connections {
                let (near, _) = proxy.accept().unwrap();
                let far = TcpStream::connect(behind).unwrap();
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                scope.spawn(move || copy(near, far, delay, there));
                scope.spawn(move || copy(far_too, near_too, delay, back));
            }
        });
        test(address)
    });
    (result, there.load(Relaxed))
}

#[test]
fn no_round_trip_is_shorter_than_the_delay_of_both_ways() {
    let delay = Duration::from_millis(3);
    with_listener(Limits::default(), |behind| {
        let (times, _) = with_proxy(behind, 2, delay, |address| {
            let peer = Peer::new(address, &GO_ON).unwrap();
            peer.exchanges(one_write(64), Duration::from_millis(100)).unwrap()
        });
        assert!(!times.is_empty());
        assert!(times.iter().all(|ns| *ns >= 2 * delay.as_nanos() as i64), "{times:?}");
    });
}

#[test]
fn what_was_sent_is_what_passed_and_what_was_received_to_the_byte() {
    with_listener(Limits::default(), |behind| {
        let case = StreamCase { streams: 3, write_bytes: 10_000 };
        let (flow, passed) = with_proxy(behind, 4, Duration::ZERO, |address| {
            let peer = Peer::new(address, &GO_ON).unwrap();
            peer.flow(case, Duration::from_millis(80), Duration::from_millis(320)).unwrap()
        });
        assert!(flow.sent_bytes > 0);
        assert_eq!(flow.received_bytes, flow.sent_bytes);
        // Four greetings of 20 bytes and the byte that shows that we live.
        assert_eq!(passed, flow.sent_bytes + 4 * 20 + 1);
        assert_eq!(flow.tcp.len(), 3);
        assert!(flow.bytes_per_s.iter().all(|rate| *rate >= 0.0) && flow.bytes_per_s.len() >= 2);
    });
}

/// The kernel's least delay of an acknowledgement is 40 ms at any usual HZ (TCP_DELACK_MIN, include/net/tcp.h). No figure of
/// ours: a kernel that acknowledges two writes at once has another default.
#[test]
fn two_writes_with_nagle_wait_for_the_delayed_acknowledgement_and_without_it_do_not() {
    with_listener(Limits::default(), |address| {
        let peer = Peer::new(address, &GO_ON).unwrap();
        let median = |nodelay: bool| {
            let case = WriteCase { message_bytes: 100, two_writes: true, nodelay };
            let mut times = peer.exchanges(case, Duration::from_millis(500)).unwrap();
            times.sort_unstable();
            times[times.len() / 2]
        };
        let (nagle, nodelay) = (median(false), median(true));
        assert!(nagle >= 35_000_000, "{nagle}");
        assert!(nodelay < nagle, "{nodelay}");
    });
}

#[test]
fn connections_are_timed_until_they_are_there_and_until_the_first_answer() {
    with_listener(Limits::default(), |address| {
        let peer = Peer::new(address, &GO_ON).unwrap();
        let seen = peer.connections(Duration::from_millis(100)).unwrap();
        assert!(!seen.connect_ns.is_empty());
        let pairs = seen.connect_ns.iter().zip(&seen.first_answer_ns);
        assert!(pairs.clone().all(|(connected, answered)| *connected > 0 && connected <= answered));
    });
}

/// Both sides read one clock here, so that each reading is known to lie between two others.
#[test]
fn the_other_sides_clock_is_read_between_question_and_answer_and_the_band_holds_nought() {
    with_listener(Limits::default(), |behind| {
        let (exchanges, _) = with_proxy(behind, 2, Duration::from_millis(1), |address| {
            let peer = Peer::new(address, &GO_ON).unwrap();
            let mut clock = peer.clock().unwrap();
            (0..20).map(|_| clock.exchange().unwrap()).collect::<Vec<_>>()
        });
        for exchange in &exchanges {
            let at = Exchange::from(exchange);
            assert!(at.sent_ns <= at.arrived_ns && at.arrived_ns <= at.answered_ns, "{at:?}");
            assert!(at.answered_ns <= at.returned_ns && at.round_trip_ns() >= 2_000_000, "{at:?}");
        }
        let bounds: Vec<Exchange> = exchanges.iter().map(Exchange::from).collect();
        let offset = ClockOffset::estimate(&bounds, &ClockModel::default());
        for at in &bounds {
            assert!(offset.band_at(at.returned_ns).unwrap().holds(0), "{at:?}");
        }
    });
}

#[test]
fn what_a_host_says_of_its_clock_comes_over_and_is_not_asked_again_for_every_peer() {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let account = ClockAccount {
        boot_id: Some([9; 16]),
        namespace_offset_ns: Some(-7),
        claim: Some(ClockClaim { error_ns: 1_000, source: ClaimSource::TimeService }),
    };
    let ask = move || {
        ASKED.fetch_add(1, Relaxed);
        account
    };
    let began = Instant::now();
    served_by(Listener::bind(ANY, Limits::default()).unwrap().with_account(ask), |address| {
        let peer = Peer::new(address, &GO_ON).unwrap();
        for _ in 0..3 {
            assert_eq!(*peer.clock().unwrap().account(), account);
        }
    });
    // Once in ten seconds, however long this took.
    assert!(ASKED.load(Relaxed) <= 1 + began.elapsed().as_secs() / 10);
}

#[test]
fn whoever_speaks_another_protocol_is_closed_without_a_byte() {
    with_listener(Limits::default(), |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut got = Vec::new();
        // A reset is an end too: our request was longer than what is read.
        let _ = stream.read_to_end(&mut got);
        assert_eq!(got, b"");
    });
}

#[test]
fn whoever_is_silent_is_closed() {
    let limits = Limits { greeting: Duration::from_millis(50), ..Limits::default() };
    with_listener(limits, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&SINK[..19]).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).map_err(|error| error.kind()), Ok(0));
    });
}

#[test]
fn whoever_falls_silent_in_the_middle_is_closed() {
    let limits = Limits { idle: Duration::from_millis(50), ..Limits::default() };
    with_listener(limits, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&SINK).unwrap();
        stream.read_exact(&mut [0; 20]).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).map_err(|error| error.kind()), Ok(0));
    });
}

#[test]
fn a_connection_too_many_is_closed_and_there_is_room_again_when_one_goes() {
    let limits = Limits { connections: 2, ..Limits::default() };
    with_listener(limits, |address| {
        let welcome = || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&SINK)?;
            stream.read_exact(&mut [0; 20])?;
            Ok::<TcpStream, std::io::Error>(stream)
        };
        let (first, _second) = (welcome().unwrap(), welcome().unwrap());
        let refused = welcome().unwrap_err().kind();
        assert!(
            [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&refused)
        );
        drop(first);
        let deadline = Instant::now() + Duration::from_secs(20);
        while welcome().is_err() {
            assert!(Instant::now() < deadline, "no room");
        }
    });
}

#[test]
fn a_second_peer_is_told_that_the_first_is_being_served() {
    with_listener(Limits::default(), |address| {
        let _first = Peer::new(address, &GO_ON).unwrap();
        // Another address of this host: 127.0.0.2.
        let Some(mut second) = from_another_address(address) else { return };
        second.write_all(&SINK).unwrap();
        let mut answer = [0; 20];
        second.read_exact(&mut answer).unwrap();
        assert_eq!((&answer[..8], answer[10], &answer[16..]), (&b"PLUMBNET"[..], 1, &SINK[16..]));
    });
}

/// A connection whose own address is 127.0.0.2; none where loopback has only one.
fn from_another_address(to: SocketAddr) -> Option<TcpStream> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    bind(&socket, &SocketAddr::from(([127, 0, 0, 2], 0))).ok()?;
    connect(&socket, &to).ok()?;
    Some(TcpStream::from(socket))
}

#[test]
fn who_answers_in_another_way_is_told_by_name() {
    type Fits = fn(&NetworkError) -> bool;
    let answers: [(&[u8], Fits); 4] = [
        (b"HTTP/1.1 400 Bad Request", |error| matches!(error, NetworkError::Foreign { .. })),
        (b"PLUMBNET\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", |error| {
            matches!(error, NetworkError::Version { got: 9, .. })
        }),
        (b"", |error| matches!(error, NetworkError::Foreign { .. })),
        // A welcome said to whatever was asked.
        (b"PLUMBNET\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", |error| {
            matches!(error, NetworkError::Foreign { .. })
        }),
    ];
    for (answer, expected) in answers {
        let listener = TcpListener::bind(ANY).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 20]).unwrap();
                stream.write_all(answer).unwrap();
            });
            let error = Peer::new(address, &GO_ON).unwrap_err();
            assert!(expected(&error), "{error}");
        });
    }
}

#[test]
fn a_port_where_nobody_listens_is_no_connection() {
    let address = TcpListener::bind(ANY).unwrap().local_addr().unwrap();
    assert!(matches!(Peer::new(address, &GO_ON), Err(NetworkError::Connect { .. })));
}
