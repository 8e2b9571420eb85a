//! Cuts the byte stream of a connection into requests.
//!
//! A frame is a four-byte big-endian length and that many bytes. The length is a stranger's word: nothing is
//! allocated because of it, it is only compared with the limit. What is in a frame is for [`super::shape`] to check.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// The length field before every frame.
pub(super) const LENGTH_BYTES: usize = 4;
/// API key, API version and correlation id: no request is shorter.
const SHORTEST_BYTES: usize = 8;

/// The reason why a connection's bytes are no Kafka requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum FrameError {
    /// A length outside of what a request can have.
    #[error("frame length: expected {SHORTEST_BYTES} to {limit} bytes, got {got}")]
    Length {
        /// The option [`super::SinkOptions::frame_limit_bytes`].
        limit: usize,
        /// The length that the client stated.
        got: i32,
    },
}

/// Takes the next whole frame off `buffer`, without its length field. `None`: more bytes are needed.
pub(super) fn next_frame(buffer: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, FrameError> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let got = i32::from_be_bytes(*length);
    let length = usize::try_from(got).ok().filter(|length| (SHORTEST_BYTES..=limit).contains(length));
    let Some(length) = length else { return Err(FrameError::Length { limit, got }) };
    if buffer.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Some(buffer.split_to(length).freeze()))
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 4096;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), SHORTEST_BYTES..300), 0..8),
            cuts in prop::collection::vec(1_usize..64, 1..32),
        ) {
            let mut stream = BytesMut::new();
            for frame in &frames {
                stream.put_i32(frame.len() as i32);
                stream.put_slice(frame);
            }
            let (mut buffer, mut seen, mut cut) = (BytesMut::new(), Vec::new(), cuts.iter().cycle());
            while !stream.is_empty() {
                let piece = (*cut.next().unwrap()).min(stream.len());
                buffer.extend_from_slice(&stream.split_to(piece));
                while let Some(frame) = next_frame(&mut buffer, LIMIT).unwrap() {
                    seen.push(frame.to_vec());
                }
            }
            prop_assert_eq!(seen, frames);
            prop_assert!(buffer.is_empty());
        }

        #[test]
        fn any_bytes_are_either_frames_within_the_limit_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(frame)) = next_frame(&mut buffer, LIMIT) {
                prop_assert!((SHORTEST_BYTES..=LIMIT).contains(&frame.len()));
            }
            prop_assert!(buffer.len() <= bytes.len());
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_its_bytes_arrive() {
        for got in [i32::MAX, LIMIT as i32 + 1, 7, 0, -1, i32::MIN] {
            let mut buffer = BytesMut::new();
            buffer.put_i32(got);
            assert_eq!(next_frame(&mut buffer, LIMIT), Err(FrameError::Length { limit: LIMIT, got }));
        }
    }
}
