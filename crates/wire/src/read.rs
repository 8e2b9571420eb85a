//! Reads big-endian protocol bytes that a stranger sent.
//!
//! Nothing here panics, and nothing is allocated or looped over because of a length that was only claimed: strings and
//! bytes are borrowed, and the length of an array is held against what is left before it is believed. What the fields
//! mean is for the modules that use it.

use thiserror::Error;

/// The place and kind of a deviation from the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what} at byte {at}: {problem}")]
pub struct DecodeError {
    /// The field, in the protocol's words.
    pub what: &'static str,
    /// The place of the field's first byte, counted from the start of what was read.
    pub at: usize,
    /// The fault.
    pub problem: Problem,
}

/// A fault in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the field does.
    #[error("{needed} bytes are needed, {left} are left")]
    Truncated {
        /// The least number of bytes of the field.
        needed: u64,
        /// The bytes that were left.
        left: usize,
    },
    /// A length or count that is negative where that has no meaning.
    #[error("length {0} is negative")]
    NegativeLength(i64),
    /// A number that is outside of what it may be.
    #[error("{got} is not within {least} to {most}")]
    OutOfRange {
        /// The value that was read.
        got: i64,
        /// The least that is right.
        least: i64,
        /// The most that is right.
        most: i64,
    },
    /// A variable-length number of more bytes than it can have.
    #[error("the variable-length number does not end")]
    EndlessVarint,
    /// A string that is not UTF-8.
    #[error("the string is not UTF-8")]
    NotUtf8,
    /// Bytes that are left where the message should end.
    #[error("{0} bytes are left where it should end")]
    LeftOver(usize),
    /// Anything else, in words.
    #[error("{0}")]
    Invalid(&'static str),
}

/// The result of reading.
pub type Result<T, E = DecodeError> = std::result::Result<T, E>;

/// Walks over bytes, and never past their end.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The number of bytes left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// The bytes that are left, without reading them.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// An error at the present place.
    pub fn error(&self, what: &'static str, problem: Problem) -> DecodeError {
        DecodeError { what, at: self.at, problem }
    }

    /// The next `length` bytes.
    #[inline]
    pub(crate) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8]> {
        let rest = self.rest();
        let Some(taken) = rest.get(..length) else {
            return Err(self.truncated(length as u64, what));
        };
        self.at += length;
        Ok(taken)
    }

    /// Passes over `length` bytes.
    #[inline]
    pub(crate) fn skip(&mut self, length: usize, what: &'static str) -> Result<()> {
        self.take(length, what).map(|_| ())
    }

    /// The next `N` bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let Some(taken) = self.rest().first_chunk::<N>() else {
            return Err(self.truncated(N as u64, what));
        };
        self.at += N;
        Ok(*taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        self.array(what).map(u8::from_be_bytes)
    }

    /// INT16.
    #[inline]
    pub fn i16(&mut self, what: &'static str) -> Result<i16> {
        self.array(what).map(i16::from_be_bytes)
    }

    /// INT32.
    #[inline]
    pub(crate) fn i32(&mut self, what: &'static str) -> Result<i32> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// UINT32.
    #[inline]
    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// INT64.
    #[inline]
    pub(crate) fn i64(&mut self, what: &'static str) -> Result<i64> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// BOOLEAN: any byte but 0 is true, as the protocol has it.
    #[inline]
    pub(crate) fn bool(&mut self, what: &'static str) -> Result<bool> {
        self.u8(what).map(|byte| byte != 0)
    }

    /// STRING.
    pub(crate) fn string(&mut self, what: &'static str) -> Result<&'a str> {
        let start = self.clone();
        self.nullable_string(what)?.ok_or_else(|| start.error(what, Problem::NegativeLength(-1)))
    }

    /// NULLABLE_STRING: `None` where the length is -1.
    pub(crate) fn nullable_string(&mut self, what: &'static str) -> Result<Option<&'a str>> {
        let start = self.clone();
        let length = self.i16(what)?;
        let Some(bytes) = self.nullable(i64::from(length), &start, what)? else { return Ok(None) };
        std::str::from_utf8(bytes).map(Some).map_err(|_| start.error(what, Problem::NotUtf8))
    }

    /// BYTES.
    pub fn bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let start = self.clone();
        self.nullable_bytes(what)?.ok_or_else(|| start.error(what, Problem::NegativeLength(-1)))
    }

    /// NULLABLE_BYTES, and RECORDS: `None` where the length is -1.
    pub(crate) fn nullable_bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>> {
        let start = self.clone();
        let length = self.i32(what)?;
        self.nullable(i64::from(length), &start, what)
    }

    /// The number of elements of an ARRAY that cannot be null. `least_bytes` is the size of the smallest element; a count that
    /// does not fit into what is left is an error, so it may be looped over and allocated for.
    pub(crate) fn array_length(&mut self, least_bytes: usize, what: &'static str) -> Result<usize> {
        let start = self.clone();
        self.nullable_array_length(least_bytes, what)?
            .ok_or_else(|| start.error(what, Problem::NegativeLength(-1)))
    }

    /// The same for an ARRAY that can be null: `None` where the length is -1.
    pub(crate) fn nullable_array_length(
        &mut self,
        least_bytes: usize,
        what: &'static str,
    ) -> Result<Option<usize>> {
        let start = self.clone();
        let length = self.i32(what)?;
        if length == -1 {
            return Ok(None);
        }
        let count =
            usize::try_from(length).map_err(|_| start.error(what, Problem::NegativeLength(length.into())))?;
        let needed = count as u64 * least_bytes.max(1) as u64;
        if needed > self.left() as u64 {
            return Err(DecodeError { at: start.at, ..self.truncated(needed, what) });
        }
        Ok(Some(count))
    }

    /// UNSIGNED_VARINT: at most five bytes.
    #[inline]
    pub(crate) fn unsigned_varint(&mut self, what: &'static str) -> Result<u32> {
        // One byte is by far the commonest in a record.
        if let Some(&byte) = self.rest().first()
            && byte < 0x80
        {
            self.at += 1;
            return Ok(u32::from(byte));
        }
        let start = self.at;
        let value = self.base_128(5, what)?;
        let too_large = Problem::OutOfRange { got: value as i64, least: 0, most: u32::MAX.into() };
        u32::try_from(value).map_err(|_| DecodeError { what, at: start, problem: too_large })
    }

    /// VARINT: zigzag, at most five bytes.
    #[inline]
    pub(crate) fn varint(&mut self, what: &'static str) -> Result<i32> {
        self.unsigned_varint(what).map(|value| (value >> 1) as i32 ^ -((value & 1) as i32))
    }

    /// UNSIGNED_VARLONG: at most ten bytes.
    #[inline]
    pub(crate) fn unsigned_varlong(&mut self, what: &'static str) -> Result<u64> {
        self.base_128(10, what)
    }

    /// VARLONG: zigzag, at most ten bytes.
    #[inline]
    pub(crate) fn varlong(&mut self, what: &'static str) -> Result<i64> {
        self.unsigned_varlong(what).map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Checks that nothing is left.
    pub fn end(&self, what: &'static str) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.error(what, Problem::LeftOver(self.left()))) }
    }

    /// Seven bits a byte, the lowest first, as long as the highest bit is set.
    fn base_128(&mut self, most_bytes: usize, what: &'static str) -> Result<u64> {
        let rest = self.rest();
        let mut value = 0_u64;
        for (index, &byte) in rest.iter().take(most_bytes).enumerate() {
            // The tenth byte has room for one bit.
            if index == 9 && byte > 1 {
                return Err(self.error(what, Problem::EndlessVarint));
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at += index + 1;
                return Ok(value);
            }
        }
        let problem = match rest.len() < most_bytes {
            true => Problem::Truncated { needed: rest.len() as u64 + 1, left: rest.len() },
            false => Problem::EndlessVarint,
        };
        Err(self.error(what, problem))
    }

    fn nullable(&mut self, length: i64, start: &Self, what: &'static str) -> Result<Option<&'a [u8]>> {
        if length == -1 {
            return Ok(None);
        }
        let length =
            usize::try_from(length).map_err(|_| start.error(what, Problem::NegativeLength(length)))?;
        self.take(length, what).map(Some)
    }

    #[cold]
    fn truncated(&self, needed: u64, what: &'static str) -> DecodeError {
        self.error(what, Problem::Truncated { needed, left: self.left() })
    }
}

#[cfg(test)]
mod tests;
