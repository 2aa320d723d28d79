//! Rows of Parquet files into a Parquet file: the values and levels of chosen rows are copied column by column,
//! without being put together to rows. Row groups, and pages that have an index, are not read if they hold no
//! chosen row.

mod chunks;
mod columns;

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use self::chunks::Chunks;
use crate::fetch::Method;
use crate::input::Population;
use crate::ranked;
use crate::sampler::{Sampler, Stats};
use crate::{Error, ErrorKind, Format, Result};

/// So many chosen rows make a row group of the sample; their values are in memory for one column at a time.
const GROUP_ROWS: usize = 1 << 17;

impl Sampler {
    /// Writes the chosen rows of Parquet files, which must have the same schema, as a Parquet file. Rows are
    /// chosen by `exactly`, `at_most` or `probability`, or `inverted`, and stay in their order; codecs are gzip,
    /// Snappy and LZ4. Of the files only the footers, and the row groups and pages that hold a chosen row, are read.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Sampler};
    /// let error = Sampler::exactly(1).write_parquet(["Cargo.toml"], &mut Vec::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn write_parquet<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
        out: &mut (dyn Write + Send),
    ) -> Result<Stats> {
        self.check_parquet()?;
        // For a file that can be read in any place, and that is seen to change.
        let population = Population::open(paths, Format::Fixed(1))?;
        let mut outlet = Outlet { out, error: None };
        // Decoders of foreign formats have panicked before: on hostile bytes that must be an error, too.
        let drawn = catch_unwind(AssertUnwindSafe(|| draw(self, &population, &mut outlet)));
        let drawn = drawn.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Malformed, "not a sound Parquet file: its decoder gave up"))
        });
        if let Some(error) = outlet.error {
            return Err(Error::caused(ErrorKind::Write, "writing the sample", error));
        }
        if drawn.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::Stopped) {
            population.check_unchanged()?;
        }
        drawn
    }

    fn check_parquet(&self) -> Result<()> {
        let is_plain = !self.is_shuffled
            && !self.with_replacement
            && !self.keeps_index
            && self.weight.is_none()
            && self.key.is_none()
            && self.method == Method::Auto;
        self.check_amount()?;
        if is_plain {
            return Ok(());
        }
        let text = "rows of Parquet are chosen by a number or a probability, or are the rest, and stay in order";
        Err(Error::new(ErrorKind::BadRequest, text))
    }
}

/// A file, what its footer says, and where its rows begin among all.
struct Source {
    chunks: Chunks,
    metadata: ParquetMetaData,
}

/// Chosen rows of a row group.
struct Chosen {
    source: usize,
    group: usize,
    rows: Vec<u64>,
}

fn draw(sampler: &Sampler, population: &Population, outlet: &mut Outlet<'_>) -> Result<Stats> {
    let sources = open(sampler, population)?;
    let Some(first) = sources.first() else {
        return Err(Error::new(ErrorKind::BadRequest, "no file is given"));
    };
    let groups = sources.iter().flat_map(|source| source.metadata.row_groups());
    let total = groups.clone().try_fold(0u64, |sum, group| {
        u64::try_from(group.num_rows()).ok().and_then(|rows| sum.checked_add(rows))
    });
    let total = total.ok_or_else(|| malformed("the numbers of its rows are not sound"))?;
    let (ranks, _) = ranked::ranks(sampler, total)?;
    let mut ranks = ranks.peekable();
    let schema = first.metadata.file_metadata().schema_descr().root_schema_ptr();
    let properties = Arc::new(properties(&first.metadata));
    let failed = |error| malformed(&format!("making the sample: {error}"));
    let mut writer = SerializedFileWriter::new(outlet, schema, properties).map_err(failed)?;
    let (mut base, mut taken, mut read) = (0, 0, 0);
    let mut waiting: Vec<Chosen> = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        for (group, metadata) in source.metadata.row_groups().iter().enumerate() {
            let (end, before) = (base + metadata.num_rows() as u64, taken);
            while ranks.peek().is_some_and(|rank| *rank < end) {
                let room =
                    GROUP_ROWS - waiting.iter().map(|chosen| chosen.rows.len()).sum::<usize>();
                let below = std::iter::from_fn(|| ranks.next_if(|rank| *rank < end));
                let rows: Vec<u64> = below.take(room).map(|rank| rank - base).collect();
                taken += rows.len() as u64;
                let is_full = rows.len() == room;
                waiting.push(Chosen { source: number, group, rows });
                if is_full {
                    columns::write(&mut writer, &sources, population, &waiting)?;
                    waiting.clear();
                }
            }
            read += u64::from(taken > before);
            base = end;
        }
    }
    if !waiting.is_empty() {
        columns::write(&mut writer, &sources, population, &waiting)?;
    }
    writer.close().map_err(failed)?;
    Ok(Stats {
        seen: Some(total),
        taken,
        bytes_read: sources.iter().map(|source| source.chunks.bytes_read()).sum(),
        method: Method::Pread,
        reason: format!("{read} of {} row groups hold a chosen row", groups.count()),
    })
}

fn open(sampler: &Sampler, population: &Population) -> Result<Vec<Source>> {
    let files = population.files().ok_or_else(|| {
        let text = "Parquet is read from plain files: their end tells where everything is";
        Error::new(ErrorKind::BadRequest, text)
    })?;
    let mut sources: Vec<Source> = Vec::new();
    for (file, input) in files.iter().zip(&population.inputs) {
        let named = |error: Error| error.of(&input.path);
        let chunks = Chunks::new(file, sampler.watch.clone()).map_err(named)?;
        let reader =
            ParquetMetaDataReader::new().with_offset_index_policy(PageIndexPolicy::Optional);
        let metadata = reader.parse_and_finish(&chunks);
        let metadata = metadata.map_err(|error| named(chunks.explain(&error)))?;
        if let Some(first) = sources.first() {
            let schema = |metadata: &ParquetMetaData| metadata.file_metadata().schema().clone();
            if schema(&first.metadata) != schema(&metadata) {
                let text = "its schema is not that of the first file";
                return Err(named(Error::new(ErrorKind::BadRequest, text)));
            }
        }
        sources.push(Source { chunks, metadata });
    }
    Ok(sources)
}

/// Each column with the codec that it has in the first row group, and what the file says of itself.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    let mut properties = WriterProperties::builder().set_key_value_metadata(notes);
    for column in metadata
        .row_groups()
        .first()
        .map(parquet::file::metadata::RowGroupMetaData::columns)
        .unwrap_or_default()
    {
        let path = ColumnPath::new(column.column_path().parts().to_vec());
        properties = properties.set_column_compression(path, column.compression());
    }
    properties.build()
}

fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

/// What went wrong in this file.
fn unsound(error: &ParquetError) -> Error {
    malformed(&format!("not a sound Parquet file: {error}"))
}

/// Remembers the error of the writer, which the library makes text of.
struct Outlet<'a> {
    out: &'a mut (dyn Write + Send),
    error: Option<io::Error>,
}

impl Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        result.map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        result.map_err(|error| self.keep(error))
    }
}

impl Outlet<'_> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.error = Some(error);
        }
        kind.into()
    }
}
