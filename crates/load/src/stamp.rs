//! The stamp that every record carries: who sent it, which one it is, when it was due and when it was sent.
//!
//! 48 bytes, little endian, at the front of the value; where the value is the user's own bytes or too small, in a header
//! named [`STAMP_HEADER`]. A checksum tells a damaged stamp from a foreign record.

pub use plumb_model::plan::STAMP_HEADER;

/// Bytes of a stamp.
pub const STAMP_BYTES: usize = 48;

const MAGIC: u32 = 0x424D_4C50; // "PLMB"

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Sent to see that a partition works.
    Probe,
    /// Sent before the measured part.
    WarmUp,
    /// Measured.
    Measured,
}

/// The producer and number of a record, and the times at which it was due and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The run and block that sent it.
    pub run: u64,
    /// The producer within the block.
    pub producer: u16,
    /// Its purpose.
    pub part: Part,
    /// Position among this producer's messages of this part, from 0.
    pub sequence: u64,
    /// The time at which it was due, on the run's clock.
    pub intended_ns: u64,
    /// The time at which it was handed to the client, on the run's clock.
    pub sent_ns: u64,
}

/// The stamp that a record's bytes carry, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// An intact stamp.
    Stamped(Stamp),
    /// It begins like a stamp, and its checksum is wrong.
    Damaged,
    /// No stamp.
    Foreign,
}

/// The place of the time of the send within a stamp.
pub(crate) const SENT_AT: usize = 32;
/// Set in the code of the part where another program writes the time of the send: the checksum leaves it out then.
const SENT_BY_ANOTHER: u64 = 8;

impl Stamp {
    /// Writes the stamp for another program, which writes the time of the send at [`SENT_AT`] of it.
    pub(crate) fn write_for_another(&self, out: &mut [u8]) {
        self.write_with(SENT_BY_ANOTHER, out);
    }

    /// Writes the stamp to the first [`STAMP_BYTES`] of `out`.
    #[inline]
    pub(crate) fn write(&self, out: &mut [u8]) {
        self.write_with(0, out);
    }

    #[inline]
    fn write_with(&self, by_another: u64, out: &mut [u8]) {
        let words = [
            u64::from(MAGIC) | u64::from(self.producer) << 32 | (part_code(self.part) | by_another) << 48,
            self.run,
            self.sequence,
            self.intended_ns,
            self.sent_ns,
        ];
        for (place, word) in out.chunks_exact_mut(8).zip(words.iter().chain([&checksum(checked(&words))])) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what a record begins with.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Reading {
        let mut words = [0u64; 6];
        if bytes.len() < STAMP_BYTES {
            return Reading::Foreign;
        }
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut eight = [0u8; 8];
            eight.copy_from_slice(chunk);
            *word = u64::from_le_bytes(eight);
        }
        if words[0] as u32 != MAGIC {
            return Reading::Foreign;
        }
        let Some(part) = part_of((words[0] >> 48) & !SENT_BY_ANOTHER) else { return Reading::Damaged };
        if checksum(checked(&words[..5])) != words[5] {
            return Reading::Damaged;
        }
        Reading::Stamped(Stamp {
            run: words[1],
            producer: (words[0] >> 32) as u16,
            part,
            sequence: words[2],
            intended_ns: words[3],
            sent_ns: words[4],
        })
    }
}

/// The words under the checksum.
#[inline]
fn checked(words: &[u64]) -> &[u64] {
    if words[0] >> 48 & SENT_BY_ANOTHER == 0 { words } else { &words[..words.len() - 1] }
}

fn part_code(part: Part) -> u64 {
    match part {
        Part::Probe => 1,
        Part::WarmUp => 2,
        Part::Measured => 3,
    }
}

fn part_of(code: u64) -> Option<Part> {
    match code {
        1 => Some(Part::Probe),
        2 => Some(Part::WarmUp),
        3 => Some(Part::Measured),
        _ => None,
    }
}

/// FNV-1a over words, mixed: enough to notice damage, five multiplications.
fn checksum(words: &[u64]) -> u64 {
    words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9FB2_1C65_1E98_DF25);
        mixed ^ (mixed >> 29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp() -> Stamp {
        Stamp {
            run: 0xDEAD_BEEF,
            producer: 7,
            part: Part::Measured,
            sequence: 42,
            intended_ns: 1,
            sent_ns: 2,
        }
    }

    #[test]
    fn a_stamp_reads_back_as_written() {
        let mut bytes = [0xFFu8; 100];
        stamp().write(&mut bytes);
        assert_eq!(Stamp::read(&bytes), Reading::Stamped(stamp()));
        assert_eq!(bytes[STAMP_BYTES], 0xFF);
    }

    #[test]
    fn another_program_writes_the_time_of_the_send_and_nothing_else() {
        let mut bytes = [0u8; STAMP_BYTES];
        stamp().write_for_another(&mut bytes);
        bytes[SENT_AT..SENT_AT + 8].copy_from_slice(&77u64.to_le_bytes());
        assert_eq!(Stamp::read(&bytes), Reading::Stamped(Stamp { sent_ns: 77, ..stamp() }));
        bytes[SENT_AT - 1] ^= 1;
        assert_eq!(Stamp::read(&bytes), Reading::Damaged);
    }

    proptest! {
        #[test]
        fn any_damaged_byte_after_the_magic_is_noticed(place in 4usize..STAMP_BYTES, flip in 1u8..=255) {
            let mut bytes = [0u8; STAMP_BYTES];
            stamp().write(&mut bytes);
            bytes[place] ^= flip;
            prop_assert_eq!(Stamp::read(&bytes), Reading::Damaged);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Stamp::read(&bytes);
        }
    }
}
