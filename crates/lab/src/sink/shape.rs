//! Checks that the lengths in a request can be true, before anything is allocated on their word.
//!
//! The decoder of `kafka-protocol` reserves as many elements as an array says that it has, so four hostile bytes could ask
//! for terabytes and end the process. The walk here follows the same layout, reads lengths only and stops at
//! the first that the frame cannot hold. Layouts follow Kafka's message definitions; a test makes bodies from every layout
//! in every version and has the decoder read them to the last byte.

use bytes::Buf;
use thiserror::Error;

/// The place from which the bytes of a request make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("request body: expected {expected} more bytes at a length field, got {got}")]
pub(super) struct ShapeError {
    expected: usize,
    got: usize,
}

/// The layout of one request.
#[derive(Debug)]
pub(super) struct Shape {
    /// The first version with compact lengths and tagged fields.
    pub(super) flexible_from: i16,
    /// The fields in the order of the wire.
    pub(super) fields: &'static [Part],
}

/// One field, or a run of fields of fixed length.
#[derive(Debug)]
pub(super) enum Part {
    /// So many bytes.
    Fixed(usize),
    /// A string, or null.
    Text,
    /// Bytes, or null.
    Blob,
    /// An array of structures, or null.
    List(&'static [Part]),
    /// An array of plain values, which carry no tagged fields of their own, or null.
    Plain(&'static Part),
    /// Only in these versions.
    In(i16, i16, &'static Part),
}

impl Shape {
    /// Walks `body`; the bytes behind the last field are not looked at.
    pub(super) fn check(&self, mut body: &[u8], version: i16) -> Result<(), ShapeError> {
        self.walk(&mut body, version)
    }

    fn walk(&self, body: &mut &[u8], version: i16) -> Result<(), ShapeError> {
        Walk { version, flexible: version >= self.flexible_from }.structure(self.fields, body)
    }
}

struct Walk {
    version: i16,
    flexible: bool,
}

impl Walk {
    fn structure(&self, parts: &[Part], body: &mut &[u8]) -> Result<(), ShapeError> {
        for part in parts {
            self.part(part, body)?;
        }
        if self.flexible {
            for _ in 0..varint(body)? {
                varint(body)?;
                let length = varint(body)?;
                take(body, length)?;
            }
        }
        Ok(())
    }

    fn part(&self, part: &Part, body: &mut &[u8]) -> Result<(), ShapeError> {
        match part {
            Part::Fixed(bytes) => take(body, *bytes).map(drop),
            Part::Text | Part::Blob => {
                let length = self.length(matches!(part, Part::Text), body)?;
                take(body, length).map(drop)
            }
            Part::List(fields) => {
                for _ in 0..self.length(false, body)? {
                    self.structure(fields, body)?;
                }
                Ok(())
            }
            Part::Plain(element) => {
                for _ in 0..self.length(false, body)? {
                    self.part(element, body)?;
                }
                Ok(())
            }
            Part::In(from, to, part) if (*from..=*to).contains(&self.version) => self.part(part, body),
            Part::In(..) => Ok(()),
        }
    }

    /// Null counts as empty. Every element takes a byte at least, so no count above what is left can be true.
    fn length(&self, text: bool, body: &mut &[u8]) -> Result<usize, ShapeError> {
        let length = match (self.flexible, text) {
            (true, _) => varint(body)?.saturating_sub(1),
            (false, true) => i32::from(take(body, 2)?.get_i16()).max(0) as usize,
            (false, false) => take(body, 4)?.get_i32().max(0) as usize,
        };
        if length > body.len() { Err(ShapeError { expected: length, got: body.len() }) } else { Ok(length) }
    }
}

fn take<'a>(body: &mut &'a [u8], bytes: usize) -> Result<&'a [u8], ShapeError> {
    let got = body.len();
    body.split_off(..bytes).ok_or(ShapeError { expected: bytes, got })
}

/// An unsigned varint of at most five bytes, read as the decoder reads it.
fn varint(body: &mut &[u8]) -> Result<usize, ShapeError> {
    let mut value = 0_u32;
    for place in 0..5 {
        let byte = take(body, 1)?[0];
        value |= u32::from(byte & 0x7F) << (place * 7);
        if byte < 0x80 {
            break;
        }
    }
    Ok(value as usize)
}

/// Bodies that have a shape, for the test that compares shapes with the decoder.
#[cfg(test)]
pub(super) mod made {
    use bytes::BufMut;

    use super::{Part, Shape};

    /// A body whose lengths and contents come from `entropy`, over and over. Nothing in it is null.
    pub(in super::super) fn body(shape: &Shape, version: i16, entropy: &[u8]) -> Vec<u8> {
        let mut maker = Maker { version, flexible: version >= shape.flexible_from, entropy, at: 0 };
        let mut body = Vec::new();
        maker.structure(shape.fields, &mut body);
        body
    }

    struct Maker<'a> {
        version: i16,
        flexible: bool,
        entropy: &'a [u8],
        at: usize,
    }

    impl Maker<'_> {
        fn draw(&mut self) -> u8 {
            self.at += 1;
            self.entropy[self.at % self.entropy.len()]
        }

        fn structure(&mut self, parts: &[Part], body: &mut Vec<u8>) {
            for part in parts {
                self.part(part, body);
            }
            if self.flexible {
                body.put_u8(0);
            }
        }

        fn part(&mut self, part: &Part, body: &mut Vec<u8>) {
            match part {
                Part::Fixed(bytes) => (0..*bytes).for_each(|_| body.put_u8(self.draw())),
                Part::Text | Part::Blob => {
                    let length = self.length(matches!(part, Part::Text), body);
                    (0..length).for_each(|_| body.put_u8(self.draw() & 0x7F));
                }
                Part::List(fields) => {
                    (0..self.length(false, body)).for_each(|_| self.structure(fields, body))
                }
                Part::Plain(element) => (0..self.length(false, body)).for_each(|_| self.part(element, body)),
                Part::In(from, to, part) if (*from..=*to).contains(&self.version) => self.part(part, body),
                Part::In(..) => {}
            }
        }

        fn length(&mut self, text: bool, body: &mut Vec<u8>) -> u8 {
            let length = self.draw() % 4;
            match (self.flexible, text) {
                (true, _) => body.put_u8(length + 1),
                (false, true) => body.put_i16(length.into()),
                (false, false) => body.put_i32(length.into()),
            }
            length
        }
    }
}
