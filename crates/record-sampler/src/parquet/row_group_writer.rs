//! Writers of the output files, and their properties.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::failure::{contained, malformed};
use super::sources::Sources;
use crate::{Error, Result};

pub(super) type Writer<'a, 'b> = SerializedFileWriter<&'a mut Destination<'b>>;

/// Keeps the error of the writer, which the library converts to text.
pub(super) struct Destination<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) error: Option<io::Error>,
}

/// A writer with the schema of the sources for each destination.
pub(super) fn writers<'a, 'b>(
    sources: &Sources<'_>,
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
