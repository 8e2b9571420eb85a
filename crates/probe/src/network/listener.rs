//! The other side: waits for one peer at a time and does as it asks, within bounds.
//!
//! It may be left open to strangers. Bounds: one peer (address) at a time; [`Limits::connections`] connections, the rest is
//! closed unread; a buffer of one message each, whose size was checked; a greeting within [`Limits::greeting`]; silence of at
//! most [`Limits::idle`]; [`Limits::connection`] for any connection. It sends no more than it was sent (see `protocol.rs`),
//! keeps nothing, and runs nothing.

use super::protocol::{GREETING_BYTES, MESSAGE_BYTES_MAX, Role, STREAMS_MAX, Status, answer, read_greeting};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Swallowed at once by a sink.
const SINK_BYTES: usize = 256 << 10;

/// What a peer may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: usize,
    /// Time until a connection has said what it is for.
    pub greeting: Duration,
    /// Time without a byte.
    pub idle: Duration,
    /// Time of a connection in all.
    pub connection: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // The streams, the one that holds the listener, and some that are just being closed.
            connections: STREAMS_MAX as usize + 8,
            greeting: Duration::from_secs(2),
            idle: Duration::from_secs(60),
            connection: Duration::from_secs(900),
        }
    }
}

/// A peer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// Whose address.
    pub address: IpAddr,
}

/// The listening side.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    limits: Limits,
    peers: Mutex<Peers>,
}

/// Who is being served, and by how many connections; and how many there are in all.
#[derive(Debug, Default)]
struct Peers {
    served: Option<(IpAddr, usize)>,
    connections: usize,
}

/// Why a connection is over.
#[derive(Debug)]
struct Over;

impl Listener {
    /// Listens on an address.
    pub fn bind(address: SocketAddr, limits: Limits) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address)?;
        // A peer that goes away between poll and accept must not block.
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, limits, peers: Mutex::default() })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop`. `told` hears of each new peer.
    pub fn serve(&self, stop: &AtomicBool, told: impl Fn(Visit) + Sync) {
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
        std::thread::scope(|scope| {
            while !stop.load(Relaxed) {
                let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait));
                while let Ok((stream, from)) = self.socket.accept() {
                    if !self.admit() {
                        continue;
                    }
                    let told = &told;
                    let connection = std::thread::Builder::new().spawn_scoped(scope, move || {
                        let _ = self.connection(stream, from.ip(), stop, told);
                        self.dismiss();
                    });
                    if connection.is_err() {
                        self.dismiss();
                    }
                }
            }
        });
    }

    fn peers(&self) -> std::sync::MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more connection.
    fn admit(&self) -> bool {
        let mut peers = self.peers();
        let room = peers.connections < self.limits.connections;
        peers.connections += usize::from(room);
        room
    }

    fn dismiss(&self) {
        self.peers().connections -= 1;
    }

    /// A connection of the peer that is served, or of a new one when nobody is. True for a new one.
    fn join(&self, address: IpAddr) -> Option<bool> {
        let mut peers = self.peers();
        match &mut peers.served {
            Some((served, connections)) if *served == address => {
                *connections += 1;
                Some(false)
            }
            Some(_) => None,
            none => {
                *none = Some((address, 1));
                Some(true)
            }
        }
    }

    fn leave(&self) {
        let mut peers = self.peers();
        peers.served = match peers.served {
            Some((address, connections)) if connections > 1 => Some((address, connections - 1)),
            _ => None,
        };
    }

    fn connection(
        &self,
        stream: TcpStream,
        from: IpAddr,
        stop: &AtomicBool,
        told: &impl Fn(Visit),
    ) -> Result<(), Over> {
        let mut wire = Wire::new(stream, stop, self.limits.greeting, self.limits.greeting)?;
        let mut bytes = [0; GREETING_BYTES];
        wire.fill(&mut bytes)?;
        let role = read_greeting(&bytes).map_err(|_| Over)?;
        let Some(new) = self.join(from) else {
            return wire.send(&answer(Status::Busy));
        };
        if new {
            told(Visit { address: from });
        }
        (wire.idle, wire.until) = (self.limits.idle, Instant::now() + self.limits.connection);
        let served = wire.send(&answer(Status::Welcome)).and_then(|()| match role {
            Role::Hold => wire.hold(),
            Role::Sink => wire.swallow(),
            Role::Echo { message_bytes } => wire.echo(message_bytes),
        });
        self.leave();
        served
    }
}

/// A connection whose every wait ends.
struct Wire<'a> {
    stream: TcpStream,
    stop: &'a AtomicBool,
    idle: Duration,
    until: Instant,
}

impl<'a> Wire<'a> {
    fn new(stream: TcpStream, stop: &'a AtomicBool, idle: Duration, all: Duration) -> Result<Self, Over> {
        let settings = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(LOOK)))
            .and_then(|()| stream.set_write_timeout(Some(LOOK)))
            // Whatever is said here is a whole message.
            .and_then(|()| stream.set_nodelay(true));
        settings.map_err(|_| Over)?;
        Ok(Wire { stream, stop, idle, until: Instant::now() + all })
    }

    /// Bytes of one step that may time out; none at the end of the peer's side.
    fn step(
        &mut self,
        mut step: impl FnMut(&mut TcpStream) -> std::io::Result<usize>,
    ) -> Result<usize, Over> {
        let since = Instant::now();
        loop {
            let now = Instant::now();
            if self.stop.load(Relaxed) || now > self.until {
                return Err(Over);
            }
            match step(&mut self.stream) {
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if now.duration_since(since) > self.idle {
                        return Err(Over);
                    }
                }
                Err(_) => return Err(Over),
            }
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Over> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.step(|stream| stream.read(&mut bytes[filled..]))? {
                0 => return Err(Over),
                n => filled += n,
            }
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.step(|stream| stream.write(&bytes[sent..]))? {
                0 => return Err(Over),
                n => sent += n,
            }
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), Over> {
        let mut sign = [0; 1];
        loop {
            self.fill(&mut sign)?;
        }
    }

    fn swallow(&mut self) -> Result<(), Over> {
        let mut bytes = vec![0; SINK_BYTES];
        let mut read = 0u64;
        loop {
            match self.step(|stream| stream.read(&mut bytes))? {
                0 => return self.send(&read.to_le_bytes()),
                n => read += n as u64,
            }
        }
    }

    fn echo(&mut self, message_bytes: u32) -> Result<(), Over> {
        let mut message = vec![0; message_bytes.min(MESSAGE_BYTES_MAX) as usize];
        loop {
            self.fill(&mut message)?;
            self.send(&message)?;
        }
    }
}
