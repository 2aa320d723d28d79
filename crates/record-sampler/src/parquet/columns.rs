//! Copies the columns of chosen rows, one after the other, into a row group of each output.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

use super::failure::contained;
use super::row_group_writer::{Writer, failed};
use super::sources::{Sources, too_short};
use crate::Result;

/// The number of values and levels that are held before they are written.
const HELD: usize = 4096;

/// Chosen rows of a row group, ascending, each with the index of its output.
pub(super) struct ChosenRows {
    pub(super) file: usize,
    pub(super) group: usize,
    pub(super) rows: Vec<(u64, usize)>,
}

/// The column that is being written, for each output that gets some of these rows.
type Columns<'a> = [Option<SerializedColumnWriter<'a>>];

/// Writes a row group of these rows to each output that is due. Each page is read once for all of
/// them.
pub(super) fn write(
    writers: &mut [Writer<'_, '_>],
    sources: &Sources<'_>,
    chosen: &[ChosenRows],
    is_due: &[bool],
) -> Result<()> {
    let due = writers.iter_mut().zip(is_due);
    let groups = due
        .map(|(writer, is_due)| is_due.then(|| contained(|| writer.next_row_group())).transpose());
    let mut groups = groups.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    for number in 0..sources.schema().num_columns() {
        let columns = groups.iter_mut().map(|group| match group {
            Some(group) => contained(|| group.next_column()),
            None => Ok(None),
        });
        let mut columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for chosen in chosen {
            let reader = sources.reader(chosen.file, chosen.group, number);
            let copied = reader.and_then(|reader| copy_any(reader, &mut columns, &chosen.rows));
            copied.map_err(|error| sources.explain(chosen.file, &error))?;
        }
        for column in columns.into_iter().flatten() {
            contained(|| column.close()).map_err(failed)?;
        }
    }
    for group in groups.into_iter().flatten() {
        contained(|| group.close()).map_err(failed)?;
    }
    Ok(())
}

fn copy_any(
    reader: ColumnReader,
    columns: &mut Columns<'_>,
    rows: &[(u64, usize)],
) -> Result<(), ParquetError> {
    use ColumnReader as R;
    match reader {
        R::BoolColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::Int32ColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::Int64ColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::Int96ColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::FloatColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::DoubleColumnReader(reader) => copy(reader, columns, rows, |_| {}),
        R::ByteArrayColumnReader(reader) => copy(reader, columns, rows, detach),
        R::FixedLenByteArrayColumnReader(reader) => {
            copy(reader, columns, rows, |value| detach(value))
        }
    }
}

/// A value refers to its page, which would stay in memory as long as the value does: in the
/// dictionary of the writer, that is to the end of the row group.
fn detach(value: &mut ByteArray) {
    *value = ByteArray::from(value.data());
}

/// Passes on the rows with their levels.
fn copy<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    columns: &mut Columns<'_>,
    rows: &[(u64, usize)],
    detach: fn(&mut T::T),
) -> Result<(), ParquetError> {
    let writers = columns.iter_mut().map(|column| {
        let writer = T::get_column_writer_mut(column.as_mut()?.untyped())?;
        Some(Pending {
            writer,
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        })
    });
    let mut pending: Vec<Option<Pending<'_, '_, T>>> = writers.collect();
    let mut at = 0;
    for run in rows.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let (first, output) = run[0];
        let pending = pending.get_mut(output).and_then(Option::as_mut).ok_or_else(|| {
            ParquetError::General("a column of another type than its schema".to_owned())
        })?;
        let gap = (first - at) as usize;
        if contained(|| reader.skip_records(gap))? != gap {
            return Err(too_short(first));
        }
        let mut left = run.len();
        while left > 0 {
            let read = pending.take(&mut reader, left.min(HELD), detach)?;
            if read == 0 {
                return Err(too_short(first));
            }
            left -= read;
        }
        at = first + run.len() as u64;
    }
    pending.into_iter().flatten().try_for_each(|mut pending| pending.flush())
}

/// Values that are not written yet.
struct Pending<'a, 'b, T: DataType> {
    writer: &'a mut ColumnWriterImpl<'b, T>,
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T: DataType> Pending<'_, '_, T> {
    /// Takes the next rows and returns how many there were.
    fn take(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        detach: fn(&mut T::T),
    ) -> Result<usize, ParquetError> {
        let held = self.values.len();
        let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
        let (read, ..) = contained(|| {
            reader.read_records(rows, Some(definitions), Some(repetitions), &mut self.values)
        })?;
        self.values.iter_mut().skip(held).for_each(detach);
        if self.values.len().max(self.definitions.len()) >= HELD {
            self.flush()?;
        }
        Ok(read)
    }

    /// Writes the values that are held.
    fn flush(&mut self) -> Result<(), ParquetError> {
        let column = self.writer.get_descriptor();
        let (has_definitions, has_repetitions) =
            (column.max_def_level() > 0, column.max_rep_level() > 0);
        let definitions = has_definitions.then_some(self.definitions.as_slice());
        let repetitions = has_repetitions.then_some(self.repetitions.as_slice());
        contained(|| self.writer.write_batch(&self.values, definitions, repetitions))?;
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_value_does_not_keep_its_page() {
        let page = Bytes::from(vec![7; 1000]);
        let mut value = ByteArray::from(page.slice(10..15));
        assert!(!page.is_unique());
        detach(&mut value);
        assert_eq!((page.is_unique(), value.data()), (true, &[7u8; 5][..]));
    }
}
