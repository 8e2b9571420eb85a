//! The network probe against peers that cheat, trickle or fall silent. Each is a listener of a few lines, and each ends.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

use plumb_probe::network::{Limits, Listener, NetworkError, Peer, StreamCase, WriteCase};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

static GO_ON: AtomicBool = AtomicBool::new(false);
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const GREETING_BYTES: usize = 20;
const MESSAGE_BYTES: usize = 64;
/// The time that these peers are given; they need far longer.
const PATIENCE: Duration = Duration::from_millis(300);
/// Far more than patience and a machine that has other things to do.
const SOON: Duration = Duration::from_secs(30);

/// Welcomes every connection as the protocol says. The one that holds the listener is left open; each other is `role`'s.
fn with_peer<T>(role: impl Fn(TcpStream) + Sync, test: impl FnOnce(SocketAddr) -> T) -> T {
    let listener = TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                if over.load(Relaxed) {
                    break;
                }
                let mut stream = stream.unwrap();
                let mut greeting = [0; GREETING_BYTES];
                if stream.read_exact(&mut greeting).is_err() {
                    continue;
                }
                let mut answer = greeting;
                answer[10..16].fill(0);
                stream.write_all(&answer).unwrap();
                if greeting[10] == 0 {
                    held.push(stream);
                } else {
                    scope.spawn(|| role(stream));
                }
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(address)));
        over.store(true, Relaxed);
        let _ = TcpStream::connect(address);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The times of round trips with it, given so long for each.
fn exchanges(address: SocketAddr, patience: Duration, stop: &AtomicBool) -> Result<Vec<i64>, NetworkError> {
    let case = WriteCase { message_bytes: MESSAGE_BYTES as u32, two_writes: false, nodelay: true };
    Peer::patient(address, patience, stop)?.exchanges(case, Duration::from_millis(100))
}

/// Answers each message in its own way until the peer goes.
fn answering(stream: TcpStream, mut answer: impl FnMut(&mut [u8; MESSAGE_BYTES])) {
    let mut stream = stream;
    let mut message = [0; MESSAGE_BYTES];
    while stream.read_exact(&mut message).is_ok() {
        answer(&mut message);
        if stream.write_all(&message).is_err() {
            return;
        }
    }
}

/// Sends a byte each 20 ms until the peer goes.
fn trickle(mut stream: TcpStream) {
    while stream.write_all(&[1]).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_peer_that_answers_zeros_is_an_error_and_no_figure() {
    let seen = with_peer(
        |stream| answering(stream, |message| message.fill(0)),
        |address| exchanges(address, SOON, &GO_ON),
    );
    assert!(matches!(seen, Err(NetworkError::Altered { number: 1, .. })), "{seen:?}");
}

#[test]
fn one_byte_that_differs_is_found_wherever_it_is() {
    for at in [0, MESSAGE_BYTES / 2, MESSAGE_BYTES - 1] {
        let seen = with_peer(
            |stream| {
                let mut number = 0;
                answering(stream, |message| {
                    number += 1;
                    message[at] ^= u8::from(number == 3);
                });
            },
            |address| exchanges(address, SOON, &GO_ON),
        );
        assert!(matches!(seen, Err(NetworkError::Altered { number: 3, .. })), "{at}: {seen:?}");
    }
}

/// It repeats what it was sent first, before it is asked: every answer is there at once.
#[test]
fn a_peer_that_answers_before_it_is_asked_is_an_error_and_no_figure() {
    let ahead = |mut stream: TcpStream| {
        let mut message = [0; MESSAGE_BYTES];
        stream.read_exact(&mut message).unwrap();
        while stream.write_all(&message).is_ok() {}
    };
    let seen = with_peer(ahead, |address| exchanges(address, SOON, &GO_ON));
    assert!(matches!(seen, Err(NetworkError::Altered { number: 2, .. })), "{seen:?}");
}

#[test]
fn a_peer_that_trickles_is_given_up_after_the_time_of_one_message() {
    let began = Instant::now();
    let seen = with_peer(trickle, |address| exchanges(address, PATIENCE, &GO_ON));
    let Err(NetworkError::Silent { got_bytes, .. }) = seen else { panic!("{seen:?}") };
    assert!((1..MESSAGE_BYTES).contains(&got_bytes), "{got_bytes}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_peer_that_is_silent_is_said_to_be() {
    let silent = |stream: TcpStream| answer_nothing(&stream);
    let error = with_peer(silent, |address| exchanges(address, PATIENCE, &GO_ON)).unwrap_err();
    assert!(error.to_string().ends_with(": no answer within 0.3 s"), "{error}");
}

/// Reads until the peer goes.
fn answer_nothing(mut stream: &TcpStream) {
    let mut bytes = [0; 1 << 10];
    while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
}

#[test]
fn a_stop_ends_the_wait_for_a_peer_that_trickles_and_for_one_that_is_silent() {
    let silent: fn(TcpStream) = |stream| answer_nothing(&stream);
    for peer in [trickle, silent] {
        let stop = AtomicBool::new(false);
        let began = Instant::now();
        let seen = with_peer(peer, |address| {
            std::thread::scope(|scope| {
                let probe = scope.spawn(|| exchanges(address, 10 * SOON, &stop));
                stop.store(true, Relaxed);
                probe.join().unwrap()
            })
        });
        assert!(matches!(&seen, Ok(times) if times.is_empty()) || matches!(seen, Err(NetworkError::Stopped)));
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }
}

#[test]
fn a_sink_that_trickles_its_count_or_never_tells_it_is_given_up() {
    let counts: [fn(TcpStream); 2] = [
        |stream| {
            answer_nothing(&stream);
            for _ in 0..7 {
                let _ = (&stream).write_all(&[1]);
                std::thread::sleep(Duration::from_millis(100));
            }
            answer_nothing(&stream);
        },
        |stream| {
            // The peer ends its side, and then the connection.
            answer_nothing(&stream);
            std::thread::sleep(Duration::from_secs(1));
        },
    ];
    for count in counts {
        let case = StreamCase { streams: 1, write_bytes: 1_000 };
        let flow = with_peer(count, |address| {
            let peer = Peer::patient(address, PATIENCE, &GO_ON).unwrap();
            peer.flow(case, Duration::from_millis(20), Duration::from_millis(40))
        });
        assert!(matches!(flow, Err(NetworkError::Silent { .. })), "{flow:?}");
    }
}

#[test]
fn a_listener_gives_up_a_message_that_trickles_however_long_a_silence_may_be() {
    let limits = Limits { message: PATIENCE, ..Limits::default() };
    let listener = Listener::bind(ANY, limits).unwrap();
    let address = listener.address();
    let done = AtomicBool::new(false);
    let (ended, began) = std::thread::scope(|scope| {
        scope.spawn(|| listener.serve(&done, |_| {}));
        let mut stream = TcpStream::connect(address).unwrap();
        // An echo of 64 KiB.
        stream.write_all(b"PLUMBNET\x02\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00").unwrap();
        let answered = stream.read_exact(&mut [0; GREETING_BYTES]);
        let began = Instant::now();
        let mut ended = answered.is_err();
        while !ended && began.elapsed() < SOON {
            ended = stream.write_all(&[1]).is_err();
            std::thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Relaxed);
        (ended, began)
    });
    assert!(ended && began.elapsed() >= PATIENCE, "{:?}", began.elapsed());
}
