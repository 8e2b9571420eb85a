//! Names of the reasons for which the kernel drops packets: `enum skb_drop_reason` of its BTF. Their numbers change from
//! release to release. The format of the trace point names them too, but tracefs is not mounted everywhere.
//!
//! The form is in the kernel's documentation, Documentation/bpf/btf.rst. No crate gives the values of an enumeration by name.

use std::collections::BTreeMap;

/// The enumeration, and what its names begin with.
const ENUMERATION: &str = "skb_drop_reason";
const PREFIXES: [&str; 2] = ["SKB_DROP_REASON_", "SKB_"];

const MAGIC: u32 = 0xeb9f;
const KIND_ENUM: u32 = 6;

/// Number and short name (`NO_SOCKET`) of each reason; none where the BTF has no such enumeration or another form.
pub(super) fn reason_names(btf: &[u8]) -> Option<BTreeMap<u32, String>> {
    let header = |at: usize| word(btf, at);
    if header(0)? & 0xffff != MAGIC {
        return None;
    }
    let body = btf.get(header(4)? as usize..)?;
    let types = section(body, header(8)?, header(12)?)?;
    let strings = section(body, header(16)?, header(20)?)?;

    let mut at = 0;
    while at < types.len() {
        let (name, info) = (word(types, at)?, word(types, at + 4)?);
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        at += 12;
        if kind == KIND_ENUM && string(strings, name)? == ENUMERATION {
            return (0..members)
                .map(|member| {
                    let name = string(strings, word(types, at + 8 * member)?)?;
                    let short = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
                    Some((word(types, at + 8 * member + 4)?, short.to_owned()))
                })
                .collect();
        }
        at += trailer(kind, members)?;
    }
    None
}

/// Bytes after the three words that each type begins with; none for a kind that is not known.
fn trailer(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Structure, union, section of data, enumeration of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        // Enumeration, prototype.
        KIND_ENUM | 13 => 8 * members,
        // Pointer, forward, typedef, qualifiers, function, float, tag of a type.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

fn section(body: &[u8], offset: u32, length: u32) -> Option<&[u8]> {
    body.get(offset as usize..)?.get(..length as usize)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn string(strings: &[u8], at: u32) -> Option<&str> {
    let from = strings.get(at as usize..)?;
    let end = from.iter().position(|byte| *byte == 0)?;
    str::from_utf8(from.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A pointer, then the enumeration with two reasons.
    fn small_btf() -> Vec<u8> {
        let strings = b"\0skb_drop_reason\0SKB_CONSUMED\0SKB_DROP_REASON_NO_SOCKET\0";
        let types: [u32; 10] = [0, 2 << 24, 0, 1, 6 << 24 | 2, 4, 17, 1, 30, 3];
        let header: [u32; 6] =
            [0x1_eb9f, 24, 0, 4 * types.len() as u32, 4 * types.len() as u32, strings.len() as u32];
        let words = header.iter().chain(&types).flat_map(|word| word.to_ne_bytes());
        words.chain(strings.iter().copied()).collect()
    }

    #[test]
    fn reasons_have_their_numbers_and_short_names() {
        let names = reason_names(&small_btf()).unwrap();
        assert_eq!(names, BTreeMap::from([(1, "CONSUMED".to_owned()), (3, "NO_SOCKET".to_owned())]));
    }

    #[test]
    fn a_cut_off_btf_has_no_names() {
        let whole = small_btf();
        for length in 0..whole.len() {
            assert_eq!(reason_names(&whole[..length]), None, "of {length} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_fault(at in 0..200usize, byte: u8, more in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut btf = small_btf();
            if let Some(place) = btf.get_mut(at) {
                *place = byte;
            }
            reason_names(&btf);
            btf.splice(24.., more);
            reason_names(&btf);
        }
    }
}
