//! Zstandard (RFC 8878).

use super::{Bounded, Codec, CompressionError, STEP_BYTES, damaged};
use crate::read::DecodeError;
use std::io::Cursor;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{DCtx, compress_bound, get_error_name};

/// What the library says when the buffer is too small (`ZSTD_error_dstSize_tooSmall`); it has no other way to tell.
const TOO_SMALL: &str = "Destination buffer is too small";

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

/// In one piece, so that the buffer is the window: a frame may announce a window of gigabytes, and nothing is allocated for it.
/// A buffer that is too small is doubled and the work done again, which happens to the first batches only.
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
    let mut room = into.plain.capacity().max(STEP_BYTES);
    loop {
        room = room.min(into.limit_bytes);
        into.plain.clear();
        into.plain.reserve_exact(room);
        match context.decompress(into.plain, compressed) {
            Ok(_) => return into.check(),
            Err(code) if get_error_name(code) == TOO_SMALL => {
                if room >= into.limit_bytes {
                    return Err(into.too_much(into.limit_bytes.saturating_add(1)));
                }
                room = room.saturating_mul(2);
            }
            Err(code) => return Err(damaged("zstd frame", 0, get_error_name(code))),
        }
    }
}

fn failed(error: std::io::Error) -> CompressionError {
    CompressionError::Failed { codec: Codec::Zstd, reason: error.to_string() }
}
