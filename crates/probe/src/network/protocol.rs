//! The protocol between two probes: 20 bytes say what a connection is for, 20 bytes answer.
//!
//! ```text
//! offset  0        8        10      11        12         16
//!         magic    version  role or  0         bytes of a  number
//!                  (LE)     status             message     (LE)
//!                                              (LE)
//! ```
//!
//! The answer repeats the number, which shows that it was read.
//! After it a connection is one of four. `Hold` keeps the listener for this peer; a byte now and then shows that the peer
//! lives. `Sink` swallows until the peer ends its side, then answers with 8 bytes: how many it read. `Echo` reads a message
//! of the agreed size and writes it back, again and again. `Clock` (`clock_exchange.rs`) tells in 48 bytes whose clock it reads, then
//! answers each message of 32 bytes at once with as many: its clocks' readings. So the listener never sends more than it was sent, but
//! for those 8 and 48 bytes.
//!
//! A greeting of another version is answered by a greeting of one's own, which says the version. A role that a listener does not know is
//! of a later Plumb: it is closed without an answer. The first listeners of version 2 know no `Clock`.

/// Port where nothing else is said: P-L-U-M on a telephone.
pub const PORT: u16 = 7586;
/// Version of the protocol. Both sides have to have the same.
pub const VERSION: u16 = 2;
/// Largest message of an echo.
pub const MESSAGE_BYTES_MAX: u32 = 256 << 10;
/// Most streams of a peer.
pub const STREAMS_MAX: u32 = 64;

/// Bytes of a greeting and of its answer.
pub(super) const GREETING_BYTES: usize = 20;
const MAGIC: [u8; 8] = *b"PLUMBNET";

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Hold,
    Sink,
    Echo { message_bytes: u32 },
    Clock,
}

/// The request of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) role: Role,
    /// Comes back with the answer.
    pub(super) number: u32,
}

/// The answer of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Welcome,
    /// Another peer is being served.
    Busy,
}

/// The reason why 16 bytes are no greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoGreeting {
    /// The bytes are of another protocol.
    Foreign,
    /// The bytes are of another version of this one.
    Version(u16),
    /// A role, status or size that does not exist.
    Unknown,
}

pub(super) fn greeting(asked: Asked) -> [u8; GREETING_BYTES] {
    let (word, message_bytes) = match asked.role {
        Role::Hold => (0, 0),
        Role::Sink => (1, 0),
        Role::Echo { message_bytes } => (2, message_bytes),
        Role::Clock => (3, 0),
    };
    Frame { word, message_bytes, number: asked.number }.bytes()
}

pub(super) fn read_greeting(bytes: &[u8; GREETING_BYTES]) -> Result<Asked, NoGreeting> {
    let Frame { word, message_bytes, number } = Frame::read(bytes)?;
    let role = match (word, message_bytes) {
        (0, 0) => Role::Hold,
        (1, 0) => Role::Sink,
        (2, 1..=MESSAGE_BYTES_MAX) => Role::Echo { message_bytes },
        (3, 0) => Role::Clock,
        _ => return Err(NoGreeting::Unknown),
    };
    Ok(Asked { role, number })
}

pub(super) fn answer(status: Status, number: u32) -> [u8; GREETING_BYTES] {
    Frame { word: if status == Status::Welcome { 0 } else { 1 }, message_bytes: 0, number }.bytes()
}

pub(super) fn read_answer(bytes: &[u8; GREETING_BYTES]) -> Result<(Status, u32), NoGreeting> {
    match Frame::read(bytes)? {
        Frame { word: 0, message_bytes: 0, number } => Ok((Status::Welcome, number)),
        Frame { word: 1, message_bytes: 0, number } => Ok((Status::Busy, number)),
        _ => Err(NoGreeting::Unknown),
    }
}

/// The content of a greeting or an answer.
struct Frame {
    /// The role, or the status.
    word: u8,
    message_bytes: u32,
    number: u32,
}

impl Frame {
    fn bytes(&self) -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = self.word;
        bytes[12..16].copy_from_slice(&self.message_bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8; GREETING_BYTES]) -> Result<Frame, NoGreeting> {
        if bytes[..8] != MAGIC {
            return Err(NoGreeting::Foreign);
        }
        match u16::from_le_bytes([bytes[8], bytes[9]]) {
            VERSION => Ok(Frame { word: bytes[10], message_bytes: word(bytes, 12), number: word(bytes, 16) }),
            other => Err(NoGreeting::Version(other)),
        }
    }
}

fn word(bytes: &[u8; GREETING_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for role in [
            Role::Hold,
            Role::Sink,
            Role::Echo { message_bytes: 1 },
            Role::Echo { message_bytes: MESSAGE_BYTES_MAX },
            Role::Clock,
        ] {
            let asked = Asked { role, number: 0xfedc_ba98 };
            assert_eq!(read_greeting(&greeting(asked)), Ok(asked));
        }
        for status in [Status::Welcome, Status::Busy] {
            assert_eq!(read_answer(&answer(status, 77)), Ok((status, 77)));
        }
    }

    #[test]
    fn other_protocols_versions_and_sizes_are_told_apart() {
        assert_eq!(read_greeting(b"GET / HTTP/1.1\r\nHost"), Err(NoGreeting::Foreign));
        let mut newer = greeting(Asked { role: Role::Sink, number: 0 });
        newer[8] = 3;
        assert_eq!(read_greeting(&newer), Err(NoGreeting::Version(3)));
        for message_bytes in [0, MESSAGE_BYTES_MAX + 1, u32::MAX] {
            assert_eq!(
                read_greeting(&Frame { word: 2, message_bytes, number: 0 }.bytes()),
                Err(NoGreeting::Unknown)
            );
        }
        assert_eq!(
            read_greeting(&Frame { word: 9, message_bytes: 0, number: 0 }.bytes()),
            Err(NoGreeting::Unknown)
        );
    }
}
