//! Exchanges with a peer, one at a time: a message there and back, and new connections.

use super::messages::Over;
use super::peer::{NetworkError, Peer, unforeseen};
use super::protocol::Role;
use plumb_model::random::Random;
use rustix::net::sockopt::set_socket_linger;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Exchanges before the first that counts: the connection leaves its quick start, in which Linux acknowledges at once.
const WARM_UP: u64 = 20;
/// Most connections of a measurement: each takes a port for a moment on the other side.
const CONNECTIONS_MAX: usize = 20_000;
/// The first of two writes of a request.
const HEAD_BYTES: usize = 4;

/// The way in which a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCase {
    /// Its bytes, the same both ways.
    pub message_bytes: u32,
    /// True for two writes: a head of 4 bytes, then the rest. A message of 4 bytes or less is in one.
    pub two_writes: bool,
    /// Without Nagle's algorithm.
    pub nodelay: bool,
}

/// New connections, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// Time until each was there.
    pub connect_ns: Vec<i64>,
    /// Time until its first request was answered.
    pub first_answer_ns: Vec<i64>,
    /// The time from the first to the last.
    pub elapsed: Duration,
}

impl Peer<'_> {
    /// Times of exchanges, one after the other on one connection, until `duration` is over. Each message is another, and has
    /// to come back as it was.
    pub fn exchanges(&self, case: WriteCase, duration: Duration) -> Result<Vec<i64>, NetworkError> {
        self.sign()?;
        let wire = self.connect(Role::Echo { message_bytes: case.message_bytes })?;
        wire.stream.set_nodelay(case.nodelay).map_err(|source| self.broken(Over::Failed(source)))?;
        let mut message = Message::new(case.message_bytes as usize);
        let cut = if case.two_writes { HEAD_BYTES.min(message.bytes.len()) } else { message.bytes.len() };
        let mut back = vec![0; message.bytes.len()];
        let mut exchange = |message: &[u8]| {
            let (head, rest) = message.split_at(cut);
            let start = Instant::now();
            let until = self.until(start);
            wire.send(head, until)?;
            if !rest.is_empty() {
                wire.send(rest, until)?;
            }
            wire.fill(&mut back, until)?;
            let time_ns = start.elapsed().as_nanos() as i64;
            Ok((time_ns, back == message))
        };
        let mut times = Vec::new();
        let mut until = Instant::now() + duration;
        for number in 0.. {
            let time_ns = match exchange(message.next()) {
                Ok((time_ns, true)) => time_ns,
                Ok((_, false)) => {
                    return Err(NetworkError::Altered { address: self.address(), number: number + 1 });
                }
                Err(Over::Stopped) => break,
                Err(over) => return Err(self.broken(over)),
            };
            let now = Instant::now();
            match number {
                0..WARM_UP => until = now + duration,
                _ => times.push(time_ns),
            }
            if self.stop().load(Relaxed) || now >= until {
                break;
            }
        }
        Ok(times)
    }

    /// New connections until `duration` is over, each with one greeting answered and then closed by a reset, so that no port
    /// of ours waits for a minute.
    pub fn connections(&self, duration: Duration) -> Result<Connected, NetworkError> {
        self.sign()?;
        let mut seen =
            Connected { connect_ns: Vec::new(), first_answer_ns: Vec::new(), elapsed: Duration::ZERO };
        let start = Instant::now();
        while seen.elapsed < duration && seen.connect_ns.len() < CONNECTIONS_MAX {
            let began = Instant::now();
            let (wire, connected) = match self.connect_timed(Role::Hold) {
                Err(NetworkError::Stopped) => break,
                connected => connected?,
            };
            seen.first_answer_ns.push(began.elapsed().as_nanos() as i64);
            seen.connect_ns.push(connected.as_nanos() as i64);
            let reset = set_socket_linger(&wire.stream, Some(Duration::ZERO));
            reset.map_err(|error| self.broken(Over::Failed(error.into())))?;
            drop(wire);
            seen.elapsed = start.elapsed();
            if self.stop().load(Relaxed) {
                break;
            }
        }
        Ok(seen)
    }
}

/// A message that is another each time, at both ends of it, and that nobody foresees.
struct Message {
    bytes: Vec<u8>,
    random: Random,
}

impl Message {
    fn new(bytes: usize) -> Self {
        Message { bytes: vec![0x55; bytes], random: Random::new(unforeseen()) }
    }

    fn next(&mut self) -> &[u8] {
        let word = self.bytes.len().min(size_of::<u64>());
        let last = self.bytes.len() - word;
        self.random.fill(&mut self.bytes[last..]);
        self.random.fill(&mut self.bytes[..word]);
        &self.bytes
    }
}
