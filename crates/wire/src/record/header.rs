//! The headers of a record, read only when they are asked for.

use super::short::short_sized;
use crate::read::{DecodeError, Problem, Reader, Result};

/// One header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderView<'a> {
    /// Its name; Kafka's clients write UTF-8.
    pub name: &'a [u8],
    /// Its value, which may be null.
    pub value: Option<&'a [u8]>,
}

/// Walks over the headers of a record. After an error nothing more comes; bytes behind the last header are an error.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    reader: Reader<'a>,
    left: u32,
    ended: bool,
}

/// The least that a header takes: two lengths.
pub(super) const LEAST_BYTES: usize = 2;

impl<'a> Headers<'a> {
    pub(super) fn new(bytes: &'a [u8], count: u32) -> Self {
        Self { reader: Reader::new(bytes), left: count, ended: false }
    }

    /// The next header if its lengths are short and it is right.
    #[inline]
    fn usual(&mut self) -> Option<HeaderView<'a>> {
        let rest = self.reader.rest();
        let mut at = 0;
        let name = short_sized(rest, &mut at)??;
        let value = short_sized(rest, &mut at)?;
        self.reader.skip(at, "header").ok()?;
        Some(HeaderView { name, value })
    }

    /// The next header, or what is wrong with it.
    #[cold]
    fn read(&mut self) -> Result<HeaderView<'a>> {
        let length = self.reader.varint("header name length")?;
        let length = usize::try_from(length)
            .map_err(|_| self.reader.error("header name length", Problem::NegativeLength(length.into())))?;
        let name = self.reader.take(length, "header name")?;
        let value = sized(&mut self.reader, "header value")?;
        Ok(HeaderView { name, value })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Result<HeaderView<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.left == 0 {
            self.ended = true;
            return self.reader.end("headers").err().map(Err);
        }
        self.left -= 1;
        if let Some(header) = self.usual() {
            return Some(Ok(header));
        }
        let header = self.read();
        self.ended = header.is_err();
        Some(header)
    }
}

/// Bytes with a variable length before them, -1 for null.
#[inline]
pub(super) fn sized<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<Option<&'a [u8]>> {
    let length = reader.varint(what)?;
    match usize::try_from(length) {
        Ok(length) => reader.take(length, what).map(Some),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(reader.error(what, Problem::NegativeLength(length.into()))),
    }
}
