//! Batches of rows into samples of known servers: what every file goes through, whatever its format.
//!
//! Rows that cannot be used are counted here. What becomes of the samples is the sink's business, see `order.rs`.

use crate::batch::{Batch, NO_NAME, NO_TIME, NameColumn};
use crate::error::FleetInputError;
use crate::exclusions::{Exclusions, Left};
use crate::groups::Membership;
use crate::intervals::Intervals;
use crate::servers::{Label, RowPlace, Servers};
use std::path::PathBuf;

/// A sample of a known server at a time that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) time_ms: i64,
    pub(crate) metric: f64,
    pub(crate) load: f64,
    /// The series of its server, or of a part of it: see [`Servers::series`].
    pub(crate) series: u32,
    /// Number of the sample in the input, so that of two alike the first is known.
    pub(crate) number: u64,
}

/// Takes samples in the order of the input.
pub(crate) trait SampleSink {
    /// # Errors
    ///
    /// [`Refused`], and nothing more is to be sent.
    fn take(&mut self, sample: Sample, servers: &Servers) -> Result<(), Refused>;
}

/// The reason why a sink takes no more.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It needs samples in the order of time.
    OutOfOrder,
    Error(Box<FleetInputError>),
}

impl From<FleetInputError> for Refused {
    fn from(error: FleetInputError) -> Self {
        Refused::Error(Box::new(error))
    }
}

/// A file that rows come from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    /// True if rows are numbered by lines.
    pub(crate) by_line: bool,
}

impl Origin {
    pub(crate) fn place(&self, row: u64) -> String {
        match self.by_line {
            true => format!("{}:{row}", self.path.display()),
            false => format!("{} row {row}", self.path.display()),
        }
    }
}

/// The meaning of the numbers of a stream's names.
#[derive(Debug, Default)]
pub(crate) struct StreamNames {
    servers: Vec<u32>,
    parts: Vec<u32>,
    groups: Vec<Membership>,
    group_names: Vec<Box<str>>,
    sites: Vec<Box<str>>,
    hardware: Vec<Box<str>>,
}

/// Everything that is known beside the sink.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) servers: Servers,
    pub(crate) left: Exclusions,
    pub(crate) intervals: Intervals,
    pub(crate) origins: Vec<Origin>,
    pub(crate) rows: u64,
}

impl Rows {
    /// Passes a batch's rows on; `origin` is its file's number.
    ///
    /// # Errors
    ///
    /// A server in both groups, and what the sink refuses.
    pub(crate) fn batch(
        &mut self,
        origin: u32,
        names: &mut StreamNames,
        batch: &Batch,
        sink: &mut impl SampleSink,
    ) -> Result<(), Refused> {
        self.learn(names, batch);
        self.left.add_many(Left::BrokenRow, batch.broken, || batch.broken_example.clone());
        self.rows += batch.broken;
        let described = batch.site.is_some() || batch.hardware.is_some();
        // The last time that was found to be one and asked for: the next row's is often the same.
        let mut wanted_ms = None;
        for row in 0..batch.rows() {
            self.rows += 1;
            let local = batch.server.rows[row];
            if local == NO_NAME {
                self.left.add(Left::NoServer, || self.origins[origin as usize].place(batch.place(row)));
                continue;
            }
            let server = names.servers[local as usize];
            let time_ms = batch.time_ms[row];
            if wanted_ms != Some(time_ms) && (time_ms == NO_TIME || !Intervals::believes(time_ms)) {
                self.left.add(Left::NoTime, || self.origins[origin as usize].place(batch.place(row)));
                continue;
            }
            if let Some(group) = &batch.group {
                self.join(server, group.rows[row], names, RowPlace { origin, row: batch.place(row) })?;
            }
            if !self.servers.matters(server) {
                continue;
            }
            if described {
                self.describe(server, row, names, batch);
            }
            if wanted_ms != Some(time_ms) && !self.intervals.wants(time_ms) {
                self.left.add(Left::OutsideWindow, || self.origins[origin as usize].place(batch.place(row)));
                continue;
            }
            wanted_ms = Some(time_ms);
            let series = match &batch.part {
                None => server,
                // Rows without a part's name are a part of their own.
                Some(part) => {
                    let part = names.parts.get(part.rows[row] as usize).copied();
                    self.servers.series(server, part.unwrap_or(NO_NAME))
                }
            };
            let load = batch.load.get(row).copied().unwrap_or(f64::NAN);
            let sample = Sample { time_ms, metric: batch.metric[row], load, series, number: self.rows };
            sink.take(sample, &self.servers)?;
        }
        Ok(())
    }

    /// Gives the new names of a batch their meaning.
    fn learn(&mut self, names: &mut StreamNames, batch: &Batch) {
        names.servers.extend(batch.server.new.iter().map(|name| self.servers.id(name)));
        if let Some(part) = &batch.part {
            names.parts.extend(part.new.iter().map(|name| self.servers.part(name)));
        }
        if let Some(group) = &batch.group {
            names.groups.extend(group.new.iter().map(|name| self.servers.membership(name)));
            names.group_names.extend(group.new.iter().cloned());
        }
        let new =
            |column: &Option<NameColumn>| column.as_ref().map_or(Vec::new(), |column| column.new.clone());
        names.sites.extend(new(&batch.site));
        names.hardware.extend(new(&batch.hardware));
    }

    #[inline]
    fn join(
        &mut self,
        server: u32,
        group: u32,
        names: &StreamNames,
        place: RowPlace,
    ) -> Result<(), FleetInputError> {
        let Some(membership) = names.groups.get(group as usize).copied() else { return Ok(()) };
        if membership == self.servers.membership_of(server) {
            return Ok(());
        }
        self.join_anew(server, group, membership, names, place)
    }

    #[cold]
    fn join_anew(
        &mut self,
        server: u32,
        group: u32,
        membership: Membership,
        names: &StreamNames,
        place: RowPlace,
    ) -> Result<(), FleetInputError> {
        let name = &names.group_names[group as usize];
        self.servers.join(server, membership, name, place).map_err(|first| {
            let known = self.servers.get(server);
            let text = |place: RowPlace| self.origins[place.origin as usize].place(place.row);
            FleetInputError::BothGroups {
                server: known.name.to_string(),
                first: known.group.to_string(),
                first_place: text(first),
                second: name.to_string(),
                second_place: text(place),
            }
        })
    }

    fn describe(&mut self, server: u32, row: usize, names: &StreamNames, batch: &Batch) {
        let columns =
            [(Label::Site, &batch.site, &names.sites), (Label::Hardware, &batch.hardware, &names.hardware)];
        for (label, column, names) in columns {
            let Some(column) = column else { continue };
            if let Some(value) = names.get(column.rows[row] as usize) {
                self.servers.describe(server, label, value, &mut self.left);
            }
        }
    }
}
