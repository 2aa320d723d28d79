//! Parquet of every type, encoding, shape and version of pages: the rows that are drawn are those
//! of the file.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Encoding, Type};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use record_sampler::Sampler;

use crate::parquet::rows;
use crate::suites::{check_readme, table};

/// The rows of the two row groups of each file.
const GROUPS: [Range<i64>; 2] = [0..130, 130..200];
const ROWS: usize = 200;

/// By its name in the table; `None` is that of a dictionary.
fn encoding(name: &str) -> Option<Encoding> {
    Some(match name {
        "DICTIONARY" => return None,
        "PLAIN" => Encoding::PLAIN,
        "RLE" => Encoding::RLE,
        "DELTA_BINARY_PACKED" => Encoding::DELTA_BINARY_PACKED,
        "DELTA_LENGTH_BYTE_ARRAY" => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        "DELTA_BYTE_ARRAY" => Encoding::DELTA_BYTE_ARRAY,
        "BYTE_STREAM_SPLIT" => Encoding::BYTE_STREAM_SPLIT,
        other => panic!("no encoding {other}"),
    })
}

fn write(path: &Path, columns: &str, version: WriterVersion, encoding: Option<Encoding>) {
    let message = format!("message row {{ required int64 id; {columns} }}");
    let schema = Arc::new(parse_message_type(&message).unwrap());
    let descriptor = SchemaDescriptor::new(schema.clone());
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(40)
        .set_write_batch_size(40)
        .set_dictionary_enabled(encoding.is_none());
    for column in descriptor.columns().iter().skip(1) {
        if let Some(encoding) = encoding {
            properties = properties.set_column_encoding(column.path().clone(), encoding);
        }
    }
    let out = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).unwrap();
    for ids in GROUPS {
        let mut group = writer.next_row_group().unwrap();
        for column in descriptor.columns() {
            let mut out = group.next_column().unwrap().unwrap();
            put(&mut out, column, ids.clone());
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The numbers that values are made of, and their levels.
struct Levels {
    numbers: Vec<i64>,
    definitions: Option<Vec<i16>>,
    repetitions: Option<Vec<i16>>,
}

/// What may be missing is missing in every fourth row; the other rows have up to three items of
/// what is repeated, at all of its levels.
fn levels(column: &ColumnDescriptor, ids: Range<i64>) -> Levels {
    let (most, depth) = (column.max_def_level(), column.max_rep_level());
    let (mut numbers, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        if most > 0 && id % 4 == 0 {
            definitions.push(0);
            repetitions.push(0);
            continue;
        }
        let items = if depth > 0 { id % 4 } else { 1 };
        for item in 0..items {
            definitions.push(most);
            repetitions.push(if item == 0 { 0 } else { 1 + item as i16 % depth });
            numbers.push(id * 10 + item);
        }
    }
    Levels {
        numbers,
        definitions: (most > 0).then_some(definitions),
        repetitions: (depth > 0).then_some(repetitions),
    }
}

fn put(out: &mut SerializedColumnWriter<'_>, column: &ColumnDescriptor, ids: Range<i64>) {
    let levels = levels(column, ids);
    match column.physical_type() {
        Type::BOOLEAN => put_values::<BoolType>(out, &levels, |n| n % 3 == 0),
        Type::INT32 => put_values::<Int32Type>(out, &levels, |n| (n % 100) as i32),
        Type::INT64 => put_values::<Int64Type>(out, &levels, |n| n),
        Type::INT96 => put_values::<Int96Type>(out, &levels, |n| {
            let mut stamp = Int96::new();
            // The second number is the day, counted as astronomers do, of 1970-01-01.
            stamp.set_data(n as u32, 0, 2_440_588);
            stamp
        }),
        Type::FLOAT => put_values::<FloatType>(out, &levels, |n| n as f32 / 4.0),
        Type::DOUBLE => put_values::<DoubleType>(out, &levels, |n| n as f64 / 4.0),
        Type::BYTE_ARRAY => put_values::<ByteArrayType>(out, &levels, |n| {
            ByteArray::from(format!("{{\"text\": {n}}}").as_str())
        }),
        Type::FIXED_LEN_BYTE_ARRAY => {
            let len = column.type_length() as usize;
            put_values::<FixedLenByteArrayType>(out, &levels, |n| {
                FixedLenByteArray::from(ByteArray::from(vec![(n % 251) as u8; len]))
            });
        }
    }
}

fn put_values<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    levels: &Levels,
    value: impl Fn(i64) -> T::T,
) {
    let values: Vec<T::T> = levels.numbers.iter().map(|number| value(*number)).collect();
    let (definitions, repetitions) = (levels.definitions.as_deref(), levels.repetitions.as_deref());
    out.typed::<T>().write_batch(&values, definitions, repetitions).unwrap();
}

#[test]
fn rows_of_every_type_encoding_and_shape_are_drawn_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows");
    for row in table("parquet.tsv") {
        let name = &row[0];
        let version = match row[1].as_str() {
            "1" => WriterVersion::PARQUET_1_0,
            "2" => WriterVersion::PARQUET_2_0,
            other => panic!("{name}: no pages {other}"),
        };
        write(&path, &row[3], version, encoding(&row[2]));
        let all = rows(fs::read(&path).unwrap());
        assert_eq!(all.len(), ROWS, "{name}");
        let draw = |sampler: Sampler| {
            let mut out = Vec::new();
            let written = sampler.write_parquet([&path], &mut out);
            written.unwrap_or_else(|error| panic!("{name}: {error}"));
            rows(out)
        };
        assert!(draw(Sampler::at_most(u64::MAX)) == all, "{name}");
        let drawn = draw(Sampler::exactly(ROWS as u64 / 2).seed(5));
        let mut rest = all.iter();
        assert!(drawn.iter().all(|row| rest.any(|other| other == row)), "{name}");
        assert_eq!(drawn.len(), ROWS / 2, "{name}");
    }
}

#[test]
fn the_readme_has_the_number_of_the_table_of_parquet() {
    let n = table("parquet.tsv").len();
    check_readme(&format!("| Parquet, `parquet.tsv` | {n} | {n} | {n} | 0 | 0 |"));
}
