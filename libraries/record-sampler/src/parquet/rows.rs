//! Copies chosen rows into row groups of the outputs, as many at once as fit into memory: one
//! column after the other.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;

use super::sources::{ParquetFiles, RowGroup, contained, malformed, too_short};
use crate::{Error, Result};

/// The number of chosen rows that are gathered; the values of one column at a time are in memory.
const GATHERED: usize = 1 << 17;

/// The result of a copy.
pub(super) struct CopiedRows {
    /// The rows of each output.
    pub(super) taken: Vec<u64>,
    /// The number of row groups that hold a chosen row.
    pub(super) groups: usize,
}

/// Copies the rows with these ascending ranks, each to the output with this index.
pub(super) fn copy(
    sources: &ParquetFiles<'_>,
    writers: Vec<Writer<'_, '_>>,
    rows: impl Iterator<Item = (u64, usize)>,
) -> Result<CopiedRows> {
    let (outputs, mut rows) = (writers.len(), rows.peekable());
    let mut gathered = GatheredRows { writers, chosen: Vec::new(), counts: vec![0; outputs] };
    let mut copied = CopiedRows { taken: vec![0; outputs], groups: 0 };
    for group in sources.groups() {
        let end = group.base + group.rows;
        copied.groups += usize::from(rows.peek().is_some_and(|(rank, _)| *rank < end));
        while let Some((rank, output)) = rows.next_if(|(rank, _)| *rank < end) {
            copied.taken[output] += 1;
            gathered.add(&group, rank - group.base, output);
            if gathered.counts.iter().sum::<usize>() == GATHERED {
                gathered.write(sources, (GATHERED / 8 / outputs).max(1))?;
            }
        }
    }
    gathered.write(sources, 1)?;
    for writer in gathered.writers {
        contained(|| writer.close()).map_err(failed)?;
    }
    Ok(copied)
}

struct GatheredRows<'a, 'b> {
    writers: Vec<Writer<'a, 'b>>,
    chosen: Vec<ChosenRows>,
    /// The number of gathered rows of each output.
    counts: Vec<usize>,
}

impl GatheredRows<'_, '_> {
    fn add(&mut self, group: &RowGroup, row: u64, output: usize) {
        self.counts[output] += 1;
        let (file, number) = (group.file, group.number);
        match self.chosen.last_mut() {
            Some(last) if (last.file, last.group) == (file, number) => {
                last.rows.push((row, output));
            }
            _ => self.chosen.push(ChosenRows { file, group: number, rows: vec![(row, output)] }),
        }
    }

    /// Writes a row group to each output that has at least this many rows. The others wait, so that
    /// an output with a small share does not get only small row groups; pages may be read again for
    /// their rows.
    fn write(&mut self, sources: &ParquetFiles<'_>, least: usize) -> Result<()> {
        let is_due: Vec<bool> = self.counts.iter().map(|count| *count >= least).collect();
        if !is_due.contains(&true) {
            return Ok(());
        }
        let mut due = Vec::new();
        for ChosenRows { file, group, rows } in std::mem::take(&mut self.chosen) {
            let (now, later): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_due[row.1]);
            for (rows, list) in [(now, &mut due), (later, &mut self.chosen)] {
                if !rows.is_empty() {
                    list.push(ChosenRows { file, group, rows });
                }
            }
        }
        write_columns(&mut self.writers, sources, &due, &is_due)?;
        for (count, is_due) in self.counts.iter_mut().zip(is_due) {
            *count = if is_due { 0 } else { *count };
        }
        Ok(())
    }
}

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
fn write_columns(
    writers: &mut [Writer<'_, '_>],
    sources: &ParquetFiles<'_>,
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
        R::BoolColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::Int32ColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::Int64ColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::Int96ColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::FloatColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::DoubleColumnReader(reader) => copy_column(reader, columns, rows, |_| {}),
        R::ByteArrayColumnReader(reader) => copy_column(reader, columns, rows, detach),
        R::FixedLenByteArrayColumnReader(reader) => {
            copy_column(reader, columns, rows, |value| detach(value))
        }
    }
}

/// A value refers to its page, which would stay in memory as long as the value does: in the
/// dictionary of the writer, that is to the end of the row group.
fn detach(value: &mut ByteArray) {
    *value = ByteArray::from(value.data());
}

/// Passes on the rows with their levels.
fn copy_column<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    columns: &mut Columns<'_>,
    rows: &[(u64, usize)],
    detach: fn(&mut T::T),
) -> Result<(), ParquetError> {
    let writers = columns.iter_mut().map(|column| {
        let writer = T::get_column_writer_mut(column.as_mut()?.untyped())?;
        Some(PendingValues {
            writer,
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        })
    });
    let mut pending: Vec<Option<PendingValues<'_, '_, T>>> = writers.collect();
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
struct PendingValues<'a, 'b, T: DataType> {
    writer: &'a mut ColumnWriterImpl<'b, T>,
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T: DataType> PendingValues<'_, '_, T> {
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

pub(super) type Writer<'a, 'b> = SerializedFileWriter<&'a mut Destination<'b>>;

/// Keeps the error of the writer, which the library converts to text.
pub(super) struct Destination<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) error: Option<io::Error>,
}

/// A writer with the schema of the sources for each destination.
pub(super) fn writers<'a, 'b>(
    sources: &ParquetFiles<'_>,
    destinations: &'a mut [Destination<'b>],
) -> Result<Vec<Writer<'a, 'b>>> {
    let properties = Arc::new(properties(sources.first()));
    let schema = sources.schema().root_schema_ptr();
    let writer = |destination| {
        let made = contained(|| {
            SerializedFileWriter::new(destination, schema.clone(), properties.clone())
        });
        made.map_err(failed)
    };
    destinations.iter_mut().map(writer).collect()
}

/// The codec of each column in the first row group, and the metadata of the file.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    let mut properties = WriterProperties::builder().set_key_value_metadata(notes);
    let first = metadata.row_groups().first();
    for column in first.map(RowGroupMetaData::columns).unwrap_or_default() {
        let path = ColumnPath::new(column.column_path().parts().to_vec());
        properties = properties.set_column_compression(path, column.compression());
    }
    properties.build()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: ParquetError) -> Error {
    malformed(&format!("making the sample: {error}"))
}

impl Write for Destination<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        result.map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        result.map_err(|error| self.keep(error))
    }
}

impl Destination<'_> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.error = Some(error);
        }
        kind.into()
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
