//! The column of times: timestamps of any unit, dates, numbers since 1970 and text, as milliseconds since 1970 (UTC).
//!
//! Timestamps that are not said to be UTC are local times of the window's zone, as dates and text without a zone are.

use super::columns::{Column, Descriptor, Opened, stands_for_itself};
use crate::batch::NO_TIME;
use crate::instant::{fraction_ms, instant, local_ms, since_1970_ms};
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::data_type::{ByteArrayType, DoubleType, Int32Type, Int64Type, Int96Type};
use ::parquet::errors::ParquetError;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::HashMap;

/// A column of times.
pub(super) struct Moments {
    column: MomentsColumn,
    local: Option<LocalTimes>,
    zone: TimeZone,
}

enum MomentsColumn {
    /// Timestamps and numbers since 1970.
    Int64 {
        column: Column<Int64Type>,
        unit: Unit,
    },
    /// Days and nanoseconds, as older programs write them.
    Int96(Column<Int96Type>),
    Date(Column<Int32Type>),
    Seconds32(Column<Int32Type>),
    Double(Column<DoubleType>),
    Text(Column<ByteArrayType>),
}

/// The unit of a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Millis,
    Micros,
    Nanos,
    /// Told by its size.
    Unknown,
}

impl Moments {
    pub(super) fn fit(column: &Descriptor) -> bool {
        let plain = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let time_of_day = matches!(column.logical_type_ref(), Some(LogicalType::Time(_)));
        let time = match column.physical_type() {
            Type::INT32 | Type::INT64 | Type::INT96 | Type::DOUBLE | Type::BYTE_ARRAY => true,
            Type::BOOLEAN | Type::FLOAT | Type::FIXED_LEN_BYTE_ARRAY => false,
        };
        plain && time && !time_of_day && stands_for_itself(column)
    }

    pub(super) fn new(opened: Opened, zone: TimeZone) -> Result<Self, ParquetError> {
        let (unit, utc) = unit(&opened.descriptor);
        let date = opened.descriptor.logical_type_ref() == Some(&LogicalType::Date)
            || opened.descriptor.converted_type() == ConvertedType::DATE;
        let local = (!utc && zone != TimeZone::UTC).then(|| LocalTimes::new(zone.clone()));
        let column = match opened.descriptor.physical_type() {
            Type::INT64 => MomentsColumn::Int64 { column: Column::new(opened), unit },
            Type::INT96 => MomentsColumn::Int96(Column::new(opened)),
            Type::INT32 if date => MomentsColumn::Date(Column::new(opened)),
            Type::INT32 => MomentsColumn::Seconds32(Column::new(opened)),
            Type::DOUBLE => MomentsColumn::Double(Column::new(opened)),
            Type::BYTE_ARRAY => MomentsColumn::Text(Column::new(opened)),
            other => return Err(ParquetError::NYI(format!("times of the type {other:?}"))),
        };
        Ok(Moments { column, local, zone })
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Vec<i64>, ParquetError> {
        let mut times = Vec::with_capacity(rows);
        let times_ms = &mut times;
        let zone = &self.zone;
        match &mut self.column {
            MomentsColumn::Int64 { column, unit } => match unit {
                Unit::Millis => column.each(rows, |time| times_ms.push(time.copied().unwrap_or(NO_TIME)))?,
                Unit::Micros => column
                    .each(rows, |time| times_ms.push(time.map_or(NO_TIME, |time| time.div_euclid(1000))))?,
                Unit::Nanos => column.each(rows, |time| {
                    times_ms.push(time.map_or(NO_TIME, |time| time.div_euclid(1_000_000)))
                })?,
                Unit::Unknown => {
                    column.each(rows, |time| {
                        times_ms.push(time.map_or(NO_TIME, |time| since_1970_ms(*time)))
                    })?;
                }
            },
            MomentsColumn::Int96(column) => {
                column.each(rows, |time| times_ms.push(time.map_or(NO_TIME, |time| time.to_millis())))?;
            }
            MomentsColumn::Date(column) => {
                column.each(rows, |day| {
                    times_ms.push(day.map_or(NO_TIME, |day| i64::from(*day) * 86_400_000))
                })?;
            }
            MomentsColumn::Seconds32(column) => column.each(rows, |time| {
                times_ms.push(time.map_or(NO_TIME, |time| since_1970_ms(i64::from(*time))));
            })?,
            MomentsColumn::Double(column) => column.each(rows, |time| {
                times_ms.push(time.and_then(|time| fraction_ms(*time)).unwrap_or(NO_TIME));
            })?,
            MomentsColumn::Text(column) => column.each(rows, |time| {
                let text = time.and_then(|time| std::str::from_utf8(time.data()).ok());
                times_ms.push(text.and_then(|text| instant(text, zone)).unwrap_or(NO_TIME));
            })?,
        }
        if let Some(local) = &mut self.local {
            times.iter_mut().filter(|time| **time != NO_TIME).for_each(|time| *time = local.utc_ms(*time));
        }
        Ok(times)
    }
}

/// The unit of a column, and true if it is in UTC (numbers since 1970 always are).
fn unit(column: &Descriptor) -> (Unit, bool) {
    if column.logical_type_ref() == Some(&LogicalType::Date) {
        return (Unit::Unknown, false);
    }
    if let Some(LogicalType::Timestamp(timestamp)) = column.logical_type_ref() {
        let unit = match timestamp.unit {
            TimeUnit::MILLIS => Unit::Millis,
            TimeUnit::MICROS => Unit::Micros,
            TimeUnit::NANOS => Unit::Nanos,
        };
        return (unit, timestamp.is_adjusted_to_u_t_c);
    }
    match (column.converted_type(), column.physical_type()) {
        (ConvertedType::TIMESTAMP_MILLIS, _) => (Unit::Millis, true),
        (ConvertedType::TIMESTAMP_MICROS, _) => (Unit::Micros, true),
        (ConvertedType::DATE, _) => (Unit::Unknown, false),
        // INT96 too: Spark and Hive 3.1 write moments in UTC, and nothing in the file says otherwise.
        _ => (Unit::Unknown, true),
    }
}

/// Local times as if they were UTC, into UTC.
struct LocalTimes {
    zone: TimeZone,
    /// The offset to add, by quarter of an hour: offsets change at quarters.
    offsets_ms: HashMap<i64, i64>,
}

const QUARTER_MS: i64 = 15 * 60 * 1000;

/// Quarters of an hour that are remembered: more than a century.
const QUARTERS_LIMIT: usize = 4_000_000;

impl LocalTimes {
    fn new(zone: TimeZone) -> Self {
        LocalTimes { zone, offsets_ms: HashMap::new() }
    }

    fn utc_ms(&mut self, as_if_ms: i64) -> i64 {
        let quarter = as_if_ms.div_euclid(QUARTER_MS);
        if let Some(offset_ms) = self.offsets_ms.get(&quarter) {
            return as_if_ms.saturating_add(*offset_ms);
        }
        let Ok(as_if) = Timestamp::from_millisecond(as_if_ms) else { return NO_TIME };
        let Some(utc_ms) = local_ms(TimeZone::UTC.to_datetime(as_if), &self.zone) else { return NO_TIME };
        if self.offsets_ms.len() < QUARTERS_LIMIT {
            self.offsets_ms.insert(quarter, utc_ms - as_if_ms);
        }
        utc_ms
    }
}
