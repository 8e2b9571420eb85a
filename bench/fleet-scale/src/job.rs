//! The jobs of this program itself: Plumb's reader alone, and the least that any reader has to do.

use crate::BenchError;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use plumb_fleet::{
    FleetColumns, FleetFiles, FleetGroups, FleetInterval, FleetRequest, FleetSource, FleetWindow, GroupNames,
    Sampling,
};
use plumb_model::fleet::SampleKind;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// Values that are decoded at a time.
const BATCH: usize = 1 << 16;

/// Reads the file into a table as `plumb trial fleet` does.
pub(crate) fn read(path: &Path) -> Result<String, BenchError> {
    let named = |name: &str| name.to_owned();
    let columns = FleetColumns {
        server: named("server"),
        part: None,
        time: named("time"),
        metric: named("drops"),
        load: Some(named("sent")),
        group: Some(named("group")),
        site: None,
        hardware: None,
    };
    let request = FleetRequest {
        source: FleetSource::Files(FleetFiles { paths: vec![path.to_owned()], columns }),
        groups: FleetGroups::Source { names: GroupNames::default() },
        window: FleetWindow {
            changed_at: None,
            interval: FleetInterval::Days,
            zone: jiff::tz::TimeZone::UTC,
            from: None,
            until: None,
        },
        metric_kind: Sampling::Stated(SampleKind::Increments),
        load_kind: Sampling::Stated(SampleKind::Increments),
        step_s: None,
    };
    let table = plumb_fleet::read(&request, &mut |_| ControlFlow::Continue(()))?;
    let sum = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
    let (mut drops, mut sent, mut days) = (0.0, 0.0, 0);
    for server in &table.servers {
        drops += sum(&server.metric);
        sent += sum(&server.load);
        days += server.metric.iter().flatten().count();
    }
    Ok(sums(days, drops, sent))
}

/// The line of every contestant: the server-days that have a value, and the sums over them.
pub(crate) fn sums(days: usize, drops: f64, sent: f64) -> String {
    format!("{days} server-days, {drops:.0} drops, {sent:.0} sent")
}

/// Decompresses and decodes the five columns with the library's readers and forgets them.
pub(crate) fn decode(path: &Path) -> Result<String, BenchError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let decoded = std::thread::scope(|scope| {
        let work = |first: usize| scope.spawn(move || decode_some(path, first, threads));
        let handles: Vec<_> = (0..threads).map(work).collect();
        let gone =
            || BenchError::Contestant { name: "decode".to_owned(), reason: "a thread panicked".to_owned() };
        handles.into_iter().map(|handle| handle.join().map_err(|_| gone())?).sum::<Result<u64, BenchError>>()
    })?;
    Ok(format!("{decoded} values"))
}

fn decode_some(path: &Path, first: usize, step: usize) -> Result<u64, BenchError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let mut decoded = 0;
    for number in (first..reader.num_row_groups()).step_by(step) {
        let group = reader.get_row_group(number)?;
        decoded += column::<ByteArrayType>(group.get_column_reader(0)?)?;
        decoded += column::<ByteArrayType>(group.get_column_reader(1)?)?;
        decoded += column::<Int64Type>(group.get_column_reader(2)?)?;
        decoded += column::<Int32Type>(group.get_column_reader(3)?)?;
        decoded += column::<DoubleType>(group.get_column_reader(4)?)?;
    }
    Ok(decoded)
}

fn column<T: DataType>(reader: parquet::column::reader::ColumnReader) -> Result<u64, BenchError> {
    let mut reader = get_typed_column_reader::<T>(reader);
    let (mut levels, mut values, mut decoded) = (Vec::new(), Vec::new(), 0);
    loop {
        levels.clear();
        values.clear();
        let (read, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            return Ok(decoded);
        }
        decoded += values.len() as u64;
    }
}
