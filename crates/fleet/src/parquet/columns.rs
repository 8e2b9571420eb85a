//! One column of one row group, read piece by piece; and columns of names.

use super::dictionary::{self, DictionaryColumn};
use crate::batch::{NO_NAME, NameColumn};
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::schema::types::ColumnDescriptor;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

pub(super) type Descriptor = Arc<ColumnDescriptor>;

/// A column's description with its reader.
pub(super) struct Opened {
    pub(super) descriptor: Descriptor,
    pub(super) reader: ColumnReader,
}

/// A type as a person calls it.
pub(super) fn type_name(column: &Descriptor) -> String {
    if let Some(Decimal { precision, scale }) = decimal(column) {
        return format!("DECIMAL({precision}, {scale})");
    }
    match column.logical_type_ref() {
        Some(logical) => format!("{logical:?}"),
        None => format!("{:?}", column.physical_type()),
    }
}

/// A number with a fixed number of digits, some of them behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    /// All its digits.
    pub(super) precision: i32,
    /// Those behind the point.
    pub(super) scale: i32,
}

/// The scale and width of a column of decimals. Older programs write that as the converted type alone.
pub(super) fn decimal(column: &Descriptor) -> Option<Decimal> {
    match column.logical_type_ref() {
        Some(LogicalType::Decimal(it)) => Some(Decimal { precision: it.precision, scale: it.scale }),
        _ if column.converted_type() == ConvertedType::DECIMAL => {
            Some(Decimal { precision: column.type_precision(), scale: column.type_scale() })
        }
        _ => None,
    }
}

/// True if the stored values stand for themselves: those of decimals only where they are whole numbers of a machine.
pub(super) fn stands_for_itself(column: &Descriptor) -> bool {
    let whole = matches!(column.physical_type(), Type::INT32 | Type::INT64);
    decimal(column).is_none_or(|decimal| whole && decimal.scale == 0)
}

/// A column of one physical type.
pub(super) struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    nullable: bool,
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Column<T> {
    pub(super) fn new(Opened { descriptor, reader }: Opened) -> Self {
        Column {
            reader: get_typed_column_reader(reader),
            nullable: descriptor.max_def_level() > 0,
            levels: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The next rows, `None` where there is null.
    ///
    /// # Errors
    ///
    /// A column that is damaged, or ends before its row group does.
    pub(super) fn each(
        &mut self,
        rows: usize,
        mut take: impl FnMut(Option<&T::T>),
    ) -> Result<(), ParquetError> {
        self.levels.clear();
        self.values.clear();
        let (read, _, _) = self.reader.read_records(rows, Some(&mut self.levels), None, &mut self.values)?;
        if read < rows {
            return Err(ParquetError::EOF(format!("a column ends after {read} of {rows} rows")));
        }
        if !self.nullable {
            self.values.iter().for_each(|value| take(Some(value)));
            return Ok(());
        }
        let mut values = self.values.iter();
        for level in &self.levels {
            take(if *level > 0 { values.next() } else { None });
        }
        Ok(())
    }
}

/// A column of names, each numbered at its first appearance.
pub(super) struct Names {
    column: NamesColumn,
    known: KnownNames,
}

enum NamesColumn {
    Dictionary(Box<ByDictionary>),
    Text(Column<ByteArrayType>),
    Int32(Column<Int32Type>),
    Int64(Column<Int64Type>),
}

impl Names {
    pub(super) fn fit(column: &Descriptor) -> bool {
        let plain = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let name = matches!(column.physical_type(), Type::BYTE_ARRAY | Type::INT32 | Type::INT64);
        plain && name && stands_for_itself(column)
    }

    /// The column at a place of a row group.
    pub(super) fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self, ParquetError> {
        let descriptor = group.metadata().schema_descr().column(place);
        if dictionary::is_whole(group.metadata().column(place)) {
            let nullable = descriptor.max_def_level() > 0;
            let column = DictionaryColumn::new(group.get_column_page_reader(place)?, nullable);
            let by_dictionary = ByDictionary { column, numbers: Vec::new(), met: 0 };
            return Ok(Names {
                column: NamesColumn::Dictionary(Box::new(by_dictionary)),
                known: KnownNames::default(),
            });
        }
        Names::new(Opened { descriptor, reader: group.get_column_reader(place)? })
    }

    fn new(opened: Opened) -> Result<Self, ParquetError> {
        let column = match opened.descriptor.physical_type() {
            Type::BYTE_ARRAY => NamesColumn::Text(Column::new(opened)),
            Type::INT32 => NamesColumn::Int32(Column::new(opened)),
            Type::INT64 => NamesColumn::Int64(Column::new(opened)),
            other => return Err(ParquetError::NYI(format!("names of the type {other:?}"))),
        };
        Ok(Names { column, known: KnownNames::default() })
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<NameColumn, ParquetError> {
        let mut names = NameColumn { new: Vec::new(), rows: Vec::with_capacity(rows) };
        let known = &mut self.known;
        match &mut self.column {
            NamesColumn::Dictionary(column) => column.next(rows, &mut names)?,
            NamesColumn::Text(column) => column.each(rows, |name| {
                let number = name.map_or(NO_NAME, |name| known.number_of_shared(name, &mut names.new));
                names.rows.push(number);
            })?,
            NamesColumn::Int32(column) => column.each(rows, |name| {
                let number = name.map(|name| known.number(name.to_string().as_bytes(), &mut names.new));
                names.rows.push(number.unwrap_or(NO_NAME));
            })?,
            NamesColumn::Int64(column) => column.each(rows, |name| {
                let number = name.map(|name| known.number(name.to_string().as_bytes(), &mut names.new));
                names.rows.push(number.unwrap_or(NO_NAME));
            })?,
        }
        Ok(names)
    }
}

/// Names by their places in the row group's dictionary.
struct ByDictionary {
    column: DictionaryColumn,
    /// The number of each of the dictionary's names; [`UNMET`] for one that no row had yet.
    numbers: Vec<u32>,
    /// Names that rows had so far.
    met: u32,
}

/// No name is numbered so high: a dictionary is smaller.
const UNMET: u32 = NO_NAME - 1;

impl ByDictionary {
    fn next(&mut self, rows: usize, names: &mut NameColumn) -> Result<(), ParquetError> {
        self.column.next(rows, &mut names.rows)?;
        self.numbers.resize(self.column.len(), UNMET);
        let mut at = 0;
        // Soon all names are met, and then nothing else is done for a row.
        while let Some(unmet) = self.number(&mut names.rows[at..]) {
            at += unmet;
            self.meet(names.rows[at], &mut names.new);
        }
        Ok(())
    }

    /// Places into numbers, up to the first name that no row had yet.
    fn number(&self, rows: &mut [u32]) -> Option<usize> {
        for (at, row) in rows.iter_mut().enumerate() {
            let number = self.numbers.get(*row as usize).copied().unwrap_or(NO_NAME);
            if number == UNMET {
                return Some(at);
            }
            *row = number;
        }
        None
    }

    /// Numbers a name at its first appearance. A dictionary has each once; two that differ in blanks are the same server's all the same.
    #[cold]
    fn meet(&mut self, place: u32, new: &mut Vec<Box<str>>) {
        let name = self.column.text(place).trim_ascii();
        let number = if name.is_empty() { NO_NAME } else { self.met };
        if number != NO_NAME {
            self.met += 1;
            new.push(String::from_utf8_lossy(name).into());
        }
        self.numbers[place as usize] = number;
    }
}

/// Byte arrays that are remembered by where they lie: those of a dictionary, and of pages until there are too many.
const SHARED_LIMIT: usize = 1 << 18;

/// Names met so far in a row group.
#[derive(Default)]
struct KnownNames {
    numbers: HashMap<Box<[u8]>, u32>,
    /// Values that come from a dictionary share its memory, so that most rows are known by their address alone. The arrays
    /// are kept, because the address of one that is gone may be another's.
    shared: HashMap<(usize, usize), (ByteArray, u32), BuildHasherDefault<AddressHasher>>,
}

impl KnownNames {
    fn number_of_shared(&mut self, name: &ByteArray, new: &mut Vec<Box<str>>) -> u32 {
        let bytes = name.data();
        let address = (bytes.as_ptr().addr(), bytes.len());
        if let Some((_, number)) = self.shared.get(&address) {
            return *number;
        }
        let number = self.number(bytes, new);
        if self.shared.len() >= SHARED_LIMIT {
            self.shared.clear();
        }
        self.shared.insert(address, (name.clone(), number));
        number
    }

    fn number(&mut self, bytes: &[u8], new: &mut Vec<Box<str>>) -> u32 {
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return NO_NAME;
        }
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(bytes.into(), number);
        new.push(String::from_utf8_lossy(bytes).into());
        number
    }
}

/// Spreads addresses; nobody chooses them to collide.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        // Fibonacci hashing: 2^64 over the golden ratio. The table takes its place from the upper and the lower bits.
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
