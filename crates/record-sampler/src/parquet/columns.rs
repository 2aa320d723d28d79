//! The columns of chosen rows, one after the other, into a row group.

use std::sync::Arc;

use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::SerializedPageReader;
use parquet::file::writer::SerializedFileWriter;

use super::{Chosen, Outlet, Source, malformed};
use crate::input::Population;
use crate::{Error, Result};

/// So many values and levels are held before they are written.
const HELD: usize = 4096;

/// Writes a row group of these rows.
pub(super) fn write(
    writer: &mut SerializedFileWriter<&mut Outlet<'_>>,
    sources: &[Source],
    population: &Population,
    chosen: &[Chosen],
) -> Result<()> {
    let failed = |error: ParquetError| malformed(&format!("making the sample: {error}"));
    let mut group = writer.next_row_group().map_err(failed)?;
    let mut number = 0;
    while let Some(mut column) = group.next_column().map_err(failed)? {
        for part in chosen {
            let source = &sources[part.source];
            let copied = reader(source, part.group, number)
                .and_then(|reader| copy_any(reader, column.untyped(), &part.rows));
            copied.map_err(|error: ParquetError| {
                let error: Error = source.chunks.explain(&error);
                error.of(&population.inputs[part.source].path)
            })?;
        }
        column.close().map_err(failed)?;
        number += 1;
    }
    group.close().map_err(failed)?;
    Ok(())
}

fn reader(source: &Source, group: usize, column: usize) -> Result<ColumnReader, ParquetError> {
    let metadata = source.metadata.row_group(group);
    let chunk = metadata.columns().get(column);
    let chunk = chunk.ok_or(ParquetError::IndexOutOfBound(column, metadata.columns().len()))?;
    let rows = metadata.num_rows() as usize;
    let index = source.metadata.page_index().and_then(|index| index.page_locations(group, column));
    let (start, _) = chunk.byte_range();
    let pages = index.filter(|pages| are_sound(pages, start, rows)).cloned();
    let reader: Box<dyn PageReader> =
        Box::new(SerializedPageReader::new(Arc::new(source.chunks.clone()), chunk, rows, pages)?);
    Ok(get_column_reader(chunk.column_descr_ptr(), reader))
}

/// Whether an index can be followed: the first row of each page comes after those of the page before.
fn are_sound(pages: &[PageLocation], start: u64, rows: usize) -> bool {
    let is_ascending = pages.windows(2).all(|two| two[0].first_row_index < two[1].first_row_index);
    let is_placed = |page: &PageLocation| {
        u64::try_from(page.offset).is_ok_and(|offset| offset >= start)
            && page.compressed_page_size > 0
    };
    let first = pages.first().map(|page| page.first_row_index);
    let last = pages.last().and_then(|page| usize::try_from(page.first_row_index).ok());
    is_ascending
        && pages.iter().all(is_placed)
        && first == Some(0)
        && last.is_some_and(|at| at < rows)
}

fn copy_any(
    reader: ColumnReader,
    writer: &mut ColumnWriter<'_>,
    rows: &[u64],
) -> Result<(), ParquetError> {
    use {ColumnReader as R, ColumnWriter as W};
    match (reader, writer) {
        (R::BoolColumnReader(reader), W::BoolColumnWriter(writer)) => copy(reader, writer, rows),
        (R::Int32ColumnReader(reader), W::Int32ColumnWriter(writer)) => copy(reader, writer, rows),
        (R::Int64ColumnReader(reader), W::Int64ColumnWriter(writer)) => copy(reader, writer, rows),
        (R::Int96ColumnReader(reader), W::Int96ColumnWriter(writer)) => copy(reader, writer, rows),
        (R::FloatColumnReader(reader), W::FloatColumnWriter(writer)) => copy(reader, writer, rows),
        (R::DoubleColumnReader(reader), W::DoubleColumnWriter(writer)) => {
            copy(reader, writer, rows)
        }
        (R::ByteArrayColumnReader(reader), W::ByteArrayColumnWriter(writer)) => {
            copy(reader, writer, rows)
        }
        (R::FixedLenByteArrayColumnReader(reader), W::FixedLenByteArrayColumnWriter(writer)) => {
            copy(reader, writer, rows)
        }
        _ => Err(ParquetError::General("a column of another type than its schema".to_owned())),
    }
}

/// Hands over the rows, which ascend, with their levels.
fn copy<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    rows: &[u64],
) -> Result<(), ParquetError> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for run in rows.chunk_by(|a, b| a + 1 == *b) {
        let gap = (run[0] - at) as usize;
        if reader.skip_records(gap)? != gap {
            return Err(too_short(run[0]));
        }
        let mut left = run.len();
        while left > 0 {
            let (read, ..) = reader.read_records(
                left.min(HELD),
                Some(&mut definitions),
                Some(&mut repetitions),
                &mut values,
            )?;
            if read == 0 {
                return Err(too_short(run[0]));
            }
            left -= read;
            if values.len().max(definitions.len()) >= HELD {
                flush(writer, &mut values, &mut definitions, &mut repetitions)?;
            }
        }
        at = run[0] + run.len() as u64;
    }
    flush(writer, &mut values, &mut definitions, &mut repetitions)
}

/// Writes what is held.
fn flush<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    definitions: &mut Vec<i16>,
    repetitions: &mut Vec<i16>,
) -> Result<(), ParquetError> {
    let column = writer.get_descriptor();
    let (has_definitions, has_repetitions) =
        (column.max_def_level() > 0, column.max_rep_level() > 0);
    let definitions_or_none = has_definitions.then_some(definitions.as_slice());
    let repetitions_or_none = has_repetitions.then_some(repetitions.as_slice());
    writer.write_batch(values, definitions_or_none, repetitions_or_none)?;
    values.clear();
    definitions.clear();
    repetitions.clear();
    Ok(())
}

fn too_short(row: u64) -> ParquetError {
    ParquetError::EOF(format!("a column ends before row {row} of its row group"))
}
