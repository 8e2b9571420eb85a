//! The measuring side: connections to a listener, each for one purpose.

use super::protocol::{GREETING_BYTES, NoGreeting, Role, Status, VERSION, greeting, read_answer};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use thiserror::Error;

/// Longest wait for a connection, an answer, or room to write.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no measuring with that peer.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// No connection.
    #[error("no connection to {address}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// Something else answers there.
    #[error("{address} is no `plumb probe network --listen`: it answers in another protocol, or not at all")]
    Foreign {
        /// Where.
        address: SocketAddr,
    },
    /// Another version of Plumb listens there.
    #[error("{address} speaks version {got} of the probe's protocol, expected {VERSION}")]
    Version {
        /// Where.
        address: SocketAddr,
        /// Its version.
        got: u16,
    },
    /// It serves somebody else.
    #[error("{address} is measuring with another peer")]
    Busy {
        /// Where.
        address: SocketAddr,
    },
    /// It broke off.
    #[error("the connection to {address} broke off")]
    Broken {
        /// Where.
        address: SocketAddr,
        /// The kernel's word.
        source: std::io::Error,
    },
}

/// A listener that serves us, as long as this value lives.
#[derive(Debug)]
pub struct Peer {
    address: SocketAddr,
    hold: TcpStream,
}

impl Peer {
    /// Takes the listener for us.
    pub fn new(address: SocketAddr) -> Result<Self, NetworkError> {
        let (hold, _) = connect(address, Role::Hold)?;
        Ok(Peer { address, hold })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows the listener that we live. Before every step.
    pub(super) fn sign(&self) -> Result<(), NetworkError> {
        (&self.hold).write_all(&[0]).map_err(|source| self.broken(source))
    }

    pub(super) fn connect(&self, role: Role) -> Result<TcpStream, NetworkError> {
        connect(self.address, role).map(|(stream, _)| stream)
    }

    /// A connection, and when after its beginning it was there.
    pub(super) fn connect_timed(&self, role: Role) -> Result<(TcpStream, Duration), NetworkError> {
        connect(self.address, role)
    }

    pub(super) fn broken(&self, source: std::io::Error) -> NetworkError {
        NetworkError::Broken { address: self.address, source }
    }
}

fn connect(address: SocketAddr, role: Role) -> Result<(TcpStream, Duration), NetworkError> {
    let began = std::time::Instant::now();
    let fault = |source| NetworkError::Connect { address, source };
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(fault)?;
    let connected = began.elapsed();
    stream.set_read_timeout(Some(PATIENCE)).map_err(fault)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(fault)?;
    stream.set_nodelay(true).map_err(fault)?;
    let mut bytes = [0; GREETING_BYTES];
    // Whoever speaks another protocol closes, or is silent.
    let greeted = stream.write_all(&greeting(role)).and_then(|()| stream.read_exact(&mut bytes));
    greeted.map_err(|_| NetworkError::Foreign { address })?;
    match read_answer(&bytes) {
        Ok(Status::Welcome) => Ok((stream, connected)),
        Ok(Status::Busy) => Err(NetworkError::Busy { address }),
        Err(NoGreeting::Version(got)) => Err(NetworkError::Version { address, got }),
        Err(NoGreeting::Foreign | NoGreeting::Unknown) => Err(NetworkError::Foreign { address }),
    }
}
