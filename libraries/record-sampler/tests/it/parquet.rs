//! Parquet: rows with all their levels, and that what holds no chosen row is not read.

#![expect(clippy::single_range_in_vec_init, reason = "a file of one row group")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use record_sampler::{ErrorKind, FetchMethod, Sampler};

use crate::files::file;

const SCHEMA: &str =
    "message row { required int64 id; optional binary name (UTF8); repeated double list; }";

/// Of row `id`: the name is missing in every third row, the list has `id % 4` numbers.
pub(crate) fn write(
    path: &Path,
    ids: &[std::ops::Range<i64>],
    has_index: bool,
    compression: Compression,
) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .set_dictionary_enabled(false)
        .set_compression(compression)
        .set_offset_index_disabled(!has_index)
        .build();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for ids in ids {
        let mut group = writer.next_row_group().unwrap();
        let values: Vec<i64> = ids.clone().collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        let levels: Vec<i16> = ids.clone().map(|id| i16::from(id % 3 != 0)).collect();
        let names: Vec<ByteArray> = ids
            .clone()
            .filter(|id| id % 3 != 0)
            .map(|id| ByteArray::from(format!("the name of {id}").as_str()))
            .collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None).unwrap();
        column.close().unwrap();
        let (mut list, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for id in ids.clone() {
            for place in 0..(id % 4).max(1) {
                definitions.push(i16::from(id % 4 > 0));
                repetitions.push(i16::from(place > 0));
            }
            list.extend((0..id % 4).map(|place| (id * 10 + place) as f64));
        }
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<DoubleType>();
        typed.write_batch(&list, Some(&definitions), Some(&repetitions)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The rows of a Parquet file as text, by the library's own assembly.
pub(crate) fn rows(bytes: Vec<u8>) -> Vec<String> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

pub(crate) fn row(id: i64) -> String {
    let name = if id % 3 == 0 { "null".to_owned() } else { format!("\"the name of {id}\"") };
    let list: Vec<String> = (0..id % 4).map(|place| format!("{}.0", id * 10 + place)).collect();
    format!("{{id: {id}, name: {name}, list: [{}]}}", list.join(", "))
}

fn draw(sampler: &Sampler, paths: &[PathBuf]) -> (Vec<String>, record_sampler::Stats) {
    let mut out = Vec::new();
    let stats = sampler.write_parquet(paths, &mut out).unwrap();
    (rows(out), stats)
}

fn id_of(row: &str) -> i64 {
    row.split([' ', ',']).nth(1).unwrap().parse().unwrap()
}

#[test]
fn rows_are_whole_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for has_index in [true, false] {
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
            let paths = ["a", "b"].map(|name| dir.path().join(name));
            write(&paths[0], &[0..1000, 1000..1001, 1001..5000], has_index, compression);
            write(&paths[1], &[5000..7000], has_index, compression);
            let (all, stats) = draw(&Sampler::at_most(u64::MAX), &paths);
            assert_eq!((stats.seen, stats.taken), (Some(7000), 7000));
            assert_eq!(all, (0..7000).map(row).collect::<Vec<_>>());
            let (some, stats) = draw(&Sampler::exactly(500).seed(3), &paths);
            assert_eq!((some.len(), stats.taken), (500, 500));
            let ids: Vec<i64> = some.iter().map(|row| id_of(row)).collect();
            assert!(ids.is_sorted_by(|a, b| a < b));
            assert!(some.iter().zip(&ids).all(|(text, id)| *text == row(*id)));
            let (rest, _) = draw(&Sampler::exactly(500).seed(3).inverted(), &paths);
            assert_eq!(rest.len(), 6500);
            assert!(rest.iter().all(|row| !ids.contains(&id_of(row))));
        }
    }
}

#[test]
fn what_holds_no_chosen_row_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = [dir.path().join("large")];
    write(&path[0], &[0..50_000, 50_000..100_000], true, Compression::UNCOMPRESSED);
    let size = fs::metadata(&path[0]).unwrap().len();
    let sampler = Sampler::exactly(3).seed(1);
    let (expected, stats) = draw(&sampler, &path);
    // The footer with the places of 1000 pages of each column takes most of it.
    assert!(stats.bytes_read < size / 10, "{} of {size}: {}", stats.bytes_read, stats.reason);
    // The proof: everything is overwritten but the footer, and the pages that hold a chosen row.
    let reader = SerializedFileReader::new_with_options(
        fs::File::open(&path[0]).unwrap(),
        parquet::file::serialized_reader::ReadOptionsBuilder::new().with_page_index().build(),
    )
    .unwrap();
    let ids: Vec<i64> = expected.iter().map(|row| id_of(row)).collect();
    let mut bytes = fs::read(&path[0]).unwrap();
    let mut spoiled = 0;
    for group in 0..2 {
        for column in 0..3 {
            let index = reader.metadata().page_index().unwrap();
            let pages = index.page_locations(group, column).unwrap();
            for (number, page) in pages.iter().enumerate() {
                let first = page.first_row_index + 50_000 * group as i64;
                let end = pages.get(number + 1).map_or(50_000, |next| next.first_row_index);
                let end = end + 50_000 * group as i64;
                if ids.iter().any(|id| (first..end).contains(id)) {
                    continue;
                }
                let start = page.offset as usize;
                bytes[start..start + page.compressed_page_size as usize].fill(0xa5);
                spoiled += page.compressed_page_size as usize;
            }
        }
    }
    assert!(spoiled > bytes.len() / 2, "{spoiled}");
    fs::write(&path[0], bytes).unwrap();
    assert_eq!(draw(&sampler, &path).0, expected);
    assert!(Sampler::exactly(1000).write_parquet(&path, &mut Vec::new()).is_err());
}

#[test]
fn what_is_wrong_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let sound = dir.path().join("sound");
    write(&sound, &[0..300], true, Compression::SNAPPY);
    let bytes = fs::read(&sound).unwrap();
    let check = |sampler: &Sampler, paths: &[&PathBuf], kind: ErrorKind, text: &str| {
        let error = sampler.write_parquet(paths, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let one = Sampler::exactly(1);
    let few = "301 records were requested, but there are 300";
    check(&Sampler::exactly(301), &[&sound], ErrorKind::TooFew, few);
    check(&one, &[&file(dir.path(), "no", "a\n")], ErrorKind::Malformed, "no: not a sound Parquet");
    check(&one, &[&file(dir.path(), "empty", "")], ErrorKind::Malformed, "empty: not a sound");
    let cut = file(dir.path(), "cut", &bytes[..bytes.len() - 9]);
    check(&one, &[&cut], ErrorKind::Malformed, "cut: not a sound Parquet file");
    check(&one, &[], ErrorKind::BadRequest, "no file is given");
    let other = dir.path().join("other");
    let schema = Arc::new(parse_message_type("message row { required int32 id; }").unwrap());
    let out = fs::File::create(&other).unwrap();
    SerializedFileWriter::new(out, schema, Arc::default()).unwrap().close().unwrap();
    let text = format!(
        "other: its schema is not that of {}, from column 1 on: \"id\" (INT32) instead of \"id\" (INT64)",
        sound.display()
    );
    check(&one, &[&sound, &other], ErrorKind::BadRequest, &text);
    for (sampler, text) in [
        (one.clone().shuffled(), "rows of Parquet stay in order: they are not shuffled"),
        (one.clone().with_replacement(), "rows of Parquet are not drawn with replacement"),
        (one.clone().groups("id"), "whole groups of Parquet rows are not drawn"),
        (one.clone().with_probability(), "rows of Parquet get no column for their probability"),
        (one.clone().with_index(), "an index is for files of lines, not for Parquet"),
        (one.clone().by(FetchMethod::Mmap), "no method can be chosen for rows of Parquet"),
    ] {
        check(&sampler, &[&sound], ErrorKind::BadRequest, text);
    }
    let error = one.write_parquet([&sound], &mut Full).unwrap_err();
    assert_eq!(
        (error.kind(), error.io_kind()),
        (ErrorKind::Write, Some(std::io::ErrorKind::StorageFull))
    );
    let stopped = Sampler::exactly(1).watched(|_| false);
    check(&stopped, &[&sound], ErrorKind::Stopped, "stopped");
}

/// It made the library pass over rows without end.
#[test]
fn a_page_with_fewer_levels_than_it_says_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write(&path, &[0..300], false, Compression::UNCOMPRESSED);
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let (start, _) = reader.metadata().row_group(0).column(2).byte_range();
    let mut bytes = fs::read(&path).unwrap();
    // In the header of the first page: the number of values, times 2, which becomes 8 more.
    let header = &mut bytes[start as usize..][..40];
    let at = header.windows(2).position(|bytes| bytes == [0x2c, 0x15]).unwrap() + 2;
    assert!(header[at] & 0x7f < 0x70, "{header:x?}");
    header[at] += 16;
    fs::write(&path, bytes).unwrap();
    let error = Sampler::exactly(1).inverted().write_parquet([&path], &mut Vec::new()).unwrap_err();
    let text = "a page has fewer repetition levels than values";
    assert!(error.to_string().contains(text), "{error}");
}

struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
