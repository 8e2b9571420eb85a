//! Files of samples, each a CSV or a Parquet file by its first bytes, read in the order in which they are named.

use crate::batch::Batch;
use crate::batch_sink::BatchSink;
use crate::error::FleetInputError;
use crate::exclusions::Exclusions;
use crate::intervals::Intervals;
use crate::order::{Sorter, Tracks};
use crate::request::{FleetFiles, FleetGroups, FleetProgress, FleetRequest, Watch};
use crate::rows::{Origin, Refused, Rows, SampleSink, StreamNames};
use crate::servers::Servers;
use crate::{csv, parquet, table};
use plumb_model::fleet::{FleetTable, SampleKind};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which progress is reported.
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// The first bytes of a Parquet file.
const PARQUET_MARK: &[u8; 4] = b"PAR1";

/// Reads all files into a table.
pub(crate) fn read(
    request: &FleetRequest,
    files: &FleetFiles,
    watch: &mut Watch<'_>,
) -> Result<FleetTable, FleetInputError> {
    parts_add_up(request, files)?;
    let mut input = Input { request, files, watch, told: Instant::now() };
    let origins = input.origins()?;
    let mut tracks = Tracks::new(request, files.columns.load.is_some());
    let mut rows = input.rows(&origins)?;
    match input.pass(&mut rows, &mut tracks) {
        Ok(()) => {}
        Err(Refused::Error(error)) => return Err(*error),
        Err(Refused::OutOfOrder) => {
            tracks = Tracks::new(request, files.columns.load.is_some());
            rows = input.rows(&origins)?;
            input.sorted(&mut rows, &origins, &mut tracks)?;
        }
    }
    let owners = rows.servers.owners().to_vec();
    table::table(request, rows, tracks, |_, series| owners.get(series as usize).copied().unwrap_or(series))
}

/// Counts of parts are those of the whole; levels are not.
fn parts_add_up(request: &FleetRequest, files: &FleetFiles) -> Result<(), FleetInputError> {
    let Some(column) = &files.columns.part else { return Ok(()) };
    let load = files.columns.load.is_some().then_some(("load", request.load_kind));
    let mut quantities = [Some(("metric", request.metric_kind)), load].into_iter().flatten();
    match quantities.find(|(_, sampling)| sampling.kind() == SampleKind::Level) {
        None => Ok(()),
        Some((quantity, _)) => Err(FleetInputError::PartsOfLevel { quantity, column: column.clone() }),
    }
}

struct Input<'a, 'w> {
    request: &'a FleetRequest,
    files: &'a FleetFiles,
    watch: &'a mut Watch<'w>,
    told: Instant,
}

impl Input<'_, '_> {
    fn origins(&self) -> Result<Vec<Origin>, FleetInputError> {
        if self.files.paths.is_empty() {
            return Err(FleetInputError::NoFiles);
        }
        let origin = |path: &std::path::PathBuf| {
            Ok(Origin {
                path: path.clone(),
                by_line: !is_parquet(path).map_err(|source| FleetInputError::opening(path, source))?,
            })
        };
        self.files.paths.iter().map(origin).collect()
    }

    fn rows(&self, origins: &[Origin]) -> Result<Rows, FleetInputError> {
        let mut left = Exclusions::new();
        let servers = Servers::new(&self.request.groups, &mut left)?;
        let intervals = Intervals::new(&self.request.window);
        Ok(Rows { servers, left, intervals, origins: origins.to_vec(), rows: 0 })
    }

    /// Reads everything as often as the sorter has parts.
    fn sorted(
        &mut self,
        rows: &mut Rows,
        origins: &[Origin],
        tracks: &mut Tracks,
    ) -> Result<(), FleetInputError> {
        let mut sorter = Sorter::new();
        let mut more = self.sorted_pass(rows, &mut sorter, tracks)?;
        while more {
            // What is left out was counted in the first pass, and servers are met in the same order again.
            let mut again = self.rows(origins)?;
            more = self.sorted_pass(&mut again, &mut sorter, tracks)?;
        }
        Ok(())
    }

    fn sorted_pass(
        &mut self,
        rows: &mut Rows,
        sorter: &mut Sorter,
        tracks: &mut Tracks,
    ) -> Result<bool, FleetInputError> {
        match self.pass(rows, sorter) {
            Err(Refused::Error(error)) => return Err(*error),
            // A sorter takes any order.
            Ok(()) | Err(Refused::OutOfOrder) => {}
        }
        sorter.next_part(tracks, &rows.servers)
    }

    /// Reads everything once.
    fn pass(&mut self, rows: &mut Rows, sink: &mut impl SampleSink) -> Result<(), Refused> {
        // Only where the source says it is a group's column read.
        let mut columns = self.files.columns.clone();
        if !matches!(self.request.groups, FleetGroups::Source { .. }) {
            columns.group = None;
        }
        let sizes = self.files.paths.iter().map(|path| std::fs::metadata(path).map_or(0, |file| file.len()));
        let sizes: Vec<u64> = sizes.collect();
        let all = sizes.iter().sum::<u64>().max(1) as f64;
        let mut before = 0;
        for (number, path) in self.files.paths.iter().enumerate() {
            let share = |read: f64| (before as f64 + sizes[number] as f64 * read) / all;
            let mut passing = Passing {
                rows: &mut *rows,
                sink: &mut *sink,
                names: StreamNames::default(),
                origin: number as u32,
                watch: &mut *self.watch,
                told: &mut self.told,
                share: &share,
            };
            let zone = &self.request.window.zone;
            match is_parquet(path).map_err(|source| FleetInputError::opening(path, source))? {
                true => parquet::read(path, &columns, zone, &mut passing)?,
                false => csv::read(path, &columns, zone, &mut passing)?,
            }
            before += sizes[number];
        }
        Ok(())
    }
}

/// The link between a reader and the rows: the meaning of the names, and the progress to report.
struct Passing<'a, 'w, S> {
    rows: &'a mut Rows,
    sink: &'a mut S,
    names: StreamNames,
    origin: u32,
    watch: &'a mut Watch<'w>,
    told: &'a mut Instant,
    share: &'a dyn Fn(f64) -> f64,
}

impl<S: SampleSink> BatchSink for Passing<'_, '_, S> {
    fn begin(&mut self) {
        self.names = StreamNames::default();
    }

    fn batch(&mut self, batch: &Batch, read: f64) -> Result<(), Refused> {
        if self.told.elapsed() >= TOLD_EVERY {
            *self.told = Instant::now();
            let progress = FleetProgress { share: (self.share)(read), samples: self.rows.rows };
            if (self.watch)(progress).is_break() {
                return Err(FleetInputError::Stopped.into());
            }
        }
        self.rows.batch(self.origin, &mut self.names, batch, self.sink)
    }
}

fn is_parquet(path: &Path) -> std::io::Result<bool> {
    let mut mark = [0; PARQUET_MARK.len()];
    let mut file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    match file.read_exact(&mut mark) {
        Ok(()) => Ok(mark == *PARQUET_MARK),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::request::FleetColumns;

    /// Files with the columns server, time, metric and load.
    pub(crate) fn files(paths: &[&Path]) -> FleetFiles {
        FleetFiles {
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            columns: FleetColumns {
                server: "server".to_owned(),
                part: None,
                time: "time".to_owned(),
                metric: "metric".to_owned(),
                load: Some("load".to_owned()),
                group: None,
                site: None,
                hardware: None,
            },
        }
    }
}
