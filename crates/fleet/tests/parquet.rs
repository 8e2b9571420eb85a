//! Parquet files as several programs write them, held against what the same samples give by hand; and damaged ones.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use jiff::tz::TimeZone;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use plumb_fleet::{
    FleetColumns, FleetFiles, FleetGroups, FleetInputError, FleetInterval, FleetRequest, FleetSource,
    FleetWindow, GroupNames, Sampling, read,
};
use plumb_model::fleet::{FleetGroup, FleetTable, SampleKind};
use proptest::prelude::*;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// 1 March 2026, UTC.
const START_MS: i64 = 1_772_323_200_000;
const STEP_MS: i64 = 3_600_000;
const SERVERS: i64 = 3;
const SAMPLES: i64 = 72;

/// A column's values; `None` is null.
enum Values {
    Text(Vec<Option<String>>),
    Double(Vec<Option<f64>>),
    Float(Vec<Option<f64>>),
    Int32(Vec<Option<i64>>),
    Int64(Vec<Option<i64>>),
    Int96(Vec<Option<i64>>),
    /// Whole numbers as so many bytes, the highest first.
    Bytes(Vec<Option<i64>>),
    FixedBytes(Vec<Option<i64>>, usize),
}

/// Writes a file with so many rows in a group.
fn write(
    path: &Path,
    schema: &str,
    columns: &[Values],
    group_rows: usize,
    properties: WriterPropertiesBuilder,
) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let rows = (SERVERS * SAMPLES) as usize;
    for from in (0..rows).step_by(group_rows) {
        let range = from..rows.min(from + group_rows);
        let mut group = writer.next_row_group().unwrap();
        for column in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            macro_rules! put {
                ($type:ty, $values:expr, $convert:expr) => {{
                    let values = &$values[range.clone()];
                    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                    let dense: Vec<<$type as DataType>::T> = values.iter().flatten().map($convert).collect();
                    writer.typed::<$type>().write_batch(&dense, Some(&levels), None).unwrap();
                }};
            }
            match column {
                Values::Text(values) => put!(ByteArrayType, values, |text| ByteArray::from(text.as_str())),
                Values::Double(values) => put!(DoubleType, values, |value| *value),
                Values::Float(values) => put!(FloatType, values, |value| *value as f32),
                Values::Int32(values) => put!(Int32Type, values, |value| *value as i32),
                Values::Int64(values) => put!(Int64Type, values, |value| *value),
                Values::Int96(values) => put!(Int96Type, values, |value| int96(*value)),
                Values::Bytes(values) => {
                    put!(ByteArrayType, values, |value| ByteArray::from(big_endian(*value, 2)))
                }
                Values::FixedBytes(values, width) => put!(FixedLenByteArrayType, values, |value| {
                    FixedLenByteArray::from(big_endian(*value, *width))
                }),
            }
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A number in two's complement, the highest byte first.
fn big_endian(value: i64, width: usize) -> Vec<u8> {
    let wide = [[if value < 0 { 0xff } else { 0 }; 24].as_slice(), &value.to_be_bytes()].concat();
    wide[wide.len() - width..].to_vec()
}

/// Milliseconds since 1970 as nanoseconds of a Julian day.
fn int96(time_ms: i64) -> Int96 {
    let (day, nanos) =
        (time_ms.div_euclid(86_400_000) + 2_440_588, time_ms.rem_euclid(86_400_000) * 1_000_000);
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, day as u32);
    value
}

/// Rows in the order of time: number of the sample, server, whether there is a value.
fn rows() -> impl Iterator<Item = (i64, i64)> {
    (0..SAMPLES).flat_map(|sample| (0..SERVERS).map(move |server| (sample, server)))
}

fn server_names() -> Values {
    Values::Text(rows().map(|(_, server)| Some(format!("server-{server}"))).collect())
}

fn times(each: impl Fn(i64) -> i64) -> Vec<Option<i64>> {
    rows().map(|(sample, _)| Some(each(START_MS + sample * STEP_MS))).collect()
}

/// 1 for server-0, 2 for server-1 ...; null for every eighth sample of server-2.
fn drops(row: (i64, i64)) -> Option<f64> {
    let (sample, server) = row;
    (server != 2 || sample % 8 != 0).then_some(server as f64 + 1.0)
}

fn request(path: &Path) -> FleetRequest {
    let columns = FleetColumns {
        server: "server".to_owned(),
        part: None,
        time: "time".to_owned(),
        metric: "drops".to_owned(),
        load: None,
        group: None,
        site: None,
        hardware: None,
    };
    FleetRequest {
        source: FleetSource::Files(FleetFiles { paths: vec![path.to_owned()], columns }),
        groups: FleetGroups::None,
        window: FleetWindow {
            changed_at: None,
            interval: FleetInterval::Days,
            zone: TimeZone::UTC,
            from: None,
            until: None,
        },
        metric_kind: Sampling::Stated(SampleKind::Increments),
        load_kind: Sampling::Stated(SampleKind::Increments),
        step_s: None,
    }
}

fn table(request: &FleetRequest) -> Result<FleetTable, FleetInputError> {
    read(request, &mut |_| ControlFlow::Continue(()))
}

/// Three whole days of all servers; server-2 lacks one sample in eight.
fn assert_right(table: &FleetTable, what: &str) {
    let start_s = START_MS / 1000;
    assert_eq!(table.intervals_start_s, [start_s, start_s + 86_400, start_s + 172_800], "{what}");
    let metric: Vec<_> = table.servers.iter().map(|server| server.metric.as_slice()).collect();
    assert_eq!(metric, [[Some(24.0); 3], [Some(48.0); 3], [Some(72.0); 3]], "{what}");
    assert_eq!(table.servers[2].metric_basis.covered, [0.875; 3], "{what}");
    let missing = table.exclusions.iter().find(|left| left.what.contains("empty or no number")).unwrap();
    assert_eq!((missing.count, missing.example.as_str()), (9, "server-2 at 2026-03-01T00:00:00Z"), "{what}");
}

#[test]
fn times_and_numbers_of_every_type_give_the_same_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let time_columns = [
        ("int64 time (timestamp(millis,true))", Values::Int64(times(|ms| ms))),
        ("int64 time (timestamp(micros,false))", Values::Int64(times(|ms| ms * 1000 + 7))),
        ("int64 time (timestamp(nanos,true))", Values::Int64(times(|ms| ms * 1_000_000))),
        ("int64 time (timestamp_micros)", Values::Int64(times(|ms| ms * 1000))),
        ("int64 time", Values::Int64(times(|ms| ms / 1000))),
        ("int96 time", Values::Int96(times(|ms| ms))),
        ("int32 time", Values::Int32(times(|ms| ms / 1000))),
        (
            "double time",
            Values::Double(
                rows().map(|(sample, _)| Some((START_MS + sample * STEP_MS) as f64 / 1e3)).collect(),
            ),
        ),
        (
            "binary time (string)",
            Values::Text(
                rows()
                    .map(|(sample, _)| Some(format!("2026-03-{:02} {:02}:00", 1 + sample / 24, sample % 24)))
                    .collect(),
            ),
        ),
    ];
    for (time, values) in time_columns {
        let schema = format!(
            "message m {{ optional {time}; optional binary server (string); optional double drops; }}"
        );
        let columns = [values, server_names(), Values::Double(rows().map(drops).collect())];
        write(&path, &schema, &columns, 100, WriterProperties::builder());
        assert_right(&table(&request(&path)).unwrap(), time);
    }
    let whole: Vec<Option<i64>> = rows().map(|row| drops(row).map(|drops| drops as i64)).collect();
    let hundredths: Vec<Option<i64>> = whole.iter().map(|value| value.map(|value| value * 100)).collect();
    let number_columns = [
        ("float drops", Values::Float(rows().map(drops).collect())),
        ("int32 drops (integer(16,false))", Values::Int32(whole.clone())),
        ("int64 drops (integer(64,false))", Values::Int64(whole.clone())),
        ("int64 drops (decimal(18,2))", Values::Int64(hundredths.clone())),
        ("binary drops (decimal(30,2))", Values::Bytes(hundredths.clone())),
        ("fixed_len_byte_array(3) drops (decimal(5,2))", Values::FixedBytes(hundredths.clone(), 3)),
        ("fixed_len_byte_array(16) drops (decimal(38,2))", Values::FixedBytes(hundredths.clone(), 16)),
        ("fixed_len_byte_array(20) drops (decimal(38,2))", Values::FixedBytes(hundredths, 20)),
    ];
    for (number, values) in number_columns {
        let schema =
            format!("message m {{ optional {number}; optional int64 time; optional int32 server; }}");
        let servers = Values::Int32(rows().map(|(_, server)| Some(server)).collect());
        write(
            &path,
            &schema,
            &[values, Values::Int64(times(|ms| ms)), servers],
            1000,
            WriterProperties::builder(),
        );
        let table = table(&request(&path)).unwrap();
        let names: Vec<&str> = table.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["0", "1", "2"], "{number}");
        assert_eq!(table.servers[2].metric, [Some(72.0); 3], "{number}");
    }
}

#[test]
fn every_codec_encoding_and_size_of_row_groups_gives_the_same_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let schema = "message m { optional binary server (string); optional int64 time (timestamp(millis,true)); optional double drops; }";
    let columns =
        [server_names(), Values::Int64(times(|ms| ms)), Values::Double(rows().map(drops).collect())];
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let column = |name: &str| parquet::schema::types::ColumnPath::from(name);
    let kinds = [
        ("dictionary", WriterProperties::builder()),
        ("snappy", WriterProperties::builder().set_compression(Compression::SNAPPY)),
        ("zstd", WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))),
        ("gzip", WriterProperties::builder().set_compression(Compression::GZIP(Default::default()))),
        ("lz4", WriterProperties::builder().set_compression(Compression::LZ4_RAW)),
        ("plain", plain()),
        ("version 2", plain().set_writer_version(WriterVersion::PARQUET_2_0)),
        (
            "deltas",
            plain()
                .set_column_encoding(column("time"), Encoding::DELTA_BINARY_PACKED)
                .set_column_encoding(column("server"), Encoding::DELTA_BYTE_ARRAY),
        ),
        (
            "a dictionary that is given up",
            WriterProperties::builder()
                .set_dictionary_page_size_limit(16)
                .set_data_page_row_count_limit(7)
                .set_write_batch_size(4),
        ),
    ];
    for (what, properties) in kinds {
        for group_rows in [1000, 100, 1] {
            write(&path, schema, &columns, group_rows, properties.clone());
            assert_right(&table(&request(&path)).unwrap(), &format!("{what}, {group_rows} rows a group"));
        }
    }
}

#[test]
fn local_timestamps_are_of_the_zone_and_groups_come_from_a_column() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let schema = "message m { optional binary server (string); optional int64 time (timestamp(micros,false)); \
                  optional double drops; optional binary group (string); }";
    let groups =
        rows().map(|(_, server)| ["old", "new", "other"].get(server as usize).map(|name| (*name).to_owned()));
    let columns = [
        server_names(),
        Values::Int64(times(|ms| ms * 1000)),
        Values::Double(rows().map(|(_, server)| Some(server as f64)).collect()),
        Values::Text(groups.collect()),
    ];
    write(&path, schema, &columns, 50, WriterProperties::builder());
    let mut request = request(&path);
    request.window.zone = TimeZone::get("America/New_York").unwrap();
    request.groups =
        FleetGroups::Source { names: GroupNames { control: "old".to_owned(), test: "new".to_owned() } };
    let FleetSource::Files(files) = &mut request.source else { unreachable!() };
    files.columns.group = Some("group".to_owned());
    let table = table(&request).unwrap();
    // Midnight in New York is 05:00 in UTC in winter.
    assert_eq!(table.intervals_start_s[0], START_MS / 1000 + 5 * 3600);
    assert_eq!(table.intervals_start_s.len(), 3);
    let groups: Vec<_> = table.servers.iter().map(|server| server.group).collect();
    assert_eq!(groups, [Some(FleetGroup::Control), Some(FleetGroup::Test)]);
}

#[test]
fn columns_that_are_not_there_or_of_another_type_are_errors_that_say_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let schema = "message m { optional binary server (string); optional int64 time (timestamp(millis,true)); optional double drops; }";
    let columns =
        [server_names(), Values::Int64(times(|ms| ms)), Values::Double(rows().map(drops).collect())];
    write(&path, schema, &columns, 1000, WriterProperties::builder());
    let error = |change: fn(&mut FleetColumns)| {
        let mut request = request(&path);
        let FleetSource::Files(files) = &mut request.source else { unreachable!() };
        change(&mut files.columns);
        table(&request).unwrap_err().to_string()
    };
    let missing = error(|columns| columns.load = Some("sent".to_owned()));
    assert!(
        missing.ends_with("no column \"sent\" for the load; it has \"server\", \"time\", \"drops\""),
        "{missing}"
    );
    let text = error(|columns| columns.metric = "server".to_owned());
    assert!(text.contains("\"server\" has the type String; expected a number for the metric"), "{text}");
    let time = error(|columns| columns.metric = "time".to_owned());
    assert!(time.contains("expected a number for the metric"), "{time}");
    let number = error(|columns| columns.server = "drops".to_owned());
    assert!(
        number.contains("has the type DOUBLE; expected a string or a whole number for the server"),
        "{number}"
    );
}

/// As Hive and old versions of Spark write it.
#[test]
fn decimals_have_their_point_wherever_they_stand_and_negative_ones_their_sign() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let times = || Values::Int64(times(|ms| ms));
    let level = || rows().map(|(_, server)| Some(-150 * server)).collect::<Vec<_>>();
    for (number, values) in [
        ("int64 drops (decimal(18,2))", Values::Int64(level())),
        ("binary drops (decimal(20,2))", Values::Bytes(level())),
        ("fixed_len_byte_array(9) drops (decimal(20,2))", Values::FixedBytes(level(), 9)),
    ] {
        let schema = format!(
            "message m {{ optional {number}; optional int64 time; optional binary server (string); }}"
        );
        write(&path, &schema, &[values, times(), server_names()], 100, WriterProperties::builder());
        let mut request = request(&path);
        request.metric_kind = Sampling::Stated(SampleKind::Level);
        let table = table(&request).unwrap();
        assert_eq!(table.servers[1].metric, [Some(-1.5); 3], "{number}");
        let FleetSource::Files(files) = &mut request.source else { unreachable!() };
        files.columns.server = "drops".to_owned();
        let error = self::table(&request).unwrap_err().to_string();
        assert!(error.contains("has the type DECIMAL(") && error.contains("for the server"), "{error}");
    }
    let wide = "message m { optional fixed_len_byte_array(20) drops (decimal(46,2)); optional int64 time; optional binary server (string); }";
    write(
        &path,
        wide,
        &[Values::FixedBytes(level(), 20), times(), server_names()],
        100,
        WriterProperties::builder(),
    );
    let error = table(&request(&path)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("has the type DECIMAL(46, 2); expected a number of at most 38 digits for the metric"),
        "{error}"
    );
}

/// Written by pyarrow with `write_page_checksum`; this crate's writer has no checksums.
const WITH_CHECKSUMS: &[u8] = include_bytes!("fixtures/page-checksums.parquet");

#[test]
fn one_flipped_bit_of_a_page_with_a_checksum_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flipped.parquet");
    std::fs::write(&path, WITH_CHECKSUMS).unwrap();
    let whole = table(&request(&path)).unwrap();
    assert_eq!(whole.servers[0].metric, [Some(4.0); 3]);
    // Drops of the second server at midnight; all but one bit stays as it is.
    let value = 2.0_f64.to_le_bytes();
    let at = WITH_CHECKSUMS.windows(value.len()).position(|bytes| bytes == value).unwrap();
    let mut flipped = WITH_CHECKSUMS.to_vec();
    flipped[at + 6] ^= 1 << 2;
    std::fs::write(&path, flipped).unwrap();
    let error = table(&request(&path)).unwrap_err().to_string();
    assert!(
        error.contains("flipped.parquet is not a whole Parquet file") && error.contains("CRC"),
        "{error}"
    );
}

#[test]
fn an_encrypted_footer_or_column_is_called_so_and_a_plain_column_beside_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret.parquet");
    let schema = "message m { optional binary server (string); optional int64 time (timestamp(millis,true)); optional double drops; optional double sent; }";
    let key = || b"0123456789abcdef".to_vec();
    let drops = || Values::Double(rows().map(drops).collect());
    let written = |encryption| {
        let properties = WriterProperties::builder().with_file_encryption_properties(encryption);
        write(
            &path,
            schema,
            &[server_names(), Values::Int64(times(|ms| ms)), drops(), drops()],
            100,
            properties,
        );
        table(&request(&path))
    };
    let footer = FileEncryptionProperties::builder(key()).build().unwrap();
    let error = written(footer).unwrap_err().to_string();
    assert!(
        error
            .ends_with("secret.parquet is a Parquet file whose footer is encrypted, and is not read as such"),
        "{error}"
    );
    let of_column = |column: &str| {
        let plain = FileEncryptionProperties::builder(key()).with_plaintext_footer(true);
        plain.with_column_key(column, key()).build().unwrap()
    };
    let error = written(of_column("drops")).unwrap_err().to_string();
    assert!(
        error.ends_with("secret.parquet: the column drops is encrypted, and columns are read without keys"),
        "{error}"
    );
    assert_right(&written(of_column("sent")).unwrap(), "another column is encrypted");
}

/// A small file's bytes.
fn small_file() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let schema = "message m { optional binary server (string); optional int64 time (timestamp(millis,true)); optional double drops; }";
    let columns =
        [server_names(), Values::Int64(times(|ms| ms)), Values::Double(rows().map(drops).collect())];
    write(&path, schema, &columns, 80, WriterProperties::builder().set_compression(Compression::SNAPPY));
    std::fs::read(&path).unwrap()
}

/// The codec of a column is behind its path in the file's last part.
#[test]
fn a_codec_that_is_not_read_is_called_so_and_the_file_not_damaged() {
    let mut bytes = small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("brotli.parquet");
    let before = [b"\x19\x18\x05drops\x15".as_slice(), &[2]].concat();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&before)).collect();
    assert_eq!(places.len(), 3, "one for each row group");
    places.into_iter().for_each(|at| bytes[at + before.len() - 1] = 8);
    std::fs::write(&path, &bytes).unwrap();
    let error = table(&request(&path)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("brotli.parquet: the column drops is compressed with Brotli, which is not read"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_cut_short_anywhere_is_an_error() {
    let whole = small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.parquet");
    for length in (4..whole.len()).step_by(37) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = table(&request(&path)).unwrap_err().to_string();
        assert!(error.contains("cut.parquet is not a whole Parquet file"), "{length}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn changed_bytes_give_a_table_or_an_error(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = small_file();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("changed.parquet");
        std::fs::write(&path, bytes).unwrap();
        let _ = table(&request(&path));
    }
}
