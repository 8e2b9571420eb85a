//! The measuring side: connections to a listener, each for one purpose.

use super::messages::{Over, Wire, open};
use super::protocol::{Asked, GREETING_BYTES, NoGreeting, Role, Status, VERSION, greeting, read_answer};
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Longest wait for a connection, a whole answer, or room for a whole message.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The reason why there is no measuring with that peer.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// No listening on that address of this host.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// No connection.
    #[error("no connection to {address}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// Something else answers there.
    #[error("{address} is no `plumb probe network --listen`: it answers in another protocol, or not at all")]
    Foreign {
        /// The address.
        address: SocketAddr,
    },
    /// Another version of Plumb listens there.
    #[error("{address} speaks version {got} of the probe's protocol, expected {VERSION}")]
    Version {
        /// The address.
        address: SocketAddr,
        /// Its version.
        got: u16,
    },
    /// It serves somebody else.
    #[error("{address} is measuring with another peer")]
    Busy {
        /// The address.
        address: SocketAddr,
    },
    /// It did not answer in time.
    #[error("{address}: {} within {} s", received_so_far(*got_bytes), patience.as_secs_f64())]
    Silent {
        /// The address.
        address: SocketAddr,
        /// The bytes of the message that came.
        got_bytes: usize,
        /// The time that it had.
        patience: Duration,
    },
    /// The bytes that came back are not those that were sent.
    #[error("{address} answered message {number} of a connection with other bytes than it was sent")]
    Altered {
        /// The address.
        address: SocketAddr,
        /// Its number, from 1.
        number: u64,
    },
    /// It knows no clock exchanges.
    #[error(
        "{address} is a `plumb probe network --listen` of an earlier version, which exchanges no clock readings"
    )]
    NoClock {
        /// The address.
        address: SocketAddr,
    },
    /// What it says of its clocks cannot be.
    #[error("{address} {}", readings(*number))]
    ImpossibleReadings {
        /// The address.
        address: SocketAddr,
        /// The number of the exchange, from 1; 0 before the first.
        number: u64,
    },
    /// The flag that stops it was set.
    #[error("stopped")]
    Stopped,
    /// It broke off.
    #[error("the connection to {address} broke off")]
    Broken {
        /// The address.
        address: SocketAddr,
        /// The kernel's word.
        source: std::io::Error,
    },
}

impl HasFault for NetworkError {
    fn fault(&self) -> Fault {
        match self {
            NetworkError::Listen { .. } => Fault::Environment,
            _ => Fault::Target,
        }
    }

    fn is_stop(&self) -> bool {
        matches!(self, NetworkError::Stopped)
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
        let hint = match self {
            NetworkError::Listen { source, .. } => match source.kind() {
                AddrInUse => {
                    "another program has that port: end it, or give another one (ADDR:PORT; port 0 takes a free one)"
                }
                AddrNotAvailable => {
                    "this host has no such address: `ip address` shows those it has, and 0.0.0.0 takes all of them"
                }
                PermissionDenied => "ports below 1024 are for root: give a higher one (ADDR:PORT)",
                _ => "--listen takes an address of this host, such as 0.0.0.0 or 192.0.2.7:7586",
            },
            NetworkError::Connect { source, .. }
                if source.kind() == std::io::ErrorKind::NetworkUnreachable =>
            {
                "no interface leads there: is it up? In a network namespace of its own even loopback begins down (ip link set lo up)"
            }
            NetworkError::Connect { .. } => {
                "does `plumb probe network --listen ADDR` run there, on an address that can be reached from here?"
            }
            NetworkError::Foreign { .. } => "the port is another program's; --listen prints its own",
            NetworkError::Version { .. } | NetworkError::NoClock { .. } => {
                "use the same version of plumb on both sides"
            }
            NetworkError::Busy { .. } => "wait until it is done, or listen on another port",
            NetworkError::Silent { .. } => {
                "is that host or the way to it overloaded? Smaller --sizes of `probe network` need less of it; else the port is another program's"
            }
            NetworkError::ImpossibleReadings { .. } => {
                "no figure of it can be believed: the port is another program's, or that host's clock was set or held in the middle of \
                 an exchange; try again"
            }
            NetworkError::Altered { .. } => {
                "no figure of it can be believed: the port is another program's, or something on the way answers in its stead or \
             changes data"
            }
            NetworkError::Stopped | NetworkError::Broken { .. } => {
                "was the listener ended, or does something on the way cut long streams?"
            }
        };
        Some(hint.into())
    }
}

fn readings(number: u64) -> String {
    match number {
        0 => "says of its clocks what no plumb says".to_owned(),
        number => format!("answered exchange {number} with readings that no clock can have"),
    }
}

fn received_so_far(got_bytes: usize) -> String {
    match got_bytes {
        0 => "no answer".to_owned(),
        1 => "only 1 byte of a message went through".to_owned(),
        n => format!("only {n} bytes of a message went through"),
    }
}

/// A listener that serves us, as long as this value lives.
#[derive(Debug)]
pub struct Peer<'a> {
    address: SocketAddr,
    patience: Duration,
    stop: &'a AtomicBool,
    hold: Wire<'a>,
}

impl<'a> Peer<'a> {
    /// Takes the listener for us.
    pub fn new(address: SocketAddr, stop: &'a AtomicBool) -> Result<Self, NetworkError> {
        Peer::patient(address, PATIENCE, stop)
    }

    /// Takes it, and gives it this long for each whole message.
    pub fn patient(
        address: SocketAddr,
        patience: Duration,
        stop: &'a AtomicBool,
    ) -> Result<Self, NetworkError> {
        let (hold, _) = connect(address, Role::Hold, patience, stop)?;
        Ok(Peer { address, patience, stop, hold })
    }

    /// The peer's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The time until which the other side waits for a message that begins now.
    pub(super) fn until(&self, now: Instant) -> Instant {
        now + self.patience
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Shows the listener that we live. Before every step.
    pub(super) fn sign(&self) -> Result<(), NetworkError> {
        self.hold.send(&[0], self.until(Instant::now())).map_err(|over| self.broken(over))
    }

    pub(super) fn connect(&self, role: Role) -> Result<Wire<'a>, NetworkError> {
        self.connect_timed(role).map(|(wire, _)| wire)
    }

    /// A connection, and when after its beginning it was there.
    pub(super) fn connect_timed(&self, role: Role) -> Result<(Wire<'a>, Duration), NetworkError> {
        connect(self.address, role, self.patience, self.stop)
    }

    /// The error for a connection that is over.
    pub(super) fn broken(&self, over: Over) -> NetworkError {
        let (address, patience) = (self.address, self.patience);
        match over {
            Over::Stopped => NetworkError::Stopped,
            Over::Late { bytes } => NetworkError::Silent { address, got_bytes: bytes, patience },
            Over::Closed => {
                let source = Error::new(ErrorKind::UnexpectedEof, "the other side ended it");
                NetworkError::Broken { address, source }
            }
            Over::Failed(source) => NetworkError::Broken { address, source },
        }
    }
}

fn connect(
    address: SocketAddr,
    role: Role,
    patience: Duration,
    stop: &AtomicBool,
) -> Result<(Wire<'_>, Duration), NetworkError> {
    let began = Instant::now();
    let fault = |over| match over {
        Over::Stopped => NetworkError::Stopped,
        Over::Failed(source) => NetworkError::Connect { address, source },
        Over::Late { .. } | Over::Closed => {
            let words = format!("no answer within {} s", patience.as_secs_f64());
            NetworkError::Connect { address, source: Error::new(ErrorKind::TimedOut, words) }
        }
    };
    let stream = open(address, began + patience, stop).map_err(fault)?;
    let connected = began.elapsed();
    let wire = Wire::new(stream, stop).map_err(fault)?;
    let asked = Asked { role, number: unforeseen() as u32 };
    let until = Instant::now() + patience;
    let mut bytes = [0; GREETING_BYTES];
    // Whoever speaks another protocol closes, or is silent.
    match wire.send(&greeting(asked), until).and_then(|()| wire.fill(&mut bytes, until)) {
        Ok(()) => {}
        Err(Over::Stopped) => return Err(NetworkError::Stopped),
        Err(_) => return Err(NetworkError::Foreign { address }),
    }
    match read_answer(&bytes) {
        // Whoever answers before being asked cannot know the number.
        Ok((_, number)) if number != asked.number => Err(NetworkError::Foreign { address }),
        Ok((Status::Welcome, _)) => Ok((wire, connected)),
        Ok((Status::Busy, _)) => Err(NetworkError::Busy { address }),
        Err(NoGreeting::Version(got)) => Err(NetworkError::Version { address, got }),
        Err(NoGreeting::Foreign | NoGreeting::Unknown) => Err(NetworkError::Foreign { address }),
    }
}

/// A number that the other side cannot foresee, so that its answer shows that it has read it.
pub(super) fn unforeseen() -> u64 {
    RandomState::new().hash_one(0)
}
