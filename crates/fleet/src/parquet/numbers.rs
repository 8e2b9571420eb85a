//! Columns of the metric and the load: whole numbers, fractions and decimals as `f64`, NaN where there is null.

use super::columns::{Column, Descriptor, Opened, decimal};
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::data_type::{
    ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use ::parquet::errors::ParquetError;

/// A column of numbers.
pub(super) struct Numbers {
    column: NumbersColumn,
    /// The divisor of the stored numbers: of a decimal, a power of ten.
    divisor: f64,
    unsigned: bool,
}

enum NumbersColumn {
    Double(Column<DoubleType>),
    Float(Column<FloatType>),
    Int32(Column<Int32Type>),
    Int64(Column<Int64Type>),
    /// Decimals of more digits than a machine's whole number has, as is the next.
    Bytes(Column<ByteArrayType>),
    FixedBytes(Column<FixedLenByteArrayType>),
}

/// So many digits fit into 128 bits.
const DIGITS_MAX: i32 = 38;

impl Numbers {
    pub(super) fn fit(column: &Descriptor) -> bool {
        let plain = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let number = match column.physical_type() {
            Type::DOUBLE | Type::FLOAT => true,
            Type::INT32 | Type::INT64 => !matches!(
                column.logical_type_ref(),
                Some(LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_))
            ),
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => {
                decimal(column).is_some_and(|decimal| decimal.precision <= DIGITS_MAX)
            }
            Type::BOOLEAN | Type::INT96 => false,
        };
        plain && number
    }

    pub(super) fn new(opened: Opened) -> Result<Self, ParquetError> {
        let column = &opened.descriptor;
        let divisor = decimal(column).map_or(1.0, |decimal| 10_f64.powi(decimal.scale));
        let unsigned = matches!(column.logical_type_ref(), Some(LogicalType::Integer(whole)) if !whole.is_signed)
            || matches!(column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
        let column = match column.physical_type() {
            Type::DOUBLE => NumbersColumn::Double(Column::new(opened)),
            Type::FLOAT => NumbersColumn::Float(Column::new(opened)),
            Type::INT32 => NumbersColumn::Int32(Column::new(opened)),
            Type::INT64 => NumbersColumn::Int64(Column::new(opened)),
            Type::BYTE_ARRAY => NumbersColumn::Bytes(Column::new(opened)),
            Type::FIXED_LEN_BYTE_ARRAY => NumbersColumn::FixedBytes(Column::new(opened)),
            other => return Err(ParquetError::NYI(format!("numbers of the type {other:?}"))),
        };
        Ok(Numbers { column, divisor, unsigned })
    }

    pub(super) fn next(&mut self, rows: usize) -> Result<Vec<f64>, ParquetError> {
        let mut numbers = Vec::with_capacity(rows);
        let (divisor, unsigned) = (self.divisor, self.unsigned);
        match &mut self.column {
            NumbersColumn::Double(column) => {
                column.each(rows, |value| numbers.push(value.copied().unwrap_or(f64::NAN)))?;
            }
            NumbersColumn::Float(column) => {
                column.each(rows, |value| numbers.push(value.map_or(f64::NAN, |value| f64::from(*value))))?;
            }
            NumbersColumn::Int32(column) => column.each(rows, |value| {
                let number =
                    value.map(|value| if unsigned { f64::from(*value as u32) } else { f64::from(*value) });
                numbers.push(number.map_or(f64::NAN, |number| number / divisor));
            })?,
            NumbersColumn::Int64(column) => column.each(rows, |value| {
                let number = value.map(|value| if unsigned { *value as u64 as f64 } else { *value as f64 });
                numbers.push(number.map_or(f64::NAN, |number| number / divisor));
            })?,
            NumbersColumn::Bytes(column) => column.each(rows, |value| {
                numbers
                    .push(value.and_then(|value| unscaled(value.data())).map_or(f64::NAN, |it| it / divisor));
            })?,
            NumbersColumn::FixedBytes(column) => column.each(rows, |value| {
                numbers
                    .push(value.and_then(|value| unscaled(value.data())).map_or(f64::NAN, |it| it / divisor));
            })?,
        }
        Ok(numbers)
    }
}

/// A decimal without its point: two's complement, the highest byte first. None of no bytes at all.
fn unscaled(bytes: &[u8]) -> Option<f64> {
    let (first, rest) = bytes.split_first()?;
    let sign_and_highest = i128::from(i8::from_be_bytes([*first]));
    // More than sixteen bytes begin with copies of the sign: these fall out on the left.
    Some(rest.iter().fold(sign_and_highest, |number, byte| number << 8 | i128::from(*byte)) as f64)
}
