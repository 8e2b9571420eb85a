//! The numbers of a record where they are short, as nearly all are: read with few steps, and without a word on what is wrong.
//!
//! Who uses it asks [`crate::read::Reader`] again where `None` comes back, for a longer number or an error.

/// A VARINT of at most three bytes at `at`, which it passes over.
#[inline(always)]
pub(super) fn short_varint(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let first = u32::from(*bytes.get(*at)?);
    if first < 0x80 {
        *at += 1;
        return Some(unzigzag(first));
    }
    let second = u32::from(*bytes.get(*at + 1)?);
    if second < 0x80 {
        *at += 2;
        return Some(unzigzag(first & 0x7f | second << 7));
    }
    let third = u32::from(*bytes.get(*at + 2)?);
    if third < 0x80 {
        *at += 3;
        return Some(unzigzag(first & 0x7f | (second & 0x7f) << 7 | third << 14));
    }
    None
}

/// Bytes with such a number before them, -1 for null.
#[inline(always)]
pub(super) fn short_sized<'a>(bytes: &'a [u8], at: &mut usize) -> Option<Option<&'a [u8]>> {
    let length = short_varint(bytes, at)?;
    if length == -1 {
        return Some(None);
    }
    let end = *at + usize::try_from(length).ok()?;
    let taken = bytes.get(*at..end)?;
    *at = end;
    Some(Some(taken))
}

#[inline(always)]
fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}
