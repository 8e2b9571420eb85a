//! One record as bytes.

use super::RecordPlace;

/// A header of a record to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordHeader<'a> {
    /// Its name, UTF-8 where other clients are to read it.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

/// The most bytes that a record takes besides its key, its value and its headers' names and values.
pub const fn largest_record_overhead(headers: usize) -> usize {
    // Length, offset, key length, value length and header count, and two lengths a header, each of at most five bytes;
    // attributes and time take one byte each.
    5 * 5 + 2 + headers * 2 * 5
}

/// The sizes of a record's parts, known before it is written.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    offset_delta: i32,
    /// The size of the record, without its own length before it.
    body: usize,
}

impl Lengths {
    pub(super) fn new(
        key: Option<&[u8]>,
        value: &[u8],
        headers: &[RecordHeader<'_>],
        offset_delta: usize,
    ) -> Self {
        let offset_delta = offset_delta as i32;
        let sized = |bytes: &[u8]| varint_len(bytes.len() as i32) + bytes.len();
        let body = 2
            + varint_len(offset_delta)
            + key.map_or(1, sized)
            + sized(value)
            + varint_len(headers.len() as i32)
            + headers.iter().map(|header| sized(header.name) + sized(header.value)).sum::<usize>();
        Self { offset_delta, body }
    }

    pub(super) fn with_prefix(self) -> usize {
        varint_len(self.body as i32) + self.body
    }
}

/// Appends a record whose size was checked.
pub(super) fn record(
    out: &mut Vec<u8>,
    lengths: Lengths,
    key: Option<&[u8]>,
    value: &[u8],
    headers: &[RecordHeader<'_>],
) -> RecordPlace {
    put_varint(out, lengths.body as i32);
    // No attributes are defined, and the time is the batch's.
    out.extend_from_slice(&[0, 0]);
    put_varint(out, lengths.offset_delta);
    put_varint(out, key.map_or(-1, |key| key.len() as i32));
    let key_at = out.len() as u32;
    out.extend_from_slice(key.unwrap_or_default());
    put_sized(out, value);
    let value_end = out.len() as u32;
    put_varint(out, headers.len() as i32);
    let mut last_header = out.len() as u32;
    for header in headers {
        put_sized(out, header.name);
        put_sized(out, header.value);
        last_header = (out.len() - header.value.len()) as u32;
    }
    RecordPlace {
        key: key_at,
        value: value_end - value.len() as u32,
        value_end,
        last_header,
        end: out.len() as u32,
    }
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as i32);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, value: i32) {
    let mut left = zigzag(value);
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The number of bytes that a number takes: seven bits each.
#[inline]
pub(super) fn varint_len(value: i32) -> usize {
    let bits = 32 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Small numbers of either sign become small numbers.
#[inline]
fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}
