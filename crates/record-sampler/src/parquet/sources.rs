//! Parquet files with one schema as one population: their footers, and readers of their columns.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;

use super::chunks::Chunks;
use super::failure::{contained, malformed};
use super::levels::Counted;
use crate::input::Population;
use crate::sampler::Sampler;
use crate::{Error, ErrorKind, Result};

/// At least one file.
pub(super) struct Sources<'a> {
    population: &'a Population,
    files: Vec<Source>,
    /// The rows of all.
    pub(super) total: u64,
    /// The numbers of the row groups of each file that are of interest.
    only: Range<u64>,
}

struct Source {
    chunks: Chunks,
    metadata: ParquetMetaData,
}

/// A row group, and the position of its rows.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) file: usize,
    pub(super) number: usize,
    /// The rank of its first row among the rows of all files.
    pub(super) base: u64,
    /// Its index in the file.
    pub(super) row: u64,
    pub(super) rows: u64,
}

impl<'a> Sources<'a> {
    pub(super) fn open(sampler: &Sampler, population: &'a Population) -> Result<Sources<'a>> {
        let plain = population.files().ok_or_else(|| {
            let text = "Parquet is read from plain files, as the footer is at the end";
            Error::new(ErrorKind::BadRequest, text)
        })?;
        let mut files: Vec<Source> = Vec::new();
        let mut total = 0u64;
        for (file, input) in plain.iter().zip(&population.inputs) {
            let named = |error: Error| error.with_path(&input.path);
            let chunks = Chunks::new(file, sampler.watch.clone());
            let reader =
                ParquetMetaDataReader::new().with_offset_index_policy(PageIndexPolicy::Optional);
            let metadata = contained(|| reader.parse_and_finish(&chunks));
            let metadata = metadata.map_err(|error| named(chunks.explain(&error)))?;
            are_inside(&metadata, file.size).map_err(named)?;
            have_codecs(&metadata).map_err(named)?;
            if let Some(first) = files.first() {
                let path = &population.inputs[0].path;
                have_one_schema(&first.metadata, &metadata, path).map_err(named)?;
            }
            let with = metadata.row_groups().iter().try_fold(total, |sum, group| {
                u64::try_from(group.num_rows()).ok().and_then(|rows| sum.checked_add(rows))
            });
            total =
                with.ok_or_else(|| named(malformed("the numbers of its rows are not sound")))?;
            files.push(Source { chunks, metadata });
        }
        if files.is_empty() {
            return Err(Error::new(ErrorKind::BadRequest, "no file is given"));
        }
        Ok(Sources { population, files, total, only: 0..u64::MAX })
    }

    /// Only these row groups of each file.
    pub(super) fn only(mut self, from: u64, to: u64) -> Sources<'a> {
        self.only = from..to;
        self.total = self.groups().iter().map(|group| group.rows).sum();
        self
    }

    /// The metadata of the first file.
    pub(super) fn first(&self) -> &ParquetMetaData {
        &self.files[0].metadata
    }

    pub(super) fn schema(&self) -> &SchemaDescriptor {
        self.first().file_metadata().schema_descr()
    }

    /// The row groups of all files that are of interest, in order.
    pub(super) fn groups(&self) -> Vec<Group> {
        let mut base = 0;
        let mut groups = Vec::new();
        for (file, source) in self.files.iter().enumerate() {
            let mut row = 0;
            for (number, group) in source.metadata.row_groups().iter().enumerate() {
                let rows = group.num_rows() as u64;
                if self.only.contains(&(number as u64)) {
                    groups.push(Group { file, number, base, row, rows });
                    base += rows;
                }
                row += rows;
            }
        }
        groups
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.files.iter().map(|source| source.chunks.bytes_read()).sum()
    }

    /// The cause of an error of the library, with the name of the file.
    pub(super) fn explain(&self, file: usize, error: &ParquetError) -> Error {
        self.named(file, self.files[file].chunks.explain(error))
    }

    pub(super) fn named(&self, file: usize, error: Error) -> Error {
        error.with_path(&self.population.inputs[file].path)
    }

    /// The values of a column in a row group; skipped pages are not read.
    pub(super) fn reader(
        &self,
        file: usize,
        group: usize,
        column: usize,
    ) -> Result<ColumnReader, ParquetError> {
        let Source { chunks, metadata } = &self.files[file];
        let of_group = metadata.row_group(group);
        let chunk = of_group.columns().get(column);
        let chunk = chunk.ok_or(ParquetError::IndexOutOfBound(column, of_group.columns().len()))?;
        let rows = of_group.num_rows() as usize;
        let index = metadata.page_index().and_then(|index| index.page_locations(group, column));
        let (start, _) = chunk.byte_range();
        let pages = index.filter(|pages| are_sound(pages, start, rows)).cloned();
        contained(|| {
            let pages = SerializedPageReader::new(Arc::new(chunks.clone()), chunk, rows, pages)?;
            let column = chunk.column_descr_ptr();
            let pages = Counted::new(pages, column.max_rep_level());
            Ok(get_column_reader(column, Box::new(pages)))
        })
    }
}

/// Whether each column lies within the file, which the library takes for granted.
fn are_inside(metadata: &ParquetMetaData, size: u64) -> Result<()> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let len = column.compressed_size();
            let end = start.checked_add(len).filter(|_| start >= 0 && len >= 0);
            if end.is_none_or(|end| end as u64 > size) {
                let path = column.column_path();
                let text = format!(
                    "not a sound Parquet file: column {path} of row group {number} has {len} bytes at offset {start} of {size}"
                );
                return Err(malformed(&text));
            }
        }
    }
    Ok(())
}

/// Whether each column can be decompressed; the library reports it only when it reads or writes.
fn have_codecs(metadata: &ParquetMetaData) -> Result<()> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let odd = group.columns().iter().find(|column| column.compression() == Compression::LZO);
        if let Some(column) = odd {
            let path = column.column_path();
            let text = format!(
                "column {path} of row group {number} is compressed by LZO, which is not supported: \
                 write the file by another codec"
            );
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
    }
    Ok(())
}

/// Whether a file has the schema of the first one.
fn have_one_schema(first: &ParquetMetaData, other: &ParquetMetaData, path: &Path) -> Result<()> {
    let [first, other] = [first, other].map(|metadata| metadata.file_metadata().schema_descr());
    if first.root_schema() == other.root_schema() {
        return Ok(());
    }
    let columns = first.columns().iter().zip(other.columns());
    let same = columns.take_while(|(first, other)| first == other).count();
    let name = |schema: &SchemaDescriptor| {
        let column = schema.columns().get(same)?;
        Some(format!("{} ({})", column.path(), column.physical_type()))
    };
    let place = match [first, other].map(name) {
        [None, None] => String::new(),
        [first, other] => {
            let [first, other] = [first, other].map(|name| name.unwrap_or("nothing".to_owned()));
            format!(", from column {} on: {other} instead of {first}", same + 1)
        }
    };
    let text = format!("its schema is not that of {}{place}", path.display());
    Err(Error::new(ErrorKind::BadRequest, text))
}

/// Whether an index is valid: the first row of each page comes after those of the page before.
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

pub(super) fn too_short(row: u64) -> ParquetError {
    ParquetError::EOF(format!("a column ends before row {row} of its row group"))
}
