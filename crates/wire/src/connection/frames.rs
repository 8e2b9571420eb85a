//! Cuts a stream of bytes into responses, in one reused buffer.
//!
//! Bytes are read straight into it, in pieces that are large where a large frame is under way: then the piece ends with the frame, so
//! that hardly anything of the next one has to be moved to the front. The buffer doubles as bytes come. What a frame claims to
//! be never makes it grow, it is only held against the limit.

use std::io;
use std::ops::Range;

/// The length field before every frame.
const LENGTH_BYTES: usize = 4;
/// The correlation id: no response is shorter.
const SHORTEST_BYTES: usize = 4;
/// The least to read at once; at most so much of the next frame is behind a large one.
const PIECE_BYTES: usize = 64 << 10;
/// The buffer's first size: a piece, and as much of a frame before it.
const INITIAL_BYTES: usize = 2 * PIECE_BYTES;

/// The bytes that came and were not handed out yet.
#[derive(Debug)]
pub struct FrameBuffer {
    /// All of it is initialised; what was read is `unread`.
    bytes: Vec<u8>,
    unread: Range<usize>,
    limit: usize,
}

/// A response, borrowed from the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The number of the request that it answers.
    pub correlation_id: i32,
    /// The bytes that follow the header.
    pub body: &'a [u8],
}

/// The place of a complete frame in the buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFrame {
    /// The number of the request that it answers.
    pub(crate) correlation_id: i32,
    body: Range<usize>,
}

/// The result of filling the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// There may be more at once.
    All,
    /// The source had less than there was room for: it is empty for now.
    Some,
    /// The stream has ended.
    End,
}

/// A length that no response can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLength(pub i32);

impl FrameBuffer {
    /// A buffer for frames of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), unread: 0..0, limit }
    }

    /// The longest frame that is believed, without its length field.
    #[must_use]
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The place of the next complete frame, taken off the front. `None`: more bytes are needed.
    ///
    /// # Errors
    /// A length that no response can have, as soon as it is read. The stream cannot be followed any further.
    #[inline]
    pub fn take_next(&mut self) -> Result<Option<FoundFrame>, FrameLength> {
        let Some(length) = self.claimed()? else { return Ok(None) };
        let body = self.unread.start + LENGTH_BYTES + SHORTEST_BYTES;
        let end = self.unread.start + LENGTH_BYTES + length;
        if end > self.unread.end {
            return Ok(None);
        }
        let Some(correlation_id) = self.bytes[self.unread.start + LENGTH_BYTES..].first_chunk() else {
            return Ok(None);
        };
        let correlation_id = i32::from_be_bytes(*correlation_id);
        self.unread.start = end;
        Ok(Some(FoundFrame { correlation_id, body: body..end }))
    }

    /// The frame that [`Self::take_next`] found. It is there until the buffer is filled again.
    #[inline]
    #[must_use]
    pub fn frame(&self, found: FoundFrame) -> Frame<'_> {
        Frame { correlation_id: found.correlation_id, body: &self.bytes[found.body] }
    }

    /// The bytes that have come and are in no complete frame.
    #[must_use]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.unread.clone()]
    }

    /// Reads once from `source`, which says how many bytes it gave; 0 is the end of the stream.
    ///
    /// # Errors
    /// Those of `source`.
    pub fn fill(&mut self, source: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<Filled> {
        let room = self.make_room();
        let asked = room.len();
        let piece = &mut self.bytes[room];
        let read = source(piece)?.min(asked);
        self.unread.end += read;
        Ok(match read {
            0 => Filled::End,
            read if read < asked => Filled::Some,
            _ => Filled::All,
        })
    }

    /// The bytes to read into next: at least one, and a whole piece if the buffer has room for it.
    fn make_room(&mut self) -> Range<usize> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        let claimed = self.claimed().ok().flatten().map_or(0, |length| LENGTH_BYTES + length);
        let wanted = claimed.saturating_sub(self.unread.len()).max(PIECE_BYTES);
        if self.bytes.len() - self.unread.end < wanted && self.unread.start > 0 {
            self.bytes.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if self.unread.end == self.bytes.len() {
            let doubled = (self.bytes.len() * 2).max(INITIAL_BYTES);
            // No longer than the largest frame and a piece of the next.
            self.bytes.resize(doubled.min(self.limit + LENGTH_BYTES + PIECE_BYTES), 0);
        }
        self.unread.end..self.bytes.len().min(self.unread.end + wanted)
    }

    /// The length that the frame at the front claims, when it has come and is possible.
    #[inline]
    fn claimed(&self) -> Result<Option<usize>, FrameLength> {
        let Some(length) = self.unread().first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let claimed = i32::from_be_bytes(*length);
        match usize::try_from(claimed) {
            Ok(length) if (SHORTEST_BYTES..=self.limit).contains(&length) => Ok(Some(length)),
            _ => Err(FrameLength(claimed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;

    /// A frame of that many bytes after the length field.
    fn frame(correlation_id: i32, length: usize) -> Vec<u8> {
        let mut bytes = (length as i32).to_be_bytes().to_vec();
        bytes.extend_from_slice(&correlation_id.to_be_bytes());
        bytes.extend((0..length - SHORTEST_BYTES).map(|at| (at as i32 ^ correlation_id) as u8));
        bytes
    }

    /// Reads a stream whose source gives at most so many bytes each time; whole frames, without their length field.
    fn read(stream: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<Vec<u8>>, FrameBuffer) {
        let (mut buffer, mut rest, mut seen) = (FrameBuffer::new(LIMIT), stream, Vec::new());
        loop {
            while let Some(found) = buffer.take_next().unwrap() {
                let Frame { correlation_id, body } = buffer.frame(found);
                seen.push([&correlation_id.to_be_bytes()[..], body].concat());
            }
            let most = pieces.next().unwrap();
            let filled = buffer.fill(|room| {
                assert!(!room.is_empty());
                let taken = most.min(room.len()).min(rest.len());
                room[..taken].copy_from_slice(&rest[..taken]);
                rest = &rest[taken..];
                Ok(taken)
            });
            if filled.unwrap() == Filled::End {
                return (seen, buffer);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            lengths in prop::collection::vec(prop_oneof![4_usize..300, 4_usize..300_000], 0..12),
            pieces in prop::collection::vec(prop_oneof![1_usize..64, 1_usize..200_000], 1..32),
        ) {
            let frames: Vec<_> = lengths.iter().zip(0..).map(|(length, id)| frame(id, *length)).collect();
            let (seen, buffer) = read(&frames.concat(), pieces.into_iter().cycle());
            let expected: Vec<_> = frames.iter().map(|frame| frame[LENGTH_BYTES..].to_vec()).collect();
            prop_assert!(seen == expected);
            prop_assert!(buffer.unread().is_empty());
        }

        #[test]
        fn any_bytes_are_frames_within_the_limit_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut buffer = FrameBuffer::new(100);
            buffer.fill(|room| {
                room[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }).unwrap();
            while let Ok(Some(frame)) = buffer.take_next() {
                prop_assert!(frame.body.len() <= 96);
            }
        }
    }

    #[test]
    fn a_stream_that_comes_byte_by_byte_gives_the_same_frames() {
        let stream = [frame(1, 4), frame(2, 5), frame(3, 1000)].concat();
        let (seen, _) = read(&stream, std::iter::repeat(1));
        assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [4, 5, 1000]);
    }

    #[test]
    fn lengths_that_no_response_can_have_are_errors_as_soon_as_they_are_read() {
        for claimed in [i32::MIN, -1, 0, 3, LIMIT as i32 + 1, i32::MAX] {
            let mut buffer = FrameBuffer::new(LIMIT);
            buffer
                .fill(|room| {
                    room[..4].copy_from_slice(&claimed.to_be_bytes());
                    Ok(4)
                })
                .unwrap();
            assert_eq!(buffer.take_next(), Err(FrameLength(claimed)));
        }
    }

    #[test]
    fn a_claimed_length_alone_does_not_make_the_buffer_grow() {
        let mut stream = frame(1, LIMIT);
        stream.truncate(100);
        let (seen, buffer) = read(&stream, std::iter::repeat(usize::MAX));
        assert!(seen.is_empty() && !buffer.unread().is_empty());
        assert_eq!(buffer.bytes.len(), INITIAL_BYTES);
    }

    #[test]
    fn between_large_frames_of_which_there_are_many_nothing_is_moved() {
        let stream = vec![frame(1, 500_000); 20].concat();
        let mut buffer = FrameBuffer::new(LIMIT);
        let (mut rest, mut behind) = (&stream[..], Vec::new());
        while !rest.is_empty() {
            buffer
                .fill(|room| {
                    let taken = room.len().min(rest.len());
                    room[..taken].copy_from_slice(&rest[..taken]);
                    rest = &rest[taken..];
                    Ok(taken)
                })
                .unwrap();
            while buffer.take_next().unwrap().is_some() {
                behind.push(buffer.unread().len());
            }
        }
        assert_eq!(behind.len(), 20);
        assert!(behind.iter().all(|bytes| *bytes <= PIECE_BYTES), "{behind:?}");
    }
}
