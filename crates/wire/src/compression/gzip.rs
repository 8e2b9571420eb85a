//! Gzip (RFC 1952).

use super::{Bounded, Codec, CompressionError, damaged};
use crate::read::DecodeError;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The base-2 logarithm of the window, the usual one of gzip.
const WINDOW_BITS: u8 = 15;

/// A compressor whose state is used again for every batch.
pub(super) struct Gzip {
    state: Compress,
}

impl Gzip {
    pub(super) fn new(level: Option<u32>) -> Self {
        let level = level.map_or_else(Compression::default, Compression::new);
        Self { state: Compress::new_gzip(level, WINDOW_BITS) }
    }

    pub(super) fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CompressionError> {
        self.state.reset();
        loop {
            // What does not compress grows by 5 bytes for every 16 KiB, and there are 18 bytes around it.
            let left = plain.len() - self.state.total_in() as usize;
            out.reserve(left + left / 1024 + 64);
            let rest = &plain[self.state.total_in() as usize..];
            match self.state.compress_vec(rest, out, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => return Ok(()),
                Ok(Status::Ok | Status::BufError) => {}
                Err(error) => {
                    return Err(CompressionError::Failed { codec: Codec::Gzip, reason: error.to_string() });
                }
            }
        }
    }
}

/// One member after the other, as Java's reader takes them.
pub(super) fn decompress(compressed: &[u8], into: &mut Bounded<'_>) -> Result<(), DecodeError> {
    let mut at = 0;
    while at < compressed.len() || at == 0 {
        at += member(compressed, at, into)?;
    }
    into.check()
}

/// The number of bytes of the member at `at`.
fn member(compressed: &[u8], at: usize, into: &mut Bounded<'_>) -> Result<usize, DecodeError> {
    let mut state = Decompress::new_gzip(WINDOW_BITS);
    loop {
        into.make_room()?;
        let (read, written) = (state.total_in(), state.total_out());
        let rest = &compressed[at + read as usize..];
        match state.decompress_vec(rest, into.plain, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return Ok(state.total_in() as usize),
            Ok(Status::Ok | Status::BufError) => {}
            Err(_) => return Err(damaged("gzip", at + state.total_in() as usize, "the data is damaged")),
        }
        if (state.total_in(), state.total_out()) == (read, written) {
            return Err(damaged("gzip", compressed.len(), "the data ends before the stream does"));
        }
    }
}
