//! Quotes in a CSV file that take in more than a cell: one that is never closed hides all the lines behind it, one that is closed by
//! the next line's hides a few.

use crate::error::FleetInputError;
use ::csv::{ByteRecord, Position};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The quotes of a file, record by record.
#[derive(Debug, Clone)]
pub(crate) struct Quotes<'a> {
    path: &'a Path,
    delimiter: u8,
    /// Fields of the header.
    fields: usize,
    /// Places of the columns that are read.
    used: Vec<usize>,
    /// The place where the last record begins, if it has several lines.
    several_lines: Option<Position>,
}

impl<'a> Quotes<'a> {
    /// `fields`: those of the header. `used`: the places of the columns that are read.
    pub(crate) fn new(path: &'a Path, delimiter: u8, fields: usize, used: Vec<usize>) -> Self {
        Quotes { path, delimiter, fields, used, several_lines: None }
    }

    /// Looks at a record. Cells of columns that are read have one line each; a cell of another column may have several, such as a note,
    /// but none that looks like a line of the file.
    ///
    /// # Errors
    ///
    /// [`FleetInputError::OpenQuote`], and what reading ends with.
    pub(crate) fn check(&mut self, record: &ByteRecord) -> Result<(), FleetInputError> {
        self.several_lines = None;
        if !record.as_slice().contains(&b'\n') {
            return Ok(());
        }
        self.several_lines = record.position().cloned();
        let mut breaks_before = 0;
        for (place, cell) in record.iter().enumerate() {
            let breaks = cell.iter().filter(|byte| **byte == b'\n').count() as u64;
            let mut later = cell.split(|byte| *byte == b'\n').skip(1);
            if breaks > 0 && (self.used.contains(&place) || later.any(|row| self.is_row(row))) {
                let begin = self.begin()?.map_or(0, |begin| begin.line);
                return Err(self.open(begin + breaks_before));
            }
            breaks_before += breaks;
        }
        Ok(())
    }

    /// Looks at the end of the file: every quote of the last record is closed there.
    ///
    /// # Errors
    ///
    /// [`FleetInputError::OpenQuote`], and what reading ends with.
    pub(crate) fn closed(&self) -> Result<(), FleetInputError> {
        let Some(Begin { mut file, line }) = self.begin()? else { return Ok(()) };
        let mut record = Vec::new();
        file.read_to_end(&mut record).map_err(|source| FleetInputError::opening(self.path, source))?;
        match left_open(&record, self.delimiter) {
            None => Ok(()),
            Some(lines) => Err(self.open(line + lines)),
        }
    }

    /// The place where the last record of several lines begins: its position is that of the empty lines before it, if there are any.
    fn begin(&self) -> Result<Option<Begin>, FleetInputError> {
        let Some(position) = &self.several_lines else { return Ok(None) };
        let begin = || {
            let mut file = BufReader::new(File::open(self.path)?);
            file.seek(SeekFrom::Start(position.byte()))?;
            let mut line = position.line();
            while let Some(byte @ (b'\n' | b'\r')) = file.fill_buf()?.first().copied() {
                line += u64::from(byte == b'\n');
                file.consume(1);
            }
            Ok(Begin { file, line })
        };
        begin().map(Some).map_err(|source| FleetInputError::opening(self.path, source))
    }

    /// True if a line has as many delimiters as the header.
    fn is_row(&self, row: &[u8]) -> bool {
        row.iter().filter(|byte| **byte == self.delimiter).count() + 1 == self.fields
    }

    fn open(&self, line: u64) -> FleetInputError {
        FleetInputError::OpenQuote { path: self.path.to_owned(), line }
    }
}

/// A file at the begin of a record.
struct Begin {
    file: BufReader<File>,
    line: u64,
}

/// The state of a parser of RFC 4180 in a cell.
enum In {
    Begin,
    Plain,
    Quoted,
    /// After a quote within quotes: it ends the cell, or is the first of two that stand for one.
    Quote,
}

/// The number of lines from the begin of a record to the quote that is not closed until the end of the text.
fn left_open(text: &[u8], delimiter: u8) -> Option<u64> {
    let (mut state, mut line, mut opened) = (In::Begin, 0, 0);
    for byte in text {
        state = match (state, *byte) {
            (In::Quoted, b'"') => In::Quote,
            (In::Quoted, _) => In::Quoted,
            (In::Quote, b'"') => In::Quoted,
            (In::Begin, b'"') => {
                opened = line;
                In::Quoted
            }
            (_, b'\n' | b'\r') => In::Begin,
            (_, byte) if byte == delimiter => In::Begin,
            _ => In::Plain,
        };
        line += u64::from(*byte == b'\n');
    }
    matches!(state, In::Quoted).then_some(opened)
}

#[cfg(test)]
mod tests {
    use super::left_open;

    #[test]
    fn a_quote_is_open_where_nothing_closes_it() {
        for closed in
            ["a,\"b\"\n", "a,\"b\nc\"", "a,\"b \"\"c\"\" d\",e\n", "a,5\" disk\nb", "\"a\"b\",c\n", ""]
        {
            assert_eq!(left_open(closed.as_bytes(), b','), None, "{closed:?}");
        }
        assert_eq!(left_open(b"a,\"b\nc\nd", b','), Some(0));
        assert_eq!(left_open(b"a,\"b\nc\",\"d\ne\n", b','), Some(1));
        assert_eq!(left_open(b"a,\"b\"\"\n", b','), Some(0));
    }
}
