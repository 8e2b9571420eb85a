//! A client's connection to one broker: opened beside the event loop, written without copying, its answers in the order of
//! the requests; when it breaks, what was under way comes back.

use super::cluster::{ClusterView, Opened, Opening};
use plumb_wire::connection::Connection;
use plumb_wire::error::WireError;
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Pause before a connection is tried again.
const RETRY_NS: u64 = 50_000_000;
/// Pieces that one call writes.
const PIECES_MOST: usize = 64;

/// The bytes that follow a request's head: two pieces that are written one after the other.
pub(super) trait Piece {
    fn bytes(&self) -> [&[u8]; 2];
}

/// A request: its head, then its pieces.
#[derive(Debug)]
pub(super) struct Request<P> {
    pub(super) head: Vec<u8>,
    pub(super) pieces: Vec<P>,
    pub(super) correlation: i32,
    /// Bytes in all.
    bytes: usize,
    written: usize,
    pub(super) first_byte_ns: u64,
    pub(super) last_byte_ns: u64,
}

impl<P> Default for Request<P> {
    fn default() -> Self {
        Request {
            head: Vec::new(),
            pieces: Vec::new(),
            correlation: 0,
            bytes: 0,
            written: 0,
            first_byte_ns: 0,
            last_byte_ns: 0,
        }
    }
}

impl<P> Request<P> {
    /// True if the broker may have seen any of it.
    pub(super) fn was_begun(&self) -> bool {
        self.written > 0
    }
}

#[derive(Debug)]
enum State {
    Closed { retry_at_ns: u64 },
    Opening(Opening),
    Open(Box<Connection>),
}

/// A connection to one broker.
#[derive(Debug)]
pub(super) struct Link<P> {
    pub(super) broker: i32,
    state: State,
    /// The unanswered requests, in the order in which they were written; the last may still be.
    in_flight: VecDeque<Request<P>>,
    writing: bool,
    /// The broker asked for silence until then.
    pub(super) quiet_until_ns: u64,
    /// Connections made so far.
    pub(super) opened: u64,
    spare: Vec<Request<P>>,
}

/// The result of making a link usable.
pub(super) enum Progress {
    Nothing,
    /// It is open now.
    Opened,
    Failed(Option<WireError>),
}

impl<P: Piece> Link<P> {
    pub(super) fn new(broker: i32) -> Self {
        Link {
            broker,
            state: State::Closed { retry_at_ns: 0 },
            in_flight: VecDeque::new(),
            writing: false,
            quiet_until_ns: 0,
            opened: 0,
            spare: Vec::new(),
        }
    }

    /// Goes on with opening it.
    pub(super) fn open(&mut self, view: &ClusterView, now: u64) -> Progress {
        match &self.state {
            State::Closed { retry_at_ns } if now >= *retry_at_ns => {
                self.state = State::Opening(view.open(self.broker));
                Progress::Nothing
            }
            State::Opening(opening) => match opening.look() {
                Opened::NotYet => Progress::Nothing,
                Opened::Yes(connection) => {
                    self.opened += 1;
                    self.state = State::Open(connection);
                    Progress::Opened
                }
                Opened::No(error) => {
                    self.state = State::Closed { retry_at_ns: now + RETRY_NS };
                    Progress::Failed(error)
                }
            },
            State::Closed { .. } | State::Open(_) => Progress::Nothing,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// True if it takes another request, `most` being unanswered at once.
    #[inline]
    pub(super) fn takes(&self, most: usize, now: u64) -> bool {
        self.is_open() && !self.writing && self.in_flight.len() < most && now >= self.quiet_until_ns
    }

    /// Requests without an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The time at which the oldest unanswered request was written.
    pub(super) fn waiting_since_ns(&self) -> Option<u64> {
        self.in_flight.front().filter(|oldest| oldest.last_byte_ns > 0).map(|oldest| oldest.last_byte_ns)
    }

    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.state {
            State::Open(connection) => Some(connection),
            State::Closed { .. } | State::Opening(_) => None,
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Open(connection) => Some(connection.as_fd()),
            State::Closed { .. } | State::Opening(_) => None,
        }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        self.writing
    }

    /// An empty request that was used before, or a new one.
    pub(super) fn spare(&mut self) -> Request<P> {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps a request's memory for the next.
    pub(super) fn keep(&mut self, mut request: Request<P>) {
        request.head.clear();
        request.pieces.clear();
        (request.bytes, request.written) = (0, 0);
        (request.first_byte_ns, request.last_byte_ns) = (0, 0);
        self.spare.push(request);
    }

    /// Begins to write a request; [`Link::takes`] must have said that it can be. True when all is written.
    pub(super) fn send(&mut self, mut request: Request<P>, clock: fn() -> u64) -> Result<bool, WireError> {
        let pieces: usize =
            request.pieces.iter().map(|piece| piece.bytes().map(<[u8]>::len).iter().sum::<usize>()).sum();
        request.bytes = request.head.len() + pieces;
        request.written = 0;
        self.in_flight.push_back(request);
        self.writing = true;
        self.write(clock)
    }

    /// Goes on writing. True when nothing is left to write.
    pub(super) fn write(&mut self, clock: fn() -> u64) -> Result<bool, WireError> {
        let State::Open(connection) = &mut self.state else { return Ok(true) };
        let Some(request) = self.in_flight.back_mut().filter(|_| self.writing) else { return Ok(true) };
        if request.first_byte_ns == 0 {
            request.first_byte_ns = clock();
        }
        while request.written < request.bytes {
            let mut slices = [IoSlice::new(&[]); PIECES_MOST];
            let count = gather(request, &mut slices);
            match connection.write_vectored(&slices[..count]) {
                Ok(written) => request.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(connection.failed(error)),
            }
        }
        if !connection.flush().map_err(|error| connection.failed(error))? {
            return Ok(false);
        }
        request.last_byte_ns = clock();
        self.writing = false;
        Ok(true)
    }

    pub(super) fn oldest_correlation(&self) -> Option<i32> {
        self.in_flight.front().map(|oldest| oldest.correlation)
    }

    /// Takes back the oldest request: it was answered, or nothing answers it.
    pub(super) fn take_oldest(&mut self) -> Option<Request<P>> {
        let written = self.in_flight.len() - usize::from(self.writing);
        if written == 0 { None } else { self.in_flight.pop_front() }
    }

    /// Closes it; what was under way is left to the caller.
    pub(super) fn close(&mut self, now: u64) -> VecDeque<Request<P>> {
        self.state = State::Closed { retry_at_ns: now + RETRY_NS };
        self.writing = false;
        std::mem::take(&mut self.in_flight)
    }
}

/// The times at which a request was written.
#[cfg(test)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) first_byte_ns: u64,
    pub(super) last_byte_ns: u64,
}

#[cfg(test)]
impl<P: Piece> Link<P> {
    /// As if these pieces had been written in one request from the first to the last of these times; not begun without them.
    pub(super) fn put_under_way(&mut self, pieces: Vec<P>, written: Option<Written>) {
        let begun = usize::from(written.is_some());
        let Written { first_byte_ns, last_byte_ns } = written.unwrap_or_default();
        self.in_flight.push_back(Request {
            pieces,
            written: begun,
            first_byte_ns,
            last_byte_ns,
            ..Request::default()
        });
    }
}

/// The parts of a request that are not written yet.
fn gather<'r, P: Piece>(request: &'r Request<P>, slices: &mut [IoSlice<'r>; PIECES_MOST]) -> usize {
    let mut skip = request.written;
    let mut count = 0;
    let pieces = request.pieces.iter().flat_map(Piece::bytes);
    for bytes in std::iter::once(request.head.as_slice()).chain(pieces) {
        if skip >= bytes.len() {
            skip -= bytes.len();
            continue;
        }
        if count == PIECES_MOST {
            break;
        }
        slices[count] = IoSlice::new(&bytes[skip..]);
        skip = 0;
        count += 1;
    }
    count
}
