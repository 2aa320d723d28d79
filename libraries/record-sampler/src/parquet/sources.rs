//! Parquet files with one schema as one population: their footers, and readers of their columns.
//! The input of the Parquet library is checked before, and its errors and panics become errors of
//! this crate.

use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use parquet::schema::types::SchemaDescriptor;

use crate::input::{Handle, PlainFile, Population};
use crate::sampler::Sampler;
use crate::work::ProgressGate;
use crate::{Error, ErrorKind, Result};

/// At least one file.
pub(super) struct ParquetFiles<'a> {
    population: &'a Population,
    files: Vec<ParquetFile>,
    /// The rows of all.
    pub(super) total: u64,
    /// The numbers of the row groups of each file that are of interest.
    only: Range<u64>,
}

pub(super) struct ParquetFile {
    chunks: Chunks,
    pub(super) metadata: ParquetMetaData,
}

/// A row group, and the position of its rows.
#[derive(Clone, Copy)]
pub(super) struct RowGroup {
    pub(super) file: usize,
    pub(super) number: usize,
    /// The rank of its first row among the rows of all files.
    pub(super) base: u64,
    /// Its index in the file.
    pub(super) row: u64,
    pub(super) rows: u64,
}

impl<'a> ParquetFiles<'a> {
    pub(super) fn open(sampler: &Sampler, population: &'a Population) -> Result<ParquetFiles<'a>> {
        let plain = population.files().ok_or_else(|| {
            let text = "Parquet is read from plain files, as the footer is at the end";
            Error::new(ErrorKind::BadRequest, text)
        })?;
        let mut files: Vec<ParquetFile> = Vec::new();
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
            files.push(ParquetFile { chunks, metadata });
        }
        if files.is_empty() {
            return Err(Error::new(ErrorKind::BadRequest, "no file is given"));
        }
        Ok(ParquetFiles { population, files, total, only: 0..u64::MAX })
    }

    /// Only these row groups of each file.
    pub(super) fn only(mut self, from: u64, to: u64) -> ParquetFiles<'a> {
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
    pub(super) fn groups(&self) -> Vec<RowGroup> {
        let mut base = 0;
        let mut groups = Vec::new();
        for (file, source) in self.files.iter().enumerate() {
            let mut row = 0;
            for (number, group) in source.metadata.row_groups().iter().enumerate() {
                let rows = group.num_rows() as u64;
                if self.only.contains(&(number as u64)) {
                    groups.push(RowGroup { file, number, base, row, rows });
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

    pub(super) fn files(&self) -> &[ParquetFile] {
        &self.files
    }

    /// The values of a column in a row group.
    pub(super) fn reader(
        &self,
        file: usize,
        group: usize,
        column: usize,
    ) -> Result<ColumnReader, ParquetError> {
        self.files[file].reader(group, column)
    }
}

impl ParquetFile {
    /// The values of a column in a row group; skipped pages are not read.
    pub(super) fn reader(&self, group: usize, column: usize) -> Result<ColumnReader, ParquetError> {
        let ParquetFile { chunks, metadata } = self;
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
            let pages = CountedPages::new(pages, column.max_rep_level());
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

// The bytes of a file for the Parquet library: counted, checked, and only those it requests.

/// The size of a page header, with statistics.
const HEADER_BYTES: usize = 256;

#[derive(Clone)]
pub(super) struct Chunks(Arc<ChunkFile>);

struct ChunkFile {
    file: Arc<Handle>,
    size: u64,
    watch: ProgressGate,
    bytes_read: AtomicU64,
    /// The library converts errors to text, so the original is kept here: the first one, if there
    /// are several threads.
    error: Mutex<Option<Error>>,
}

impl Chunks {
    pub(super) fn new(file: &PlainFile, watch: ProgressGate) -> Chunks {
        let (bytes_read, error) = (AtomicU64::new(0), Mutex::new(None));
        let (file, size) = (Arc::clone(&file.handle), file.size);
        Chunks(Arc::new(ChunkFile { file, size, watch, bytes_read, error }))
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::Relaxed)
    }

    /// The cause of an error of the library: a read error, or an invalid file.
    pub(super) fn explain(&self, error: &ParquetError) -> Error {
        let kept = self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.unwrap_or_else(|| unsound(error))
    }
}

impl ChunkFile {
    /// The result of a read at this offset, which is counted and reported.
    fn read(
        &self,
        offset: u64,
        mut read: impl FnMut(&Handle) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let read = loop {
            match read(&self.file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let kind = read.as_ref().map_or_else(io::Error::kind, |_| io::ErrorKind::Other);
        let caused =
            |error| Error::caused(ErrorKind::Io, &format!("reading at offset {offset}"), error);
        let checked = read.map_err(caused).and_then(|n| {
            self.bytes_read.fetch_add(n as u64, Ordering::Relaxed);
            self.watch.advance(n as u64)?;
            Ok(n)
        });
        checked.map_err(|error| {
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            kind.into()
        })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<ChunkReaderAt>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::with_capacity(
            HEADER_BYTES,
            ChunkReaderAt { chunks: self.clone(), offset: start },
        ))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.size);
        if end.is_none() {
            let text = format!("{length} bytes at offset {start} of {}", self.0.size);
            return Err(ParquetError::EOF(text));
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length).map_err(|_| {
            ParquetError::General(format!("no memory for {length} bytes at offset {start}"))
        })?;
        while buffer.len() < length {
            let at = start + buffer.len() as u64;
            if self.0.read(at, |file| file.append_at(&mut buffer, at))? == 0 {
                let text = "failed to fill whole buffer";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text).into());
            }
        }
        buffer.truncate(length);
        Ok(buffer.into())
    }
}

/// A reader of a file from an offset on.
pub(super) struct ChunkReaderAt {
    chunks: Chunks,
    offset: u64,
}

impl Read for ChunkReaderAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = self.offset;
        let n = self.chunks.0.read(offset, |file| file.read_at(buffer, offset))?;
        self.offset += n as u64;
        Ok(n)
    }
}

// The repetition levels of a page are counted before they are used: with fewer than declared, the
// library would skip rows for ever.

type ParquetResult<T> = std::result::Result<T, ParquetError>;

pub(super) struct CountedPages<P> {
    pages: P,
    /// Bits of a level; 0 if there are none.
    width: u32,
}

impl<P: PageReader> CountedPages<P> {
    pub(super) fn new(pages: P, max_level: i16) -> CountedPages<P> {
        CountedPages { pages, width: i16::BITS - max_level.leading_zeros() }
    }
}

impl<P: PageReader> Iterator for CountedPages<P> {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<ParquetResult<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for CountedPages<P> {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if page.as_ref().is_some_and(|page| self.width > 0 && is_short(page, self.width)) {
            let text = "a page has fewer repetition levels than values";
            return Err(ParquetError::EOF(text.to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> ParquetResult<Option<Page>> {
        self.pages.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.pages.at_record_boundary()
    }
}

/// The library detects other defects.
fn is_short(page: &Page, width: u32) -> bool {
    let (levels, values) = match page {
        Page::DataPage { buf, num_values, rep_level_encoding: Encoding::RLE, .. } => {
            let Some((len, rest)) = buf.split_first_chunk() else { return false };
            (rest.get(..u32::from_le_bytes(*len) as usize), *num_values)
        }
        Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
            (buf.get(..*rep_levels_byte_len as usize), *num_values)
        }
        _ => return false,
    };
    levels.is_some_and(|levels| !has(levels, width as usize, u64::from(values)))
}

/// Whether there are this many levels: runs of one level, or of bit-packed ones, eight to a group,
/// as the format describes its "RLE/bit-packing hybrid". The last group may be truncated.
fn has(mut bytes: &[u8], width: usize, wanted: u64) -> bool {
    let mut count = 0u64;
    while count < wanted {
        let (header, rest) = number(bytes);
        if header == 0 {
            return false;
        }
        let (levels, size) = if header & 1 == 1 {
            let size = usize::try_from(header >> 1).unwrap_or(usize::MAX).saturating_mul(width);
            let size = size.min(rest.len());
            ((size * 8 / width) as u64, size)
        } else {
            (header >> 1, width.div_ceil(8).min(rest.len()))
        };
        count = count.saturating_add(levels);
        bytes = &rest[size..];
    }
    true
}

/// A varint, seven bits per byte, the lowest first, and the bytes behind it; 0 if there is none.
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (number, &bytes[place + 1..]);
        }
    }
    (0, &[])
}

/// Calls the library. It has panicked on hostile bytes before, which must become an error as well.
pub(super) fn contained<T>(
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(ParquetError::General("the library gave up".to_owned())))
}

pub(super) fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

/// The error for an invalid file.
fn unsound(error: &ParquetError) -> Error {
    malformed(&format!("not a sound Parquet file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has exactly this many levels.
    fn check(bytes: &[u8], width: usize, levels: u64) {
        assert!(has(bytes, width, levels), "{bytes:?}");
        assert!(!has(bytes, width, levels + 1), "{bytes:?}");
    }

    #[test]
    fn levels_are_counted_by_their_runs() {
        check(&[], 1, 0);
        check(&[6, 0], 1, 3);
        check(&[0xac, 1, 0], 1, 86);
        check(&[5, 0xff, 0xff], 1, 16);
        check(&[5, 0xff, 0xff, 0xff, 0xff, 10, 0], 2, 21);
        check(&[5, 0xff, 0xff, 0xff], 3, 8);
        check(&[8, 0, 0, 8, 0], 1, 4);
        check(&[0xff; 20], 1, 0);
        check(&[3], 1, 0);
    }
}
