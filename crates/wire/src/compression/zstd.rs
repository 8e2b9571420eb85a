//! Zstandard (RFC 8878).

use super::{Bounded, Codec, CompressionError, damaged};
use crate::read::{DecodeError, Reader};
use std::io::Cursor;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{DCtx, compress_bound, get_error_name};

/// The library's message when the buffer is too small (`ZSTD_error_dstSize_tooSmall`); it has no other way to tell.
const TOO_SMALL: &str = "Destination buffer is too small";

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;

/// Most bytes of a block, plain or compressed.
const BLOCK_BYTES: usize = 128 << 10;

pub(super) fn compressor(level: Option<i32>) -> Result<Compressor<'static>, CompressionError> {
    Compressor::new(level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL)).map_err(failed)
}

pub(super) fn compress(
    compressor: &mut Compressor<'static>,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), CompressionError> {
    out.reserve(compress_bound(plain.len()));
    let mut end = Cursor::new(out);
    let length = end.get_ref().len() as u64;
    end.set_position(length);
    compressor.compress_to_buffer(plain, &mut end).map(|_| ()).map_err(failed)
}

/// Decompresses in one piece, so that the buffer is the window: a frame may announce a window or a content of terabytes, and
/// nothing is allocated for it. The most that its blocks can hold is counted first.
pub(super) fn decompress(
    state: &mut Option<DCtx<'static>>,
    compressed: &[u8],
    into: &mut Bounded<'_>,
) -> Result<(), DecodeError> {
    let context = match state {
        Some(context) => context,
        None => state.insert(
            DCtx::try_create().ok_or_else(|| damaged("zstd frame", 0, "there is no memory to read it"))?,
        ),
    };
    let most = most_plain_bytes(compressed)?;
    into.plain.reserve_exact(most.min(into.limit_bytes));
    match context.decompress(into.plain, compressed) {
        Ok(_) => into.check(),
        Err(code) if get_error_name(code) == TOO_SMALL && most > into.limit_bytes => {
            Err(into.too_much(into.limit_bytes.saturating_add(1)))
        }
        Err(code) => Err(damaged("zstd frame", 0, get_error_name(code))),
    }
}

/// The most that comes out of these frames, whatever they claim: RFC 8878, sections 3.1.1 and 3.1.2.
fn most_plain_bytes(compressed: &[u8]) -> Result<usize, DecodeError> {
    let mut reader = Reader::new(compressed);
    let mut most = 0;
    while !reader.is_empty() {
        let at = reader.position();
        let magic = u32::from_le_bytes(reader.array("zstd magic")?);
        if magic & !0xf == SKIPPABLE_MAGIC {
            let length = u32::from_le_bytes(reader.array("zstd skippable frame length")?);
            reader.skip(length as usize, "zstd skippable frame")?;
        } else if magic == MAGIC {
            most += frame(&mut reader)?;
        } else {
            return Err(damaged("zstd frame", at, "it does not begin as one"));
        }
    }
    Ok(most)
}

/// The same for one frame behind its magic.
fn frame(reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    let descriptor = reader.u8("zstd frame header")?;
    let single_segment = descriptor & 0x20 != 0;
    let window = usize::from(!single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = [usize::from(single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    reader.skip(window + dictionary + content_size, "zstd frame header")?;
    let mut most = 0;
    loop {
        let [low, middle, high] = reader.array("zstd block header")?;
        let header = u32::from_le_bytes([low, middle, high, 0]);
        let size = (header >> 3) as usize;
        if size > BLOCK_BYTES {
            return Err(damaged("zstd block", reader.position(), "it is larger than blocks are"));
        }
        let (stored, plain) = match header >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            _ => (size, BLOCK_BYTES),
        };
        reader.skip(stored, "zstd block")?;
        most += plain;
        if header & 1 == 1 {
            break;
        }
    }
    let checksum = if descriptor & 4 == 0 { 0 } else { 4 };
    reader.skip(checksum, "zstd checksum")?;
    Ok(most)
}

fn failed(error: std::io::Error) -> CompressionError {
    CompressionError::Failed { codec: Codec::Zstd, reason: error.to_string() }
}
