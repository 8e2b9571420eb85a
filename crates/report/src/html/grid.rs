//! A plain table: headings, rows, and footnotes on what is absent.

/// A table whose first column names the row.
#[derive(Default)]
pub(super) struct Grid {
    /// The subject of the table, for those who cannot see it.
    pub(super) caption: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) notes: Vec<String>,
    /// True if the cells after the first are numbers, to be aligned right.
    pub(super) numeric: bool,
}
