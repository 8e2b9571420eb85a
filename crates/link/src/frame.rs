//! Frames: a length of 32 bits (little-endian, of what follows it), a kind of 8 bits, and bytes.
//!
//! A frame knows nothing of what carries it. Kinds below [`FIRST_KIND`] are the link's own, all others its users'.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Most bytes of a frame's content. Ours: a part of a second with all its histograms is some KiB.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// The first kind that is free for the users of a link.
pub const FIRST_KIND: u8 = 16;

/// The kinds of the link's own frames.
pub(crate) mod own {
    /// The first frame of a worker.
    pub(crate) const HELLO: u8 = 0;
    /// The answer to one that is taken.
    pub(crate) const WELCOME: u8 = 1;
    /// The answer to one that is not.
    pub(crate) const REFUSED: u8 = 2;
    /// Says that the sender lives.
    pub(crate) const PING: u8 = 3;
    /// The last frame, with the reason.
    pub(crate) const BYE: u8 = 4;
    /// Asks for the clocks' readings.
    pub(crate) const QUESTION: u8 = 5;
    /// Brings them.
    pub(crate) const ANSWER: u8 = 6;
}

const LENGTH_BYTES: usize = 4;
const HEAD_BYTES: usize = LENGTH_BYTES + 1;

/// The content of a frame that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} cannot be understood: {why}")]
pub struct Unreadable {
    /// What it should be.
    pub what: &'static str,
    /// The reason.
    pub why: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The sender's word for what it is.
    pub kind: u8,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The content as JSON.
    ///
    /// # Errors
    /// When it is not what was expected; `what` names that.
    pub fn json<T: DeserializeOwned>(&self, what: &'static str) -> Result<T, Unreadable> {
        serde_json::from_slice(&self.bytes).map_err(|error| Unreadable { what, why: error.to_string() })
    }
}

/// The bytes of a JSON content.
pub(crate) fn json_bytes<T: Serialize + ?Sized>(
    what: &'static str,
    value: &T,
) -> Result<Vec<u8>, Unreadable> {
    serde_json::to_vec(value).map_err(|error| Unreadable { what, why: error.to_string() })
}

/// A frame as it is sent.
pub(crate) fn encoded(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_BYTES + bytes.len());
    frame.extend_from_slice(&((bytes.len() + 1) as u32).to_le_bytes());
    frame.push(kind);
    frame.extend_from_slice(bytes);
    frame
}

/// The reason why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The content is longer than allowed.
    #[error("a frame of {bytes} bytes, expected at most {most}")]
    TooLong {
        /// The length that it claims.
        bytes: u32,
        /// The length that is allowed.
        most: u32,
    },
    /// It has not even a kind.
    #[error("a frame without a kind")]
    Empty,
}

/// The bytes that came and are in no frame yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Up to here they were taken.
    taken: usize,
}

impl Inbox {
    /// Adds bytes in the order in which they came.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken >= self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame with at most so many bytes of content. No length is allocated for before its bytes are there.
    pub(crate) fn take(&mut self, bytes_max: usize) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        let Some(content) = length.checked_sub(1) else { return Err(FrameError::Empty) };
        if content as usize > bytes_max {
            return Err(FrameError::TooLong { bytes: content, most: bytes_max as u32 });
        }
        let Some(frame) = rest.get(..length as usize) else { return Ok(None) };
        let frame = Frame { kind: frame[0], bytes: frame[1..].to_vec() };
        self.taken += HEAD_BYTES + content as usize;
        Ok(Some(frame))
    }

    /// Bytes of a frame that is not whole.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(bytes: &[u8], most: usize) -> (Vec<Frame>, Option<FrameError>) {
        let mut inbox = Inbox::default();
        inbox.push(bytes);
        let mut frames = Vec::new();
        loop {
            match inbox.take(most) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return (frames, None),
                Err(error) => return (frames, Some(error)),
            }
        }
    }

    #[test]
    fn a_frame_is_its_length_its_kind_and_its_bytes() {
        assert_eq!(encoded(77, b"abc"), [4, 0, 0, 0, 77, b'a', b'b', b'c']);
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_from_the_length_alone() {
        let huge = (FRAME_BYTES_MAX as u32 + 2).to_le_bytes();
        let most = FRAME_BYTES_MAX as u32;
        let too_long = |bytes| Some(FrameError::TooLong { bytes, most });
        assert_eq!(taken(&huge, FRAME_BYTES_MAX), (vec![], too_long(most + 1)));
        assert_eq!(taken(&[255; 4], FRAME_BYTES_MAX), (vec![], too_long(u32::MAX - 1)));
        assert_eq!(taken(&[0; 4], FRAME_BYTES_MAX), (vec![], Some(FrameError::Empty)));
        let largest = (most + 1).to_le_bytes();
        assert_eq!(taken(&largest, FRAME_BYTES_MAX), (vec![], None));
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_their_bytes_are_cut(
            frames in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20),
            cuts in prop::collection::vec(1_usize..200, 1..10),
        ) {
            let sent: Vec<Frame> = frames.into_iter().map(|(kind, bytes)| Frame { kind, bytes }).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|frame| encoded(frame.kind, &frame.bytes)).collect();
            let mut inbox = Inbox::default();
            let mut got = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                inbox.push(piece);
                rest = after;
                while let Some(frame) = inbox.take(FRAME_BYTES_MAX).unwrap() {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, sent);
            prop_assert_eq!(inbox.waiting(), 0);
        }

        #[test]
        fn whatever_bytes_come_they_are_frames_within_the_bound_or_an_error_and_nothing_is_lost(
            bytes in prop::collection::vec(prop_oneof![3 => 0_u8..6, 1 => any::<u8>()], 0..400),
            most in 0_usize..64,
        ) {
            let (frames, error) = taken(&bytes, most);
            let whole: Vec<u8> = frames.iter().flat_map(|frame| encoded(frame.kind, &frame.bytes)).collect();
            prop_assert!(bytes.starts_with(&whole));
            prop_assert!(frames.iter().all(|frame| frame.bytes.len() <= most));
            let rest = &bytes[whole.len()..];
            let claims = rest.first_chunk().map(|length| u32::from_le_bytes(*length));
            match error {
                None => prop_assert!(claims.is_none_or(|length| rest.len() - 4 < length as usize)),
                Some(FrameError::Empty) => prop_assert_eq!(claims, Some(0)),
                Some(FrameError::TooLong { .. }) => prop_assert!(claims.unwrap() as usize > most + 1),
            }
        }
    }
}
