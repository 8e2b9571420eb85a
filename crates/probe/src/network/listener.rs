//! The other side: waits for one peer at a time and does as it asks, within bounds.
//!
//! It may be left open to strangers. Bounds: one peer (address) at a time; [`Limits::connections`] connections, the rest is
//! closed unread; a buffer of one message each, whose size was checked; a greeting within [`Limits::greeting`]; silence of at
//! most [`Limits::idle`]; [`Limits::message`] from the first byte of a message to its last, and for an answer;
//! [`Limits::connection`] for any connection. It sends no more than it was sent (see `protocol.rs`), and keeps nothing. What it tells of
//! this host's clocks is asked by whoever made it, anew at most once in [`ACCOUNT_AGE`], whoever comes.

use super::clock_exchange::{QUESTION_BYTES, account_bytes, answer_now};
use super::messages::{Over, Wire, ready};
use super::peer::{NetworkError, PATIENCE};
use super::protocol::{
    GREETING_BYTES, MESSAGE_BYTES_MAX, NoGreeting, Role, STREAMS_MAX, Status, answer, read_greeting,
};
use plumb_model::probe::ClockAccount;
use rustix::event::{PollFd, PollFlags};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Swallowed at once by a sink.
const SINK_BYTES: usize = 256 << 10;
/// What this host says of its clocks is told for so long before it is asked again: a time service is asked by running a program. Ours.
const ACCOUNT_AGE: Duration = Duration::from_secs(10);

/// The limits of a peer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: usize,
    /// Time until a connection has said what it is for.
    pub greeting: Duration,
    /// Time without a byte.
    pub idle: Duration,
    /// Time from the first byte of a message to its last, and until an answer is sent.
    pub message: Duration,
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
            // What the peer waits for too.
            message: PATIENCE,
            connection: Duration::from_secs(900),
        }
    }
}

/// A peer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The address.
    pub address: IpAddr,
}

/// The listening side.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    limits: Limits,
    peers: Mutex<Peers>,
    account: Account,
}

/// How this host's account of its clocks is had, and when it was asked last.
struct Account {
    ask: Box<dyn Fn() -> ClockAccount + Send + Sync>,
    last: Mutex<Option<(Instant, ClockAccount)>>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Account").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Account {
    fn now(&self) -> ClockAccount {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match *last {
            Some((asked, account)) if asked.elapsed() < ACCOUNT_AGE => account,
            _ => {
                let account = (self.ask)();
                *last = Some((Instant::now(), account));
                account
            }
        }
    }
}

/// The peer being served, with its number of connections; and the number of all connections.
#[derive(Debug, Default)]
struct Peers {
    served: Option<(IpAddr, usize)>,
    connections: usize,
}

impl Listener {
    /// Listens on an address.
    pub fn bind(address: SocketAddr, limits: Limits) -> Result<Self, NetworkError> {
        let fault = |source| NetworkError::Listen { address, source };
        let socket = TcpListener::bind(address).map_err(fault)?;
        // A peer that goes away between poll and accept must not block.
        socket.set_nonblocking(true).map_err(fault)?;
        let address = socket.local_addr().map_err(fault)?;
        let account = Account { ask: Box::new(ClockAccount::default), last: Mutex::default() };
        Ok(Listener { socket, address, limits, peers: Mutex::default(), account })
    }

    /// The same, with what this host says of its clocks; without it nothing is said of them.
    #[must_use]
    pub fn with_account(self, ask: impl Fn() -> ClockAccount + Send + Sync + 'static) -> Self {
        Listener { account: Account { ask: Box::new(ask), last: Mutex::default() }, ..self }
    }

    /// The address on which it listens: with the port that it got where any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`. `told` hears of each new peer.
    pub fn serve(&self, stop: &AtomicBool, told: impl Fn(Visit) + Sync) {
        std::thread::scope(|scope| {
            while !stop.load(Relaxed) {
                ready(&PollFd::new(&self.socket, PollFlags::IN));
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
        let wire = Wire::new(stream, stop)?;
        let (began, mut bytes) = (Instant::now(), [0; GREETING_BYTES]);
        wire.fill(&mut bytes, began + self.limits.greeting)?;
        let asked = match read_greeting(&bytes) {
            Ok(asked) => asked,
            // It reads our version in the answer, whatever else that says.
            Err(NoGreeting::Version(_)) => {
                return wire.send(&answer(Status::Busy, 0), began + self.limits.greeting);
            }
            Err(NoGreeting::Foreign | NoGreeting::Unknown) => return Err(Over::Closed),
        };
        let Some(new) = self.join(from) else {
            return wire.send(&answer(Status::Busy, asked.number), began + self.limits.greeting);
        };
        if new {
            told(Visit { address: from });
        }
        let visit = Served { wire, limits: self.limits, until: began + self.limits.connection };
        let served = visit.send(&answer(Status::Welcome, asked.number)).and_then(|()| match asked.role {
            Role::Hold => visit.hold(),
            Role::Sink => visit.swallow(),
            Role::Echo { message_bytes } => visit.echo(message_bytes),
            Role::Clock => visit.tell_time(&self.account.now()),
        });
        self.leave();
        served
    }
}

/// A connection that is being served.
struct Served<'a> {
    wire: Wire<'a>,
    limits: Limits,
    /// Its end, whatever it does.
    until: Instant,
}

impl Served<'_> {
    fn within(&self, time: Duration) -> Instant {
        self.until.min(Instant::now() + time)
    }

    /// A message. It may be long in coming, and not long in arriving.
    fn message(&self, bytes: &mut [u8]) -> Result<(), Over> {
        match self.wire.read(bytes, self.within(self.limits.idle))? {
            0 => Err(Over::Closed),
            n if n == bytes.len() => Ok(()),
            n => self.wire.fill(&mut bytes[n..], self.within(self.limits.message)),
        }
    }

    fn send(&self, bytes: &[u8]) -> Result<(), Over> {
        self.wire.send(bytes, self.within(self.limits.message))
    }

    fn hold(&self) -> Result<(), Over> {
        let mut sign = [0; 1];
        loop {
            self.message(&mut sign)?;
        }
    }

    fn swallow(&self) -> Result<(), Over> {
        let mut bytes = vec![0; SINK_BYTES];
        let mut read = 0u64;
        loop {
            match self.wire.read(&mut bytes, self.within(self.limits.idle))? {
                0 => return self.send(&read.to_le_bytes()),
                n => read += n as u64,
            }
        }
    }

    fn echo(&self, message_bytes: u32) -> Result<(), Over> {
        let mut message = vec![0; message_bytes.min(MESSAGE_BYTES_MAX) as usize];
        loop {
            self.message(&mut message)?;
            self.send(&message)?;
        }
    }

    /// Each message is answered as soon as it is there.
    fn tell_time(&self, account: &ClockAccount) -> Result<(), Over> {
        self.send(&account_bytes(account))?;
        let mut question = [0; QUESTION_BYTES];
        loop {
            self.message(&mut question)?;
            self.send(&answer_now(&question))?;
        }
    }
}
