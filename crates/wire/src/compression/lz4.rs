//! LZ4 frames as Kafka has them: independent blocks of 64 KiB, no checksums, as the batch has one of its own.

use super::{Bounded, Codec, CompressionError, damaged};
use crate::read::DecodeError;
use ::lz4::liblz4::{BlockChecksum, ContentChecksum};
use ::lz4::{BlockMode, BlockSize, Decoder, EncoderBuilder};
use std::io::{self, Read, Write};

pub(super) fn compress(level: u32, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CompressionError> {
    frame(level, plain, out)
        .map_err(|error| CompressionError::Failed { codec: Codec::Lz4, reason: error.to_string() })
}

fn frame(level: u32, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = EncoderBuilder::new()
        .level(level)
        .block_size(BlockSize::Max64KB)
        .block_mode(BlockMode::Independent)
        .block_checksum(BlockChecksum::NoBlockChecksum)
        .checksum(ContentChecksum::NoChecksum)
        // Whole blocks are handed over, so nothing has to be kept back and copied.
        .auto_flush(true)
        .build(out)?;
    encoder.write_all(plain)?;
    encoder.finish().1
}

/// The library itself allocates for the largest block that a frame may announce, 4 MiB; nothing else follows from a claim.
pub(super) fn decompress(compressed: &[u8], into: &mut Bounded<'_>) -> Result<(), DecodeError> {
    let broken = |_| damaged("lz4 frame", 0, "the data is damaged");
    let mut decoder = Decoder::new(compressed).map_err(broken)?;
    let most = into.limit_bytes as u64 + 1;
    decoder.by_ref().take(most).read_to_end(into.plain).map_err(broken)?;
    into.check()?;
    let (rest, ended) = decoder.finish();
    ended.map_err(|_| damaged("lz4 frame", compressed.len(), "the data ends before the frame does"))?;
    match rest.is_empty() {
        true => Ok(()),
        false => Err(damaged("lz4 frame", compressed.len() - rest.len(), "bytes follow the frame")),
    }
}
