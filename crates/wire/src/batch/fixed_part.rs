//! The checksum of the part of a value that stays the same from one send to the next, worked out only once.
//!
//! A CRC is linear: that of two pieces one after the other follows from the CRC of each and the length of the second (crc32c's
//! `combine` does that, for any length, in microseconds). Here the length is always the same, so that the step is four look-ups.

/// Shorter ones are read faster than stepped over.
const SHORTEST_BYTES: usize = 256;

/// The part of all values of a batch that is never patched: everything behind their first bytes.
pub struct FixedPart {
    /// Bytes at the beginning of each value that may be patched.
    patched_bytes: usize,
    /// Number of bytes that follow it.
    length: usize,
    /// The CRC after `length` more bytes of zero effect, by each byte of the CRC before.
    over: [[u32; 256]; 4],
}

impl std::fmt::Debug for FixedPart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "FixedPart({} bytes behind {})", self.length, self.patched_bytes)
    }
}

impl FixedPart {
    /// The fixed part of values of `value_bytes`, of which the first `patched_bytes` may be written over later. None where they
    /// are so short that nothing is saved.
    pub fn after(patched_bytes: usize, value_bytes: usize) -> Option<Self> {
        let length = value_bytes.checked_sub(patched_bytes)?;
        if length < SHORTEST_BYTES {
            return None;
        }
        let mut over = [[0; 256]; 4];
        for (at, table) in over.iter_mut().enumerate() {
            for bit in 0..8 {
                let of_bit = crc32c::crc32c_combine(1 << (8 * at + bit), 0, length);
                for byte in (0..256).filter(|byte| byte >> bit & 1 == 1) {
                    table[byte] ^= of_bit;
                }
            }
        }
        Some(Self { patched_bytes, length, over })
    }

    pub(super) fn patched_bytes(&self) -> usize {
        self.patched_bytes
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The checksum of the fixed part of a value; none where the value has another length.
    pub(super) fn checksum(&self, value: &[u8]) -> Option<u32> {
        let fixed = value.get(self.patched_bytes..)?;
        (fixed.len() == self.length).then(|| crc32c::crc32c(fixed))
    }

    /// The checksum of what has the checksum `before` and a fixed part behind it.
    #[inline]
    pub(super) fn append(&self, before: u32, fixed: u32) -> u32 {
        let [first, second, third, fourth] = before.to_le_bytes();
        let over = self.over[0][usize::from(first)]
            ^ self.over[1][usize::from(second)]
            ^ self.over[2][usize::from(third)]
            ^ self.over[3][usize::from(fourth)];
        over ^ fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_checksum_over_two_pieces_is_that_of_both_read_at_once(
            before in prop::collection::vec(any::<u8>(), 0..300),
            patched in 0_usize..64,
            value in prop::collection::vec(any::<u8>(), 320..5_000),
        ) {
            let fixed = FixedPart::after(patched, value.len()).unwrap();
            let start = crc32c::crc32c_append(crc32c::crc32c(&before), &value[..patched]);
            let appended = fixed.append(start, fixed.checksum(&value).unwrap());
            prop_assert_eq!(appended, crc32c::crc32c(&[before, value].concat()));
        }
    }

    #[test]
    fn values_of_another_length_have_no_settled_part() {
        let fixed = FixedPart::after(40, 1_000).unwrap();
        assert!(fixed.checksum(&[0; 1_000]).is_some());
        assert!(fixed.checksum(&[0; 999]).is_none() && fixed.checksum(&[0; 39]).is_none());
    }

    #[test]
    fn what_is_short_is_not_worth_it_and_what_is_shorter_than_the_patch_neither() {
        assert!(FixedPart::after(40, 40 + SHORTEST_BYTES).is_some());
        assert!(FixedPart::after(40, 39 + SHORTEST_BYTES).is_none());
        assert!(FixedPart::after(40, 39).is_none());
    }
}
