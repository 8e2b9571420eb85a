//! Columns of the metric and the load: whole numbers, fractions and decimals as `f64`, NaN where there is null.

use super::columns::{Column, Descriptor, Opened};
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::data_type::{DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;

/// A column of numbers.
pub(super) struct Numbers {
    column: NumbersColumn,
    /// What the stored numbers are divided by: of a decimal, a power of ten.
    divisor: f64,
    unsigned: bool,
}

enum NumbersColumn {
    Double(Column<DoubleType>),
    Float(Column<FloatType>),
    Int32(Column<Int32Type>),
    Int64(Column<Int64Type>),
}

impl Numbers {
    pub(super) fn fit(column: &Descriptor) -> bool {
        let plain = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let number = match column.physical_type() {
            Type::DOUBLE | Type::FLOAT => true,
            Type::INT32 | Type::INT64 => !matches!(
                column.logical_type_ref(),
                Some(LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_))
            ),
            _ => false,
        };
        plain && number
    }

    pub(super) fn new(opened: Opened) -> Result<Self, ParquetError> {
        let column = &opened.0;
        let divisor = match column.logical_type_ref() {
            Some(LogicalType::Decimal(decimal)) => 10_f64.powi(decimal.scale),
            _ => 1.0,
        };
        let unsigned = matches!(column.logical_type_ref(), Some(LogicalType::Integer(whole)) if !whole.is_signed)
            || matches!(column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
        let column = match column.physical_type() {
            Type::DOUBLE => NumbersColumn::Double(Column::new(opened)),
            Type::FLOAT => NumbersColumn::Float(Column::new(opened)),
            Type::INT32 => NumbersColumn::Int32(Column::new(opened)),
            Type::INT64 => NumbersColumn::Int64(Column::new(opened)),
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
        }
        Ok(numbers)
    }
}
