//! A non-blocking socket, with TLS on it or not. Knows bytes, not frames.
//!
//! Plaintext goes straight to the system: one `sendmsg` of the caller's pieces, one `recv` into the caller's buffer. It is not
//! `writev`, because that raises SIGPIPE on a connection that the peer has closed.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustls::ClientConnection;

/// The most pieces that the kernel takes at once (UIO_MAXIOV).
const PIECES_MAX: usize = 1024;
/// Most bytes that TLS holds encrypted and unsent: 16 records.
const TLS_UNSENT_BYTES_MAX: usize = 256 << 10;
/// Bytes that TLS reads of the socket at once.
const TLS_READ_BYTES: usize = 128 << 10;

/// The way to a broker.
#[derive(Debug)]
pub(super) enum Stream {
    /// Bytes as they are.
    Plain(Socket),
    /// Encrypted.
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Writes what can be written. `WouldBlock` when that is nothing.
    #[inline]
    pub(super) fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.send(parts),
            Self::Tls(tls) => tls.write_vectored(parts),
        }
    }

    /// Sends what is held back. True when nothing is left.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(tls) => tls.send(),
        }
    }

    /// True if something is held back.
    #[inline]
    pub(super) fn wants_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.session.wants_write(),
        }
    }

    /// Reads what is there; less than the buffer holds means that nothing is left for now, 0 is the end of the stream.
    /// `WouldBlock` when nothing is there.
    #[inline]
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.receive(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.0.as_fd(),
            Self::Tls(tls) => tls.socket.0.as_fd(),
        }
    }
}

/// A connected, non-blocking TCP socket.
#[derive(Debug)]
pub(super) struct Socket(pub(super) TcpStream);

impl Socket {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let parts = &parts[..parts.len().min(PIECES_MAX)];
        uninterrupted(|| sendmsg(&self.0, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL))
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| recv(&self.0, &mut *buffer, RecvFlags::empty()).map(|(_, read)| read))
    }
}

/// Again for as long as a signal came in between.
fn uninterrupted(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A TLS session and the socket under it.
#[derive(Debug)]
pub(super) struct TlsStream {
    session: ClientConnection,
    socket: Socket,
    /// The bytes that came from the socket: rustls itself would ask the system for 4 KiB at a time.
    received: Vec<u8>,
    undecrypted: std::ops::Range<usize>,
}

impl TlsStream {
    /// A session before its handshake.
    pub(super) fn new(mut session: ClientConnection, socket: Socket) -> Self {
        session.set_buffer_limit(Some(TLS_UNSENT_BYTES_MAX));
        Self { session, socket, received: vec![0; TLS_READ_BYTES], undecrypted: 0..0 }
    }

    /// Goes on with the handshake as far as possible: true when it is done, false when the peer has to answer first.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer hung up; a [`rustls::Error`] within where the peer said something wrong.
    pub(super) fn shake_hands(&mut self) -> io::Result<bool> {
        loop {
            let sent = self.send()?;
            if !self.session.is_handshaking() {
                return Ok(sent);
            }
            if !sent {
                return Ok(false);
            }
            match self.decrypt() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    // The alert tells the broker's log why; the reason that counts is the first.
                    let _unsent = self.send();
                    return Err(error);
                }
            }
        }
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let parts = &parts[..parts.len().min(PIECES_MAX)];
        let mut written = self.session.writer().write_vectored(parts)?;
        self.send()?;
        if written == 0 {
            written = self.session.writer().write_vectored(parts)?;
            self.send()?;
        }
        match written {
            0 if parts.iter().any(|part| !part.is_empty()) => Err(io::ErrorKind::WouldBlock.into()),
            written => Ok(written),
        }
    }

    fn send(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.session.reader().read(&mut buffer[filled..]) {
                // A closing message from the peer.
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match self.decrypt() {
                    // Without a closing message: the frames know whether something is missing.
                    Ok(0) => break,
                    Ok(_) => {}
                    // What came before is handed out first; the error is found again.
                    Err(_) if filled > 0 => break,
                    Err(error) => return Err(error),
                },
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Passes bytes of the socket to the session. 0 is the end of the stream.
    fn decrypt(&mut self) -> io::Result<usize> {
        if self.undecrypted.is_empty() {
            self.undecrypted = 0..self.socket.receive(&mut self.received)?;
        }
        let passed = self.session.read_tls(&mut &self.received[self.undecrypted.clone()])?;
        self.undecrypted.start += passed;
        self.session
            .process_new_packets()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(passed)
    }
}
