//! Reads the column of the keys or weights alone, and chooses rows by its values.

use std::borrow::Cow;
use std::io::Write;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int96};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use super::sources::{ParquetFiles, RowGroup, contained, too_short};
use crate::draw::{Strata, StratumSizes, WeightedReservoir};
use crate::input::{Column, number_key, text_key, weight};
use crate::random::Rng;
use crate::random_access::too_few_weighted;
use crate::sampler::{Amount, Sampler};
use crate::{Error, ErrorKind, Result};

/// The number of values that are decoded at once.
const DECODED: usize = 4096;

/// The ranks of rows that are chosen by their weights, ascending.
pub(super) fn weighted(
    sampler: &Sampler,
    sources: &ParquetFiles<'_>,
    column: &Column,
) -> Result<Vec<u64>> {
    let n = match sampler.amount {
        Amount::Exactly(n) | Amount::AtMost(n) => n,
        Amount::Share(_) => 0,
    };
    let picked = ParquetColumn::find(sources, column)?;
    picked.are_numbers()?;
    let mut buffer = Vec::new();
    let mut reservoir = WeightedReservoir::new(Rng::new(sampler.seed), n as usize);
    picked.each(|rank, cell| {
        if reservoir.wants(cell.weight(&mut buffer)?)? {
            reservoir.offer(rank);
        }
        Ok(())
    })?;
    let mut ranks = reservoir.into_items();
    if (ranks.len() as u64) < sampler.amount.least() {
        return Err(too_few_weighted(n, ranks.len(), sources.total));
    }
    ranks.sort_unstable();
    Ok(ranks)
}

/// The ranks of rows that are chosen of each stratum, ascending.
pub(super) fn stratified(
    sampler: &Sampler,
    sources: &ParquetFiles<'_>,
    column: &Column,
) -> Result<Vec<u64>> {
    let picked = ParquetColumn::find(sources, column)?;
    let mut buffer = Vec::new();
    let quota = sampler.quota(|| {
        let mut sizes = StratumSizes::default();
        picked.each(|_, cell| {
            sizes.count(cell.key(&mut buffer));
            Ok(())
        })?;
        Ok(sizes)
    })?;
    let mut strata = Strata::new(sampler.seed, quota);
    picked.each(|rank, cell| {
        strata.offer(cell.key(&mut buffer), || rank);
        Ok(())
    })?;
    let mut ranks = strata.into_items(column, sampler.least_of_each())?;
    ranks.sort_unstable();
    Ok(ranks)
}

/// A column that has at most one value in a row.
pub(super) struct ParquetColumn<'a> {
    sources: &'a ParquetFiles<'a>,
    column: &'a Column,
    number: usize,
    kind: ColumnType,
}

impl<'a> ParquetColumn<'a> {
    pub(super) fn find(
        sources: &'a ParquetFiles<'a>,
        column: &'a Column,
    ) -> Result<ParquetColumn<'a>> {
        let mut picked = ParquetColumn { sources, column, number: 0, kind: ColumnType::Other };
        let schema = sources.schema();
        let fields = schema.root_schema().get_fields();
        let field = match column {
            Column::Name(name) => fields.iter().position(|field| field.name() == name),
            Column::Number(number) => number.checked_sub(1).filter(|field| *field < fields.len()),
            Column::Several(_) => return Err(picked.bad("a key of Parquet is one column")),
        };
        let field = field.ok_or_else(|| picked.bad("there is none in the schema"))?;
        let number = (0..schema.num_columns())
            .find(|number| schema.get_column_root_idx(*number) == field)
            .filter(|number| {
                fields[field].is_primitive() && schema.column(*number).max_rep_level() == 0
            });
        picked.number = number.ok_or_else(|| {
            picked.bad("it is nested: a key or weight is a single value in each row")
        })?;
        picked.kind = ColumnType::from_column(&schema.column(picked.number))
            .map_err(|error| picked.named(0, error))?;
        Ok(picked)
    }

    /// Returns an error unless its values may be weights.
    pub(super) fn are_numbers(&self) -> Result<()> {
        if self.kind == ColumnType::Other { Err(self.bad("it holds no numbers")) } else { Ok(()) }
    }

    fn bad(&self, text: &str) -> Error {
        self.named(0, Error::new(ErrorKind::BadColumn, text))
    }

    fn named(&self, file: usize, error: Error) -> Error {
        self.sources.named(file, error.in_column(self.column))
    }

    /// Passes on the values with the ranks of their rows. No other column is read.
    fn each(&self, mut take: impl FnMut(u64, ColumnValue<'_>) -> Result<()>) -> Result<()> {
        for group in self.sources.groups() {
            self.each_of(&group, |row, cell| take(group.base + row, cell))?;
        }
        Ok(())
    }

    /// The same for one row group: with the numbers of its rows in it.
    pub(super) fn each_of(
        &self,
        group: &RowGroup,
        mut take: impl FnMut(u64, ColumnValue<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        let take: ValueConsumer<'_> = &mut |cell| {
            let taken = cell.and_then(|cell| take(done, cell));
            done += 1;
            taken.map_err(|error| self.named(group.file, error.in_record(group.row + done - 1)))
        };
        let reader = self.sources.reader(group.file, group.number, self.number);
        let read = reader.and_then(|reader| each_any(reader, self.kind, group.rows, take));
        read.map_err(|error| self.sources.explain(group.file, &error))?
    }
}

type ValueConsumer<'a> = &'a mut dyn FnMut(Result<ColumnValue<'_>>) -> Result<()>;

/// Keeps the error of the consumer apart from that of the library.
type ReadResult = Result<Result<()>, ParquetError>;

fn each_any(
    reader: ColumnReader,
    kind: ColumnType,
    rows: u64,
    take: ValueConsumer<'_>,
) -> ReadResult {
    use ColumnReader as R;
    match reader {
        R::BoolColumnReader(reader) => {
            each(reader, rows, take, |value| Ok(ColumnValue::Bool(*value)))
        }
        R::Int32ColumnReader(reader) => each(reader, rows, take, |value| Ok(kind.short(*value))),
        R::Int64ColumnReader(reader) => each(reader, rows, take, |value| Ok(kind.long(*value))),
        R::Int96ColumnReader(reader) => {
            each(reader, rows, take, |value| Ok(ColumnValue::Stamp(value)))
        }
        R::FloatColumnReader(reader) => {
            each(reader, rows, take, |value| Ok(ColumnValue::Single(*value)))
        }
        R::DoubleColumnReader(reader) => {
            each(reader, rows, take, |value| Ok(ColumnValue::Double(*value)))
        }
        R::ByteArrayColumnReader(reader) => {
            each(reader, rows, take, |value| kind.bytes(value.data()))
        }
        R::FixedLenByteArrayColumnReader(reader) => {
            each(reader, rows, take, |value| kind.bytes(value.data()))
        }
    }
}

fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: u64,
    take: ValueConsumer<'_>,
    cell: impl Fn(&T::T) -> Result<ColumnValue<'_>>,
) -> ReadResult {
    let (mut values, mut definitions) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        values.clear();
        definitions.clear();
        let wanted = (rows - done).min(DECODED as u64) as usize;
        let (read, ..) =
            contained(|| reader.read_records(wanted, Some(&mut definitions), None, &mut values))?;
        // A required column has a value and no levels in each row.
        let is_short = definitions.is_empty() && values.len() < read;
        if read == 0 || is_short {
            return Err(too_short(done));
        }
        let mut values = values.iter();
        for row in 0..read {
            let is_null = definitions.get(row) == Some(&0);
            let value = if is_null { None } else { Some(values.next().ok_or(too_short(done))?) };
            if let Err(error) = take(value.map_or(Ok(ColumnValue::Null), &cell)) {
                return Ok(Err(error));
            }
        }
        done += read as u64;
    }
    Ok(Ok(()))
}

/// More digits than fit into the integers that hold decimals.
const MOST_DIGITS: i32 = 38;

/// The logical type of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ColumnType {
    Signed,
    Unsigned,
    Real,
    Text,
    /// With this many digits after the point.
    Decimal(usize),
    /// Neither a number nor the text of one.
    Other,
}

impl ColumnType {
    fn from_column(column: &ColumnDescriptor) -> Result<ColumnType> {
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let is_decimal =
            matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        if is_decimal {
            let (digits, scale) = (column.type_precision(), column.type_scale());
            let places = usize::try_from(scale).ok().filter(|_| scale <= MOST_DIGITS);
            let places = places.filter(|_| digits <= MOST_DIGITS).ok_or_else(|| {
                let text =
                    format!("it has {digits} digits, {scale} of them after the point: too many");
                Error::new(ErrorKind::BadColumn, text)
            })?;
            return Ok(ColumnType::Decimal(places));
        }
        let is_unsigned = match logical {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(converted, ConvertedType::UINT_32 | ConvertedType::UINT_64),
        };
        Ok(match column.physical_type() {
            Type::INT32 | Type::INT64 if is_unsigned => ColumnType::Unsigned,
            Type::INT32 | Type::INT64 => ColumnType::Signed,
            Type::FLOAT | Type::DOUBLE => ColumnType::Real,
            Type::BYTE_ARRAY => ColumnType::Text,
            Type::BOOLEAN | Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => ColumnType::Other,
        })
    }

    fn short(self, value: i32) -> ColumnValue<'static> {
        match self {
            ColumnType::Unsigned => ColumnValue::Unsigned(u64::from(value as u32)),
            kind => kind.long(i64::from(value)),
        }
    }

    pub(super) fn long(self, value: i64) -> ColumnValue<'static> {
        match self {
            ColumnType::Unsigned => ColumnValue::Unsigned(value as u64),
            ColumnType::Decimal(places) => ColumnValue::Decimal(i128::from(value), places),
            _ => ColumnValue::Signed(value),
        }
    }

    pub(super) fn bytes(self, value: &[u8]) -> Result<ColumnValue<'_>> {
        let ColumnType::Decimal(places) = self else { return Ok(ColumnValue::Bytes(value)) };
        let Some(at) = size_of::<i128>().checked_sub(value.len()) else {
            let text = format!("a decimal of {} bytes, which has too many digits", value.len());
            return Err(Error::new(ErrorKind::BadColumn, text));
        };
        // The first byte has the sign.
        let is_negative = value.first().is_some_and(|byte| *byte >= 0x80);
        let mut wide = if is_negative { [0xff; 16] } else { [0; 16] };
        wide[at..].copy_from_slice(value);
        Ok(ColumnValue::Decimal(i128::from_be_bytes(wide), places))
    }
}

/// A value of a column, as the key of a stratum, which is that of the same value of JSON, or as a
/// weight.
#[derive(Clone, Copy)]
pub(super) enum ColumnValue<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    Decimal(i128, usize),
    Stamp(&'a Int96),
    Bytes(&'a [u8]),
}

impl ColumnValue<'_> {
    pub(super) fn key<'b>(&'b self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        let key = match self {
            ColumnValue::Bytes(bytes) => match text_key(bytes) {
                Cow::Borrowed(text) => return text,
                Cow::Owned(quoted) => quoted,
            },
            ColumnValue::Single(_) | ColumnValue::Double(_) | ColumnValue::Decimal(..) => {
                let text = String::from_utf8_lossy(self.text(buffer)).into_owned();
                number_key(&text).unwrap_or(text).into_bytes()
            }
            _ => return self.text(buffer),
        };
        *buffer = key;
        buffer
    }

    /// The JSON form of the value; a string without its quotes.
    fn text<'b>(&'b self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        buffer.clear();
        // Writing to memory cannot fail.
        let _ = match self {
            ColumnValue::Null => return b"null",
            ColumnValue::Bytes(bytes) => return bytes,
            ColumnValue::Bool(value) => write!(buffer, "{value}"),
            ColumnValue::Signed(value) => write!(buffer, "{value}"),
            ColumnValue::Unsigned(value) => write!(buffer, "{value}"),
            ColumnValue::Single(value) => write_real(widened(*value), buffer),
            ColumnValue::Double(value) => write_real(*value, buffer),
            ColumnValue::Decimal(value, places) => write!(buffer, "{}", decimal(*value, *places)),
            ColumnValue::Stamp(value) => write!(buffer, "{value}"),
        };
        buffer
    }

    pub(super) fn weight(&self, buffer: &mut Vec<u8>) -> Result<f64> {
        match self {
            ColumnValue::Signed(value) => Ok(*value as f64),
            ColumnValue::Unsigned(value) => Ok(*value as f64),
            ColumnValue::Single(value) => Ok(f64::from(*value)),
            ColumnValue::Double(value) => Ok(*value),
            ColumnValue::Null => {
                Err(Error::new(ErrorKind::BadWeight, "a weight of null: not a number"))
            }
            _ => weight(self.text(buffer)),
        }
    }
}

/// Writes a number as the reader of JSON Lines does: `null` for NaN and infinity.
fn write_real(value: f64, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    serde_json::to_writer(buffer, &value).map_err(Into::into)
}

/// With all of its digits: JSON has one kind of number.
fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

fn decimal(value: i128, places: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let point = if places > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    fn kind(column: &str) -> String {
        let schema = parse_message_type(&format!("message row {{ required {column}; }}")).unwrap();
        let kind = ColumnType::from_column(&SchemaDescriptor::new(Arc::new(schema)).column(0));
        kind.map_or_else(|error| error.to_string(), |kind| format!("{kind:?}"))
    }

    #[test]
    fn what_a_column_stands_for_follows_from_its_types() {
        for (column, expected) in [
            ("int32 a", "Signed"),
            ("int32 a (UINT_32)", "Unsigned"),
            ("int64 a (INTEGER(64,false))", "Unsigned"),
            ("int64 a (TIMESTAMP(MILLIS,true))", "Signed"),
            ("float a", "Real"),
            ("binary a (UTF8)", "Text"),
            ("binary a", "Text"),
            ("boolean a", "Other"),
            ("int96 a", "Other"),
            ("fixed_len_byte_array(2) a (FLOAT16)", "Other"),
            ("fixed_len_byte_array(5) a (DECIMAL(10,2))", "Decimal(2)"),
            ("int32 a (DECIMAL(9,0))", "Decimal(0)"),
        ] {
            assert_eq!(kind(column), expected, "{column}");
        }
        let wide = "it has 60 digits, 40 of them after the point: too many";
        assert_eq!(kind("fixed_len_byte_array(32) a (DECIMAL(60,40))"), wide);
    }

    #[test]
    fn a_cell_is_a_text_and_a_number() {
        let check = |cell: ColumnValue<'_>, text: &str, number: Option<f64>| {
            let mut buffer = Vec::new();
            assert_eq!(String::from_utf8_lossy(cell.text(&mut buffer)), text);
            assert_eq!(cell.weight(&mut buffer).ok(), number, "{text}");
        };
        check(ColumnType::Unsigned.short(-1), "4294967295", Some(4_294_967_295.0));
        check(
            ColumnType::Unsigned.long(-1),
            "18446744073709551615",
            Some(18_446_744_073_709_551_615.0),
        );
        check(ColumnType::Signed.short(-1), "-1", Some(-1.0));
        check(ColumnType::Decimal(2).short(-5), "-0.05", Some(-0.05));
        check(ColumnType::Decimal(0).long(70), "70", Some(70.0));
        check(ColumnType::Decimal(3).bytes(&[0x01, 0x00]).unwrap(), "0.256", Some(0.256));
        check(ColumnType::Decimal(1).bytes(&[0xff]).unwrap(), "-0.1", Some(-0.1));
        check(ColumnType::Decimal(1).bytes(&[]).unwrap(), "0.0", Some(0.0));
        check(ColumnType::Text.bytes(b" 2.5").unwrap(), " 2.5", Some(2.5));
        check(ColumnType::Text.bytes(b"\"x").unwrap(), "\"x", None);
        check(ColumnValue::Double(0.1), "0.1", Some(0.1));
        check(ColumnValue::Double(2e-5), "0.00002", Some(2e-5));
        check(ColumnValue::Double(1e16), "1e+16", Some(1e16));
        check(ColumnValue::Double(-0.0), "-0.0", Some(-0.0));
        check(ColumnValue::Double(f64::INFINITY), "null", Some(f64::INFINITY));
        check(ColumnValue::Single(0.5), "0.5", Some(0.5));
        check(ColumnValue::Single(0.1), "0.1", Some(f64::from(0.1f32)));
        check(ColumnValue::Single(1e15), "1000000000000000.0", Some(f64::from(1e15f32)));
        check(ColumnValue::Single(3e20), "3e+20", Some(f64::from(3e20f32)));
        check(ColumnValue::Bool(true), "true", None);
        check(ColumnValue::Null, "null", None);
        for cell in [
            ColumnValue::Double(f64::NAN),
            ColumnValue::Single(f32::NAN),
            ColumnValue::Single(f32::INFINITY),
        ] {
            assert_eq!(cell.text(&mut Vec::new()), b"null");
        }
        for (cell, key) in [
            (ColumnValue::Null, "null"),
            (ColumnValue::Bytes(b"null"), "\"null\""),
            (ColumnValue::Bytes(b"1"), "\"1\""),
            (ColumnValue::Bytes(b"a"), "a"),
            (ColumnValue::Signed(1), "1"),
            (ColumnValue::Double(1.0), "1"),
            (ColumnValue::Double(-0.0), "0"),
            (ColumnValue::Double(1e16), "10000000000000000"),
            (ColumnValue::Single(f32::NAN), "null"),
            (ColumnValue::Decimal(250, 2), "2.5"),
        ] {
            assert_eq!(String::from_utf8_lossy(cell.key(&mut Vec::new())), key);
        }
        assert!(ColumnType::Decimal(1).bytes(&[0; 17]).is_err());
        assert_eq!(decimal(i128::MIN, 38), "-1.70141183460469231731687303715884105728");
    }
}
