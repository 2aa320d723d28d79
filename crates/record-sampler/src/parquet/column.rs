//! Reads the column of the keys or weights alone, and chooses rows by it.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;

use super::cell::{Cell, Kind};
use super::failure::contained;
use super::sources::{Group, Sources, too_short};
use crate::draw::{Sizes, Strata, WeightedReservoir};
use crate::input::Column;
use crate::random::Rng;
use crate::random_access::too_few_weighted;
use crate::sampler::{Amount, Sampler};
use crate::{Error, ErrorKind, Result};

/// The number of values that are decoded at once.
const DECODED: usize = 4096;

/// The ranks of rows that are chosen by their weights, ascending.
pub(super) fn weighted(
    sampler: &Sampler,
    sources: &Sources<'_>,
    column: &Column,
) -> Result<Vec<u64>> {
    let n = match sampler.amount {
        Amount::Exactly(n) | Amount::AtMost(n) => n,
        Amount::Share(_) => 0,
    };
    let picked = Picked::find(sources, column)?;
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
    sources: &Sources<'_>,
    column: &Column,
) -> Result<Vec<u64>> {
    let picked = Picked::find(sources, column)?;
    let mut buffer = Vec::new();
    let quota = sampler.quota(|| {
        let mut sizes = Sizes::default();
        picked.each(|_, cell| {
            sizes.count(cell.text(&mut buffer));
            Ok(())
        })?;
        Ok(sizes)
    })?;
    let mut strata = Strata::new(sampler.seed, quota);
    picked.each(|rank, cell| {
        strata.offer(cell.text(&mut buffer), || rank);
        Ok(())
    })?;
    let mut ranks = strata.into_items(column, sampler.least_of_each())?;
    ranks.sort_unstable();
    Ok(ranks)
}

/// A column that has at most one value in a row.
pub(super) struct Picked<'a> {
    sources: &'a Sources<'a>,
    column: &'a Column,
    number: usize,
    kind: Kind,
}

impl<'a> Picked<'a> {
    pub(super) fn find(sources: &'a Sources<'a>, column: &'a Column) -> Result<Picked<'a>> {
        let mut picked = Picked { sources, column, number: 0, kind: Kind::Other };
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
        picked.kind = Kind::from_column(&schema.column(picked.number))
            .map_err(|error| picked.named(0, error))?;
        Ok(picked)
    }

    /// An error unless its values may be weights.
    pub(super) fn are_numbers(&self) -> Result<()> {
        if self.kind == Kind::Other { Err(self.bad("it holds no numbers")) } else { Ok(()) }
    }

    fn bad(&self, text: &str) -> Error {
        self.named(0, Error::new(ErrorKind::BadColumn, text))
    }

    fn named(&self, file: usize, error: Error) -> Error {
        self.sources.named(file, error.in_column(self.column))
    }

    /// Passes on the values with the ranks of their rows. No other column is read.
    fn each(&self, mut take: impl FnMut(u64, Cell<'_>) -> Result<()>) -> Result<()> {
        for group in self.sources.groups() {
            self.each_of(&group, |row, cell| take(group.base + row, cell))?;
        }
        Ok(())
    }

    /// The same for one row group: with the numbers of its rows in it.
    pub(super) fn each_of(
        &self,
        group: &Group,
        mut take: impl FnMut(u64, Cell<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        let take: Take<'_> = &mut |cell| {
            let taken = cell.and_then(|cell| take(done, cell));
            done += 1;
            taken.map_err(|error| self.named(group.file, error.in_record(group.row + done - 1)))
        };
        let reader = self.sources.reader(group.file, group.number, self.number);
        let read = reader.and_then(|reader| each_any(reader, self.kind, group.rows, take));
        read.map_err(|error| self.sources.explain(group.file, &error))?
    }
}

type Take<'a> = &'a mut dyn FnMut(Result<Cell<'_>>) -> Result<()>;

/// Keeps the error of the consumer apart from that of the library.
type Read = Result<Result<()>, ParquetError>;

fn each_any(reader: ColumnReader, kind: Kind, rows: u64, take: Take<'_>) -> Read {
    use ColumnReader as R;
    match reader {
        R::BoolColumnReader(reader) => each(reader, rows, take, |value| Ok(Cell::Bool(*value))),
        R::Int32ColumnReader(reader) => each(reader, rows, take, |value| Ok(kind.short(*value))),
        R::Int64ColumnReader(reader) => each(reader, rows, take, |value| Ok(kind.long(*value))),
        R::Int96ColumnReader(reader) => each(reader, rows, take, |value| Ok(Cell::Stamp(value))),
        R::FloatColumnReader(reader) => each(reader, rows, take, |value| Ok(Cell::Single(*value))),
        R::DoubleColumnReader(reader) => each(reader, rows, take, |value| Ok(Cell::Double(*value))),
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
    take: Take<'_>,
    cell: impl Fn(&T::T) -> Result<Cell<'_>>,
) -> Read {
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
            if let Err(error) = take(value.map_or(Ok(Cell::Null), &cell)) {
                return Ok(Err(error));
            }
        }
        done += read as u64;
    }
    Ok(Ok(()))
}
