//! A connection whose every wait ends: at a deadline for the whole message, however its bytes trickle, or when it is to stop.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The interval at which a stop is looked for.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// A connection.
#[derive(Debug)]
pub(super) struct Wire<'a> {
    pub(super) stream: TcpStream,
    stop: &'a AtomicBool,
}

/// The reason why a message did not come through.
#[derive(Debug)]
pub(super) enum Over {
    /// We are to stop.
    Stopped,
    /// The deadline is over; so many of the message's bytes went.
    Late { bytes: usize },
    /// The other side ended the connection.
    Closed,
    /// The kernel's word.
    Failed(Error),
}

impl<'a> Wire<'a> {
    /// Takes over a connection. Without Nagle's algorithm: whatever is said here is a whole message.
    pub(super) fn new(stream: TcpStream, stop: &'a AtomicBool) -> Result<Self, Over> {
        let settings = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(LOOK)))
            .and_then(|()| stream.set_write_timeout(Some(LOOK)))
            .and_then(|()| stream.set_nodelay(true));
        settings.map(|()| Wire { stream, stop }).map_err(Over::Failed)
    }

    /// Reads what there is, one byte at least; 0 at the end of the other's side.
    pub(super) fn read(&self, bytes: &mut [u8], until: Instant) -> Result<usize, Over> {
        loop {
            look(self.stop, until, 0)?;
            if let Some(n) = went((&self.stream).read(bytes))? {
                return Ok(n);
            }
        }
    }

    /// Reads a whole message. The clock is asked only where it does not come in one piece.
    pub(super) fn fill(&self, bytes: &mut [u8], until: Instant) -> Result<(), Over> {
        let mut filled = 0;
        loop {
            filled += match went((&self.stream).read(&mut bytes[filled..]))? {
                Some(0) => return Err(Over::Closed),
                n => n.unwrap_or(0),
            };
            if filled == bytes.len() {
                return Ok(());
            }
            look(self.stop, until, filled)?;
        }
    }

    /// Writes a whole message, likewise.
    pub(super) fn send(&self, bytes: &[u8], until: Instant) -> Result<(), Over> {
        let mut sent = 0;
        loop {
            sent += match went((&self.stream).write(&bytes[sent..]))? {
                Some(0) => return Err(Over::Closed),
                n => n.unwrap_or(0),
            };
            if sent == bytes.len() {
                return Ok(());
            }
            look(self.stop, until, sent)?;
        }
    }
}

/// Opens a connection.
pub(super) fn open(to: SocketAddr, until: Instant, stop: &AtomicBool) -> Result<TcpStream, Over> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let failed = |error: rustix::io::Errno| Over::Failed(error.into());
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(failed)?;
    match connect(&socket, &to) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS) => {
            while !ready(&PollFd::new(&socket, PollFlags::OUT)) {
                look(stop, until, 0)?;
            }
            socket_error(&socket).and_then(|connected| connected).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    Ok(TcpStream::from(socket))
}

/// Bytes of a step; none when it is to be tried again.
pub(super) fn went(step: std::io::Result<usize>) -> Result<Option<usize>, Over> {
    match step {
        Ok(n) => Ok(Some(n)),
        Err(error) => match error.kind() {
            ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(None),
            _ => Err(Over::Failed(error)),
        },
    }
}

/// Returns at a stop and at the end of the time, else the caller goes on waiting.
fn look(stop: &AtomicBool, until: Instant, bytes: usize) -> Result<(), Over> {
    match () {
        () if stop.load(Relaxed) => Err(Over::Stopped),
        () if Instant::now() >= until => Err(Over::Late { bytes }),
        () => Ok(()),
    }
}

/// Waits a while for something to happen.
pub(super) fn ready(what: &PollFd) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
    matches!(poll(&mut [what.clone()], Some(&wait)), Ok(1..))
}
