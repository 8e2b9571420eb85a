//! Compresses the records of a batch and takes them apart again, in the framings that Kafka's own client writes and reads.
//!
//! A [`Compressor`] and a [`Decompressor`] are made once and used for every batch: their buffers and, where the library allows
//! it, their states are kept. What a batch looks like around its records is in [`crate::batch`] and [`crate::record`].

use crate::read::{DecodeError, Problem};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

mod gzip;
mod lz4;
mod snappy;
mod zstd;

/// The codec of a batch's records; the lowest three bits of its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// No compression.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy blocks in the framing of snappy-java.
    Snappy,
    /// An LZ4 frame of independent blocks.
    Lz4,
    /// RFC 8878.
    Zstd,
}

impl Codec {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The name in `compression.type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The number in a batch's attributes.
    pub fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec in a batch's attributes; none has the numbers 5 to 7.
    pub(crate) fn of_attributes(attributes: i16) -> Option<Self> {
        Self::ALL.get(usize::from(attributes as u16 & 7)).copied()
    }

    /// The levels that it has, from the fastest to the densest; absent where it has none.
    pub(crate) fn levels(self) -> Option<(i32, i32)> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some((1, 9)),
            // As Kafka's `compression.lz4.level` and `compression.zstd.level` have it (KIP-390).
            Self::Lz4 => Some((1, 17)),
            Self::Zstd => Some((-131_072, 22)),
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = CompressionError;

    fn from_str(name: &str) -> Result<Self, CompressionError> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name() == name)
            .ok_or_else(|| CompressionError::Unknown { got: name.to_owned() })
    }
}

/// A failure to compress.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompressionError {
    /// No codec has this name.
    #[error("compression type `{got}` is unknown: it is none, gzip, snappy, lz4 or zstd")]
    Unknown {
        /// The name.
        got: String,
    },
    /// The codec has no levels.
    #[error("compression level {got} was given, but {codec} has no levels")]
    NoLevels {
        /// The codec.
        codec: Codec,
        /// The level.
        got: i32,
    },
    /// The codec has other levels.
    #[error("compression level {got} is not one of {codec}: they go from {least} to {most}")]
    Level {
        /// The codec.
        codec: Codec,
        /// The level.
        got: i32,
        /// The fastest.
        least: i32,
        /// The densest.
        most: i32,
    },
    /// The library could not do it.
    #[error("records cannot be compressed with {codec}: {reason}")]
    Failed {
        /// The codec.
        codec: Codec,
        /// The library's message.
        reason: String,
    },
}

/// Compresses with one codec at one level.
pub struct Compressor {
    codec: Codec,
    state: Compressing,
}

enum Compressing {
    Copy,
    Gzip(gzip::Gzip),
    Snappy(Box<snap::raw::Encoder>),
    Lz4 { level: u32 },
    Zstd(::zstd::bulk::Compressor<'static>),
}

impl Compressor {
    /// A compressor; with the codec's own usual level (gzip 6, lz4 fast, zstd 3) where none is given.
    pub fn new(codec: Codec, level: Option<i32>) -> Result<Self, CompressionError> {
        if let Some(got) = level {
            let (least, most) = codec.levels().ok_or(CompressionError::NoLevels { codec, got })?;
            if !(least..=most).contains(&got) {
                return Err(CompressionError::Level { codec, got, least, most });
            }
        }
        let state = match codec {
            Codec::None => Compressing::Copy,
            Codec::Gzip => Compressing::Gzip(gzip::Gzip::new(level.map(i32::unsigned_abs))),
            Codec::Snappy => Compressing::Snappy(Box::new(snap::raw::Encoder::new())),
            Codec::Lz4 => Compressing::Lz4 { level: level.map_or(0, i32::unsigned_abs) },
            Codec::Zstd => Compressing::Zstd(zstd::compressor(level)?),
        };
        Ok(Self { codec, state })
    }

    /// The codec of the error.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Appends `plain`, compressed, to `out`.
    pub fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CompressionError> {
        match &mut self.state {
            Compressing::Copy => {
                out.extend_from_slice(plain);
                Ok(())
            }
            Compressing::Gzip(gzip) => gzip.compress(plain, out),
            Compressing::Snappy(encoder) => snappy::compress(encoder, plain, out),
            Compressing::Lz4 { level } => lz4::compress(*level, plain, out),
            Compressing::Zstd(compressor) => zstd::compress(compressor, plain, out),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("codec", &self.codec).finish_non_exhaustive()
    }
}

/// Takes apart what any codec made, into a buffer that is used again, and never into more than its limit.
pub struct Decompressor {
    limit_bytes: usize,
    plain: Vec<u8>,
    snappy: snap::raw::Decoder,
    zstd: Option<::zstd::zstd_safe::DCtx<'static>>,
}

/// The limit of the output where nothing else is said: the size of the largest response that a connection takes by itself.
const USUAL_LIMIT_BYTES: usize = 128 << 20;

impl Default for Decompressor {
    fn default() -> Self {
        Self::new(USUAL_LIMIT_BYTES)
    }
}

impl Decompressor {
    /// A decompressor from which at most `limit_bytes` come out at a time. The buffer grows as bytes come, not to what is
    /// claimed.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, plain: Vec::new(), snappy: snap::raw::Decoder::new(), zstd: None }
    }

    /// The bytes before compression. An error says where in `compressed` as exactly as the library does, else byte 0.
    pub fn decompress<'s>(&'s mut self, codec: Codec, compressed: &'s [u8]) -> Result<&'s [u8], DecodeError> {
        self.plain.clear();
        let mut into = Bounded { plain: &mut self.plain, limit_bytes: self.limit_bytes };
        match codec {
            Codec::None => return Ok(compressed),
            Codec::Gzip => gzip::decompress(compressed, &mut into)?,
            Codec::Snappy => snappy::decompress(&mut self.snappy, compressed, &mut into)?,
            Codec::Lz4 => lz4::decompress(compressed, &mut into)?,
            Codec::Zstd => zstd::decompress(&mut self.zstd, compressed, &mut into)?,
        }
        Ok(&self.plain)
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").field("limit_bytes", &self.limit_bytes).finish_non_exhaustive()
    }
}

/// A buffer and what it may grow to.
struct Bounded<'a> {
    plain: &'a mut Vec<u8>,
    limit_bytes: usize,
}

/// The initial size of a buffer, and the least that it grows by.
const STEP_BYTES: usize = 64 << 10;

impl Bounded<'_> {
    /// Doubles the room when there is none left: an error where the limit was passed. One byte more than the limit
    /// is given, so that what ends exactly there is told from what goes on.
    fn make_room(&mut self) -> Result<(), DecodeError> {
        let length = self.plain.len();
        if length > self.limit_bytes {
            return Err(self.too_much(length));
        }
        if length == self.plain.capacity() {
            let most = self.limit_bytes.saturating_add(1) - length;
            self.plain.reserve_exact(length.max(STEP_BYTES).min(most));
        }
        Ok(())
    }

    /// Checks that the output is within the limit.
    fn check(&self) -> Result<(), DecodeError> {
        match self.plain.len() > self.limit_bytes {
            true => Err(self.too_much(self.plain.len())),
            false => Ok(()),
        }
    }

    fn too_much(&self, got: usize) -> DecodeError {
        let problem = Problem::OutOfRange { got: got as i64, least: 0, most: self.limit_bytes as i64 };
        DecodeError { what: "decompressed size", at: 0, problem }
    }
}

/// Compressed bytes that are wrong, in words.
fn damaged(what: &'static str, at: usize, words: &'static str) -> DecodeError {
    DecodeError { what, at, problem: Problem::Invalid(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Vec<u8> {
        (0..50_000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect()
    }

    #[test]
    fn every_codec_at_its_lowest_and_highest_level_gives_back_what_went_in_and_can_be_used_again() {
        for codec in Codec::ALL {
            let levels = match codec.levels() {
                Some((least, most)) => vec![None, Some(least), Some(most)],
                None => vec![None],
            };
            let mut decompressor = Decompressor::default();
            for level in levels {
                let mut compressor = Compressor::new(codec, level).unwrap();
                for plain in [&plain()[..], b"", b"x", &plain()[..70_000]] {
                    let mut out = b"before".to_vec();
                    compressor.compress(plain, &mut out).unwrap();
                    assert_eq!(&out[..6], b"before");
                    assert!(decompressor.decompress(codec, &out[6..]).unwrap() == plain, "{codec} {level:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_followed_by_something_is_an_error() {
        for codec in Codec::ALL.into_iter().skip(1) {
            let mut compressed = Vec::new();
            Compressor::new(codec, None)
                .unwrap()
                .compress(b"some words and some words", &mut compressed)
                .unwrap();
            let mut decompressor = Decompressor::default();
            for end in 1..compressed.len() {
                let cut = decompressor.decompress(codec, &compressed[..end]);
                // Snappy's framing has no end of its own: after a block, or before the first, is as good.
                let may_end = codec == Codec::Snappy && end == 16;
                assert_eq!(cut.is_err(), !may_end, "{codec} at {end}");
            }
            compressed.push(0);
            assert!(decompressor.decompress(codec, &compressed).is_err(), "{codec}");
        }
    }

    #[test]
    fn the_limit_is_exact_and_the_decompressor_goes_on_after_it() {
        let plain = vec![7; 300_000];
        for codec in Codec::ALL.into_iter().skip(1) {
            let mut compressed = Vec::new();
            Compressor::new(codec, None).unwrap().compress(&plain, &mut compressed).unwrap();
            let mut enough = Decompressor::new(plain.len());
            assert!(enough.decompress(codec, &compressed).is_ok(), "{codec}");
            let mut short = Decompressor::new(plain.len() - 1);
            for _ in 0..2 {
                assert!(short.decompress(codec, &compressed).is_err(), "{codec}");
            }
            let mut small = Vec::new();
            Compressor::new(codec, None).unwrap().compress(b"small", &mut small).unwrap();
            assert_eq!(short.decompress(codec, &small), Ok(&b"small"[..]));
        }
    }

    #[test]
    fn snappy_of_other_clients_has_no_framing() {
        let bare = snap::raw::Encoder::new().compress_vec(&plain()).unwrap();
        assert!(Decompressor::default().decompress(Codec::Snappy, &bare).unwrap() == plain());
    }

    #[test]
    fn lz4_has_independent_blocks_and_no_checksums_in_its_header() {
        let mut out = Vec::new();
        Compressor::new(Codec::Lz4, None).unwrap().compress(b"words", &mut out).unwrap();
        // Version 1, independent blocks, nothing else; blocks of 64 KiB at most (LZ4 frame format 1.6.1).
        assert_eq!(&out[..6], &[0x04, 0x22, 0x4d, 0x18, 0b0110_0000, 0b0100_0000]);
    }

    #[test]
    fn names_and_levels_that_there_are_not_are_errors_that_list_what_there_is() {
        assert_eq!("lz4".parse(), Ok(Codec::Lz4));
        let error = "LZ4".parse::<Codec>().unwrap_err().to_string();
        assert_eq!(error, "compression type `LZ4` is unknown: it is none, gzip, snappy, lz4 or zstd");
        let error = Compressor::new(Codec::Gzip, Some(10)).unwrap_err().to_string();
        assert_eq!(error, "compression level 10 is not one of gzip: they go from 1 to 9");
        let error = Compressor::new(Codec::Snappy, Some(1)).unwrap_err().to_string();
        assert_eq!(error, "compression level 1 was given, but snappy has no levels");
    }
}
