//! Rows for tests, as Parquet and as text: keys with missing ones, weights, decimals, and columns
//! that are neither.

use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use record_sampler::{Format, Population};

use crate::files::file;

const SCHEMA: &str = "message row { required int64 id; optional binary kind (UTF8); required double w; \
                      optional int32 price (DECIMAL(9,2)); repeated int64 list; optional group g { required int64 x; } \
                      required boolean flag; required float single; required double double; }";

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) kind: Option<&'static str>,
    pub(crate) w: f64,
    pub(crate) price: Option<i32>,
    /// Keys, which may be no numbers, as a weight may not.
    pub(crate) single: f32,
    pub(crate) double: f64,
}

impl Row {
    pub(crate) fn new(id: i64) -> Row {
        let kind = [Some("a"), Some("bb"), None, Some("a"), Some("")][id as usize % 5];
        let w = (id % 7) as f64 / 4.0;
        Row { id, kind, w, price: Some(id as i32 % 9), single: w as f32, double: w }
    }
}

pub(crate) fn rows(ids: Range<i64>) -> Vec<Row> {
    ids.map(Row::new).collect()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) group_rows: usize,
    pub(crate) page_rows: usize,
    pub(crate) has_index: bool,
    pub(crate) has_dictionary: bool,
}

pub(crate) const PAGES_OF_100: Layout =
    Layout { group_rows: 10_000, page_rows: 100, has_index: true, has_dictionary: false };

pub(crate) fn write(path: &Path, rows: &[Row], layout: Layout) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(layout.page_rows)
        .set_write_batch_size(layout.page_rows)
        .set_dictionary_enabled(layout.has_dictionary)
        .set_offset_index_disabled(!layout.has_index)
        .build();
    let out = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).unwrap();
    for rows in rows.chunks(layout.group_rows) {
        let mut group = writer.next_row_group().unwrap();
        write_group(&mut group, rows);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn write_group(group: &mut SerializedRowGroupWriter<'_, fs::File>, rows: &[Row]) {
    macro_rules! column {
        ($type:ty, $values:expr, $definitions:expr, $repetitions:expr) => {
            let values: Vec<_> = $values.collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<$type>().write_batch(&values, $definitions, $repetitions).unwrap();
            column.close().unwrap();
        };
    }
    let zeros = vec![0i16; rows.len()];
    let levels = |is_there: &dyn Fn(&Row) -> bool| -> Vec<i16> {
        rows.iter().map(|row| i16::from(is_there(row))).collect()
    };
    let (kinds, prices) = (levels(&|row| row.kind.is_some()), levels(&|row| row.price.is_some()));
    column!(Int64Type, rows.iter().map(|row| row.id), None, None);
    let texts = rows.iter().filter_map(|row| row.kind).map(ByteArray::from);
    column!(ByteArrayType, texts, Some(&kinds), None);
    column!(DoubleType, rows.iter().map(|row| row.w), None, None);
    column!(Int32Type, rows.iter().filter_map(|row| row.price), Some(&prices), None);
    column!(Int64Type, std::iter::empty(), Some(&zeros), Some(&zeros));
    column!(Int64Type, std::iter::empty(), Some(&zeros), None);
    column!(BoolType, rows.iter().map(|row| row.id % 2 == 0), None, None);
    column!(FloatType, rows.iter().map(|row| row.single), None, None);
    column!(DoubleType, rows.iter().map(|row| row.double), None, None);
}

/// The same rows as CSV, with numbers as they are keys, and as JSON Lines, with numbers as Rust has
/// them, and decimals with two places.
pub(crate) fn texts(dir: &Path, rows: &[Row]) -> [(PathBuf, Format); 2] {
    let null = || "null".to_owned();
    let number = |text: String| if text.contains(['N', 'i']) { null() } else { text };
    let (mut csv, mut json) = (String::new(), String::new());
    for Row { id, kind, w, price, single, double } in rows {
        // Zero has no sign, and Rust writes no exponent.
        let plain = [(w + 0.0).to_string(), (single + 0.0).to_string(), (double + 0.0).to_string()];
        let [plain_w, plain_single, plain_double] = plain.map(number);
        let plain_price = price.map_or_else(null, |price| (f64::from(price) / 100.0).to_string());
        let text = kind.unwrap_or("null");
        writeln!(csv, "{id},{text},{plain_w},{plain_price},{plain_single},{plain_double}").unwrap();
        let reals = [format!("{w:?}"), format!("{single:?}"), format!("{double:?}")];
        let [w, single, double] = reals.map(number);
        let kind = kind.map_or_else(null, |kind| format!("\"{kind}\""));
        let price = price.map_or_else(null, |price| format!("{}.{:02}", price / 100, price % 100));
        write!(json, "{{\"id\":{id},\"kind\":{kind},\"w\":{w},\"price\":{price},").unwrap();
        writeln!(json, "\"single\":{single},\"double\":{double}}}").unwrap();
    }
    let csv = "id,kind,w,price,single,double\n".to_owned() + &csv;
    [
        (file(dir, "rows.csv", csv), Format::Csv { delimiter: b',' }),
        (file(dir, "rows.jsonl", json), Format::JsonLines),
    ]
}

pub(crate) fn open((path, format): &(PathBuf, Format)) -> Population {
    let population = Population::open([path], *format).unwrap();
    if *format == Format::JsonLines { population } else { population.with_header() }
}

pub(crate) fn id_of(record: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(record).replace("{\"id\":", "");
    text.split(',').next().unwrap().parse().unwrap()
}
