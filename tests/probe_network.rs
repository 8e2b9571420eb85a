//! `plumb probe network` as a user has it: an end that comes too early, and network namespaces.
//!
//! Rates are this machine's and are not asserted.

use crate::program::{Program, Running};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

fn probe(words: &[&str]) -> Program {
    Program::new(["probe", "network", "--output", "json", "--duration", "120ms", "--streams", "1"])
        .args(words)
}

/// The address that a listener says, once it does.
fn listening(running: &mut Running) -> SocketAddr {
    running.wait_for("an address", |running| {
        running.said().strip_prefix("listening on ")?.lines().next()?.parse().ok()
    })
}

/// Bytes that a stream has at least: one write of it.
const STREAM_BYTES: u64 = 256 << 10;

/// Carries connections on to `to` until one that had a stream's bytes has ended; who comes then finds it closed.
fn carry(listener: &TcpListener, to: SocketAddr) {
    let streamed = Arc::new(AtomicBool::new(false));
    loop {
        let (here, _) = listener.accept().unwrap();
        if streamed.load(Relaxed) {
            return;
        }
        let there = TcpStream::connect(to).unwrap();
        let ways = [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)];
        for (mut from, mut to) in ways {
            to.set_nodelay(true).unwrap();
            let streamed = Arc::clone(&streamed);
            std::thread::spawn(move || {
                // Who breaks off has moved less than a stream.
                let moved = std::io::copy(&mut from, &mut to).unwrap_or(0);
                streamed.fetch_or(moved >= STREAM_BYTES, Relaxed);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }
}

#[test]
fn a_peer_that_goes_away_leaves_what_was_measured_before_and_its_error() {
    let mut listener = Program::new(["probe", "network", "--listen", "127.0.0.1:0"]).start();
    let to = listening(&mut listener);
    let carrier = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = carrier.local_addr().unwrap().to_string();
    let carrying = std::thread::spawn(move || carry(&carrier, to));
    let ended = probe(&[&address]).run();
    carrying.join().unwrap();
    listener.signal(Signal::INT);
    listener.wait();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["complete"], false);
    let error = document["ended_by"].as_str().unwrap();
    assert!(ended.stderr.contains("error: ") && error.contains(&address), "{error}: {}", ended.stderr);
    let measured =
        ["round_trips", "writes", "throughput"].map(|name| document[name].as_array().unwrap().len());
    assert!(measured.iter().sum::<usize>() >= 1, "{document}");
}

#[test]
fn nobody_who_answers_is_an_error_and_no_document() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let ended = probe(&[&free]).run();
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(4), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("--listen"), "{}", ended.stderr);
}

/// The word of a connection that is for messages there and back.
const ECHO: u8 = 2;

/// A listener as the protocol has it, but for messages, with which it does as `role` says; for a test's whole life.
fn peer(role: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut greeting = [0; 20];
                if stream.read_exact(&mut greeting).is_err() {
                    return;
                }
                let asked = greeting[10];
                greeting[10..16].fill(0);
                if stream.write_all(&greeting).is_err() {
                    return;
                }
                if asked == ECHO {
                    return role(stream);
                }
                let read = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
                let _ = stream.write_all(&read.to_le_bytes());
            });
        }
    });
    address
}

#[test]
fn a_peer_that_answers_other_bytes_than_it_was_sent_is_an_error() {
    let zeros = |mut stream: TcpStream| {
        let mut bytes = [0; 1 << 16];
        while let Ok(read @ 1..) = stream.read(&mut bytes) {
            bytes.fill(0);
            if stream.write_all(&bytes[..read]).is_err() {
                return;
            }
        }
    };
    let address = peer(zeros);
    let ended = probe(&[&address]).run();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    // Streams and connections that were measured before it may be there; of round trips nothing is.
    assert!(ended.stderr.contains("with other bytes than it was sent"), "{}", ended.stderr);
    if !ended.stdout.is_empty() {
        assert_eq!(ended.json()["round_trips"], serde_json::json!([]));
    }
}

#[test]
fn ctrl_c_ends_the_wait_for_a_peer_that_trickles() {
    let trickle = |mut stream: TcpStream| {
        while stream.write_all(&[1]).is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let address = peer(trickle);
    let mut running = probe(&["--sizes", "64KiB", &address]).start();
    running.wait_until_it_listens_for_signals();
    running.signal(Signal::INT);
    assert_eq!(running.wait().code(), Some(130));
}

#[test]
fn addresses_that_cannot_be_are_said_to_be_so_with_a_next_step() {
    let holds = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holds.local_addr().unwrap().to_string();
    for (words, code, says) in [
        (&["127.0.0.1:99999"][..], 2, "ports end at 65535"),
        (&["--listen", "127.0.0.1:99999"], 2, "ports end at 65535"),
        (&["--listen", "192.0.2.7:0"], 3, "this host has no such address"),
    ] {
        let ended = Program::new(["probe", "network"]).args(words).run();
        assert_eq!(ended.code(), Some(code), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says) && ended.stderr.contains("hint: "), "{}", ended.stderr);
    }
    let ended = Program::new(["probe", "network", "--listen", &taken]).run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("another program has that port"), "{}", ended.stderr);
}

/// A network namespace of a test's own.
struct Namespace(String);

impl Namespace {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("plumb-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        ip(&["netns", "add", &name]);
        Namespace(name)
    }

    fn ip(&self, words: &[&str]) {
        ip(&[&["-n", &self.0][..], words].concat());
    }

    /// A program in it.
    fn run(&self, program: Program) -> Program {
        program.under(&["ip", "netns", "exec", &self.0])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).status();
    assert!(done.is_ok_and(|status| status.success()), "ip {words:?}: needs root and iproute2");
}

#[test]
#[ignore = "make test-hardware"]
fn in_a_namespace_of_its_own_loopback_is_measured_once_it_is_up() {
    let space = Namespace::new();
    let down = space.run(probe(&[])).run();
    assert_eq!((down.code(), down.stdout.as_str()), (Some(4), ""), "{}", down.stderr);
    assert!(down.stderr.contains("ip link set lo up"), "{}", down.stderr);
    space.ip(&["link", "set", "lo", "up"]);
    let up = space.run(probe(&[])).run();
    assert_eq!(up.code(), Some(0), "{}", up.stderr);
    let document = up.json();
    assert_eq!((&document["loopback"], &document["complete"]), (&true.into(), &true.into()));
    assert_eq!(document["round_trips"].as_array().unwrap().len(), 4);
}

#[test]
#[ignore = "make test-hardware"]
fn two_namespaces_measure_each_other_across_a_virtual_cable() {
    let (here, there) = (Namespace::new(), Namespace::new());
    ip(&["-n", &here.0, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", &there.0]);
    for (space, address) in [(&here, "192.0.2.1/24"), (&there, "192.0.2.2/24")] {
        space.ip(&["address", "add", address, "dev", "cable"]);
        space.ip(&["link", "set", "cable", "up"]);
    }
    let mut listener = there.run(Program::new(["probe", "network", "--listen", "192.0.2.2:0"])).start();
    let address = listening(&mut listener).to_string();
    let ended = here.run(probe(&[&address])).run();
    listener.signal(Signal::INT);
    listener.wait();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!((&document["loopback"], &document["peer"]), (&false.into(), &address.into()));
    let stream = &document["throughput"][0];
    assert!(stream["sent_bytes"].as_u64().unwrap() > 0, "{stream}");
    assert_eq!(stream["sent_bytes"], stream["received_bytes"], "{stream}");
}
