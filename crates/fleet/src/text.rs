//! A check that a file is text at all, by its first bytes: packed files and UTF-16 would be read as lines without any sense. Also
//! the parts of text that all readers of CSV need: delimiter, line numbers, byte order mark.

use crate::error::FleetInputError;
use ::csv::ByteRecord;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The first bytes of a kind of file, its name, and the command that makes text of it.
const MARKS: [(&[u8], &str, &str); 9] = [
    (b"\x1f\x8b", "compressed by gzip", "unpack it first: gzip -dk FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard", "unpack it first: zstd -d FILE"),
    (b"BZh", "compressed by bzip2", "unpack it first: bzip2 -dk FILE"),
    (b"\xfd7zXZ\0", "compressed by xz", "unpack it first: xz -dk FILE"),
    (b"\x04\x22\x4d\x18", "compressed by LZ4", "unpack it first: lz4 -d FILE"),
    (b"PK\x03\x04", "a ZIP archive, as a spreadsheet is", "unpack it, or save the spreadsheet as CSV"),
    (
        b"PARE",
        "a Parquet file whose footer is encrypted",
        "write a copy without encryption: pyarrow.parquet.read_table(FILE, decryption_properties=...), then write_table",
    ),
    (b"\xff\xfe", UTF_16, FROM_UTF_16),
    (b"\xfe\xff", UTF_16, FROM_UTF_16),
];

const UTF_16: &str = "text in UTF-16";

const FROM_UTF_16: &str = "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW";

/// A header is not longer than this.
const HEADER_LIMIT_BYTES: u64 = 1 << 20;

const DELIMITERS: [u8; 3] = *b",;\t";

/// Looks at the begin of a file.
///
/// # Errors
///
/// [`FleetInputError::NotText`].
fn check_text(path: &Path, begin: &[u8]) -> Result<(), FleetInputError> {
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

/// The line that a record begins in. The reader's own figure is that of the empty lines before it, if there are any; `next` is the
/// line after the record.
pub(crate) fn line_of(record: &ByteRecord, next: u64) -> u64 {
    let from = record.position().map_or(0, ::csv::Position::line);
    let lines = next.saturating_sub(from);
    match lines {
        0 | 1 => from,
        _ => {
            let inside = record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
            from + (lines - 1).saturating_sub(inside)
        }
    }
}

/// The delimiter that the first line has most of: a comma, a semicolon or a tab.
///
/// # Errors
///
/// What reading the file's begin ends with, and a file that is no text.
pub fn delimiter(path: &Path, file: &mut BufReader<File>) -> Result<u8, FleetInputError> {
    let shown = file.fill_buf().map_err(|source| FleetInputError::Open { path: path.to_owned(), source })?;
    check_text(path, shown)?;
    let shown = &shown[..shown.len().min(HEADER_LIMIT_BYTES as usize)];
    let header = shown.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
    // Of equals, the first of the list: a file with one column has none at all.
    Ok(DELIMITERS.into_iter().rev().max_by_key(count).unwrap_or(b','))
}

/// A header's name without the mark that some programs put before a file in UTF-8.
pub(crate) fn without_mark(name: &str) -> String {
    name.trim_start_matches('\u{feff}').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(begin: &[u8]) -> Option<&'static str> {
        match check_text(Path::new("drops.csv"), begin) {
            Err(FleetInputError::NotText { what, .. }) => Some(what),
            _ => None,
        }
    }

    #[test]
    fn what_is_no_text_is_called_what_it_is() {
        let utf_16: Vec<u8> = "server,time\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16.iter().copied()).collect();
        for text in [utf_16, marked] {
            assert_eq!(kind_of(&text), Some("text in UTF-16"));
        }
        assert_eq!(kind_of(b"\x1f\x8b\x08\x00\x00"), Some("compressed by gzip"));
        assert_eq!(kind_of(b"PARE\0\0\0\0"), Some("a Parquet file whose footer is encrypted"));
        assert_eq!(kind_of(b"PK\x03\x04rest"), Some("a ZIP archive, as a spreadsheet is"));
        assert_eq!(kind_of(b"server\0,time,metric,load,and so on"), Some("no text, as it has zero bytes"));
        for text in ["", "server,time\n", "\u{feff}server,time\n", "s\u{e9}rver;zeit\n"] {
            assert_eq!(kind_of(text.as_bytes()), None, "{text:?}");
        }
    }
}
