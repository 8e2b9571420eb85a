//! A connection to one broker: requests out, responses in, for a single thread that polls several of them.
//!
//! [`Transport::open`] blocks until it is ready; afterwards the socket does not block. The hot path writes requests that it
//! has laid out itself ([`Connection::write_vectored`]) and takes responses as they come ([`Connection::read_frame`]). What is asked
//! and waited for goes through [`Connection::exchange`]; the two do not mix while requests are in flight.

mod frames;
mod open;
mod stream;
#[cfg(test)]
mod tests;
mod transport;
mod wait;

use std::io::{self, IoSlice};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

pub use self::frames::{Filled, FoundFrame, Frame, FrameBuffer, FrameLength};
use self::stream::Stream;
pub use self::transport::{Security, SocketOptions, Transport, TransportOptions};
use crate::error::{ErrorCode, Stage, WireError};
use crate::read::DecodeError;
use crate::versions::{ApiKey, ApiVersions};
use crate::write::{self, RequestHeader};

/// A connection that is ready for requests.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    frames: FrameBuffer,
    broker: String,
    client_id: String,
    versions: ApiVersions,
    correlation_id: i32,
    /// The last control request, for its room.
    request: Vec<u8>,
}

impl Connection {
    /// The broker as it was addressed, `host:port`.
    #[must_use]
    pub fn broker(&self) -> &str {
        &self.broker
    }

    /// The client id in our requests.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The highest version of a request that the broker and we speak.
    ///
    /// # Errors
    /// [`WireError::Version`] if there is none.
    pub fn version(&self, api: ApiKey, ours: RangeInclusive<i16>) -> Result<i16, WireError> {
        self.versions.highest_common(api, &ours).ok_or_else(|| WireError::Version {
            broker: self.broker.clone(),
            api,
            broker_has: self.versions.range(api),
            ours,
        })
    }

    /// The number for the next request on this connection. Every request needs its own.
    #[inline]
    pub fn next_correlation_id(&mut self) -> i32 {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        self.correlation_id
    }

    /// Writes as much of whole requests as can be written now, and says how many bytes that was. With TLS they may be held back
    /// after that: see [`Self::flush`].
    ///
    /// # Errors
    /// `WouldBlock` if nothing can be written now: poll for writing. For all others, [`Self::failed`] has the words.
    #[inline]
    pub fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.write_vectored(parts)
    }

    /// Sends what TLS holds back. True when nothing is left.
    ///
    /// # Errors
    /// Like [`Self::write_vectored`], but never `WouldBlock`.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.stream.flush()
    }

    /// True if TLS holds something back: poll for writing, then [`Self::flush`].
    #[inline]
    #[must_use]
    pub(crate) fn wants_write(&self) -> bool {
        self.stream.wants_write()
    }

    /// The next complete response, if it is there. Call it until it gives `None` before polling again: several may have come at
    /// once. Does not block.
    ///
    /// # Errors
    /// At the end of the stream, when the socket or TLS fails, and on a length that no response can have. The connection cannot
    /// be used any further.
    #[inline]
    pub fn read_frame(&mut self) -> Result<Option<Frame<'_>>, WireError> {
        let found = self.next_frame(Stage::Streaming)?;
        Ok(found.map(|found| self.frames.frame(found)))
    }

    /// Asks and waits for the answer. Nothing else may be in flight. `body` writes what follows the request's header.
    ///
    /// # Errors
    /// Like [`Self::read_frame`], and [`WireError::Timeout`], after which the connection is of no use: the answer may still come.
    pub(crate) fn exchange(
        &mut self,
        api: ApiKey,
        version: i16,
        body: impl FnOnce(&mut Vec<u8>),
        deadline: Instant,
    ) -> Result<Frame<'_>, WireError> {
        self.ask(api, version, body, Stage::Exchange(api), Deadline::at(deadline))
    }

    /// The error for a failed [`Self::write_vectored`] or [`Self::flush`].
    #[must_use]
    pub fn failed(&self, error: io::Error) -> WireError {
        self.failed_during(Stage::Streaming, error)
    }

    /// The error for wrong bytes in a response.
    #[must_use]
    pub fn undecodable(&self, api: ApiKey, source: DecodeError) -> WireError {
        WireError::Decode { broker: self.broker.clone(), api, source }
    }

    /// The error for an error code in a response. `subject` is the topic, partition or directory that it is about.
    #[must_use]
    pub(crate) fn refused(&self, api: ApiKey, subject: impl Into<String>, code: ErrorCode) -> WireError {
        WireError::Refused { broker: self.broker.clone(), api, subject: subject.into(), code }
    }

    fn new(stream: Stream, broker: String, options: &TransportOptions) -> Self {
        Self {
            stream,
            frames: FrameBuffer::new(options.frame_limit_bytes),
            broker,
            client_id: options.client_id.clone(),
            versions: ApiVersions::default(),
            correlation_id: 0,
            request: Vec::new(),
        }
    }

    fn ask(
        &mut self,
        api: ApiKey,
        version: i16,
        body: impl FnOnce(&mut Vec<u8>),
        during: Stage,
        deadline: Deadline,
    ) -> Result<Frame<'_>, WireError> {
        let expected = self.next_correlation_id();
        self.request.clear();
        let header = RequestHeader { api, version, correlation_id: expected, client_id: &self.client_id };
        write::request(&mut self.request, header, body);
        self.send_request(during, deadline)?;
        let found = loop {
            match self.next_frame(during)? {
                Some(found) => break found,
                None => self.wait(PollFlags::IN, during, deadline)?,
            }
        };
        if found.correlation_id != expected {
            let broker = self.broker.clone();
            return Err(WireError::Correlation { broker, api, expected, got: found.correlation_id });
        }
        Ok(self.frames.frame(found))
    }

    fn send_request(&mut self, during: Stage, deadline: Deadline) -> Result<(), WireError> {
        let mut sent = 0;
        while sent < self.request.len() || self.wants_write() {
            let step = match &self.request[sent..] {
                [] => self.stream.flush().map(|done| if done { 0 } else { usize::MAX }),
                rest => self.stream.write_vectored(&[IoSlice::new(rest)]),
            };
            match step {
                Ok(usize::MAX) => self.wait(PollFlags::OUT, during, deadline)?,
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, during, deadline)?;
                }
                Err(error) => return Err(self.failed_during(during, error)),
            }
        }
        Ok(())
    }

    #[inline]
    fn next_frame(&mut self, during: Stage) -> Result<Option<FoundFrame>, WireError> {
        let mut is_dry = false;
        loop {
            match self.frames.take_next() {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) if is_dry => return Ok(None),
                Ok(None) => {}
                Err(length) => return Err(self.no_response(length)),
            }
            match self.frames.fill(|room| self.stream.read(room)) {
                Ok(Filled::All) => {}
                // Asking the system again would cost a call to hear that nothing is there.
                Ok(Filled::Some) => is_dry = true,
                Ok(Filled::End) => return Err(WireError::Closed { broker: self.broker.clone(), during }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(self.failed_during(during, error)),
            }
        }
    }

    #[cold]
    fn no_response(&self, FrameLength(claimed): FrameLength) -> WireError {
        let broker = self.broker.clone();
        match (&self.stream, claimed.to_be_bytes()) {
            // An alert or a handshake message of TLS: content type 21 or 22, then the major version 3.
            (Stream::Plain(_), [21 | 22, 3, ..]) => WireError::ListenerSpeaksTls { broker },
            _ => WireError::FrameLength { broker, claimed, limit: self.frames.limit() },
        }
    }

    #[cold]
    fn failed_during(&self, during: Stage, error: io::Error) -> WireError {
        let broker = self.broker.clone();
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return WireError::Tls { broker, problem: tls.into() };
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => WireError::Closed { broker, during },
            _ => WireError::Io { broker, during, source: error },
        }
    }

    fn wait(&self, events: PollFlags, during: Stage, deadline: Deadline) -> Result<(), WireError> {
        match wait::ready(self, events, deadline.at) {
            Ok(true) => Ok(()),
            Ok(false) => Err(deadline.missed(&self.broker, during)),
            Err(error) => Err(self.failed_during(during, error)),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The time by which something must be done, and the time allowed at the beginning.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at: Instant,
    allowed: Duration,
}

impl Deadline {
    fn after(allowed: Duration) -> Self {
        Self { at: Instant::now() + allowed, allowed }
    }

    fn at(at: Instant) -> Self {
        Self { at, allowed: at.saturating_duration_since(Instant::now()) }
    }

    fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    fn missed(self, broker: &str, during: Stage) -> WireError {
        WireError::Timeout { broker: broker.to_owned(), during, after: self.allowed }
    }
}
