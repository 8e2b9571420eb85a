//! Snappy as Kafka has it: blocks in the framing of snappy-java ("xerial").
//!
//! Sixteen bytes (a magic word, a version, the least version that can read it), then blocks of at most 32 KiB of plain bytes, each with
//! its compressed length before it. Other clients write one bare block; it is read, too.

use super::{Bounded, Codec, CompressionError, damaged};
use crate::read::{DecodeError, Reader};
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

const HEADER: &[u8; 16] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

/// Plain bytes of one block, as in snappy-java.
const BLOCK_BYTES: usize = 32 << 10;

/// More plain bytes than this for each compressed one cannot be: a copy of at most 64 bytes takes at least two.
const LARGEST_RATIO: usize = 32;

pub(super) fn compress(
    encoder: &mut Encoder,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), CompressionError> {
    out.extend_from_slice(HEADER);
    for block in plain.chunks(BLOCK_BYTES) {
        let start = out.len();
        out.resize(start + 4 + max_compress_len(block.len()), 0);
        let length = encoder
            .compress(block, &mut out[start + 4..])
            .map_err(|error| CompressionError::Failed { codec: Codec::Snappy, reason: error.to_string() })?;
        out[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
        out.truncate(start + 4 + length);
    }
    Ok(())
}

pub(super) fn decompress(
    decoder: &mut Decoder,
    compressed: &[u8],
    into: &mut Bounded<'_>,
) -> Result<(), DecodeError> {
    if !compressed.starts_with(HEADER) {
        return block(decoder, compressed, 0, into);
    }
    let mut reader = Reader::new(compressed);
    reader.skip(HEADER.len(), "snappy header")?;
    while !reader.is_empty() {
        let length = reader.u32("snappy block length")?;
        let at = reader.position();
        let bytes = reader.take(length as usize, "snappy block")?;
        block(decoder, bytes, at, into)?;
    }
    Ok(())
}

/// The size that a block claims is believed only where its bytes can hold as much.
fn block(decoder: &mut Decoder, bytes: &[u8], at: usize, into: &mut Bounded<'_>) -> Result<(), DecodeError> {
    let claimed =
        decompress_len(bytes).map_err(|_| damaged("snappy block", at, "its size cannot be read"))?;
    let start = into.plain.len();
    if claimed > into.limit_bytes - start {
        return Err(into.too_much(start + claimed));
    }
    if claimed / LARGEST_RATIO > bytes.len() {
        return Err(damaged("snappy block", at, "it claims a size that its bytes cannot hold"));
    }
    into.plain.resize(start + claimed, 0);
    decoder
        .decompress(bytes, &mut into.plain[start..])
        .map_err(|_| damaged("snappy block", at, "the data is damaged"))?;
    Ok(())
}
