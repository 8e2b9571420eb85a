//! Parquet files of samples: row groups are decoded on several threads and passed on in the file's order.
//!
//! Only the columns that were asked for are read, page by page, so that memory does not grow with the size of a row group. How values
//! become numbers, times and names is in `columns.rs`.

mod columns;
mod dictionary;
mod moments;
mod numbers;

use crate::batch::{BATCH_ROWS, Batch, NameColumn};
use crate::batch_sink::BatchSink;
use crate::error::FleetInputError;
use crate::request::FleetColumns;
use crate::rows::Refused;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use columns::{Names, Opened};
use jiff::tz::TimeZone;
use moments::Moments;
use numbers::Numbers;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Batches that a thread may be ahead by: a row group's worth of the usual size.
const AHEAD: usize = 16;

/// More threads than this gain nothing: taking the rows is one thread's work.
const THREADS: usize = 4;

/// Reads a file.
///
/// # Errors
///
/// A file that cannot be read or is damaged, a column that is not there or of another type, and what the sink refuses.
pub(crate) fn read(
    path: &Path,
    columns: &FleetColumns,
    zone: &TimeZone,
    sink: &mut impl BatchSink,
) -> Result<(), Refused> {
    let file = File::open(path).map_err(|source| FleetInputError::opening(path, source))?;
    let reader = SerializedFileReader::new(file).map_err(|error| damaged(path, &error))?;
    let places = Places::find(path, columns, &reader)?;
    places.readable(path, &reader)?;
    let groups = reader.num_row_groups();
    let rows = reader.metadata().file_metadata().num_rows().max(1) as f64;
    let threads = thread::available_parallelism().map_or(1, usize::from).clamp(1, THREADS).min(groups.max(1));
    drop(reader);
    thread::scope(|scope| {
        let start = |first: usize| {
            let (sender, receiver) = sync_channel(AHEAD);
            let places = &places;
            let work =
                move || Decoder { path, zone, places, sender }.groups((first..groups).step_by(threads));
            (receiver, scope.spawn(work))
        };
        let (receivers, handles): (Vec<_>, Vec<_>) = (0..threads).map(start).unzip();
        let passed_on = pass_on(&receivers, groups, rows, sink);
        // Threads that are ahead end when nobody takes what they send.
        drop(receivers);
        for handle in handles {
            // The library is not meant to panic, whatever the bytes. If it does, the file is not whole.
            if handle.join().is_err() && passed_on.is_ok() {
                return Err(gave_up(path).into());
            }
        }
        match passed_on {
            Err(Ended::Refused(refused)) => Err(refused),
            Err(Ended::Silent) => Err(gave_up(path).into()),
            Ok(()) => Ok(()),
        }
    })
}

/// A message of a thread: a row group is some batches and an end.
enum Sent {
    Batch(Box<Batch>),
    GroupEnd,
    Error(FleetInputError),
}

/// The reason why nothing more is passed on.
enum Ended {
    Refused(Refused),
    /// A thread is gone without a word.
    Silent,
}

/// Row groups in order, each from the thread that has it.
fn pass_on(
    receivers: &[Receiver<Sent>],
    groups: usize,
    rows: f64,
    sink: &mut impl BatchSink,
) -> Result<(), Ended> {
    let mut passed = 0;
    for group in 0..groups {
        sink.begin();
        loop {
            match receivers[group % receivers.len()].recv() {
                Ok(Sent::Batch(mut batch)) => {
                    batch.first_row = passed + 1;
                    passed += batch.rows() as u64;
                    sink.batch(&batch, passed as f64 / rows).map_err(Ended::Refused)?;
                }
                Ok(Sent::GroupEnd) => break,
                Ok(Sent::Error(error)) => return Err(Ended::Refused(error.into())),
                Err(_) => return Err(Ended::Silent),
            }
        }
    }
    Ok(())
}

fn damaged(path: &Path, error: &ParquetError) -> FleetInputError {
    FleetInputError::Damaged { path: path.to_owned(), format: "Parquet", reason: error.to_string() }
}

fn gave_up(path: &Path) -> FleetInputError {
    let reason = "its decoder gave up".to_owned();
    FleetInputError::Damaged { path: path.to_owned(), format: "Parquet", reason }
}

/// The places of the columns.
#[derive(Debug, Clone)]
struct Places {
    server: usize,
    time: usize,
    metric: usize,
    load: Option<usize>,
    part: Option<usize>,
    group: Option<usize>,
    site: Option<usize>,
    hardware: Option<usize>,
}

impl Places {
    /// Finds the columns by name and tries their types, so that an error comes before any work.
    fn find(
        path: &Path,
        columns: &FleetColumns,
        reader: &SerializedFileReader<File>,
    ) -> Result<Self, FleetInputError> {
        let schema = reader.metadata().file_metadata().schema_descr();
        // Columns within structures and lists have longer paths and are not looked at.
        let flat = |place: &usize| schema.column(*place).path().parts().len() == 1;
        let all: Vec<usize> = (0..schema.num_columns()).filter(flat).collect();
        let name = |place: usize| schema.column(place).name().to_owned();
        let place = |column: &str, role: &'static str, fits: fn(&columns::Descriptor) -> bool| {
            let places: Vec<usize> = all.iter().copied().filter(|place| name(*place) == column).collect();
            match places[..] {
                [place] if fits(&schema.column(place)) => Ok(place),
                [place] => Err(FleetInputError::ColumnType {
                    path: path.to_owned(),
                    column: column.to_owned(),
                    role,
                    expected: match role {
                        "time" => "a timestamp, a date, a number or a string",
                        "metric" | "load" if columns::decimal(&schema.column(place)).is_some() => {
                            "a number of at most 38 digits"
                        }
                        "metric" | "load" => "a number",
                        _ => "a string or a whole number",
                    },
                    got: columns::type_name(&schema.column(place)),
                }),
                [] => Err(FleetInputError::NoColumn {
                    path: path.to_owned(),
                    column: column.to_owned(),
                    role,
                    columns: all.iter().map(|place| name(*place)).collect(),
                }),
                _ => Err(FleetInputError::RepeatedColumn {
                    path: path.to_owned(),
                    column: column.to_owned(),
                    count: places.len(),
                }),
            }
        };
        let names = |column: &Option<String>, role| {
            column.as_ref().map(|column| place(column, role, Names::fit)).transpose()
        };
        Ok(Places {
            server: place(&columns.server, "server", Names::fit)?,
            time: place(&columns.time, "time", Moments::fit)?,
            metric: place(&columns.metric, "metric", Numbers::fit)?,
            load: columns.load.as_ref().map(|load| place(load, "load", Numbers::fit)).transpose()?,
            part: names(&columns.part, "part")?,
            group: names(&columns.group, "group")?,
            site: names(&columns.site, "site")?,
            hardware: names(&columns.hardware, "hardware")?,
        })
    }
}

impl Places {
    fn all(&self) -> impl Iterator<Item = usize> {
        let needed = [self.server, self.time, self.metric].map(Some);
        needed.into_iter().chain([self.load, self.part, self.group, self.site, self.hardware]).flatten()
    }

    /// Checks that the columns are plain and compressed in a way that is read here: a file where they are not is whole all the same.
    fn readable(&self, path: &Path, reader: &SerializedFileReader<File>) -> Result<(), FleetInputError> {
        for group in reader.metadata().row_groups() {
            for column in self.all().map(|place| group.column(place)) {
                if column.crypto_metadata().is_some() {
                    let column = column.column_descr().name().to_owned();
                    return Err(FleetInputError::Encrypted { path: path.to_owned(), column });
                }
                let compression = match column.compression() {
                    Compression::BROTLI(_) => "Brotli",
                    Compression::LZO => "LZO",
                    _ => continue,
                };
                let (column, compression) = (column.column_descr().name().to_owned(), compression.to_owned());
                return Err(FleetInputError::Compression { path: path.to_owned(), column, compression });
            }
        }
        Ok(())
    }
}

/// Decodes some of a file's row groups.
struct Decoder<'a> {
    path: &'a Path,
    zone: &'a TimeZone,
    places: &'a Places,
    sender: SyncSender<Sent>,
}

/// Nobody takes what is sent: an error or an end elsewhere.
struct NobodyTakes;

impl Decoder<'_> {
    fn groups(&self, groups: impl Iterator<Item = usize>) {
        if let Err(error) = self.all(groups) {
            // If nobody takes it, it is not the first error.
            let _ = self.sender.send(Sent::Error(error));
        }
    }

    fn all(&self, groups: impl Iterator<Item = usize>) -> Result<(), FleetInputError> {
        // A file of its own: handles that are copies share one position.
        let file = File::open(self.path).map_err(|source| FleetInputError::opening(self.path, source))?;
        let reader = SerializedFileReader::new(file).map_err(|error| damaged(self.path, &error))?;
        for group in groups {
            let done = self.group(&reader, group).map_err(|error| damaged(self.path, &error))?;
            if done.is_err() || self.sender.send(Sent::GroupEnd).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn group(
        &self,
        reader: &SerializedFileReader<File>,
        group: usize,
    ) -> Result<Result<(), NobodyTakes>, ParquetError> {
        let group = reader.get_row_group(group)?;
        let schema = group.metadata().schema_descr();
        let column = |place: usize| {
            Ok(Opened { descriptor: schema.column(place), reader: group.get_column_reader(place)? })
        };
        let names = |place: Option<usize>| place.map(|place| Names::open(&*group, place)).transpose();
        let mut server = Names::open(&*group, self.places.server)?;
        let mut time = Moments::new(column(self.places.time)?, self.zone.clone())?;
        let mut metric = Numbers::new(column(self.places.metric)?)?;
        let mut load = self.places.load.map(|place| column(place).and_then(Numbers::new)).transpose()?;
        let Places { part, group: in_group, site, hardware, .. } = *self.places;
        let mut labels = [names(part)?, names(in_group)?, names(site)?, names(hardware)?];
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while left > 0 {
            let rows = left.min(BATCH_ROWS);
            left -= rows;
            let mut label = |place: usize| -> Result<Option<NameColumn>, ParquetError> {
                labels[place].as_mut().map(|names| names.next(rows)).transpose()
            };
            let (part, group, site, hardware) = (label(0)?, label(1)?, label(2)?, label(3)?);
            let batch = Batch {
                server: server.next(rows)?,
                time_ms: time.next(rows)?,
                metric: metric.next(rows)?,
                load: load.as_mut().map(|load| load.next(rows)).transpose()?.unwrap_or_default(),
                part,
                group,
                site,
                hardware,
                ..Batch::default()
            };
            if self.sender.send(Sent::Batch(Box::new(batch))).is_err() {
                return Ok(Err(NobodyTakes));
            }
        }
        Ok(Ok(()))
    }
}
