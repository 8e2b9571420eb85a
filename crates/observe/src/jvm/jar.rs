//! One file out of a jar (PKWARE's APPNOTE.TXT, 4.3), found by the central directory. Not for jars above 4 GiB.

use flate2::read::DeflateDecoder;
use std::io::Read as _;

const END: &[u8; 4] = b"PK\x05\x06";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// Bytes of the end's record, and the longest comment after it.
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 65_535;

/// The content of the file of that name, of so many bytes at most.
///
/// # Errors
/// What is wrong with the jar, in words.
pub(super) fn file_in(jar: &[u8], name: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    let directory = central_directory(jar).ok_or("it is no jar")?;
    let entry = find(directory, name).ok_or_else(|| format!("it has no {name}"))?;
    let packed = packed(jar, &entry).ok_or_else(|| format!("it ends within {name}"))?;
    let mut content = Vec::new();
    let read = match entry.method {
        0 => packed.take(bytes_max + 1).read_to_end(&mut content),
        8 => DeflateDecoder::new(packed).take(bytes_max + 1).read_to_end(&mut content),
        other => return Err(format!("{name} is packed by method {other}")),
    };
    read.map_err(|error| format!("{name} cannot be unpacked: {error}"))?;
    match content.len() as u64 > bytes_max {
        true => Err(format!("{name} is larger than {bytes_max} bytes")),
        false => Ok(content),
    }
}

struct Entry {
    method: u16,
    packed_bytes: usize,
    offset: usize,
}

/// The bytes from the first entry of the central directory on.
fn central_directory(jar: &[u8]) -> Option<&[u8]> {
    let from = jar.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
    let tail = jar.get(from..)?;
    let end = tail.windows(END.len()).rposition(|bytes| bytes == END)?;
    jar.get(number32(tail, end + 16)?..)
}

fn find(mut directory: &[u8], name: &str) -> Option<Entry> {
    while directory.starts_with(CENTRAL) {
        let length = |at: usize| number16(directory, at).map(usize::from);
        let (name_bytes, others) = (length(28)?, length(30)? + length(32)?);
        if directory.get(46..46 + name_bytes)? == name.as_bytes() {
            return Some(Entry {
                method: number16(directory, 10)?,
                packed_bytes: number32(directory, 20)?,
                offset: number32(directory, 42)?,
            });
        }
        directory = directory.get(46 + name_bytes + others..)?;
    }
    None
}

fn packed<'a>(jar: &'a [u8], entry: &Entry) -> Option<&'a [u8]> {
    let local = jar.get(entry.offset..).filter(|local| local.starts_with(LOCAL))?;
    let begin = 30 + usize::from(number16(local, 26)?) + usize::from(number16(local, 28)?);
    local.get(begin..begin.checked_add(entry.packed_bytes)?)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JAR: &[u8] = include_bytes!("agent/agent.jar");
    const CLASS: &str = "PlumbBeans1.class";

    #[test]
    fn a_class_comes_out_of_a_jar_whole_and_no_larger_than_allowed() {
        let class = file_in(JAR, CLASS, 1 << 20).unwrap();
        assert_eq!(class[..4], [0xca, 0xfe, 0xba, 0xbe]);
        assert_eq!(file_in(JAR, CLASS, class.len() as u64).unwrap(), class);
        assert!(file_in(JAR, CLASS, class.len() as u64 - 1).unwrap_err().contains("larger than"));
    }

    #[test]
    fn what_is_no_jar_or_lacks_the_file_says_so() {
        assert_eq!(file_in(b"not a jar", CLASS, 9).unwrap_err(), "it is no jar");
        assert_eq!(file_in(JAR, "Other.class", 9).unwrap_err(), "it has no Other.class");
    }

    proptest! {
        #[test]
        fn a_jar_of_which_bytes_are_changed_or_missing_never_panics(
            changes in proptest::collection::vec((0..JAR.len(), any::<u8>()), 0..8),
            cut in 0..JAR.len(),
        ) {
            let mut jar = JAR.to_vec();
            for (at, byte) in changes {
                jar[at] = byte;
            }
            let _ = file_in(&jar, CLASS, 1 << 20);
            let _ = file_in(&jar[cut..], CLASS, 1 << 20);
            jar.truncate(cut);
            let _ = file_in(&jar, CLASS, 1 << 20);
        }
    }
}
