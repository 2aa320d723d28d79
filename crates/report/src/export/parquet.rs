//! A row per sample, with the columns of CSV, but typed: a text, a whole number, a number or a
//! flag, each of which may be absent from a sample.

#[cfg(feature = "parquet")]
pub(super) use self::with_the_library::write;
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "parquet",
    about: "a row per sample, in typed columns",
    extensions: &["parquet"],
    kind: FormatKind::Binary,
    is_of_samples: true,
    write: |exported, out| write(exported, out),
};

#[cfg(not(feature = "parquet"))]
pub(super) fn write(
    _: &super::format::Exported<'_>,
    _: impl std::io::Write,
) -> anyhow::Result<Vec<String>> {
    anyhow::bail!(
        "this bytelab is built without Parquet; cargo install bytelab --locked --features parquet, or export csv"
    )
}

#[cfg(feature = "parquet")]
mod with_the_library {
    use std::io::Write;
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use parquet::schema::types::Type;

    use crate::export::format::Exported;
    use crate::export::format::{ColumnKind, FieldValue, SampleTable};

    /// The number of rows held in memory.
    const GROUP_ROWS: usize = 1 << 16;

    pub(crate) fn write(exported: &Exported<'_>, out: impl Write + Send) -> Result<Vec<String>> {
        let columns = SampleTable::new(exported);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(schema(&columns)?);
        let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let mut group: Vec<Column> = columns.kinds.iter().map(|kind| Column::new(*kind)).collect();
        let mut rows = 0;
        for part in columns.parts() {
            columns.rows(&part, |row| -> Result<()> {
                for (column, field) in group.iter_mut().zip(row.of_cell.iter().chain(row.of_sample))
                {
                    column.push(field);
                }
                rows += 1;
                if rows % GROUP_ROWS == 0 { flush(&mut file, &mut group) } else { Ok(()) }
            })?;
        }
        if rows % GROUP_ROWS != 0 {
            flush(&mut file, &mut group)?;
        }
        file.close()?;
        Ok(columns.left_out())
    }

    fn schema(columns: &SampleTable<'_>) -> Result<Type> {
        let fields = columns.names.iter().zip(&columns.kinds).map(|(name, kind)| {
            let (physical, logical) = match kind {
                ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                ColumnKind::Whole => {
                    let unsigned = LogicalType::integer(64, false);
                    (Physical::INT64, Some(unsigned))
                }
                ColumnKind::Number => (Physical::DOUBLE, None),
                ColumnKind::Flag => (Physical::BOOLEAN, None),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()?;
            Ok(Arc::new(field))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        Ok(Type::group_type_builder("sample").with_fields(fields).build()?)
    }

    /// The values of the rows of a group, and for each row whether it has a value.
    struct Column {
        present: Vec<i16>,
        values: Values,
    }

    enum Values {
        Text(Vec<ByteArray>),
        Whole(Vec<i64>),
        Number(Vec<f64>),
        Flag(Vec<bool>),
    }

    impl Column {
        fn new(kind: ColumnKind) -> Column {
            let values = match kind {
                ColumnKind::Text => Values::Text(Vec::new()),
                ColumnKind::Whole => Values::Whole(Vec::new()),
                ColumnKind::Number => Values::Number(Vec::new()),
                ColumnKind::Flag => Values::Flag(Vec::new()),
            };
            Column { present: Vec::new(), values }
        }

        fn push(&mut self, field: &FieldValue<'_>) {
            let is_present = match (&mut self.values, field) {
                (Values::Text(values), FieldValue::Text(text)) => {
                    values.push(ByteArray::from(*text));
                    true
                }
                (Values::Text(values), FieldValue::Owned(text)) => {
                    values.push(ByteArray::from(text.as_str()));
                    true
                }
                (Values::Whole(values), FieldValue::Whole(n)) => {
                    values.push(n.cast_signed());
                    true
                }
                (Values::Number(values), FieldValue::Number(value)) => {
                    values.push(*value);
                    true
                }
                (Values::Flag(values), FieldValue::Flag(flag)) => {
                    values.push(*flag);
                    true
                }
                _ => false,
            };
            self.present.push(is_present.into());
        }

        fn clear(&mut self) {
            self.present.clear();
            match &mut self.values {
                Values::Text(values) => values.clear(),
                Values::Whole(values) => values.clear(),
                Values::Number(values) => values.clear(),
                Values::Flag(values) => values.clear(),
            }
        }
    }

    fn flush<W: Write + Send>(
        file: &mut SerializedFileWriter<W>,
        group: &mut [Column],
    ) -> Result<()> {
        let mut rows = file.next_row_group()?;
        for column in group.iter_mut() {
            let present = &column.present;
            match &column.values {
                Values::Text(values) => put::<ByteArrayType, W>(&mut rows, values, present)?,
                Values::Whole(values) => put::<Int64Type, W>(&mut rows, values, present)?,
                Values::Number(values) => put::<DoubleType, W>(&mut rows, values, present)?,
                Values::Flag(values) => put::<BoolType, W>(&mut rows, values, present)?,
            }
            column.clear();
        }
        rows.close()?;
        Ok(())
    }

    fn put<T: DataType, W: Write + Send>(
        rows: &mut SerializedRowGroupWriter<'_, W>,
        values: &[T::T],
        present: &[i16],
    ) -> Result<()> {
        let mut column = rows.next_column()?.context("a column too few in the schema")?;
        column.typed::<T>().write_batch(values, Some(present), None)?;
        column.close()?;
        Ok(())
    }
}
