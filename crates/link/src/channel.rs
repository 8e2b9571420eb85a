//! A TLS connection that carries frames, for one thread: whatever it waits for has an end.

use crate::error::LinkError;
use crate::frame::{Frame, FrameError, Inbox, encoded};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustls::Connection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The interval at which a stop is looked for.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// Bytes that wait in the session, encrypted or to be.
const UNSENT_BYTES_MAX: usize = 64 << 10;
/// Bytes that are taken from the socket before anything else is looked at.
const TURN_BYTES_MAX: usize = 256 << 10;
const READ_BYTES: usize = 16 << 10;

/// A connection with its TLS session.
pub(crate) struct Channel {
    session: Connection,
    socket: TcpStream,
    inbox: Inbox,
    /// What the session gave last.
    buffer: Box<[u8; READ_BYTES]>,
    ended: bool,
}

/// The reason why a channel is of no more use.
#[derive(Debug)]
pub(crate) enum Over {
    /// The caller is to stop.
    Stopped,
    /// The time is over.
    Late,
    /// The other side ended it.
    Ended { within_bytes: usize },
    /// TLS failed.
    Tls(rustls::Error),
    /// The kernel's word.
    Failed(io::Error),
    /// What came is no frame.
    NoFrame(FrameError),
}

impl Over {
    /// The error for the users of the link to `name`.
    pub(crate) fn error(self, name: &str) -> LinkError {
        let name = name.to_owned();
        match self {
            Over::Stopped => LinkError::Stopped,
            Over::Ended { within_bytes: 0 } => LinkError::Cut { name, source: None },
            Over::Ended { within_bytes: bytes } => LinkError::Torn { name, bytes },
            Over::Tls(error) => LinkError::Tls { name, why: error.to_string() },
            Over::Late => LinkError::Cut { name, source: Some(Arc::new(ErrorKind::TimedOut.into())) },
            Over::Failed(error) => LinkError::Cut { name, source: Some(Arc::new(error)) },
            Over::NoFrame(source) => LinkError::NoFrame { name, source },
        }
    }
}

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    pub(crate) until: Instant,
    pub(crate) stop: &'a AtomicBool,
}

impl Wait<'_> {
    fn look(&self) -> Result<(), Over> {
        match () {
            () if self.stop.load(Relaxed) => Err(Over::Stopped),
            () if Instant::now() >= self.until => Err(Over::Late),
            () => Ok(()),
        }
    }

    fn step(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now()).min(LOOK)
    }
}

impl Channel {
    pub(crate) fn new(session: impl Into<Connection>, socket: TcpStream) -> Result<Self, Over> {
        let mut session = session.into();
        session.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).map_err(Over::Failed)?;
        let (inbox, buffer) = (Inbox::default(), Box::new([0; READ_BYTES]));
        Ok(Channel { session, socket, inbox, buffer, ended: false })
    }

    /// Sends a whole frame.
    pub(crate) fn send(&mut self, kind: u8, bytes: &[u8], wait: Wait<'_>) -> Result<(), Over> {
        let frame = encoded(kind, bytes);
        let mut rest = &frame[..];
        loop {
            let written = self.write(rest)?;
            rest = &rest[written..];
            if rest.is_empty() && !self.wants_write() && !self.session.is_handshaking() {
                return Ok(());
            }
            if written == 0 {
                wait.look()?;
                self.wait(true, wait.step(), None)?;
                self.read()?;
                if self.ended {
                    return Err(self.end());
                }
            }
        }
    }

    /// The next frame, of at most so many bytes.
    pub(crate) fn receive(&mut self, bytes_max: usize, wait: Wait<'_>) -> Result<Frame, Over> {
        loop {
            if let Some(frame) = self.frame(bytes_max)? {
                return Ok(frame);
            }
            if self.ended {
                return Err(self.end());
            }
            wait.look()?;
            self.wait(true, wait.step(), None)?;
            self.read()?;
            self.write(&[])?;
        }
    }

    /// The next frame of what was read.
    pub(crate) fn frame(&mut self, bytes_max: usize) -> Result<Option<Frame>, Over> {
        self.inbox.take(bytes_max).map_err(Over::NoFrame)
    }

    /// True if nothing more will come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn end(&self) -> Over {
        Over::Ended { within_bytes: self.inbox.waiting() }
    }

    /// True if the socket has to take something before anything else.
    pub(crate) fn wants_write(&self) -> bool {
        self.session.wants_write()
    }

    /// Takes as many of the bytes as there is room for, and gives the socket what it takes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Over> {
        let written = self.session.writer().write(bytes).map_err(Over::Failed)?;
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Over::Failed(error)),
            }
        }
        Ok(written)
    }

    /// Takes what came, up to a bound; how many bytes of the socket's that was.
    pub(crate) fn read(&mut self) -> Result<usize, Over> {
        let mut read = 0;
        while read < TURN_BYTES_MAX && !self.ended {
            match self.session.read_tls(&mut self.socket) {
                Ok(0) => self.ended = true,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Over::Failed(error)),
            }
            let processed = self.session.process_new_packets();
            self.unpack()?;
            if let Err(error) = processed {
                // The alert tells the other side why.
                let _unsent = self.session.write_tls(&mut self.socket);
                return Err(Over::Tls(error));
            }
        }
        Ok(read)
    }

    fn unpack(&mut self) -> Result<(), Over> {
        loop {
            match self.session.reader().read(&mut self.buffer[..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(read) => self.inbox.push(&self.buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Without the closing message of TLS: whoever was killed sends none.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.ended = true;
                    return Ok(());
                }
                Err(error) => return Err(Over::Failed(error)),
            }
        }
    }

    /// Waits until the socket is ready or somebody rings.
    pub(crate) fn wait(&self, reading: bool, time: Duration, bell: Option<&Bell>) -> Result<(), Over> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, reading);
        wanted.set(PollFlags::OUT, self.session.wants_write());
        // A socket that nothing is wanted of would still report that the other side hung up, again and again.
        let socket = (!wanted.is_empty()).then(|| PollFd::new(&self.socket, wanted));
        let bell = bell.map(|bell| PollFd::new(&bell.0, PollFlags::IN));
        let mut awaited: Vec<PollFd<'_>> = socket.into_iter().chain(bell).collect();
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let ready = poll(&mut awaited, Some(&time));
        match ready {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Over::Failed(error.into())),
        }
    }

    /// Says that nothing more will come from here, and waits a little until the other side has seen it: bytes of its that
    /// nobody reads would have the kernel throw away what is on its way there.
    pub(crate) fn part(mut self, until: Instant) {
        self.session.send_close_notify();
        let stop = AtomicBool::new(false);
        let wait = Wait { until, stop: &stop };
        while self.write(&[]).is_ok() && self.wants_write() && wait.look().is_ok() {
            if self.wait(false, wait.step(), None).is_err() {
                return;
            }
        }
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        while !self.ended && wait.look().is_ok() {
            if self.wait(true, wait.step(), None).is_err() || self.read().is_err() {
                return;
            }
        }
    }
}

/// Wakes a thread that waits for a socket.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn ring(&self) {
        // It fails only where it rings already.
        let _rings = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn quiet(&self) {
        let _rang = rustix::io::read(&self.0, &mut [0; 8]);
    }
}
