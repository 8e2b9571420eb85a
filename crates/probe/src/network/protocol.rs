//! The protocol between two probes: 16 bytes say what a connection is for, 16 bytes answer.
//!
//! ```text
//! offset  0        8        10      11        12
//!         magic    version  role or  0         bytes of a message
//!                  (LE)     status             (LE)
//! ```
//!
//! After it a connection is one of three. `Hold` keeps the listener for this peer; a byte now and then shows that the peer
//! lives. `Sink` swallows until the peer ends its side, then answers with 8 bytes: how many it read. `Echo` reads a message
//! of the agreed size and writes it back, again and again. So the listener never sends more than it was sent, but for those
//! 8 bytes.

/// Port where nothing else is said: P-L-U-M on a telephone.
pub const PORT: u16 = 7586;
/// Version of the protocol. Both sides have to have the same.
pub const VERSION: u16 = 1;
/// Largest message of an echo.
pub const MESSAGE_BYTES_MAX: u32 = 256 << 10;
/// Most streams of a peer.
pub const STREAMS_MAX: u32 = 64;

/// Bytes of a greeting and of its answer.
pub(super) const GREETING_BYTES: usize = 16;
const MAGIC: [u8; 8] = *b"PLUMBNET";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Hold,
    Sink,
    Echo { message_bytes: u32 },
}

/// How a listener answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Welcome,
    /// Another peer is being served.
    Busy,
}

/// Why 16 bytes are no greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoGreeting {
    /// They are of another protocol.
    Foreign,
    /// Of another version of this one.
    Version(u16),
    /// A role, status or size that does not exist.
    Unknown,
}

pub(super) fn greeting(role: Role) -> [u8; GREETING_BYTES] {
    match role {
        Role::Hold => frame(0, 0),
        Role::Sink => frame(1, 0),
        Role::Echo { message_bytes } => frame(2, message_bytes),
    }
}

pub(super) fn read_greeting(bytes: &[u8; GREETING_BYTES]) -> Result<Role, NoGreeting> {
    match read_frame(bytes)? {
        (0, 0) => Ok(Role::Hold),
        (1, 0) => Ok(Role::Sink),
        (2, message_bytes) if (1..=MESSAGE_BYTES_MAX).contains(&message_bytes) => {
            Ok(Role::Echo { message_bytes })
        }
        _ => Err(NoGreeting::Unknown),
    }
}

pub(super) fn answer(status: Status) -> [u8; GREETING_BYTES] {
    frame(if status == Status::Welcome { 0 } else { 1 }, 0)
}

pub(super) fn read_answer(bytes: &[u8; GREETING_BYTES]) -> Result<Status, NoGreeting> {
    match read_frame(bytes)? {
        (0, 0) => Ok(Status::Welcome),
        (1, 0) => Ok(Status::Busy),
        _ => Err(NoGreeting::Unknown),
    }
}

fn frame(word: u8, message_bytes: u32) -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[10] = word;
    bytes[12..].copy_from_slice(&message_bytes.to_le_bytes());
    bytes
}

fn read_frame(bytes: &[u8; GREETING_BYTES]) -> Result<(u8, u32), NoGreeting> {
    if bytes[..8] != MAGIC {
        return Err(NoGreeting::Foreign);
    }
    match u16::from_le_bytes([bytes[8], bytes[9]]) {
        VERSION => Ok((bytes[10], u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]))),
        other => Err(NoGreeting::Version(other)),
    }
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
        ] {
            assert_eq!(read_greeting(&greeting(role)), Ok(role));
        }
        for status in [Status::Welcome, Status::Busy] {
            assert_eq!(read_answer(&answer(status)), Ok(status));
        }
    }

    #[test]
    fn other_protocols_versions_and_sizes_are_told_apart() {
        assert_eq!(read_greeting(b"GET / HTTP/1.1\r\n"), Err(NoGreeting::Foreign));
        let mut newer = greeting(Role::Sink);
        newer[8] = 2;
        assert_eq!(read_greeting(&newer), Err(NoGreeting::Version(2)));
        for message_bytes in [0, MESSAGE_BYTES_MAX + 1, u32::MAX] {
            assert_eq!(read_greeting(&frame(2, message_bytes)), Err(NoGreeting::Unknown));
        }
        assert_eq!(read_greeting(&frame(9, 0)), Err(NoGreeting::Unknown));
    }
}
