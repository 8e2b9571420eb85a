//! One thing at a time: a message there and back, and new connections.

use super::peer::{NetworkError, Peer};
use super::protocol::Role;
use rustix::net::sockopt::set_socket_linger;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Exchanges before the first that counts: the connection leaves its quick start, in which Linux acknowledges at once.
const WARM_UP: u32 = 20;
/// Most connections of a measurement: each takes a port for a moment on the other side.
const CONNECTIONS_MAX: usize = 20_000;
/// The first of two writes of a request.
const HEAD_BYTES: usize = 4;

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCase {
    /// Its bytes, the same both ways.
    pub message_bytes: u32,
    /// In two writes: a head of 4 bytes, then the rest. A message of 4 bytes or less is in one.
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
    /// From the first to the last.
    pub elapsed: Duration,
}

impl Peer {
    /// Times of exchanges, one after the other on one connection, until `duration` is over.
    pub fn exchanges(
        &self,
        case: WriteCase,
        duration: Duration,
        stop: &AtomicBool,
    ) -> Result<Vec<i64>, NetworkError> {
        self.sign()?;
        let mut stream = self.connect(Role::Echo { message_bytes: case.message_bytes })?;
        stream.set_nodelay(case.nodelay).map_err(|source| self.broken(source))?;
        let message = vec![0x55; case.message_bytes as usize];
        let mut back = vec![0; message.len()];
        let cut = if case.two_writes { HEAD_BYTES.min(message.len()) } else { message.len() };
        let (head, rest) = message.split_at(cut);
        let mut exchange = || -> std::io::Result<i64> {
            let start = Instant::now();
            stream.write_all(head)?;
            if !rest.is_empty() {
                stream.write_all(rest)?;
            }
            stream.read_exact(&mut back)?;
            Ok(start.elapsed().as_nanos() as i64)
        };
        let mut times = Vec::new();
        let mut until = Instant::now() + duration;
        for number in 0.. {
            let time_ns = exchange().map_err(|source| self.broken(source))?;
            let now = Instant::now();
            match number {
                0..WARM_UP => until = now + duration,
                _ => times.push(time_ns),
            }
            if stop.load(Relaxed) || now >= until {
                break;
            }
        }
        Ok(times)
    }

    /// New connections until `duration` is over, each with one greeting answered and then closed by a reset, so that no port
    /// of ours waits for a minute.
    pub fn connections(&self, duration: Duration, stop: &AtomicBool) -> Result<Connected, NetworkError> {
        self.sign()?;
        let mut seen =
            Connected { connect_ns: Vec::new(), first_answer_ns: Vec::new(), elapsed: Duration::ZERO };
        let start = Instant::now();
        while seen.elapsed < duration && seen.connect_ns.len() < CONNECTIONS_MAX && !stop.load(Relaxed) {
            let began = Instant::now();
            let (stream, connected) = self.connect_timed(Role::Hold)?;
            seen.first_answer_ns.push(began.elapsed().as_nanos() as i64);
            seen.connect_ns.push(connected.as_nanos() as i64);
            let reset = set_socket_linger(&stream, Some(Duration::ZERO));
            reset.map_err(|error| self.broken(error.into()))?;
            drop(stream);
            seen.elapsed = start.elapsed();
        }
        Ok(seen)
    }
}
