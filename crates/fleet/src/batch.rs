//! Some rows of an input, by columns: what every reader of files makes, and all that `rows.rs` sees of them.

/// Rows that are passed on together.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// A name that is not there: an empty or null server, part, group, site or hardware.
pub(crate) const NO_NAME: u32 = u32::MAX;

/// A time that cannot be read.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// Names of a column, numbered in the order of their first appearance in a stream of batches.
#[derive(Debug, Default, Clone)]
pub(crate) struct NameColumn {
    /// Names that appear for the first time in this batch: their numbers follow those of the batches before.
    pub(crate) new: Vec<Box<str>>,
    /// The number of each row's name, or [`NO_NAME`].
    pub(crate) rows: Vec<u32>,
}

/// Some rows. All columns that are there have the same length.
#[derive(Debug, Default, Clone)]
pub(crate) struct Batch {
    /// Number of the first row: the line of a CSV file, the row of a Parquet file, from 1.
    pub(crate) first_row: u64,
    /// Rows are this many of [`Batch::first_row`]'s units apart at least: lines may be skipped, then this says where each is.
    pub(crate) lines: Vec<u64>,
    pub(crate) server: NameColumn,
    /// Milliseconds since 1970 (UTC), or [`NO_TIME`].
    pub(crate) time_ms: Vec<i64>,
    /// NaN where there is none.
    pub(crate) metric: Vec<f64>,
    /// NaN where there is none; empty when there is no such column.
    pub(crate) load: Vec<f64>,
    pub(crate) part: Option<NameColumn>,
    pub(crate) group: Option<NameColumn>,
    pub(crate) site: Option<NameColumn>,
    pub(crate) hardware: Option<NameColumn>,
    /// Rows that could not be understood at all, with where and why of the first.
    pub(crate) broken: u64,
    pub(crate) broken_example: String,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.time_ms.len()
    }

    /// Line or row number of a row.
    pub(crate) fn place(&self, row: usize) -> u64 {
        match self.lines.get(row) {
            Some(line) => *line,
            None => self.first_row + row as u64,
        }
    }
}
