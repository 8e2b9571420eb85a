//! The errors of a fleet's figures, whose fault each is, and what to do next.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Figures that cannot be read, or not be believed.
#[derive(Debug, Error)]
pub enum FleetInputError {
    /// Not there, or not readable for this user.
    #[error("cannot read {path}")]
    Open {
        /// As given.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// No file was named.
    #[error("expected at least one file of samples, got none")]
    NoFiles,
    /// A column that was asked for.
    #[error("{path} has no column {column:?} for the {role}; it has {}", listed(columns))]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// The purpose of the column.
        role: &'static str,
        /// The columns that are there.
        columns: Vec<String>,
    },
    /// A column that every groups file has.
    #[error("{path} has no column {column:?} for the {column}; it has {}", listed(columns))]
    NoGroupsColumn {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// The columns that are there.
        columns: Vec<String>,
    },
    /// Two columns of one name: the meant one is not known.
    #[error("{path} has the column {column:?} {count} times; expected once")]
    RepeatedColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The number of columns of that name.
        count: usize,
    },
    /// A column whose values cannot be what it is for.
    #[error("{path}: the column {column:?} has the type {got}; expected {expected} for the {role}")]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The purpose of the column.
        role: &'static str,
        /// The type that it would have to have.
        expected: &'static str,
        /// The type that it has.
        got: String,
    },
    /// Not in the file format that its first bytes promise, or damaged.
    #[error("{path} is not a whole {format} file: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// `CSV` or `Parquet`.
        format: &'static str,
        /// The reader's message.
        reason: String,
    },
    /// Packed, or in another encoding of text.
    #[error("{path} is {what}, and is not read as such", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The kind of file that its first bytes tell.
        what: &'static str,
        /// The command that makes text of it.
        mend: &'static str,
    },
    /// A Parquet column that needs a library that is not here.
    #[error("{path}: the column {column} is compressed with {compression}, which is not read", path = path.display())]
    Compression {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// As the format calls it.
        compression: String,
    },
    /// A line of a CSV file has more fields than its header: which of them are meant is not known.
    #[error("{path}:{line}: {fields} fields, where the header has {expected}", path = path.display())]
    MoreFields {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Its fields.
        fields: usize,
        /// Those of the header.
        expected: usize,
    },
    /// A quote in a CSV file that takes in the lines behind it.
    #[error("{path}:{line}: a quote opens here and is not closed in its line, so the lines behind it are no rows", path = path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// The line in which it opens.
        line: u64,
    },
    /// A Parquet column that only who has its key can read.
    #[error("{path}: the column {column} is encrypted, and columns are read without keys", path = path.display())]
    Encrypted {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// So many rows are unusable that the file is probably not what the flags say.
    #[error("{unusable} of {rows} rows cannot be used, such as {example}; expected at most 5 %")]
    TooManyUnusable {
        /// Rows that are unusable.
        unusable: u64,
        /// All rows.
        rows: u64,
        /// The place and the reason.
        example: String,
    },
    /// A server cannot be in both groups.
    #[error(
        "the server {server:?} is in both groups: {first:?} ({first_place}) and {second:?} ({second_place})"
    )]
    BothGroups {
        /// The server.
        server: String,
        /// The group's name where it was met first.
        first: String,
        /// The place.
        first_place: String,
        /// The other group's name.
        second: String,
        /// The place.
        second_place: String,
    },
    /// A group that nobody is in.
    #[error(
        "no server is in the group {group:?} according to {place}; the groups there are {}",
        listed(found)
    )]
    NoSuchGroup {
        /// Its name.
        group: String,
        /// The groups file, column or label.
        place: String,
        /// The names that there are.
        found: Vec<String>,
    },
    /// A group whose servers have no samples.
    #[error(
        "no server of the group {group:?} has a sample: expected such as {expected:?}, got such as {got:?}"
    )]
    GroupWithoutSamples {
        /// Its name.
        group: String,
        /// A server that it should have.
        expected: String,
        /// A server that has samples.
        got: String,
    },
    /// Nothing usable.
    #[error("there is no usable sample of the {quantity}: {reason}")]
    NoSamples {
        /// `metric` or `load`.
        quantity: &'static str,
        /// The text that was there instead.
        reason: String,
    },
    /// A state that was called a counter.
    #[error(
        "the {quantity} falls in {falls} of {steps} steps, such as {example}: expected a counter, which only falls at a restart"
    )]
    NotACounter {
        /// `metric` or `load`.
        quantity: &'static str,
        /// Falls.
        falls: u64,
        /// Steps between two samples.
        steps: u64,
        /// The place.
        example: String,
    },
    /// Nobody said what a sample is, and it looks like a counter.
    #[error(
        "the {quantity} looks like a counter: it rises and hardly ever falls on {counting} of {all} servers; say {name}:counter if it \
         counts since the start of a process, or {name}:increments if each row has what happened in it"
    )]
    LooksLikeACounter {
        /// `metric` or `load`.
        quantity: &'static str,
        /// Its column.
        name: String,
        /// Series that hardly ever fall.
        counting: usize,
        /// Series that move at all.
        all: usize,
    },
    /// Rows of several parts of a server, such as its interfaces, under one name.
    #[error(
        "{repeated} of {rows} rows have a server and time that an earlier one has, with other values, such as {example}; expected one row \
         for each"
    )]
    SeveralRows {
        /// Rows that are not the first of their server and time.
        repeated: u64,
        /// All rows of the servers.
        rows: u64,
        /// A server with a time.
        example: String,
    },
    /// Nobody knows what the percentile of two parts together is.
    #[error(
        "the column {column:?} names parts whose {quantity}s are added up, and levels have no sum; expected counts"
    )]
    PartsOfLevel {
        /// `metric` or `load`.
        quantity: &'static str,
        /// The parts' column.
        column: String,
    },
    /// Intervals without samples by design.
    #[error(
        "samples are {step_s} s apart, intervals {interval_s} s long; expected at least one sample an interval"
    )]
    StepLongerThanInterval {
        /// Usual time between samples.
        step_s: f64,
        /// Length of an interval.
        interval_s: i64,
    },
    /// No interval is whole.
    #[error("the samples ({first} to {last}) cover no whole interval")]
    NoWholeInterval {
        /// The first sample.
        first: String,
        /// The last sample.
        last: String,
    },
    /// More than fits.
    #[error(
        "{servers} servers and {intervals} intervals ({first} to {last}) are more than {limit} values; expected fewer"
    )]
    TooLarge {
        /// Servers.
        servers: usize,
        /// Intervals.
        intervals: usize,
        /// The first sample.
        first: String,
        /// The last.
        last: String,
        /// The most that are kept.
        limit: usize,
    },
    /// The metrics server.
    #[error(transparent)]
    Prometheus(#[from] crate::prometheus::error::PrometheusError),
    /// The user asked for an end.
    #[error("stopped before everything was read")]
    Stopped,
}

/// Names for a message, not more than a person reads.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl FleetInputError {
    /// A file that cannot be opened or read.
    pub(crate) fn opening(path: &Path, source: std::io::Error) -> Self {
        FleetInputError::Open { path: path.to_owned(), source }
    }
}

impl HasFault for FleetInputError {
    fn fault(&self) -> Fault {
        match self {
            FleetInputError::Open { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => Fault::User,
                _ => Fault::Environment,
            },
            FleetInputError::Prometheus(error) => error.fault(),
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            FleetInputError::Open { .. } => "check the path and who may read it",
            FleetInputError::NoFiles => "name the CSV or Parquet files with the samples",
            FleetInputError::NoColumn { .. } => {
                "say which column is which: --server-column, --time-column, --metric, --load, --group-column"
            }
            FleetInputError::NoGroupsColumn { .. } => {
                "a groups file has the columns server and group and, if there are any, site and hardware, parted by commas, semicolons or tabs"
            }
            FleetInputError::RepeatedColumn { .. } => {
                "rename one of them, or leave the other out of the file"
            }
            FleetInputError::ColumnType { .. } => {
                "name another column, or write the file with this one converted"
            }
            FleetInputError::Damaged { .. } => "was it written to its end, and copied whole?",
            FleetInputError::NotText { mend, .. } => mend,
            FleetInputError::Compression { .. } => {
                "write it with Zstandard, Snappy, gzip, LZ4 or without compression"
            }
            FleetInputError::MoreFields { .. } => {
                "is a number written with a thousands separator that is also the delimiter? Write it without: 1182, not 1,182"
            }
            FleetInputError::OpenQuote { .. } => {
                "close it in its line, or write \"\" for a quote that belongs to a cell; a cell of several lines may stand in a column that is not read"
            }
            FleetInputError::Encrypted { .. } => {
                "write a copy without encryption: pyarrow.parquet.read_table(FILE, decryption_properties=...), then write_table"
            }
            FleetInputError::TooManyUnusable { .. } => {
                "are these the right columns? Times are RFC 3339, local dates and times, or numbers since 1970; \
                 numbers have a point and no thousands separators"
            }
            FleetInputError::BothGroups { .. } => {
                "keep one of the two; a server that changed its group during the trial belongs to neither"
            }
            FleetInputError::NoSuchGroup { .. } => {
                "say what the groups are called: --control NAME --test NAME"
            }
            FleetInputError::GroupWithoutSamples { .. } => {
                "the names have to be the same in both; the samples' may carry a port or a domain"
            }
            FleetInputError::NoSamples { .. } => {
                "is it the right column or selector, and the right window of time?"
            }
            FleetInputError::NotACounter { .. } => {
                "say what a sample is: increments (what happened since the one before) or level (a state)"
            }
            FleetInputError::LooksLikeACounter { .. } => {
                "write it behind the name, as in --metric drops:counter; a counter read as what happened would make every restart look \
                 like an improvement"
            }
            FleetInputError::SeveralRows { .. } => {
                "name the column that tells a server's rows apart, such as its interfaces: --part-column NAME adds them up"
            }
            FleetInputError::PartsOfLevel { .. } => {
                "choose one part, or work out the servers' own level beforehand"
            }
            FleetInputError::StepLongerThanInterval { .. } => "choose a longer interval",
            FleetInputError::NoWholeInterval { .. } => "choose a shorter interval, or a longer window",
            FleetInputError::TooLarge { .. } => {
                "choose longer intervals or a shorter window; or is a time in another unit than it looks?"
            }
            FleetInputError::Prometheus(error) => return error.hint(),
            FleetInputError::Stopped => return None,
        };
        Some(hint.into())
    }
}
