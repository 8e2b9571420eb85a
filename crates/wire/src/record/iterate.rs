//! The records of one batch, one after the other.

use super::header::{self, Headers, sized};
use super::short::{short_sized, short_varint};
use crate::read::{DecodeError, Problem, Reader, Result};

/// The least that a record takes: a byte each for length, attributes, time, offset, key length, value length, header count.
const LEAST_BYTES: usize = 7;

/// One record; its parts lie in the batch or in the decompressor's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// The record's offset less the batch's base offset; from 0 to the batch's last offset delta.
    pub offset_delta: i32,
    /// The record's time less the batch's base time, in milliseconds.
    pub timestamp_delta: i64,
    /// Its key, which may be null.
    pub key: Option<&'a [u8]>,
    /// Its value, which may be null.
    pub value: Option<&'a [u8]>,
    header_count: u32,
    headers: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// Its headers.
    pub fn headers(&self) -> Headers<'a> {
        Headers::new(self.headers, self.header_count)
    }

    /// The value of its last header of this name: absent where there is none, or where its value is null.
    pub fn header(&self, name: &[u8]) -> Result<Option<&'a [u8]>> {
        self.headers().try_fold(None, |found, header| {
            header.map(|header| if header.name == name { header.value } else { found })
        })
    }
}

/// Walks over the records of a batch. After an error nothing more comes; that there are fewer or more records than the batch
/// says is an error, where the records end.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    plain: &'a [u8],
    at: usize,
    left: u32,
    last_offset_delta: i32,
    ended: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(plain: &'a [u8], count: u32, last_offset_delta: i32) -> Result<Self> {
        let needed = u64::from(count) * LEAST_BYTES as u64;
        if needed > plain.len() as u64 {
            let problem = Problem::Truncated { needed, left: plain.len() };
            return Err(DecodeError { what: "records of a batch", at: 0, problem });
        }
        Ok(Self { plain, at: 0, left: count, last_offset_delta, ended: false })
    }

    /// The next record if it is of the usual kind: whole, and with no number that takes more than three bytes. Whatever is not,
    /// right or wrong, is left to [`read`](Self::read), so nothing is said here about what is wrong.
    #[inline(always)]
    fn usual(&mut self) -> Option<RecordView<'a>> {
        let mut at = self.at;
        let length = short_varint(self.plain, &mut at)?;
        let end = at + usize::try_from(length).ok()?;
        let rest = self.plain.get(..end)?;
        at += 1;
        let timestamp_delta = i64::from(short_varint(rest, &mut at)?);
        let offset_delta = short_varint(rest, &mut at)?;
        let key = short_sized(rest, &mut at)?;
        let value = short_sized(rest, &mut at)?;
        let header_count = short_varint(rest, &mut at)? as u32;
        let headers = rest.get(at..)?;
        // What is negative is large as an unsigned number.
        let right = offset_delta as u32 <= self.last_offset_delta as u32
            && header_count as usize <= headers.len() / header::LEAST_BYTES
            && (header_count == 0) == headers.is_empty();
        if !right {
            return None;
        }
        self.at = end;
        Some(RecordView { offset_delta, timestamp_delta, key, value, header_count, headers })
    }

    /// The next record, or what is wrong with it.
    #[cold]
    fn read(&mut self) -> Result<RecordView<'a>> {
        let reader = &mut self.reader();
        let length = reader.varint("record length")?;
        let start = reader.position();
        let end = match usize::try_from(length) {
            Ok(length) if length <= reader.left() => start + length,
            Ok(length) => {
                let problem = Problem::Truncated { needed: length as u64, left: reader.left() };
                return Err(reader.error("record", problem));
            }
            Err(_) => return Err(reader.error("record length", Problem::NegativeLength(length.into()))),
        };
        reader.skip(1, "record attributes")?;
        let timestamp_delta = reader.varlong("timestamp delta")?;
        let offset_delta = reader.varint("offset delta")?;
        let key = sized(reader, "record key")?;
        let value = sized(reader, "record value")?;
        let header_count = reader.varint("header count")?;

        // The parts were only held against the end of all records.
        let Some(header_bytes) = end.checked_sub(reader.position()) else {
            let problem = Problem::Invalid("its parts are longer than itself");
            return Err(DecodeError { what: "record", at: start, problem });
        };
        let headers = reader.take(header_bytes, "headers")?;
        let most = self.last_offset_delta;
        if !(0..=most).contains(&offset_delta) {
            let problem = Problem::OutOfRange { got: offset_delta.into(), least: 0, most: most.into() };
            return Err(DecodeError { what: "offset delta", at: start, problem });
        }
        let most = header_bytes / header::LEAST_BYTES;
        let header_count = match usize::try_from(header_count) {
            Ok(count) if count <= most && (count > 0 || header_bytes == 0) => count as u32,
            _ => {
                let least = i64::from(header_bytes > 0);
                let problem = Problem::OutOfRange { got: header_count.into(), least, most: most as i64 };
                return Err(DecodeError { what: "header count", at: end - header_bytes, problem });
            }
        };
        self.at = end;
        Ok(RecordView { offset_delta, timestamp_delta, key, value, header_count, headers })
    }

    fn reader(&self) -> Reader<'a> {
        let mut reader = Reader::new(self.plain);
        // It is never past the end, as it was only moved to ends of records.
        let _ = reader.skip(self.at, "records of a batch");
        reader
    }

    #[cold]
    fn end(&mut self) -> Option<Result<RecordView<'a>>> {
        self.ended = true;
        self.reader().end("records of a batch").err().map(Err)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordView<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.left == 0 {
            return self.end();
        }
        self.left -= 1;
        if let Some(record) = self.usual() {
            return Some(Ok(record));
        }
        let record = self.read();
        self.ended = record.is_err();
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // One more where bytes are left over, or fewer where there are not enough.
        (0, Some(self.left as usize + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_way_says_what_the_long_way_says(
            mut plain in vec(any::<u8>(), 0..60), small in vec(0..12_u8, 0..60), length in 0..60_u8,
        ) {
            // Bytes that look a little like a record, so that both ways get somewhere.
            for (byte, small) in plain.iter_mut().zip(small) {
                *byte = small;
            }
            if let Some(first) = plain.first_mut() {
                *first = length * 2;
            }
            let Ok(mut short) = Records::new(&plain, 1, 5) else { return Ok(()) };
            let mut long = short.clone();
            if let Some(record) = short.usual() {
                prop_assert_eq!(long.read(), Ok(record));
                prop_assert_eq!(long.at, short.at);
            }
        }
    }

    #[test]
    fn a_record_with_numbers_of_four_bytes_and_more_is_read() {
        // Length 15, time -2^40, offset 2^21, no key, value "v", no headers.
        let plain = [30, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x80, 0x80, 0x80, 0x02, 1, 2, b'v', 0];
        let mut records = Records::new(&plain, 1, 1 << 21).unwrap();
        assert_eq!(records.clone().usual(), None);
        let record = records.next().unwrap().unwrap();
        assert_eq!((record.timestamp_delta, record.offset_delta), (-(1 << 40), 1 << 21));
        assert_eq!((record.key, record.value), (None, Some(&b"v"[..])));
        assert_eq!(records.next(), None);
    }
}
