//! The file: a sample of every server every five minutes, drawn so that the answer is known.
//!
//! Each server drops with the power 1.8 of its load, which has a course of the day and a level of its own. From the middle of the
//! days on, servers of the test group drop [`EFFECT`] times as much. Every value is a function of its server and time alone, so
//! that the file is the same on every machine. It is written as the usual tools write: dictionaries, zstd, a million rows a group.

use crate::BenchError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The factor that the change puts on the drops of the test group.
pub(crate) const EFFECT: f64 = 0.7;

/// 1 March 2026, UTC.
const START_MS: i64 = 1_772_323_200_000;

const STEP_MS: i64 = 300_000;
const SAMPLES_PER_DAY: u32 = 288;
const ROWS_PER_GROUP: usize = 1 << 20;

/// A change of this names another file.
const VERSION: u32 = 1;

const SCHEMA: &str = "message samples {
    optional binary server (string);
    optional binary group (string);
    optional int64 time (timestamp(millis,true));
    optional int32 drops;
    optional double sent;
}";

/// The size of the file and the order of its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) servers: u32,
    pub(crate) days: u32,
    pub(crate) by_server: bool,
}

impl Shape {
    pub(crate) fn rows(&self) -> u64 {
        u64::from(self.servers) * u64::from(self.days * SAMPLES_PER_DAY)
    }

    /// The time of the change: a midnight.
    pub(crate) fn changed_at_ms(&self) -> i64 {
        START_MS + i64::from(self.days / 2) * 86_400_000
    }

    /// Server and sample of a row.
    fn row(&self, row: u64) -> (u32, u32) {
        let (servers, samples) = (u64::from(self.servers), u64::from(self.days * SAMPLES_PER_DAY));
        match self.by_server {
            true => ((row / samples) as u32, (row % samples) as u32),
            false => ((row % servers) as u32, (row / servers) as u32),
        }
    }
}

/// The file, made if it is not there.
pub(crate) fn ready(shape: Shape, cache: &Path) -> Result<PathBuf, BenchError> {
    let order = if shape.by_server { "server" } else { "time" };
    let name = format!("samples-v{VERSION}-{}x{}-by-{order}.parquet", shape.servers, shape.days);
    let path = cache.join(name);
    if !path.exists() {
        crate::say(&format!("making {} ({} rows)", path.display(), shape.rows()))?;
        fs_err::create_dir_all(cache)?;
        // Renamed when whole, so that one whose making was ended is not taken for it.
        let part = tempfile::NamedTempFile::new_in(cache)?;
        write(shape, part.reopen()?)?;
        part.persist(&path).map_err(|error| error.error)?;
    }
    Ok(path)
}

fn write(shape: Shape, file: std::fs::File) -> Result<(), BenchError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?)).build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let servers: Vec<Server> = (0..shape.servers).map(Server::new).collect();
    let hours = day_course();
    let rows = shape.rows();
    for from in (0..rows).step_by(ROWS_PER_GROUP) {
        let range = from..rows.min(from + ROWS_PER_GROUP as u64);
        let present = vec![1_i16; range.clone().count()];
        let mut group = writer.next_row_group()?;
        let drawn: Vec<(u32, u32)> = range.map(|row| shape.row(row)).collect();
        let values =
            |(server, sample): &(u32, u32)| servers[*server as usize].sample(*server, *sample, shape, &hours);
        let (drops, sent): (Vec<i32>, Vec<f64>) = drawn.iter().map(values).unzip();
        macro_rules! put {
            ($type:ty, $values:expr) => {{
                let mut column = group.next_column()?.ok_or_else(too_few)?;
                column.typed::<$type>().write_batch(&$values, Some(&present), None)?;
                column.close()?;
            }};
        }
        let name = |name: fn(&Server) -> &ByteArray| -> Vec<ByteArray> {
            drawn.iter().map(|(server, _)| name(&servers[*server as usize]).clone()).collect()
        };
        put!(ByteArrayType, name(|server| &server.name));
        put!(ByteArrayType, name(|server| &server.group));
        let time: Vec<i64> =
            drawn.iter().map(|(_, sample)| START_MS + i64::from(*sample) * STEP_MS).collect();
        put!(Int64Type, time);
        put!(Int32Type, drops);
        put!(DoubleType, sent);
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn too_few() -> parquet::errors::ParquetError {
    parquet::errors::ParquetError::General("the schema has too few columns".to_owned())
}

/// Load by sample of the day, around 1.
fn day_course() -> Vec<f64> {
    let phase = |sample: u32| f64::from(sample) / f64::from(SAMPLES_PER_DAY) * std::f64::consts::TAU;
    (0..SAMPLES_PER_DAY).map(|sample| 1.0 + 0.4 * (phase(sample) - 2.0).sin()).collect()
}

struct Server {
    name: ByteArray,
    group: ByteArray,
    in_test: bool,
    /// Messages in five minutes, and drops at that load.
    load: f64,
    drops: f64,
}

impl Server {
    fn new(number: u32) -> Self {
        let draw = |salt: u64| unit(mixed(u64::from(number) << 8 | salt));
        let in_test = draw(1) < 0.5;
        Server {
            name: format!("edge-{:02}-{number:05}", number % 40).as_str().into(),
            group: if in_test { "test" } else { "control" }.into(),
            in_test,
            load: 1000.0 * (2.0 * draw(2) - 1.0).exp(),
            drops: 2.0 * (1.4 * draw(3) - 0.7).exp(),
        }
    }

    /// Drops and messages of a sample.
    fn sample(&self, server: u32, sample: u32, shape: Shape, hours: &[f64]) -> (i32, f64) {
        let seed = mixed(u64::from(server) << 32 | u64::from(sample));
        let load = hours[(sample % SAMPLES_PER_DAY) as usize] * (0.9 + 0.2 * unit(seed));
        let changed = self.in_test && sample / SAMPLES_PER_DAY >= shape.days / 2;
        let mean = self.drops * load.powf(1.8) * if changed { EFFECT } else { 1.0 };
        (poisson(mean, unit(mixed(seed))), (self.load * load).round())
    }
}

/// A Poisson number by inversion; small means only.
fn poisson(mean: f64, uniform: f64) -> i32 {
    let (mut count, mut share) = (0, (-mean).exp());
    let mut sum = share;
    while uniform > sum && count < 100 {
        count += 1;
        share *= mean / f64::from(count);
        sum += share;
    }
    count
}

/// A number from 0 to 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// SplitMix64 (Steele, Lea, Flood 2014): a step and its mixing.
pub(crate) fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_fall_by_the_effect_in_the_test_group_alone() {
        let shape = Shape { servers: 400, days: 4, by_server: false };
        let (hours, mut sums) = (day_course(), [[0.0; 2]; 2]);
        for number in 0..shape.servers {
            let server = Server::new(number);
            for sample in 0..shape.days * SAMPLES_PER_DAY {
                let after = usize::from(sample / SAMPLES_PER_DAY >= 2);
                let drops = server.sample(number, sample, shape, &hours).0;
                sums[usize::from(server.in_test)][after] += f64::from(drops);
            }
        }
        let [control, test] = sums.map(|[before, after]| after / before);
        assert!((control - 1.0).abs() < 0.01 && (test - EFFECT).abs() < 0.01, "{control} {test}");
    }
}
