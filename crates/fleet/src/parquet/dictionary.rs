//! A column of texts whose pages all refer to a dictionary: the place of each row's text in it, without making a text of each row.
//!
//! The library's reader hands out one text a row. In a fleet's files the same few thousand names come again and again, and that was two fifths
//! of the reading. Pages are the library's; what is read here is the hybrid of runs and packed numbers in them (Apache Parquet's
//! format, `Encodings.md`: RLE/bit-packing hybrid). A column with any other page is left to the library.

use ::parquet::basic::{Encoding, PageType, Type};
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use std::ops::Range;

/// The place of a row that has no text.
pub(super) const NULL: u32 = u32::MAX;

/// The column of one row group.
pub(super) struct DictionaryColumn {
    pages: Box<dyn PageReader>,
    nullable: bool,
    bytes: Vec<u8>,
    /// The place of each text in `bytes`.
    texts: Vec<Range<usize>>,
    page: Option<DataPage>,
    /// For each row under way 1 if it has a text, where not all have.
    there: Vec<u32>,
}

/// The rest of a page.
struct DataPage {
    rows: usize,
    /// 1 for a row with a text, 0 for one without; none where all have one.
    levels: Option<Hybrid>,
    places: Hybrid,
}

/// True if all of a column's pages refer to its dictionary. Where the file does not tell, it is taken not to be so.
pub(super) fn is_whole(chunk: &ColumnChunkMetaData) -> bool {
    let refers =
        |encoding: Encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    let text = chunk.column_type() == Type::BYTE_ARRAY && chunk.dictionary_page_offset().is_some();
    if let Some(mask) = chunk.page_encoding_stats_mask() {
        return text && mask.encodings().all(refers);
    }
    let data = |page: PageType| matches!(page, PageType::DATA_PAGE | PageType::DATA_PAGE_V2);
    chunk.page_encoding_stats().is_some_and(|pages| {
        text && pages.iter().filter(|page| data(page.page_type)).all(|page| refers(page.encoding))
    })
}

impl DictionaryColumn {
    /// `nullable`: whether a row may have no text.
    pub(super) fn new(pages: Box<dyn PageReader>, nullable: bool) -> Self {
        let (bytes, texts, page, there) = (Vec::new(), Vec::new(), None, Vec::new());
        DictionaryColumn { pages, nullable, bytes, texts, page, there }
    }

    /// The number of texts in the dictionary, as far as it was read.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The text at a place below [`DictionaryColumn::len`].
    pub(super) fn text(&self, place: u32) -> &[u8] {
        self.texts.get(place as usize).and_then(|range| self.bytes.get(range.clone())).unwrap_or_default()
    }

    /// The places of the next rows' texts: each below [`DictionaryColumn::len`], or [`NULL`].
    ///
    /// # Errors
    ///
    /// A column that is damaged, or ends before its row group does.
    pub(super) fn next(&mut self, rows: usize, places: &mut Vec<u32>) -> Result<(), ParquetError> {
        places.clear();
        while places.len() < rows {
            if self.page.as_ref().is_none_or(|page| page.rows == 0) && !self.open()? {
                return Err(ParquetError::EOF(format!(
                    "a column ends after {} of {rows} rows",
                    places.len()
                )));
            }
            let Some(page) = &mut self.page else { continue };
            let take = page.rows.min(rows - places.len());
            page.rows -= take;
            let begin = places.len();
            match &mut page.levels {
                None => page.places.read(take, places)?,
                Some(levels) => {
                    self.there.clear();
                    levels.read(take, &mut self.there)?;
                    let with_text = self.there.iter().filter(|level| **level > 0).count();
                    page.places.read(with_text, places)?;
                    spread(places, begin, &self.there);
                }
            }
            let known = self.texts.len() as u32;
            if places[begin..].iter().any(|place| *place >= known && *place != NULL) {
                return Err(damaged("a row refers to a text that the dictionary does not have"));
            }
        }
        Ok(())
    }

    /// Goes to the next page with rows; false when there is none.
    fn open(&mut self) -> Result<bool, ParquetError> {
        while let Some(page) = self.pages.get_next_page()? {
            match page {
                Page::DictionaryPage { buf, num_values, .. } => self.learn(&buf, num_values as usize)?,
                Page::DataPage { buf, num_values, def_level_encoding, .. } => {
                    if self.nullable && def_level_encoding != Encoding::RLE {
                        return Err(ParquetError::NYI(format!(
                            "levels of the encoding {def_level_encoding}"
                        )));
                    }
                    let levels = if self.nullable { length(&buf)? } else { 0 };
                    let begin = if self.nullable { 4 } else { 0 };
                    self.page =
                        Some(self.data(&buf, num_values as usize, begin..begin.saturating_add(levels))?);
                }
                Page::DataPageV2 { buf, num_values, def_levels_byte_len, rep_levels_byte_len, .. } => {
                    let begin = rep_levels_byte_len as usize;
                    let levels = begin..begin.saturating_add(def_levels_byte_len as usize);
                    self.page = Some(self.data(&buf, num_values as usize, levels)?);
                }
            }
            if self.page.as_ref().is_some_and(|page| page.rows > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A page whose levels are in `levels`; what it refers to is behind them, after one byte with the width.
    fn data(&self, buf: &[u8], rows: usize, levels: Range<usize>) -> Result<DataPage, ParquetError> {
        let short = || damaged("a page is shorter than it says");
        let (of_levels, rest) = (buf.get(levels.clone()).ok_or_else(short)?, buf.get(levels.end..));
        let places = match rest.and_then(<[u8]>::split_first) {
            Some((width, places)) if *width <= 32 => Hybrid::new(places, *width),
            Some(_) => return Err(damaged("places in a dictionary are wider than 32 bits")),
            // Without any text there is nothing to refer to.
            None => Hybrid::new(&[], 0),
        };
        Ok(DataPage { rows, levels: self.nullable.then(|| Hybrid::new(of_levels, 1)), places })
    }

    /// The dictionary: each text after its length.
    fn learn(&mut self, buf: &[u8], texts: usize) -> Result<(), ParquetError> {
        let short = || damaged("a dictionary is shorter than it says");
        self.bytes = buf.to_vec();
        self.texts.clear();
        let mut at = 0_usize;
        for _ in 0..texts {
            let begin: usize = at + 4;
            let end = begin.saturating_add(length(buf.get(at..).ok_or_else(short)?)?);
            if end > buf.len() {
                return Err(short());
            }
            self.texts.push(begin..end);
            at = end;
        }
        Ok(())
    }
}

/// The four bytes that tell how much follows.
fn length(buf: &[u8]) -> Result<usize, ParquetError> {
    let bytes = buf.first_chunk::<4>().ok_or_else(|| damaged("a page ends within a length"))?;
    Ok(u32::from_le_bytes(*bytes) as usize)
}

fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}

/// Moves the places from `begin` on, of the rows that have a text, to their rows; the others get none.
fn spread(places: &mut Vec<u32>, begin: usize, there: &[u32]) {
    let mut from = places.len();
    places.resize(begin + there.len(), NULL);
    for (row, level) in there.iter().enumerate().rev() {
        places[begin + row] = if *level > 0 {
            from -= 1;
            places[from]
        } else {
            NULL
        };
    }
}

/// Numbers of one width: runs of one number, and packed ones.
struct Hybrid {
    data: Vec<u8>,
    at: usize,
    width: u8,
    run: Run,
}

/// The rest of a run.
enum Run {
    Same {
        number: u32,
        left: usize,
    },
    /// `bit` is where the next one begins, counted from the begin of the data.
    Packed {
        bit: usize,
        left: usize,
    },
}

impl Hybrid {
    fn new(data: &[u8], width: u8) -> Self {
        // Eight more bytes let every number be loaded in one go.
        let data = data.iter().copied().chain([0; 8]).collect();
        Hybrid { data, at: 0, width, run: Run::Same { number: 0, left: 0 } }
    }

    /// Appends the next `count` numbers.
    fn read(&mut self, count: usize, into: &mut Vec<u32>) -> Result<(), ParquetError> {
        let end = into.len() + count;
        while into.len() < end {
            let wanted = end - into.len();
            match &mut self.run {
                Run::Same { left: 0, .. } | Run::Packed { left: 0, .. } => self.next_run()?,
                Run::Same { number, left } => {
                    let taken = wanted.min(*left);
                    *left -= taken;
                    into.resize(into.len() + taken, *number);
                }
                Run::Packed { bit, left } => {
                    let (taken, width) = (wanted.min(*left), usize::from(self.width));
                    *left -= taken;
                    let begin = *bit;
                    *bit += taken * width;
                    let mask = (1_u64 << width) - 1;
                    let data = &self.data;
                    into.extend((0..taken).map(|number| {
                        let bit = begin + number * width;
                        let eight = data.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>);
                        ((u64::from_le_bytes(*eight.unwrap_or(&[0; 8])) >> (bit % 8)) & mask) as u32
                    }));
                }
            }
        }
        Ok(())
    }

    fn next_run(&mut self) -> Result<(), ParquetError> {
        // Places of a dictionary with one text have no bits.
        let whole = self.data.len() - 8;
        let header = self.header(whole)?;
        let short = || damaged("a run of numbers is shorter than it says");
        let left = usize::try_from(header >> 1).map_err(|_| short())?;
        if header & 1 == 0 {
            let bytes = usize::from(self.width).div_ceil(8);
            let of_number = self.data.get(self.at..self.at + bytes).filter(|_| self.at + bytes <= whole);
            let number = of_number.ok_or_else(short)?;
            let number = number.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
            self.at += bytes;
            self.run = Run::Same { number, left };
        } else {
            let left = left.checked_mul(8).ok_or_else(short)?;
            let bytes = left.checked_mul(usize::from(self.width)).ok_or_else(short)? / 8;
            // The last run may be cut off behind its last number that counts.
            let there = bytes.min(whole - self.at);
            let left = if self.width == 0 { left } else { left.min(there * 8 / usize::from(self.width)) };
            self.run = Run::Packed { bit: self.at * 8, left };
            self.at += there;
        }
        match &self.run {
            Run::Same { left: 0, .. } | Run::Packed { left: 0, .. } if self.at >= whole => Err(short()),
            _ => Ok(()),
        }
    }

    /// A number in groups of seven bits, the lowest first.
    fn header(&mut self, whole: usize) -> Result<u64, ParquetError> {
        let mut header = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.data[..whole]
                .get(self.at)
                .ok_or_else(|| damaged("a page has fewer values than rows"))?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(header);
            }
        }
        Err(damaged("a run's header does not end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packs numbers as a writer does: so many of the same as a run, others eight at a time.
    fn hybrid(numbers: &[u32], width: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let varint = |mut number: u64, bytes: &mut Vec<u8>| {
            while number >= 0x80 {
                bytes.push((number & 0x7f) as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        };
        let mut at = 0;
        while at < numbers.len() {
            let same = numbers[at..].iter().take_while(|number| **number == numbers[at]).count();
            if same >= 8 {
                varint((same as u64) << 1, &mut bytes);
                bytes.extend(&numbers[at].to_le_bytes()[..usize::from(width).div_ceil(8)]);
                at += same;
                continue;
            }
            let eight: Vec<u32> = (0..8).map(|place| numbers.get(at + place).copied().unwrap_or(0)).collect();
            varint(1 << 1 | 1, &mut bytes);
            let mut packed = vec![0; usize::from(width)];
            for (place, number) in eight.iter().enumerate() {
                for bit in 0..usize::from(width) {
                    let to = place * usize::from(width) + bit;
                    packed[to / 8] |= u8::from(number >> bit & 1 == 1) << (to % 8);
                }
            }
            bytes.extend(packed);
            at += 8;
        }
        bytes
    }

    proptest! {
        #[test]
        fn numbers_come_out_as_they_went_in_however_they_are_asked_for(
            width in 1_u8..=32,
            runs in proptest::collection::vec((any::<u32>(), 1_usize..40), 1..20),
            step in 1_usize..50,
        ) {
            let mask = (1_u64 << width) - 1;
            let number = |number: u32| (u64::from(number) & mask) as u32;
            let numbers: Vec<u32> =
                runs.iter().flat_map(|(of, times)| std::iter::repeat_n(number(*of), *times)).collect();
            let mut hybrid = Hybrid::new(&hybrid(&numbers, width), width);
            let mut read = Vec::new();
            while read.len() < numbers.len() {
                hybrid.read(step.min(numbers.len() - read.len()), &mut read).unwrap();
            }
            prop_assert_eq!(read, numbers);
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(data in proptest::collection::vec(any::<u8>(), 0..60), width in 0_u8..=32) {
            let _ = Hybrid::new(&data, width).read(100, &mut Vec::new());
        }
    }

    #[test]
    fn rows_without_a_text_get_none_and_the_others_keep_their_order() {
        let mut places = vec![9, 4, 5];
        spread(&mut places, 1, &[0, 1, 0, 0, 1, 0]);
        assert_eq!(places, [9, NULL, 4, NULL, NULL, 5, NULL]);
    }
}
