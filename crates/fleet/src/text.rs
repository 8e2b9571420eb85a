//! Whether a file is text at all, by its first bytes: packed files and UTF-16 would be read as lines without any sense.

use crate::error::FleetInputError;
use std::path::Path;

/// What a file's first bytes say, what that is, and what makes text of it.
const MARKS: [(&[u8], &str, &str); 8] = [
    (b"\x1f\x8b", "compressed by gzip", "unpack it first: gzip -dk FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard", "unpack it first: zstd -d FILE"),
    (b"BZh", "compressed by bzip2", "unpack it first: bzip2 -dk FILE"),
    (b"\xfd7zXZ\0", "compressed by xz", "unpack it first: xz -dk FILE"),
    (b"\x04\x22\x4d\x18", "compressed by LZ4", "unpack it first: lz4 -d FILE"),
    (b"PK\x03\x04", "a ZIP archive, as a spreadsheet is", "unpack it, or save the spreadsheet as CSV"),
    (b"\xff\xfe", UTF_16, FROM_UTF_16),
    (b"\xfe\xff", UTF_16, FROM_UTF_16),
];

const UTF_16: &str = "text in UTF-16";

const FROM_UTF_16: &str = "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW";

/// Looks at the begin of a file.
///
/// # Errors
///
/// [`FleetInputError::NotText`].
pub(crate) fn text(path: &Path, begin: &[u8]) -> Result<(), FleetInputError> {
    let marked =
        MARKS.iter().find(|(mark, ..)| begin.starts_with(mark)).map(|(_, what, mend)| (*what, *mend));
    // Text has no zero bytes; that of Latin letters in UTF-16 has one in two, marked or not.
    let header = &begin[..begin.len().min(64)];
    let zeros = header.iter().filter(|byte| **byte == 0).count();
    let found = marked.or(match zeros {
        0 => None,
        _ if zeros * 3 > header.len() => {
            Some((UTF_16, "write it as UTF-8: iconv -f UTF-16LE -t UTF-8 FILE > NEW"))
        }
        _ => Some(("no text, as it has zero bytes", "give files of CSV or Parquet")),
    });
    match found {
        None => Ok(()),
        Some((what, mend)) => Err(FleetInputError::NotText { path: path.to_owned(), what, mend }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(begin: &[u8]) -> Option<&'static str> {
        match text(Path::new("drops.csv"), begin) {
            Err(FleetInputError::NotText { what, .. }) => Some(what),
            _ => None,
        }
    }

    #[test]
    fn what_is_no_text_is_called_what_it_is() {
        let utf_16: Vec<u8> = "server,time\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16.iter().copied()).collect();
        for text in [utf_16, marked] {
            assert_eq!(said(&text), Some("text in UTF-16"));
        }
        assert_eq!(said(b"\x1f\x8b\x08\x00\x00"), Some("compressed by gzip"));
        assert_eq!(said(b"PK\x03\x04rest"), Some("a ZIP archive, as a spreadsheet is"));
        assert_eq!(said(b"server\0,time,metric,load,and so on"), Some("no text, as it has zero bytes"));
        for text in ["", "server,time\n", "\u{feff}server,time\n", "s\u{e9}rver;zeit\n"] {
            assert_eq!(said(text.as_bytes()), None, "{text:?}");
        }
    }
}
