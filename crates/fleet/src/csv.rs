//! A CSV file of samples, line by line; the delimiter is the one that its header has most of.

use crate::batch::{BATCH_ROWS, Batch, NO_NAME, NO_TIME, NameColumn};
use crate::batch_sink::BatchSink;
use crate::error::FleetInputError;
use crate::instant::instant;
use crate::quotes::Quotes;
use crate::request::FleetColumns;
use crate::rows::Refused;
use crate::text::{delimiter, line_of, without_mark};
use ::csv::{ByteRecord, Error, ReaderBuilder};
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Names of a column that are told apart; more are no names of servers or groups.
const NAMES_LIMIT: usize = 10_000_000;

/// The words for no value, beside nothing and numbers that are none (NaN, inf).
const NONE: [&str; 7] = ["NA", "N/A", "n/a", "null", "NULL", "None", "-"];

/// Reads a file.
///
/// # Errors
///
/// A file that cannot be read, a column that is not there, and what the sink refuses. Lines that cannot be read are counted.
pub(crate) fn read(
    path: &Path,
    columns: &FleetColumns,
    zone: &TimeZone,
    sink: &mut impl BatchSink,
) -> Result<(), Refused> {
    let file = File::open(path).map_err(|source| FleetInputError::opening(path, source))?;
    let size = file.metadata().map_or(0, |file| file.len()).max(1) as f64;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let delimiter = delimiter(path, &mut file)?;
    let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file);
    let header = reader.byte_headers().map_err(|error| damaged(path, &error))?;
    let header: Vec<String> =
        header.iter().map(|name| without_mark(&String::from_utf8_lossy(name))).collect();
    let mut lines = Lines::new(path, &header, columns)?;
    let mut quotes = Quotes::new(path, delimiter, header.len(), lines.used());
    sink.begin();
    let mut record = ByteRecord::new();
    let passed_on = |lines: &mut Lines<'_>, at: u64, sink: &mut dyn BatchSink| {
        sink.batch(&lines.batch, at as f64 / size)?;
        lines.clear();
        Ok::<(), Refused>(())
    };
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {
                let line = line_of(&record, reader.position().line());
                quotes.check(&record)?;
                let fields = record.len();
                // A delimiter at the end of a line is no field.
                if record.iter().skip(header.len()).any(|cell| !cell.trim_ascii().is_empty()) {
                    let (path, expected) = (path.to_owned(), header.len());
                    return Err(FleetInputError::MoreFields { path, line, fields, expected }.into());
                }
                lines.add(&record, line, zone)?;
            }
            Err(error) => return Err(damaged(path, &error).into()),
        }
        if lines.batch.rows() >= BATCH_ROWS {
            passed_on(&mut lines, reader.position().byte(), sink)?;
        }
    }
    quotes.closed()?;
    passed_on(&mut lines, reader.position().byte(), sink)
}

fn damaged(path: &Path, error: &Error) -> FleetInputError {
    FleetInputError::Damaged { path: path.to_owned(), format: "CSV", reason: error.to_string() }
}

/// The places of the columns, and the rows that were not passed on yet.
struct Lines<'a> {
    path: &'a Path,
    server: Names,
    time: usize,
    metric: usize,
    load: Option<usize>,
    part: Option<Names>,
    group: Option<Names>,
    site: Option<Names>,
    hardware: Option<Names>,
    batch: Batch,
}

impl<'a> Lines<'a> {
    fn new(path: &'a Path, header: &[String], columns: &FleetColumns) -> Result<Self, FleetInputError> {
        let place = |column: &str, role| -> Result<usize, FleetInputError> {
            let places: Vec<usize> = (0..header.len()).filter(|place| header[*place] == column).collect();
            match places[..] {
                [place] => Ok(place),
                [] => Err(FleetInputError::NoColumn {
                    path: path.to_owned(),
                    column: column.to_owned(),
                    role,
                    columns: header.to_vec(),
                }),
                _ => Err(FleetInputError::RepeatedColumn {
                    path: path.to_owned(),
                    column: column.to_owned(),
                    count: places.len(),
                }),
            }
        };
        let names = |column: &Option<String>, role| {
            let place = column.as_ref().map(|column| place(column, role)).transpose()?;
            Ok::<_, FleetInputError>(place.map(Names::new))
        };
        let part = names(&columns.part, "part")?;
        let group = names(&columns.group, "group")?;
        let site = names(&columns.site, "site")?;
        let hardware = names(&columns.hardware, "hardware")?;
        let column = |names: &Option<Names>| names.as_ref().map(|_| NameColumn::default());
        Ok(Lines {
            path,
            server: Names::new(place(&columns.server, "server")?),
            time: place(&columns.time, "time")?,
            metric: place(&columns.metric, "metric")?,
            load: columns.load.as_ref().map(|column| place(column, "load")).transpose()?,
            batch: Batch {
                part: column(&part),
                group: column(&group),
                site: column(&site),
                hardware: column(&hardware),
                ..Batch::default()
            },
            part,
            group,
            site,
            hardware,
        })
    }

    /// The places of the columns that are read.
    fn used(&self) -> Vec<usize> {
        let names = [&self.part, &self.group, &self.site, &self.hardware].into_iter().flatten();
        let names = names.chain([&self.server]).map(|names| names.place);
        names.chain([self.time, self.metric]).chain(self.load).collect()
    }

    fn add(&mut self, record: &ByteRecord, line: u64, zone: &TimeZone) -> Result<(), FleetInputError> {
        let (metric, load) = match (self.number(record, self.metric), self.load_of(record)) {
            (Ok(metric), Ok(load)) => (metric, load),
            (Err(why), _) | (_, Err(why)) => {
                if self.batch.broken == 0 {
                    self.batch.broken_example = format!("{}:{line}: {why}", self.path.display());
                }
                self.batch.broken += 1;
                return Ok(());
            }
        };
        let time = record.get(self.time).and_then(|cell| std::str::from_utf8(cell).ok());
        let batch = &mut self.batch;
        batch.lines.push(line);
        batch.time_ms.push(time.and_then(|time| instant(time, zone)).unwrap_or(NO_TIME));
        batch.metric.push(metric);
        if let Some(load) = load {
            batch.load.push(load);
        }
        self.server.add(record, &mut batch.server, self.path)?;
        let columns = [
            (&mut self.part, &mut batch.part),
            (&mut self.group, &mut batch.group),
            (&mut self.site, &mut batch.site),
            (&mut self.hardware, &mut batch.hardware),
        ];
        for (names, column) in columns {
            if let (Some(names), Some(column)) = (names, column) {
                names.add(record, column, self.path)?;
            }
        }
        Ok(())
    }

    fn load_of(&self, record: &ByteRecord) -> Result<Option<f64>, String> {
        self.load.map(|place| self.number(record, place)).transpose()
    }

    /// A cell's number, NaN where it is empty.
    fn number(&self, record: &ByteRecord, place: usize) -> Result<f64, String> {
        let Some(cell) = record.get(place) else {
            return Err(format!("expected at least {} fields, got {}", place + 1, record.len()));
        };
        let text = std::str::from_utf8(cell).unwrap_or("\u{fffd}").trim();
        if text.is_empty() || NONE.contains(&text) {
            return Ok(f64::NAN);
        }
        text.parse().map_err(|_| format!("{:?} is no number", text.chars().take(40).collect::<String>()))
    }

    fn clear(&mut self) {
        let batch = &mut self.batch;
        let columns = [&mut batch.part, &mut batch.group, &mut batch.site, &mut batch.hardware];
        for column in columns.into_iter().flatten().chain([&mut batch.server]) {
            column.new.clear();
            column.rows.clear();
        }
        batch.lines.clear();
        batch.time_ms.clear();
        batch.metric.clear();
        batch.load.clear();
        batch.broken = 0;
        batch.broken_example.clear();
    }
}

/// The names of a column so far.
struct Names {
    place: usize,
    numbers: HashMap<Box<[u8]>, u32>,
    last: (Box<[u8]>, u32),
}

impl Names {
    fn new(place: usize) -> Self {
        Names { place, numbers: HashMap::new(), last: (Box::default(), NO_NAME) }
    }

    fn add(
        &mut self,
        record: &ByteRecord,
        column: &mut NameColumn,
        path: &Path,
    ) -> Result<(), FleetInputError> {
        let name = record.get(self.place).unwrap_or_default().trim_ascii();
        let number = match name {
            [] => NO_NAME,
            name if *name == *self.last.0 => self.last.1,
            name => {
                let number = match self.numbers.get(name) {
                    Some(number) => *number,
                    None if self.numbers.len() >= NAMES_LIMIT => {
                        return Err(FleetInputError::Damaged {
                            path: path.to_owned(),
                            format: "CSV",
                            reason: format!("column {} has more than {NAMES_LIMIT} names", self.place + 1),
                        });
                    }
                    None => {
                        let number = self.numbers.len() as u32;
                        self.numbers.insert(name.into(), number);
                        column.new.push(String::from_utf8_lossy(name).into());
                        number
                    }
                };
                self.last = (name.into(), number);
                number
            }
        };
        column.rows.push(number);
        Ok(())
    }
}
